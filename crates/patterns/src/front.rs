//! Reads a pattern of an engine's dialect and writes the same pattern in the syntax of `regex-syntax`.

mod class;
mod escape;
mod fold;
mod group;
mod repeat;

use std::ops::Range;

use crate::dialect::Dialect;
use crate::error::{ErrorKind, PatternError};

/// What a pattern is opaque for that is not read in one way.
pub(crate) const POSSESSIVE: &str = "a possessive quantifier";
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
    /// `regular` takes in the byte in front of a match, which `exact` only looks at.
    pub(crate) looks_in_front: bool,
    /// Where `(*COMMIT)` stands in `regular`, which does not tell what it means.
    pub(crate) committed: Option<usize>,
    /// What is repeated possessively in `regular`, which holds where that makes no difference; with the quantifiers.
    pub(crate) possessive: Vec<Range<usize>>,
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
        committed: None,
        branched: false,
        possessive: Vec::new(),
        dollar: false,
        looks_in_front: false,
        groups: 0,
        highest_reference: 0,
        frames: vec![Frame::new(
            FrameFlags {
                caseless,
                ..FrameFlags::default()
            },
            0,
        )],
        repeatable: None,
        unrepeatable: None,
        copied: None,
        cost: 0,
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
    if front.highest_reference > front.groups {
        return Err(front.invalid("this refers to a group that does not exist"));
    }
    front.check_cost()?;
    let Front {
        regular,
        exact,
        opaque,
        committed,
        dollar,
        looks_in_front,
        possessive,
        groups,
        ..
    } = front;
    Ok(Translation {
        regular,
        exact,
        opaque,
        committed,
        dollar,
        looks_in_front,
        possessive,
        groups,
    })
}

#[derive(Clone, Copy, Default)]
struct FrameFlags {
    caseless: bool,
    multi_line: bool,
    dot_all: bool,
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
    looks_around: bool,
    /// `Front::cost` where the group begins.
    cost_before: usize,
    /// The largest product of nested counts in the group.
    product: u32,
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
            looks_around: false,
            cost_before: 0,
            product: 1,
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
    committed: Option<usize>,
    /// The pattern has branches that are in no group.
    branched: bool,
    possessive: Vec<Range<usize>>,
    dollar: bool,
    looks_in_front: bool,
    groups: usize,
    highest_reference: usize,
    frames: Vec<Frame>,
    /// Where the last atom begins in `regular` and `exact`, if a quantifier may follow.
    repeatable: Option<(usize, usize)>,
    /// What a quantifier would be here that the engine may take and that is not read here.
    unrepeatable: Option<&'static str>,
    /// Of the last atom, if the engine writes it out for each repetition: the cost before it, and the largest product of
    /// counts within.
    copied: Option<(usize, u32)>,
    /// At least the size of what the engine compiles: bytes for PCRE, instructions for RE2.
    cost: usize,
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

    /// The engine may compile it, and what it means is not known here.
    fn undecided(&self, what: &str) -> PatternError {
        self.error(
            ErrorKind::Unsupported,
            &format!("{what} cannot be evaluated here"),
        )
    }

    /// Refuses to tell whether the engine compiles what may exceed its limit on size.
    fn check_cost(&self) -> Result<(), PatternError> {
        // PCRE with its links of two bytes ends at 64 KiB, RE2 with its default memory at some 87,000 instructions.
        if self.cost > 60_000 {
            return Err(self.error(ErrorKind::TooLarge, "the engine may find this pattern too large"));
        }
        Ok(())
    }

    /// Marks the pattern as no regular language; RE2 rejects what makes one so.
    fn make_opaque(&mut self, what: &'static str) -> Result<(), PatternError> {
        if self.re2 {
            return Err(self.invalid(&format!("RE2 does not know {what}")));
        }
        self.opaque.get_or_insert(what);
        Ok(())
    }

    /// Writes an atom that stands for at least one byte or a group of them; `cost` as in `Front::cost`.
    fn atom(&mut self, regular: &str, exact: &str, cost: usize) {
        self.before_more();
        self.repeatable = Some((self.regular.len(), self.exact.len()));
        self.unrepeatable = None;
        self.copied = self.re2.then_some((self.cost, 1));
        self.cost += cost;
        self.regular.push_str(regular);
        self.exact.push_str(exact);
    }

    /// Writes an assertion; nothing may repeat it in PCRE.
    fn assertion(&mut self, regular: &str, exact: &str) {
        self.before_more();
        self.repeatable = None;
        self.unrepeatable = None;
        self.copied = self.re2.then_some((self.cost, 1));
        if self.re2 {
            self.repeatable = Some((self.regular.len(), self.exact.len()));
        }
        self.cost += 4;
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
        if self.skip_extended() {
            return Ok(());
        }
        match byte {
            b'\\' => self.escape(),
            b'[' => self.class(),
            b'(' => self.open_group(),
            b')' => self.close_group(),
            b'|' if self.frame().looks_behind => Err(self.undecided("a look-behind with branches")),
            b'|' => {
                self.branched |= self.frames.len() == 1;
                if self.branched && self.committed.is_some() {
                    return Err(self.unsupported("a verb in one of several branches"));
                }
                self.at += 1;
                self.cost += 1;
                self.frame().dollar_in_branch = false;
                self.repeatable = None;
                self.unrepeatable = None;
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
                self.dot()
            }
            b'*' | b'+' | b'?' => self.repeat(),
            b'{' if self.counted().is_some() => self.repeat(),
            _ => self.literal(),
        }
    }

    /// Skips what `(?x)` makes meaningless, also between a quantifier and its `?` or `+`; false if nothing stands here.
    fn skip_extended(&mut self) -> bool {
        let start = self.at;
        while self.flags().extended
            && let Some(byte) = self.peek()
            && (byte.is_ascii_whitespace() || byte == 0x0b || byte == b'#')
        {
            let line_end = |rest: &[u8]| rest.iter().position(|&b| b == b'\n');
            self.at += match byte {
                b'#' => line_end(self.rest()).map_or(self.rest().len(), |n| n + 1),
                _ => 1,
            };
        }
        self.at > start
    }

    /// The next character, in PCRE the next byte, for itself.
    fn literal(&mut self) -> Result<(), PatternError> {
        let Some(byte) = self.peek() else { return Ok(()) };
        if !self.re2 {
            self.at += 1;
            return self.code(u32::from(byte));
        }
        let Some(character) = self.text[self.at..].chars().next() else {
            return Ok(());
        };
        self.at += character.len_utf8();
        self.code(u32::from(character))
    }

    /// One literal: a byte in PCRE, a code point in RE2.
    fn code(&mut self, code: u32) -> Result<(), PatternError> {
        if code >= 0x80 && self.re2 {
            return self.set(false, &[(code, code)]);
        }
        let text = class::member(code);
        self.atom(&text, &text, 4);
        Ok(())
    }

    fn dot(&mut self) -> Result<(), PatternError> {
        if self.re2 {
            let line_end = [(10, 10)];
            let without = if self.flags().dot_all {
                &[][..]
            } else {
                &line_end[..]
            };
            return self.set(true, without);
        }
        self.atom(".", ".", 2);
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
