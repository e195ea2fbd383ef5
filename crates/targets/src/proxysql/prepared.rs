//! Prepared statements that clients hold, and whose execution the rules that are live after changes would answer: ProxySQL
//! 2.7.1 frees the packet of such an execution twice, and ends (decision 16).
//!
//! An execution is decided by the schema that its session is in then, by the address of its client and by the listener. None
//! of these is kept with the statement, so each that a session of the user has now is asked about.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use shardwright_plan::{Hazard, Severity};
use shardwright_rules::tables::QUERY_RULES;
use shardwright_rules::{
    Address, Body, Configuration, EngineId, EngineRule, Evaluator, Outcome, SentAs, SessionView, Statement,
};

use super::change::Change;
use super::changes::address_of;
use super::hazards::{codes, hazard};
use super::live::Live;
use super::module::Module;
use super::row::{KeyPart, RowName, TableName};
use super::rule_sets::{Around, Beside, RuleSet, rule_set};
use super::run::modules;
use super::session::{AdminSession, SessionError};

/// How often it is asked whether clients have gone.
const BETWEEN: Duration = Duration::from_millis(200);

const HELD: &str = "SELECT username, schemaname, ref_count_client, query FROM stats_mysql_prepared_statements_info \
                    WHERE ref_count_client > 0";
const SESSIONS: &str =
    "SELECT DISTINCT user, db, cli_host FROM stats_mysql_processlist WHERE user IS NOT NULL";

/// What a load of can make executions be refused.
const REFUSING: [Module; 3] = [Module::MysqlVariables, Module::QueryRules, Module::Firewall];

/// Changes about to go live on what is there.
#[derive(Clone, Copy)]
pub(super) struct GoingLive<'a> {
    pub(super) changes: &'a [Change],
    /// What memory holds.
    pub(super) live: &'a Live,
    pub(super) engine: EngineId,
}

impl GoingLive<'_> {
    /// Waits until no client holds a statement whose execution would be refused, at most so long; what is said of those that are
    /// held even then. It is asked at least once.
    pub(super) fn still_refused(
        self,
        session: &mut AdminSession,
        patience: Duration,
    ) -> Result<Option<Hazard>, SessionError> {
        let begun = Instant::now();
        let mut after = None;
        loop {
            let held = self.refused_by(session, &mut after)?;
            let left = patience.saturating_sub(begun.elapsed());
            if held.is_none() || left.is_zero() {
                return Ok(held);
            }
            thread::sleep(BETWEEN.min(left));
        }
    }

    /// What is said of the statements that are held now; `None`: nothing new would end the engine.
    pub(super) fn refused(self, session: &mut AdminSession) -> Result<Option<Hazard>, SessionError> {
        self.refused_by(session, &mut None)
    }

    /// `after`: the rules that will be live, which are read when the first statement is held.
    fn refused_by(
        self,
        session: &mut AdminSession,
        after: &mut Option<After>,
    ) -> Result<Option<Hazard>, SessionError> {
        if modules(self.changes).is_disjoint(&BTreeSet::from(REFUSING)) {
            return Ok(None);
        }
        let held = held(session)?;
        if held.is_empty() {
            return Ok(None);
        }
        let after = match after {
            Some(after) => after,
            None => {
                let beside = Beside::read(session, self.changes)?;
                let rows = Around::of(self.live, &beside, self.changes).after;
                after.insert(After::new(rule_set(&rows, self.engine)))
            }
        };
        if let Some(reason) = &after.unreadable {
            return Ok(Some(unreadable(reason)));
        }
        let sessions = sessions(session)?;
        let mut found = Refused::default();
        for statement in &held {
            if let Some(rule) = after.refuses(statement, sessions.get(&statement.user)) {
                found.add(statement, rule);
            }
        }
        Ok(found.hazard(|id| self.address(id)))
    }

    /// The object that a rule is of which will be live.
    fn address(self, id: u32) -> Option<Address> {
        let name = RowName {
            table: TableName::of(&QUERY_RULES),
            key: vec![KeyPart::Number(id.into())],
        };
        let change = self.changes.iter().find(|change| change.name == name);
        match change {
            Some(change) => Some(change.address.clone()),
            None => self.live.row(&name).map(|row| address_of(&name, row)),
        }
    }
}

/// A statement that clients hold.
struct Held {
    user: String,
    /// Of its preparation.
    schema: String,
    query: String,
    /// How many hold it.
    clients: u64,
}

fn held(session: &mut AdminSession) -> Result<Vec<Held>, SessionError> {
    let rows = session.texts(HELD)?.into_iter();
    let held = rows.filter_map(|row| {
        let [Some(user), Some(schema), Some(count), Some(query)] = <[_; 4]>::try_from(row).ok()? else {
            return None;
        };
        Some(Held {
            user,
            schema,
            query,
            clients: count.parse().unwrap_or(1),
        })
    });
    Ok(held.collect())
}

/// What the sessions of a user are in now.
#[derive(Default)]
struct Sessions {
    schemas: BTreeSet<String>,
    addresses: BTreeSet<String>,
}

/// By user.
fn sessions(session: &mut AdminSession) -> Result<BTreeMap<String, Sessions>, SessionError> {
    let mut sessions: BTreeMap<String, Sessions> = BTreeMap::new();
    for row in session.texts(SESSIONS)? {
        if let [Some(user), schema, address] = row.as_slice() {
            let of_user = sessions.entry(user.clone()).or_default();
            of_user.schemas.extend(schema.clone());
            of_user.addresses.extend(address.clone());
        }
    }
    Ok(sessions)
}

