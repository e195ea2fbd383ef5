//! Sessions through the proxy and on one unsharded server: temporary tables, variables, routines, triggers, views,
//! dynamic SQL, transactions, sql_modes. The same rows, an error on both, or refused; never silently different.
//!
//! `PROPTEST_CASES` in the environment, as `make long` sets it, asks for 240,000 statements instead of 4,000.

use std::fmt::Write;

use mysql::Conn;
use shardwright_testkit::{
    ClientOptions, CommandEnvironment, MariaDb, Options, ProxyOptions, ProxyProcess, connect,
};

use crate::generator::Random;
use crate::session_statements::{SESSION, Script, TENANTS};
use crate::support::{PASSWORD, PROGRAM, ask, lines};

const SEED: u64 = 0x5EED_0002;

/// Reads go to a second group of connections to the same server: it has the same rows, and nothing that a session keeps.
const TOPOLOGY: &str = r#"version: 1
variables:
  one: {type: integer, default: 1}
  two: {type: integer, default: 1}
  admin_port: {type: integer, default: 6032}
clusters:
  one:
    type: replication
    tls: preferred
    servers:
      w: {host: 127.0.0.1, port: $(var.one)}
      r: {host: localhost, port: $(var.one)}
  two:
    type: replication
    tls: preferred
    servers:
      w: {host: 127.0.0.1, port: $(var.two)}
      r: {host: localhost, port: $(var.two)}
users:
  app: {password: {env: APP_PASSWORD}, cluster: one, schema: shop}
  own: {password: {env: APP_PASSWORD}, cluster: one}
shard_maps:
  tenants:
    applies_to: {users: [app]}
    logical_schema: shop
    key: {name: tenant, type: integer}
    key_from:
      - comment: {}
      - column: {name: tenant}
    tables: {views: {v_bal: [bal]}}
    missing_key: {begin: first_statement}
    shards:
      low: {keys: [1, 2], cluster: one}
      high: {keys: [3, 4], cluster: two}
  schemas:
    applies_to: {users: [own]}
    key: {name: account, type: integer}
    key_from: [schema: "acct_$(key:02)"]
    missing_key: {begin: first_statement}
    shards:
      low: {keys: [1, 2], cluster: one}
      high: {keys: [3, 4], cluster: two}
read_write_policies:
  reads:
    reads: {all: true}
    allow_on_readers: [session_functions]
    reason: the test looks for what a reader would not know
"#;

const PROJECT: &str = r#"version: 1
engines: [bundled]
targets:
  local: {engine: bundled, admin: "127.0.0.1:$(var.admin_port)", user: admin, password: {env: SHARDWRIGHT_ADMIN_PASSWORD}}
"#;

/// What a server holds of some tenants. The trigger writes of the row's own tenant; two of the views are traps.
fn load(server: &MariaDb, tenants: &[usize]) {
    let mut sql = String::from(
        "CREATE DATABASE shop; USE shop;
         CREATE TABLE bal (id BIGINT PRIMARY KEY, tenant INT, c INT);
         CREATE TABLE items (id BIGINT PRIMARY KEY, tenant INT, c INT);
         CREATE TABLE log (tenant INT, c INT);
         CREATE TRIGGER logs AFTER INSERT ON items FOR EACH ROW INSERT INTO log VALUES (NEW.tenant, NEW.c);
         CREATE VIEW v_bal AS SELECT * FROM bal;
         CREATE VIEW v_sum AS SELECT MAX(id) AS id, MAX(tenant) AS tenant, SUM(c) AS c FROM bal;
         CREATE VIEW v_other AS SELECT id, c % 4 + 1 AS tenant, tenant AS c FROM items;
         CREATE FUNCTION f(t INT) RETURNS INT READS SQL DATA RETURN (SELECT COUNT(*) FROM bal WHERE tenant=t);
         CREATE VIEW v_code AS SELECT id, f(3) AS tenant, c FROM bal;
         CREATE PROCEDURE touches(t INT) UPDATE bal SET c=c+1 WHERE tenant=t;
         CREATE PROCEDURE sets_variable(t INT) SET @x=t*100;
         CREATE PROCEDURE makes_temporary(t INT)
            CREATE TEMPORARY TABLE IF NOT EXISTS items AS SELECT * FROM bal WHERE tenant=t;",
    );
    for tenant in tenants {
        for n in 0..4 {
            let (id, c) = (10 * tenant + n, tenant * 3 + n);
            write!(
                sql,
                "INSERT INTO bal VALUES ({id}, {tenant}, {c}); INSERT INTO items VALUES ({id}, {tenant}, {c});"
            )
            .unwrap();
        }
        let schema = format!("acct_{tenant:02}");
        write!(
            sql,
            "CREATE DATABASE {schema}; USE {schema}; CREATE TABLE bal (id BIGINT PRIMARY KEY, c INT);
             INSERT INTO bal VALUES (1, {tenant}), (2, 10{tenant}); CREATE VIEW v_own AS SELECT c FROM bal;
             CREATE FUNCTION own(n INT) RETURNS INT READS SQL DATA RETURN (SELECT c FROM bal WHERE id=n); USE shop;"
        )
        .unwrap();
    }
    server.run(sql).unwrap();
    for user in ["app", "own"] {
        server
            .create_user(user, PASSWORD, Some("ALL PRIVILEGES ON *.*"))
            .unwrap();
    }
}

