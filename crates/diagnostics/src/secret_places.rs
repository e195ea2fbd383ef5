//! Places of a text that could hold a secret, told by the words before them.
//!
//! A file that cannot be read, or whose keys are misspelt, has no fields, so that only its words tell where a secret is. So a
//! line is hidden from such a word on. References, such as `{env: NAME}`, name a secret and hold none.

use std::ops::Range;

use crate::boundary::floor_boundary;
use crate::did_you_mean;

/// Parts of words that name a secret, in small letters.
const PARTS: [&str; 6] = ["passw", "passphrase", "pwd", "secret", "credential", "token"];
/// Words that are often misspelt.
const MISSPELT: [&str; 2] = ["password", "credentials"];
/// What a reference begins with.
const REFERENCES: [&str; 3] = ["env", "file", "command"];
/// Lines before a line that are looked at, and bytes before it of a statement.
const MOST_LINES: usize = 200;
const MOST_BYTES: usize = 64 * 1024;

/// The text with asterisks in the places that could hold a secret; as many bytes, and the same lines.
#[must_use]
pub fn without_secrets(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let range = at..at + line.trim_end_matches(['\n', '\r']).len();
        let hidden = secret_place(text, range.clone(), &[]).unwrap_or(range.end..range.end);
        shown.push_str(&text[at..hidden.start]);
        shown.push_str(&"*".repeat(hidden.len()));
        shown.push_str(&text[hidden.end..at + line.len()]);
        at += line.len();
    }
    shown
}

/// The part of a line, to its end, that could hold a secret. `known` are secrets that a reader has found, whose lines are safe
/// behind them.
pub(crate) fn secret_place(text: &str, line: Range<usize>, known: &[Range<usize>]) -> Option<Range<usize>> {
    let own = named_in(&text[line.clone()], line.start, known);
    let start = own
        .or_else(|| below(text, &line))
        .or_else(|| in_statement(text, &line))?;
    (start < line.end).then_some(start..line.end)
}

/// Whether a word names a secret.
fn names_secret(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    PARTS.iter().any(|part| word.contains(part)) || did_you_mean(&word, MISSPELT).is_some()
}

/// The words of a line, each with where it begins.
fn words(line: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    let mut rest = 0;
    std::iter::from_fn(move || {
        let start = rest + line[rest..].find(is_word)?;
        let length = line[start..].find(|letter| !is_word(letter));
        rest = length.map_or(line.len(), |length| start + length);
        Some((start, &line[start..rest]))
    })
}

/// Where the value of the first word that names a secret begins: behind `:` or `=`, and behind a quote that opens it.
fn named_in(line: &str, offset: usize, known: &[Range<usize>]) -> Option<usize> {
    let mut safe = 0;
    for (start, word) in words(line) {
        if start < safe || !names_secret(word) {
            continue;
        }
        let behind = &line[start + word.len()..];
        let unquoted = behind.trim_start_matches(['"', '\'', '`', ' ', '\t']);
        let Some(value) = unquoted.strip_prefix([':', '=']) else {
            continue;
        };
        let value = value.trim_start();
        let at = line.len() - value.len();
        if value.is_empty() {
            return None;
        }
        if let Some(end) = reference(value) {
            safe = at + end;
        } else if let Some(end) = known_end(line, offset, at, known) {
            safe = end;
        } else {
            let quote = usize::from(value.starts_with(['"', '\'']));
            return Some(offset + at + quote);
        }
    }
    None
}

/// Where the secret ends that a reader has found at a place; `None` where something follows that is no end of a value.
fn known_end(line: &str, offset: usize, at: usize, known: &[Range<usize>]) -> Option<usize> {
    let secret = known.iter().find(|secret| secret.contains(&(offset + at)))?;
    let end = secret.end.saturating_sub(offset).min(line.len());
    let behind = line.get(end..)?.trim_start_matches(['"', '\'']).trim_start();
    let is_end = behind.is_empty() || behind.starts_with([',', '}', ']', ')', '#', ';']);
    is_end.then_some(end)
}

/// The length of a reference, or of an empty mapping, at the beginning of a value.
fn reference(value: &str) -> Option<usize> {
    let inside = value.strip_prefix('{')?;
    let end = inside.find('}')?;
    let first = words(&inside[..end]).next().map(|(_, word)| word);
    first
        .is_none_or(|first| REFERENCES.contains(&first))
        .then_some(end + 2)
}

