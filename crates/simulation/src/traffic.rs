//! Recorded traffic through two configurations: what would go elsewhere, and what the record cannot tell.
//!
//! Each statement is taken for itself, outside of a transaction. A record of digests has neither comments nor literals:
//! where a decision depends on them, the statement counts as undecided rather than as one that stays.

mod dependence;
mod read;

use std::collections::BTreeMap;
use std::sync::Arc;

use shardwright_routing::{Recollection, RoutingTable, moved};
use shardwright_rules::decide::Index;
use shardwright_rules::{
    Besides, Chains, Configuration, Destination as Routed, Dispatch, HostgroupId, Outcome, SentAs,
    SessionView, Statement,
};
use shardwright_sql::LexMode;

use dependence::dependence;

pub use read::{Format, ReadError, Unread, detect, read};

/// What a record says of statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'r> {
    /// The user, where it tells one.
    pub user: Option<&'r str>,
    /// The session's schema.
    pub schema: Option<&'r str>,
    /// The client's address.
    pub client: Option<&'r str>,
    /// The statement.
    pub text: &'r [u8],
    /// What of it the text is.
    pub kind: Recorded,
    /// How often it came.
    pub count: u64,
}

/// What the text of a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// The statement as it was sent.
    Statement,
    /// The prepared statement that was executed, with its question marks.
    Execution,
    /// Without what its literals and comments were: a digest text with its hash, if it is recorded, or an execution of
    /// which the log has not what was prepared.
    Digest(Option<u64>),
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
    fn of(decision: &Dispatch) -> Self {
        match &decision.outcome {
            Outcome::Route(route) => Self::Hostgroup(route.hostgroup.0),
            Outcome::Reject(rejection) => Self::Refused(rejection.code),
            Outcome::Answer { .. } | Outcome::Own { .. } | Outcome::DeferBegin => Self::Answered,
        }
    }

    /// For people: `shop writer (hostgroup 10)`.
    #[must_use]
    pub fn name(self, configuration: &Configuration) -> String {
        match self {
            Self::Hostgroup(id) => configuration.hostgroup_name(HostgroupId(id)),
            Self::Refused(code) => format!("refused with error {code}"),
            Self::Answered => "answered by the proxy".to_owned(),
            Self::NoLogin => "no such user".to_owned(),
        }
    }
}

/// Statements of one sort.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatementGroup {
    /// How many.
    pub statements: u64,
    /// The shortest of them.
    pub example: Vec<u8>,
    /// The user who sent it.
    pub user: String,
}

impl StatementGroup {
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
    pub altered: StatementGroup,
    /// Those that go elsewhere, by where they went and where they would go.
    pub moved: BTreeMap<(Destination, Destination), StatementGroup>,
    /// Those of which the record does not tell, by the reason.
    pub undecided: BTreeMap<String, StatementGroup>,
}

impl Moves {
    /// How many go elsewhere.
    #[must_use]
    pub fn moved_statements(&self) -> u64 {
        self.moved.values().map(|group| group.statements).sum()
    }

    /// How many are undecided.
    #[must_use]
    pub fn undecided_statements(&self) -> u64 {
        self.undecided.values().map(|group| group.statements).sum()
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
    chains: Chains,
}

impl Side {
    fn new(configuration: Arc<Configuration>, table: RoutingTable) -> Self {
        Self {
            table,
            chains: Chains::of(&configuration.graph.rules),
            configuration,
        }
    }

    /// Whether the user can log in; a set of rules without users is for everyone.
    fn knows(&self, user: &str) -> bool {
        self.configuration.users.is_empty() || self.configuration.user(user).is_some()
    }

    /// Where a statement goes; an execution after it was prepared, and as what the engine made of it then.
    /// `recollection` is of the statement as it was recorded.
    fn dispatch<'s>(
        &'s self,
        session: &SessionView<'_>,
        statement: &Statement<'_>,
        kind: Recorded,
        recollection: &Recollection<'s>,
    ) -> Dispatch {
        if kind != Recorded::Execution {
            return self.table.dispatch_recalling(session, statement, recollection);
        }
        let sent_as = |text, sent_as| Statement::new(text, LexMode::default()).sent_as(sent_as);
        let prepare = sent_as(statement.text(), SentAs::Prepare);
        let prepared = self.table.dispatch_recalling(session, &prepare, recollection);
        let Outcome::Route(route) = &prepared.outcome else {
            return prepared;
        };
        let engine = &self.configuration.engine.profile().prepared;
        let kept = engine.kept(route.besides().rewritten.as_deref());
        let text = kept.unwrap_or(statement.text());
        let mut executed = self.table.dispatch(session, &sent_as(text, SentAs::Execute));
        if let (Outcome::Route(route), Some(text)) = (&mut executed.outcome, kept) {
            let besides = Besides {
                rewritten: Some(text.to_vec()),
                ..route.besides().clone()
            };
            *route = Routed::new(route.hostgroup, route.is_on_shard, besides);
        }
        executed
    }

    fn own_schema(&self, user: &str) -> Option<Arc<str>> {
        self.configuration.default_schema(user).map(Arc::from)
    }
}

/// A user of the record, looked up once for all statements that follow each other.
#[derive(Clone, Debug)]
struct Sender {
    user: Arc<str>,
    /// Whether each side has the user.
    known: [bool; 2],
    /// The schema that each side gives to sessions of the user.
    schemas: [Option<Arc<str>>; 2],
}

/// Two configurations and what was recorded so far.
pub struct Comparison {
    sides: [Side; 2],
    /// The rules that name other hostgroups, where nothing else differs.
    moved: Option<Vec<u32>>,
    assumed: Assumed,
    sender: Option<Sender>,
    moves: Moves,
}

