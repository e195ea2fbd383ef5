//! Recorded traffic through two configurations: what would go elsewhere, and what the record cannot tell.
//!
//! Each statement is taken for itself, outside of a transaction. A record of digests has neither comments nor literals:
//! where a decision depends on them, the statement counts as undecided rather than as one that stays.

mod dependence;
mod read;

use std::collections::BTreeMap;
use std::sync::Arc;

use shardwright_routing::RoutingTable;
use shardwright_rules::{Configuration, Decision, Outcome, SessionView, Statement};
use shardwright_sql::LexMode;

use crate::visits::ChainPositions;
use dependence::dependence;

pub use read::{Format, MAX_STATEMENT_BYTES, ReadError, Unread, detect, read};

/// What a record says of statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'r> {
    /// The user, where it tells one.
    pub user: Option<&'r str>,
    /// The session's schema.
    pub schema: Option<&'r str>,
    /// The client's address.
    pub client: Option<&'r str>,
    /// The statement, or its digest text.
    pub text: &'r [u8],
    /// Where the text is a digest: its hash, if it is told.
    pub digest: Option<Option<u64>>,
    /// How often it came.
    pub count: u64,
}

/// What becomes of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Destination {
    /// It is sent to a hostgroup.
    Hostgroup(u32),
    /// The client gets this error.
    Refused(u16),
    /// The proxy answers.
    Answered,
    /// The user cannot log in.
    NoLogin,
}

impl Destination {
    fn of(decision: &Decision) -> Self {
        match &decision.outcome {
            Outcome::Route(route) => Self::Hostgroup(route.hostgroup.0),
            Outcome::Reject(rejection) => Self::Refused(rejection.code),
            Outcome::Answer { .. } | Outcome::DeferBegin => Self::Answered,
        }
    }

    /// For people: `shop writer (hostgroup 10)`.
    #[must_use]
    pub fn name(self, configuration: &Configuration) -> String {
        match self {
            Self::Hostgroup(id) => {
                let id = shardwright_rules::HostgroupId(id);
                match configuration.cluster_of(id) {
                    Some(cluster) => {
                        let role = if cluster.writer == id { "writer" } else { "reader" };
                        format!("{} {role} (hostgroup {id})", cluster.name)
                    }
                    None => format!("hostgroup {id}"),
                }
            }
            Self::Refused(code) => format!("refused with error {code}"),
            Self::Answered => "answered by the proxy".to_owned(),
            Self::NoLogin => "no such user".to_owned(),
        }
    }
}

/// Statements of one sort.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// How many.
    pub statements: u64,
    /// The shortest of them.
    pub example: Vec<u8>,
    /// The user who sent it.
    pub user: String,
}

impl Share {
    fn add(&mut self, count: u64, user: &str, text: &[u8]) {
        if self.statements == 0 || text.len() < self.example.len() {
            text.clone_into(&mut self.example);
            user.clone_into(&mut self.user);
        }
        self.statements = self.statements.saturating_add(count);
    }
}

/// What a record says about two configurations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moves {
    /// All statements.
    pub statements: u64,
    /// Those that go the same way.
    pub same: u64,
    /// Those that go to the same place with another text, schema or effect.
    pub altered: Share,
    /// Those that go elsewhere, by where they went and where they would go.
    pub moved: BTreeMap<(Destination, Destination), Share>,
    /// Those of which the record does not tell, by the reason.
    pub undecided: BTreeMap<String, Share>,
}

impl Moves {
    /// How many go elsewhere.
    #[must_use]
    pub fn moved_statements(&self) -> u64 {
        self.moved.values().map(|share| share.statements).sum()
    }

    /// How many are undecided.
    #[must_use]
    pub fn undecided_statements(&self) -> u64 {
        self.undecided.values().map(|share| share.statements).sum()
    }
}

/// What is taken where the record tells nothing.
#[derive(Clone, Debug, Default)]
pub struct Assumed {
    /// The user.
    pub user: Option<String>,
    /// The schema; the user's when absent.
    pub schema: Option<String>,
}

struct Side {
    configuration: Arc<Configuration>,
    table: RoutingTable,
    chains: ChainPositions,
}

impl Side {
    fn new(configuration: Arc<Configuration>) -> Self {
        Self {
            table: RoutingTable::new(Arc::clone(&configuration)),
            chains: ChainPositions::of(&configuration),
            configuration,
        }
    }

    fn knows(&self, user: &str) -> bool {
        // A set of rules without users is for everyone.
        self.configuration.users.is_empty() || self.configuration.user(user).is_some()
    }

