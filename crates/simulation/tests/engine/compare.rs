//! One session, sent to the engine and to the evaluator, and where they differ.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;

use shardwright_diagnostics::Sources;
use shardwright_import::Language;
use shardwright_routing::RoutingTable;
use shardwright_rules::{Configuration, Decision, EngineId, Evaluator, Outcome};
use shardwright_simulation::route_tests::{Case, Runner};
use shardwright_simulation::supposed::Supposed;
use shardwright_simulation::{Command, Step};
use shardwright_testkit::{ClientOptions, EngineClient, Handle, ProxySqlOptions, Reply, Rig, real_proxysql};

/// Every hostgroup that rules, users and annotations of the suite name has a server.
pub(crate) const HOSTGROUPS: std::ops::Range<u32> = 0..9;
/// The users of every rule set.
pub(crate) const USERS: [&str; 2] = ["app", "batch"];

/// A command of a session.
#[derive(Clone, Debug)]
pub(crate) enum Said {
    Query(String),
    Prepare(String),
    /// Executes the prepared statement of this number.
    Execute(usize),
    /// COM_INIT_DB.
    InitDb(String),
}

/// A client's session.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    pub(crate) user: String,
    pub(crate) schema: Option<String>,
    pub(crate) client: Ipv4Addr,
    pub(crate) listener: usize,
    pub(crate) said: Vec<Said>,
}

impl Session {
    /// Of a client of this machine.
    pub(crate) fn of(user: &str, schema: Option<&str>, listener: usize, said: Vec<Said>) -> Self {
        Self {
            user: user.to_owned(),
            schema: schema.map(str::to_owned),
            client: Ipv4Addr::LOCALHOST,
            listener,
            said,
        }
    }

    fn connect(&self, rig: &Rig) -> mysql::Result<EngineClient> {
        let login = ClientOptions {
            user: &self.user,
            schema: self.schema.as_deref(),
            ..ClientOptions::default()
        };
        rig.client_at(self.client, self.listener, login)
    }
}

/// The engine of the suite, or `None` where there is none; two listeners.
pub(crate) fn rig(what: &str, threads: u32) -> Option<Rig> {
    let binary = real_proxysql(what)?;
    let options = ProxySqlOptions {
        threads,
        listeners: 2,
        ..ProxySqlOptions::default()
    };
    Some(Rig::start(&binary, &options, HOSTGROUPS, &USERS).unwrap())
}

/// What the statements for the admin port mean to this program, with the listeners of the engine.
pub(crate) fn configuration(rig: &Rig, statements: &[String]) -> Arc<Configuration> {
    let text: String = statements.iter().map(|one| format!("{one};\n")).collect();
    let mut sources = Sources::default();
    let read = shardwright_import::read(
        &mut sources,
        "rules.sql",
        text.as_bytes(),
        Language::Sql,
        EngineId::Proxysql27,
    );
    assert!(!read.problems.has_errors(), "{text}\n{:?}", read.problems);
    let mut configuration = read.configuration;
    configuration.listeners = (0_u32..)
        .zip(rig.proxysql().addresses())
        .map(|(number, address)| {
            let name = format!("l{number}");
            let place = shardwright_rules::Address::new(format!("listeners.{name}"));
            shardwright_rules::Listener::on_port(&name, place, &address.ip().to_string(), address.port())
        })
        .collect();
    Arc::new(configuration)
}

/// What became of a command, as much as both can tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Became {
    Sent {
        hostgroup: u32,
        text: Option<String>,
        schema: Option<String>,
    },
    Refused(u16, String),
    Ok(String),
    Answered,
    /// Preparing was answered; by whom the engine does not say.
    Prepared,
    Lost(String),
}

