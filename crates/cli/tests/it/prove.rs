//! `prove equivalent`: three answers, each with its exit code.

use serde_json::Value;

use crate::rule_sets::{committed, with_rules};
use crate::support::example;

#[test]
fn equal_rules_are_proved_equal() {
    let environment = with_rules();
    let output = environment
        .run(["prove", "equivalent", "rules.sql", "rules.sql"])
        .unwrap();
    assert_eq!(output.code(), Some(0), "{}", output.stderr);
    insta::assert_snapshot!(output.stdout, @"proved: every statement of every session goes the same way");
}

#[test]
fn a_difference_is_shown_by_a_statement() {
    let environment = with_rules();
    let output = environment
        .run(["prove", "equivalent", "rules.sql", "fixed.sql"])
        .unwrap();
    assert_eq!(output.code(), Some(3), "{}", output.stderr);
    insta::assert_snapshot!(output.stdout, @r"
    refuted: 1 of the statements that go different ways
      user=app schema=shop  SELECT a FROM t WHERE id=1 FOR UPDATE
        rules.sql  shop reader (hostgroup 2), by mysql_query_rules.10 (rules.sql:5)
        fixed.sql  shop writer (hostgroup 1), by mysql_query_rules.20 (fixed.sql:6)
    ");
    let json = environment
        .run([
            "prove",
            "equivalent",
            "rules.sql",
            "fixed.sql",
            "--format",
            "json",
        ])
        .unwrap();
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json["answer"], "refuted");
    let witness = &json["witnesses"][0];
    assert_eq!(
        (&witness["a"]["hostgroup"], &witness["b"]["hostgroup"]),
        (&2.into(), &1.into())
    );
}