    fn session<'s>(&'s self, record: &Record<'s>, user: &'s str, assumed: &'s Assumed) -> SessionView<'s> {
        let own = || {
            self.configuration
                .user(user)
                .and_then(|user| user.default_schema.as_deref())
        };
        SessionView {
            user,
            schema: record.schema.or(assumed.schema.as_deref()).or_else(own),
            client_addr: record.client,
            ..SessionView::default()
        }
    }
}

/// Two configurations and what was recorded so far.
pub struct Comparison {
    sides: [Side; 2],
    assumed: Assumed,
    moves: Moves,
}

impl Comparison {
    /// Prepares both; `assumed` stands in for what a record does not tell.
    #[must_use]
    pub fn new(left: Arc<Configuration>, right: Arc<Configuration>, assumed: Assumed) -> Self {
        Self {
            sides: [Side::new(left), Side::new(right)],
            assumed,
            moves: Moves::default(),
        }
    }

    /// What was found.
    #[must_use]
    pub fn into_moves(self) -> Moves {
        self.moves
    }

    /// Counts a record.
    pub fn add(&mut self, record: &Record<'_>) {
        self.moves.statements = self.moves.statements.saturating_add(record.count);
        let assumed = self.assumed.user.clone();
        let Some(user) = record.user.or(assumed.as_deref()) else {
            return self.undecided("the record does not tell the user: give --user", record, "");
        };
        let known = [0, 1].map(|side: usize| self.sides[side].knows(user));
        match known {
            [true, true] => {}
            [false, false] => {
                return self.undecided("neither side has the user", record, user);
            }
            [left, _] => {
                let place = self.place_of_one(record, user, if left { 0 } else { 1 });
                let way = if left {
                    (place, Destination::NoLogin)
                } else {
                    (Destination::NoLogin, place)
                };
                return self
                    .moves
                    .moved
                    .entry(way)
                    .or_default()
                    .add(record.count, user, record.text);
            }
        }
        match record.digest {
            Some(hash) => self.add_digest(record, user, hash),
            None => self.add_statement(record, user),
        }
    }

    fn place_of_one(&self, record: &Record<'_>, user: &str, side: usize) -> Destination {
        let side = &self.sides[side];
        let statement = Statement::new(record.text, LexMode::default());
        Destination::of(
            &side
                .table
                .decide(&side.session(record, user, &self.assumed), &statement),
        )
    }

    fn add_statement(&mut self, record: &Record<'_>, user: &str) {
        let statement = Statement::new(record.text, LexMode::default());
        let [left, right] = &self.sides;
        let decisions = [
            left.table
                .decide(&left.session(record, user, &self.assumed), &statement),
            right
                .table
                .decide(&right.session(record, user, &self.assumed), &statement),
        ];
        self.count(record, user, &decisions);
    }

    fn add_digest(&mut self, record: &Record<'_>, user: &str, hash: Option<u64>) {
        let statement = Statement::new(record.text, LexMode::default());
        let faithful = hash.is_none_or(|hash| hash == statement.digest_hash());
        let mut reason = None;
        let decisions = [0, 1].map(|side: usize| {
            let side = &self.sides[side];
            let session = side.session(record, user, &self.assumed);
            let decision = side.table.explain(&session, &statement);
            if reason.is_none() {
                reason = dependence(
                    &side.table,
                    &side.chains,
                    &session,
                    &statement,
                    &decision,
                    faithful,
                );
            }
            decision
        });
        match reason {
            Some(reason) => self.undecided(&reason, record, user),
            None => self.count(record, user, &decisions),
        }
    }

    fn count(&mut self, record: &Record<'_>, user: &str, decisions: &[Decision; 2]) {
        let [left, right] = decisions;
        let places = (Destination::of(left), Destination::of(right));
        if places.0 != places.1 {
            let share = self.moves.moved.entry(places).or_default();
            return share.add(record.count, user, record.text);
        }
        let sent_alike = match (&left.outcome, &right.outcome) {
            (Outcome::Route(a), Outcome::Route(b)) => {
                a.rewritten == b.rewritten && a.backend_schema == b.backend_schema && a.effects == b.effects
            }
            _ => true,
        };
        if sent_alike {
            self.moves.same = self.moves.same.saturating_add(record.count);
        } else {
            self.moves.altered.add(record.count, user, record.text);
        }
    }

    fn undecided(&mut self, reason: &str, record: &Record<'_>, user: &str) {
        if !self.moves.undecided.contains_key(reason) {
            self.moves.undecided.insert(reason.to_owned(), Share::default());
        }
        if let Some(share) = self.moves.undecided.get_mut(reason) {
            share.add(record.count, user, record.text);
        }
    }
}
