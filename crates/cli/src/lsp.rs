//! The language server: what an editor asks about a project, answered from the texts that are open in it.
//!
//! One thread reads messages, this one answers them in their order. Changes of a text only mark its project; the
//! project is resolved anew when a request needs it or when no message waits, so that typing never waits for it.

mod actions;
mod analysis;
mod client_process;
mod completion;
mod cursor;
mod diagnostics;
mod formatting;
mod framing;
mod hover;
mod navigate;
mod node_at;
mod object;
mod open_documents;
mod outline;
mod queue;
mod refusal;
mod rename;
mod schema;
mod server;
mod session;
mod text;
mod workspace;

use std::io::{self, BufReader};
use std::path::PathBuf;

use shardwright_topology::Options;

pub(crate) use server::End;

/// Serves one editor on standard input and output until it sends `exit` or ends.
///
/// `directory` is read as if the editor had opened it, if it contains a project.
///
/// # Errors
/// When the stream does not follow the protocol, or cannot be written.
pub(crate) fn serve(directory: PathBuf, options: Options) -> io::Result<End> {
    let input = BufReader::new(io::stdin());
    server::serve(input, io::stdout(), workspace::Workspace::new(directory, options))
}
