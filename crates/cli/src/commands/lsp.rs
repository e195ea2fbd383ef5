//! `lsp`: the language server on standard input and output.

use crate::args::Global;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::lsp::{End, serve};
use crate::project::options;

pub(crate) fn run(global: &Global) -> Result<Exit, CommandError> {
    match serve(global.directory.clone(), options(global)?) {
        Ok(End::Orderly) => Ok(Exit::Done),
        Ok(End::Abrupt) => Err(CommandError::failed("the editor went away without `shutdown`")),
        Err(error) => Err(CommandError::failed(format!("the editor's stream: {error}"))),
    }
}