/// The rules that are live afterwards.
struct After {
    evaluator: Evaluator,
    configuration: Arc<Configuration>,
    unreadable: Option<String>,
    /// Whether a rule asks for the address of the client.
    asks_for_address: bool,
    /// Listeners, where a rule asks for one.
    listeners: Vec<(String, u16)>,
    /// Flags that a statement may leave to the next one of its session.
    flags: BTreeSet<u32>,
}

impl After {
    fn new(rules: RuleSet) -> Self {
        // A refusal by a hostgroup does not end the engine.
        let configuration = Arc::new(Configuration {
            refusing: Vec::new(),
            ..Arc::unwrap_or_clone(rules.configuration)
        });
        let rows = || {
            let rules = configuration.graph.rules.iter();
            rules.filter_map(|rule| match &rule.body {
                Body::Engine(row) => Some(&**row),
                Body::Native { .. } => None,
            })
        };
        let asks_for_listener = |row: &EngineRule| row.proxy_addr.is_some() || row.proxy_port.is_some();
        let listeners = configuration.listeners.iter();
        let listeners = listeners.map(|listener| (listener.bind.clone(), listener.port));
        Self {
            evaluator: Evaluator::new(configuration.clone()),
            unreadable: rules.unreadable,
            asks_for_address: rows().any(|row| row.client_addr.is_some()),
            listeners: match rows().any(asks_for_listener) {
                true => listeners.collect(),
                false => Vec::new(),
            },
            flags: rows().filter_map(|row| row.next_query_flag_in).collect(),
            configuration,
        }
    }

    /// The rule, if one says why, by which an execution of the statement would be refused in some session of its user.
    fn refuses(&self, held: &Held, sessions: Option<&Sessions>) -> Option<Option<u32>> {
        let statement = Statement::new(held.query.as_bytes(), Default::default()).sent_as(SentAs::Execute);
        let of_user = sessions.map(|sessions| &sessions.schemas).into_iter().flatten();
        let schemas: BTreeSet<&str> = of_user
            .map(String::as_str)
            .chain([held.schema.as_str()])
            .collect();
        // An address or a listener that is not known passes most conditions on it.
        let addresses = sessions.map(|sessions| &sessions.addresses).into_iter().flatten();
        let addresses = addresses.filter(|_| self.asks_for_address);
        let addresses: Vec<Option<&str>> = [None]
            .into_iter()
            .chain(addresses.map(|one| Some(&**one)))
            .collect();
        let listeners = self
            .listeners
            .iter()
            .map(|(address, port)| Some((&**address, *port)));
        let listeners: Vec<Option<(&str, u16)>> = [None].into_iter().chain(listeners).collect();
        let flags: Vec<Option<u32>> = [None]
            .into_iter()
            .chain(self.flags.iter().copied().map(Some))
            .collect();
        for schema in schemas {
            for &client_addr in &addresses {
                for &listener in &listeners {
                    for &next_query_flag_in in &flags {
                        let session = SessionView {
                            user: &held.user,
                            schema: Some(schema),
                            client_addr,
                            listener,
                            next_query_flag_in,
                            ..SessionView::default()
                        };
                        if let Some(rule) = self.refusal(&session, &statement) {
                            return Some(rule);
                        }
                    }
                }
            }
        }
        None
    }

    fn refusal(&self, session: &SessionView<'_>, statement: &Statement<'_>) -> Option<Option<u32>> {
        let decision = self.evaluator.decide(session, statement);
        if !matches!(decision.outcome, Outcome::Reject(_) | Outcome::Answer { .. }) {
            return None;
        }
        let last = decision.hits.last();
        let rule = last.and_then(|at| self.configuration.graph.rules.get(*at as usize));
        Some(rule.map(|rule| rule.id))
    }
}

/// The statements that would be refused.
#[derive(Default)]
struct Refused {
    statements: usize,
    clients: u64,
    /// A user of one of them, and the rule.
    first: Option<(String, Option<u32>)>,
}

impl Refused {
    fn add(&mut self, held: &Held, rule: Option<u32>) {
        self.statements += 1;
        self.clients += held.clients;
        self.first.get_or_insert_with(|| (held.user.clone(), rule));
    }

    fn hazard(self, address: impl Fn(u32) -> Option<Address>) -> Option<Hazard> {
        let (user, rule) = self.first?;
        let (them, prepared) = match self.statements {
            1 => ("it", "1 prepared statement".to_owned()),
            many => ("them", format!("{many} prepared statements")),
        };
        let clients = self.clients;
        let message = format!(
            "clients hold {prepared}, {clients} times, that the new rules would refuse when {them} is executed (user {user}, for \
             one), and ProxySQL 2.7 ends by that: refuse by hostgroup (docs/rules/SW243.md), or apply with --drain SECONDS, which waits until these clients have gone"
        );
        Some(hazard(
            codes::PREPARED,
            Severity::Error,
            rule.and_then(address).as_ref(),
            message,
        ))
    }
}

/// What rules do with the statements cannot be told.
fn unreadable(reason: &str) -> Hazard {
    let message = format!(
        "clients hold prepared statements, and whether the new rules would refuse them is not known, because a row cannot be \
         read: {reason}; set it right by hand, or apply with --drain SECONDS, which waits until these clients have gone"
    );
    hazard(codes::PREPARED, Severity::Error, None, message)
}
