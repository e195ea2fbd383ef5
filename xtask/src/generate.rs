//! Generated files: the tests that keep them fresh write them.

use std::io;
use std::path::Path;
use std::process::{Command, ExitCode};

/// Crates with generated files.
const CRATES: [&str; 3] = ["shardwright-topology", "shardwright-plan", "shardwright-targets"];
/// The tests that compare generated files with what is there.
const TESTS: &str = "fresh";

/// Writes the published schemas and the tables of `docs/language`.
pub(crate) fn run(root: &Path) -> io::Result<ExitCode> {
    // What runs this program says which cargo that is; the one that compiled it may be another.
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let packages = CRATES.iter().flat_map(|package| ["--package", package]);
    let status = Command::new(cargo)
        .current_dir(root)
        .env("SHARDWRIGHT_GENERATE", "1")
        .arg("test")
        .args(packages)
        .args(["--test", "it", TESTS])
        .status()?;
    Ok(if status.success() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
