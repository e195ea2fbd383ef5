//! Benchmarks are built in release mode, whatever profile this program has.

use std::io;
use std::path::Path;
use std::process::{Command, ExitCode};

/// Runs the bench program from the repository's root with `arguments`.
pub(crate) fn run(root: &Path, arguments: &[String]) -> io::Result<ExitCode> {
    let release = |task: &str, package: &str| {
        let mut cargo = Command::new(env!("CARGO"));
        cargo
            .current_dir(root)
            .args([task, "--quiet", "--release", "--package", package]);
        cargo
    };
    // The bench program starts the passthrough and shardwright, which it finds beside itself.
    for package in ["shardwright-bench", "shardwright"] {
        if !release("build", package).arg("--bins").status()?.success() {
            return Ok(ExitCode::FAILURE);
        }
    }
    let status = release("run", "shardwright-bench")
        .arg("--")
        .args(arguments)
        .status()?;
    Ok(if status.success() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
