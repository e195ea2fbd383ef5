//! Benchmarks are built in release mode, whatever profile this program has.

use std::io;
use std::path::Path;
use std::process::{Command, ExitCode};

/// Runs the bench program from the repository's root with `arguments`.
pub(crate) fn run(root: &Path, arguments: &[String]) -> io::Result<ExitCode> {
    let status = Command::new(env!("CARGO"))
        .current_dir(root)
        .args([
            "run",
            "--quiet",
            "--release",
            "--package",
            "shardwright-bench",
            "--bin",
            "bench",
            "--",
        ])
        .args(arguments)
        .status()?;
    Ok(if status.success() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
