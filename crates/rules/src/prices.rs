//! What the parts of a decision cost on an engine.

use serde::{Deserialize, Serialize};

use crate::{PatternKind, RegexEngine};

/// How long the text is that a pattern is evaluated on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TextLength {
    /// About 10 bytes.
    Short,
    /// About 150 bytes; what costs are named for unless something else is said.
    #[default]
    Usual,
    /// 2 KB.
    Long,
    /// 1 MB.
    Huge,
}

impl TextLength {
    /// All lengths, shortest first.
    pub const ALL: [Self; 4] = [Self::Short, Self::Usual, Self::Long, Self::Huge];

    /// In bytes, about.
    pub const fn bytes(self) -> usize {
        match self {
            Self::Short => 10,
            Self::Usual => 150,
            Self::Long => 2_000,
            Self::Huge => 1_000_000,
        }
    }
}

/// Nanoseconds of one evaluation, by kind of pattern in the order of [`PatternKind::ALL`], and by [`TextLength`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PatternPrices(pub [[f64; 4]; PatternKind::COUNT]);

impl PatternPrices {
    /// The same price for everything.
    pub const fn alike(ns: f64) -> Self {
        Self([[ns; 4]; PatternKind::COUNT])
    }

    /// One evaluation of a pattern of this kind.
    pub fn ns(&self, kind: PatternKind, length: TextLength) -> f64 {
        self.0[kind as usize][length as usize]
    }
}

/// Prices in nanoseconds, measured with client and proxy on one core.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prices {
    /// Evaluations by PCRE.
    pub pcre: PatternPrices,
    /// Evaluations by RE2.
    pub re2: PatternPrices,
    /// One visit to a rule of another chain.
    pub visit_ns: f64,
    /// One look-up in a hash table.
    pub lookup_ns: f64,
}

impl Prices {
    /// The prices of evaluations by `regex`.
    pub fn patterns(&self, regex: RegexEngine) -> &PatternPrices {
        match regex {
            RegexEngine::Pcre => &self.pcre,
            RegexEngine::Re2 => &self.re2,
        }
    }

    /// The price of one evaluation by `regex` of a pattern for values of a key, on a text of usual length.
    pub fn evaluation_ns(&self, regex: RegexEngine) -> f64 {
        self.patterns(regex).ns(PatternKind::KeyRange, TextLength::Usual)
    }
}
