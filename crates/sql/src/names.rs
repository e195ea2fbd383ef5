//! How servers compare names.

/// A name as servers compare names without regard to case: letter by letter, so that `İ` is `i` (MySQL), and a sigma is one sigma.
pub fn folded(name: &[u8]) -> String {
    let lower = |c: char| match c {
        'ς' => 'σ',
        // More than one letter only for `İ`, whose second is a mark.
        _ => c.to_lowercase().next().unwrap_or(c),
    };
    String::from_utf8_lossy(name).chars().map(lower).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_folded_one_by_one() {
        for (name, other) in [
            ("kid", "KID"),
            ("kid", "K\u{130}D"),
            ("kid", "\u{212A}id"),
            ("\u{3bf}\u{3c2}", "\u{39f}\u{3a3}"),
            ("é", "É"),
        ] {
            assert_eq!(
                folded(name.as_bytes()),
                folded(other.as_bytes()),
                "{name} {other}"
            );
        }
        assert_ne!(folded("é".as_bytes()), folded(b"e"));
    }
}
