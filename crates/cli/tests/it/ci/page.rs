//! `docs/ci.md` as it stands: its files, its steps on a repository of git, with the bundled proxy as the target.

use std::process::Output;

use shardwright_testkit::{CommandEnvironment, ProxyOptions, ProxyProcess};

use super::{repository, shell, shown};
use crate::support::PROGRAM;

/// A block of the page with the comment above it.
struct Block {
    /// What stands behind `<!-- `.
    mark: String,
    text: String,
}

fn blocks(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let (mut mark, mut open): (Option<String>, Option<Block>) = (None, None);
    for line in page.lines() {
        if let Some(block) = &mut open {
            if line == "```" {
                blocks.extend(open.take());
            } else {
                block.text.push_str(line);
                block.text.push('\n');
            }
        } else if let Some(comment) = line.strip_prefix("<!-- ") {
            mark = comment.strip_suffix(" -->").map(str::to_owned);
        } else if line.starts_with("```") {
            let mark = mark.take().unwrap_or_default();
            open = Some(Block {
                mark,
                text: String::new(),
            });
        }
    }
    blocks
}

#[test]
fn the_steps_of_the_page_work_as_they_stand() {
    let page = std::fs::read_to_string(repository().join("docs/ci.md")).unwrap();
    let mut home = CommandEnvironment::new(PROGRAM).unwrap();
    home.set("APP_PASSWORD", "a-password");
    let proxy = ProxyProcess::start(&home, ProxyOptions::new(home.outside("data"))).unwrap();
    let port = proxy.admin().port().to_string();
    let directory = home.project();
    let mut last: Option<Output> = None;
    let mut steps = 0;
    for Block { mark, text } in blocks(&page) {
        if let Some(path) = mark.strip_prefix("file: ") {
            home.write(path, text.replace("6032", &port)).unwrap();
        } else if mark.starts_with("step") {
            let expected = mark
                .strip_prefix("step: exits ")
                .map_or(0, |code| code.parse().unwrap());
            let output = shell(&directory, &home.outside("home"), &text, &[]);
            assert_eq!(output.status.code(), Some(expected), "{text}\n{}", shown(&output));
            last = Some(output);
            steps += 1;
        } else if mark == "shows" {
            let printed = shown(last.as_ref().expect("a step stands in front"));
            for line in text.lines() {
                assert!(printed.contains(line), "{line}\n{printed}");
            }
        }
    }
    assert!(steps >= 8, "{steps} steps");
}

#[test]
fn the_page_names_a_release_for_hooks() {
    let page = std::fs::read_to_string(repository().join("docs/ci.md")).unwrap();
    let hooks = blocks(&page)
        .into_iter()
        .find(|block| block.text.starts_with("repos:"))
        .unwrap();
    let rev = hooks
        .text
        .lines()
        .find_map(|line| line.trim().strip_prefix("rev: "))
        .unwrap();
    // pre-commit never updates a branch, and `autoupdate` finds releases.
    assert_eq!(rev, concat!("v", env!("CARGO_PKG_VERSION")));
}
