//! `explain error:N`: the errors that clients get from the proxy itself.

use shardwright_diagnostics::did_you_mean;

use super::{code, is_code};
use crate::args::Format;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::ui::Ui;

const PAGES: &str = include_str!("../../../../../docs/errors.md");

struct Page {
    number: &'static str,
    title: &'static str,
    text: &'static str,
}

/// The sections of the document, each headed `## NUMBER TITLE`.
fn pages() -> impl Iterator<Item = Page> {
    PAGES.split("\n## ").skip(1).filter_map(|section| {
        let (heading, text) = section.split_once('\n')?;
        let (number, title) = heading.split_once(' ')?;
        Some(Page {
            number,
            title,
            text: text.trim(),
        })
    })
}

pub(super) fn run(number: &str, ui: &Ui) -> Result<Exit, CommandError> {
    if is_code(number) {
        return code(number, ui);
    }
    let Some(page) = pages().find(|page| page.number == number) else {
        let known: Vec<&str> = pages().map(|page| page.number).collect();
        let error = CommandError::usage(format!("the proxy sends no error {number} of its own"));
        return Err(match did_you_mean(number, known.iter().copied()) {
            Some(near) => error.hint(format!("did you mean {near}? errors: {}", known.join(", "))),
            None => error.hint(format!(
                "errors of servers pass through unchanged; the proxy's own: {}",
                known.join(", ")
            )),
        });
    };
    if ui.format() == Format::Json {
        let number: Option<u16> = page.number.parse().ok();
        ui.json(&serde_json::json!({"error": number, "title": page.title, "page": page.text}))?;
    } else {
        let name = format!("error {}", page.number);
        ui.data(&format!(
            "{}: {}\n\n{}\n",
            ui.strong(&name),
            page.title,
            page.text
        ))?;
    }
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;

    /// Every Rust file in a directory and in those below it.
    fn below(directory: &Path, files: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                below(&path, files);
            } else {
                files.push(path);
            }
        }
    }

    /// Every error that a file of the proxy names.
    fn sent() -> Vec<String> {
        let mut files = Vec::new();
        below(
            &Path::new(env!("CARGO_MANIFEST_DIR")).join("../proxy/src"),
            &mut files,
        );
        let mut numbers = Vec::new();
        for file in files {
            let text = std::fs::read_to_string(file).unwrap();
            for (name, code) in shardwright_wire::errors::ALL {
                if text.contains(&format!("errors::{name}")) {
                    numbers.push(code.code.to_string());
                }
            }
            let own = text.split("    code: ").skip(1);
            numbers.extend(own.map(|rest| rest.chars().take_while(char::is_ascii_digit).collect::<String>()));
        }
        numbers.retain(|number| !number.is_empty());
        numbers.sort();
        numbers.dedup();
        numbers
    }

    #[test]
    fn every_error_that_the_proxy_sends_has_a_page() {
        let sent = sent();
        assert!(sent.len() > 15, "{sent:?}");
        for number in sent {
            let page = pages().find(|page| page.number == number);
            assert!(
                page.is_some_and(|page| page.text.len() > 40),
                "{number} has no section in docs/errors.md"
            );
        }
    }
}
