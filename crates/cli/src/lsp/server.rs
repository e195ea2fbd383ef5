//! The order of messages: a reader thread queues them, this side answers each, and publishes problems when none waits.

use std::io::{self, BufRead, Write};

use lsp_server::{ErrorCode, Message, Notification, Request, RequestId, Response};
use lsp_types::notification::{
    DidChangeTextDocument, DidChangeWatchedFiles, DidCloseTextDocument, DidOpenTextDocument,
    DidSaveTextDocument, Exit, Notification as _, PublishDiagnostics, ShowMessage,
};
use lsp_types::request::{
    CodeActionRequest, Completion, DocumentSymbolRequest, Formatting, GotoDefinition, HoverRequest,
    Initialize, PrepareRenameRequest, References, RegisterCapability, Rename, Request as _, Shutdown,
};
use lsp_types::{
    DidChangeWatchedFilesRegistrationOptions, FileSystemWatcher, GlobPattern, InitializeParams, MessageType,
    PublishDiagnosticsParams, Registration, RegistrationParams, ShowMessageParams,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::client_process::ClientProcess;
use super::framing::{self, Incoming};
use super::queue::Queue;
use super::refusal::Refusal;
use super::session::{self, Client};
use super::workspace::Workspace;
use super::{actions, completion, formatting, hover, navigate, outline, rename};

/// How a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// `shutdown`, then `exit` or the end of the stream.
    Orderly,
    /// Without `shutdown`.
    Abrupt,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    New,
    Running,
    ShutDown,
}

struct Server<W> {
    output: W,
    phase: Phase,
    watches_files: bool,
    /// The process of the client, if it has named it.
    client: Option<ClientProcess>,
    workspace: Workspace,
}

/// Serves one client until it sends `exit` or its stream ends.
///
/// # Errors
/// When the input is not a stream of messages, or the output cannot be written.
pub(super) fn serve(
    input: impl BufRead + Send + 'static,
    output: impl Write,
    workspace: Workspace,
) -> io::Result<End> {
    let mut queue = Queue::of(input);
    let mut server = Server {
        output,
        phase: Phase::New,
        watches_files: false,
        client: None,
        workspace,
    };
    loop {
        match queue.next() {
            Some(Incoming::Message(Message::Notification(notification)))
                if notification.method == Exit::METHOD =>
            {
                return Ok(server.end());
            }
            Some(Incoming::Message(message)) => server.message(message, &queue)?,
            Some(Incoming::Malformed { code, reason }) => {
                framing::write_malformed(&mut server.output, code, &reason)?;
            }
            None => {
                if !server.publish_next()? && !queue.wait(server.client.as_ref())? {
                    return Ok(server.end());
                }
            }
        }
    }
}

impl<W: Write> Server<W> {
    /// Publishes the problems of one project that has changed; false if none has.
    fn publish_next(&mut self) -> io::Result<bool> {
        let Some(publications) = self.workspace.next_publications() else {
            return Ok(false);
        };
        for publication in publications {
            let params = PublishDiagnosticsParams {
                uri: publication.url,
                diagnostics: publication.diagnostics,
                version: publication.version,
            };
            self.notify::<PublishDiagnostics>(&params)?;
        }
        Ok(true)
    }

    fn end(&self) -> End {
        if self.phase == Phase::ShutDown {
            End::Orderly
        } else {
            End::Abrupt
        }
    }

    fn message(&mut self, message: Message, queue: &Queue) -> io::Result<()> {
        match message {
            Message::Request(request) if queue.cancels(&request.id) => {
                let refusal = Refusal {
                    code: ErrorCode::RequestCanceled,
                    message: "the client cancelled it".to_owned(),
                };
                self.refuse(request.id, refusal)
            }
            Message::Request(request) => self.request(request),
            Message::Notification(notification) if self.phase == Phase::Running => {
                self.notification(notification)
            }
            // Before `initialize` and after `shutdown` notifications are dropped; answers are of our registration.
            Message::Notification(_) | Message::Response(_) => Ok(()),
        }
    }

    fn request(&mut self, request: Request) -> io::Result<()> {
        let refusal = |code, message: &str| Refusal {
            code,
            message: message.to_owned(),
        };
        match (self.phase, request.method.as_str()) {
            (Phase::New, Initialize::METHOD) => self.initialize(request),
            (Phase::New, _) => self.refuse(
                request.id,
                refusal(ErrorCode::ServerNotInitialized, "`initialize` must come first"),
            ),
            (Phase::Running, Shutdown::METHOD) => {
                self.phase = Phase::ShutDown;
                self.send(Response::new_ok(request.id, Value::Null).into())
            }
            (Phase::ShutDown, _) | (Phase::Running, Initialize::METHOD) => self.refuse(
                request.id,
                refusal(ErrorCode::InvalidRequest, "this message is not allowed now"),
            ),
            (Phase::Running, _) => {
                let id = request.id.clone();
                match answer(&mut self.workspace, request) {
                    Ok(result) => self.send(Response::new_ok(id, result).into())?,
                    Err(refusal) => self.refuse(id, refusal)?,
                }
                let notices = std::mem::take(&mut self.workspace.notices);
                notices.into_iter().try_for_each(|message| {
                    self.notify::<ShowMessage>(&ShowMessageParams {
                        typ: MessageType::WARNING,
                        message,
                    })
                })
            }
        }
    }

