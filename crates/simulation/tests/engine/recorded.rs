//! Sessions as a ProxySQL 2.7.1 has answered them, decided again here.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use serde_json::Value;
use shardwright_diagnostics::Sources;
use shardwright_import::Language;
use shardwright_prover::KeyedShards;
use shardwright_routing::RoutingTable;
use shardwright_rules::{Address, Configuration, Decision, EngineId, Listener, Outcome};
use shardwright_simulation::route_tests::{Case, Runner};
use shardwright_simulation::supposed::Supposed;
use shardwright_simulation::{Command, Step};
use shardwright_testkit::{recorded, recorded_bytes};

use crate::compare::{Became, is_same, of_decision};

/// Differences that a failure shows.
const MOST_SHOWN: usize = 30;

/// Commands that are known to be decided otherwise; each ends the comparison of its session. Most are sessions with
/// `mysql-query_digests=false` (USE with a tab or a comment, SHOW WARNINGS), SETs of a session that a lock or a rule has kept on
/// a hostgroup, and a COMMIT behind what a server does not take for SQL. Only ever made smaller.
const KNOWN: usize = 184;

/// Addresses and ports of the engine that answered.
const LISTENERS: [(&str, u16); 3] = [("127.0.0.1", 6033), ("0.0.0.0", 6034), ("::1", 6035)];

#[derive(Default)]
struct Tally {
    commands: usize,
    /// Commands whose decision says that the engine may decide otherwise.
    undecided: usize,
    /// Rule sets that hold what a configuration does not.
    unmodelled: usize,
    /// Rule sets whose hits were counted to the end.
    counted: usize,
    differences: Vec<(String, String)>,
}

/// A statement for the admin port that writes a row.
fn row(table: &str, columns: &serde_json::Map<String, Value>) -> String {
    let values = columns.values().map(|value| match value {
        Value::String(text) => format!("'{}'", text.replace('\'', "''")),
        other => other.to_string(),
    });
    let names: Vec<&str> = columns.keys().map(String::as_str).collect();
    let values: Vec<String> = values.collect();
    format!(
        "INSERT INTO {table} ({}) VALUES ({});\n",
        names.join(", "),
        values.join(", ")
    )
}

/// What the rows and variables of a record mean to this program.
fn configuration(record: &Value) -> (Arc<Configuration>, bool) {
    let mut script = String::new();
    for (name, value) in record["variables"].as_object().unwrap() {
        let value = value.as_str().unwrap().replace('\'', "''");
        writeln!(script, "SET {name}='{value}';").unwrap();
    }
    let tables = [
        ("users", "mysql_users"),
        ("rules", "mysql_query_rules"),
        ("fast_routing", "mysql_query_rules_fast_routing"),
        ("firewall_users", "mysql_firewall_whitelist_users"),
        ("firewall_rules", "mysql_firewall_whitelist_rules"),
    ];
    for (field, table) in tables {
        for columns in record.get(field).and_then(Value::as_array).into_iter().flatten() {
            script.push_str(&row(table, columns.as_object().unwrap()));
        }
    }
    // Each hostgroup but one has a server.
    for hostgroup in (0..40).filter(|hostgroup| *hostgroup != 25) {
        writeln!(
            script,
            "INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES ({hostgroup}, '127.0.0.1');"
        )
        .unwrap();
    }
    let mut sources = Sources::default();
    let read = shardwright_import::read(
        &mut sources,
        "rules.sql",
        script.as_bytes(),
        Language::Sql,
        EngineId::Proxysql27,
    );
    let mut configuration = read.configuration;
    configuration.listeners = (0..)
        .zip(LISTENERS)
        .map(|(number, (bind, port))| {
            let name = format!("l{number}");
            let place = Address::new(format!("listeners.{name}"));
            Listener::on_port(&name, place, bind, port)
        })
        .collect();
    (Arc::new(configuration), read.unmodelled.is_empty())
}

/// A command and what became of it.
struct Recorded {
    kind: String,
    sql: Vec<u8>,
    schema: Option<String>,
    prepared: usize,
    answer: Value,
}

/// The commands of a session.
fn commands(session: &Value) -> Vec<Recorded> {
    let steps = session["steps"].as_array().unwrap();
    let commands = steps.iter().map(|step| Recorded {
        kind: step["do"].as_str().unwrap().to_owned(),
        sql: recorded_bytes(step, "sql").unwrap_or_default(),
        schema: step.get("schema").and_then(Value::as_str).map(str::to_owned),
        prepared: step.get("statement").and_then(Value::as_u64).unwrap_or(0) as usize,
        answer: step["answer"].clone(),
    });
    commands.collect()
}

