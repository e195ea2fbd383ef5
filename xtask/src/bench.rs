//! Benchmarks are built in release mode, whatever profile this program has.

use std::io;
use std::path::Path;
use std::process::{Command, ExitCode};

use crate::edges;

/// Runs the bench program from the repository's root with `arguments`.
pub(crate) fn run(root: &Path, arguments: &[String]) -> io::Result<ExitCode> {
    // What runs this program says which cargo that is; the one that compiled it may be another.
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    // Both packages at once: the bench program finds the passthrough and shardwright beside itself.
    let built = Command::new(cargo)
        .current_dir(root)
        .args(["build", "--quiet", "--release", "--bins"])
        .args(["--package", "shardwright-bench", "--package", "shardwright"])
        .status()?;
    if !built.success() {
        return Ok(ExitCode::FAILURE);
    }
    let program = edges::target_directory(root)?.join("release/bench");
    let status = Command::new(program).current_dir(root).args(arguments).status()?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}
