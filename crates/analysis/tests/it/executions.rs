//! What ends a real ProxySQL 2.7.1 around executions of prepared statements, and what does not: the forms of SW243, SW244,
//! SW245, SW246 and SW247, with two worker threads. Each test has an engine and a server of its own.

use std::path::Path;

use mysql::prelude::Queryable;
use mysql::{Conn, Params, Value};
use shardwright_testkit::{
    ClientOptions, MariaDb, Options, ProxySql, ProxySqlOptions, connect, real_proxysql,
};

/// Rounds after which an engine that is to end must have ended; most end in the first five.
const ROUNDS: usize = 60;

const LEFT_OUT: &str = "what executions of prepared statements do to a real ProxySQL";

struct Scene {
    proxysql: ProxySql,
    server: MariaDb,
}

impl Scene {
    /// Hostgroups 1 and 2 are the same server; the user app begins in schema shop of hostgroup 1.
    fn of(binary: &Path, variables: &[&str], statements: &[String]) -> Self {
        let server = MariaDb::start(Options::default()).unwrap();
        server.run("CREATE DATABASE shop; CREATE DATABASE other").unwrap();
        server.create_user("app", "secret", Some("ALL ON *.*")).unwrap();
        let options = ProxySqlOptions {
            threads: 2,
            mysql_variables: variables.iter().map(|line| (*line).to_owned()).collect(),
            ..ProxySqlOptions::default()
        };
        let proxysql = ProxySql::start(binary, &options).unwrap();
        let port = server.port();
        let mut lines = vec![
            format!(
                "INSERT INTO mysql_servers (hostgroup_id, hostname, port) VALUES (1, '127.0.0.1', {port}), (2, '127.0.0.1', {port})"
            ),
            "INSERT INTO mysql_users (username, password, default_hostgroup, default_schema) VALUES ('app', 'secret', 1, 'shop')"
                .to_owned(),
        ];
        lines.extend_from_slice(statements);
        let modules = ["SERVERS", "USERS", "QUERY RULES", "FIREWALL"];
        lines.extend(modules.map(|module| format!("LOAD MYSQL {module} TO RUNTIME")));
        proxysql.run(&lines).unwrap();
        Self { proxysql, server }
    }

    fn client(&self) -> mysql::Result<Conn> {
        let options = ClientOptions {
            user: "app",
            password: "secret",
            schema: Some("shop"),
        };
        connect(self.proxysql.address(), options)
    }

    /// Whether the engine has ended, or says in its log that it is about to.
    fn is_dead(&mut self) -> bool {
        self.proxysql.ended().unwrap().is_some() || self.proxysql.log().unwrap().contains("signal 11")
    }

    /// Rounds until the engine ends, each in a session of its own with another client beside it.
    fn rounds(&mut self, round: impl Fn(&mut Conn, &Self) -> mysql::Result<()>) -> Option<usize> {
        for number in 1..=ROUNDS {
            // An engine that is about to end answers anything, or nothing.
            let _ended_or_refused = self.client().and_then(|mut client| round(&mut client, self));
            let _served_or_not = self
                .client()
                .and_then(|mut other| other.exec_drop("SELECT 7 + ?", (1,)));
            if self.is_dead() {
                return Some(number);
            }
        }
        None
    }
}

fn rule(columns: &str, values: &str) -> String {
    format!("INSERT INTO mysql_query_rules (active, apply, {columns}) VALUES (1, 1, {values})")
}

/// Whether the engine ends under these rules within the rounds.
fn ends(
    variables: &[&str],
    statements: &[String],
    round: impl Fn(&mut Conn, &Scene) -> mysql::Result<()>,
) -> Option<bool> {
    let binary = real_proxysql(LEFT_OUT)?;
    let mut scene = Scene::of(&binary, variables, statements);
    Some(scene.rounds(round).is_some())
}

/// PREPARE, a statement of the session, EXECUTE.
fn prepared_before(between: &'static str) -> impl Fn(&mut Conn, &Scene) -> mysql::Result<()> {
    move |client, _| {
        let statement = client.prep("SELECT 1")?;
        client.query_drop(between)?;
        client.exec_drop(&statement, ())
    }
}

#[track_caller]
fn is(answer: Option<bool>, expected: bool) {
    assert!(answer.is_none_or(|ended| ended == expected), "ended: {answer:?}");
}

#[test]
fn a_refusal_in_another_schema_ends_it() {
    for column in ["error_msg", "OK_msg"] {
        let refusal = rule(&format!("schemaname, {column}"), "'other', 'no'");
        is(ends(&[], &[refusal], prepared_before("USE other")), true);
    }
}

#[test]
fn a_refusal_at_another_flag_ends_it() {
    let rules = [
        rule("match_digest, next_query_flagIN", "'^SELECT \\?,\\?$', 5"),
        rule("flagIN, match_digest, error_msg", "5, '.', 'no'"),
    ];
    is(ends(&[], &rules, prepared_before("SELECT 5, 1")), true);
}

#[test]
fn a_refusal_of_the_rewritten_text_ends_it() {
    let rules = [
        rule(
            "rule_id, match_pattern, replace_pattern",
            "1, '^SELECT 1', 'SELECT 2'",
        ),
        rule("rule_id, match_pattern, error_msg", "2, '^SELECT 2', 'no'"),
    ];
    is(ends(&[], &rules, prepared_before("SELECT 'x'")), true);
}

