//! Whether a text matches an expression at one place, found by walking the expression itself: what is asked once is not worth an
//! automaton.
//!
//! Every way is tried, so the answer does not depend on which quantifiers are lazy. The number of steps, and with it the
//! depth of the recursion, is bounded; a text that needs more is for the matchers.

use regex_automata::util::look::LookMatcher;
use regex_syntax::hir::{Class, Hir, HirKind, Look};

/// Steps of one walk.
const MOST_STEPS: u32 = 256;

/// What follows a part: given the place where the part has ended.
type Rest<'r> = dyn FnMut(usize, &mut Walk<'_>) -> Option<bool> + 'r;

/// A walk over one text.
struct Walk<'t> {
    text: &'t [u8],
    left: u32,
}

/// Whether `hir` matches the text from `at` on, to any end; `None` where that takes too many steps, or where the expression
/// asks for more than bytes.
pub(crate) fn matches_at(hir: &Hir, text: &[u8], at: usize) -> Option<bool> {
    let mut walk = Walk {
        text,
        left: MOST_STEPS,
    };
    walk.part(hir, at, &mut |_, _| Some(true))
}

impl Walk<'_> {
    fn part(&mut self, hir: &Hir, at: usize, rest: &mut Rest<'_>) -> Option<bool> {
        self.left = self.left.checked_sub(1)?;
        match hir.kind() {
            HirKind::Empty => rest(at, self),
            HirKind::Literal(literal) => match self.text[at..].starts_with(&literal.0) {
                true => rest(at + literal.0.len(), self),
                false => Some(false),
            },
            HirKind::Class(Class::Bytes(class)) => {
                let Some(&byte) = self.text.get(at) else {
                    return Some(false);
                };
                let mut ranges = class.ranges().iter();
                match ranges.any(|range| (range.start()..=range.end()).contains(&byte)) {
                    true => rest(at + 1, self),
                    false => Some(false),
                }
            }
            HirKind::Class(Class::Unicode(_)) => None,
            HirKind::Look(look) => match looks(*look, self.text, at)? {
                true => rest(at, self),
                false => Some(false),
            },
            HirKind::Capture(capture) => self.part(&capture.sub, at, rest),
            HirKind::Concat(parts) => self.row(parts, at, rest),
            HirKind::Alternation(parts) => {
                for part in parts {
                    if self.part(part, at, rest)? {
                        return Some(true);
                    }
                }
                Some(false)
            }
            HirKind::Repetition(repetition) => {
                self.turns(&repetition.sub, repetition.min, repetition.max, at, rest)
            }
        }
    }

    /// Parts one behind the other.
    fn row(&mut self, parts: &[Hir], at: usize, rest: &mut Rest<'_>) -> Option<bool> {
        match parts.split_first() {
            None => rest(at, self),
            Some((first, others)) => self.part(first, at, &mut |end, walk| walk.row(others, end, rest)),
        }
    }

    /// A part at least `min` times and at most `max` times. A turn that reads nothing and is not needed leads nowhere new.
    fn turns(
        &mut self,
        sub: &Hir,
        min: u32,
        max: Option<u32>,
        at: usize,
        rest: &mut Rest<'_>,
    ) -> Option<bool> {
        self.left = self.left.checked_sub(1)?;
        if max != Some(0) {
            let again = self.part(sub, at, &mut |end, walk| match end == at {
                true if min > 0 => walk.turns(sub, min - 1, max.map(|max| max - 1), end, rest),
                true => Some(false),
                false => walk.turns(sub, min.saturating_sub(1), max.map(|max| max - 1), end, rest),
            })?;
            if again {
                return Some(true);
            }
        }
        match min {
            0 => rest(at, self),
            _ => Some(false),
        }
    }
}

/// Whether an assertion holds at a place; `None` for those that read characters.
fn looks(look: Look, text: &[u8], at: usize) -> Option<bool> {
    let looks = LookMatcher::new();
    match look {
        Look::Start => Some(looks.is_start(text, at)),
        Look::End => Some(looks.is_end(text, at)),
        Look::StartLF => Some(looks.is_start_lf(text, at)),
        Look::EndLF => Some(looks.is_end_lf(text, at)),
        Look::WordAscii => Some(looks.is_word_ascii(text, at)),
        Look::WordAsciiNegate => Some(looks.is_word_ascii_negate(text, at)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use regex_automata::{Anchored, Input, meta};

    use super::*;
    use crate::pattern::Pattern;

    fn expressions() -> impl Strategy<Value = String> {
        let leaf = prop::sample::select(vec![
            "a", "b", "=", "[ab]", "[^a]", r"\b", r"\B", "^", r"\z", "(?i:a)", "", ".",
        ]);
        let leaf = leaf.prop_map(str::to_owned);
        leaf.prop_recursive(4, 24, 3, |inner| {
            let times = prop::sample::select(vec!["*", "+", "?", "*?", "+?", "{2}", "{1,3}", "{0}"]);
            prop_oneof![
                prop::collection::vec(inner.clone(), 1..4).prop_map(|parts| parts.concat()),
                prop::collection::vec(inner.clone(), 1..4)
                    .prop_map(|parts| format!("(?:{})", parts.join("|"))),
                (inner.clone(), times).prop_map(|(part, times)| format!("(?:{part}){times}")),
                inner.prop_map(|part| format!("({part})")),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_walk_says_what_an_automaton_says(expression in expressions(), text in "[aAb= ]{0,8}", at in 0_usize..8) {
            let text = text.as_bytes();
            let at = at.min(text.len());
            let written = format!("(?-u:{expression})");
            let hir = regex_automata::util::syntax::parse_with(&written, &Pattern::syntax()).unwrap();
            let regex = meta::Builder::new().configure(Pattern::engine()).build_from_hir(&hir).unwrap();
            let there = Input::new(text).range(at..).anchored(Anchored::Yes);
            if let Some(found) = matches_at(&hir, text, at) {
                prop_assert_eq!(found, regex.is_match(there), "{} at {} of {:?}", expression, at, text);
            }
        }
    }

    #[test]
    fn a_walk_ends() {
        let hir = |text: &str| regex_automata::util::syntax::parse_with(text, &Pattern::syntax()).unwrap();
        let long = vec![b'a'; 100_000];
        assert_eq!(matches_at(&hir("(?-u:a*b)"), &long, 0), None);
        assert_eq!(matches_at(&hir("(?-u:(?:a|aa)*b)"), b"aaaaaaaaaaaaaaaa", 0), None);
        assert_eq!(matches_at(&hir("(?-u:(?:a*)*b)"), b"aab", 0), Some(true));
        assert_eq!(matches_at(&hir("(?-u:a+)"), b"aab", 2), Some(false));
    }
}
