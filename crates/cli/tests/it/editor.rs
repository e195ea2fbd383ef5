//! An editor's side of the Language Server Protocol, over the standard streams of the real program.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};
use shardwright_testkit::CommandEnvironment;

/// Where a server that hangs stops a test.
const ANSWERS_WITHIN: Duration = Duration::from_secs(120);

/// A session with `shardwright lsp`.
pub(crate) struct Editor {
    child: Child,
    input: Option<ChildStdin>,
    messages: Receiver<Value>,
    project: PathBuf,
    versions: BTreeMap<String, i32>,
    requests: i64,
    /// Notifications and requests of the server that came while an answer was awaited.
    came: Vec<Value>,
}

impl Editor {
    /// Starts the server in a project, and says nothing to it.
    pub(crate) fn start(environment: &CommandEnvironment) -> Self {
        let mut command = environment.command();
        command
            .arg("lsp")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            while let Some(message) = read(&mut output) {
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        Self {
            input: child.stdin.take(),
            child,
            messages,
            project: environment.project(),
            versions: BTreeMap::new(),
            requests: 0,
            came: Vec::new(),
        }
    }

    /// Starts the server and shakes hands, with these client capabilities; its capabilities.
    pub(crate) fn open_project(environment: &CommandEnvironment, capabilities: &Value) -> (Self, Value) {
        let mut editor = Self::start(environment);
        let folder = json!({"uri": editor.uri(""), "name": "project"});
        let params = json!({"processId": null, "rootUri": null, "capabilities": capabilities, "workspaceFolders": [folder]});
        let answer = editor.request("initialize", params).unwrap();
        editor.notify("initialized", json!({}));
        (editor, answer["capabilities"].clone())
    }

    /// The address of a file of the project.
    pub(crate) fn uri(&self, path: &str) -> String {
        format!("file://{}/{path}", self.project.display())
            .trim_end_matches('/')
            .to_owned()
    }

    /// Sends bytes as they are; a server that has gone is no error.
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().unwrap();
        let _ = input.write_all(bytes).and_then(|()| input.flush());
    }

