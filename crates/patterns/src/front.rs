//! Reads a pattern of an engine's dialect and writes the same pattern in the syntax of `regex-syntax`.

mod class;
mod escape;
mod group;
mod repeat;

use crate::error::{ErrorKind, PatternError};
use crate::pattern::Dialect;

/// PCRE's own limit is 250.
pub(crate) const MAX_DEPTH: u32 = 200;
/// Longer than any rule; ProxySQL's admin port takes no more either.
const MAX_BYTES: usize = 64 << 10;

/// A pattern in the syntax of `regex-syntax`.
#[derive(Clone, Debug)]
pub(crate) struct Translation {
    /// For finding whether there is a match. `$` takes in a final line end.
    pub(crate) regular: String,
    /// For finding where it is; `$` looks ahead. May hold what only a backtracking engine knows.
    pub(crate) exact: String,
    /// Why `regular` does not hold.
    pub(crate) opaque: Option<&'static str>,
    /// `regular` and `exact` differ because of a `$`.
    pub(crate) dollar: bool,
    /// Capturing groups.
    pub(crate) groups: usize,
}

/// Translates `text`.
pub(crate) fn translate(text: &str, caseless: bool, dialect: Dialect) -> Result<Translation, PatternError> {
    let mut front = Front {
        text,
        at: 0,
        re2: dialect == Dialect::Re2,
        regular: String::with_capacity(text.len() + 16),
        exact: String::with_capacity(text.len() + 16),
        opaque: None,
        dollar: false,
        groups: 0,
        total_groups: group::count(text),
        frames: vec![Frame::new(
            FrameFlags {
                caseless,
                ..FrameFlags::default()
            },
            0,
        )],
        repeatable: None,
        names: Vec::new(),
    };
    if text.len() > MAX_BYTES {
        return Err(front.error(ErrorKind::TooLarge, "the pattern is longer than 64 KiB"));
    }
    while front.at < text.len() {
        front.step()?;
    }
    if front.frames.len() == 1 {
        front.close_inline();
    } else {
        front.at = front.frame().opened_at;
        return Err(front.invalid("this group is not closed"));
    }
    let Front {
        regular,
        exact,
        opaque,
        dollar,
        groups,
        ..
    } = front;
    Ok(Translation {
        regular,
        exact,
        opaque,
        dollar,
        groups,
    })
}

#[derive(Clone, Copy, Default)]
struct FrameFlags {
    caseless: bool,
    multi_line: bool,
    extended: bool,
}

/// An open group, or the whole pattern.
struct Frame {
    flags: FrameFlags,
    opened_at: usize,
    /// A `$` ended the current branch, or an earlier one.
    dollar_in_branch: bool,
    dollar_in_group: bool,
    /// What the group, or the nearest group around it that looks around, must have: one fixed length.
    looks_behind: bool,
    /// Flag groups that inline flags opened in the current branch; they go on in the branches behind.
    inline: Vec<String>,
    /// Where the group begins in `regular` and `exact`.
    starts: (usize, usize),
}

impl Frame {
    fn new(flags: FrameFlags, opened_at: usize) -> Self {
        Frame {
            flags,
            opened_at,
            dollar_in_branch: false,
            dollar_in_group: false,
            looks_behind: false,
            inline: Vec::new(),
            starts: (0, 0),
        }
    }
}

struct Front<'p> {
    text: &'p str,
    at: usize,
    re2: bool,
    regular: String,
    exact: String,
    opaque: Option<&'static str>,
    dollar: bool,
    groups: usize,
    total_groups: usize,
    frames: Vec<Frame>,
    /// Where the last atom begins in `regular` and `exact`, if a quantifier may follow.
    repeatable: Option<(usize, usize)>,
    names: Vec<String>,
}