#[test]
fn executions_that_a_rewrite_would_have_changed_are_no_part_of_the_answer() {
    let environment = with_rules();
    let rules = environment.read("rules.sql").unwrap()
        + "INSERT INTO mysql_query_rules (rule_id, active, match_pattern, replace_pattern) \
           VALUES (5, 1, 'old_', 'new_');\n";
    environment.write("rewriting.sql", rules).unwrap();
    let output = environment
        .run(["prove", "equivalent", "rewriting.sql", "rewriting.sql"])
        .unwrap();
    assert_eq!(output.code(), Some(0), "{}", output.stderr);
    insta::assert_snapshot!(output.stdout, @r"
    proved: every statement of every session goes the same way
    not covered: executions of prepared statements: proxysql-2.7 does not rewrite them, and rule 5 of rewriting.sql rewrites
    ");
}

#[test]
fn what_is_not_modelled_is_undecided() {
    let environment = with_rules();
    let rules = environment.read("rules.sql").unwrap()
        + "INSERT INTO mysql_users (username, default_hostgroup, fast_forward) VALUES ('bench', 1, 1);\nload mysql users to runtime;\n";
    environment.write("off.sql", rules).unwrap();
    let output = environment
        .run(["prove", "equivalent", "off.sql", "off.sql"])
        .unwrap();
    assert_eq!(output.code(), Some(8), "{}", output.stderr);
    insta::assert_snapshot!(output.stdout, @r"
    undecided: neither proved nor refuted
    undecided because of
      off.sql: user bench has fast_forward: no rule is evaluated for its statements
    ");
}

#[test]
fn emitted_sql_means_what_the_project_means() {
    for name in ["tenants", "schema-per-shard", "legacy-rules"] {
        let environment = example(name);
        let sql = [
            "compile",
            "--engine",
            "proxysql-2.7",
            "--emit",
            "sql",
            "-o",
            "rules.sql",
        ];
        assert_eq!(environment.run(sql).unwrap().success().stdout, "");
        let output = environment
            .run(["prove", "equivalent", ".", "rules.sql"])
            .unwrap();
        assert_eq!(
            output.code(),
            Some(0),
            "{name}\n{}{}",
            output.stdout,
            output.stderr
        );
    }
}

#[test]
fn a_change_since_a_revision() {
    let environment = example("tenants");
    committed(&environment);
    let output = environment.run(["prove", "equivalent", "git:HEAD", "."]).unwrap();
    assert_eq!(output.code(), Some(0), "{}{}", output.stdout, output.stderr);
}

#[test]
fn two_engines_of_one_project() {
    let environment = example("tenants");
    let engines = ["--engine", "bundled", "--engine", "proxysql-2.7"];
    let output = environment
        .run([&["prove", "equivalent", "."][..], &engines].concat())
        .unwrap();
    assert!(
        matches!(output.code(), Some(3 | 8)),
        "{}{}",
        output.stdout,
        output.stderr
    );
    let output = environment.run(["prove", "equivalent", "."]).unwrap();
    assert_eq!(output.code(), Some(64), "{}", output.stderr);
}

#[test]
fn one_rule_set_on_two_versions_of_an_engine() {
    let environment = with_rules();
    let compared = |file: &str| {
        let versions = ["--engine", "proxysql-2.7", "--engine", "proxysql-3.0"];
        environment
            .run([&["prove", "equivalent", file], &versions[..]].concat())
            .unwrap()
    };
    let same = compared("rules.sql");
    assert_eq!(same.code(), Some(0), "{}{}", same.stdout, same.stderr);
    // The last rule applies, which switches fast routing off up to 3.0.8.
    let fast = environment.read("rules.sql").unwrap()
        + "INSERT INTO mysql_query_rules_fast_routing (username, schemaname, flagIN, destination_hostgroup, comment) \
           VALUES ('app', 'shop', 0, 2, '');\n";
    environment.write("fast.sql", fast).unwrap();
    let refuted = compared("fast.sql");
    assert_eq!(refuted.code(), Some(3), "{}{}", refuted.stdout, refuted.stderr);
    assert!(
        refuted.stdout.contains("user=app schema=shop"),
        "{}",
        refuted.stdout
    );
    let set =
        environment.read("rules.sql").unwrap() + "SET mysql-query_processor_first_comment_parsing='1';\n";
    environment.write("early.sql", set).unwrap();
    let undecided = compared("early.sql");
    assert_eq!(
        undecided.code(),
        Some(8),
        "{}{}",
        undecided.stdout,
        undecided.stderr
    );
    assert!(
        undecided.stdout.contains("are not read after the rules"),
        "{}",
        undecided.stdout
    );
}

#[test]
fn differences_of_sessions_and_of_effects_are_told() {
    let environment = with_rules();
    let rules = environment.read("rules.sql").unwrap();
    for (file, from, to) in [
        ("schema.sql", "'canary', 1, 'shop'", "'canary', 1, 'zzz'"),
        (
            "delayed.sql",
            "LOAD",
            "UPDATE mysql_query_rules SET delay=700 WHERE rule_id=10;\nLOAD",
        ),
        (
            "port.sql",
            "LOAD",
            "INSERT INTO mysql_query_rules (rule_id, active, client_addr, proxy_port, destination_hostgroup, apply) \
             VALUES (5, 1, '10.1.%', 6034, 1, 1);\nLOAD",
        ),
    ] {
        environment.write(file, rules.replace(from, to)).unwrap();
    }
    let prove = |other: &str| {
        environment
            .run(["prove", "equivalent", "rules.sql", other])
            .unwrap()
            .stdout
    };
    insta::assert_snapshot!(prove("schema.sql"), @r"
    refuted: 1 of the statements that go different ways
      user=app  SELECT 1
        rules.sql   shop reader (hostgroup 2) in schema shop, by mysql_query_rules.10 (rules.sql:5)
        schema.sql  shop reader (hostgroup 2) in schema zzz, by mysql_query_rules.10 (schema.sql:5)
    ");
    insta::assert_snapshot!(prove("delayed.sql"), @r"
    refuted: 1 of the statements that go different ways
      user=app schema=shop  SELECT a FROM t WHERE id=1
        rules.sql    shop reader (hostgroup 2), without effects, by mysql_query_rules.10 (rules.sql:5)
        delayed.sql  shop reader (hostgroup 2), delayed 700 ms, by mysql_query_rules.10 (delayed.sql:5)
    ");
    insta::assert_snapshot!(prove("port.sql"), @r"
    refuted: 1 of the statements that go different ways
      user=app schema=shop client=10.1.0.2 listener=0.0.0.0:6034  SELECT a FROM t WHERE id=1
        rules.sql  shop reader (hostgroup 2), by mysql_query_rules.10 (rules.sql:5)
        port.sql   shop writer (hostgroup 1), by mysql_query_rules.5 (port.sql:7)
    undecided because of
      hostgroup 1, which a rule of one side names and the other side takes as the user's default: only sessions that are bound to another hostgroup can tell them apart
    ");
    let route = [
        "route",
        "--rules",
        "rules.sql",
        "--against",
        "delayed.sql",
        "--format",
        "json",
        "SELECT a FROM t",
    ];
    let answer: Value = serde_json::from_str(&environment.run(route).unwrap().stdout).unwrap();
    assert_eq!(
        (&answer["same"], &answer["against"]["effects"]["delay_ms"]),
        (&Value::Bool(false), &Value::from(700))
    );
}

/// What a driver sends ends as it was written, and rules may look there.
#[test]
fn one_statement_is_routed_as_it_stands() {
    let environment = with_rules();
    let fixed = environment
        .read("fixed.sql")
        .unwrap()
        .replace("match_digest", "match_pattern");
    environment.write("patterns.sql", fixed).unwrap();
    let hostgroup = |more: &[&str]| {
        let arguments = [&["route", "--rules", "patterns.sql", "--format", "json"], more].concat();
        let answer: Value = serde_json::from_str(&environment.run(arguments).unwrap().stdout).unwrap();
        answer["hostgroup"].as_u64()
    };
    assert_eq!(hostgroup(&["SELECT 1 FOR UPDATE"]), Some(1));
    assert_eq!(hostgroup(&["SELECT 1 FOR UPDATE;"]), Some(2));
    assert_eq!(
        hostgroup(&["--client-profile", "mysql-command", "SELECT 1 FOR UPDATE;"]),
        Some(1)
    );
    assert_eq!(hostgroup(&[" SELECT 1"]), Some(1));
}

/// What a terminal would obey is data: JSON has it, people see that something is there.
#[test]
fn control_characters_do_not_reach_the_terminal() {
    let environment = with_rules();
    let rules = environment.read("rules.sql").unwrap();
    let rule = "INSERT INTO mysql_query_rules (rule_id, active, match_pattern, replace_pattern, destination_hostgroup, apply) \
                VALUES (5, 1, '^\u{1b}[[]2J', 'x\u{1b}', 2, 1);\nLOAD";
    environment
        .write("escape.sql", rules.replace("LOAD", rule))
        .unwrap();
    let text = "\u{1b}[2J";
    for arguments in [
        &["prove", "equivalent", "rules.sql", "escape.sql"][..],
        &["route", "--rules", "escape.sql", text],
        &["route", "--rules", "escape.sql", "SELECT 1; \u{1b}[2J"],
    ] {
        let output = environment.run(arguments).unwrap();
        assert!(!output.stdout.contains('\u{1b}'), "{output}");
        assert!(output.stdout.contains('\u{fffd}'), "{output}");
    }
}

#[test]
fn recorded_statements_are_tried_first() {
    let environment = with_rules();
    // Which statement has a digest with this hash, nobody can tell from the hash.
    let hash = shardwright_sql::Digest::of(b"SELECT total FROM invoices WHERE id=7").hash;
    let rule = |hostgroup: u32| {
        format!(
            "INSERT INTO mysql_query_rules (rule_id, active, digest, destination_hostgroup, apply) \
             VALUES (5, 1, '0x{hash:016X}', {hostgroup}, 1);\n"
        )
    };
    let rules = environment.read("rules.sql").unwrap();
    environment.write("a.sql", rules.clone() + &rule(1)).unwrap();
    environment.write("b.sql", rules + &rule(3)).unwrap();
    environment
        .write("queries.txt", "SELECT 1\nSELECT total FROM invoices WHERE id=8\n")
        .unwrap();
    let without = environment
        .run(["prove", "equivalent", "a.sql", "b.sql"])
        .unwrap();
    assert_eq!(without.code(), Some(8), "{without}");
    let with = environment
        .run([
            "prove",
            "equivalent",
            "a.sql",
            "b.sql",
            "--log",
            "queries.txt",
            "--log-format",
            "queries",
            "--budget",
            "2",
        ])
        .unwrap();
    assert_eq!(with.code(), Some(3), "{with}");
    let shown = "user=app schema=shop  SELECT total FROM invoices WHERE id=8";
    assert!(with.stdout.contains(shown), "{with}");
    let none = environment
        .run(["prove", "equivalent", "a.sql", "b.sql", "--budget", "0"])
        .unwrap();
    assert_eq!(none.code(), Some(64), "{none}");
}
