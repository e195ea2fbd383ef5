//! Rule sets without a project: dumps, configuration files, revisions.

use std::process::Command;

use serde_json::Value;
use shardwright_testkit::CommandEnvironment;

use crate::support::{PROGRAM, example};

/// Readers before the lock: the classic mistake.
const RULES: &str = "\
INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES (1, 'db1'), (2, 'db2');
INSERT INTO mysql_replication_hostgroups VALUES (1, 2, 'read_only', 'shop');
INSERT INTO mysql_users (username, password, default_hostgroup, default_schema) VALUES ('app', 'canary', 1, 'shop');
INSERT INTO mysql_query_rules (rule_id, active, match_digest, destination_hostgroup, apply) VALUES
  (10, 1, '^SELECT', 2, 1),
  (20, 1, '^SELECT.*FOR UPDATE$', 1, 1);
LOAD MYSQL QUERY RULES TO RUNTIME; load mysql servers to runtime; load mysql users to runtime;
";

pub(crate) fn with_rules() -> CommandEnvironment {
    let environment = CommandEnvironment::new(PROGRAM).unwrap();
    environment.write("rules.sql", RULES).unwrap();
    let fixed = RULES.replace("(10, 1, '^SELECT', 2, 1)", "(30, 1, '^SELECT', 2, 1)");
    environment.write("fixed.sql", fixed).unwrap();
    environment
}

