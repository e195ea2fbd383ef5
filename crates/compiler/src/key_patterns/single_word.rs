//! A word that stands once with a `=` behind it, as part of the pattern that looks at what is behind it.
//!
//! The parts repeat groups without a bound. Engines that match by automata do that for the price of a pass; PCRE 8 would
//! take stack for every turn, so ProxySQL asks for the second word with a pattern of its own.

use super::text::{self, any_case};

const WORD: &str = "[0-9A-Z_a-z]";
const OTHER: &str = "[^0-9A-Z_a-z]";
const OTHER_THAN_EQUALS: &str = "[^0-9=A-Z_a-z]";

/// The text before and after a word that stands once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SingleWord {
    before: String,
    after: String,
}

impl SingleWord {
    /// For words of letters, digits and underscores.
    pub(crate) fn new(word: &str) -> Option<Self> {
        let is_word = !word.is_empty()
            && word
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        is_word.then(|| {
            let other = other_word(word.as_bytes());
            let word = any_case(word);
            let turn = format!("(?:{other})?{OTHER}|{word}{OTHER_THAN_EQUALS}");
            Self {
                before: format!(r"\A(?:{turn})*"),
                after: format!(r"(?:{turn})*(?:{other}|{word})?\z"),
            }
        })
    }

    /// `pattern` begins with the word and ends with something that is no part of a word.
    pub(crate) fn closed(&self, pattern: &str) -> String {
        let Self { before, after } = self;
        format!("{before}(?:{pattern}){after}")
    }

    /// `pattern` begins with the word and may end inside another one, or in front of one.
    pub(crate) fn open(&self, pattern: &str) -> String {
        let Self { before, after } = self;
        format!(r"{before}(?:{pattern})(?:\B{WORD}+(?:{OTHER}|\z))?{after}")
    }
}

/// A pattern for a statement in which a word of letters, digits and underscores stands twice with a `=` behind it, for PCRE;
/// `None` for others and for words longer than [`LONGEST`]. It goes forward from the first to words that begin alike, where `.*`
/// would come back byte by byte.
///
/// For `id`, `\b(?i:id=(?:[^i]++|\Bi\w*+\b|\bi(?:[^\Wd]\w*+\b|d(?:\w++\b|[^\w=]|\z)|\b))*+\bid=)`: what is no `i`, an `i` inside
/// of a word, `i` and what is no `d`, `id` and what is no `=`.
pub(crate) fn twice(word: &str) -> Option<String> {
    let first = First::of(word)?;
    let others = first.words(word, r"(?:\w++\b|[^\w=]|\z)");
    let not = &first.class;
    Some(format!(r"\b(?i:{word}=(?:[^{not}]++|{others})*+\b{word}=)"))
}

/// The rest of a pattern that goes forward to a word, as it is written, for PCRE; `None` as for [`twice`].
pub(crate) fn forward_to(word: &str) -> Option<String> {
    let first = First::of(word)?;
    let others = first.words(word, r"\w++\b");
    let not = &first.class;
    Some(format!(r"(?:[^{not}]++|{others})*+\b{word}\b"))
}

/// The longest word, in characters, that is gone forward to. Every letter is a group in the one before it, and engines bound how
/// deep groups may be: 250 in PCRE 8 and in Rust's `regex`.
pub(super) const LONGEST: usize = 32;

/// What a word begins with.
struct First {
    letter: char,
    /// For use in a class.
    class: String,
}

impl First {
    fn of(word: &str) -> Option<Self> {
        SingleWord::new(word)?;
        let letter = word.chars().next().filter(|_| word.len() <= LONGEST)?;
        Some(Self {
            letter,
            class: class(letter),
        })
    }

    /// The rest of a word that begins inside of it, and words as [`First::word`] has them.
    fn words(&self, word: &str, behind: &str) -> String {
        let letter = self.letter;
        format!(r"\B{letter}\w*+\b|\b{}", self.word(word, behind))
    }

    /// Words that begin alike and differ further on, and the word itself with `behind`.
    fn word(&self, word: &str, behind: &str) -> String {
        let others = word.chars().skip(1).collect::<Vec<_>>();
        let rest = others.into_iter().rev().fold(behind.to_owned(), |rest, letter| {
            format!(r"(?:[^\W{}]\w*+\b|{letter}{rest}|\b)", class(letter))
        });
        format!("{}{rest}", self.letter)
    }
}

fn class(letter: char) -> String {
    text::escaped(letter.encode_utf8(&mut [0; 4]))
}

/// A run of word characters that is not `word`, in whatever case.
fn other_word(word: &[u8]) -> String {
    let mut pattern = format!("{WORD}+");
    for (at, &byte) in word.iter().enumerate().rev() {
        let same = any_case(&char::from(byte).to_string());
        // Behind the whole word something must follow; before that, a beginning of the word is another word.
        let rest = if at + 1 == word.len() {
            pattern
        } else {
            format!("{pattern}?")
        };
        pattern = format!("(?:{}{WORD}*|{same}{rest})", all_but(byte));
    }
    pattern
}

