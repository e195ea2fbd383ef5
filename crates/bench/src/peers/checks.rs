//! What a row must reach.

use serde::Serialize;

use crate::statistics::Summary;

/// A limit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

impl Bound {
    fn holds(self, figure: f64) -> bool {
        match self {
            Self::AtMost(limit) => figure <= limit,
            Self::AtLeast(limit) => figure >= limit,
        }
    }

    fn shown(self) -> String {
        match self {
            Self::AtMost(limit) => format!("≤ {limit}"),
            Self::AtLeast(limit) => format!("≥ {limit}"),
        }
    }
}

/// A figure over all rounds, and its limits.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Check {
    /// What the figure is, with its unit.
    what: String,
    /// None: something that it needs was not there.
    measured: Option<Summary>,
    must: Option<Bound>,
    stretch: Option<Bound>,
}

impl Check {
    /// A figure without limits.
    pub(super) fn of(what: impl Into<String>, measured: Option<Summary>) -> Self {
        Self {
            what: what.into(),
            measured,
            must: None,
            stretch: None,
        }
    }

    pub(super) fn must(mut self, bound: Bound) -> Self {
        self.must = Some(bound);
        self
    }

    pub(super) fn stretch(mut self, bound: Bound) -> Self {
        self.stretch = Some(bound);
        self
    }

    /// Whether the median is within the limits, in a word.
    pub(super) fn verdict(&self) -> &'static str {
        let Some(measured) = self.measured else {
            return "not measured";
        };
        let holds = |bound: Option<Bound>| bound.map(|bound| bound.holds(measured.median));
        match (holds(self.must), holds(self.stretch)) {
            (Some(false), _) => "missed",
            (_, Some(true)) => "stretch met",
            (Some(true), _) => "met",
            (None, _) => "",
        }
    }

    /// The cells of a table: what, figure, range, limits, verdict.
    pub(super) fn cells(&self) -> [String; 6] {
        let bound = |bound: Option<Bound>| bound.map_or_else(String::new, Bound::shown);
        let range = |measured: Summary| format!("{}..{}", number(measured.min), number(measured.max));
        [
            self.what.clone(),
            self.measured
                .map_or_else(|| "–".to_owned(), |measured| number(measured.median)),
            self.measured.map_or_else(String::new, range),
            bound(self.must),
            bound(self.stretch),
            self.verdict().to_owned(),
        ]
    }

    /// The same as a line.
    pub(super) fn line(&self) -> String {
        let [what, figure, range, must, stretch, verdict] = self.cells();
        let limits: Vec<String> = [("must", must), ("stretch", stretch)]
            .into_iter()
            .filter(|(_, limit)| !limit.is_empty())
            .map(|(name, limit)| format!("{name} {limit}"))
            .collect();
        let limits = limits.join(", ");
        format!("  {what}: {figure} ({range})  {limits}  {verdict}")
            .trim_end()
            .to_owned()
    }
}

/// Three digits that say something.
pub(super) fn number(figure: f64) -> String {
    match figure.abs() {
        size if size >= 1_000.0 => format!("{figure:.0}"),
        size if size >= 100.0 => format!("{figure:.1}"),
        _ => format!("{figure:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_judged() {
        let ratio = |median| {
            let measured = Summary {
                median,
                min: 1.0,
                max: 9.0,
            };
            Check::of("added over the floor", Some(measured))
                .must(Bound::AtMost(1.12))
                .stretch(Bound::AtMost(1.06))
        };
        assert_eq!(
            [1.2, 1.12, 1.05].map(|median| ratio(median).verdict()),
            ["missed", "met", "stretch met"]
        );
        assert_eq!(
            ratio(1.2).line(),
            "  added over the floor: 1.20 (1.00..9.00)  must ≤ 1.12, stretch ≤ 1.06  missed"
        );
        let absent = Check::of("over ProxySQL", None).must(Bound::AtLeast(1.25));
        assert_eq!(absent.verdict(), "not measured");
        assert_eq!(
            Check::of("for comparison", Summary::of([1_234.5])).line(),
            "  for comparison: 1234 (1234..1234)"
        );
    }
}
