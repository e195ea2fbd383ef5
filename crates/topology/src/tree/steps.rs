//! The steps of an address: names and keys between dots, and items of lists in brackets.

/// The steps of `query_rules.legacy.rules[rule_id=100].cluster`: `query_rules`, `legacy`, `rules`, `[rule_id=100]`, `cluster`. A
/// value in brackets may have dots. What is no address keeps its brackets in a step.
pub(crate) fn split(address: &str) -> Vec<&str> {
    let mut steps = Vec::new();
    let mut rest = address;
    loop {
        let end = rest.find(['.', '[']).unwrap_or(rest.len());
        // Kustomize writes a dot before the bracket.
        let is_before_item = rest[end..].starts_with('[');
        if !(is_before_item && end == 0) {
            steps.push(&rest[..end]);
        }
        rest = &rest[end..];
        while let Some(close) = rest.strip_prefix('[').and_then(|item| item.find(']')) {
            steps.push(&rest[..close + 2]);
            rest = &rest[close + 2..];
        }
        match rest.strip_prefix('.') {
            Some(next) => rest = next,
            None if rest.is_empty() => return steps,
            None => {
                steps.push(rest);
                return steps;
            }
        }
    }
}

/// A step into a list, `[rule_id=100]`: the item in which a key has this value.
pub(crate) fn selector(step: &str) -> Option<(&str, &str)> {
    let (key, value) = step.strip_prefix('[')?.strip_suffix(']')?.split_once('=')?;
    Some((key.trim(), value.trim())).filter(|(key, value)| !key.is_empty() && !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_steps() {
        for (address, expected) in [
            ("a.b.c", &["a", "b", "c"][..]),
            ("a..b", &["a", "", "b"]),
            ("a.", &["a", ""]),
            (
                "q.l.rules[rule_id=100].cluster",
                &["q", "l", "rules", "[rule_id=100]", "cluster"],
            ),
            (
                "q.l.rules.[rule_id=100].cluster",
                &["q", "l", "rules", "[rule_id=100]", "cluster"],
            ),
            ("q.rules[host=a.b.c]", &["q", "rules", "[host=a.b.c]"]),
            ("q.rules[a=1][b=2].c", &["q", "rules", "[a=1]", "[b=2]", "c"]),
            ("q.rules[0].c", &["q", "rules", "[0]", "c"]),
            ("q.rules[a=1", &["q", "rules", "[a=1"]),
            ("q.rules[a=1]x.c", &["q", "rules", "[a=1]", "x.c"]),
        ] {
            assert_eq!(split(address), expected, "{address}");
        }
    }
}
