//! Groups, their kinds and their inline flags.

use super::{Frame, FrameFlags, Front, MAX_DEPTH};
use crate::error::{ErrorKind, PatternError};

impl Front<'_> {
    pub(super) fn open_group(&mut self) -> Result<(), PatternError> {
        let opened_at = self.at;
        if self.frames.len() > MAX_DEPTH as usize {
            return Err(self.error(ErrorKind::TooLarge, "groups are nested too deeply"));
        }
        self.at += 1;
        let is_verb = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b':';
        if self.rest().starts_with(b"*") && self.rest().get(1).is_some_and(is_verb) {
            return self.verb();
        }
        if !self.takes("?") {
            self.groups += 1;
            self.push_group(opened_at, "(", "(");
            return Ok(());
        }
        if self.byte_in_front()? {
            return Ok(());
        }
        for (opening, what) in [
            ("=", "look-ahead"),
            ("!", "look-ahead"),
            ("<=", "look-behind"),
            ("<!", "look-behind"),
            (">", "an atomic group"),
        ] {
            if self.takes(opening) {
                self.make_opaque(what)?;
                self.push_group(opened_at, "(?:", &format!("(?{opening}"));
                if opening != ">" {
                    self.frame().looks_around = true;
                    self.frame().looks_behind = opening.starts_with('<');
                }
                return Ok(());
            }
        }
        match self.peek() {
            Some(b':') => {
                self.at += 1;
                self.push_group(opened_at, "(?:", "(?:");
                Ok(())
            }
            Some(b'#') if self.re2 => Err(self.unsupported("comments in patterns")),
            Some(b'#') => {
                let Some(length) = self.rest().iter().position(|&b| b == b')') else {
                    return Err(self.invalid("this comment is not closed"));
                };
                self.at += length + 1;
                Ok(())
            }
            Some(b'|') => Err(self.unsupported("a branch reset group")),
            Some(b'(') => Err(self.unsupported("a conditional group")),
            Some(b'-') if self.rest().get(1).is_some_and(u8::is_ascii_digit) => {
                Err(self.unsupported("recursion"))
            }
            Some(b'R' | b'&' | b'C' | b'+' | b'0'..=b'9') => Err(self.unsupported("recursion")),
            Some(b'P' | b'<' | b'\'') => self.named_group(opened_at),
            _ => self.inline_flags(opened_at),
        }
    }

    /// `(?<![^…])` at the start of a pattern: one of these bytes stands in front of a match, or nothing does. A text has such a
    /// match if it has one with that byte, so the language stays regular. False if something else stands here.
    fn byte_in_front(&mut self) -> Result<bool, PatternError> {
        let is_first = self.frames.len() == 1 && self.regular.is_empty();
        if self.re2 || !is_first || !self.rest().starts_with(b"<![^") {
            return Ok(false);
        }
        let begin = self.at;
        self.at += 2;
        self.class()?;
        let outside = std::mem::take(&mut self.regular);
        self.exact.clear();
        self.repeatable = None;
        self.unrepeatable = None;
        if !self.takes(")") {
            self.at = begin;
            return Ok(false);
        }
        self.regular = format!(r"(?:\A|[^{outside}])");
        self.exact = format!("(?<!{outside})");
        self.unrepeatable = Some("a quantifier behind an assertion");
        self.looks_in_front = true;
        Ok(true)
    }

    /// `(*COMMIT)`, once and not in a group. Whether what stands before it has a known meaning is told later.
    fn verb(&mut self) -> Result<(), PatternError> {
        let is_plain = self.frames.len() == 1 && self.frame().inline.is_empty() && !self.branched;
        let is_read_once = !self.dollar && !self.looks_in_front;
        let may_stand = is_plain && !self.re2 && self.committed.is_none() && is_read_once;
        if !may_stand || !self.takes("*COMMIT)") {
            return Err(self.unsupported("a verb such as `(*ACCEPT)`"));
        }
        self.committed = Some(self.regular.len());
        self.repeatable = None;
        self.unrepeatable = Some("a quantifier behind a verb");
        Ok(())
    }

    fn named_group(&mut self, opened_at: usize) -> Result<(), PatternError> {
        let close = if self.takes("P<") {
            b'>'
        } else if self.rest().starts_with(b"P=") || self.rest().starts_with(b"P>") {
            return Err(self.unsupported("a reference to a named group"));
        } else if self.re2 {
            return Err(self.invalid("RE2 writes named groups as `(?P<name>…)`"));
        } else if self.takes("<") {
            b'>'
        } else if self.takes("'") {
            b'\''
        } else {
            return Err(self.invalid("this group is of no known kind"));
        };
        let name_length = self
            .rest()
            .iter()
            .take_while(|b| b.is_ascii_alphanumeric() || **b == b'_')
            .count();
        let next = self.rest().get(name_length).copied();
        if next.is_some_and(|byte| !byte.is_ascii()) || (name_length == 0 && !self.re2) {
            return Err(self.undecided("a group of such a name"));
        }
        let of_pcre = name_length <= 32 && !self.rest()[0].is_ascii_digit();
        if name_length == 0 || next != Some(close) || !(self.re2 || of_pcre) {
            return Err(self.invalid("this group name is malformed"));
        }
        let name = self.text[self.at..self.at + name_length].to_owned();
        if !self.re2 && self.names.contains(&name) {
            return Err(self.invalid("two groups have this name"));
        }
        self.names.push(name);
        self.at += name_length + 1;
        self.groups += 1;
        self.push_group(opened_at, "(", "(");
        Ok(())
    }

    /// `(?i)`, `(?i-s:…)`.
    fn inline_flags(&mut self, opened_at: usize) -> Result<(), PatternError> {
        let mut flags = self.flags();
        let (mut on, mut lazy, mut dangling) = (true, None, false);
        loop {
            let Some(byte) = self.peek() else {
                return Err(self.invalid("this group is not closed"));
            };
            match byte {
                b'-' if self.re2 && !on => return Err(self.invalid("RE2 knows one `-` among flags")),
                b'-' => on = false,
                b'i' => flags.caseless = on,
                b'm' => flags.multi_line = on,
                b's' => flags.dot_all = on,
                b'U' => lazy = Some(on),
                b'x' if !self.re2 => flags.extended = on,
                b'J' | b'X' if !self.re2 => return Err(self.unsupported("this option")),
                b')' | b':' => break,
                _ => return Err(self.invalid("this group is of no known kind")),
            }
            dangling = byte == b'-';
            self.at += 1;
        }
        if dangling && self.re2 {
            return Err(self.invalid("RE2 wants a flag behind `-`"));
        }
        let written = written(self.flags(), flags, lazy);
        if self.takes(":") {
            let text = format!("(?{written}:");
            self.push_group(opened_at, &text, &text);
        } else {
            self.at += 1;
            if !written.is_empty() {
                let opening = format!("(?{written}:");
                self.both(&opening);
                self.frame().inline.push(opening);
            }
            self.repeatable = None;
            self.unrepeatable = self.re2.then_some("a quantifier behind flags");
        }
        self.frame().flags = flags;
        Ok(())
    }

    fn push_group(&mut self, opened_at: usize, regular: &str, exact: &str) {
        self.before_more();
        let mut frame = Frame::new(self.flags(), opened_at);
        frame.looks_behind = self.frame().looks_behind;
        frame.starts = (self.regular.len(), self.exact.len());
        frame.cost_before = self.cost;
        self.cost += if self.re2 { 4 } else { 16 };
        self.frames.push(frame);
        self.regular.push_str(regular);
        self.exact.push_str(exact);
        self.repeatable = None;
        self.unrepeatable = None;
        self.copied = None;
    }

    /// Closes what inline flags opened, at the end of their group.
    pub(super) fn close_inline(&mut self) {
        let open = std::mem::take(&mut self.frame().inline).len();
        self.both(&")".repeat(open));
    }

    pub(super) fn close_group(&mut self) -> Result<(), PatternError> {
        if self.frames.len() < 2 {
            return Err(self.invalid("this `)` closes no group"));
        }
        self.at += 1;
        self.close_inline();
        let closed = self.frames.pop();
        self.both(")");
        if let Some(closed) = closed {
            if closed.dollar_in_group {
                self.frame().dollar_in_branch = true;
                self.frame().dollar_in_group = true;
            }
            self.repeatable = Some(closed.starts);
            self.unrepeatable = closed.looks_around.then_some("a quantifier behind an assertion");
            let product = &mut self.frame().product;
            *product = (*product).max(closed.product);
            self.copied = Some((closed.cost_before, closed.product));
        }
        Ok(())
    }
}

/// The flags that turn `before` into `after`, as `regex-syntax` writes them.
fn written(before: FrameFlags, after: FrameFlags, lazy: Option<bool>) -> String {
    let changed = |before: bool, after: bool| (before != after).then_some(after);
    let flags = [
        ('i', changed(before.caseless, after.caseless)),
        ('m', changed(before.multi_line, after.multi_line)),
        ('s', changed(before.dot_all, after.dot_all)),
        ('U', lazy),
    ];
    let of = |wanted: bool| -> String {
        let flags = flags.iter().filter(|(_, on)| *on == Some(wanted));
        flags.map(|(flag, _)| *flag).collect()
    };
    let (on, off) = (of(true), of(false));
    if off.is_empty() { on } else { format!("{on}-{off}") }
}