#[test]
fn a_refusal_that_is_loaded_later_ends_it() {
    let ended = ends(&[], &[], |client, scene| {
        let statement = client.prep("SELECT 1")?;
        let load = "LOAD MYSQL QUERY RULES TO RUNTIME";
        let refusal = rule("match_digest, error_msg", "'^SELECT \\?$', 'no'");
        let _dead_already = scene.proxysql.run([&*refusal, load]);
        let refused = client.exec_drop(&statement, ());
        let _dead_by_now = scene.proxysql.run(["DELETE FROM mysql_query_rules", load]);
        refused
    });
    is(ended, true);
}

#[test]
fn what_is_refused_before_it_is_prepared_is_safe() {
    let refusal = rule("match_digest, error_msg", "'^SELECT \\?$', 'no'");
    is(ends(&[], &[refusal], prepared_before("USE other")), false);
}

#[test]
fn the_firewall_in_another_schema_ends_it() {
    let statements = [
        "INSERT INTO mysql_firewall_whitelist_users (active, username, client_address, mode, comment) \
         VALUES (1, 'app', '', 'PROTECTING', '')"
            .to_owned(),
        "INSERT INTO mysql_firewall_whitelist_rules (active, username, client_address, schemaname, flagIN, digest, comment) \
         VALUES (1, 'app', '', 'shop', 0, '0x1C46AE529DD5A40E', '')"
            .to_owned(),
    ];
    is(
        ends(
            &["firewall_whitelist_enabled=1"],
            &statements,
            prepared_before("USE other"),
        ),
        true,
    );
}

#[test]
fn leaving_the_hostgroup_of_a_locked_session_ends_it() {
    let reads = [rule("match_digest, destination_hostgroup", "'^SELECT', 2")];
    is(ends(&[], &reads, prepared_before("SET @a=1")), true);
    is(
        ends(
            &["set_query_lock_on_hostgroup=0"],
            &reads,
            prepared_before("SET @a=1"),
        ),
        false,
    );
}

#[test]
fn executions_beyond_the_largest_packet_end_it() {
    let ended = ends(&["max_allowed_packet=65536"], &[], |client, scene| {
        let statement = client.prep("SELECT LENGTH(?)")?;
        for _ in 0..10 {
            let large = Params::Positional(vec![Value::Bytes(vec![b'x'; 70_000])]);
            let _too_large = client.exec_drop(&statement, large);
            scene.client()?.exec_drop("SELECT ?", (vec![b'y'; 5_000],))?;
        }
        Ok(())
    });
    is(ended, true);
}

/// The engine prepares the statement again and again, until the server has had enough; no rule is needed.
#[test]
fn a_statement_of_another_schema_is_prepared_without_end() {
    let Some(binary) = real_proxysql(LEFT_OUT) else {
        return;
    };
    let scene = Scene::of(&binary, &[], &[]);
    let mut client = scene.client().unwrap();
    let statement = client.prep("SELECT 1, ?").unwrap();
    client.exec_drop(&statement, (1,)).unwrap();
    client.query_drop("USE other").unwrap();
    // Whoever has an open transaction holds the connection that knows the statement.
    let held: Vec<Conn> = (0..2)
        .map(|_| {
            let mut holder = scene.client().unwrap();
            holder.query_drop("BEGIN").unwrap();
            holder.query_drop("SELECT 1").unwrap();
            holder
        })
        .collect();
    let error = client.exec_drop(&statement, (1,)).unwrap_err().to_string();
    assert!(error.contains("1461"), "{error}");
    let prepared = scene
        .server
        .run("SHOW GLOBAL STATUS LIKE 'Com_stmt_prepare'")
        .unwrap();
    let times: u64 = prepared[0][1].as_deref().unwrap_or_default().parse().unwrap();
    assert!(times > 10_000, "{times}");
    drop(held);
}

#[test]
fn a_user_of_the_admin_port_locks_the_operator_out() {
    let Some(binary) = real_proxysql(LEFT_OUT) else {
        return;
    };
    let proxysql = ProxySql::start(&binary, &ProxySqlOptions::default()).unwrap();
    proxysql
        .run([
            "INSERT INTO mysql_users (username, password) VALUES ('admin', 'another')",
            "LOAD MYSQL USERS TO RUNTIME",
        ])
        .unwrap();
    assert!(proxysql.admin().is_err(), "the operator still logs in");
}

/// SW247: no rule, no prepared statement. Other values of either limit were not seen to do it with these statements.
#[test]
fn a_digest_limit_whose_low_byte_is_negative_ends_it() {
    let asks = |client: &mut Conn, _: &Scene| {
        let list = format!("INSERT INTO t VALUES {}(1,2)", "(1,2,3,4,5),".repeat(400));
        client
            .query_drop("SELECT (1,a) FROM t")
            .and(client.query_drop(list))
    };
    for (limits, expected) in [
        (&["query_digests_grouping_limit=128"][..], true),
        (&["query_digests_grouping_limit=200"], true),
        (&["query_digests_groups_grouping_limit=255"], true),
        (
            &[
                "query_digests_grouping_limit=127",
                "query_digests_groups_grouping_limit=127",
            ],
            false,
        ),
    ] {
        is(ends(limits, &[], asks), expected);
    }
}
