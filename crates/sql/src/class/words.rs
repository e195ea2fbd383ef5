//! Key words as numbers, so that a word is compared with many of them at once.

use crate::lex::Span;

/// A word of up to eight bytes without its case, as one number; 0 for a longer one. `word` must be a word of `text`.
///
/// Clearing the bit makes a small letter a capital, and no other byte of a word one: two words have the same number where
/// one of them is a key word, only if they are the same without case.
#[inline]
pub(super) fn number_of(text: &[u8], word: Span) -> u64 {
    const CAPITALS: u64 = 0xdfdf_dfdf_dfdf_dfdf;
    let length = word.end - word.start;
    if length > 8 {
        return 0;
    }
    let bytes = match text[word.start..].first_chunk() {
        Some(eight) => u64::from_le_bytes(*eight) & (u64::MAX >> (64 - 8 * length)),
        None => number(word.of(text)),
    };
    bytes & CAPITALS
}

/// The number of a key word in capitals.
pub(super) const fn key_word(word: &str) -> u64 {
    assert!(word.len() <= 8);
    number(word.as_bytes())
}

const fn number(bytes: &[u8]) -> u64 {
    let mut number = 0;
    let mut at = bytes.len();
    while at > 0 {
        at -= 1;
        number = number << 8 | bytes[at] as u64;
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_has_the_number_of_a_key_word_only_if_it_is_that_word() {
        let key = key_word("SELECT");
        for behind in ["", " ", " 1", " FROM t WHERE a=1"] {
            for (word, expected) in [
                ("SELECT", true),
                ("sElEcT", true),
                ("SELECTS", false),
                ("SELEC", false),
                ("\u{13}ELECT", false),
                ("3ELECT", false),
                ("SELEC\u{f4}", false),
                ("SELECT_ALL", false),
            ] {
                let text = format!("a {word}{behind}");
                let span = Span {
                    start: 2,
                    end: 2 + word.len(),
                };
                assert_eq!(number_of(text.as_bytes(), span) == key, expected, "{text}");
            }
        }
        for byte in 0..=u8::MAX {
            let text = [b's', byte];
            let is_key_word = number_of(&text, Span { start: 0, end: 2 }) == key_word("SE");
            assert_eq!(is_key_word, text.eq_ignore_ascii_case(b"SE"), "{byte}");
        }
    }
}
