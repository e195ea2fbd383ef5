//! Benchmarks are built in release mode, whatever profile this program has.

use std::io;
use std::path::Path;
use std::process::{Command, ExitCode};

/// Runs the bench program from the repository's root with `arguments`.
pub(crate) fn run(root: &Path, arguments: &[String]) -> io::Result<ExitCode> {
    let release = |task: &str| {
        let mut cargo = Command::new(env!("CARGO"));
        cargo
            .current_dir(root)
            .args([task, "--quiet", "--release", "--package", "shardwright-bench"]);
        cargo
    };
    // The passthrough is started by the bench program, which finds it beside itself.
    let built = release("build").arg("--bins").status()?;
    if !built.success() {
        return Ok(ExitCode::FAILURE);
    }
    let status = release("run").arg("--").args(arguments).status()?;
    Ok(if status.success() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
