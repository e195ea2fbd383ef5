//! `lint`: what counts, what comments allow, baselines, fixes, and the team's own rules.

use serde_json::Value;
use shardwright_rules::tables::RULE_COLUMNS;
use shardwright_testkit::{CommandEnvironment, CommandOutput};

use crate::support::PROGRAM;

const TOPOLOGY: &str = "\
version: 1
clusters:
  shop: {type: replication, servers: {a: {host: a.db}, b: {host: b.db}}}
  bulk: {type: single, servers: {a: {host: c.db}}}
users:
  app: {password: {env: APP}, cluster: shop, schema: app}
query_rules:
  legacy:
    rules:
      - {match_digest: ^SELECT, cluster: bulk, apply: 1}
      - {match_digest: ^SELECT a, cluster: shop, apply: 1}
      - {match_digest: ^DELETE, cluster: bulk, apply: 1}
";

/// With these, clients learn why they are refused (SW334).
const SETTINGS: &str = "\
version: 1
engine_settings:
  proxysql:
    refuser: {host: 127.0.0.1, port: 6100}
";

pub(crate) fn project(lint: &str, topology: &str) -> CommandEnvironment {
    let environment = CommandEnvironment::new(PROGRAM).unwrap();
    environment
        .write(
            "shardwright.yaml",
            format!("version: 1\nengines: [proxysql-2.7]\n{lint}"),
        )
        .unwrap();
    environment.write("topology/shop.yaml", topology).unwrap();
    environment.write("topology/settings.yaml", SETTINGS).unwrap();
    environment
}

/// Code and severity of each finding but SW322, a note that every one of these projects has, and SW244, a warning about
/// reads that leave the user's hostgroup, as those of all these projects do.
fn found(output: &CommandOutput) -> Vec<String> {
    let answer: Value =
        serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output}"));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let findings = answer["findings"].as_array().unwrap();
    findings
        .iter()
        .filter(|finding| finding["code"] != "SW322" && finding["code"] != "SW244")
        .map(|finding| format!("{} {}", text(&finding["code"]), text(&finding["severity"])))
        .collect()
}

fn lint(environment: &CommandEnvironment, more: &[&str]) -> Vec<String> {
    let output = environment
        .run([&["lint", "--format", "json"], more].concat())
        .unwrap();
    found(&output)
}

#[test]
fn what_counts_is_settled_by_code_and_by_path() {
    for (settings, expected) in [
        ("", &["SW201 error"][..]),
        ("lint: {ignore: [SW2]}\n", &[]),
        ("lint: {select: [SW7]}\n", &[]),
        ("lint: {severity: {SW2: info}}\n", &["SW201 info"]),
        (
            "lint: {severity: {SW2: info, SW201: warning}}\n",
            &["SW201 warning"],
        ),
        ("lint: {paths: [{path: \"topology/*\", ignore: [SW20]}]}\n", &[]),
        (
            "lint: {paths: [{path: \"other/*\", ignore: [SW20]}]}\n",
            &["SW201 error"],
        ),
        (
            "lint: {paths: [{path: topology/shop.yaml, select: [SW3]}]}\n",
            &[],
        ),
        (
            "lint: {severity: {SW201: info}, paths: [{path: \"*\", severity: {SW2: warning}}]}\n",
            &["SW201 warning"],
        ),
    ] {
        let environment = project(settings, TOPOLOGY);
        assert_eq!(lint(&environment, &[]), expected, "{settings}");
    }
    let environment = project("lint: {ignore: [SW2]}\n", TOPOLOGY);
    assert_eq!(lint(&environment, &["--ignore", "SW7"]), ["SW201 error"]);
}

#[test]
fn bad_settings_are_told() {
    let environment = project(
        "lint: {select: [201], severity: {SW2: grave, X: info}, paths: [{ignore: [SW2]}]}\n",
        TOPOLOGY,
    );
    let output = environment.run(["lint"]).unwrap();
    assert_eq!(output.code(), Some(78), "{output}");
    insta::assert_snapshot!(output.stderr);
}

