//! The commit that a project is at.

use std::path::Path;
use std::process::Command;

/// The commit that is checked out; `None`: there is no repository, or no git.
pub(crate) fn head(directory: &Path) -> Option<String> {
    let output = Command::new("git")
        .arg("-C")
        .arg(directory)
        .args(["rev-parse", "--verify", "--quiet", "HEAD"])
        .env("GIT_OPTIONAL_LOCKS", "0")
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !text.trim().is_empty()).then(|| text.trim().to_owned())
}
