//! What is no rule set, told once for what it is: a template, another program's file, another format.

use shardwright_diagnostics::{Diagnostic, FileId, Span};

use crate::Language;
use crate::codes::SYNTAX;

/// Marks that other programs replace, and what closes them.
const MARKS: [(&str, &str); 5] = [
    ("{{", "}}"),
    ("{%", "%}"),
    ("[%", "%]"),
    ("<%", "%>"),
    ("${", "}"),
];

/// The first placeholder of a file.
pub(crate) struct Template {
    start: usize,
    line: usize,
    mark: (&'static str, &'static str),
}

/// The first placeholder outside of comments that take a whole line.
pub(crate) fn template(text: &str) -> Option<Template> {
    let mut start = 0;
    for (at, line) in text.split_inclusive('\n').enumerate() {
        let begins = line.trim_start();
        if !begins.starts_with('#') && !begins.starts_with("//") {
            let found = MARKS.into_iter().filter_map(|mark| {
                let open = line.find(mark.0)?;
                line[open..].contains(mark.1).then_some((open, mark))
            });
            if let Some((open, mark)) = found.min_by_key(|(open, _)| *open) {
                return Some(Template {
                    start: start + open,
                    line: at + 1,
                    mark,
                });
            }
        }
        start += line.len();
    }
    None
}

impl Template {
    /// The name of a placeholder may be a secret's value: only its mark is shown.
    pub(crate) fn problem(&self, file: FileId) -> Diagnostic {
        let (open, close) = self.mark;
        let offset = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        let span = Span::new(file, offset(self.start), offset(self.start + open.len()));
        let what = format!(
            "the file is a template: line {} holds the placeholder `{open} ... {close}`",
            self.line
        );
        Diagnostic::error(SYNTAX, what)
            .at(span, "")
            .help("fill in the placeholders with the program that does so, and analyse the result")
    }
}

/// What a file is that is no rule set in `language`, and what to do instead.
pub(crate) fn foreign(text: &str, language: Language) -> Option<(&'static str, &'static str)> {
    let text = text.trim_start_matches('\u{feff}');
    let is_comment = |line: &str| ["#", "//", ";", "--"].iter().any(|mark| line.starts_with(mark));
    let mut lines = text.lines().map(str::trim);
    let first = lines.find(|line| !line.is_empty() && (!is_comment(line) || *line == "---"))?;
    let word = first
        .split(|letter: char| letter.is_whitespace() || letter == '=')
        .next()
        .unwrap_or_default();
    if first.starts_with("***") && first.contains(". row") {
        return Some((
            "rows that the mysql client printed one value a line, as \\G asks for",
            "end the query with `;`, or use `mysql -B`: each row then stands on one line",
        ));
    }
    if first.starts_with('<') && !first.starts_with("<%") {
        return Some(("markup", USUAL));
    }
    if first == "---" || first.starts_with("apiVersion:") {
        return Some(("a YAML document", "a project is named by its directory"));
    }
    if is_json(text) {
        return Some((
            "a JSON document",
            "a configuration of `compile --emit json` has a name that ends in .json",
        ));
    }
    if language != Language::Scheduler && is_section(first) {
        return Some(if text.contains("type=server") || first == "[maxscale]" {
            ("a configuration of MaxScale", USUAL)
        } else if ["[mysqld]", "[mysql]", "[client]", "[mariadb]", "[server]"].contains(&first) {
            ("an option file of a MySQL server or its clients (my.cnf)", USUAL)
        } else {
            ("an INI file", USUAL)
        });
    }
    let is_haproxy = ["global", "defaults", "frontend", "backend", "listen"].contains(&word)
        && !first.contains(['=', ':', '(']);
    if is_haproxy {
        return Some(("a configuration of HAProxy", USUAL));
    }
    match language {
        Language::Sql if is_configuration(first, word) => {
            Some(("a proxysql.cnf", "give the file a name that ends in .cnf"))
        }
        Language::Cnf if is_statement(first, word) => Some((
            "statements for the admin port",
            "give the file a name that ends in .sql",
        )),
        _ => None,
    }
}

const USUAL: &str = "give SQL for ProxySQL's admin port, the rows of its tables, or a proxysql.cnf";

fn is_section(line: &str) -> bool {
    let name = line.strip_prefix('[').and_then(|line| line.strip_suffix(']'));
    name.is_some_and(|name| {
        let mut letters = name.chars();
        letters.next().is_some_and(char::is_alphabetic)
            && letters
                .all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.' | ':' | ' '))
    })
}

fn is_json(text: &str) -> bool {
    let text = text.trim();
    let braced =
        (text.starts_with('{') && text.ends_with('}')) || (text.starts_with('[') && text.ends_with(']'));
    braced && serde_json::from_str::<serde_json::Value>(text).is_ok()
}

/// `mysql_servers =`, `datadir="…"`
fn is_configuration(first: &str, word: &str) -> bool {
    let word = word.trim_end_matches([':', '=']);
    let is_known = ["datadir", "errorlog"].contains(&word)
        || word.ends_with("_variables")
        || shardwright_rules::tables::table(word).is_some();
    let behind = first[word.len().min(first.len())..].trim_start();
    is_known && (behind.is_empty() || behind.starts_with(['=', ':']))
}

fn is_statement(first: &str, word: &str) -> bool {
    let verbs = [
        "INSERT", "REPLACE", "UPDATE", "DELETE", "SET", "LOAD", "SAVE", "PRAGMA",
    ];
    let behind = first[word.len().min(first.len())..].trim_start();
    verbs.iter().any(|verb| word.eq_ignore_ascii_case(verb))
        && !behind.is_empty()
        && !behind.starts_with(['=', ':'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_for_what_they_are() {
        for (text, language, expected) in [
            (
                "*************************** 1. row ***************************\nrule_id: 1\n",
                Language::Sql,
                Some("rows that the mysql client printed one value a line, as \\G asks for"),
            ),
            (
                "# x\n[mysqld]\nport=3306\n",
                Language::Cnf,
                Some("an option file of a MySQL server or its clients (my.cnf)"),
            ),
            (
                "[server1]\ntype=server\n",
                Language::Cnf,
                Some("a configuration of MaxScale"),
            ),
            (
                "global\n    daemon\n",
                Language::Cnf,
                Some("a configuration of HAProxy"),
            ),
            ("global=1\n", Language::Cnf, None),
            ("version: 1\n", Language::Sql, None),
            ("---\nversion: 1\n", Language::Sql, Some("a YAML document")),
            ("{\"a\": [1]}", Language::Cnf, Some("a JSON document")),
            ("<html>", Language::Sql, Some("markup")),
            ("datadir=\"/x\"\n", Language::Sql, Some("a proxysql.cnf")),
            ("mysql_servers:\n(\n)", Language::Sql, Some("a proxysql.cnf")),
            (
                "INSERT INTO mysql_servers VALUES (1)",
                Language::Cnf,
                Some("statements for the admin port"),
            ),
            ("set = 1", Language::Cnf, None),
            ("", Language::Cnf, None),
            ("-- only a comment", Language::Sql, None),
        ] {
            let found = foreign(text, language).map(|(what, _)| what);
            assert_eq!(found, expected, "{text}");
        }
    }
}
