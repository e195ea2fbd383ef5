//! Sessions that were once decided otherwise than by the engine.

use std::collections::BTreeMap;

use crate::compare::{Said, Session, configuration, differences, rig};

const USER: &str = "INSERT INTO mysql_users (username, default_hostgroup) VALUES ('app', 0)";

fn rule(id: u32, columns: &str, values: &str) -> String {
    format!("INSERT INTO mysql_query_rules (rule_id, active, {columns}) VALUES ({id}, 1, {values})")
}

fn query(sql: &str) -> Said {
    Said::Query(sql.to_owned())
}

#[test]
fn sessions_follow_the_engine() {
    let Some(rig) = rig("known sessions against the engine", 1) else {
        return;
    };
    let flag = rule(
        1,
        "match_digest, destination_hostgroup, next_query_flagIN",
        "'^(USE|COMMIT|SET|SELECT CONNECTION_ID)', 7, 1",
    );
    let flagged = rule(2, "flagIN, destination_hostgroup, apply", "1, 5, 1");
    let refusing = rule(
        3,
        "match_digest, error_msg",
        "'^(USE|SET NAMES|SET time_zone|SHOW)', 'no'",
    );
    let schema = rule(
        4,
        "schemaname, destination_hostgroup, apply",
        "'information_schema', 1, 1",
    );
    let begin = rule(1, "match_digest, destination_hostgroup", "'^START', 6");
    let elsewhere = rule(9, "match_digest, destination_hostgroup, apply", "'t1', 4, 1");
    let sets: [(&[&str], &[&str]); 14] = [
        // A transaction keeps its hostgroup, whatever stands between.
        (
            &[&begin, &elsewhere],
            &[
                "START TRANSACTION",
                "SELECT 1 FROM t1",
                "COMMIT",
                "SELECT 1 FROM t1",
            ],
        ),
        (
            &[&begin, &elsewhere],
            &["START TRANSACTION", "SET @a=1", "SELECT 1 FROM t1"],
        ),
        (
            &[&begin, &elsewhere],
            &[
                "START TRANSACTION",
                "USE shop",
                "SELECT 1 FROM t1",
                "SET autocommit=1",
                "SELECT 1 FROM t1",
            ],
        ),
        (
            &[&begin, &elsewhere],
            &[
                "SET autocommit=0",
                "SELECT 1 FROM t1",
                "UPDATE t1 SET a=1",
                "SELECT 1 FROM t",
                "SET autocommit=1",
                "SELECT 1 FROM t",
            ],
        ),
        // No schema is information_schema.
        (&[&schema], &["SELECT 1", "USE shop", "SELECT 1"]),
        // A flag survives what the engine answers.
        (&[&flag, &flagged], &["USE shop", "SELECT 1 FROM t"]),
        (&[&flag, &flagged], &["COMMIT", "SELECT 1 FROM t"]),
        (
            &[&flag, &flagged],
            &[
                "SET NAMES utf8mb4",
                "SET autocommit=1",
                "SET sql_mode=''",
                "SELECT 1 FROM t",
            ],
        ),
        (&[&flag, &flagged], &["SELECT CONNECTION_ID()", "SELECT 1 FROM t"]),
        // A refused USE changes the schema all the same, and messages count for SET that is read behind the rules.
        (
            &[&refusing, &schema],
            &[
                "USE shop",
                "SELECT 1 FROM t",
                "SET NAMES utf8",
                "SET time_zone='+01:00'",
            ],
        ),
        // What the engine cannot follow locks the session.
        (
            &[
                &flagged,
                &rule(9, "match_digest, destination_hostgroup, apply", "'t1', 4, 1"),
            ],
            &[
                "SET @a=1",
                "SELECT 1 FROM t",
                "SELECT 1 FROM t1",
                "SET sql_mode=''",
                "COMMIT",
            ],
        ),
        (&[&flag, &flagged], &["SET foo=1", "SELECT 1 FROM t"]),
        // What it cannot read goes to the user's hostgroup, whatever rules say.
        (
            &[&rule(1, "destination_hostgroup, apply", "3, 1")],
            &[
                "SET sql_select_limit=1+1",
                "SET sql_mode='A B'",
                "SET sql_mode=\"A, B\"",
                "SET time_zone='A+B'",
                "SET time_zone='+01:00'",
                "SET sql_mode='A.B'",
                "SET lc_messages='a(b'",
                "SET sql_mode='A#B'",
                "SET sql_mode='A,B_C'",
                "SET sql_mode='A-B'",
                "SET sql_mode='A-B,C_D'",
                "SET sql_mode='A-'",
                "SET sql_mode=A-B",
                "SET sql_mode=",
                "SET lc_messages=",
                "SET sql_mode=-1",
                "SET sql_mode=+1.5",
                "SET sql_mode=' '",
                "SET lc_messages='a/b'",
                "SET lc_messages='a/b/c'",
                "SET lc_messages='1:2'",
                "SET time_zone='-1:00'",
                "SET time_zone='+100:00'",
                "SET optimizer_switch='a=ON,b=off'",
                "SET optimizer_switch='a=on,b=1'",
                "SET time_zone=Europe/Berlin",
                "SET wait_timeout=A-B",
                "SELECT 1",
            ],
        ),
        (
            &[
                &rule(
                    1,
                    "match_digest, destination_hostgroup, multiplex",
                    "'^SET', 7, 0",
                ),
                &flagged,
            ],
            &["SET @a=1", "SELECT 1 FROM t"],
        ),
    ];
    let mut failures = Vec::new();
    for (rules, texts) in sets {
        let statements: Vec<String> = std::iter::once(USER)
            .chain(rules.iter().copied())
            .map(str::to_owned)
            .collect();
        rig.load(&statements).unwrap();
        let configuration = configuration(&rig, &statements);
        let session = Session::of("app", None, 0, texts.iter().map(|sql| query(sql)).collect());
        failures.extend(differences(&rig, &configuration, &session, &mut BTreeMap::new()));
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}
