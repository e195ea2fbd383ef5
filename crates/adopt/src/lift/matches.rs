//! The conditions of a rule as a `match` of the language.

use shardwright_rules::tables::{Part, RULE_COLUMNS, Value, digest_text};
use shardwright_rules::{EngineRule, Modifiers};

use crate::draft::{Draft, RuleDraft};
use crate::names::{Names, slug};
use crate::yaml::{Field, Yaml};

/// The fields of a `match` that asks for what a rule asks for; none where a `match` cannot. A rule without conditions has
/// none. A pattern that must not match is an exception.
pub(crate) fn conditions(draft: &Draft, row: &EngineRule) -> Option<Vec<Field>> {
    let has_patterns = row.match_digest.is_some() || row.match_pattern.is_some();
    if has_patterns && row.re_modifiers != Modifiers::default() {
        return None;
    }
    let negated = row.negate_match_pattern;
    let mut fields = Vec::new();
    for column in RULE_COLUMNS.iter().filter(|column| column.is_condition_of(row)) {
        let Some(value) = column.get(row) else { continue };
        let (key, value) = match (column.name(), value) {
            ("username", Value::Text(user)) => ("users", Yaml::texts([plain(user)?])),
            ("schemaname", Value::Text(schema)) => ("schemas", Yaml::texts([plain(schema)?])),
            ("client_addr", Value::Text(address)) => ("client_addr", Yaml::texts([address])),
            ("proxy_port", Value::Number(port)) => {
                let listener = draft
                    .listeners
                    .iter()
                    .find(|listener| u32::from(listener.port) == port)?;
                ("listeners", Yaml::texts([&listener.name]))
            }
            ("digest", Value::Digest(digest)) => ("digest", Yaml::texts([digest_text(digest)])),
            ("match_digest", Value::Text(pattern)) if negated => ("except_match_digest", Yaml::text(pattern)),
            ("match_pattern", Value::Text(pattern)) if negated => {
                ("except_match_pattern", Yaml::text(pattern))
            }
            (name @ ("match_digest" | "match_pattern"), Value::Text(pattern)) => (name, Yaml::text(pattern)),
            _ => return None,
        };
        fields.push(Field::new(key, value));
    }
    Some(fields)
}

/// A name that is no glob.
fn plain(name: &str) -> Option<&str> {
    (!name.is_empty() && !name.contains(['*', '?'])).then_some(name)
}

/// Whether a rule does nothing but what these columns say; its conditions, and what stands beside them, do not count.
pub(crate) fn only_does(row: &EngineRule, columns: &[&str]) -> bool {
    RULE_COLUMNS.iter().all(|column| {
        let is_about_matching = matches!(column.part, Part::Condition | Part::Matching | Part::Comment);
        is_about_matching || columns.contains(&column.name()) || column.get_given(row).is_none()
    })
}

/// What people would call what a rule does: its comment, its pattern, its user.
pub(crate) fn name(rule: &RuleDraft, names: &mut Names) -> String {
    let row = &rule.row;
    let texts = [
        &row.comment,
        &row.match_digest,
        &row.match_pattern,
        &row.username,
        &row.schemaname,
        &row.client_addr,
    ];
    let mut wanted: Vec<String> = texts
        .into_iter()
        .flatten()
        .map(|text| slug(&words(text)).to_ascii_lowercase())
        .filter(|name| name.chars().any(|c| c.is_ascii_alphabetic()))
        .take(1)
        .collect();
    wanted.push(format!("rule-{}", rule.id));
    names.take(&wanted)
}

/// A pattern without what is no word of it.
fn words(pattern: &str) -> String {
    let without = pattern
        .replace("\\b", " ")
        .replace("\\s", " ")
        .replace("\\S", " ");
    let letter = |c: char| {
        if c.is_ascii_alphanumeric() || c == '_' {
            c
        } else {
            ' '
        }
    };
    let words: String = without.chars().map(letter).collect();
    let has_letters = |word: &&str| word.chars().any(|c| c.is_ascii_alphanumeric());
    let words: Vec<&str> = words.split_whitespace().filter(has_letters).take(5).collect();
    words.join("-")
}
