//! Patterns for text keys: exact values, and the least that tells a run of sorted values from its neighbours.

use crate::statement_patterns::Wording;

/// Escapes what PCRE and RE2 read as more than itself.
pub(crate) fn escaped(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for character in text.chars() {
        push_escaped(&mut pattern, character);
    }
    pattern
}

/// `tenant` as `[Tt][Ee]…`: ASCII letters of both cases, and no letter that only Unicode folds to them.
pub(crate) fn any_case(word: &str) -> String {
    let mut pattern = String::with_capacity(word.len() * 4);
    for character in word.chars() {
        if character.is_ascii_alphabetic() {
            pattern.push('[');
            pattern.push(character.to_ascii_uppercase());
            pattern.push(character.to_ascii_lowercase());
            pattern.push(']');
        } else {
            pattern.push_str(&escaped(character.encode_utf8(&mut [0; 4])));
        }
    }
    pattern
}

/// A word in any case, as short as the library lets it be. RE2 folds beyond ASCII: `(?i:k)` takes the sign for kelvin too.
pub(crate) fn caseless(word: &str, wording: Wording) -> String {
    if wording.possessive && word.bytes().any(|byte| byte.is_ascii_alphabetic()) {
        format!("(?i:{})", escaped(word))
    } else {
        any_case(word)
    }
}

/// A pattern for exactly these values. Not anchored.
pub(crate) fn exactly(values: &[&str]) -> String {
    match values {
        [one] => escaped(one),
        many => format!(
            "(?:{})",
            many.iter()
                .map(|value| escaped(value))
                .collect::<Vec<_>>()
                .join("|")
        ),
    }
}

/// What tells a run of values from its neighbours.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Run<'v> {
    /// A pattern for the beginnings of values; `None` when no beginning tells one.
    pub beginning: Option<String>,
    /// Values with which a neighbour begins: only the whole value tells them.
    pub whole: Vec<&'v str>,
}

/// Tells `values` (sorted, not empty) from `below` and `above`, the values beside them.
pub(crate) fn between<'v>(values: &[&'v str], below: Option<&str>, above: Option<&str>) -> Run<'v> {
    let neighbours: Vec<&str> = below.into_iter().chain(above).collect();
    let mut whole = Vec::new();
    let beginning = run(values, 0, &neighbours, &mut whole);
    Run { beginning, whole }
}

/// All `values` and `neighbours` share their first `depth` bytes, which are already part of the pattern.
fn run<'v>(
    values: &[&'v str],
    depth: usize,
    neighbours: &[&str],
    whole: &mut Vec<&'v str>,
) -> Option<String> {
    if neighbours.is_empty() {
        return Some(String::new());
    }
    let mut free = String::new();
    let mut free_count = 0;
    let mut parts = Vec::new();
    let mut rest = values;
    while let Some(first) = rest.first() {
        let Some(character) = first[depth..].chars().next() else {
            whole.push(first);
            rest = &rest[1..];
            continue;
        };
        let same = rest.partition_point(|value| {
            let next = value[depth..].chars().next();
            next.is_none_or(|next| next <= character)
        });
        let (here, after) = rest.split_at(same);
        rest = after;
        let near: Vec<&str> = neighbours
            .iter()
            .copied()
            .filter(|value| value[depth..].starts_with(character))
            .collect();
        if near.is_empty() && character.is_ascii() {
            free_count += 1;
            push_class(&mut free, character);
        } else if let Some(below) = run(here, depth + character.len_utf8(), &near, whole) {
            let mut part = String::new();
            push_escaped(&mut part, character);
            parts.push(part + &below);
        }
    }
    if free_count > 0 {
        let single = free_count == 1 && !free.starts_with('\\');
        parts.insert(
            0,
            if single {
                escaped(&free)
            } else {
                format!("[{free}]")
            },
        );
    }
    match parts.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        many => Some(format!("(?:{})", many.join("|"))),
    }
}

fn push_escaped(pattern: &mut String, character: char) {
    if matches!(
        character,
        '\\' | '.' | '+' | '*' | '?' | '(' | ')' | '|' | '[' | ']' | '{' | '}' | '^' | '$'
    ) {
        pattern.push('\\');
    }
    pattern.push(character);
}

fn push_class(class: &mut String, character: char) {
    if matches!(character, '\\' | ']' | '[' | '^' | '-') {
        class.push('\\');
    }
    class.push(character);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn runs() {
        for (values, below, above, beginning, whole) in [
            (&["Asia"][..], None, Some("Europe"), Some("A"), &[][..]),
            (&["Europe", "Oceania"], Some("Asia"), None, Some("[EO]"), &[]),
            (
                &["North America"],
                Some("Europe"),
                Some("South America"),
                Some("N"),
                &[],
            ),
            (&["ab", "abc"], Some("a"), Some("b"), Some("ab"), &[]),
            (&["a"], None, Some("ab"), None, &["a"]),
            (&["a", "ab"], None, Some("abc"), None, &["a", "ab"]),
            (&["a", "ab", "b"], None, Some("bc"), Some("a"), &["b"]),
            (&["x.1"], Some("x"), Some("x.2"), Some(r"x\.1"), &[]),
        ] {
            let run = between(values, below, above);
            assert_eq!(
                (run.beginning.as_deref(), run.whole.as_slice()),
                (beginning, whole),
                "{values:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn a_run_takes_its_values_and_not_its_neighbours(
            keys in prop::collection::btree_set("[a-c.é^-]{1,4}", 2..12),
            cut in any::<(prop::sample::Index, prop::sample::Index)>(),
        ) {
            let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
            let (a, b) = (cut.0.index(keys.len()), cut.1.index(keys.len()));
            let (from, to) = (a.min(b), a.max(b));
            let below = from.checked_sub(1).map(|at| keys[at]);
            let above = keys.get(to + 1).copied();
            let run = between(&keys[from..=to], below, above);
            let pattern = run.beginning.map(|text| regex::Regex::new(&format!(r"\A{text}")).expect("a valid pattern"));
            for (at, key) in keys.iter().enumerate() {
                let taken = pattern.as_ref().is_some_and(|pattern| pattern.is_match(key)) || run.whole.contains(key);
                prop_assert_eq!(taken, (from..=to).contains(&at), "{:?} {:?}", pattern, key);
            }
        }
    }
}
