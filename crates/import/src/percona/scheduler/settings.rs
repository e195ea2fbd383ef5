//! The settings of a file in TOML, by section and name; the program compares both without their case.

use std::collections::BTreeMap;
use std::ops::Range;

use shardwright_diagnostics::{Diagnostic, FileId, Problems, Span};
use toml_edit::{Document, Item, Table};

use super::super::Said;
use crate::codes::{REFUSED, SYNTAX, UNKNOWN};

/// What a file sets.
#[derive(Default)]
pub(super) struct Settings {
    /// By `section.name` in lower case.
    values: BTreeMap<String, Setting>,
    whole: Option<Span>,
}

struct Setting {
    /// `section.name`, as the file has it.
    name: String,
    /// The value as a text: `100`, `true`.
    text: String,
    is_number: bool,
    place: Span,
}

pub(super) fn span(file: FileId, range: Range<usize>) -> Span {
    let offset = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    Span::new(file, offset(range.start), offset(range.end))
}

impl Settings {
    pub(super) fn read(text: &str, file: FileId, problems: &mut Problems) -> Self {
        let mut settings = Self {
            values: BTreeMap::new(),
            whole: Some(span(file, 0..0)),
        };
        let document = match Document::parse(text) {
            Ok(document) => document,
            Err(error) => {
                let at = span(file, error.span().unwrap_or(0..0));
                problems.push(Diagnostic::error(SYNTAX, error.message().to_owned()).at(at, ""));
                return settings;
            }
        };
        for (section, item) in document.as_table() {
            match item.as_table() {
                Some(table) => settings.section(section, table, file, problems),
                None => {
                    let what =
                        format!("`{section}` is in no section, so pxc_scheduler_handler does not read it");
                    let at = span(file, item.span().unwrap_or(0..0));
                    problems.push(Diagnostic::warning(UNKNOWN, what).at(at, ""));
                }
            }
        }
        settings
    }

    fn section(&mut self, section: &str, table: &Table, file: FileId, problems: &mut Problems) {
        for (name, item) in table {
            let key = table.key(name).and_then(toml_edit::Key::span);
            let value = item.span();
            let range = match (key, value) {
                (Some(key), Some(value)) => key.start..value.end,
                (Some(range), None) | (None, Some(range)) => range,
                (None, None) => 0..0,
            };
            let place = span(file, range);
            let name = format!("{section}.{name}");
            let Some((text, is_number)) = text(item) else {
                let what = format!("{name} is neither a number, a text nor true or false");
                problems.push(Diagnostic::error(REFUSED, what).at(place, ""));
                continue;
            };
            let setting = Setting {
                name: name.clone(),
                text,
                is_number,
                place,
            };
            self.values.insert(name.to_ascii_lowercase(), setting);
        }
    }

    /// Names with their places, as the file has them.
    pub(super) fn in_order(&self) -> impl Iterator<Item = (&str, Span)> {
        let mut all: Vec<&Setting> = self.values.values().collect();
        all.sort_by_key(|setting| setting.place.start);
        all.into_iter()
            .map(|setting| (setting.name.as_str(), setting.place))
    }

    fn get(&self, name: &str) -> Option<&Setting> {
        self.values.get(&name.to_ascii_lowercase())
    }

    /// A setting that is not empty.
    pub(super) fn said(&self, name: &str) -> Option<Said<'_>> {
        let setting = self.get(name).filter(|setting| !setting.text.is_empty())?;
        Some(Said {
            setting: &setting.name,
            value: &setting.text,
            place: setting.place,
        })
    }

    /// Where a setting is, or the beginning of the file.
    pub(super) fn place(&self, name: &str) -> Span {
        let place = self.get(name).map(|setting| setting.place).or(self.whole);
        place.expect("whatever has settings was read from a file")
    }

    /// A number that is not below zero. `None`, with a problem: it is something else, or is missing and has no default.
    pub(super) fn number(&self, name: &str, default: Option<u32>, problems: &mut Problems) -> Option<u32> {
        let what = match (self.get(name), default) {
            (Some(setting), _) => match setting.text.parse().ok().filter(|_| setting.is_number) {
                Some(number) => return Some(number),
                None => format!("{} is no whole number from 0", setting.name),
            },
            (None, Some(default)) => return Some(default),
            (None, None) => format!("{name} is missing: it is the number of a hostgroup"),
        };
        problems.push(Diagnostic::error(REFUSED, what).at(self.place(name), ""));
        None
    }

    /// `true` or `false`, which is the default. `None`, with a problem: it is something else.
    pub(super) fn flag(&self, name: &str, problems: &mut Problems) -> Option<bool> {
        let Some(setting) = self.get(name) else {
            return Some(false);
        };
        match setting.text.as_str() {
            "true" => Some(true),
            "false" => Some(false),
            _ => {
                let what = format!("{} is neither true nor false", setting.name);
                problems.push(Diagnostic::error(REFUSED, what).at(setting.place, ""));
                None
            }
        }
    }
}

/// A value as a text, and whether it is a whole number.
fn text(item: &Item) -> Option<(String, bool)> {
    if let Some(number) = item.as_integer() {
        return Some((number.to_string(), true));
    }
    let text = item
        .as_str()
        .map(str::to_owned)
        .or_else(|| item.as_bool().map(|flag| flag.to_string()))
        .or_else(|| item.as_float().map(|number| number.to_string()))?;
    Some((text, false))
}
