//! `lsp`: the language server on standard input and output.

use shardwright_topology::Options;

use crate::args::Global;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::lsp::{End, serve};
use crate::project::options;

pub(crate) fn run(global: &Global) -> Result<Exit, CommandError> {
    let options = Options {
        route_tests: true,
        ..options(global)?
    };
    match serve(global.directory.clone(), options) {
        Ok(End::Orderly) => Ok(Exit::Done),
        Ok(End::Abrupt) => Err(CommandError::failed("the editor ended without `shutdown`")),
        Err(error) => Err(CommandError::failed(format!(
            "cannot read or write the editor's stream: {error}"
        ))),
    }
}
