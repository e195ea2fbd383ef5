//! `test --coverage`: which rules, shards and branches no test reaches (SW804), and the share that must be covered
//! (SW805).

use std::collections::BTreeMap;

use serde::Serialize;
use shardwright_diagnostics::{Diagnostic, Problems};
use shardwright_rules::EngineId;
use shardwright_simulation::route_tests::coverage::{Coverage, CoveragePoint, Part, Share};

use crate::codes::{TOO_LITTLE, UNCOVERED};
use crate::project::Opened;

/// Rules that one message names.
const MOST_RULES: usize = 6;

/// How much is covered, of each kind of thing.
#[derive(Clone, Debug, Serialize)]
pub(super) struct CoverageCount {
    pub(super) rules: Covered,
    pub(super) shards: Covered,
    pub(super) branches: Covered,
    pub(super) all: Covered,
}

/// So many of so many.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Covered {
    covered: usize,
    total: usize,
    /// Rounded down to a tenth, so that 100 is all.
    pub(super) percent: f64,
}

impl From<Share> for Covered {
    fn from(share: Share) -> Self {
        Self {
            covered: share.covered,
            total: share.total,
            percent: (share.percent() * 10.0).floor() / 10.0,
        }
    }
}

impl CoverageCount {
    /// `rules 3 of 4, shards 200 of 200, branches 2 of 5: 98.5 %`
    pub(super) fn summary(&self) -> String {
        let part = |name: &str, of: Covered| format!("{name} {} of {}", of.covered, of.total);
        format!(
            "{}, {}, {}: {} %",
            part("rules", self.rules),
            part("shards", self.shards),
            part("branches", self.branches),
            self.all.percent
        )
    }
}

/// Reports what no test came to, and the sums.
pub(super) fn report(
    coverage: &Coverage<'_>,
    engine: EngineId,
    fail_under: Option<f64>,
    opened: &Opened,
    problems: &mut Problems,
) -> CoverageCount {
    let [rules, shards, branches, all] = coverage.shares().map(|(_, share)| Covered::from(share));
    let count = CoverageCount {
        rules,
        shards,
        branches,
        all,
    };
    let mut rules: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    for point in coverage.uncovered() {
        match point.part {
            Part::Rule(id) => rules.entry(point.address.as_str()).or_default().push(id),
            Part::Shard => problems.push(uncovered(
                point,
                "no test sends a statement to this shard",
                engine,
                opened,
            )),
            Part::Branch(branch) => {
                problems.push(uncovered(point, &format!("no test has {branch}"), engine, opened));
            }
        }
    }
    for (address, ids) in rules {
        problems.push(of_rules(address, &ids, engine, opened));
    }
    if let Some(wanted) = fail_under.filter(|wanted| all.percent < *wanted) {
        let message = format!(
            "the tests cover {} % on {}, less than --fail-under {wanted}",
            all.percent,
            engine.name()
        );
        problems.push(too_little(message));
    }
    count
}

/// Less than what `--fail-under` asks for.
pub(super) fn too_little(message: String) -> Diagnostic {
    Diagnostic::error(TOO_LITTLE, message)
}

fn uncovered(point: &CoveragePoint, what: &str, engine: EngineId, opened: &Opened) -> Diagnostic {
    let message = format!("{what} ({})", engine.name());
    at_object(
        Diagnostic::info(UNCOVERED, message),
        point.address.as_str(),
        opened,
    )
}

fn of_rules(address: &str, ids: &[u32], engine: EngineId, opened: &Opened) -> Diagnostic {
    let named: Vec<String> = ids.iter().take(MOST_RULES).map(u32::to_string).collect();
    let message = match ids {
        [0, ..] => format!("no test reaches this row of fast routing ({})", engine.name()),
        [one] => format!("no test reaches rule {one} ({})", engine.name()),
        ids if ids.len() > MOST_RULES => format!(
            "no test reaches rules {} and {} more ({})",
            named.join(", "),
            ids.len() - MOST_RULES,
            engine.name()
        ),
        _ => format!("no test reaches rules {} ({})", named.join(", "), engine.name()),
    };
    let ids = ids.iter().copied().filter(|id| *id != 0);
    at_object(
        Diagnostic::info(UNCOVERED, message).rule_ids(ids),
        address,
        opened,
    )
}

/// At the object of an address.
pub(super) fn at_object(diagnostic: Diagnostic, address: &str, opened: &Opened) -> Diagnostic {
    let origins = &opened.project.origins;
    match opened.find(address) {
        Some(origin) => origins.mark(origin, diagnostic.at(origins.span(origin), "")),
        None => diagnostic,
    }
    .address(address)
}
