//! Pass 1: copies a statement without literals, comments and needless blanks.

use super::DigestOptions;
use super::page::Page;

/// The engine keeps this many bytes of a comment.
const COMMENT: usize = 1023;

pub(super) struct Scanner<'t> {
    text: &'t [u8],
    at: usize,
    options: &'t DigestOptions,
    /// Block comments and `-- ` are only seen before this byte of the statement.
    room: usize,
    /// The byte before, as far as the engine remembers it; 0 behind a string.
    previous: u8,
}

impl<'t> Scanner<'t> {
    pub(super) fn new(text: &'t [u8], options: &'t DigestOptions, room: usize) -> Self {
        Scanner {
            text,
            at: 0,
            options,
            room,
            previous: 0,
        }
    }

    pub(super) fn at_end(&self) -> bool {
        self.at >= self.text.len()
    }

    /// Copies until the statement ends or the page is full.
    pub(super) fn fill(&mut self, page: &mut Page<'_>) {
        if !page.first_round {
            self.previous = page.last().unwrap_or(0);
        }
        while page.len < self.room && !self.at_end() {
            if page.number.is_some() {
                self.number(page);
            } else {
                self.step(page);
            }
        }
        page.end_text();
    }

    fn step(&mut self, page: &mut Page<'_>) {
        let byte = self.text[self.at];
        match byte {
            b'/' if self.at + 1 < self.room && self.text[self.at + 1] == b'*' => self.block_comment(page),
            b'#' => self.hash_comment(),
            b'-' if self.opens_dash_comment() => {
                // The third sign of a row opens nothing.
                if self.previous == b'-' {
                    self.copy(byte, page);
                } else {
                    self.dash_comment();
                }
            }
            b'\'' | b'"' => self.string(byte, page),
            b'0'..=b'9' if !is_word(self.previous) => {
                page.number = Some(page.len);
                page.leave_behind(byte);
                self.number(page);
            }
            b'n' | b'N' if self.options.replace_null && !is_word(self.previous) && self.is_null() => {
                page.push(b'?');
                self.previous = b'?';
                self.at += 4;
            }
            b' ' | b'\t' | b'\n' | b'\r' => self.blank(page),
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' => self.word(page),
            _ => self.copy(byte, page),
        }
    }

    /// A name or a key word, from a byte that is no digit.
    fn word(&mut self, page: &mut Page<'_>) {
        let rest = &self.text[self.at..];
        let length = rest.iter().take_while(|&&byte| is_word(byte)).count();
        let length = length.min(self.room - page.len);
        let copy = &mut page.bytes[page.len..page.len + length];
        copy.copy_from_slice(&rest[..length]);
        if self.options.lowercase {
            copy.make_ascii_lowercase();
        }
        page.len += length;
        self.at += length;
        self.previous = self.text[self.at - 1];
    }

    fn blank(&mut self, page: &mut Page<'_>) {
        let Some(last) = page.last() else {
            self.at += 1;
            return;
        };
        if is_space(self.previous) {
            // Behind a line comment the text may end without a blank.
            if !is_space(last) {
                page.step_over();
            }
            page.leave_behind(b' ');
            self.previous = b' ';
            self.at += 1;
        } else {
            page.push(b' ');
            self.skip();
        }
    }

    fn copy(&mut self, byte: u8, page: &mut Page<'_>) {
        page.push(if self.options.lowercase {
            byte.to_ascii_lowercase()
        } else {
            byte
        });
        self.skip();
    }

    /// Goes on by one byte without copying it.
    fn skip(&mut self) {
        self.previous = self.text[self.at];
        self.at += 1;
    }

    /// Goes on by so many bytes, or to the end.
    fn skip_to(&mut self, bytes: Option<usize>) {
        let to = bytes.map_or(self.text.len(), |bytes| self.at + bytes);
        if to > self.at {
            self.previous = self.text[to - 1];
            self.at = to;
        }
    }

    fn rest(&self) -> usize {
        self.text.len() - self.at
    }

    fn is_null(&self) -> bool {
        let rest = &self.text[self.at..];
        rest.len() >= 4
            && rest[..4].eq_ignore_ascii_case(b"null")
            && rest.get(4).is_none_or(|&next| !is_word(next))
    }

    fn string(&mut self, quote: u8, page: &mut Page<'_>) {
        let first = self.at + 1;
        self.skip();
        loop {
            self.skip_to(memchr::memchr2(quote, b'\\', &self.text[self.at..]));
            let Some(&byte) = self.text.get(self.at) else {
                return;
            };
            let escaped = self.at > first
                && ((self.previous == b'\\' && (byte == b'\\' || byte == quote))
                    || (self.previous == quote && byte == quote));
            if escaped {
                self.previous = b'X';
                self.at += 1;
                continue;
            }
            let closes = byte == quote && self.text.get(self.at + 1) != Some(&quote);
            self.skip();
            if closes {
                page.push(b'?');
                self.previous = 0;
                return;
            }
        }
    }

