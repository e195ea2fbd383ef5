//! A statement with all its literals alike: what texts have in common that an application sends again with other values.
//!
//! The skeleton of a text is itself a statement: its numbers are `0`, its strings are empty, and the blanks and the comment at its
//! start are gone. Everything else is there byte for byte.
//!
//! ```text
//! /* tenant=17 */ SELECT a FROM t1 WHERE id = 42 AND b = 'x'
//!                 SELECT a FROM t1 WHERE id = 0 AND b = ''
//! ```
//!
//! Texts with one skeleton are read alike, if [`is_read_as_seen`]: the lexer and the digest then see a literal wherever this module saw
//! one. Both go through a text from its start, and look at no more of a literal than its first byte and where it ends. So
//! whatever stands behind a literal is read in the same state for each of them. What a literal may be is narrower here than
//! in SQL, to make that so:
//!
//! * A number is digits, with a fraction or without. No byte of a name and no dot stands beside it: `t1`, `1e5` and `0x1F` have none.
//! * A string has no quote of its kind, no backslash, slash or semicolon in it: nothing that a search of the whole text finds in strings too.
//!
//! A text with a slash outside of its first comment, or with a `#`, has no skeleton: a comment may begin there.

use crate::digest::{self, is_space};
use crate::lex::bytes::is_name_byte;
use crate::lex::{LexMode, Lexer, Span, TokenKind};
use crate::skim::plain_comment;

/// What stands before the skeleton's part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lead {
    /// The body of the comment that the text begins with.
    pub comment: Option<Span>,
}

/// Writes the skeleton of `text` into `skeleton`, whatever that held. `None`: it has none.
#[inline]
pub fn skeleton_into(text: &[u8], mode: LexMode, skeleton: &mut Vec<u8>) -> Option<Lead> {
    let (lead, start) = lead(text)?;
    skeleton.clear();
    let mut from = start;
    each_literal(text, start, mode, |literal| {
        skeleton.extend_from_slice(&text[from..literal.start]);
        match text[literal.start] {
            quote @ (b'\'' | b'"') => skeleton.extend_from_slice(&[quote, quote]),
            _ => skeleton.push(b'0'),
        }
        from = literal.end;
    })?;
    skeleton.extend_from_slice(&text[from..]);
    Some(lead)
}

/// Whether the lexer and the digest see the literals of a skeleton where they were seen here. Only then are texts that have
/// this skeleton read as it is.
pub fn is_read_as_seen(skeleton: &[u8], mode: LexMode) -> bool {
    let mut seen = Vec::new();
    if each_literal(skeleton, 0, mode, |literal| seen.push(literal)).is_none() {
        return false;
    }
    let is_literal = |kind| matches!(kind, TokenKind::Number | TokenKind::String);
    let tokens = Lexer::new(skeleton, mode).filter(|token| is_literal(token.kind) && token.terminated);
    are_among(&seen, tokens.map(|token| token.span))
        && digest::plain_literals(skeleton).is_some_and(|literals| are_among(&seen, literals.into_iter()))
}

/// Whether all of `seen` are among `literals`; both are in the order of the text.
fn are_among(seen: &[Span], mut literals: impl Iterator<Item = Span>) -> bool {
    seen.iter().all(|seen| literals.any(|literal| literal == *seen))
}

/// What a text begins with, and where its own part begins.
#[inline]
fn lead(text: &[u8]) -> Option<(Lead, usize)> {
    let start = behind_blanks(text, 0);
    if text.get(start) != Some(&b'/') {
        return Some((Lead { comment: None }, start));
    }
    let (body, end) = plain_comment(text, start)?;
    // To the engine the star of `/* a */*` may open another comment, and a slash inside may end this one.
    let is_plain = text.get(end) != Some(&b'*') && !body.of(text).contains(&b'/');
    is_plain.then(|| (Lead { comment: Some(body) }, behind_blanks(text, end)))
}

/// Where the blanks end that begin at `from`, of those that are blanks to the digest, as they are to the lexer.
fn behind_blanks(text: &[u8], from: usize) -> usize {
    from + text[from..].iter().take_while(|&&byte| is_space(byte)).count()
}

/// What a byte begins that does not stand for itself alone.
#[derive(Clone, Copy)]
enum Begins {
    Number,
    String,
    /// Something of which nothing is known here.
    Unknown,
}

static BEGINS: [Option<Begins>; 256] = {
    let mut begins = [None; 256];
    let mut digit = b'0';
    while digit <= b'9' {
        begins[digit as usize] = Some(Begins::Number);
        digit += 1;
    }
    begins[b'\'' as usize] = Some(Begins::String);
    begins[b'"' as usize] = Some(Begins::String);
    begins[b'/' as usize] = Some(Begins::Unknown);
    begins[b'#' as usize] = Some(Begins::Unknown);
    begins
};

