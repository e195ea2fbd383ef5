//! Statements as people write them, for rules and maps.

use std::collections::HashSet;

use memchr::memmem;
use shardwright_rules::{Body, Configuration};

use super::super::candidates::written;
use crate::attempts::{Attempts, shown_text};
use crate::example::{ORDINARY, sessions};
use crate::rule_set::RuleSet;
use crate::session::Session;
use crate::structure::Structure;

/// Rules of each side that are asked for a statement, at most as many.
const MOST_RULES: usize = 200;

/// How far a statement is from what people write; the least is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Oddness {
    /// An ordinary statement that reads or writes rows, by its place among these.
    Ordinary(usize),
    /// An ordinary statement about the session.
    OfSession,
    /// What the patterns of a rule show.
    OfPattern,
    /// What a proof has found.
    Found,
}

/// A statement to try.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Text {
    pub(super) text: Vec<u8>,
    pub(super) oddness: Oddness,
}

/// How ordinary statements begin that are about the session.
const OF_SESSION: [&str; 7] = ["BEGIN", "START", "COMMIT", "SET ", "SHOW ", "USE ", "SELECT 1"];

impl Text {
    pub(super) fn plain(text: Vec<u8>) -> Self {
        Self {
            text,
            oddness: Oddness::Ordinary(0),
        }
    }
}

/// Ordinary statements on a table.
pub(super) fn on_table(table: &str) -> Vec<Text> {
    let text = |(place, text): (usize, &&str)| {
        let is_of_session = OF_SESSION.iter().any(|start| text.starts_with(start));
        let words = text.split(' ').map(|word| if word == "t" { table } else { word });
        Text {
            text: words.collect::<Vec<_>>().join(" ").into_bytes(),
            oddness: if is_of_session {
                Oddness::OfSession
            } else {
                Oddness::Ordinary(place)
            },
        }
    };
    ORDINARY.iter().enumerate().map(text).collect()
}

/// Statements for the rules that only one side has, each in a session that the rule asks for.
pub(super) fn of_differing_rules(both: [&Configuration; 2]) -> Vec<(Session, Text)> {
    let sets = both.map(RuleSet::of);
    let written = [written(&sets[0]), written(&sets[1])];
    let mut seen = HashSet::new();
    let mut texts = Vec::new();
    for (side, set) in sets.iter().enumerate() {
        let others: HashSet<&String> = written[1 - side].iter().collect();
        let own = |position: &usize| !others.contains(&written[side][*position]);
        let own: Vec<usize> = (0..set.rule_count()).filter(own).collect();
        if own.is_empty() {
            continue;
        }
        let mut attempts = Attempts::new(set);
        attempts.try_all(&Structure::with_restarts(set, set.iterations()));
        let apart = own.len().div_ceil(MOST_RULES);
        for position in own.into_iter().step_by(apart) {
            let usual = sessions(set).into_iter().next();
            let (session, of_tables) = match set.row(position) {
                Some(row) => {
                    let session = usual.map(|session| session.adapted_to(row, &set.session_values));
                    (session, tables(&shown_text(set, position)))
                }
                None => (usual, tables_of_step(set, position)),
            };
            let of_tables = of_tables.iter().flat_map(|table| on_table(table));
            let of_tables: Vec<Text> = of_tables.collect();
            let found = attempts.found[position].clone();
            let session = session.or(found.as_ref().map(|found| found.session.clone()));
            texts.extend(session.into_iter().flat_map(|session| {
                let of_tables = of_tables.clone().into_iter();
                of_tables.map(move |text| (session.clone(), text))
            }));
            texts.extend(found.into_iter().flat_map(|found| {
                let texts = [in_small_letters(&found.text), found.text];
                texts.map(|text| {
                    let text = Text {
                        text,
                        oddness: Oddness::OfPattern,
                    };
                    (found.session.clone(), text)
                })
            }));
        }
    }
    texts.retain(|(session, text)| seen.insert((session.user.clone(), session.schema.clone(), text.clone())));
    texts
}

/// A text whose first comment has small letters: patterns without case show capital ones.
fn in_small_letters(text: &[u8]) -> Vec<u8> {
    let end = memmem::find(text, b"*/").filter(|_| text.starts_with(b"/*"));
    let mut text = text.to_vec();
    text[..end.unwrap_or(0)].make_ascii_lowercase();
    text
}

/// The tables that the patterns of a step name, as far as they are written out there.
fn tables_of_step(set: &RuleSet<'_>, position: usize) -> Vec<String> {
    let Body::Native { scope, .. } = &set.configuration.graph.rules[position].body else {
        return Vec::new();
    };
    let patterns = scope.match_digest.iter().chain(&scope.match_pattern);
    let plain = patterns.map(|pattern| pattern.replace("\\s+", " ").replace("\\s", " "));
    plain.flat_map(|pattern| tables(pattern.as_bytes())).collect()
}

/// The tables that a text names, by the words before them.
fn tables(text: &[u8]) -> Vec<String> {
    const BEFORE: [&str; 5] = ["FROM", "INTO", "UPDATE", "JOIN", "TABLE"];
    let text = String::from_utf8_lossy(text);
    let words: Vec<&str> = text
        .split(|letter: char| !(letter.is_alphanumeric() || matches!(letter, '_' | '.' | '$')))
        .filter(|word| !word.is_empty())
        .collect();
    let pairs = words.windows(2);
    let named = pairs.filter(|pair| BEFORE.iter().any(|before| pair[0].eq_ignore_ascii_case(before)));
    let is_name = |word: &str| word.starts_with(|first: char| first.is_alphabetic() || first == '_');
    named
        .map(|pair| pair[1])
        .filter(|word| is_name(word))
        .flat_map(|word| [word.to_ascii_lowercase(), word.to_owned()])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_stand_behind_the_words_that_name_them() {
        assert_eq!(
            tables(b"SELECT ! FROM STOCK_ JOIN `b.items` x"),
            ["stock_", "STOCK_", "b.items", "b.items"]
        );
        assert_eq!(tables(b"UPDATE audit SET")[0], "audit");
        assert!(tables(b"SELECT FROM (").is_empty());
    }

    #[test]
    fn ordinary_statements_are_made_for_a_table() {
        let texts = on_table("stock").into_iter();
        let texts: Vec<String> = texts
            .map(|text| String::from_utf8_lossy(&text.text).into_owned())
            .collect();
        assert!(
            texts.contains(&"INSERT INTO stock (id, a) VALUES (1, 'x')".to_owned()),
            "{texts:?}"
        );
    }
}