    /// Reads on in a number. It ends at a byte that no number holds or at the statement's last byte, whatever that is:
    /// `1a` is a number there.
    fn number(&mut self, page: &mut Page<'_>) {
        let start = page.number.unwrap_or(page.len);
        while page.len < self.room && !self.at_end() {
            let byte = self.text[self.at];
            let is_last = self.at + 1 == self.text.len();
            let has_sign = self.previous.eq_ignore_ascii_case(&b'e') && matches!(byte, b'+' | b'-');
            if !is_last && (is_word(byte) || byte == b'.' || has_sign) {
                self.copy(byte, page);
                continue;
            }
            if is_number(&page.bytes[start..page.len.max(start + 1)]) {
                page.rewind(start);
                page.push(b'?');
                self.previous = b'?';
                if is_last && is_word(byte) {
                    // To the engine it goes on, so the other passes do not see its mark.
                    return self.skip();
                }
            }
            page.number = None;
            return;
        }
    }

    fn opens_dash_comment(&self) -> bool {
        self.at + 2 < self.room && self.text[self.at + 1] == b'-' && is_space(self.text[self.at + 2])
    }

    /// `#` to the end of the line. The search looks for further `#` on its way, and two bytes before the statement's end
    /// it gives up directly behind one.
    fn hash_comment(&mut self) {
        while !self.at_end() {
            if self.text[self.at] == b'#' && self.rest() >= 2 {
                self.at += 1;
                if self.rest() == 2 {
                    return;
                }
            }
            if self.ends_line() {
                return;
            }
        }
    }

    /// `-- ` to the end of the line, with the same two oddities: further `-- ` are stepped over, line break included, and
    /// four bytes before the end it gives up.
    fn dash_comment(&mut self) {
        while !self.at_end() {
            let rest = &self.text[self.at..];
            if rest.len() >= 4 && rest.starts_with(b"--") && is_space(rest[2]) {
                self.at += 3;
                if self.rest() == 4 {
                    return;
                }
            }
            if self.ends_line() {
                return;
            }
        }
    }

    /// One byte of a line comment; true behind its last.
    fn ends_line(&mut self) -> bool {
        let ends = matches!(self.text[self.at], b'\n' | b'\r') || self.rest() == 1;
        self.skip();
        if ends {
            self.previous = b' ';
        }
        ends
    }

    /// A block comment up to `*/`; a `/*` within begins it anew. Executable ones are copied as they are, without the
    /// digits and blanks at their start.
    fn block_comment(&mut self, page: &mut Page<'_>) {
        let mut is_executable = false;
        let mut start = self.at;
        loop {
            if self.text[self.at..].starts_with(b"/*") {
                is_executable |= self.text.get(self.at + 2) == Some(&b'!');
                self.at += 2 + usize::from(is_executable);
                // One byte behind the opener is no comment but text.
                if self.at + 1 >= self.text.len() {
                    return;
                }
                start = self.at;
            }
            // Only a slash ends it or begins it anew.
            let closes = self.previous == b'*' && self.text[self.at] == b'/';
            self.skip();
            if closes {
                break;
            }
            self.skip_to(memchr::memchr(b'/', &self.text[self.at..]));
            if self.at_end() {
                return;
            }
        }
        if is_executable || self.options.keep_comment {
            self.copy_comment(&self.text[start..self.at], page);
        }
        if page.len < self.room && page.last().is_some_and(|last| last != b' ') {
            page.push(b' ');
        }
        self.previous = b' ';
    }

    /// `body` ends with the `*/`.
    fn copy_comment(&self, body: &[u8], page: &mut Page<'_>) {
        let keeps = self.options.keep_comment;
        let mark: &[u8] = if keeps { b"/*" } else { b"" };
        let body = &body[..body.len().min(COMMENT - mark.len())];
        let body = match keeps {
            true => body,
            false if body.len() < 2 => return,
            false => &body[..body.len() - 2],
        };
        let Some(start) = body
            .iter()
            .position(|byte| !matches!(byte, b'/' | b'*' | b'!' | b' ' | b'0'..=b'9'))
        else {
            return;
        };
        let kept = if keeps { body } else { &body[start..] };
        for &byte in mark.iter().chain(kept) {
            if page.len < self.room {
                page.push(byte);
            }
        }
    }
}

/// Digits, with dots, exponents and their signs in any order, or `0x` and hexadecimal digits.
fn is_number(bytes: &[u8]) -> bool {
    if bytes.len() >= 2 && bytes[0] == b'0' && matches!(bytes[1], b'x' | b'X') {
        return bytes[2..].iter().all(u8::is_ascii_hexdigit);
    }
    let mut previous = 0;
    bytes.iter().all(|&byte| {
        let belongs = match byte {
            b'0'..=b'9' | b'.' | b'e' | b'E' => true,
            b'+' | b'-' => matches!(previous, b'e' | b'E'),
            _ => false,
        };
        previous = byte;
        belongs
    })
}

/// What names and numbers are made of; bytes beyond ASCII are not.
pub(super) fn is_word(byte: u8) -> bool {
    IS_WORD[usize::from(byte)]
}

static IS_WORD: [bool; 256] = {
    let mut is_word = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        is_word[byte] = (byte as u8).is_ascii_alphanumeric() || matches!(byte as u8, b'$' | b'_');
        byte += 1;
    }
    is_word
};

pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}
