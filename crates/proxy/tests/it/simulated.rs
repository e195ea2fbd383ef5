//! The session that `route` and `test` simulate, held to the session of a running proxy.
//!
//! Both decide a statement in the state that the statements before it left. The proxy learns that state from the answers
//! of its servers; the simulation from the statements alone, which it takes to succeed. So the same scripts are sent to
//! both, and each statement must end in the same place: at the same hostgroup, refused with the same error, or answered
//! by the proxy.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use mysql::Conn;
use mysql::prelude::Queryable;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use shardwright_rules::{
    Body, Configuration, EngineRule, Hostgroup, HostgroupId, NativeStep, Outcome, ReadSelection, Role,
    RoleStep, Rule, Scope, SentAs, Statement,
};
use shardwright_simulation::script::{ScriptSession, Sent, commands, send};
use shardwright_sql::StatementClass;
use shardwright_testkit::text_rows;

use crate::support::{
    Setup, TestProxy, USER, configuration, map_alone, member, rule, schema, server, start,
    tenants_by_comment, write_secret,
};

/// Scripts of each configuration, unless `PROPTEST_CASES` asks for another number.
const SCRIPTS: u32 = 100;
const LONGEST: usize = 14;
/// The error of a session that cannot go where a statement belongs.
const HELD_ELSEWHERE: u16 = 9006;
/// The error of a number that nothing was prepared under.
const UNKNOWN_HANDLER: u16 = 1243;

/// What a session can begin, end, set and keep, and statements whose place depends on it.
const STATEMENTS: &[&str] = &[
    "BEGIN",
    "START TRANSACTION",
    "COMMIT",
    "COMMIT AND CHAIN",
    "COMMIT AND NO CHAIN",
    "ROLLBACK",
    "ROLLBACK WORK",
    "SAVEPOINT s",
    "SET autocommit=0",
    "SET autocommit=1",
    "SET autocommit=OFF, @y=2",
    "SET NAMES utf8mb4",
    "SET time_zone='+00:00'",
    "SET @x=1",
    "SELECT @x",
    "SELECT 1",
    "SHOW VARIABLES LIKE 'version'",
    "DO 1",
    "USE sim_1",
    "USE sim_2",
    "USE sim",
    "/* tenant=1 */ SELECT who FROM t",
    "/* tenant=2 */ SELECT who FROM t",
    "/* tenant=1 */ SELECT who FROM t FOR UPDATE",
    "/* tenant=1 */ SELECT who, @x FROM t",
    "/* tenant=1 */ INSERT INTO log VALUES (1)",
    "/* tenant=2 */ INSERT INTO log VALUES (2)",
    "/* tenant=1 */ CREATE TEMPORARY TABLE IF NOT EXISTS own (a INT)",
    "/* tenant=1 */ CREATE TABLE IF NOT EXISTS made (a INT)",
    "/* tenant=1 */ SELECT GET_LOCK('sim', 0) FROM t",
    "/* tenant=1 */ PREPARE p FROM 'SELECT 1'",
    "SELECT who FROM t",
    "/* flag */ SELECT who FROM t",
    "/* home */ SELECT who FROM t",
    "COM_STMT_PREPARE one FROM /* tenant=1 */ SELECT who FROM t",
    "COM_STMT_PREPARE two FROM /* tenant=2 */ INSERT INTO log VALUES (2)",
    "COM_STMT_EXECUTE one",
    "COM_STMT_EXECUTE two",
];

/// Scripts that once ended in different places.
const ONCE_DIFFERENT: &[&[&str]] = &[
    // AND CHAIN begins a transaction where none was open.
    &["COMMIT AND CHAIN", "BEGIN"],
    &[
        "BEGIN",
        "COMMIT AND CHAIN NO RELEASE",
        "/* tenant=1 */ SELECT who FROM t",
    ],
    // With autocommit=0, what looks at no table opens no transaction.
    &["SET autocommit=0", "SAVEPOINT s", "BEGIN"],
    &[
        "SET autocommit=0",
        "USE sim_1",
        "/* tenant=1 */ PREPARE p FROM 'SELECT 1'",
        "BEGIN",
    ],
    &[
        "SET autocommit=OFF, @y=2",
        "/* tenant=1 */ CREATE TEMPORARY TABLE IF NOT EXISTS own (a INT)",
        "USE sim_2",
        "BEGIN",
    ],
    // Turning autocommit on ends a transaction that no server has begun yet.
    &["BEGIN", "SET autocommit=OFF, @y=2", "SET autocommit=1", "COMMIT"],
    // What prepares a text sets no variable.
    &[
        "/* tenant=1 */ PREPARE p FROM 'SELECT 1'",
        "USE sim_2",
        "SELECT @x",
    ],
];