/// What the record says became of a command whose text is `sent`; `None` where it does not tell.
fn answered(answer: &Value, sent: &[u8]) -> Option<Became> {
    if let Some(code) = answer.get("error").and_then(Value::as_u64) {
        let message = answer["message"].as_str().unwrap().to_owned();
        return Some(Became::Refused(u16::try_from(code).unwrap(), message));
    }
    if let Some(message) = answer.get("ok").and_then(Value::as_str) {
        return Some(Became::Ok(message.to_owned()));
    }
    if answer.get("rows").is_some() {
        return Some(Became::Answered);
    }
    if answer.get("prepared").is_some() {
        return Some(Became::Prepared);
    }
    let hostgroup = u32::try_from(answer.get("hostgroup")?.as_u64()?).unwrap();
    let is_from_server = answer.get("schema").is_some();
    let text = recorded_bytes(answer, "text").unwrap_or_else(|| sent.to_vec());
    Some(Became::Sent {
        hostgroup,
        text: is_from_server.then(|| String::from_utf8_lossy(&text).into_owned()),
        schema: answer.get("schema").and_then(Value::as_str).map(str::to_owned),
    })
}

/// Whether the engine may decide otherwise, as the decision itself says.
fn is_undecided(decision: &Decision) -> bool {
    !decision.unknown.is_empty() || decision.unsure || decision.is_cut
}

/// What this program makes of the commands, in their order; `None` of those that it is not asked about.
fn decided(
    configuration: &Arc<Configuration>,
    session: &Value,
    commands: &[Recorded],
) -> Vec<Option<(Became, Decision, Vec<u32>)>> {
    let user = session["user"].as_str().unwrap();
    let client = session["client"].as_str().unwrap();
    let listener = format!("l{}", session["listener"]);
    let names: Vec<String> = (0..commands.len()).map(|number| format!("p{number}")).collect();
    let keys = KeyedShards::default();
    let runner = Runner::new(RoutingTable::new(Arc::clone(configuration)), configuration, &keys);
    let mut decided = Vec::new();
    let mut prepared = 0;
    // A reset begins another session of the same login, in the schema of the one before.
    let mut kept: Option<String> = None;
    for part in commands.split_inclusive(|command| command.kind == "reset") {
        let begun = kept.take();
        let of_login = session["schema"].as_str().filter(|_| decided.is_empty());
        let mut schema = begun.as_deref().or(of_login);
        let mut steps = Vec::new();
        for command in part {
            let sent = match command.kind.as_str() {
                "query" => Command::Query,
                "prepare" => {
                    prepared += 1;
                    Command::Prepare(&names[prepared - 1])
                }
                "execute" => Command::Execute {
                    name: &names[command.prepared],
                    values: None,
                },
                "init_db" => {
                    schema = command.schema.as_deref();
                    continue;
                }
                _ => continue,
            };
            steps.push(Step {
                user,
                schema: schema.take(),
                client: Some(client),
                listener: Some(&listener),
                after_ms: 0,
                command: sent,
                query: &command.sql,
                supposed: Supposed::default(),
                expect: None,
            });
        }
        // What is asked last shows the schema that the session is in.
        steps.push(Step {
            user,
            schema: schema.take(),
            client: Some(client),
            listener: Some(&listener),
            after_ms: 0,
            command: Command::Query,
            query: b"SELECT 1",
            supposed: Supposed::default(),
            expect: None,
        });
        let mut seen = Vec::new();
        let mut last = None;
        let _ = runner.run_seen(&Case { steps }, |view, statement, decision| {
            let matched = decision.hits.iter();
            let rules = &configuration.graph.rules;
            let matched = matched.map(|position| rules[*position as usize].id).collect();
            let schema = view.schema.or_else(|| configuration.default_schema(view.user));
            let became = of_decision(decision, statement.text(), schema);
            last = schema.map(str::to_owned);
            seen.push((became, decision.clone(), matched));
        });
        kept = last;
        let mut seen = seen.into_iter();
        decided.extend(part.iter().map(|command| match command.kind.as_str() {
            "init_db" | "reset" => None,
            "prepare" => seen.next().map(|(became, decision, matched)| match became {
                Became::Sent { .. } => (Became::Prepared, decision, matched),
                other => (other, decision, matched),
            }),
            _ => seen.next(),
        }));
    }
    decided
}