/// Gives every literal from `start` on to `found`, with its quotes. `None`: there is something of which nothing is known.
#[inline]
fn each_literal(text: &[u8], start: usize, mode: LexMode, mut found: impl FnMut(Span)) -> Option<()> {
    let mut at = start;
    let begins = |(ahead, &byte): (usize, &u8)| Some((ahead, BEGINS[usize::from(byte)]?));
    while let Some((ahead, begins)) = text[at..].iter().enumerate().find_map(begins) {
        at += ahead;
        match begins {
            // A name, of which no byte is left out.
            Begins::String if text[at] == b'"' && mode.ansi_quotes => at += 1,
            Begins::String => {
                let end = string_end(text, at)?;
                found(Span { start: at, end });
                at = end;
            }
            Begins::Number => {
                let end = number_end(text, at);
                let joins = |&byte: &u8| is_name_byte(byte) || byte == b'.';
                let is_joined = text[start..at].last().is_some_and(joins) || text.get(end).is_some_and(joins);
                if !is_joined {
                    found(Span { start: at, end });
                }
                at = end;
            }
            Begins::Unknown => return None,
        }
    }
    Some(())
}

/// Where the digits end that begin at `at`, and a fraction behind them.
#[inline]
fn number_end(text: &[u8], at: usize) -> usize {
    let digits = |from: usize| {
        let mut end = from;
        while text.get(end).is_some_and(u8::is_ascii_digit) {
            end += 1;
        }
        end
    };
    let end = digits(at);
    match text.get(end..) {
        Some([b'.', b'0'..=b'9', ..]) => digits(end + 1),
        _ => end,
    }
}

/// Where the string ends whose quote stands at `at`, if it is a plain one.
#[inline]
fn string_end(text: &[u8], at: usize) -> Option<usize> {
    let quote = text[at];
    let body = &text[at + 1..];
    let ends = |&byte: &u8| byte == quote || matches!(byte, b'\\' | b'/' | b';');
    let end = at + 1 + body.iter().position(ends)?;
    (text[end] == quote && text.get(end + 1) != Some(&quote)).then_some(end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skeleton(text: &str) -> Option<String> {
        let mut skeleton = b"before".to_vec();
        skeleton_into(text.as_bytes(), LexMode::default(), &mut skeleton)?;
        Some(String::from_utf8(skeleton).unwrap())
    }

    #[test]
    fn literals_and_the_first_comment_are_left_out() {
        for (text, expected) in [
            (
                "SELECT c FROM sbtest1 WHERE id=4711",
                "SELECT c FROM sbtest1 WHERE id=0",
            ),
            (" /* tenant=17 */ SELECT 'a', 1.50, -3", "SELECT '', 0, -0"),
            (
                "SELECT `t1`.t.5, 1e5, 0x1F, .5, 1.",
                "SELECT `t1`.t.5, 1e5, 0x1F, .5, 1.",
            ),
            (
                "INSERT INTO t VALUES (1, ''), (20, 'b');",
                "INSERT INTO t VALUES (0, ''), (0, '');",
            ),
        ] {
            assert_eq!(skeleton(text).as_deref(), Some(expected), "{text}");
            assert_eq!(skeleton(expected).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_may_hide_a_comment_has_no_skeleton() {
        for text in [
            "SELECT 1 /* a */",
            "SELECT 1 # a",
            "SELECT 'it''s'",
            "SELECT 'a\\'b'",
            "SELECT ';'",
            "SELECT 'a/b'",
            "SELECT 'open",
            "/*!50000 SELECT 1 */",
            "/* a */* SELECT 1",
            "/* a / b */ SELECT 1",
        ] {
            assert_eq!(skeleton(text), None, "{text}");
        }
    }

    #[test]
    fn only_what_all_readers_see_alike_is_read_as_seen() {
        let ansi = LexMode {
            ansi_quotes: true,
            ..LexMode::default()
        };
        assert!(is_read_as_seen(b"SELECT c FROM t WHERE id=0 AND b=''", ansi));
        // To the digest a string begins in the first name.
        assert!(!is_read_as_seen(b"SELECT `'`, 0, `'`", ansi));
        assert!(!is_read_as_seen(b"SELECT \"a 0\"", ansi));
        assert!(!is_read_as_seen(b"SELECT `0`, @0", ansi));
        // A line comment.
        assert!(!is_read_as_seen(b"SELECT a -- 0", ansi));
    }
}
