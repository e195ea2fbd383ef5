//! What the parts of a decision cost on an engine.

use serde::{Deserialize, Serialize};

use crate::RegexEngine;

/// Prices in nanoseconds, measured with client, proxy and server on one core.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prices {
    /// One evaluation of a pattern by PCRE.
    pub pcre_evaluation_ns: f64,
    /// One evaluation of a pattern by RE2.
    pub re2_evaluation_ns: f64,
    /// One visit to a rule of another chain.
    pub visit_ns: f64,
    /// One look-up in a hash table.
    pub lookup_ns: f64,
}

impl Prices {
    /// The price of one evaluation by `regex`.
    pub fn evaluation_ns(&self, regex: RegexEngine) -> f64 {
        match regex {
            RegexEngine::Pcre => self.pcre_evaluation_ns,
            RegexEngine::Re2 => self.re2_evaluation_ns,
        }
    }
}
