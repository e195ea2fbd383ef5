//! Two configurations, and the records that went through both.

use std::cell::OnceCell;
use std::sync::Arc;

use shardwright_routing::{Recollection, RoutingTable, alike_beside_rules, moved};
use shardwright_rules::decide::Index;
use shardwright_rules::{
    Besides, Chains, Configuration, Destination as Routed, Dispatch, Outcome, SentAs, SessionView, Statement,
};
use shardwright_sql::LexMode;

use super::alike::{Bodies, Possible, decides_alike};
use super::dependence::Digests;
use super::schemas::Candidates;
use super::{Assumed, Destination, Moves, Record, Recorded, Schema};

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
    candidates: Candidates,
    /// For digests: the rules of both sides, if nothing else differs.
    bodies: OnceCell<Option<Bodies>>,
    sender: Option<Sender>,
    moves: Moves,
}

/// What becomes of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Verdict {
    Same,
    Altered,
    Moved(Destination, Destination),
    Undecided(String),
}

impl Comparison {
    /// Prepares both; `assumed` stands in for what a record does not tell.
    #[must_use]
    pub fn new(left: Arc<Configuration>, right: Arc<Configuration>, assumed: Assumed) -> Self {
        let [of_left, of_right] = RoutingTable::pair(Arc::clone(&left), Arc::clone(&right));
        Self {
            moved: moved(&left, &right),
            candidates: Candidates::of([&left, &right]),
            bodies: OnceCell::new(),
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
            let why = "the record does not tell the user: give --user".to_owned();
            return self.count(record, "", Verdict::Undecided(why));
        };
        let verdict = match sender.known {
            [false, false] => Verdict::Undecided("neither side has the user".to_owned()),
            _ if self.is_all_alike() => Verdict::Same,
            _ => self.verdict(record, &sender),
        };
        self.count(record, &sender.user, verdict);
        self.sender = Some(sender);
    }

    /// Whether nothing that a decision depends on differs.
    fn is_all_alike(&self) -> bool {
        self.moved.as_ref().is_some_and(Vec::is_empty)
    }

    /// What becomes of a record in every schema that its session may be in.
    fn verdict(&self, record: &Record<'_>, sender: &Sender) -> Verdict {
        if let Schema::Is(name) = record.schema {
            return self.verdict_in(record, sender, Some(name));
        }
        let assumed = self.assumed.schema.as_deref();
        let Some(schemas) = self.candidates.of_record(record.schema, assumed) else {
            return Verdict::Undecided("the log does not tell the schema: give --schema".to_owned());
        };
        let mut verdicts = schemas
            .into_iter()
            .map(|schema| self.verdict_in(record, sender, schema));
        let first = verdicts.next().unwrap_or(Verdict::Same);
        if verdicts.all(|verdict| verdict == first) {
            first
        } else {
            Verdict::Undecided("the schema decides, and the log does not tell it".to_owned())
        }
    }