/// The tests share the schemas that the statements name.
static SCHEMAS: Mutex<()> = Mutex::new(());

/// A script that can be sent: nothing is executed that was not prepared. The client prepares a text once, and a temporary
/// table is made once: asking for it again looks at a table, which only the server knows. A variable that no text has
/// assigned is not read after a write, whose triggers only the server knows.
fn sendable(script: Vec<&'static str>) -> Vec<&'static str> {
    let mut kept: Vec<&str> = Vec::new();
    for text in script {
        let prepared = |name: &str| {
            let prepared = format!("COM_STMT_PREPARE {name} ");
            kept.iter().any(|text| text.starts_with(&prepared))
        };
        let reads = text == "SELECT @x" || text.contains(", @x");
        let is_hidden = reads && !kept.contains(&"SET @x=1");
        let has_written = kept.iter().any(|text| text.contains("INSERT"));
        let is_sendable = !(is_hidden && has_written)
            && match text.strip_prefix("COM_STMT_EXECUTE ") {
                Some(name) => prepared(name),
                None => {
                    !(text.contains("TEMPORARY") || text.contains("COM_STMT_PREPARE"))
                        || !kept.contains(&text)
                }
            };
        if is_sendable {
            kept.push(text);
        }
    }
    kept
}

/// Where a statement ended.
#[derive(Clone, Debug, PartialEq)]
enum Place {
    /// Sent to a hostgroup.
    Hostgroup(u32),
    /// Answered without a server.
    Here,
    /// Refused, with this code.
    Refused(u16),
    /// A server of a hostgroup gave an error.
    Failed(u32),
}

/// The hostgroups of `a` and `b` with a reader each, on the same server.
fn with_readers(configuration: &mut Configuration) {
    for (position, (name, writer)) in [("a", 10), ("b", 20)].into_iter().enumerate() {
        let reader = HostgroupId(writer + 1);
        configuration.clusters[position].reader = Some(reader);
        configuration.hostgroups.push(Hostgroup {
            id: reader,
            cluster: format!("clusters.{name}").into(),
            role: Role::Reader,
            members: vec![member(name, server().port(), 20)],
        });
    }
    configuration.hostgroups.sort_by_key(|hostgroup| hostgroup.id);
}

fn step(id: u32, step: NativeStep) -> Rule {
    Rule {
        id,
        address: format!("steps.s{id}").into(),
        shards: Vec::new(),
        summary: None,
        flag_in: 0,
        body: Body::Native {
            scope: Box::new(Scope::default()),
            step,
        },
    }
}

fn reads(after_write_ms: u32, causal: bool) -> NativeStep {
    NativeStep::Role(Box::new(RoleStep {
        reads: ReadSelection::All,
        writer_hint: None,
        after_write_ms,
        causal,
        session_functions_on_readers: false,
    }))
}

/// Tenants by a comment, transactions that wait for their key, and reads on readers.
fn by_key(configuration: &mut Configuration, after_write_ms: u32, causal: bool) {
    with_readers(configuration);
    configuration.graph.rules = map_alone(tenants_by_comment("sim"));
    configuration
        .graph
        .rules
        .push(step(2000, reads(after_write_ms, causal)));
}

/// Rules that ask for the schema and the flag, and leave a flag to the next statement.
fn by_flag(configuration: &mut Configuration) {
    with_readers(configuration);
    let row = |pattern: &str| EngineRule {
        match_pattern: Some(pattern.to_owned()),
        apply: true,
        ..EngineRule::default()
    };
    let flagged = |id, flag_in, row| Rule {
        flag_in,
        ..rule(id, row)
    };
    configuration.graph.rules = vec![
        rule(
            10,
            EngineRule {
                next_query_flag_in: Some(5),
                destination_hostgroup: Some(10),
                ..row("/. flag ./")
            },
        ),
        rule(
            20,
            EngineRule {
                schemaname: Some("sim_2".to_owned()),
                destination_hostgroup: Some(20),
                apply: true,
                ..EngineRule::default()
            },
        ),
        step(30, reads(0, true)),
        flagged(
            40,
            5,
            EngineRule {
                next_query_flag_in: Some(0),
                destination_hostgroup: Some(10),
                ..row("/. home ./")
            },
        ),
        flagged(
            50,
            5,
            EngineRule {
                destination_hostgroup: Some(20),
                apply: true,
                ..EngineRule::default()
            },
        ),
    ];
}

fn proxy(change: fn(&mut Configuration)) -> (TestProxy, Arc<Configuration>) {
    let setup = Setup {
        configuration: Box::new(change),
        ..Setup::default()
    };
    let proxy = start(&setup);
    let configuration = configuration(&setup, &write_secret(&proxy.directory));
    (proxy, Arc::new(configuration))
}

/// Statements that each hostgroup has run.
fn queries(admin: &mut Conn) -> BTreeMap<u32, u64> {
    let rows = text_rows(
        admin,
        "SELECT hostgroup, Queries FROM stats_mysql_connection_pool",
    )
    .unwrap();
    let number = |cell: &Option<String>| cell.as_deref().unwrap().parse::<u64>().unwrap();
    let rows = rows.iter();
    rows.map(|row| (u32::try_from(number(&row[0])).unwrap(), number(&row[1])))
        .collect()
}

/// A client with what it has prepared, by name.
struct Client {
    connection: Conn,
    prepared: BTreeMap<String, mysql::Statement>,
}

impl Client {
    /// Preparing was refused.
    fn has_no_handle_for(&self, text: &str) -> bool {
        text.strip_prefix("COM_STMT_EXECUTE ")
            .is_some_and(|name| !self.prepared.contains_key(name))
    }

    fn send(&mut self, text: &str) -> mysql::Result<()> {
        if let Some((name, query)) = text
            .strip_prefix("COM_STMT_PREPARE ")
            .and_then(|rest| rest.split_once(" FROM "))
        {
            let statement = self.connection.prep(query)?;
            self.prepared.insert(name.to_owned(), statement);
            return Ok(());
        }
        match text.strip_prefix("COM_STMT_EXECUTE ") {
            Some(name) => self.connection.exec_drop(&self.prepared[name], ()),
            None => self.connection.query_drop(text),
        }
    }
}

/// Sends a statement; the hostgroup is the one whose statements are more than those in `counts`.
fn ran(
    client: &mut Client,
    admin: &mut Conn,
    counts: &mut BTreeMap<u32, u64>,
    text: &str,
) -> (Place, String) {
    let answer = client.send(text);
    let after = queries(admin);
    let before = std::mem::replace(counts, after.clone());
    let grown: Vec<u32> = after
        .iter()
        .filter(|(id, count)| before[id] < **count)
        .map(|(id, _)| *id)
        .collect();
    match (answer, grown.as_slice()) {
        (Ok(()), [hostgroup]) => (Place::Hostgroup(*hostgroup), String::new()),
        (Ok(()), []) => (Place::Here, String::new()),
        (Err(mysql::Error::MySqlError(error)), []) => (Place::Refused(error.code), error.message),
        (Err(mysql::Error::MySqlError(error)), [hostgroup]) => (Place::Failed(*hostgroup), error.message),
        other => panic!("{text}: {other:?}"),
    }
}

/// The hostgroup that a refusal says the statement belongs to.
fn belongs(message: &str) -> Option<u32> {
    let (_, rest) = message.split_once("this statement belongs to hostgroup ")?;
    rest.split(';').next()?.parse().ok()
}

fn simulated(sent: &Sent) -> Place {
    match &sent.decision.outcome {
        Outcome::Route(route) => Place::Hostgroup(route.hostgroup.0),
        Outcome::Reject(rejection) => Place::Refused(rejection.code),
        Outcome::Answer { .. } | Outcome::Own { .. } | Outcome::DeferBegin => Place::Here,
    }
}

/// The proxy keeps what it can hand on itself, wherever it was routed, and counts no preparation.
fn is_unseen(sent: &Sent) -> bool {
    let statement = Statement::new(&sent.statement, Default::default());
    let is_kept = matches!(statement.shape().class, StatementClass::Use | StatementClass::Set);
    is_kept || sent.sent_as == SentAs::Prepare
}

fn check(
    proxy: &TestProxy,
    configuration: &Arc<Configuration>,
    script: &[&str],
) -> Result<(), TestCaseError> {
    let texts: Vec<&[u8]> = script.iter().map(|text| text.as_bytes()).collect();
    let session = ScriptSession {
        user: USER,
        schema: Some("sim"),
        ..ScriptSession::default()
    };
    let sent = send(configuration, &session, &commands(&texts).unwrap());
    let mut client = Client {
        connection: proxy.connect(Some("sim")),
        prepared: BTreeMap::new(),
    };
    let mut admin = proxy.admin();
    let mut counts = queries(&mut admin);
    let said = |at: usize, message: &str| format!("statement {at} of {script:#?}: {message}");
    for (at, (sent, text)) in sent.iter().zip(script).enumerate() {
        let expected = simulated(sent);
        if client.has_no_handle_for(text) {
            prop_assert_eq!(&expected, &Place::Refused(UNKNOWN_HANDLER), "{}", said(at, ""));
            continue;
        }
        let (place, message) = ran(&mut client, &mut admin, &mut counts, text);
        if place == Place::Here && is_unseen(sent) && matches!(expected, Place::Hostgroup(_)) {
            continue;
        }
        // The simulation takes statements to succeed: it has nothing to say of what follows.
        let ended = match place {
            Place::Failed(hostgroup) => Some(Place::Hostgroup(hostgroup)),
            // Where the session keeps what the statement would miss, the proxy refuses to leave it.
            Place::Refused(HELD_ELSEWHERE) => belongs(&message).map(Place::Hostgroup),
            _ => None,
        };
        if let Some(ended) = ended {
            prop_assert_eq!(&ended, &expected, "{}", said(at, &message));
            return Ok(());
        }
        prop_assert_eq!(&place, &expected, "{}", said(at, &message));
    }
    Ok(())
}

fn agree(change: fn(&mut Configuration)) {
    for name in ["sim", "sim_1", "sim_2"] {
        schema(name);
        server()
            .run(format!(
                "CREATE TABLE {name}.t (who INT); INSERT INTO {name}.t VALUES (1); CREATE TABLE {name}.log (a INT)"
            ))
            .unwrap();
    }
    let (proxy, configuration) = proxy(change);
    for script in ONCE_DIFFERENT {
        check(&proxy, &configuration, script).unwrap_or_else(|failure| panic!("{failure}"));
    }
    let cases = std::env::var("PROPTEST_CASES")
        .ok()
        .and_then(|cases| cases.parse().ok());
    let config = Config {
        cases: cases.unwrap_or(SCRIPTS),
        failure_persistence: None,
        ..Config::default()
    };
    let scripts = prop::collection::vec(prop::sample::select(STATEMENTS), 1..LONGEST).prop_map(sendable);
    TestRunner::new(config)
        .run(&scripts, |script| check(&proxy, &configuration, &script))
        .unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn sessions_with_keys_are_simulated_as_they_are() {
    let _schemas = SCHEMAS.lock().unwrap_or_else(PoisonError::into_inner);
    agree(|configuration| by_key(configuration, 0, false));
}

#[test]
fn sessions_that_read_what_they_wrote_are_simulated_as_they_are() {
    let _schemas = SCHEMAS.lock().unwrap_or_else(PoisonError::into_inner);
    agree(|configuration| by_key(configuration, 3_600_000, false));
}

/// A server that has executed the writes has them: reads stay on the readers that they are routed to.
#[test]
fn sessions_that_read_their_writes_on_readers_are_simulated_as_they_are() {
    let _schemas = SCHEMAS.lock().unwrap_or_else(PoisonError::into_inner);
    agree(|configuration| by_key(configuration, 0, true));
}

#[test]
fn sessions_with_flags_are_simulated_as_they_are() {
    let _schemas = SCHEMAS.lock().unwrap_or_else(PoisonError::into_inner);
    agree(by_flag);
}