    pub(crate) fn send(&mut self, message: &Value) {
        let body = message.to_string();
        self.raw(format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
    }

    pub(crate) fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Sends a request without awaiting its answer; its id.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> i64 {
        self.requests += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.requests, "method": method, "params": params}));
        self.requests
    }

    /// The answer of a request, or its error.
    pub(crate) fn answer(&mut self, id: i64) -> Result<Value, Value> {
        loop {
            let message = self.message();
            if message.get("method").is_some() || message["id"] != json!(id) {
                self.came.push(message);
            } else if let Some(error) = message.get("error") {
                return Err(error.clone());
            } else {
                return Ok(message["result"].clone());
            }
        }
    }

    pub(crate) fn request(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        let id = self.ask(method, params);
        self.answer(id)
    }

    /// The next message that is no answer to a request of ours.
    pub(crate) fn next(&mut self) -> Value {
        if self.came.is_empty() {
            self.message()
        } else {
            self.came.remove(0)
        }
    }

    fn message(&mut self) -> Value {
        self.messages
            .recv_timeout(ANSWERS_WITHIN)
            .expect("the server says something")
    }

    /// The next problems that are told of a file, each as `line:column-line:column severity code message`.
    pub(crate) fn problems_of(&mut self, path: &str) -> String {
        loop {
            let (told, problems) = self.problems();
            if told == path {
                return problems.join("\n");
            }
        }
    }

    /// The next problems that are told, and of which file.
    fn problems(&mut self) -> (String, Vec<String>) {
        loop {
            let message = self.next();
            if message["method"] != "textDocument/publishDiagnostics" {
                continue;
            }
            let params = &message["params"];
            let prefix = self.uri("") + "/";
            let path = params["uri"]
                .as_str()
                .unwrap()
                .strip_prefix(&prefix)
                .unwrap()
                .to_owned();
            let problems = params["diagnostics"].as_array().unwrap().iter().map(|problem| {
                let severity =
                    ["error", "warning", "info"][problem["severity"].as_u64().unwrap() as usize - 1];
                let (code, message) = (
                    problem["code"].as_str().unwrap_or("-"),
                    problem["message"].as_str().unwrap(),
                );
                let also = problem["relatedInformation"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .map(|also| {
                        let place = places(&prefix, std::slice::from_ref(&also["location"])).join("");
                        format!("\nsee: {place} {}", also["message"].as_str().unwrap())
                    });
                let also: String = also.collect();
                format!("{} {severity} {code} {message}{also}", range(&problem["range"]))
            });
            return (path, problems.collect());
        }
    }

    pub(crate) fn open(&mut self, path: &str, text: &str) {
        let document = json!({"uri": self.uri(path), "languageId": "yaml", "version": 1, "text": text});
        self.versions.insert(path.to_owned(), 1);
        self.notify("textDocument/didOpen", json!({"textDocument": document}));
    }

    /// Replaces a text.
    pub(crate) fn change(&mut self, path: &str, text: &str) {
        self.edit(path, json!([{"text": text}]));
    }

    /// Changes a text by the content changes of the protocol.
    pub(crate) fn edit(&mut self, path: &str, changes: Value) {
        let version = self.versions.get_mut(path).unwrap();
        *version += 1;
        let document =
            json!({"uri": format!("file://{}/{path}", self.project.display()), "version": *version});
        self.notify(
            "textDocument/didChange",
            json!({"textDocument": document, "contentChanges": changes}),
        );
    }

    pub(crate) fn close(&mut self, path: &str) {
        let uri = self.uri(path);
        self.notify("textDocument/didClose", json!({"textDocument": {"uri": uri}}));
    }

    /// The parameters of a request about a place, lines and characters from 0.
    pub(crate) fn at(&self, path: &str, line: u32, character: u32) -> Value {
        json!({"textDocument": {"uri": self.uri(path)}, "position": {"line": line, "character": character}})
    }

    /// Locations as `path line:column-line:column`.
    pub(crate) fn places(&self, locations: &Value) -> Vec<String> {
        let prefix = self.uri("") + "/";
        places(&prefix, locations.as_array().map_or(&[], Vec::as_slice))
    }

    /// The edits of a workspace edit as `path line:column-line:column new text`, in order.
    pub(crate) fn edits(&self, edit: &Value) -> Vec<String> {
        let prefix = self.uri("") + "/";
        let mut edits = Vec::new();
        for (uri, of_file) in edit["changes"].as_object().unwrap() {
            let path = uri.strip_prefix(&prefix).unwrap();
            for edit in of_file.as_array().unwrap() {
                edits.push(format!(
                    "{path} {} {}",
                    range(&edit["range"]),
                    edit["newText"].as_str().unwrap()
                ));
            }
        }
        edits.sort();
        edits
    }

    /// `shutdown` and `exit`; how the program ended.
    pub(crate) fn shut_down(mut self) -> ExitStatus {
        assert_eq!(self.request("shutdown", Value::Null), Ok(Value::Null));
        self.notify("exit", Value::Null);
        self.child.wait().unwrap()
    }

    /// Leaves the server's input open; how the program ended.
    pub(crate) fn wait(mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }

    /// Closes the server's input; how the program ended.
    pub(crate) fn go_away(mut self) -> ExitStatus {
        self.input = None;
        self.child.wait().unwrap()
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        self.input = None;
        // A test that failed does not wait for the server; one that did not has waited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn places(prefix: &str, locations: &[Value]) -> Vec<String> {
    let place = |location: &Value| {
        let path = location["uri"].as_str().unwrap().strip_prefix(prefix).unwrap();
        format!("{path} {}", range(&location["range"]))
    };
    locations.iter().map(place).collect()
}

fn range(range: &Value) -> String {
    let place = |place: &Value| format!("{}:{}", place["line"], place["character"]);
    format!("{}-{}", place(&range["start"]), place(&range["end"]))
}

fn read(output: &mut impl BufRead) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        output.read_line(&mut line).ok()?;
        match line.trim_end().split_once(": ") {
            Some(("Content-Length", value)) => length = value.parse().ok()?,
            Some(_) => {}
            None if line.is_empty() => return None,
            None => break,
        }
    }
    let mut body = vec![0; length];
    output.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}