impl Comparison {
    /// Prepares both; `assumed` stands in for what a record does not tell.
    #[must_use]
    pub fn new(left: Arc<Configuration>, right: Arc<Configuration>, assumed: Assumed) -> Self {
        let [of_left, of_right] = RoutingTable::pair(Arc::clone(&left), Arc::clone(&right));
        Self {
            moved: moved(&left, &right),
            sides: [Side::new(left, of_left), Side::new(right, of_right)],
            assumed,
            sender: None,
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
        let Some(sender) = self.sender_of(record) else {
            return self.undecided("the record does not tell the user: give --user", record, "");
        };
        match (sender.known, record.kind) {
            ([true, true], Recorded::Statement | Recorded::Execution) => self.add_statement(record, &sender),
            ([true, true], Recorded::Digest(hash)) => self.add_digest(record, &sender, hash),
            ([false, false], _) => self.undecided("neither side has the user", record, &sender.user),
            ([left, _], _) => {
                let destination = self.destination_of(record, &sender, usize::from(!left));
                let destinations = match left {
                    true => (destination, Destination::NoLogin),
                    false => (Destination::NoLogin, destination),
                };
                let group = self.moves.moved.entry(destinations).or_default();
                group.add(record.count, &sender.user, record.text);
            }
        }
        self.sender = Some(sender);
    }

    /// The user of a record; taken out for its time, so that counting can go on beside it.
    fn sender_of(&mut self, record: &Record<'_>) -> Option<Sender> {
        let user = record.user.or(self.assumed.user.as_deref())?;
        let same = |sender: &Sender| *sender.user == *user;
        if let Some(sender) = self.sender.take_if(|sender| same(sender)) {
            return Some(sender);
        }
        let user: Arc<str> = Arc::from(user);
        Some(Sender {
            known: [0, 1].map(|side: usize| self.sides[side].knows(&user)),
            schemas: [0, 1].map(|side: usize| self.sides[side].own_schema(&user)),
            user,
        })
    }

    fn session<'s>(&'s self, record: &Record<'s>, sender: &'s Sender, side: usize) -> SessionView<'s> {
        let own = sender.schemas[side].as_deref();
        SessionView {
            user: &sender.user,
            schema: record.schema.or(self.assumed.schema.as_deref()).or(own),
            client_addr: record.client,
            ..SessionView::default()
        }
    }

    fn destination_of(&self, record: &Record<'_>, sender: &Sender, side: usize) -> Destination {
        let statement = Statement::new(record.text, LexMode::default());
        let session = self.session(record, sender, side);
        let dispatch = self.sides[side].dispatch(&session, &statement, record.kind, &Recollection::default());
        Destination::of(&dispatch)
    }

    fn add_statement(&mut self, record: &Record<'_>, sender: &Sender) {
        // What the lexer knows of it serves both sides.
        let statement = Statement::new(record.text, LexMode::default());
        match self.decisions(record, sender, &statement) {
            Some(decisions) => self.count(record, &sender.user, &decisions),
            None => self.moves.same = self.moves.same.saturating_add(record.count),
        }
    }

    /// What both sides make of a statement; none where they are known to make the same of it.
    fn decisions(
        &self,
        record: &Record<'_>,
        sender: &Sender,
        statement: &Statement<'_>,
    ) -> Option<[Dispatch; 2]> {
        let recollection = Recollection::default();
        let of_side = |side: usize| {
            let session = self.session(record, sender, side);
            self.sides[side].dispatch(&session, statement, record.kind, &recollection)
        };
        let left = of_side(0);
        let is_same = record.kind == Recorded::Statement && self.meets_no_moved_rule(&left);
        (!is_same).then(|| [left, of_side(1)])
    }

    /// Whether the right side decides alike because the statement matches no rule that differs ([`moved`]).
    fn meets_no_moved_rule(&self, left: &Dispatch) -> bool {
        let is_moved = |moved: &[u32]| left.hits.iter().any(|hit| moved.binary_search(hit).is_ok());
        self.moved.as_deref().is_some_and(|moved| !is_moved(moved))
    }

    fn add_digest(&mut self, record: &Record<'_>, sender: &Sender, hash: Option<u64>) {
        let statement = Statement::new(record.text, LexMode::default());
        // Where an engine makes no digests, no rule asks for one.
        let faithful = |table: &RoutingTable| match (hash, table.configuration().digests()) {
            (Some(hash), Some(options)) => hash == statement.digest_under(&options).hash,
            _ => true,
        };
        let mut reason = None;
        let decisions = [0, 1].map(|side: usize| {
            let session = self.session(record, sender, side);
            let side = &self.sides[side];
            let decision = side.table.explain(&session, &statement);
            if reason.is_none() {
                reason = dependence(
                    &side.table,
                    &side.chains,
                    &session,
                    &statement,
                    &decision,
                    faithful(&side.table),
                );
            }
            decision.into()
        });
        match reason {
            Some(reason) => self.undecided(&reason, record, &sender.user),
            None => self.count(record, &sender.user, &decisions),
        }
    }

    fn count(&mut self, record: &Record<'_>, user: &str, decisions: &[Dispatch; 2]) {
        let [left, right] = decisions;
        let places = (Destination::of(left), Destination::of(right));
        if places.0 != places.1 {
            let group = self.moves.moved.entry(places).or_default();
            return group.add(record.count, user, record.text);
        }
        let sent_alike = match (&left.outcome, &right.outcome) {
            (Outcome::Route(a), Outcome::Route(b)) => {
                let (a, b) = (a.besides(), b.besides());
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
            self.moves
                .undecided
                .insert(reason.to_owned(), StatementGroup::default());
        }
        if let Some(group) = self.moves.undecided.get_mut(reason) {
            group.add(record.count, user, record.text);
        }
    }
}