/// Where a line begins that stands below a key of a secret: the lines of a text, or a mapping that is no reference.
fn below(text: &str, line: &Range<usize>) -> Option<usize> {
    let indent = |line: &str| line.len() - line.trim_start_matches([' ', '-']).len();
    let own = &text[line.clone()];
    let mut least = indent(own);
    let first = words(own).next().map(|(_, word)| word);
    let before = text[..line.start].lines().rev().take(MOST_LINES);
    for above in before.filter(|above| !above.trim().is_empty()) {
        let depth = indent(above);
        if depth >= least {
            continue;
        }
        least = depth;
        let key = words(above).next().filter(|(at, word)| {
            let behind = above[at + word.len()..].trim_start_matches(['"', '\'']);
            names_secret(word) && behind.starts_with(':')
        });
        if key.is_some() {
            let is_reference = first.is_some_and(|first| REFERENCES.contains(&first));
            return (!is_reference).then(|| line.start + own.len() - own.trim_start().len());
        }
        if depth == 0 {
            break;
        }
    }
    None
}

/// Where the values of a line begin that is part of a statement, or of a printed table, about secrets.
fn in_statement(text: &str, line: &Range<usize>) -> Option<usize> {
    let from = floor_boundary(text, line.start.saturating_sub(MOST_BYTES));
    let before = &text[from..line.start];
    let own = &text[line.clone()];
    if own.starts_with('|') {
        let rows = before.lines().rev().take_while(|row| row.starts_with(['|', '+']));
        let is_about = rows
            .filter(|row| row.starts_with('|'))
            .any(|row| words(row).any(|(_, word)| names_secret(word)));
        return is_about.then_some(line.start + 1);
    }
    let statement = before.rfind(';').map_or(before, |end| &before[end + 1..]);
    let verb = words(statement)
        .chain(words(own))
        .next()
        .map(|(_, word)| word.to_ascii_lowercase())?;
    if !["insert", "replace", "update", "create", "alter", "grant", "set"].contains(&verb.as_str()) {
        return None;
    }
    let names = words(statement).chain(words(own));
    let is_about = |word: &str| {
        names_secret(word) || ["mysql_users", "identified"].contains(&word.to_ascii_lowercase().as_str())
    };
    names.into_iter().any(|(_, word)| is_about(word)).then_some(())?;
    own.find(['\'', '"']).map(|quote| line.start + quote + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_behind_a_word_for_a_secret_is_shown() {
        for text in [
            "password: canary",
            "  app: {pasword: canary, cluster: shop}",
            "b:\n  password: 'it's-canary'",
            "c: {password: *canary}",
            "password: |\n  canary\n  canary",
            "password:\n  - canary",
            "password: \"a\n  canary\"",
            "\"password\": \"canary\"",
            "mysql_users = ( { username = \"a\", password = \"x\"canary\" } )",
            "SET mysql-monitor_password='canary';",
            "SET admin-admin_credentials=\"admin:canary\";",
            "INSERT INTO mysql_users (username, password) VALUES ('canary');",
            "INSERT INTO mysql_users (username, password)\nVALUES\n ('canary'),\n ('canary');",
            "CREATE USER a IDENTIFIED BY 'canary'",
            "| username | password |\n+--+--+\n| canary | canary |",
            "PX_PASSWORD=canary",
            "client_secret: canary",
        ] {
            let shown = without_secrets(text);
            assert!(!shown.contains("canary"), "{text}\n{shown}");
            assert_eq!(shown.len(), text.len());
            assert_eq!(shown.lines().count(), text.lines().count());
        }
    }

    #[test]
    fn references_and_other_lines_are_shown() {
        for text in [
            "app: {password: {env: APP_PASSWORD}, cluster: shop, schema: shop}",
            "password: {file: secrets/app, previous: {env: OLD}}",
            "password:\n  env: APP_PASSWORD\ncluster: shop",
            "INSERT INTO mysql_query_rules (rule_id, match_digest) VALUES (1, 'a');",
            "clusters:\n  shop: {type: single}",
            "# the password is in the environment",
        ] {
            assert_eq!(without_secrets(text), text);
        }
    }
}
