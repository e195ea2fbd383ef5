//! What an expression takes byte by byte at its beginning.
//!
//! Two expressions part where, whatever way they go on, both must take a byte that the other does not take: `ab|ac(?:d|e)`
//! and `a[d-f]`. Until then each takes exactly one byte at a time, so a matcher that fails there has not left the branch.

use regex_syntax::hir::{Hir, HirKind, Look};

use super::symbols::Symbols;

/// Steps of one beginning; what would have more is not known from there on.
const MOST_STEPS: usize = 512;

/// The ways in which an expression begins. None: they are not known.
#[derive(Clone, Debug, Default)]
pub(super) struct Beginning(Vec<Step>);

/// A byte, and what comes behind it.
#[derive(Clone, Debug)]
struct Step {
    symbols: Symbols,
    then: Beginning,
}

impl Beginning {
    /// Of parts that stand behind each other.
    pub(super) fn of(parts: &[&Hir]) -> Self {
        Self::behind(None, parts, &mut MOST_STEPS.clone())
    }

    /// How many steps are known.
    pub(super) fn steps(&self) -> usize {
        self.0.iter().map(|step| 1 + step.then.steps()).sum()
    }

    /// Whether it is known to begin with other bytes.
    pub(super) fn takes_none_of(&self, symbols: &Symbols) -> bool {
        !self.0.is_empty() && self.0.iter().all(|step| step.symbols.disjoint(symbols))
    }

    /// Whether no text begins in both ways.
    pub(super) fn parts_from(&self, other: &Self) -> bool {
        let is_known = |beginning: &Self| !beginning.0.is_empty();
        let differ = |one: &Step, other: &Step| {
            one.symbols.disjoint(&other.symbols) || one.then.parts_from(&other.then)
        };
        is_known(self)
            && is_known(other)
            && self
                .0
                .iter()
                .all(|one| other.0.iter().all(|other| differ(one, other)))
    }

    fn step(symbols: Symbols, then: Self, left: &mut usize) -> Self {
        match left.checked_sub(1) {
            Some(less) => {
                *left = less;
                Self(vec![Step { symbols, then }])
            }
            None => Self::default(),
        }
    }

    /// Of parts behind a byte, if that is known.
    fn behind(before: Option<Symbols>, parts: &[&Hir], left: &mut usize) -> Self {
        let Some((first, rest)) = parts.split_first() else {
            return Self::default();
        };
        match first.kind() {
            HirKind::Literal(literal) => Self::literal(&literal.0, rest, left),
            HirKind::Class(class) => match Symbols::of_class(class) {
                Some(symbols) => {
                    let then = Self::behind(Some(symbols), rest, left);
                    Self::step(symbols, then, left)
                }
                None => Self::default(),
            },
            HirKind::Look(Look::End) => Self::step(Symbols::END, Self::default(), left),
            HirKind::Look(Look::WordAscii | Look::WordAsciiNegate) if before.is_none() => {
                Self::behind(None, rest, left)
            }
            HirKind::Look(Look::WordAscii) if before.is_some_and(Symbols::is_of_words) => {
                Self::step(Symbols::ALL.outside_words(), Self::default(), left)
            }
            HirKind::Capture(capture) => Self::behind(before, &chained(&[&capture.sub], rest), left),
            HirKind::Concat(parts) => {
                Self::behind(before, &chained(&parts.iter().collect::<Vec<_>>(), rest), left)
            }
            HirKind::Alternation(branches) => Self::either(before, branches, rest, left),
            // The first of several; they may be as many as they like.
            HirKind::Repetition(repetition) if repetition.min > 0 => {
                let mut beginning = Self::behind(before, &[&repetition.sub], left);
                for step in &mut beginning.0 {
                    step.then = Self::default();
                }
                beginning
            }
            HirKind::Empty | HirKind::Look(_) | HirKind::Repetition(_) => Self::default(),
        }
    }

    fn literal(bytes: &[u8], rest: &[&Hir], left: &mut usize) -> Self {
        let last = bytes.last().map(|&byte| Symbols::of_byte(byte));
        let then = Self::behind(last, rest, left);
        bytes
            .iter()
            .rev()
            .fold(then, |then, &byte| Self::step(Symbols::of_byte(byte), then, left))
    }

    /// Of any branch; not known where one is not.
    fn either(before: Option<Symbols>, branches: &[Hir], rest: &[&Hir], left: &mut usize) -> Self {
        let mut all = Self::default();
        for branch in branches {
            let one = Self::behind(before, &chained(&[branch], rest), left);
            if one.0.is_empty() {
                return Self::default();
            }
            all.0.extend(one.0);
        }
        all
    }
}

/// Parts and those behind them.
pub(super) fn chained<'h>(parts: &[&'h Hir], rest: &[&'h Hir]) -> Vec<&'h Hir> {
    parts.iter().chain(rest).copied().collect()
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