#[test]
fn comments_allow_findings_until_their_day() {
    let allowed = |comment: &str| {
        TOPOLOGY.replace(
            "      - {match_digest: ^SELECT a",
            &format!("      {comment}\n      - {{match_digest: ^SELECT a"),
        )
    };
    let trailing = |comment: &str| TOPOLOGY.replace("  legacy:\n", &format!("  legacy: {comment}\n"));
    let today = ["--today", "2027-03-31"];
    for (topology, expected) in [
        (
            allowed("# shardwright: allow SW201: kept for the migration"),
            &[][..],
        ),
        (
            allowed("# shardwright: allow SW201 until 2027-03-31: one more day"),
            &[],
        ),
        (
            trailing("# shardwright: allow SW201, SW202: all of the block"),
            &["SW810 warning"],
        ),
        (
            allowed("# shardwright: allow SW201 until 2027-03-30: too late"),
            &["SW201 error", "SW811 warning"],
        ),
        (
            allowed("# shardwright: allow SW202: another"),
            &["SW201 error", "SW810 warning"],
        ),
        (
            allowed("# shardwright: allow SW2O1: a letter"),
            &["SW201 error", "SW812 error"],
        ),
        (
            allowed("# shardwright: permit SW201"),
            &["SW201 error", "SW812 error"],
        ),
        (
            allowed("# shardwright: allow SW201 until tomorrow: x"),
            &["SW201 error", "SW812 error"],
        ),
    ] {
        let environment = project("", &topology);
        let mut codes = lint(&environment, &today);
        codes.sort();
        assert_eq!(codes, expected, "{topology}");
    }
    let without = allowed("# shardwright: allow SW201");
    let free = project("lint: {require_reason: false}\n", &without);
    assert_eq!(lint(&free, &[]), [""; 0]);
    let mut codes = lint(&project("", &without), &[]);
    codes.sort();
    assert_eq!(codes, ["SW201 error", "SW812 error"]);
}

#[test]
fn fixes_keep_where_statements_go() {
    let topology = TOPOLOGY.replace(
        "users:\n",
        "# shardwright: allow SW701: nothing is wrong\nusers:\n",
    );
    let environment = project("", &topology);
    let output = environment.run(["lint", "--fix"]).unwrap();
    // SW244, a warning that has no fix, is left.
    assert_eq!(output.code(), Some(3), "{output}");
    assert!(output.stdout.contains("warning[SW244]"), "{output}");
    assert!(output.stderr.contains("2 fixed\n1 warning, "), "{output}");
    let fixed = environment.read("topology/shop.yaml").unwrap();
    let expected = TOPOLOGY.replace("      - {match_digest: ^SELECT a, cluster: shop, apply: 1}\n", "");
    assert_eq!(fixed, expected);
    let bad = environment.run(["lint", "--unsafe-fixes"]).unwrap();
    assert_eq!(bad.code(), Some(64), "{bad}");
}

#[test]
fn a_file_of_rules_is_graded_as_its_project_says() {
    let settings = "lint:\n  ignore: [SW164]\n  severity: {SW701: info}\n  paths: [{path: \"old/*\", ignore: [SW701]}]\n";
    let environment = project(settings, TOPOLOGY);
    let users = "INSERT INTO mysql_users (username, default_hostgroup) VALUES ('app', 1);\n\
                 LOAD MYSQL USERS TO RUNTIME;\n";
    let rules = &format!(
        "{users}INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES (2, 'db');\nLOAD MYSQL SERVERS TO RUNTIME;\n"
    );
    environment.write("rules.sql", rules).unwrap();
    environment.write("old/rules.sql", rules).unwrap();
    environment.write("users.sql", users).unwrap();
    let codes = |file: &str| lint(&environment, &[file]);
    // Where no server is written, they are elsewhere.
    assert_eq!(codes("users.sql"), [""; 0]);
    assert_eq!(codes("rules.sql"), ["SW701 info"]);
    assert_eq!(codes("old/rules.sql"), [""; 0]);
    // A project that cannot be read says nothing about the file.
    environment.write("topology/shop.yaml", "clustres: {}\n").unwrap();
    let output = environment.run(["lint", "rules.sql"]).unwrap();
    assert!(output.stdout.contains("error[SW701]"), "{output}");
    assert!(output.stderr.contains("settings are not used"), "{output}");
}

