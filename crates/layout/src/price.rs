//! What the work of an engine costs.

/// Prices in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Price {
    /// One pattern run.
    pub evaluation_ns: f64,
    /// One rule looked at.
    pub visit_ns: f64,
    /// One look-up in a table.
    pub lookup_ns: f64,
}

impl Price {
    /// Nanoseconds of so many of each.
    pub fn ns(&self, evaluations: f64, visits: f64, lookups: f64) -> f64 {
        evaluations * self.evaluation_ns + visits * self.visit_ns + lookups * self.lookup_ns
    }

    /// What a chain of so many rules costs those behind it, in evaluations times weight.
    pub(crate) fn chain(&self, total_weight: f64, rules: f64) -> f64 {
        rules * total_weight * self.visit_ns / self.evaluation_ns
    }
}