    fn verdict_in(&self, record: &Record<'_>, sender: &Sender, schema: Option<&str>) -> Verdict {
        match (sender.known, record.kind) {
            ([true, true], Recorded::Statement | Recorded::Execution) => {
                self.of_statement(record, sender, schema)
            }
            ([true, true], Recorded::Digest(hash)) => self.of_digest(record, sender, schema, hash),
            ([true, false], _) => Verdict::Moved(
                self.destination_of(record, sender, schema, 0),
                Destination::NoLogin,
            ),
            ([false, _], _) => Verdict::Moved(
                Destination::NoLogin,
                self.destination_of(record, sender, schema, 1),
            ),
        }
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

    fn session<'s>(
        &'s self,
        record: &Record<'s>,
        sender: &'s Sender,
        schema: Option<&'s str>,
        side: usize,
    ) -> SessionView<'s> {
        SessionView {
            user: &sender.user,
            schema: schema.or(sender.schemas[side].as_deref()),
            client_addr: record.client,
            ..SessionView::default()
        }
    }

    fn destination_of(
        &self,
        record: &Record<'_>,
        sender: &Sender,
        schema: Option<&str>,
        side: usize,
    ) -> Destination {
        let statement = Statement::new(record.text, LexMode::default());
        let session = self.session(record, sender, schema, side);
        let dispatch = self.sides[side].dispatch(&session, &statement, record.kind, &Recollection::default());
        Destination::of(&dispatch)
    }

    fn of_statement(&self, record: &Record<'_>, sender: &Sender, schema: Option<&str>) -> Verdict {
        // What the lexer knows of it serves both sides.
        let statement = Statement::new(record.text, LexMode::default());
        let recollection = Recollection::default();
        let of_side = |side: usize| {
            let session = self.session(record, sender, schema, side);
            self.sides[side].dispatch(&session, &statement, record.kind, &recollection)
        };
        let left = of_side(0);
        if record.kind == Recorded::Statement && self.meets_no_moved_rule(&left) {
            return Verdict::Same;
        }
        compare(&[left, of_side(1)])
    }

    /// Whether the right side decides alike because the statement matches no rule that differs ([`moved`]).
    fn meets_no_moved_rule(&self, left: &Dispatch) -> bool {
        let is_moved = |moved: &[u32]| left.hits.iter().any(|hit| moved.binary_search(hit).is_ok());
        self.moved.as_deref().is_some_and(|moved| !is_moved(moved))
    }

    fn of_digest(
        &self,
        record: &Record<'_>,
        sender: &Sender,
        schema: Option<&str>,
        hash: Option<u64>,
    ) -> Verdict {
        let statement = Statement::new(record.text, LexMode::default());
        // Where an engine makes no digests, no rule asks for one.
        let is_faithful = |table: &RoutingTable| match (hash, table.configuration().digests()) {
            (Some(hash), Some(options)) => hash == statement.digest_under(&options).hash,
            _ => true,
        };
        let sessions = [0, 1].map(|side: usize| self.session(record, sender, schema, side));
        let digests = [0, 1].map(|side: usize| Digests {
            table: &self.sides[side].table,
            session: &sessions[side],
            statement: &statement,
            is_faithful: is_faithful(&self.sides[side].table),
            guards: &self.assumed.guards,
        });
        let decisions = [0, 1].map(|side: usize| self.sides[side].table.explain(&sessions[side], &statement));
        let reason = [0, 1]
            .into_iter()
            .find_map(|side: usize| digests[side].dependence(&self.sides[side].chains, &decisions[side]));
        match reason {
            Some(_) if self.meets_the_same_rules(&digests) => Verdict::Same,
            Some(reason) => Verdict::Undecided(reason),
            None => compare(&decisions.map(Into::into)),
        }
    }

    /// Whether every statement with a digest meets the same rules on both sides, and nothing else differs.
    fn meets_the_same_rules(&self, digests: &[Digests<'_>; 2]) -> bool {
        let [left, right] = [0, 1].map(|side: usize| &*self.sides[side].configuration);
        let bodies = self.bodies.get_or_init(|| {
            alike_beside_rules(left, right)
                .then(|| Bodies::of([left, right]))
                .flatten()
        });
        let Some(bodies) = bodies else {
            return false;
        };
        let may_match = [0, 1].map(|side: usize| move |position| digests[side].may_match(position));
        let possible = [0, 1].map(|side: usize| Possible {
            configuration: &self.sides[side].configuration,
            chains: &self.sides[side].chains,
            may_match: &may_match[side],
        });
        decides_alike(bodies, [&possible[0], &possible[1]])
    }

    fn count(&mut self, record: &Record<'_>, user: &str, verdict: Verdict) {
        let group = match verdict {
            Verdict::Same => {
                self.moves.same = self.moves.same.saturating_add(record.count);
                return;
            }
            Verdict::Altered => &mut self.moves.altered,
            Verdict::Moved(from, to) => self.moves.moved.entry((from, to)).or_default(),
            Verdict::Undecided(why) => self.moves.undecided.entry(why).or_default(),
        };
        group.add(record.count, user, record.text);
    }
}

fn compare(decisions: &[Dispatch; 2]) -> Verdict {
    let [left, right] = decisions;
    let (from, to) = (Destination::of(left), Destination::of(right));
    if from != to {
        return Verdict::Moved(from, to);
    }
    match (&left.outcome, &right.outcome) {
        (Outcome::Route(a), Outcome::Route(b)) => {
            let (a, b) = (a.besides(), b.besides());
            let is_same = a.rewritten == b.rewritten && a.backend_schema == b.backend_schema;
            if is_same && a.effects == b.effects {
                Verdict::Same
            } else {
                Verdict::Altered
            }
        }
        _ => Verdict::Same,
    }
}
