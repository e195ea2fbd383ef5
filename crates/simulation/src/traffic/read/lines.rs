//! Lines of a file, none longer than a statement may be.

use std::io::{self, BufRead};

use super::{MAX_STATEMENT_BYTES, Unread};

/// Lines without their ends; one that is too long is passed over.
pub(super) struct Lines<R> {
    source: R,
    line: Vec<u8>,
    unread: Unread,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(source: R) -> Self {
        Self {
            source,
            line: Vec::new(),
            unread: Unread::default(),
        }
    }

    /// The next line; none at the end.
    pub(super) fn next(&mut self) -> io::Result<Option<&[u8]>> {
        loop {
            self.line.clear();
            if !self.fill()? {
                return Ok(None);
            }
            if self.line.len() <= MAX_STATEMENT_BYTES {
                break;
            }
            self.unread.too_long += 1;
        }
        while matches!(self.line.last(), Some(b'\n' | b'\r')) {
            self.line.pop();
        }
        Ok(Some(&self.line))
    }

    /// Reads to the end of the line, keeping no more than is needed to see that it is too long.
    fn fill(&mut self) -> io::Result<bool> {
        let mut any = false;
        loop {
            let buffer = self.source.fill_buf()?;
            if buffer.is_empty() {
                return Ok(any);
            }
            any = true;
            let end = memchr::memchr(b'\n', buffer).map_or(buffer.len(), |at| at + 1);
            let room = (MAX_STATEMENT_BYTES + 3).saturating_sub(self.line.len());
            self.line.extend_from_slice(&buffer[..end.min(room)]);
            let ended = buffer[end - 1] == b'\n';
            self.source.consume(end);
            if ended {
                return Ok(true);
            }
        }
    }

    /// What was passed over, and these lines that do not fit.
    pub(super) fn unread(&self, lines: u64) -> Unread {
        Unread { lines, ..self.unread }
    }
}
