//! The buffer that all passes work on.

/// The buffer: text up to `len`, and behind it what was there before.
pub(super) struct Page<'b> {
    pub(super) bytes: &'b mut [u8],
    /// Where the text ends.
    pub(super) len: usize,
    /// Bytes before this were written, though the text may be shorter by now.
    written: usize,
    /// A number that pass 1 is still reading. Its digits stand at the end of the text, and the other passes move them as
    /// they are.
    pub(super) number: Option<usize>,
    /// Whether this is the first round.
    pub(super) first_round: bool,
    /// No byte that was never written is part of the text.
    pub(super) determined: bool,
}

impl<'b> Page<'b> {
    /// A buffer for a text of `room` bytes and its end.
    pub(super) fn new(buffer: &'b mut Vec<u8>, room: usize) -> Self {
        buffer.clear();
        buffer.resize(room + 2, 0);
        Page {
            bytes: buffer,
            len: 0,
            written: 0,
            number: None,
            first_round: true,
            determined: true,
        }
    }

    pub(super) fn push(&mut self, byte: u8) {
        self.bytes[self.len] = byte;
        self.len += 1;
    }

    pub(super) fn last(&self) -> Option<u8> {
        self.bytes[..self.len].last().copied()
    }

    /// The text ends here again; what it held beyond stays in the buffer.
    pub(super) fn rewind(&mut self, len: usize) {
        self.written = self.written.max(self.len);
        self.len = len;
    }

    /// Makes whatever byte the buffer holds behind the text part of it.
    pub(super) fn step_over(&mut self) {
        if self.len >= self.written {
            self.determined = false;
            self.bytes[self.len] = b' ';
        }
        self.len += 1;
    }

    /// Puts a byte behind the text.
    pub(super) fn leave_behind(&mut self, byte: u8) {
        self.bytes[self.len] = byte;
        self.written = self.written.max(self.len + 1);
    }

    /// The end of the text as passes 2 to 4 see it: before a number that is not read to its end.
    pub(super) fn settled(&self) -> usize {
        self.number.unwrap_or(self.len)
    }

    /// A byte, or the end's NUL.
    pub(super) fn byte(&self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or(0)
    }

    /// Ends a pass that wrote the settled text up to `end`: an unfinished number moves there. Returns where the pass
    /// ended.
    pub(super) fn end_pass(&mut self, end: usize) -> usize {
        let old = self.len;
        self.len = end;
        if let Some(start) = self.number {
            self.bytes.copy_within(start..old, end);
            self.number = Some(end);
            self.len = end + old - start;
        }
        self.written = self.written.max(old + 1);
        self.end_text();
        end
    }

    /// Writes the NUL behind the text.
    pub(super) fn end_text(&mut self) {
        self.leave_behind(0);
    }

    /// Where a pass begins that may go on at `from`, with `settled` bytes to read.
    pub(super) fn start(&self, from: isize, settled: usize) -> usize {
        match usize::try_from(from) {
            Ok(from) if !self.first_round && from + 1 < settled => from,
            _ => 0,
        }
    }

    pub(super) fn next_round(&mut self) {
        self.first_round = self.len == 0;
    }

    /// Takes off the end what the engine takes off, and returns the text's length: rules see it up to its first NUL.
    pub(super) fn finish(&mut self) -> usize {
        let room = self.bytes.len() - 2;
        if let Some(start) = self.number
            && self.len >= room
            && self.bytes[start].is_ascii_digit()
        {
            self.bytes[start] = b'?';
            self.bytes[start + 1] = 0;
        }
        let mut end = self.len;
        while end > 1 && matches!(self.bytes[end - 1], b' ' | b';') {
            end -= 1;
        }
        memchr::memchr(0, &self.bytes[..end]).unwrap_or(end)
    }
}
