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

/// Whether a text has a name in it, in any case of ASCII letters, and wherever: also in literals and comments.
pub fn mentions(text: &[u8], name: &[u8]) -> bool {
    places(text, name).next().is_some()
}

/// Where `name` stands in `text`, in any case of ASCII letters.
pub(crate) fn places<'t>(text: &'t [u8], name: &'t [u8]) -> impl Iterator<Item = usize> + use<'t> {
    let first = name.first().copied().unwrap_or_default();
    memchr::memchr2_iter(first.to_ascii_lowercase(), first.to_ascii_uppercase(), text).filter(|&at| {
        text.get(at..at + name.len())
            .is_some_and(|found| found.eq_ignore_ascii_case(name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_wherever_it_stands() {
        for (text, expected) in [
            ("@@session.`Row_Count`", true),
            ("row_count", true),
            ("rrow_count", true),
            ("row_coun", false),
            ("", false),
        ] {
            assert_eq!(mentions(text.as_bytes(), b"ROW_COUNT"), expected, "{text}");
        }
    }

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
