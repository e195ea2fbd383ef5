//! What one position of an expression takes.

use regex_syntax::hir::Class;

/// Bytes, and the end of the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Symbols {
    bytes: [u64; 4],
    pub(super) end: bool,
}

impl Symbols {
    /// The end of the text alone.
    pub(super) const END: Self = Self {
        bytes: [0; 4],
        end: true,
    };
    pub(super) const ALL: Self = Self {
        bytes: [u64::MAX; 4],
        end: true,
    };

    pub(super) fn of_byte(byte: u8) -> Self {
        let mut symbols = Self::default();
        symbols.add(byte, byte);
        symbols
    }

    pub(super) fn add(&mut self, low: u8, high: u8) {
        for byte in low..=high {
            self.bytes[usize::from(byte >> 6)] |= 1 << (byte & 63);
        }
    }

    /// Letters, digits and the underscore.
    pub(super) fn of_words() -> Self {
        let mut symbols = Self::default();
        for (low, high) in [(b'0', b'9'), (b'A', b'Z'), (b'_', b'_'), (b'a', b'z')] {
            symbols.add(low, high);
        }
        symbols
    }

    /// Adds the other's symbols; false if they share one.
    pub(super) fn join(&mut self, other: &Self) -> bool {
        let disjoint = self.disjoint(other);
        self.end |= other.end;
        for (own, more) in self.bytes.iter_mut().zip(other.bytes) {
            *own |= more;
        }
        disjoint
    }

    pub(super) fn disjoint(&self, other: &Self) -> bool {
        let bytes = self.bytes.iter().zip(other.bytes);
        !(self.end && other.end) && bytes.fold(0, |shared, (own, more)| shared | (own & more)) == 0
    }

    /// Whether the other has all of these.
    pub(super) fn within(&self, other: &Self) -> bool {
        let bytes = self.bytes.iter().zip(other.bytes);
        (other.end || !self.end) && bytes.fold(0, |missing, (own, others)| missing | (own & !others)) == 0
    }

    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Those of words.
    pub(super) fn inside_words(mut self) -> Self {
        self.end = false;
        for (own, word) in self.bytes.iter_mut().zip(Self::of_words().bytes) {
            *own &= word;
        }
        self
    }

    /// These without those of words.
    pub(super) fn outside_words(mut self) -> Self {
        for (own, word) in self.bytes.iter_mut().zip(Self::of_words().bytes) {
            *own &= !word;
        }
        self
    }

    /// Whether these are symbols of words only.
    pub(super) fn is_of_words(self) -> bool {
        !self.end && self.outside_words() == Self::default()
    }

    /// What one position of a class takes; `None` for characters of several bytes.
    pub(super) fn of_class(class: &Class) -> Option<Self> {
        let mut symbols = Self::default();
        match class {
            Class::Bytes(class) => {
                for range in class.ranges() {
                    symbols.add(range.start(), range.end());
                }
            }
            Class::Unicode(class) => {
                for range in class.ranges() {
                    // Beyond ASCII a character is several bytes, and a position is one.
                    let high = u8::try_from(range.end()).ok().filter(u8::is_ascii)?;
                    symbols.add(u8::try_from(range.start()).ok()?, high);
                }
            }
        }
        Some(symbols)
    }
}
