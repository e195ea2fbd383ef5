//! What one position of an expression takes, and what an expression takes byte by byte at its beginning.

use regex_syntax::hir::{Class, Hir, HirKind, Look};

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
    const ALL: Self = Self {
        bytes: [u64::MAX; 4],
        end: true,
    };

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

/// What the expression takes byte by byte at its beginning, whichever way it goes on.
pub(super) fn single_bytes(hir: &Hir) -> Vec<Symbols> {
    match hir.kind() {
        HirKind::Literal(literal) => {
            let byte = |&byte: &u8| {
                let mut symbols = Symbols::default();
                symbols.add(byte, byte);
                symbols
            };
            literal.0.iter().map(byte).collect()
        }
        HirKind::Class(class) => Symbols::of_class(class).into_iter().collect(),
        HirKind::Concat(parts) => single_bytes_of(&parts.iter().collect::<Vec<_>>()),
        // The first byte of any of them.
        HirKind::Alternation(branches) => {
            let mut all = Symbols::default();
            for branch in branches {
                match single_bytes(branch).first() {
                    Some(first) => all.join(first),
                    None => return Vec::new(),
                };
            }
            vec![all]
        }
        // The first of several; they may be as many as they like.
        HirKind::Repetition(repetition) if repetition.min > 0 => {
            single_bytes(&repetition.sub).into_iter().take(1).collect()
        }
        _ => Vec::new(),
    }
}

/// The same of parts that stand behind each other.
pub(super) fn single_bytes_of(parts: &[&Hir]) -> Vec<Symbols> {
    let mut bytes: Vec<Symbols> = Vec::new();
    for part in parts {
        match part.kind() {
            HirKind::Literal(_) | HirKind::Class(_) => bytes.extend(single_bytes(part)),
            HirKind::Look(Look::WordAscii) if bytes.last().is_some_and(|last| last.is_of_words()) => {
                bytes.push(Symbols::ALL.outside_words());
                break;
            }
            _ => {
                bytes.extend(single_bytes(part));
                break;
            }
        }
    }
    bytes
}

/// Whether it has turns without a bound, each like the first.
pub(super) fn is_loop(hir: &Hir) -> bool {
    matches!(hir.kind(), HirKind::Repetition(repetition) if repetition.max.is_none() && repetition.min <= 1)
}

/// The branches with those of alternations among them.
pub(super) fn flat(branches: &[Hir]) -> Vec<&Hir> {
    let inner = |branch| match Hir::kind(branch) {
        HirKind::Alternation(branches) => flat(branches),
        _ => vec![branch],
    };
    branches.iter().flat_map(inner).collect()
}

/// Whether two branches differ in a byte that both must take.
pub(super) fn part_ways(one: &[Symbols], other: &[Symbols]) -> bool {
    one.iter().zip(other).any(|(one, other)| one.disjoint(other))
}
