//! One run of another program: its processor time, its time from start to end, and its largest resident set.
//!
//! The kernel tells the peak of children only as the largest of all that have ended, so each measured run has a parent of
//! its own: this program, started again.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::resident::children_peak_kib;
use crate::{BenchError, cpu_time_of_children};

/// What one run took.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Once {
    /// On processors, in user and kernel mode.
    pub cpu_ms: f64,
    /// From start to end.
    pub ms: f64,
    /// The largest resident set.
    pub peak_kib: u64,
}

/// The name of the subcommand of the bench program that runs [`here`].
pub const SUBCOMMAND: &str = "once";

/// Runs a command line in this process's directory; its standard output is not kept. Only right in a process that has run
/// no other child.
///
/// # Errors
/// The program cannot be run, or fails.
pub fn here(command: &[OsString]) -> Result<Once, BenchError> {
    let shown = command
        .iter()
        .map(|part| part.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ");
    let (program, arguments) = command.split_first().ok_or_else(|| BenchError::Output {
        what: "nothing to run".to_owned(),
        output: String::new(),
    })?;
    let start = Instant::now();
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .output()
        .map_err(BenchError::io(shown.clone()))?;
    let ms = start.elapsed().as_secs_f64() * 1e3;
    if !output.status.success() {
        return Err(BenchError::Output {
            what: format!("{shown} ended with {}", output.status),
            output: String::from_utf8_lossy(&output.stderr).into_owned(),
        });
    }
    let cpu = cpu_time_of_children().map_err(BenchError::io("processor time"))?;
    Ok(Once {
        cpu_ms: cpu.as_secs_f64() * 1e3,
        ms,
        peak_kib: children_peak_kib(),
    })
}

/// The same in a process of its own, started in `directory`.
///
/// # Errors
/// As [`here`].
pub(crate) fn measured(program: &Path, arguments: &[&str], directory: &Path) -> Result<Once, BenchError> {
    let bench = std::env::current_exe().map_err(BenchError::io("the path of this program"))?;
    let output = Command::new(&bench)
        .arg(SUBCOMMAND)
        .arg("--")
        .arg(program)
        .args(arguments)
        .current_dir(directory)
        .stdin(Stdio::null())
        .output()
        .map_err(BenchError::io(bench.display().to_string()))?;
    let told = || String::from_utf8_lossy(&output.stderr).into_owned();
    serde_json::from_slice(&output.stdout).map_err(|error| BenchError::Output {
        what: format!("measuring {}: {error}", program.display()),
        output: told(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_works_is_counted_and_one_that_fails_is_told() {
        let shell = |script: &str| ["/bin/sh", "-c", script].map(OsString::from);
        let once = here(&shell("i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done")).unwrap();
        assert!(
            once.cpu_ms > 0.0 && once.ms > 0.0 && once.peak_kib > 0,
            "{once:?}"
        );
        let failed = here(&shell("echo no >&2; exit 3")).unwrap_err().to_string();
        assert!(
            failed.contains("exit status: 3") && failed.contains("no"),
            "{failed}"
        );
    }
}
