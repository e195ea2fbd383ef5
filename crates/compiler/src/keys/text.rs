//! Patterns for text keys: exact values, and the least that tells a run of sorted values from its neighbours.

/// Escapes what PCRE and RE2 read as more than itself.
pub(crate) fn escaped(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for character in text.chars() {
        push_escaped(&mut pattern, character);
    }
    pattern
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

/// A pattern for the beginnings of `values` (sorted, not empty) that match neither `below` nor `above`, the values
/// beside them; `end` is the pattern for the end of a value, used where one value begins another.
pub(crate) fn between(values: &[&str], below: Option<&str>, above: Option<&str>, end: &str) -> String {
    let neighbours: Vec<&str> = below.into_iter().chain(above).collect();
    run(values, 0, &neighbours, end)
}

/// All `values` and `neighbours` share their first `depth` bytes, which are already part of the pattern.
fn run(values: &[&str], depth: usize, neighbours: &[&str], end: &str) -> String {
    if neighbours.is_empty() {
        return String::new();
    }
    let mut free = String::new();
    let mut free_count = 0;
    let mut parts = Vec::new();
    let mut rest = values;
    while let Some(first) = rest.first() {
        let Some(character) = first[depth..].chars().next() else {
            parts.push(end.to_owned());
            rest = &rest[1..];
            continue;
        };
        let same = rest.partition_point(|value| value[depth..].chars().next().is_none_or(|c| c <= character));
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
        } else {
            let mut part = String::new();
            push_escaped(&mut part, character);
            part.push_str(&run(here, depth + character.len_utf8(), &near, end));
            parts.push(part);
        }
    }
    if free_count > 0 {
        parts.insert(
            0,
            if free_count == 1 && !free.starts_with('\\') {
                escaped(&free)
            } else {
                format!("[{free}]")
            },
        );
    }
    match parts.as_slice() {
        [one] => one.clone(),
        many => format!("(?:{})", many.join("|")),
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
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn runs() {
        for (values, below, above, expected) in [
            (&["Asia"][..], None, Some("Europe"), "A"),
            (&["Europe", "Oceania"], Some("Asia"), None, "[EO]"),
            (&["North America"], Some("Europe"), Some("South America"), "N"),
            (&["ab", "abc"], Some("a"), Some("b"), "ab"),
            (&["a"], None, Some("ab"), "aEND"),
            (&["a", "ab"], None, Some("abc"), "a(?:END|bEND)"),
            (&["x.1"], Some("x"), Some("x.2"), r"x\.1"),
        ] {
            assert_eq!(between(values, below, above, "END"), expected, "{values:?}");
        }
    }

    proptest! {
        #[test]
        fn a_run_takes_its_values_and_not_its_neighbours(
            keys in prop::collection::btree_set("[a-c.é^-]{1,4}", 2..12), cut in any::<(prop::sample::Index, prop::sample::Index)>(),
        ) {
            let keys: Vec<&str> = keys.iter().map(String::as_str).collect::<BTreeSet<_>>().into_iter().collect();
            let (a, b) = (cut.0.index(keys.len()), cut.1.index(keys.len()));
            let (from, to) = (a.min(b), a.max(b));
            let below = from.checked_sub(1).map(|at| keys[at]);
            let above = keys.get(to + 1).copied();
            let pattern = between(&keys[from..=to], below, above, r"\z");
            let pattern = regex::Regex::new(&format!(r"\A{pattern}")).expect("a valid pattern");
            for (at, key) in keys.iter().enumerate() {
                prop_assert_eq!(pattern.is_match(key), (from..=to).contains(&at), "{} {:?}", pattern, key);
            }
        }
    }
}
