//! What both sides can: the answer to `initialize`.

use std::path::PathBuf;

use lsp_types::{
    CodeActionKind, CodeActionOptions, CodeActionProviderCapability, CompletionOptions,
    HoverProviderCapability, InitializeParams, InitializeResult, OneOf, PositionEncodingKind, RenameOptions,
    SaveOptions, ServerCapabilities, ServerInfo, TextDocumentSyncCapability, TextDocumentSyncKind,
    TextDocumentSyncOptions, TextDocumentSyncSaveOptions, WorkDoneProgressOptions,
};

use super::client_process::ClientProcess;
use super::text::Encoding;

/// The capabilities of the client.
pub(super) struct Client {
    pub(super) encoding: Encoding,
    /// The folders that it has open.
    pub(super) folders: Vec<PathBuf>,
    /// Whether it can report changes of files.
    pub(super) watches_files: bool,
    /// Its process.
    pub(super) process: Option<ClientProcess>,
}

impl Client {
    pub(super) fn of(params: &InitializeParams) -> Self {
        let capabilities = &params.capabilities;
        let offered: Option<&[PositionEncodingKind]> = capabilities
            .general
            .as_ref()
            .and_then(|general| general.position_encodings.as_deref());
        let watched = capabilities
            .workspace
            .as_ref()
            .and_then(|workspace| workspace.did_change_watched_files);
        let folders = params
            .workspace_folders
            .iter()
            .flatten()
            .map(|folder| &folder.uri);
        // Clients before 3.6 name one root.
        #[allow(deprecated, reason = "older clients send nothing else")]
        let root = params.root_uri.iter();
        Self {
            encoding: Encoding::agree(offered),
            folders: folders
                .chain(root)
                .filter_map(|url| url.to_file_path().ok())
                .collect(),
            process: params.process_id.and_then(ClientProcess::of),
            watches_files: watched
                .and_then(|watched| watched.dynamic_registration)
                .unwrap_or_default(),
        }
    }
}

pub(super) fn answer(encoding: Encoding) -> InitializeResult {
    InitializeResult {
        capabilities: ServerCapabilities {
            position_encoding: Some(encoding.kind()),
            text_document_sync: Some(TextDocumentSyncCapability::Options(TextDocumentSyncOptions {
                open_close: Some(true),
                change: Some(TextDocumentSyncKind::INCREMENTAL),
                save: Some(TextDocumentSyncSaveOptions::SaveOptions(SaveOptions {
                    include_text: Some(false),
                })),
                ..TextDocumentSyncOptions::default()
            })),
            completion_provider: Some(CompletionOptions {
                trigger_characters: Some([":", " ", "{", "[", "(", "."].map(ToOwned::to_owned).to_vec()),
                ..CompletionOptions::default()
            }),
            code_action_provider: Some(CodeActionProviderCapability::Options(CodeActionOptions {
                code_action_kinds: Some(vec![CodeActionKind::QUICKFIX]),
                ..CodeActionOptions::default()
            })),
            hover_provider: Some(HoverProviderCapability::Simple(true)),
            definition_provider: Some(OneOf::Left(true)),
            references_provider: Some(OneOf::Left(true)),
            rename_provider: Some(OneOf::Right(RenameOptions {
                prepare_provider: Some(true),
                work_done_progress_options: WorkDoneProgressOptions::default(),
            })),
            document_formatting_provider: Some(OneOf::Left(true)),
            document_symbol_provider: Some(OneOf::Left(true)),
            ..ServerCapabilities::default()
        },
        server_info: Some(ServerInfo {
            name: "shardwright".to_owned(),
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        }),
    }
}
