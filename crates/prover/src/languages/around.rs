//! Questions in which a larger language stands for a pattern whose own automaton is too large.

use shardwright_patterns::{Automaton, Literal};

use super::{Domain, LIMITS, Languages, Lit, Shortest};

impl Languages {
    /// A shortest text that satisfies the literals and one of another automaton. As [`Languages::shortest`], `None` is a
    /// proof: where the automaton of a pattern that must match is too large, a larger language stands for it.
    ///
    /// # Errors
    /// Beyond the limits.
    pub(crate) fn shortest_with(&self, lits: &[Lit], more: Literal<'_>) -> Shortest {
        let mut literals = self.literals(lits, Domain::Text);
        for lit in lits {
            if lit.positive && self.automaton(lit.language).is_err() {
                let language = &self.languages[lit.language];
                let around = language
                    .around
                    .get_or_init(|| Automaton::around(&language.pattern, &LIMITS));
                literals.extend(around.as_ref().ok().map(|automaton| Literal {
                    automaton,
                    positive: true,
                }));
            }
        }
        literals.push(more);
        self.search(&literals)
    }
}
