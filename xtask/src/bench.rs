//! Benchmarks are built in release mode, whatever profile this program has.

use std::io;
use std::path::Path;
use std::process::{Command, ExitCode};

use crate::{edges, release};

/// Runs the bench program from the repository's root with `arguments`.
pub(crate) fn run(root: &Path, arguments: &[String]) -> io::Result<ExitCode> {
    let released = release::build(root)?;
    release::succeed(
        release::cargo(root)
            .args(["build", "--quiet", "--locked", "--release", "--bins"])
            .args(["--package", "shardwright-bench"]),
    )?;
    let program = edges::target_directory(root)?.join("release/bench");
    let status = Command::new(program)
        .current_dir(root)
        .env("SHARDWRIGHT_BIN", released.join("shardwright"))
        .args(arguments)
        .status()?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}
