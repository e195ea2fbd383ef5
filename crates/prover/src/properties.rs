//! Properties: what must hold for every statement of a domain, proved over the rules, refuted by a statement, or
//! left undecided.
//!
//! A property is about *plain* statements of sessions outside of transactions: one statement in a text, without line
//! comments, executable comments, or the engine's annotations, and none that ProxySQL answers by itself (`SET NAMES`,
//! `USE`, COMMIT without a transaction). A proof follows the rules with sets of statements, larger
//! where a condition is not decided ([`outcomes`]); a counter-example is one that the evaluator was run on.

mod claim;
mod native;
mod outcome;
mod outcomes;
mod starts;
mod state;
mod statements;

use std::sync::Arc;

use shardwright_routing::RoutingTable;
use shardwright_rules::decide::RulePatterns;
use shardwright_rules::{Configuration, Decision, Evaluator, SessionView, StatementKind};

use crate::KeyedShards;
use crate::expectation::{Expected, Mismatch};
use crate::session::{USUAL_CLIENT, USUAL_LISTENER};
use outcome::PossibleOutcome;
use outcomes::OutcomeSearch;
use starts::Starts;

pub use claim::shard_of;

/// Which statements a property is about; an empty list is no limit.
#[derive(Clone, Debug, Default)]
pub struct Domain<'t> {
    /// Names of users; every configured one where empty.
    pub users: Vec<&'t str>,
    /// Schemas that sessions are in.
    pub schemas: Vec<&'t str>,
    /// Kinds of statements.
    pub statements: Vec<StatementKind>,
    /// Only those that a shard of this map places.
    pub map: Option<&'t str>,
}

/// What must hold.
#[derive(Clone, Debug)]
pub enum Claim<'t> {
    /// This, of each statement. Where no outcome is asked for, it is about those that are sent; of the fields, `query`,
    /// `error`, `answer` and `rule` are not looked at.
    Each(Box<Expected<'t>>),
    /// Statements of two shards of the domain's map never go to one place: one cluster and one schema.
    Disjoint,
}

/// A domain with a claim.
#[derive(Clone, Debug)]
pub struct Property<'t> {
    /// Which statements.
    pub domain: Domain<'t>,
    /// What must hold of them.
    pub claim: Claim<'t>,
}

/// What became of a property.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// It holds for every statement of the domain.
    Proved,
    /// It does not: these statements show it, one, or two that should not meet.
    Refuted(Box<CounterExample>),
    /// Neither: no statement that was tried breaks it.
    Undecided {
        /// What the proof failed at.
        reason: String,
        /// Statements that were tried.
        checked: usize,
    },
}

/// Statements that break a property.
#[derive(Clone, Debug, PartialEq)]
pub struct CounterExample {
    /// The statements, as the evaluator decides them.
    pub statements: Vec<DecidedStatement>,
    /// What does not hold; empty where two statements meet.
    pub mismatches: Vec<Mismatch>,
}

/// A statement of a session, and what becomes of it.
#[derive(Clone, Debug, PartialEq)]
pub struct DecidedStatement {
    /// Who sends it.
    pub user: String,
    /// The session's schema.
    pub schema: Option<String>,
    /// The statement.
    pub query: String,
    /// What becomes of it, with its path.
    pub decision: Decision,
}

/// A statement of a session that is tried.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SessionStatement {
    /// Who sends it.
    pub user: String,
    /// The session's schema.
    pub schema: Option<String>,
    /// The statement.
    pub query: String,
}

impl SessionStatement {
    /// Its session, as the evaluator takes it.
    #[must_use]
    pub fn view(&self) -> SessionView<'_> {
        SessionView {
            user: &self.user,
            schema: self.schema.as_deref(),
            client_addr: Some(USUAL_CLIENT),
            listener: Some(USUAL_LISTENER),
            ..SessionView::default()
        }
    }
}

/// Decides the properties of one configuration.
#[derive(Debug)]
pub struct Prover<'c> {
    configuration: &'c Configuration,
    table: RoutingTable,
    evaluator: Evaluator,
    patterns: Vec<RulePatterns>,
    starts: Starts,
    keys: KeyedShards,
}

impl<'c> Prover<'c> {
    /// Prepares a configuration. Statements that are tried take their keys from `keys`, which also tell the shard where a
    /// rule decides several.
    #[must_use]
    pub fn new(configuration: &'c Arc<Configuration>, keys: KeyedShards) -> Self {
        Self {
            table: RoutingTable::new(Arc::clone(configuration)),
            evaluator: Evaluator::new(Arc::clone(configuration)),
            patterns: RulePatterns::of(configuration),
            starts: Starts::default(),
            configuration,
            keys,
        }
    }

    /// Statements of every kind and user that are worth trying on this configuration.
    #[must_use]
    pub fn candidates(&self) -> Vec<SessionStatement> {
        self.tried(&Domain::default(), &[])
    }

    /// Whether the property holds.
    #[must_use]
    pub fn answer(&self, property: &Property<'_>) -> Answer {
        let search = OutcomeSearch {
            configuration: self.configuration,
            patterns: &self.patterns,
            starts: &self.starts,
        };
        let outcomes = search.outcomes(&property.domain);
        let (reason, doubtful) = match &outcomes {
            Err(reason) => (reason.clone(), Vec::new()),
            Ok(outcomes) => match self.objection(property, outcomes) {
                None => return Answer::Proved,
                Some(objection) => objection,
            },
        };
        let tried = self.tried(&property.domain, &doubtful);
        match self.refuted(property, &tried) {
            Some(example) => Answer::Refuted(Box::new(example)),
            None => Answer::Undecided {
                reason,
                checked: tried.len(),
            },
        }
    }

    /// Why the outcomes do not prove the property, and the outcomes that are in doubt.
    fn objection<'e>(
        &self,
        property: &Property<'_>,
        outcomes: &'e [PossibleOutcome],
    ) -> Option<(String, Vec<&'e PossibleOutcome>)> {
        match &property.claim {
            Claim::Each(expected) => {
                let doubtful: Vec<&PossibleOutcome> = outcomes
                    .iter()
                    .filter(|outcome| {
                        !claim::mismatches_of_outcome(self.configuration, expected, outcome).is_empty()
                    })
                    .collect();
                let first = doubtful.first()?;
                let reason = format!(
                    "the rules do not exclude that {} is {}",
                    first.statement(),
                    first.became(self.configuration)
                );
                Some((reason, doubtful))
            }
            Claim::Disjoint => claim::meeting(self.configuration, outcomes).map(|(one, other)| {
                let shards = if one == other {
                    format!("{} and of a shard that shares its rule", one.shard_name())
                } else {
                    format!("{} and {}", one.shard_name(), other.shard_name())
                };
                let reason =
                    format!("the rules do not exclude that statements of {shards} meet in one place");
                (reason, vec![one, other])
            }),
        }
    }
}