/// A session's differences, human-readable; empty where there are none. `hits` counts what the evaluator says.
pub(crate) fn differences(
    rig: &Rig,
    configuration: &Arc<Configuration>,
    session: &Session,
    hits: &mut BTreeMap<u32, u64>,
) -> Vec<String> {
    let expected = expected(configuration, session);
    let mut client = match session.connect(rig) {
        Ok(client) => client,
        Err(error) => return vec![format!("no login: {error}")],
    };
    let mut handles = Vec::new();
    let mut found = Vec::new();
    for (at, (said, expected)) in session.said.iter().zip(&expected).enumerate() {
        let Some((expected, matched)) = expected else {
            // COM_INIT_DB is no statement to rules.
            if let Said::InitDb(schema) = said {
                client.init_db(schema);
            }
            continue;
        };
        if is_gap(expected, said) {
            break;
        }
        for id in matched {
            *hits.entry(*id).or_default() += 1;
        }
        let got = sent(rig, &mut client, &mut handles, said);
        if !is_same(expected, &got) {
            found.push(format!("command {at} {said:?}\n  evaluator {expected:?}\n  engine    {got:?}\n  session   {session:?}"));
            // What follows depends on it.
            break;
        }
        // The flag of a rule counts although its statement was refused; the simulated session does not know it.
        if is_of_lock(expected) {
            break;
        }
    }
    found
}

/// Refused because the session is locked on another hostgroup.
fn is_of_lock(became: &Became) -> bool {
    matches!(became, Became::Refused(9006, _))
}

/// What 2.7.1 does not do: an EXECUTE that is refused because of a lock ends it, and one of a text that rules have rewritten
/// to nothing sends what its memory holds.
fn is_gap(expected: &Became, said: &Said) -> bool {
    let is_nothing = matches!(expected, Became::Sent { text: Some(text), .. } if text.is_empty());
    matches!(said, Said::Execute(_)) && (is_of_lock(expected) || is_nothing)
}

/// The session up to the first command that such a gap keeps from being compared.
pub(crate) fn until_gap(configuration: &Arc<Configuration>, session: &Session) -> Session {
    let expected = expected(configuration, session);
    let mut both = expected.iter().zip(&session.said);
    let ends = |(expected, said): (&Option<Expected>, &Said)| {
        let became = expected.as_ref().map(|(became, _)| became);
        became.is_some_and(|became| is_of_lock(became) || is_gap(became, said))
    };
    let end = both.position(ends).unwrap_or(session.said.len());
    Session {
        said: session.said[..end].to_vec(),
        ..session.clone()
    }
}

/// What the engine makes of each command of a session.
pub(crate) fn answers(rig: &Rig, session: &Session) -> mysql::Result<Vec<Became>> {
    let mut client = session.connect(rig)?;
    let mut handles = Vec::new();
    let said = session.said.iter();
    Ok(said
        .map(|said| sent(rig, &mut client, &mut handles, said))
        .collect())
}

fn sent(rig: &Rig, client: &mut EngineClient, handles: &mut Vec<Option<Handle>>, said: &Said) -> Became {
    drop(rig.servers().take_arrivals());
    let reply = match said {
        Said::Query(sql) => client.query(sql),
        Said::InitDb(schema) => client.init_db(schema),
        Said::Prepare(sql) => {
            let (handle, became) = match client.prepare(sql) {
                Ok(handle) => (Some(handle), Became::Prepared),
                Err(reply) => (None, became(rig, reply)),
            };
            handles.push(handle);
            return became;
        }
        Said::Execute(number) => match &handles[*number] {
            Some(handle) => client.execute(handle),
            None => return Became::Lost("nothing was prepared".to_owned()),
        },
    };
    became(rig, reply)
}

fn became(rig: &Rig, reply: Reply) -> Became {
    match reply {
        Reply::From {
            hostgroup,
            text,
            schema,
        } => Became::Sent {
            hostgroup,
            text: Some(text),
            schema: Some(schema),
        },
        // OK has no place for the text: what arrived last is what was sent.
        Reply::Done(hostgroup) => {
            let arrived = rig.servers().take_arrivals().pop();
            let arrived = arrived.filter(|arrived| arrived.hostgroup == hostgroup);
            Became::Sent {
                hostgroup,
                text: arrived
                    .as_ref()
                    .map(|arrived| String::from_utf8_lossy(&arrived.text).into_owned()),
                schema: arrived.map(|arrived| arrived.schema),
            }
        }
        Reply::Ok(info) => Became::Ok(info),
        Reply::Rows(_) => Became::Answered,
        // A hostgroup without a server is named.
        Reply::Error(9001, message) => match number_behind(&message, "hostgroup ") {
            Some(hostgroup) => Became::Sent {
                hostgroup,
                text: None,
                schema: None,
            },
            None => Became::Refused(9001, message),
        },
        Reply::Error(code, message) => Became::Refused(code, message),
        Reply::Broken(why) => Became::Lost(why),
    }
}