/// Compares a session up to its first difference; whether it came to its end. `hits` counts the rules that matched.
fn compare(
    configuration: &Arc<Configuration>,
    record: &Value,
    session: &Value,
    hits: &mut BTreeMap<u32, u64>,
    tally: &mut Tally,
) -> bool {
    let commands = commands(session);
    let texts: Vec<&[u8]> = commands
        .iter()
        .filter(|command| command.kind == "prepare")
        .map(|command| command.sql.as_slice())
        .collect();
    for (at, (command, ours)) in commands
        .iter()
        .zip(decided(configuration, session, &commands))
        .enumerate()
    {
        let Some((ours, decision, matched)) = ours else {
            continue;
        };
        let sent = match command.kind.as_str() {
            "execute" => texts[command.prepared],
            _ => &command.sql,
        };
        if command.answer.get("skipped").is_some() {
            continue;
        }
        tally.commands += 1;
        if is_undecided(&decision) {
            tally.undecided += 1;
            return false;
        }
        for id in matched {
            *hits.entry(id).or_default() += 1;
        }
        let Some(engine) = answered(&command.answer, sent) else {
            panic!("no answer: {}", command.answer);
        };
        let is_cached = command.answer.get("cached").is_some();
        let caches =
            matches!(&decision.outcome, Outcome::Route(route) if route.effects.cache_ttl_ms.is_some());
        let agrees = if is_cached {
            caches
        } else {
            is_same(&ours, &engine)
        };
        if !agrees {
            let earlier: Vec<String> = commands[..at]
                .iter()
                .map(|command| {
                    let shown = String::from_utf8_lossy(&command.sql)
                        .chars()
                        .take(150)
                        .collect::<String>();
                    format!("{} {shown:?} => {}", command.kind, command.answer)
                })
                .collect();
            let shown = earlier.iter().rev().take(6).rev().cloned().collect::<Vec<_>>();
            tally.differences.push((
                record["kind"].as_str().unwrap().to_owned(),
                format!(
                    "set {} user {} {} {}\n  before\n    {}\n  {} {:?}\n  engine {engine:?}\n  ours   {ours:?} hits {:?}\n  variables {}",
                    record["id"],
                    session["user"],
                    session["schema"],
                    session["client"],
                    shown.join("\n    "),
                    command.kind,
                    String::from_utf8_lossy(&command.sql),
                    decision.hits,
                    record["variables"]
                ),
            ));
            return false;
        }
    }
    true
}

#[test]
fn sessions_go_as_the_engine_sent_them() {
    let mut tally = Tally::default();
    for record in recorded("decisions") {
        let (configuration, is_modelled) = configuration(&record);
        if !is_modelled {
            // Lists of the firewall that differ by schema or address are named, and answers about them are undecided.
            tally.unmodelled += 1;
            continue;
        }
        let mut hits = BTreeMap::new();
        let mut is_whole = true;
        for session in record["sessions"].as_array().unwrap() {
            is_whole &= compare(&configuration, &record, session, &mut hits, &mut tally);
        }
        if !is_whole {
            continue;
        }
        tally.counted += 1;
        let recorded = record["hits"].as_object().unwrap().iter();
        let recorded: BTreeMap<u32, u64> = recorded
            .map(|(id, count)| (id.parse().unwrap(), count.as_u64().unwrap()))
            .collect();
        if recorded != hits {
            let what = format!(
                "set {}: hits\n  engine {recorded:?}\n  ours   {hits:?}",
                record["id"]
            );
            tally.differences.push(("hits".to_owned(), what));
        }
    }
    println!(
        "{} commands, {} undecided, {} different; hits of {} sets; {} sets not modelled",
        tally.commands,
        tally.undecided,
        tally.differences.len(),
        tally.counted,
        tally.unmodelled
    );
    let shown: Vec<String> = tally
        .differences
        .iter()
        .take(MOST_SHOWN)
        .map(|(kind, what)| format!("{kind}: {what}"))
        .collect();
    let count = tally.differences.len();
    assert!(
        count <= KNOWN,
        "{count} differ, {KNOWN} are known\n{}",
        shown.join("\n")
    );
}
