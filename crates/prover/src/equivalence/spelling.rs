//! Patterns that are the same pattern and are spelled differently: a `proxysql.cnf` cannot hold a double quote, and has `\x22` in
//! its place.

use std::borrow::Cow;

use shardwright_rules::{Body, Configuration};

/// The escape of a double quote, which is no sign of patterns: it is itself, in a class and outside.
const QUOTE: &str = r"\x22";

/// A configuration whose patterns have double quotes in the place of their escapes.
pub(super) fn with_quotes(configuration: Cow<'_, Configuration>) -> Cow<'_, Configuration> {
    let rules = configuration.graph.rules.iter();
    let has_escapes = rules.flat_map(|rule| match &rule.body {
        Body::Engine(row) => [&row.match_pattern, &row.match_digest].map(Option::as_deref),
        Body::Native { .. } => [None, None],
    });
    if !has_escapes.flatten().any(|pattern| pattern.contains(QUOTE)) {
        return configuration;
    }
    let mut spelled = configuration.into_owned();
    for rule in &mut spelled.graph.rules {
        if let Body::Engine(row) = &mut rule.body {
            for pattern in [&mut row.match_pattern, &mut row.match_digest]
                .into_iter()
                .flatten()
            {
                *pattern = quoted(pattern);
            }
        }
    }
    Cow::Owned(spelled)
}

/// A pattern with quotes for their escapes.
fn quoted(pattern: &str) -> String {
    // Between \Q and \E a backslash is a letter like any other.
    if pattern.contains(r"\Q") {
        return pattern.to_owned();
    }
    let mut out = String::with_capacity(pattern.len());
    let mut rest = pattern;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(after) = rest.strip_prefix(QUOTE) {
            out.push('"');
            rest = after;
        } else {
            // The sign behind the backslash is part of its escape.
            let mut letters = rest.chars();
            out.extend(letters.by_ref().take(2));
            rest = letters.as_str();
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_of_quotes_are_quotes() {
        for (pattern, expected) in [
            (r"['\x22]?", r#"['"]?"#),
            (r"a\\x22", r"a\\x22"),
            (r"a\\\x22\d", r#"a\\"\d"#),
            (r"\Q\x22\E", r"\Q\x22\E"),
            (r"\x2", r"\x2"),
            ("a\\", "a\\"),
        ] {
            assert_eq!(quoted(pattern), expected, "{pattern}");
        }
    }
}