fn number_behind(text: &str, word: &str) -> Option<u32> {
    let (_, behind) = text.split_once(word)?;
    behind.split(' ').next()?.parse().ok()
}

/// Whether the engine did what is expected; what it does not tell is not compared.
pub(crate) fn is_same(expected: &Became, got: &Became) -> bool {
    match (expected, got) {
        (
            Became::Sent {
                hostgroup: a,
                text,
                schema,
            },
            Became::Sent {
                hostgroup: b,
                text: other_text,
                schema: other_schema,
            },
        ) => {
            // A hostgroup without a server does not tell its text.
            let agree = |one: &Option<String>, other: &Option<String>| other.is_none() || one == other;
            a == b && agree(text, other_text) && agree(schema, other_schema)
        }
        (Became::Answered, Became::Ok(_)) => true,
        (one, other) => one == other,
    }
}

/// What becomes of a command, and the rules that match.
type Expected = (Became, Vec<u32>);

/// What the evaluator expects; `None` of what it is not asked about.
fn expected(configuration: &Arc<Configuration>, session: &Session) -> Vec<Option<Expected>> {
    let listener = format!("l{}", session.listener);
    let names: Vec<String> = (0..session.said.len())
        .map(|number| format!("p{number}"))
        .collect();
    let client = session.client.to_string();
    let mut schema = Some(session.schema.as_deref().unwrap_or_default());
    if schema == Some("") {
        schema = None;
    }
    let mut steps = Vec::new();
    let mut prepared = 0;
    for said in &session.said {
        let (command, query) = match said {
            Said::Query(sql) => (Command::Query, sql.as_str()),
            Said::Prepare(sql) => {
                prepared += 1;
                (Command::Prepare(&names[prepared - 1]), sql.as_str())
            }
            Said::Execute(number) => (
                Command::Execute {
                    name: &names[*number],
                    values: None,
                },
                "",
            ),
            Said::InitDb(name) => {
                schema = Some(name.as_str());
                continue;
            }
        };
        steps.push(Step {
            user: &session.user,
            schema: schema.take(),
            client: Some(&client),
            listener: Some(&listener),
            after_ms: 0,
            command,
            query: query.as_bytes(),
            supposed: Supposed::default(),
            expect: None,
        });
    }
    let case = Case { steps };
    let keys = shardwright_prover::KeyedShards::default();
    let runner = Runner::new(RoutingTable::new(Arc::clone(configuration)), configuration, &keys);
    let evaluator = Evaluator::new(Arc::clone(configuration));
    let mut became = Vec::new();
    let _ = runner.run_seen(&case, |view, statement, decision| {
        // Of what could not be prepared no rule is asked.
        let is_unprepared = matches!(&decision.outcome, Outcome::Reject(rejection) if rejection.code == 1243);
        assert!(
            is_unprepared || evaluator.decide(view, statement).outcome == decision.outcome,
            "table and evaluator: {decision:?}"
        );
        let rules = &configuration.graph.rules;
        let matched = decision
            .hits
            .iter()
            .map(|position| rules[*position as usize].id)
            .collect();
        let schema = view.schema.or_else(|| configuration.default_schema(view.user));
        became.push((of_decision(decision, statement.text(), schema), matched));
    });
    let mut became = became.into_iter();
    let expected = session.said.iter().map(|said| match said {
        Said::InitDb(_) => None,
        Said::Prepare(_) => became.next().map(|(became, matched)| match became {
            Became::Sent { .. } => (Became::Prepared, matched),
            other => (other, matched),
        }),
        Said::Query(_) | Said::Execute(_) => became.next(),
    });
    expected.collect()
}

/// What a decision about a text in a schema comes to.
pub(crate) fn of_decision(decision: &Decision, text: &[u8], schema: Option<&str>) -> Became {
    match &decision.outcome {
        Outcome::Route(route) => {
            let text = route.rewritten.as_deref().unwrap_or(text);
            Became::Sent {
                hostgroup: route.hostgroup.0,
                text: Some(String::from_utf8_lossy(text).into_owned()),
                schema: schema.map(str::to_owned),
            }
        }
        Outcome::Reject(rejection) => Became::Refused(rejection.code, rejection.message.clone()),
        Outcome::Answer { message } => Became::Ok(message.clone()),
        Outcome::Own { .. } | Outcome::DeferBegin => Became::Answered,
    }
}
