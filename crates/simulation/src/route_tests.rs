//! Route tests: statements of a session, run through the routing table, against what was expected of them.

mod compare;
pub mod coverage;
pub mod mutants;

use shardwright_routing::RoutingTable;
use shardwright_rules::{Configuration, Decision, SessionView, Statement};

use crate::session::Simulated;
use crate::step::Step;
use shardwright_prover::KeyedShards;
use shardwright_prover::expectation::Mismatch;

/// Statements that one session sends, in order.
#[derive(Clone, Debug)]
pub struct Case<'t> {
    /// The statements.
    pub steps: Vec<Step<'t>>,
}

/// A statement of which something else became than was expected.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// Its place in the case.
    pub step: usize,
    /// The session's schema when it was sent.
    pub schema: Option<String>,
    /// The statement that was decided; of an execution, as the engine has kept it.
    pub statement: Vec<u8>,
    /// What does not hold; at least one.
    pub mismatches: Vec<Mismatch>,
    /// What became of it, with its path.
    pub decision: Decision,
}

/// Runs the cases of one configuration.
#[derive(Debug)]
pub struct Runner<'c> {
    table: RoutingTable,
    configuration: &'c Configuration,
    keys: &'c KeyedShards,
}

impl<'c> Runner<'c> {
    /// Prepares a configuration; `table` is built from the same one. `keys` tell the shard where a rule decides several.
    #[must_use]
    pub fn new(table: RoutingTable, configuration: &'c Configuration, keys: &'c KeyedShards) -> Self {
        Self {
            table,
            configuration,
            keys,
        }
    }

    /// What decides.
    #[must_use]
    pub fn table(&self) -> &RoutingTable {
        &self.table
    }

    /// What does not hold in a case; the session goes on behind a failure as it would for a client.
    #[must_use]
    pub fn run(&self, case: &Case<'_>) -> Vec<Failure> {
        self.run_with(
            case,
            |session, statement| self.table.decide(session, statement),
            |_, _, _| {},
        )
    }

    /// As [`Runner::run`], and shows every statement with its decision, paths and all.
    #[must_use]
    pub fn run_seen(
        &self,
        case: &Case<'_>,
        see: impl FnMut(&SessionView<'_>, &Statement<'_>, &Decision),
    ) -> Vec<Failure> {
        self.run_with(
            case,
            |session, statement| self.table.explain(session, statement),
            see,
        )
    }

    fn run_with(
        &self,
        case: &Case<'_>,
        decide: impl Fn(&SessionView<'_>, &Statement<'_>) -> Decision,
        mut see: impl FnMut(&SessionView<'_>, &Statement<'_>, &Decision),
    ) -> Vec<Failure> {
        let mut failures = Vec::new();
        let mut session = Simulated::of(self.configuration);
        for (position, step) in case.steps.iter().enumerate() {
            session.turn_to(step, self.configuration);
            let text = session.text(step);
            let statement = step.command.statement(text.as_deref().unwrap_or_default());
            let decision = match &text {
                Ok(_) => decide(&session.view(step), &statement),
                Err(refused) => refused.decision(),
            };
            see(&session.view(step), &statement, &decision);
            let mismatches = self.mismatches(step, &session, &statement, &decision);
            if !mismatches.is_empty() {
                failures.push(Failure {
                    step: position,
                    schema: session.schema.clone(),
                    statement: statement.text().to_vec(),
                    mismatches,
                    decision: self.explained(step, &session, &statement),
                });
            }
            session.after(self.configuration, step.command, &statement, &decision.outcome);
        }
        failures
    }

    /// The decision about a step, with its path.
    fn explained(&self, step: &Step<'_>, session: &Simulated, statement: &Statement<'_>) -> Decision {
        match session.text(step) {
            Ok(_) => self.table.explain(&session.view(step), statement),
            Err(refused) => refused.decision(),
        }
    }
}
