//! What pages say of files is true: links lead to files, and named sources exist.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Problems of all pages, ordered by path.
pub(crate) fn problems(root: &Path) -> io::Result<Vec<String>> {
    let mut files = BTreeSet::new();
    for folder in ["crates", "docs", "examples", "fuzz", "schemas", "xtask"] {
        collect(&root.join(folder), &mut files)?;
    }
    let mut pages: Vec<PathBuf> = files.iter().filter(|path| is(path, "md")).cloned().collect();
    pages.extend(["README.md", "CONTRIBUTING.md"].map(|name| root.join(name)));
    let sources: Vec<String> = files
        .iter()
        .filter(|path| is(path, "rs"))
        .map(|path| format!("/{}", path.strip_prefix(root).unwrap_or(path).display()))
        .collect();
    let mut problems = Vec::new();
    for page in pages {
        let text = fs::read_to_string(&page)?;
        let shown = page.strip_prefix(root).unwrap_or(&page).display();
        let folder = page.parent().unwrap_or(root);
        let lost_links = links(&text).filter(|link| !folder.join(link).exists());
        problems.extend(lost_links.map(|link| format!("{shown}: the link {link} leads to no file")));
        let lost_sources = named_sources(&text).filter(|name| {
            let end = format!("/{name}");
            !sources.iter().any(|source| source.ends_with(&end))
        });
        problems.extend(lost_sources.map(|name| format!("{shown}: there is no source file {name}")));
    }
    Ok(problems)
}

fn collect(folder: &Path, files: &mut BTreeSet<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if !path.is_dir() {
            files.insert(path);
        } else if !path.ends_with("target") {
            collect(&path, files)?;
        }
    }
    Ok(())
}

fn is(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found == extension)
}

/// Targets of the links to files of the repository, without what follows `#`.
fn links(text: &str) -> impl Iterator<Item = &str> {
    outside_blocks(text)
        .flat_map(|line| line.split("](").skip(1))
        .filter_map(|rest| rest.split([')', '#', ' ']).next())
        .filter(|link| !link.is_empty() && !link.contains("://"))
}

/// Names of source files in backquotes.
fn named_sources(text: &str) -> impl Iterator<Item = &str> {
    outside_blocks(text)
        .flat_map(|line| line.split('`').skip(1).step_by(2))
        .filter(|word| word.ends_with(".rs") && !word.contains([' ', '*', '<']))
}

/// The lines that are not in code blocks.
fn outside_blocks(text: &str) -> impl Iterator<Item = &str> {
    let mut is_inside = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_inside ^= is_fence;
        !is_inside && !is_fence
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_name_files_that_exist() {
        assert_eq!(problems(&crate::root()).unwrap(), [""; 0]);
    }

    #[test]
    fn links_and_sources_are_found_outside_of_code() {
        let text = "See [a](b.md#part) and [c](https://d.example/e.md), `f/g.rs` and `h.md`.\n```\n[i](j.md) `k.rs`\n```\n[l](m)\n";
        assert_eq!(links(text).collect::<Vec<_>>(), ["b.md", "m"]);
        assert_eq!(named_sources(text).collect::<Vec<_>>(), ["f/g.rs"]);
    }
}