/// A command in the project's directory that must succeed.
pub(crate) fn git(environment: &CommandEnvironment, arguments: &[&str]) {
    let output = Command::new("git")
        .args([
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@example.org",
            "-c",
            "commit.gpgsign=false",
        ])
        .args(arguments)
        .current_dir(environment.project())
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// The project's files as the first commit of a repository.
pub(crate) fn committed(environment: &CommandEnvironment) {
    git(environment, &["init", "-q", "-b", "main"]);
    git(environment, &["add", "."]);
    git(environment, &["commit", "-q", "-m", "first"]);
}

#[test]
fn lint_of_a_dump_points_at_its_lines() {
    let environment = with_rules();
    let output = environment.run(["lint", "rules.sql"]).unwrap();
    assert_eq!(output.code(), Some(3), "{}", output.stderr);
    assert!(!output.stdout.contains("canary"), "{}", output.stdout);
    insta::assert_snapshot!(output.stdout, @r"
    error[SW401]: rule 10 sends a read that locks its rows to readers
      ╭▸ rules.sql:5:3
      │
    5 │   (10, 1, '^SELECT', 2, 1),
      │   ━━━━━━━━━━━━━━━━━━━━━━━━ places on readers
      │
      ├ example: user=app schema=shop  SELECT a FROM t WHERE id=1 FOR UPDATE
      ├ help:    put a rule before it that keeps such statements on the writer, or use a read/write policy, which sends only provable reads to readers
      ╰ more:    shardwright explain SW401

    warning[SW244]: rule 10 sends reads to hostgroup 2, and `SET @a=1` goes to hostgroup 1: to prepare a read, set a user variable and execute the read crashes the engine for every client (signal 11)
      ╭▸ rules.sql:5:3
      │
    5 │   (10, 1, '^SELECT', 2, 1),
      │   ━━━━━━━━━━━━━━━━━━━━━━━━ leaves the hostgroup that sessions are locked to
      │
      ├ example: user=app schema=shop  SELECT a FROM t WHERE id=1
      ├ note:    PREPARE the read, `SET @a=1`, EXECUTE: error 9006, then signal 11
      ├ help:    set mysql-set_query_lock_on_hostgroup=0 where clients prepare statements, but user variables are then lost between hostgroups
      ╰ more:    shardwright explain SW244

    info[SW406]: rule 10 sends reads to hostgroup 2, and `SET @a=1` goes to hostgroup 1: a session that has set a user variable is locked to 1, and its reads fail with error 9006
      ╭▸ rules.sql:5:3
      │
    5 │   (10, 1, '^SELECT', 2, 1),
      │   ━━━━━━━━━━━━━━━━━━━━━━━━ leaves the hostgroup of user variables
      │
      ├ example: user=app schema=shop  SELECT a FROM t WHERE id=1
      ├ help:    keep the reads of applications that use user variables on the writer
      ╰ more:    shardwright explain SW406

    error[SW201]: rule 20 never matches: rule 10 takes all of its statements
      ╭▸ rules.sql:6:3
      │
    6 │   (20, 1, '^SELECT.*FOR UPDATE$', 1, 1);
      │   ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━ after rule 10
      │
      ├ example: user=app schema=shop  SELECTFOR UPDATE
      ├ note:    rule 10 takes this statement
      ├ help:    move rule 20 before rule 10, or narrow the rules before it
      ├ claim:   proved
      ╰ more:    shardwright explain SW201

    info[SW164]: LOAD and SAVE are not run: the tables count as the running configuration
      ╭▸ rules.sql:7:1
      │
    7 │ LOAD MYSQL QUERY RULES TO RUNTIME; load mysql servers to runtime; load mysql users to runtime;
      │ ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━ the first of them
      │
      ╰ more: shardwright explain SW164
    ");
    let every_lock = "FOR (UPDATE|SHARE)|LOCK IN SHARE MODE|GET_LOCK";
    let safe = RULES
        .replace("(10, 1, '^SELECT', 2, 1)", "(30, 1, '^SELECT', 2, 1)")
        .replace("^SELECT.*FOR UPDATE$", every_lock)
        + "SET mysql-set_query_lock_on_hostgroup=0;\n";
    environment.write("safe.sql", safe).unwrap();
    let output = environment
        .run(["lint", "safe.sql", "--fail-on", "warning"])
        .unwrap();
    assert_eq!(output.code(), Some(0), "{}{}", output.stdout, output.stderr);
    let json = environment
        .run(["lint", "rules.sql", "--format", "json", "--select", "SW2"])
        .unwrap();
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    let findings = json["findings"].as_array().unwrap();
    let found: Vec<_> = findings
        .iter()
        .map(|finding| (&finding["code"], &finding["file"], &finding["line"]))
        .collect();
    let file = Value::from("rules.sql");
    assert_eq!(
        found,
        [
            (&"SW244".into(), &file, &5.into()),
            (&"SW201".into(), &file, &6.into())
        ]
    );
}

#[test]
fn a_file_that_cannot_be_had_is_1() {
    let environment = with_rules();
    for arguments in [
        &["lint", "absent.sql"][..],
        &["route", "--rules", "absent.cnf", "SELECT 1"],
        &["prove", "equivalent", "absent.json", "rules.sql"],
        &["prove", "equivalent", "plan:absent.plan", "rules.sql"],
        &["traffic", "diff", "rules.sql", "fixed.sql", "--log", "absent.log"],
        &["graph", "absent.sql"],
        &["report", "absent.sql"],
        &["show", "absent.plan"],
    ] {
        let output = environment.run(arguments).unwrap();
        assert_eq!(
            output.code(),
            Some(1),
            "{arguments:?}\n{}{}",
            output.stdout,
            output.stderr
        );
        assert!(output.stderr.contains("cannot read absent."), "{}", output.stderr);
    }
}

#[test]
fn what_is_no_rule_set_is_65() {
    let environment = with_rules();
    environment
        .write(
            "bad.sql",
            "INSERT INTO mysql_query_rules (rule_id, cache_ttl) VALUES (1, 0);",
        )
        .unwrap();
    environment.write("bad.cnf", "mysql_query_rules = ( {").unwrap();
    environment.write("bad.json", "{}").unwrap();
    for arguments in [
        &["lint", "bad.sql"][..],
        &["route", "--rules", "bad.cnf", "SELECT 1"],
        &["prove", "equivalent", "bad.json", "rules.sql"],
        &[
            "traffic",
            "diff",
            "rules.sql",
            "fixed.sql",
            "--log",
            "/etc/passwd",
        ],
        &["graph", "bad.sql"],
        &["report", "bad.sql"],
    ] {
        let output = environment.run(arguments).unwrap();
        assert_eq!(
            output.code(),
            Some(65),
            "{arguments:?}\n{}{}",
            output.stdout,
            output.stderr
        );
    }
}

#[test]
fn route_through_a_dump_says_why_rules_are_skipped() {
    let environment = with_rules();
    let output = environment
        .run(["route", "--rules", "fixed.sql", "SELECT 1 FROM t"])
        .unwrap()
        .success();
    insta::assert_snapshot!(output.stdout, @r"
    goes to shop reader (hostgroup 2)
      2 patterns evaluated, 2 rules visited
    because
      - rule 20 mysql_query_rules.20  fixed.sql:6: match_digest does not match: ^SELECT.*FOR UPDATE$
      rule 30 mysql_query_rules.30  fixed.sql:5
           match_digest ^SELECT
    ");
    let script = "BEGIN; SELECT 1 FROM t; COMMIT; SELECT 2 FROM t";
    let output = environment
        .run(["route", "--rules", "fixed.sql", "--format", "json", script])
        .unwrap()
        .success();
    let answers: Value = serde_json::from_str(&output.stdout).unwrap();
    let seen: Vec<(u64, Option<u64>)> = answers
        .as_array()
        .unwrap()
        .iter()
        .map(|answer| {
            (
                answer["hostgroup"].as_u64().unwrap(),
                answer["session"]["transaction_hostgroup"].as_u64(),
            )
        })
        .collect();
    assert_eq!(seen, [(1, None), (1, Some(1)), (1, Some(1)), (2, None)]);
    let skipped = &answers[3]["path"][0];
    assert_eq!(
        (&skipped["rule_id"], &skipped["matched"]),
        (&20.into(), &false.into())
    );
    environment
        .write("session.sql", "-- a comment\nSELECT 1 FROM t;\n")
        .unwrap();
    let output = environment
        .run([
            "route",
            "--rules",
            "rules.sql",
            "--against",
            "fixed.sql",
            "--file",
            "session.sql",
        ])
        .unwrap()
        .success();
    assert!(output.stdout.contains("fixed.sql: the same"), "{}", output.stdout);
    let sql = "SELECT 1 FROM t FOR UPDATE";
    let output = environment
        .run(["route", "--rules", "rules.sql", "--against", "fixed.sql", sql])
        .unwrap()
        .success();
    insta::assert_snapshot!(output.stdout, @r"
    goes to shop reader (hostgroup 2)
      1 patterns evaluated, 1 rules visited
    because
      rule 10 mysql_query_rules.10  rules.sql:5
           match_digest ^SELECT
    fixed.sql:
      goes to shop writer (hostgroup 1)
        1 patterns evaluated, 1 rules visited
      because
        rule 20 mysql_query_rules.20  fixed.sql:6
           match_digest ^SELECT.*FOR UPDATE$
    ");
}

#[test]
fn a_pattern_that_cannot_be_evaluated_leaves_the_route_undecided() {
    let environment = with_rules();
    let rules = RULES.replace("'^SELECT'", "'^(?|SELECT|WITH)'");
    environment.write("opaque.sql", rules).unwrap();
    let route = |sql: &str| {
        let run = environment.run(["route", "--rules", "opaque.sql", "--format", "json", sql]);
        let answer: Value = serde_json::from_str(&run.unwrap().success().stdout).unwrap();
        answer["undecided"].clone()
    };
    assert_eq!(route("SELECT 1 FROM t"), Value::from(vec![10]));
    let text = environment
        .run(["route", "--rules", "opaque.sql", "SELECT 1 FROM t"])
        .unwrap()
        .success();
    assert!(text.stdout.starts_with("undecided, perhaps "), "{}", text.stdout);
    assert!(!text.stdout.contains("never matches"), "{}", text.stdout);
}

#[test]
fn a_client_that_removes_comments_loses_its_key() {
    let environment = example("tenants");
    let sql = "/* tenant=17 */ SELECT 1 FROM t";
    let plain = environment
        .run(["route", "--user", "app", sql])
        .unwrap()
        .success();
    assert!(plain.stdout.starts_with("goes to"), "{}", plain.stdout);
    let arguments = ["route", "--user", "app", "--client-profile", "mysql-command", sql];
    let stripped = environment.run(arguments).unwrap().success();
    assert!(stripped.stdout.starts_with("refused"), "{}", stripped.stdout);
}

#[test]
fn a_revision_is_a_rule_set() {
    let environment = example("tenants");
    committed(&environment);
    let sql = "/* tenant=17 */ SELECT 1 FROM t";
    let output = environment
        .run(["route", "--user", "app", "--against", "git:HEAD", sql])
        .unwrap()
        .success();
    assert!(output.stdout.contains("git:HEAD: the same"), "{}", output.stdout);
    let output = environment
        .run(["route", "--user", "app", "--against", "git:nosuch", sql])
        .unwrap();
    assert_eq!(output.code(), Some(64), "{}", output.stderr);
}

#[test]
fn comments_allow_findings_in_files_of_rules() {
    let environment = CommandEnvironment::new(PROGRAM).unwrap();
    let sql = |over: &str, between: &str, behind: &str| {
        format!(
            "-- a dump\nINSERT INTO mysql_servers (hostgroup_id, hostname) VALUES (1, 'db1');\n{over}\n\
             INSERT INTO mysql_query_rules (rule_id, active, match_digest, destination_hostgroup, apply) VALUES\n\
             (10, 1, '^SELECT', 1, 1),\n{between}\n(20, 1, '^SELECT a', 1, 1){behind}\n;\n"
        )
    };
    let cnf = |over: &str, between: &str, behind: &str| {
        format!(
            "mysql_servers = ({{ hostname = \"db1\"; hostgroup_id = 1 }})\n{over}\nmysql_query_rules =\n(\n\
             {{ rule_id = 10; active = 1; match_digest = \"^SELECT\"; destination_hostgroup = 1; apply = 1 }},\n\
             {between}\n{{ rule_id = 20; {behind}\n active = 1; match_digest = \"^SELECT a\"; destination_hostgroup = 1; \
             apply = 1 }}\n)\n"
        )
    };
    let found = |path: &str, text: String| {
        environment.write(path, &text).unwrap();
        let select = "SW201,SW202,SW810,SW811,SW812";
        let arguments = [
            "lint",
            path,
            "--format",
            "json",
            "--today",
            "2027-03-31",
            "--select",
            select,
        ];
        let answer: Value = serde_json::from_str(&environment.run(arguments).unwrap().stdout).unwrap();
        let findings = answer["findings"].as_array().unwrap().iter();
        findings
            .map(|finding| format!("{}:{}", finding["code"].as_str().unwrap(), finding["line"]))
            .collect::<Vec<_>>()
            .join(" ")
    };
    // What stands over the statement, between its rows, behind the row; and what is found in SQL and in the other.
    for (over, between, behind, in_sql, in_cnf) in [
        ("", "", "", "SW201:7", "SW201:7"),
        ("# shardwright: allow SW201: the old list", "", "", "", ""),
        ("", "# shardwright: allow SW201: one row", "", "", ""),
        (
            "",
            "# shardwright: allow SW201: one row\n# said above",
            "",
            "",
            "",
        ),
        ("", "", " # shardwright: allow SW201: this line", "", ""),
        (
            "",
            "/* shardwright: allow SW201 until 2027-03-31: still */",
            "",
            "",
            "",
        ),
        (
            "",
            "# shardwright: allow SW201 until 2027-03-30: late",
            "",
            "SW811:6 SW201:7",
            "SW811:6 SW201:7",
        ),
        (
            "",
            "# shardwright: allow SW201",
            "",
            "SW812:6 SW201:7",
            "SW812:6 SW201:7",
        ),
        (
            "# shardwright: allow SW202: another",
            "",
            "",
            "SW810:3 SW201:7",
            "SW810:2 SW201:7",
        ),
        (
            "",
            "# for shardwright: allow SW201: not addressed",
            "",
            "SW201:7",
            "SW201:7",
        ),
    ] {
        // Inside of a statement SQLite has no comments that begin with `#`.
        let (within, trailing) = (between.replace('#', "--"), behind.replace('#', "--"));
        assert_eq!(
            found("rules.sql", sql(over, &within, &trailing)),
            in_sql,
            "{over}{between}{behind}"
        );
        assert_eq!(
            found("proxysql.cnf", cnf(over, between, behind)),
            in_cnf,
            "{over}{between}{behind}"
        );
    }
    let dashes = "--shardwright: allow SW201: two dashes begin a comment of SQLite";
    assert_eq!(found("rules.sql", sql("", dashes, "")), "");
    let slashes = "// shardwright: allow SW201: of the file's own kind";
    assert_eq!(found("proxysql.cnf", cnf("", slashes, "")), "");
}

#[test]
fn a_baseline_of_a_dump_leaves_out_what_was_there_before() {
    let environment = with_rules();
    let lint = |more: &[&str]| {
        let output = environment
            .run([&["lint", "rules.sql", "--baseline", "known.json"], more].concat())
            .unwrap();
        (output.code(), output.stderr)
    };
    let (code, said) = lint(&[]);
    assert_eq!(code, Some(1), "{said}");
    let (code, said) = lint(&["--update-baseline"]);
    assert_eq!(code, Some(0), "{said}");
    insta::assert_snapshot!(said, @r"
    rules.sql: reachability decided for 2 of 2 rules
    wrote 5 findings to known.json
    ");
    let (code, said) = lint(&["--fail-on", "info"]);
    assert_eq!(code, Some(0), "{said}");
    environment
        .write(
            "rules.sql",
            RULES.replace("1, 1);\nLOAD", "1, 1),\n  (30, 1, '^SELECT 1', 2, 1);\nLOAD"),
        )
        .unwrap();
    let (code, said) = lint(&[]);
    assert_eq!(code, Some(3), "{said}");
    let (code, said) = lint(&["--fix"]);
    assert_eq!(code, Some(64), "{said}");
}