#[test]
fn edits_of_fixes_are_in_the_json() {
    let environment = project("", TOPOLOGY);
    let output = environment.run(["lint", "--format", "json"]).unwrap();
    let answer: Value = serde_json::from_str(&output.stdout).unwrap();
    let findings = answer["findings"].as_array().unwrap();
    let fix = &findings
        .iter()
        .find(|finding| finding["code"] == "SW201")
        .unwrap()["fix"];
    assert_eq!(fix["applicability"], "safe", "{output}");
    assert_eq!(fix["edits"].as_array().map(Vec::len), Some(1), "{output}");
}

#[test]
fn a_baseline_leaves_out_what_was_there_before() {
    let environment = project("", TOPOLOGY);
    let none = environment.run(["lint", "--baseline", "known.json"]).unwrap();
    assert_eq!(none.code(), Some(1), "{none}");
    let _written = environment
        .run(["lint", "--baseline", "known.json", "--update-baseline"])
        .unwrap()
        .success();
    assert_eq!(lint(&environment, &["--baseline", "known.json"]), [""; 0]);
    let more = TOPOLOGY.replace("version: 1\n", "version: 1\n# a line more\n")
        + "      - {match_digest: ^DELETE FROM, cluster: shop, apply: 1}\n";
    environment.write("topology/shop.yaml", more).unwrap();
    assert_eq!(lint(&environment, &["--baseline", "known.json"]), ["SW201 error"]);
    let without = TOPOLOGY.replace("      - {match_digest: ^SELECT a, cluster: shop, apply: 1}\n", "");
    environment.write("topology/shop.yaml", without).unwrap();
    let output = environment
        .run(["lint", "--baseline", "known.json"])
        .unwrap()
        .success();
    assert!(
        output.stderr.contains("no longer found: 1 finding of known.json"),
        "{output}"
    );
    environment.write("known.json", "{\"version\": 9}").unwrap();
    let bad = environment.run(["lint", "--baseline", "known.json"]).unwrap();
    assert_eq!(bad.code(), Some(65), "{bad}");
}

