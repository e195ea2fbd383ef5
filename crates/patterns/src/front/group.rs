//! Groups, their kinds and their inline flags.

use super::{Frame, Front, MAX_DEPTH};
use crate::error::{ErrorKind, PatternError};

/// Number of capturing groups in `text`: PCRE needs it to tell `\12` the reference from `\12` the octal code.
pub(super) fn count(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut at, mut groups, mut in_class) = (0, 0, false);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 1,
            b'[' if !in_class => {
                in_class = true;
                at += usize::from(bytes.get(at + 1) == Some(&b'^'));
                at += usize::from(bytes.get(at + 1) == Some(&b']'));
            }
            b']' => in_class = false,
            b'(' if !in_class => {
                let rest = &bytes[at + 1..];
                let named = rest.starts_with(b"?P<")
                    || rest.starts_with(b"?'")
                    || (rest.starts_with(b"?<") && !matches!(rest.get(2), Some(b'=' | b'!')));
                groups += usize::from(named || !matches!(rest.first(), Some(b'?' | b'*')));
            }
            _ => {}
        }
        at += 1;
    }
    groups
}

impl Front<'_> {
    pub(super) fn open_group(&mut self) -> Result<(), PatternError> {
        let opened_at = self.at;
        if self.frames.len() > MAX_DEPTH as usize {
            return Err(self.error(ErrorKind::TooLarge, "groups are nested too deeply"));
        }
        self.at += 1;
        if self.rest().starts_with(b"*") && self.rest().get(1).is_some_and(u8::is_ascii_uppercase) {
            return Err(self.unsupported("a verb such as `(*ACCEPT)`"));
        }
        if !self.takes("?") {
            self.groups += 1;
            self.push_group(opened_at, "(", "(");
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
            Some(b'R' | b'&' | b'C' | b'+' | b'0'..=b'9') => Err(self.unsupported("recursion")),
            Some(b'P' | b'<' | b'\'') => self.named_group(opened_at),
            _ => self.inline_flags(opened_at),
        }
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
        let well_formed = name_length > 0
            && name_length <= 32
            && !self.rest()[0].is_ascii_digit()
            && self.rest().get(name_length) == Some(&close);
        if !well_formed {
            return Err(self.invalid("this group name is malformed"));
        }
        let name = self.text[self.at..self.at + name_length].to_owned();
        if self.names.contains(&name) {
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
        let (mut on, mut written) = (true, String::new());
        loop {
            let Some(byte) = self.peek() else {
                return Err(self.invalid("this group is not closed"));
            };
            match byte {
                b'-' if on => on = false,
                b'i' => flags.caseless = on,
                b'm' => flags.multi_line = on,
                b's' | b'U' => {}
                b'x' if !self.re2 => flags.extended = on,
                b'J' | b'X' if !self.re2 => return Err(self.unsupported("this option")),
                b')' | b':' => break,
                _ => return Err(self.invalid("this group is of no known kind")),
            }
            if byte != b'x' {
                written.push(char::from(byte));
            }
            self.at += 1;
        }
        let written = written.strip_suffix('-').unwrap_or(&written).to_owned();
        let opens = self.takes(":");
        if opens {
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
        }
        self.frame().flags = flags;
        Ok(())
    }

    fn push_group(&mut self, opened_at: usize, regular: &str, exact: &str) {
        self.before_more();
        let mut frame = Frame::new(self.flags(), opened_at);
        frame.looks_behind = self.frame().looks_behind;
        frame.starts = (self.regular.len(), self.exact.len());
        self.frames.push(frame);
        self.regular.push_str(regular);
        self.exact.push_str(exact);
        self.repeatable = None;
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
        }
        Ok(())
    }
}
