//! Passes 1 and 2 at once, for what most statements are made of: words, blanks, numbers in digits, strings without
//! escapes, plain block comments, and bytes that stand for themselves.
//!
//! The idea: pass 2 decides about a blank or a sign by the bytes beside it as pass 1 wrote them. So each byte of pass 1 is
//! written at once, unless it is a blank or a sign: that one waits for the next. Where anything else comes, this way gives
//! up, and the passes begin anew.
//!
//! **Invariant:** what is in the page is what pass 2 leaves of what pass 1 wrote, but for the byte that waits.

use super::page::Page;
use super::scan::is_word;
use super::signs::Around;
use crate::lex::Span;

/// Both passes on their way.
struct Plain<'t, 'p, 'b, F> {
    text: &'t [u8],
    at: usize,
    page: &'p mut Page<'b>,
    /// Pass 1 has written something.
    has_begun: bool,
    /// A blank or a sign that pass 1 wrote last.
    waits: Option<u8>,
    /// What pass 1 wrote before `waits`.
    last: u8,
    /// What it wrote before a `last` that is a blank.
    before_blank: u8,
    /// Bytes that pass 2 has left out.
    gone: usize,
    /// There may be something for passes 3 and 4.
    has_lists: bool,
    /// Is told of each literal.
    literal: F,
}

/// The statement holds what this way does not know.
struct GivesUp;

/// Writes what passes 1 and 2 make of `text` into an empty page that has room for all of it. `None`: they have to do it
/// themselves. Otherwise whether there may be anything for the passes behind them. `literal` is told where each number and string
/// stands, with its quotes.
pub(super) fn write(text: &[u8], page: &mut Page<'_>, literal: impl FnMut(Span)) -> Option<bool> {
    let mut plain = Plain {
        text,
        at: 0,
        page,
        has_begun: false,
        waits: None,
        last: b'0',
        before_blank: b'0',
        gone: 0,
        has_lists: false,
        literal,
    };
    while let Some(&byte) = text.get(plain.at) {
        plain.step(byte).ok()?;
    }
    plain.settle(0);
    plain.page.end_text();
    Some(plain.has_lists)
}

