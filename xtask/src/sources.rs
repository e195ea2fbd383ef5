//! What holds for every source file and manifest: length, module docs, inherited lints.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A file past this is a question to answer, usually by finding the second idea in it.
const LINES: usize = 500;

/// Folders that hold our sources.
const FOLDERS: &[&str] = &["crates", "xtask", "tests", "examples"];

/// The one that has unsafe code, and so lints of its own: they deny what the workspace's forbid, and nothing less.
const WITH_UNSAFE: &str = "crates/sends/Cargo.toml";

/// Problems of all our files, ordered by path.
pub(crate) fn problems(root: &Path) -> io::Result<Vec<String>> {
    let mut files = Vec::new();
    for folder in FOLDERS {
        let folder = root.join(folder);
        if folder.is_dir() {
            collect(&folder, &mut files)?;
        }
    }
    files.sort();
    let mut problems = Vec::new();
    for path in files {
        let shown = path.strip_prefix(root).unwrap_or(&path);
        let found = match path.file_name().and_then(|name| name.to_str()) {
            Some("Cargo.toml") => manifest_problems(shown, &fs::read_to_string(&path)?),
            _ => source_problems(&fs::read_to_string(&path)?),
        };
        problems.extend(
            found
                .into_iter()
                .map(|problem| format!("{}: {problem}", shown.display())),
        );
    }
    Ok(problems)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        let name = entry.file_name();
        if entry.file_type()?.is_dir() {
            if name != "target" && !name.to_string_lossy().starts_with('.') {
                collect(&path, files)?;
            }
        } else if name == "Cargo.toml" || path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

fn source_problems(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let lines = text.lines().count();
    if lines > LINES {
        problems.push(format!("{lines} lines, more than {LINES}"));
    }
    if !text.starts_with("//! ") {
        problems.push("does not begin with a `//!` sentence on what it is for".to_owned());
    }
    problems
}

fn manifest_problems(path: &Path, text: &str) -> Vec<String> {
    let inherits = text.split("\n[").any(|table| {
        let mut lines = table.lines().map(str::trim).filter(|line| !line.is_empty());
        lines.next() == Some("lints]") && lines.eq(["workspace = true"])
    });
    let denies = path == Path::new(WITH_UNSAFE) && text.contains("\n[lints.rust]\nunsafe_code = \"deny\"\n");
    if inherits || denies {
        Vec::new()
    } else {
        vec!["does not inherit the workspace's lints".to_owned()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_keeps_the_rules() {
        assert_eq!(problems(&crate::root()).unwrap(), [""; 0]);
    }

    #[test]
    fn long_files_and_missing_docs_are_found() {
        assert_eq!(source_problems("//! For a test.\n"), [""; 0]);
        assert_eq!(
            source_problems(&"fn f() {}\n".repeat(501)),
            [
                "501 lines, more than 500",
                "does not begin with a `//!` sentence on what it is for"
            ]
        );
        assert_eq!(
            source_problems(&format!("//! Long.\n{}", "\n".repeat(499))),
            [""; 0]
        );
    }

    #[test]
    fn a_manifest_without_the_workspaces_lints_is_found() {
        let any = Path::new("crates/any/Cargo.toml");
        assert_eq!(
            manifest_problems(any, "[package]\nname = \"a\"\n\n[lints]\nworkspace = true\n"),
            [""; 0]
        );
        let denies = "[package]\n[lints.rust]\nunsafe_code = \"deny\"\n";
        assert_eq!(manifest_problems(Path::new(WITH_UNSAFE), denies), [""; 0]);
        for other in [
            "[package]\n",
            "[package]\n[lints]\nworkspace = false\n",
            "[a]\n[lints.rust]\nworkspace = true\n",
            denies,
        ] {
            assert_eq!(
                manifest_problems(any, other),
                ["does not inherit the workspace's lints"],
                "{other}"
            );
        }
    }
}
