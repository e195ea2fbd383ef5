//! Whether two configurations route every statement of every session alike.
//!
//! Both rule graphs become decision graphs in which equal parts are one node, whatever their ids and flags are called.
//! Where both are at the same node with the same effects, nothing behind it can differ; only what is left is explored, and
//! only statements that the solver finds for a place where the outcomes differ, and that both evaluators route
//! differently, count as a difference.

mod ends;
mod explore;
mod flags;
mod graph;
mod path;
mod rows;
mod state;
mod step_keys;
mod steps;
mod surroundings;
mod users;

use std::collections::BTreeSet;

use shardwright_rules::{Configuration, Decision, Outcome, SessionView};

use crate::example::Example;
use crate::lookup::Lookup;
use crate::session::Session;
use explore::Explorer;

/// Differences that are shown; there may be more.
const MOST_SHOWN: usize = 8;

/// What is known about two configurations.
#[derive(Clone, Debug, PartialEq)]
pub enum Equivalence {
    /// Every session's statements go the same way on both, and find the same schema there. What a refusal says is not
    /// compared, nor is what does not route: servers, limits, passwords, comments.
    Proved,
    /// These statements do not.
    Refuted {
        /// The shortest first; never empty, at most eight.
        differences: Vec<Difference>,
        /// Constructs that hide whether there are more.
        undecided: Vec<String>,
    },
    /// No difference was found, and these constructs keep it from being proved that there is none.
    Undecided {
        /// For people, sorted; never empty.
        constructs: Vec<String>,
    },
}

/// A statement that goes different ways; both evaluators were run on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The session.
    pub session: ComparedSession,
    /// The statement.
    pub statement: Vec<u8>,
    /// What the first configuration decides; `None` if the user cannot log in there.
    pub left: Option<Decision>,
    /// What the second one decides.
    pub right: Option<Decision>,
}

/// A session of a difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComparedSession {
    /// Name that the client logged in with.
    pub user: String,
    /// Its schema on each side: one and the same, but where the client names none and the user's is another.
    pub schemas: [Option<String>; 2],
    /// Address of the client.
    pub client_addr: String,
    /// Address and port of the listener.
    pub listener: (String, u16),
    /// The flag that an earlier statement's `next_query_flagIN` left; 0: none.
    pub flag: u32,
    /// The hostgroup of an open transaction.
    pub transaction: Option<u32>,
}

impl ComparedSession {
    /// As the evaluator of the first or the second configuration takes it.
    pub fn view(&self, side: usize) -> SessionView<'_> {
        SessionView {
            user: &self.user,
            schema: self.schemas[side].as_deref(),
            client_addr: Some(&self.client_addr),
            listener: Some((&self.listener.0, self.listener.1)),
            next_query_flag_in: (self.flag != 0).then_some(self.flag),
            transaction: self.transaction.map(|hostgroup| shardwright_rules::Transaction {
                hostgroup: shardwright_rules::HostgroupId(hostgroup),
            }),
            ..SessionView::default()
        }
    }
}

impl From<Session> for ComparedSession {
    fn from(session: Session) -> Self {
        Self {
            user: session.user,
            schemas: [session.schema.clone(), session.schema],
            client_addr: session.client_addr,
            listener: session.listener,
            flag: session.flag,
            transaction: None,
        }
    }
}

/// Compares two configurations, of one engine or of two.
///
/// Statements are those of users who can log in; where neither configuration names users, of anybody. `Proved` needs that
/// every place where the outcomes differ was shown to be out of every statement's reach; weighted jumps, steps of the
/// bundled engine that differ, and two engines that read annotations or transactions differently are undecided unless a
/// statement shows a difference.
///
/// The time grows with the parts that differ: equal chains are compared by one number.
#[must_use]
pub fn equivalence(left: &Configuration, right: &Configuration) -> Equivalence {
    let [left, right] = flags::without_idle([left, right]);
    let lookups = [Lookup::of(&left), Lookup::of(&right)];
    let pair = Pair { lookups: &lookups };
    let mut comparison = Comparison::default();
    let of_users = users::compare(&pair, &mut comparison);
    let mut explorer = Explorer::new(&pair);
    for group in of_users.groups {
        explorer.explore(&group, &mut comparison);
    }
    steps::compare_engines(&pair, &mut comparison);
    surroundings::compare(&pair, &mut comparison);
    comparison.into_answer()
}