struct Sides {
    proxy: ProxyProcess,
    oracle: MariaDb,
    servers: [MariaDb; 2],
    _environment: CommandEnvironment,
}

impl Sides {
    fn start() -> Self {
        let start = || MariaDb::start(Options::default()).unwrap();
        let (servers, oracle) = ([start(), start()], start());
        load(&servers[0], &TENANTS[..2]);
        load(&servers[1], &TENANTS[2..]);
        load(&oracle, &TENANTS);
        let mut environment = CommandEnvironment::new(PROGRAM).unwrap();
        environment.set("APP_PASSWORD", PASSWORD);
        environment.write("shardwright.yaml", PROJECT).unwrap();
        environment.write("topology/shop.yaml", TOPOLOGY).unwrap();
        let proxy =
            ProxyProcess::start(&environment, ProxyOptions::new(environment.outside("data"))).unwrap();
        let variables = [
            ("one", servers[0].port()),
            ("two", servers[1].port()),
            ("admin_port", proxy.admin().port()),
        ];
        let variables = variables
            .iter()
            .flat_map(|(name, port)| ["--var".to_owned(), format!("{name}={port}")]);
        let arguments = ["apply", "--auto-approve"].map(str::to_owned).into_iter();
        let _applied = environment.run(arguments.chain(variables)).unwrap().success();
        Self {
            proxy,
            oracle,
            servers,
            _environment: environment,
        }
    }

    /// A session on both sides, in the same schema.
    fn session(&self, user: &str, schema: &str) -> (Conn, Conn) {
        let options = ClientOptions {
            user,
            password: PASSWORD,
            schema: Some(schema),
        };
        let sharded = connect(self.proxy.listen(), options).unwrap();
        (sharded, self.oracle.connect(options).unwrap())
    }
}

#[derive(Debug, Default)]
struct Tally {
    identical: usize,
    failed_alike: usize,
    refused: usize,
    different: Vec<String>,
}

type Answer = Result<(Vec<String>, u64), String>;

fn answer(connection: &mut Conn, sql: &str) -> Answer {
    let rows = ask(connection, sql)?;
    let mut rows = lines(&rows);
    rows.sort_unstable();
    Ok((rows, connection.affected_rows()))
}

/// Whether the proxy said no by itself: by a rule, because of what the session holds, or because it could not follow.
fn is_refusal(message: &str) -> bool {
    ["1148: SW", "9006: "]
        .iter()
        .any(|start| message.starts_with(start))
        || ["the proxy", "is not held any more"]
            .iter()
            .any(|part| message.contains(part))
}

/// What every refusal is called, so that both sides call it alike.
const REFUSED: &str = "refused";

/// Sends a statement to the proxy, and to the unsharded server unless it was refused: that server gets an error with the same
/// number in its place, which begins the same list of warnings. Says how it went.
fn compare(sides: (&mut Conn, &mut Conn), sql: &str, before: &[String], tally: &mut Tally) -> String {
    let mut sharded = answer(sides.0, sql);
    if let Err(message) = &sharded
        && is_refusal(message)
    {
        tally.refused += 1;
        let code = message.split(':').next().unwrap_or_default();
        let error = format!("SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = {code}, MESSAGE_TEXT = '{REFUSED}'");
        let failed = answer(sides.1, &error).unwrap_err();
        assert_eq!(failed, format!("{code}: {REFUSED}"));
        return format!("refused: {message}");
    }
    if let Ok((rows, _)) = &mut sharded {
        rows.iter_mut().for_each(name_refusal);
    }
    let expected = answer(sides.1, sql);
    // The estimates of a server that has fewer rows are others.
    let is_estimate = sql.starts_with("EXPLAIN");
    match (&sharded, &expected) {
        (Ok(_), Ok(_)) if is_estimate => tally.identical += 1,
        (Ok(rows), Ok(expected)) if rows == expected => tally.identical += 1,
        // Which rows a limit leaves is open where nothing orders them.
        (Ok(rows), Ok(expected))
            if before.iter().any(|sql| sql.starts_with("SET sql_select_limit"))
                && !sql.contains("ORDER BY")
                && rows.0.len() == expected.0.len() =>
        {
            tally.identical += 1;
        }
        (Err(_), Err(_)) => tally.failed_alike += 1,
        _ => {
            let shown = |answer: &Answer| format!("{answer:?}").chars().take(300).collect::<String>();
            tally.different.push(format!(
                "{}\n=> {sql}\n  proxy:  {}\n  oracle: {}",
                before.join("\n"),
                shown(&sharded),
                shown(&expected)
            ));
        }
    }
    match sharded {
        Ok((rows, affected)) => format!("{} rows, {affected} affected", rows.len()),
        Err(message) => message,
    }
}

