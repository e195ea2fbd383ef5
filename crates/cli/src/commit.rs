//! The commit that a project is at.

use std::path::Path;
use std::process::Command;

/// Files that a project is made of.
const FILES: [&str; 4] = ["*.yaml", "*.yml", "*.csv", "*.lock"];

/// The commit that is checked out.
pub(crate) struct Commit {
    pub(crate) id: String,
    /// Files of the project are not as they were committed.
    pub(crate) is_uncommitted: bool,
}

/// The commit that is checked out; `None`: there is no repository, or no git.
pub(crate) fn head(directory: &Path) -> Option<Commit> {
    let id = git(directory, &["rev-parse", "--verify", "--quiet", "HEAD"])?;
    let question = [
        &["status", "--porcelain", "--untracked-files=all", "--"][..],
        &FILES,
    ]
    .concat();
    let changed = git(directory, &question)?;
    (!id.is_empty()).then_some(Commit {
        id,
        is_uncommitted: !changed.is_empty(),
    })
}

/// Where a directory is in its repository, such as `proxies/shop`; `None`: it is the root, there is no repository, or no git.
pub(crate) fn place(directory: &Path) -> Option<String> {
    let prefix = git(directory, &["rev-parse", "--show-prefix"])?;
    let place = prefix.trim_end_matches('/');
    (!place.is_empty()).then(|| place.to_owned())
}

/// What a command of git prints; `None`: it failed.
fn git(directory: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git")
        .arg("-C")
        .arg(directory)
        .args(arguments)
        .env("GIT_OPTIONAL_LOCKS", "0")
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