impl<F: FnMut(Span)> Plain<'_, '_, '_, F> {
    #[inline]
    fn step(&mut self, byte: u8) -> Result<(), GivesUp> {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' => self.word(byte),
            b' ' | b'\t' | b'\n' | b'\r' => {
                self.at += 1;
                self.blank();
            }
            b'0'..=b'9' => self.number()?,
            b'\'' | b'"' => self.string(byte)?,
            b'/' if self.text.get(self.at + 1) == Some(&b'*') => self.comment()?,
            b'#' => return Err(GivesUp),
            b'-' if self.text.get(self.at + 1) == Some(&b'-') => return Err(GivesUp),
            _ => {
                self.at += 1;
                self.write(byte);
            }
        }
        Ok(())
    }

    /// Pass 1 writes a byte.
    #[inline]
    fn write(&mut self, byte: u8) {
        self.settle(byte);
        if matches!(byte, b' ' | b'+' | b'-') {
            self.waits = Some(byte);
        } else {
            self.has_lists |= matches!(
                (self.last, byte),
                (b'?', b',') | (b'.', b'.') | (b' ', b',' | b'.')
            );
            self.page.push(byte);
            self.last = byte;
        }
    }

    /// Pass 2 decides about the byte that waits, of which `next` is the neighbour.
    #[inline]
    fn settle(&mut self, next: u8) {
        self.has_begun = true;
        let Some(byte) = self.waits.take() else {
            return;
        };
        let before = match self.gone {
            // The pass looks two bytes back in its buffer, and has written its own last byte there.
            1 => self.page.last().unwrap_or(b'0'),
            _ => self.before_blank,
        };
        let around = Around {
            before,
            left: self.last,
            right: next,
        };
        let keeps = match byte {
            b' ' => around.keeps_blank(false),
            _ => around.keeps_sign(),
        };
        if keeps {
            self.page.push(byte);
        } else {
            self.gone += 1;
        }
        self.before_blank = self.last;
        self.last = byte;
    }

    fn word(&mut self, first: u8) {
        self.settle(first);
        let mut byte = first;
        loop {
            self.page.push(byte);
            self.last = byte;
            self.at += 1;
            match self.text.get(self.at) {
                Some(&next) if is_word(next) => byte = next,
                _ => return,
            }
        }
    }

    /// A blank, unless there is one already, or nothing before it.
    fn blank(&mut self) {
        if self.has_begun && self.waits != Some(b' ') {
            self.write(b' ');
        }
    }

    fn number(&mut self) -> Result<(), GivesUp> {
        let start = self.at;
        let rest = &self.text[start..];
        let length = rest.iter().take_while(|byte| matches!(byte, b'0'..=b'9' | b'.'));
        let length = length.count();
        self.at += length;
        (self.literal)(Span { start, end: self.at });
        match rest.get(length) {
            Some(&next) if is_word(next) => return Err(GivesUp),
            Some(_) => self.write(b'?'),
            None if rest.ends_with(b".") => return Err(GivesUp),
            None => {
                self.write(b'?');
                // To the engine it goes on, so the other passes do not see its mark.
                self.page.number = Some(self.page.len - 1);
            }
        }
        Ok(())
    }

    fn string(&mut self, quote: u8) -> Result<(), GivesUp> {
        let body = &self.text[self.at + 1..];
        let end = memchr::memchr2(quote, b'\\', body).ok_or(GivesUp)?;
        if body[end] != quote || body.get(end + 1) == Some(&quote) {
            return Err(GivesUp);
        }
        let start = self.at;
        self.at += end + 2;
        (self.literal)(Span { start, end: self.at });
        self.write(b'?');
        Ok(())
    }

    /// A comment that no slash stands in, and that is no code.
    fn comment(&mut self) -> Result<(), GivesUp> {
        let body = &self.text[self.at + 2..];
        let slash = memchr::memchr(b'/', body).ok_or(GivesUp)?;
        let is_plain = body[..slash].ends_with(b"*") && body[0] != b'!' && body.get(slash + 1) != Some(&b'*');
        if !is_plain {
            return Err(GivesUp);
        }
        self.at += slash + 3;
        self.blank();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{DigestOptions, write, write_in_passes};

    /// What statements are made of, and what the passes treat in ways of their own.
    const PIECES: [&str; 56] = [
        "SELECT ",
        "a",
        "t1",
        "_b$",
        "WHERE ",
        " IN ",
        "(",
        ")",
        ",",
        ", ",
        " ,",
        "?",
        "?,",
        "?, ?",
        "1",
        "42",
        "1.5",
        "1..2",
        ".5",
        "1e5",
        "1e-5",
        "0x1F",
        "1a",
        "'x'",
        "''",
        "'it''s'",
        "'a\\'b'",
        "\"y\"",
        "'",
        "\"",
        " ",
        "  ",
        "\t",
        "\n",
        "\u{b}",
        "+",
        "-",
        " - ",
        " + ",
        "--",
        "-- ",
        "#",
        "/",
        "*",
        "%",
        "/**/",
        "/* a */",
        "/*! b */",
        "/*/",
        "*/*",
        "...",
        ". .",
        ";",
        "\0",
        "\u{e9}",
        "(1,2,3,4,5),",
    ];

    proptest! {
        #[test]
        fn both_passes_at_once_are_both_passes(
            pieces in prop::collection::vec(prop::sample::select(PIECES.to_vec()), 0..40),
            grouping_limit in prop::sample::select(vec![0, 1, 3, 200]),
            groups_grouping_limit in prop::sample::select(vec![0, 1, 10, 200]),
        ) {
            let text = pieces.concat();
            let options = DigestOptions { grouping_limit, groups_grouping_limit, ..DigestOptions::DEFAULT };
            let (mut at_once, mut in_passes) = (Vec::new(), Vec::new());
            let is_determined = write(text.as_bytes(), &options, &mut at_once);
            prop_assert_eq!(is_determined, write_in_passes(text.as_bytes(), &options, &mut in_passes));
            prop_assert_eq!(at_once.escape_ascii().to_string(), in_passes.escape_ascii().to_string());
        }
    }

    #[test]
    fn ordinary_statements_are_plain() {
        for text in [
            "SELECT c FROM sbtest1 WHERE id=4711",
            "/* tenant=17 */ SELECT a, b FROM t WHERE c = 'x' AND d IN (1, 2, 3)",
            "INSERT INTO t (a, b) VALUES (0, 'x'), (1.5, \"y\");",
            "UPDATE t SET k=k+1, n = n - 1 WHERE id=-5",
        ] {
            let mut buffer = Vec::new();
            let mut page = super::Page::new(&mut buffer, text.len());
            assert!(
                super::write(text.as_bytes(), &mut page, |_| ()).is_some(),
                "{text}"
            );
        }
    }
}