/// Calls the refusal that a list of warnings tells as the oracle does.
fn name_refusal(row: &mut String) {
    let Some((code, message)) = row
        .strip_prefix("Error | ")
        .and_then(|rest| rest.split_once(" | "))
    else {
        return;
    };
    if is_refusal(&format!("{code}: {message}")) {
        *row = format!("Error | {code} | {REFUSED}");
    }
}

/// Connections that read what was committed, beside the sessions.
struct Auditor {
    sharded: [Conn; 2],
    unsharded: Conn,
}

impl Auditor {
    fn new(sides: &Sides) -> Self {
        let options = ClientOptions {
            user: "app",
            password: PASSWORD,
            schema: Some("shop"),
        };
        Self {
            sharded: [0, 1].map(|server: usize| sides.servers[server].connect(options).unwrap()),
            unsharded: sides.oracle.connect(options).unwrap(),
        }
    }

    /// What one side has and the other has not.
    fn difference(&mut self) -> Option<String> {
        let [low, high] = &mut self.sharded;
        let mut sharded = committed(low, &TENANTS[..2]);
        sharded.extend(committed(high, &TENANTS[2..]));
        sharded.sort_unstable();
        let mut unsharded = committed(&mut self.unsharded, &TENANTS);
        unsharded.sort_unstable();
        if sharded == unsharded {
            return None;
        }
        let only = |rows: &[String], others: &[String]| {
            let only = rows.iter().filter(|row| others.binary_search(row).is_err());
            only.take(10).cloned().collect::<Vec<_>>()
        };
        Some(format!(
            "rows only behind the proxy: {:?}\nrows only on the oracle: {:?}",
            only(&sharded, &unsharded),
            only(&unsharded, &sharded)
        ))
    }
}

/// The committed rows of a server that has these tenants.
fn committed(server: &mut Conn, tenants: &[usize]) -> Vec<String> {
    let shared = ["bal", "items"].map(|table| format!("SELECT '{table}', tenant, id, c FROM shop.{table}"));
    let log = "SELECT 'log', tenant, NULL, c FROM shop.log".to_owned();
    let own = tenants
        .iter()
        .map(|tenant| format!("SELECT 'acct_{tenant:02}', NULL, id, c FROM acct_{tenant:02}.bal"));
    let selects: Vec<String> = shared.into_iter().chain([log]).chain(own).collect();
    lines(&ask(server, &selects.join(" UNION ALL ")).unwrap())
}

#[test]
fn sessions_get_the_same_answers_or_are_refused() {
    let statements = if std::env::var_os("PROPTEST_CASES").is_some() {
        240_000
    } else {
        4_000
    };
    let sides = Sides::start();
    let mut auditor = Auditor::new(&sides);
    let mut random = Random::new(SEED);
    let mut next_id = 1000;
    let mut tally = Tally::default();
    // What the last session left shows in the next one.
    let mut last_session = String::new();
    for session in 0..statements / SESSION {
        let in_own_schema = session % 4 == 3;
        let tenant = random.of(&TENANTS);
        let (user, schema) = match in_own_schema {
            true => ("own", format!("acct_{tenant:02}")),
            false => ("app", "shop".to_owned()),
        };
        let (mut sharded, mut unsharded) = sides.session(user, &schema);
        let mut script = Script::new(&mut random, &mut next_id);
        let mut before = Vec::new();
        for _ in 0..SESSION {
            let sql = match in_own_schema {
                true => script.in_own_schema(),
                false => script.statement(),
            };
            let went = compare((&mut sharded, &mut unsharded), &sql, &before, &mut tally);
            before.push(format!("{sql}\n      {went}"));
        }
        if let Some(difference) = auditor.difference() {
            let script = before.join("\n");
            let what = format!("session {session} of {user} in {schema}:\n{script}\n{difference}");
            tally.different.push(what);
        }
        if !tally.different.is_empty() {
            tally
                .different
                .push(format!("the session before:\n{last_session}"));
            break;
        }
        last_session = before.join("\n");
    }
    println!(
        "{statements} statements: {} identical, {} errors on both, {} refused, {} different",
        tally.identical,
        tally.failed_alike,
        tally.refused,
        tally.different.len()
    );
    assert!(tally.different.is_empty(), "{}", tally.different.join("\n\n"));
    assert!(
        tally.identical * 6 > statements,
        "only {} identical",
        tally.identical
    );
}