    fn initialize(&mut self, request: Request) -> io::Result<()> {
        let params: InitializeParams = match parsed(request.params) {
            Ok(params) => params,
            Err(refusal) => return self.refuse(request.id, refusal),
        };
        let client = Client::of(&params);
        self.workspace.documents.encoding = client.encoding;
        self.watches_files = client.watches_files;
        self.client = client.process;
        self.phase = Phase::Running;
        self.workspace.start(&client.folders);
        match json(session::answer(client.encoding)) {
            Ok(result) => self.send(Response::new_ok(request.id, result).into()),
            Err(refusal) => self.refuse(request.id, refusal),
        }
    }

    fn notification(&mut self, notification: Notification) -> io::Result<()> {
        let followed = match notification.method.as_str() {
            "initialized" => return self.watch(),
            DidOpenTextDocument::METHOD => params::<DidOpenTextDocument>(notification).and_then(|params| {
                let document = params.text_document;
                self.workspace.open(document.uri, document.version, document.text)
            }),
            DidChangeTextDocument::METHOD => {
                params::<DidChangeTextDocument>(notification).and_then(|params| {
                    let document = params.text_document;
                    self.workspace
                        .change(&document.uri, document.version, params.content_changes)
                })
            }
            DidCloseTextDocument::METHOD => params::<DidCloseTextDocument>(notification)
                .map(|params| self.workspace.close(&params.text_document.uri)),
            DidSaveTextDocument::METHOD => params::<DidSaveTextDocument>(notification)
                .map(|params| self.workspace.file_changed(&params.text_document.uri)),
            DidChangeWatchedFiles::METHOD => params::<DidChangeWatchedFiles>(notification).map(|params| {
                params
                    .changes
                    .iter()
                    .for_each(|change| self.workspace.file_changed(&change.uri))
            }),
            _ => Ok(()),
        };
        match followed {
            Ok(()) => Ok(()),
            Err(message) => self.notify::<ShowMessage>(&ShowMessageParams {
                typ: MessageType::ERROR,
                message,
            }),
        }
    }

    /// Asks the client to report changes of files that are not open.
    fn watch(&mut self) -> io::Result<()> {
        if !self.watches_files {
            return Ok(());
        }
        let watcher = |glob: &str| FileSystemWatcher {
            glob_pattern: GlobPattern::String(glob.to_owned()),
            kind: None,
        };
        let options = DidChangeWatchedFilesRegistrationOptions {
            watchers: ["**/*.yaml", "**/*.csv", "**/shardwright.lock"]
                .map(watcher)
                .to_vec(),
        };
        let registration = Registration {
            id: "files".to_owned(),
            method: DidChangeWatchedFiles::METHOD.to_owned(),
            register_options: Some(serde_json::to_value(options)?),
        };
        let params = serde_json::to_value(RegistrationParams {
            registrations: vec![registration],
        })?;
        let id = RequestId::from("files".to_owned());
        self.send(
            Request {
                id,
                method: RegisterCapability::METHOD.to_owned(),
                params,
            }
            .into(),
        )
    }

    fn notify<N: lsp_types::notification::Notification>(&mut self, params: &N::Params) -> io::Result<()> {
        let params = serde_json::to_value(params)?;
        self.send(
            Notification {
                method: N::METHOD.to_owned(),
                params,
            }
            .into(),
        )
    }

    fn refuse(&mut self, id: RequestId, refusal: Refusal) -> io::Result<()> {
        self.send(Response::new_err(id, refusal.code as i32, refusal.message).into())
    }

    fn send(&mut self, message: Message) -> io::Result<()> {
        framing::write(&mut self.output, &message)
    }
}

/// The result of a request about texts.
fn answer(workspace: &mut Workspace, request: Request) -> Result<Value, Refusal> {
    let Request { method, params, .. } = request;
    match method.as_str() {
        CodeActionRequest::METHOD => json(actions::actions(workspace, parsed(params)?)),
        Completion::METHOD => json(completion::complete(workspace, parsed(params)?)),
        HoverRequest::METHOD => json(hover::hover(workspace, parsed(params)?)),
        GotoDefinition::METHOD => json(navigate::definition(workspace, parsed(params)?)),
        References::METHOD => json(navigate::references(workspace, parsed(params)?)),
        PrepareRenameRequest::METHOD => json(rename::prepare(workspace, parsed(params)?)?),
        Rename::METHOD => json(rename::rename(workspace, parsed(params)?)?),
        Formatting::METHOD => json(formatting::format_text(workspace, parsed(params)?)?),
        DocumentSymbolRequest::METHOD => json(outline::outline(workspace, parsed(params)?)),
        _ => Err(Refusal {
            code: ErrorCode::MethodNotFound,
            message: format!("{method} is not supported"),
        }),
    }
}

fn params<N: lsp_types::notification::Notification>(notification: Notification) -> Result<N::Params, String> {
    serde_json::from_value(notification.params).map_err(|error| {
        format!(
            "the parameters of {} do not match the protocol: {error}",
            N::METHOD
        )
    })
}

fn parsed<T: DeserializeOwned>(params: Value) -> Result<T, Refusal> {
    serde_json::from_value(params).map_err(|error| Refusal {
        code: ErrorCode::InvalidParams,
        message: error.to_string(),
    })
}

fn json(result: impl Serialize) -> Result<Value, Refusal> {
    serde_json::to_value(result).map_err(|error| Refusal {
        code: ErrorCode::InternalError,
        message: error.to_string(),
    })
}
