//! Passes 3 and 4: long lists of literals, and long rows of such lists.

use super::DigestOptions;
use super::page::Page;
use super::signs::is_operator;

const DOTS: &[u8] = b"...";

/// The limits, and what the passes remember between rounds.
pub(super) struct Lists {
    /// Literals that a list keeps.
    kept: isize,
    /// Lists that a row keeps.
    groups: isize,
    shortened_to: isize,
    gained: isize,
    grouped_to: isize,
    /// The text may hold `...`.
    has_dots: bool,
}

impl Lists {
    pub(super) fn new(options: &DigestOptions) -> Self {
        // The engine declares both variables as one signed byte where it reads them.
        let low_byte = |limit: u32| isize::from(limit as u8 as i8);
        Lists {
            kept: low_byte(options.grouping_limit),
            groups: low_byte(options.groups_grouping_limit),
            shortened_to: 0,
            gained: 0,
            grouped_to: 0,
            has_dots: false,
        }
    }

    /// Pass 3. `gained` is what all passes of the last round gained.
    pub(super) fn shorten(&mut self, page: &mut Page<'_>, gained: isize) {
        if self.kept == 0 {
            return;
        }
        let end = page.settled();
        let look_back = self.kept * 2 + 8;
        let start = page.start(self.shortened_to - (gained - self.gained) - look_back, end);
        let mut list = List {
            from: start,
            to: start,
            end,
            is_open: false,
        };
        if may_shorten(&page.bytes[start..end]) {
            self.has_dots = true;
            while list.from < end && list.step(page, self.kept) {
                list.skip_to_bracket(page);
            }
        } else {
            list.to = end;
        }
        self.gained = (end as isize - list.to as isize).max(0);
        self.shortened_to = page.end_pass(list.to) as isize;
    }

    /// Pass 4.
    pub(super) fn group(&mut self, page: &mut Page<'_>) {
        if self.groups == 0 || self.kept == 0 {
            return;
        }
        let end = page.settled();
        let size = self.kept * 2 + 6;
        let start = page.start(self.grouped_to - size * (self.groups + 2), end);
        let to = match usize::try_from(self.kept) {
            Ok(kept) if self.has_dots => Row {
                from: start,
                to: start,
                end,
                kept,
            }
            .group(page, self.groups),
            _ => end,
        };
        self.grouped_to = page.end_pass(to) as isize;
    }
}

/// Whether passes 3 and 4 change anything.
fn may_shorten(text: &[u8]) -> bool {
    memchr::memchr2_iter(b'?', b'.', text)
        .any(|at| matches!(&text[at..], [b'?', b',', b'?', ..] | [b'.', b'.', b'.', ..]))
}

/// Pass 3 on its way.
struct List {
    from: usize,
    to: usize,
    end: usize,
    /// Behind a `(`.
    is_open: bool,
}

impl List {
    /// Nothing changes outside of brackets.
    fn skip_to_bracket(&mut self, page: &mut Page<'_>) {
        if self.is_open || self.from >= self.end {
            return;
        }
        let rest = &page.bytes[self.from..self.end];
        let length = memchr::memchr(b'(', rest).unwrap_or(rest.len());
        page.bytes.copy_within(self.from..self.from + length, self.to);
        (self.from, self.to) = (self.from + length, self.to + length);
    }

    /// One byte, or a list of literals; false where the engine stops early.
    fn step(&mut self, page: &mut Page<'_>, kept: isize) -> bool {
        if self.is_open && self.to > 4 && self.from + 2 <= self.end && ends_with(page, self.to, b",...") {
            self.from = self.behind_dots(page);
            if page.number.is_some() && self.from + 1 >= self.end && page.byte(self.from).is_ascii_digit() {
                return false;
            }
        }
        let first = page.byte(self.from);
        if self.is_open && first == b'?' && self.starts_list(page, kept) {
            self.list(page, kept);
        } else {
            page.bytes[self.to] = first;
            self.to += 1;
            self.from += 1;
        }
        match first {
            b'(' => self.is_open = true,
            b')' => self.is_open = false,
            _ => {}
        }
        true
    }

    /// Where the literals end that go on behind `,...` of an earlier round.
    fn behind_dots(&self, page: &Page<'_>) -> usize {
        let mut at = self.from + usize::from(page.byte(self.from) == b',');
        while at + 1 < self.end && page.byte(at) == b'?' {
            match page.byte(at + 1) {
                b',' => at += 2,
                b')' => return at + 1,
                _ => break,
            }
        }
        if at > self.from + 1 { at } else { self.from }
    }