/// Whether two outcomes are the same for the client and for the servers.
#[must_use]
pub fn alike(left: &Outcome, right: &Outcome) -> bool {
    match (left, right) {
        (Outcome::Route(a), Outcome::Route(b)) => {
            a.hostgroup == b.hostgroup
                && a.rewritten == b.rewritten
                && a.backend_schema == b.backend_schema
                && a.effects == b.effects
                && a.locks == b.locks
        }
        (Outcome::Reject(a), Outcome::Reject(b)) => a.code == b.code,
        (Outcome::Answer { message: a }, Outcome::Answer { message: b }) => a == b,
        // Of a text that rules made, the outcome does not tell which it is.
        (
            Outcome::Own { answer: a, rewritten },
            Outcome::Own {
                answer: b,
                rewritten: other,
            },
        ) => a == b && !rewritten && !other,
        // An engine that answers a statement and one that sends it as it is do the same.
        (Outcome::Own { rewritten, .. }, Outcome::Route(route))
        | (Outcome::Route(route), Outcome::Own { rewritten, .. }) => {
            !rewritten && route.rewritten.is_none() && !route.locks
        }
        (Outcome::DeferBegin, Outcome::DeferBegin) => true,
        _ => false,
    }
}

/// Both configurations.
struct Pair<'p, 'c> {
    lookups: &'p [Lookup<'c>; 2],
}

impl<'c> Pair<'_, 'c> {
    fn configuration(&self, side: usize) -> &'c Configuration {
        self.lookups[side].of_configuration()
    }

    /// The statement as a difference, if it is one.
    fn difference(&self, session: &ComparedSession, text: &[u8]) -> Option<Difference> {
        let [left, right] = self.decisions(session, text);
        (!alike(&left.outcome, &right.outcome)).then(|| shown(session, text, [left, right]))
    }

    /// What both decide of a statement, whether it is the same or not.
    fn decided(&self, session: &ComparedSession, text: &[u8]) -> Difference {
        shown(session, text, self.decisions(session, text))
    }

    fn decisions(&self, session: &ComparedSession, text: &[u8]) -> [Decision; 2] {
        [0, 1].map(|side| self.lookups[side].decide(&session.view(side), text))
    }

    fn difference_of(&self, example: &Example) -> Option<Difference> {
        self.difference(&example.session.clone().into(), &example.text)
    }
}

fn shown(session: &ComparedSession, text: &[u8], [left, right]: [Decision; 2]) -> Difference {
    Difference {
        session: session.clone(),
        statement: text.to_vec(),
        left: Some(left),
        right: Some(right),
    }
}

/// What has been found of two configurations so far.
#[derive(Default)]
struct Comparison {
    differences: Vec<Difference>,
    undecided: BTreeSet<String>,
}

impl Comparison {
    fn add(&mut self, difference: Difference) {
        let same = |known: &Difference| {
            known.statement == difference.statement && known.session == difference.session
        };
        if !self.differences.iter().any(same) {
            self.differences.push(difference);
        }
    }

    fn is_full(&self) -> bool {
        self.differences.len() >= MOST_SHOWN
    }

    fn into_answer(mut self) -> Equivalence {
        self.differences
            .sort_by(|a, b| (a.statement.len(), &a.statement).cmp(&(b.statement.len(), &b.statement)));
        self.differences.truncate(MOST_SHOWN);
        let undecided: Vec<String> = self.undecided.into_iter().collect();
        if !self.differences.is_empty() {
            return Equivalence::Refuted {
                differences: self.differences,
                undecided,
            };
        }
        if undecided.is_empty() {
            Equivalence::Proved
        } else {
            Equivalence::Undecided {
                constructs: undecided,
            }
        }
    }
}
