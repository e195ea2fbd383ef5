//! `test --mutants`: what of the configuration could be broken without a test that notices (SW806).

use std::collections::HashMap;
use std::sync::Arc;

use serde::Serialize;
use shardwright_diagnostics::{Diagnostic, Problems, Proof, Witness};
use shardwright_prover::KeyedShards;
use shardwright_prover::properties::{Answer, Prover, SessionStatement};
use shardwright_routing::RoutingTable;
use shardwright_rules::{Configuration, EngineId};
use shardwright_simulation::route_tests::mutants::{Mutant, Survivor, mutants};
use shardwright_simulation::route_tests::{Case, Runner};
use shardwright_topology::model::Property;

use super::coverage::{at_object, too_little};
use super::properties::asked;
use crate::codes::SURVIVED;
use crate::project::Opened;
use crate::ui::Ui;

/// How the mutants of one engine went.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct MutantCount {
    /// Those that were tried.
    tried: usize,
    /// Those that a test or a property noticed.
    noticed: usize,
    /// Those that route every statement as before, which is proved; they do not count.
    equivalent: usize,
    /// Those that a statement shows to be different and no test noticed.
    survived: usize,
    /// Those that no test noticed, and of which it is not known whether they differ; they count as survivors.
    unknown: usize,
    /// Noticed of those that count, in percent, rounded down to a tenth; none where nothing counts.
    pub(super) score: Option<f64>,
}

impl MutantCount {
    /// Whether less is noticed than was asked for; where nothing counts, nothing is noticed.
    pub(super) fn is_under(&self, wanted: f64) -> bool {
        self.score.is_none_or(|score| score < wanted)
    }

    pub(super) fn summary(&self) -> String {
        let score = self
            .score
            .map_or_else(|| "no score".to_owned(), |score| format!("score {score} %"));
        format!(
            "{} mutants: {} noticed, {} survived, {} undecided, {} equivalent; {score}",
            self.tried, self.noticed, self.survived, self.unknown, self.equivalent
        )
    }
}

/// The tests of one engine, which hold on the configuration as it is.
pub(super) struct Suite<'s> {
    pub(super) engine: EngineId,
    pub(super) configuration: &'s Arc<Configuration>,
    pub(super) keys: &'s KeyedShards,
    pub(super) cases: Vec<Case<'s>>,
    pub(super) properties: Vec<&'s Property>,
}

/// Tries `most` mutants.
pub(super) fn run(
    suite: &Suite<'_>,
    most: usize,
    fail_under: Option<f64>,
    opened: &Opened,
    problems: &mut Problems,
    ui: &Ui,
) -> MutantCount {
    let table = RoutingTable::new(Arc::clone(suite.configuration));
    let hits = hits(&table, suite);
    let candidates = Prover::new(suite.configuration, suite.keys.clone()).candidates();
    let all = mutants(suite.configuration, most);
    let mut count = MutantCount::default();
    let progress = ui.counter(format!("{}: mutant", suite.engine), all.len());
    for mutant in &all {
        progress.inc(1);
        count.tried += 1;
        let changed = mutant.apply(suite.configuration);
        let runner = Runner::new(table.changed(Arc::clone(&changed)), &changed, suite.keys);
        if is_noticed(mutant, &runner, suite, &hits) {
            count.noticed += 1;
            continue;
        }
        match mutant.survived(
            [suite.configuration, &changed],
            [&table, runner.table()],
            &candidates,
        ) {
            Survivor::Equivalent => count.equivalent += 1,
            _ if breaks_a_property(&changed, suite) => count.noticed += 1,
            Survivor::Different(candidate) => {
                count.survived += 1;
                problems.push(survivor(mutant, Some(candidate), suite.engine, opened));
            }
            Survivor::Unknown => {
                count.unknown += 1;
                problems.push(survivor(mutant, None, suite.engine, opened));
            }
        }
    }
    progress.finish_and_clear();
    let counted = count.tried - count.equivalent;
    count.score = (counted > 0).then(|| {
        let share = 100.0 * count.noticed as f64 / counted as f64;
        (share * 10.0).floor() / 10.0
    });
    if let Some(wanted) = fail_under.filter(|wanted| count.is_under(*wanted)) {
        let engine = suite.engine.name();
        problems.push(too_little(match count.score {
            Some(score) => {
                format!(
                    "the tests notice {score} % of the mutants on {engine}, less than --fail-under {wanted}"
                )
            }
            None => format!("{engine} has no mutant that --fail-under could count"),
        }));
    }
    count
}

/// The cases that match a rule, by its position.
fn hits(table: &RoutingTable, suite: &Suite<'_>) -> HashMap<usize, Vec<usize>> {
    let runner = Runner::new(
        table.changed(Arc::clone(suite.configuration)),
        suite.configuration,
        suite.keys,
    );
    let mut hits: HashMap<usize, Vec<usize>> = HashMap::new();
    for (number, case) in suite.cases.iter().enumerate() {
        let _holds = runner.run_seen(case, |_, _, decision| {
            for &hit in &decision.hits {
                let cases = hits.entry(hit as usize).or_default();
                if cases.last() != Some(&number) {
                    cases.push(number);
                }
            }
        });
    }
    hits
}

/// Whether a case fails; those that match the changed rules first, and no others where they are decided as before.
fn is_noticed(
    mutant: &Mutant,
    runner: &Runner<'_>,
    suite: &Suite<'_>,
    hits: &HashMap<usize, Vec<usize>>,
) -> bool {
    let fails = |case: &Case<'_>| !runner.run(case).is_empty();
    match mutant.concerns(suite.configuration) {
        Some(positions) => positions
            .iter()
            .filter_map(|position| hits.get(position))
            .flatten()
            .any(|&case| fails(&suite.cases[case])),
        None => suite.cases.iter().any(fails),
    }
}

fn breaks_a_property(changed: &Arc<Configuration>, suite: &Suite<'_>) -> bool {
    if suite.properties.is_empty() {
        return false;
    }
    let prover = Prover::new(changed, suite.keys.clone());
    let mut properties = suite.properties.iter();
    properties.any(|property| matches!(prover.answer(&asked(property)), Answer::Refuted(_)))
}

fn survivor(
    mutant: &Mutant,
    candidate: Option<SessionStatement>,
    engine: EngineId,
    opened: &Opened,
) -> Diagnostic {
    let message = format!("no test notices when {} ({})", mutant.what, engine.name());
    let diagnostic = Diagnostic::warning(SURVIVED, message).rule_ids(mutant.rule_ids.iter().copied());
    let diagnostic = at_object(diagnostic, mutant.address.as_str(), opened);
    let Some(SessionStatement { user, schema, query }) = candidate else {
        return diagnostic.proof(Proof::Possible);
    };
    let schema = schema.unwrap_or_default();
    diagnostic
        .proof(Proof::Witnessed)
        .witness(Witness { user, schema, query })
        .help("a test with this statement would notice")
}