/// A class of the word characters other than one, in either case.
fn all_but(byte: u8) -> String {
    let taken = |other: u8| other.eq_ignore_ascii_case(&byte);
    let mut class = String::from("[");
    for (low, high) in [(b'0', b'9'), (b'A', b'Z'), (b'_', b'_'), (b'a', b'z')] {
        let mut from = low;
        for end in low..=high + 1 {
            if end == high + 1 || taken(end) {
                match end - from {
                    0 => {}
                    1 => class.push(char::from(from)),
                    _ => {
                        class.push(char::from(from));
                        class.push('-');
                        class.push(char::from(end - 1));
                    }
                }
                from = end + 1;
            }
        }
    }
    class.push(']');
    class
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use shardwright_patterns::{Automaton, Dialect, Flags, Inclusion, Limits, Pattern, included};

    use super::*;

    fn bytes(pattern: &str) -> regex::bytes::Regex {
        regex::bytes::RegexBuilder::new(pattern)
            .unicode(false)
            .build()
            .expect(pattern)
    }

    proptest! {
        #[test]
        fn the_word_stands_once(pieces in prop::collection::vec(prop::sample::select(vec![
            "id=7 ", "ID", "id", "i", "d", "_", " ", ";", "=", "idx", "7", "é", "\n",
        ]), 0..9)) {
            let text = pieces.concat();
            // The word as a value of its own is no second key.
            prop_assume!(!bytes(r"=[Ii][Dd]\b").is_match(text.as_bytes()));
            let once = SingleWord::new("id").expect("a word");
            let closed = bytes(&once.closed(r"\b[Ii][Dd]=7 "));
            let words = bytes(r"\b[Ii][Dd]=").find_iter(text.as_bytes()).count();
            let expected = words == 1 && bytes(r"\b[Ii][Dd]=7 ").is_match(text.as_bytes());
            prop_assert_eq!(closed.is_match(text.as_bytes()), expected, "{:?}", text);
            // A beginning of values may end with a part of a word, or with a blank in front of one.
            for beginning in [r"\b[Ii][Dd]=7", r"\b[Ii][Dd]=(?:i|7 )", r"\b[Ii][Dd]=7[ ;]"] {
                let open = bytes(&once.open(beginning));
                let expected = words == 1 && bytes(beginning).is_match(text.as_bytes());
                prop_assert_eq!(open.is_match(text.as_bytes()), expected, "{} {:?}", beginning, text);
            }
        }
    }

    #[test]
    fn a_word_stands_twice() {
        let limits = Limits::default();
        let automaton = |text: &str| {
            let flags = Flags::from_modifiers("");
            let pattern = Pattern::compile(text, flags, Dialect::Pcre).expect("a valid pattern");
            Automaton::of(&pattern, &limits).expect("within the prover's limits")
        };
        for word in ["tenant", "id", "k", "shard_2", "aa", "_"] {
            let [now, before] = [
                twice(word).expect("a word"),
                format!(r"\b(?i:{word})=(?s:.*)\b(?i:{word})="),
            ]
            .map(|text| automaton(&text));
            for (inner, outer) in [(&now, &before), (&before, &now)] {
                assert_eq!(included(inner, outer, &limits), Ok(Inclusion::Holds), "{word}");
            }
        }
        assert_eq!(twice("shard-id"), None);
    }

    #[test]
    fn forward_to_a_word() {
        let limits = Limits::default();
        let automaton = |text: &str| {
            let pattern = Pattern::compile(text, Flags::default(), Dialect::Pcre).expect("a valid pattern");
            Automaton::of(&pattern, &limits).expect("within the prover's limits")
        };
        for word in ["shop", "s", "aa", "_a", "t_1", "S2s"] {
            let forward = forward_to(word).expect("a word");
            let [now, before] =
                [format!("'{forward}"), format!(r"'(?s:.*)\b{word}\b")].map(|text| automaton(&text));
            for (inner, outer) in [(&now, &before), (&before, &now)] {
                assert_eq!(included(inner, outer, &limits), Ok(Inclusion::Holds), "{word}");
            }
        }
        assert_eq!(forward_to("my-shop"), None);
    }

    #[test]
    fn the_longest_word() {
        let word = "abcdefgh".repeat(LONGEST / 8);
        for pattern in [twice(&word), forward_to(&word)] {
            let pattern = format!("(?:(?:(?:{})))", pattern.expect("a word"));
            Pattern::compile(&pattern, Flags::default(), Dialect::Pcre).expect("a valid pattern");
        }
        let longer = word + "a";
        assert_eq!((twice(&longer), forward_to(&longer)), (None, None));
    }

    #[test]
    fn words_only() {
        assert_eq!(SingleWord::new("shard-id"), None);
        assert!(SingleWord::new("tenant_id").is_some());
    }
}