#[test]
fn a_team_has_rules_of_its_own() {
    let rules = "\
lint:
  ignore: [SW2]
  rules:
    selects share connections:
      for: rules
      where: {match_digest: {like: \"^SELECT*\"}}
      require: {multiplex: 1}
      message: a SELECT that keeps its connection
      help: write multiplex 1
      severity: error
      tests:
        - {item: {match_digest: ^SELECT x, multiplex: 1}, passes: true}
        - {item: {match_digest: ^SELECT x}, passes: false}
        - {item: {match_digest: ^DELETE}, passes: true}
    clusters have readers:
      for: clusters
      require: {reader: {present: true}, servers: {at_least: 2}}
      message: too few servers
    users are few:
      for: users
      require: {max_connections: {at_most: 100000}, name: [app, jobs], password: true}
      message: an odd user
    servers are of the house:
      for: servers
      require: {host: {like: [\"*.db\", \"*.internal\"]}, status: {not: [offline]}}
      message: a server from elsewhere
    writers are there:
      for: hostgroups
      where: {role: writer}
      require: {servers: {at_least: 1}}
      message: a writer group without servers
";
    let environment = project(rules, TOPOLOGY);
    let output = environment.run(["lint"]).unwrap();
    assert_eq!(output.code(), Some(3), "{output}");
    insta::assert_snapshot!(output.stdout);
}

#[test]
fn a_teams_rule_is_tested_and_its_fields_are_known() {
    let wrong = "\
lint:
  rules:
    a rule:
      for: users
      require: {name: app}
      message: another user
      tests: [{item: {name: jobs}, passes: true}]
";
    let output = project(wrong, TOPOLOGY).run(["lint", "--select", "SW8"]).unwrap();
    assert_eq!(output.code(), Some(3), "{output}");
    assert!(
        output.stdout.contains("test 1 of lint rule a rule does not hold"),
        "{output}"
    );
    let unknown = "\
lint:
  rules:
    unknown field: {for: users, require: {nmae: app}, message: x}
    nothing required: {for: users, require: {}, message: x}
    of nothing: {for: tables, require: {name: app}, message: x}
    without a message: {for: users, require: {name: app}}
    odd test: {for: users, require: {name: {above: 3}}, message: x}
";
    let output = project(unknown, TOPOLOGY).run(["lint"]).unwrap();
    assert_eq!(output.code(), Some(78), "{output}");
    insta::assert_snapshot!(output.stderr);
}

#[test]
fn a_teams_rule_may_ask_for_every_column() {
    let present: String = RULE_COLUMNS
        .iter()
        .map(|column| format!("        {}: {{present: true}}\n", column.name()))
        .collect();
    let rules = format!(
        "\
lint:
  ignore: [SW2]
  rules:
    all at once:
      for: rules
      where:
{present}      require: {{apply: true}}
      message: never
    with case:
      for: rules
      where: {{re_modifiers: GLOBAL, address: {{like: 'query_rules.*'}}}}
      require: {{mirror_flagOUT: {{present: true}}, attributes: {{like: '*flagOUTs*'}}, gtid_from_hostgroup: 7}}
      message: a rule that minds case
"
    );
    let topology = TOPOLOGY.replace(
        "{match_digest: ^SELECT a,",
        "{match_digest: ^SELECT a, re_modifiers: GLOBAL,",
    );
    assert_ne!(topology, TOPOLOGY);
    let output = project(&rules, &topology)
        .run(["lint", "--select", "SW820"])
        .unwrap();
    assert_eq!(output.code(), Some(3), "{output}");
    let told: Vec<&str> = output
        .stdout
        .lines()
        .filter(|line| line.contains("minds case") || line.contains(" is "))
        .collect();
    insta::assert_snapshot!(told.join("\n"), @r"
    warning[SW820]: rule 100400: a rule that minds case
       ├ note:  mirror_flagOUT is none
       ├ note:  attributes is none
       ├ note:  gtid_from_hostgroup is none
    ");
}

/// A comment that `lint` obeys is obeyed by `validate` as well, which does not judge it.
#[test]
fn validate_obeys_comments_that_allow() {
    let topology = "\
version: 1
clusters:
  shop: {type: replication, servers: {a: {host: a.db}, b: {host: b.db}}}
users:
  app: {password: {env: APP}, cluster: shop}
# shardwright: allow SW321 until 2020-01-01: the proxy is replaced soon
throttles:
  slow: {applies_to: {users: [app]}, signal: {threads_running: {start_above: 64, stop_below: 32}}, delay: 5ms, on_unsupported: skip}
";
    let environment = crate::support::project("bundled", &[("topology/shop.yaml", topology)]);
    let notes = || environment.run(["validate", "--notes"]).unwrap().success().stderr;
    assert!(notes().contains("info[SW321]"), "{}", notes());
    let allowed = topology
        .replace("2020-01-01", "2999-01-01")
        .replace("allow SW321", "allow SW321, SW204");
    environment.write("topology/shop.yaml", &allowed).unwrap();
    assert!(
        !notes().contains("SW321") && !notes().contains("SW810"),
        "{}",
        notes()
    );
}

#[test]
fn today_moves_the_end_of_throttles() {
    let topology = "\
version: 1
clusters:
  shop: {type: single, servers: {a: {host: a.db}}}
users:
  app: {password: {env: APP}, cluster: shop}
throttles:
  slow: {applies_to: {users: [app]}, delay: 5ms, until: 2999-01-10T06:00:00Z, reason: purge}
";
    let environment = crate::support::project("bundled", &[("topology/shop.yaml", topology)]);
    let lint = |today: &str| environment.run(["lint", "--today", today]).unwrap().stdout;
    assert!(!lint("2999-01-10").contains("slow"), "{}", lint("2999-01-10"));
    assert!(
        lint("2999-01-11").contains("topology/shop.yaml:7"),
        "{}",
        lint("2999-01-11")
    );
}