    fn starts_list(&self, page: &Page<'_>, kept: isize) -> bool {
        let at = self.from;
        let fits = (at as isize) + 1 + kept * 2 < self.end as isize;
        fits && page.bytes[at..].starts_with(b"?,?")
            && matches!(page.byte(at + 3), b',' | b')')
            && !is_operator(page.byte(at - 1))
    }

    /// Counts `?,` up to something else. The last element counts by the `)` behind it, whatever it is itself.
    fn list(&mut self, page: &mut Page<'_>, kept: isize) {
        let mut at = self.from;
        let mut pairs = 0;
        let mut is_closed = false;
        while at + 1 < self.end {
            if page.byte(at) == b'?' && page.byte(at + 1) == b',' {
                at += 2;
                pairs += 1;
            } else {
                is_closed = page.byte(at + 1) == b')';
                break;
            }
        }
        let bytes = pairs * 2 + isize::from(is_closed);
        if bytes < kept * 2 + 3 {
            self.write_pairs(page, pairs);
            self.from = at;
            return;
        }
        self.write_pairs(page, kept);
        if kept >= 0 {
            page.bytes[self.to..self.to + DOTS.len()].copy_from_slice(DOTS);
            self.to += DOTS.len();
        }
        self.from = if is_closed { at + 1 } else { at - 1 };
    }

    fn write_pairs(&mut self, page: &mut Page<'_>, pairs: isize) {
        for _ in 0..pairs {
            page.bytes[self.to..self.to + 2].copy_from_slice(b"?,");
            self.to += 2;
        }
    }
}

/// Pass 4 on its way.
struct Row {
    from: usize,
    to: usize,
    end: usize,
    /// Literals of each abbreviated list.
    kept: usize,
}

impl Row {
    /// Returns where the text ends.
    fn group(mut self, page: &mut Page<'_>, most: isize) -> usize {
        // An abbreviated list with the comma behind it.
        let size = 2 * self.kept + 6;
        while self.from < self.end {
            if self.to > 5 && ends_with(page, self.to, b"),...") {
                let at = self.behind_dots(page, size);
                if at > self.from + 1 {
                    self.from = at - 1;
                    continue;
                }
                if at + 1 >= self.end {
                    break;
                }
            }
            let needed = size as isize * (most + 1);
            if self.from as isize + needed <= self.end as isize + 1
                && page.bytes[self.from..].starts_with(b"(?,")
            {
                self.row(page, size, most);
            }
            if self.from >= self.end {
                break;
            }
            page.bytes[self.to] = page.bytes[self.from];
            self.to += 1;
            self.from += 1;
        }
        self.to
    }

    /// Where the lists end that go on behind `),...`.
    fn behind_dots(&self, page: &Page<'_>, size: usize) -> usize {
        let mut at = self.from + usize::from(matches!(page.byte(self.from), b',' | b' '));
        while at + size - 1 <= self.end && self.is_short_list(page, at) {
            at += if at + size == self.end { size - 1 } else { size };
        }
        at
    }

    fn row(&mut self, page: &mut Page<'_>, size: usize, most: isize) {
        let mut at = self.from;
        let mut found = 0;
        while at + size - 1 <= self.end && self.is_short_list(page, at) {
            at += size - 1;
            at += usize::from(page.byte(at) == b',');
            found += 1;
        }
        let Ok(most) = usize::try_from(most) else { return };
        if found > most {
            let length = size * most;
            page.bytes.copy_within(self.from..self.from + length, self.to);
            self.to += length;
            page.bytes[self.to..self.to + DOTS.len()].copy_from_slice(DOTS);
            self.to += DOTS.len();
            self.from = at;
        }
    }

    /// `(?,?,?,...)`.
    fn is_short_list(&self, page: &Page<'_>, at: usize) -> bool {
        let pairs = 2 * self.kept;
        page.bytes.get(at..at + pairs + 5).is_some_and(|list| {
            list[0] == b'('
                && list[1..=pairs].chunks_exact(2).all(|pair| pair == b"?,")
                && &list[pairs + 1..] == b"...)"
        })
    }
}

fn ends_with(page: &Page<'_>, to: usize, wanted: &[u8]) -> bool {
    page.bytes[..to].ends_with(wanted)
}