impl Front<'_> {
    fn rest(&self) -> &[u8] {
        &self.text.as_bytes()[self.at..]
    }

    fn peek(&self) -> Option<u8> {
        self.rest().first().copied()
    }

    fn takes(&mut self, prefix: &str) -> bool {
        let found = self.rest().starts_with(prefix.as_bytes());
        if found {
            self.at += prefix.len();
        }
        found
    }

    fn frame(&mut self) -> &mut Frame {
        self.frames
            .last_mut()
            .expect("the frame of the whole pattern is never popped")
    }

    fn flags(&self) -> FrameFlags {
        self.frames.last().map(|frame| frame.flags).unwrap_or_default()
    }

    fn error(&self, kind: ErrorKind, message: &str) -> PatternError {
        PatternError {
            kind,
            message: message.to_owned(),
            offset: self.at,
        }
    }

    fn invalid(&self, message: &str) -> PatternError {
        self.error(ErrorKind::Invalid, message)
    }

    /// PCRE compiles it and no engine here does; RE2 does not compile it.
    fn unsupported(&self, what: &str) -> PatternError {
        if self.re2 {
            self.invalid(&format!("RE2 does not know {what}"))
        } else {
            self.error(
                ErrorKind::Unsupported,
                &format!("{what} cannot be evaluated here"),
            )
        }
    }

    /// Marks the pattern as no regular language; RE2 rejects what makes one so.
    fn make_opaque(&mut self, what: &'static str) -> Result<(), PatternError> {
        if self.re2 {
            return Err(self.invalid(&format!("RE2 does not know {what}")));
        }
        self.opaque.get_or_insert(what);
        Ok(())
    }

    /// Writes an atom that stands for at least one byte or a group of them.
    fn atom(&mut self, regular: &str, exact: &str) {
        self.before_more();
        self.repeatable = Some((self.regular.len(), self.exact.len()));
        self.regular.push_str(regular);
        self.exact.push_str(exact);
    }

    /// Writes an assertion; nothing may repeat it.
    fn assertion(&mut self, regular: &str, exact: &str) {
        self.before_more();
        self.repeatable = None;
        self.regular.push_str(regular);
        self.exact.push_str(exact);
    }

    /// What follows a `$` would have to match at the line end that the translated `$` takes in.
    fn before_more(&mut self) {
        if self.frame().dollar_in_branch {
            self.opaque.get_or_insert("`$` before more pattern");
        }
    }

    fn both(&mut self, text: &str) {
        self.regular.push_str(text);
        self.exact.push_str(text);
    }

    fn step(&mut self) -> Result<(), PatternError> {
        let Some(byte) = self.peek() else { return Ok(()) };
        if self.flags().extended && (byte.is_ascii_whitespace() || byte == 0x0b || byte == b'#') {
            self.skip_extended(byte);
            return Ok(());
        }
        match byte {
            b'\\' => self.escape(),
            b'[' => self.class(),
            b'(' => self.open_group(),
            b')' => self.close_group(),
            b'|' => {
                self.at += 1;
                self.frame().dollar_in_branch = false;
                self.repeatable = None;
                let inline = self.frame().inline.clone();
                self.both(&format!("{}|{}", ")".repeat(inline.len()), inline.concat()));
                Ok(())
            }
            b'^' => {
                self.at += 1;
                self.caret()
            }
            b'$' => {
                self.at += 1;
                self.end_of_text(self.re2);
                Ok(())
            }
            b'.' => {
                self.at += 1;
                self.atom(".", ".");
                Ok(())
            }
            b'*' | b'+' | b'?' => self.repeat(),
            b'{' if self.counted().is_some() => self.repeat(),
            _ => self.literal(),
        }
    }

    fn skip_extended(&mut self, byte: u8) {
        let length = if byte == b'#' {
            self.rest()
                .iter()
                .position(|&b| b == b'\n')
                .map_or(self.rest().len(), |n| n + 1)
        } else {
            1
        };
        self.at += length;
    }

    fn literal(&mut self) -> Result<(), PatternError> {
        let next = self.text[self.at..].chars().next();
        let Some(character) = next else { return Ok(()) };
        self.at += character.len_utf8();
        if self.re2 {
            self.code(u32::from(character))
        } else {
            let mut bytes = [0; 4];
            character
                .encode_utf8(&mut bytes)
                .as_bytes()
                .iter()
                .try_for_each(|&byte| self.code(u32::from(byte)))
        }
    }

    /// One literal: a byte in PCRE, a code point in RE2.
    fn code(&mut self, code: u32) -> Result<(), PatternError> {
        let text = class::member(code);
        self.atom(&text, &text);
        Ok(())
    }

    fn caret(&mut self) -> Result<(), PatternError> {
        if self.flags().multi_line && !self.re2 {
            // PCRE's does not match behind a final line end.
            self.make_opaque("`^` under `(?m)`")?;
            self.assertion("^", r"(?:\A|(?<=\n)(?!\z))");
        } else {
            self.assertion("^", "^");
        }
        Ok(())
    }

    /// `$` and `\Z`; `at_very_end` if a final line end does not count.
    fn end_of_text(&mut self, at_very_end: bool) {
        if self.flags().multi_line {
            self.assertion("$", "$");
        } else if at_very_end {
            self.assertion(r"\z", r"\z");
        } else {
            self.assertion(r"(?:\n?\z)", r"(?=\n?\z)");
            self.dollar = true;
            self.frame().dollar_in_branch = true;
            self.frame().dollar_in_group = true;
        }
    }
}
