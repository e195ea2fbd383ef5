//! `import` and `init --from`: existing rule sets as projects.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::Value;
use shardwright_testkit::{CommandEnvironment, ProxySql, ProxySqlOptions, real_proxysql};

use crate::support::PROGRAM;

const PASSWORD: &str = "canary-of-app";

const RULES: &str = "
INSERT INTO mysql_servers (hostgroup_id, hostname, weight, max_connections) VALUES
  (10, 'db1.shop.internal', 1000, 500), (20, 'db2.shop.internal', 1000, 500), (20, 'db3.shop.internal', 500, 500),
  (30, 'dwh1', 1, 1000), (30, 'dwh2', 1, 1000), (40, 'logs', 1, 1000);
INSERT INTO mysql_users (username, password, default_hostgroup, default_schema, max_connections) VALUES
  ('app', 'canary-of-app', 10, 'shop', 2000), ('report', 'canary-of-report', 30, NULL, 10000);
INSERT INTO mysql_query_rules (rule_id, active, username, match_digest, destination_hostgroup, delay, error_msg, apply) VALUES
  (1, 1, NULL, '^DELETE FROM audit', NULL, 50, NULL, 0),
  (2, 1, NULL, '^DROP ', NULL, NULL, 'goes through change management', 1),
  (3, 1, NULL, '^SELECT .* FROM (facts|dim)_', 30, NULL, NULL, 1),
  (4, 1, NULL, '^INSERT INTO log_', 40, NULL, NULL, 1),
  (9, 0, NULL, '^SHOW', 20, NULL, NULL, 1),
  (50, 1, 'app', '^SELECT.*FOR UPDATE', 10, NULL, NULL, 1),
  (51, 1, 'app', '^SELECT', 20, NULL, NULL, 1);
INSERT INTO mysql_query_rules_fast_routing (username, schemaname, flagIN, destination_hostgroup, comment) VALUES
  ('app', 'archive', 0, 30, '');
";

fn imported(arguments: &[&str]) -> (CommandEnvironment, Value) {
    let environment = CommandEnvironment::new(PROGRAM).unwrap();
    environment.write("rules.sql", RULES).unwrap();
    let all = [
        &["import", "rules.sql", "-o", "shop", "--format", "json"],
        arguments,
    ]
    .concat();
    let run = environment.run(all).unwrap();
    assert_eq!(run.code(), Some(0), "{}{}", run.stdout, run.stderr);
    assert!(!run.stdout.contains("canary") && !run.stderr.contains("canary"));
    let report = serde_json::from_str(&run.stdout).unwrap();
    (environment, report)
}

/// Only the hostgroup that refuses executions is new: the source lets those end the engine.
fn assert_explained(report: &Value) {
    for difference in report["differences"].as_array().unwrap() {
        let why = difference["why"].as_str().unwrap_or_default();
        assert!(why.starts_with("executions of prepared statements"), "{report}");
    }
}

#[test]
fn a_script_becomes_a_project_that_is_proved_equal() {
    let (environment, report) = imported(&[]);
    assert_explained(&report);
    assert_eq!(report["proof"]["answer"], "proved", "{report}");
    assert_eq!(
        report["unwritten"],
        serde_json::json!([{
            "what": "1 row of fast routing",
            "why": "the last rule, 51, has apply = 1, so ProxySQL looks none of them up (ProxySQL #5620)"
        }])
    );
    assert_eq!(report["environment"], serde_json::json!([]), "{report}");
    for (arguments, answer) in [
        (vec!["-C", "shop", "validate"], "valid for proxysql-2.7"),
        (vec!["prove", "equivalent", "shop", "rules.sql"], "proved"),
        (vec!["-C", "shop", "compile", "--check"], ""),
        (vec!["-C", "shop", "fmt", "--check"], ""),
    ] {
        let run = environment.run(&arguments).unwrap();
        assert_eq!(run.code(), Some(0), "{arguments:?}: {}{}", run.stdout, run.stderr);
        assert!(
            format!("{}{}", run.stdout, run.stderr).contains(answer),
            "{arguments:?}"
        );
    }
}

/// No project makes digests in another way: which rules match is open.
#[test]
fn a_project_that_is_not_proved_equal_says_so_first_and_in_the_exit_code() {
    let environment = CommandEnvironment::new(PROGRAM).unwrap();
    let digests = "SET mysql-query_digests_lowercase='true';";
    environment
        .write("rules.sql", format!("{RULES}{digests}"))
        .unwrap();
    let run = environment.run(["import", "rules.sql", "-o", "shop"]).unwrap();
    assert_eq!(run.code(), Some(8), "{run}");
    let line = run.stdout.lines().nth(1).unwrap();
    assert!(
        line.starts_with(
            "error: the project is not proved equal to rules.sql: not decided: rules that match digests, while the variables that shape digests differ"
        ),
        "{line}"
    );
    assert!(environment.project().join("shop/shardwright.yaml").exists());
    let run = environment
        .run(["import", "rules.sql", "-o", "again", "--format", "json"])
        .unwrap();
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(report["proof"]["answer"], "undecided", "{report}");
    assert_eq!(run.code(), Some(8), "{run}");
}

#[test]
fn passwords_are_in_files_that_only_their_owner_reads() {
    let (environment, report) = imported(&[]);
    let shop = environment.project().join("shop");
    let mut secrets = 0;
    for file in report["files"].as_array().unwrap() {
        let path = shop.join(file.as_str().unwrap());
        let text = std::fs::read_to_string(&path).unwrap();
        let is_secret = path.starts_with(shop.join("secrets"));
        assert!(is_secret || !text.contains("canary"), "{}", path.display());
        if is_secret {
            secrets += 1;
            assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        }
    }
    assert_eq!(secrets, 3, "two users and what hides them from git: {report}");
    assert_eq!(
        shop.join("secrets").metadata().unwrap().permissions().mode() & 0o777,
        0o700
    );
    assert_eq!(
        std::fs::read_to_string(shop.join("secrets/app")).unwrap(),
        PASSWORD
    );
}

#[test]
fn without_files_the_report_says_which_variables_to_set() {
    let (environment, report) = imported(&["--secrets", "env"]);
    assert_eq!(
        report["environment"],
        serde_json::json!(["APP_PASSWORD", "REPORT_PASSWORD"])
    );
    assert!(!environment.project().join("shop/secrets").exists());
}

#[test]
fn an_import_overwrites_nothing() {
    let (environment, _) = imported(&[]);
    let again = environment.run(["import", "rules.sql", "-o", "shop"]).unwrap();
    assert_eq!(again.code(), Some(1), "{}", again.stderr);
    assert!(again.stderr.contains("nothing was written"), "{}", again.stderr);
}

#[test]
fn half_a_rule_set_is_no_project() {
    let environment = CommandEnvironment::new(PROGRAM).unwrap();
    environment
        .write(
            "rules.sql",
            "INSERT INTO mysql_servers (hostgroup_id) VALUES (1);",
        )
        .unwrap();
    let run = environment.run(["import", "rules.sql", "-o", "shop"]).unwrap();
    assert_eq!(run.code(), Some(65), "{}", run.stderr);
    assert!(!environment.project().join("shop").exists());
}

#[test]
fn a_password_in_an_address_is_refused_and_not_shown() {
    let environment = CommandEnvironment::new(PROGRAM).unwrap();
    for source in [
        "mysql://admin:canary@127.0.0.1:1",
        "mysql://admin:canary@127.0.0.1:x",
        "mysql://:canary@",
    ] {
        let run = environment.run(["import", source, "-o", "shop"]).unwrap();
        assert_eq!(run.code(), Some(64), "{source}: {}", run.stderr);
        assert!(!run.stderr.contains("canary"), "{}", run.stderr);
    }
}

/// A ProxySQL that runs the rules and these statements besides, and its address.
pub(crate) fn running(binary: &Path, besides: &str) -> (ProxySql, CommandEnvironment, String) {
    let proxysql = ProxySql::start(binary, &ProxySqlOptions::default()).unwrap();
    let text = format!("{RULES}{besides}");
    let statements = text.split(";\n").filter(|statement| !statement.trim().is_empty());
    let load = ["SERVERS", "USERS", "QUERY RULES"].map(|module| format!("LOAD MYSQL {module} TO RUNTIME"));
    proxysql.run(statements.map(str::to_owned).chain(load)).unwrap();
    let mut environment = CommandEnvironment::new(PROGRAM).unwrap();
    environment.set("PX_ADMIN", "admin");
    let source = format!("mysql://admin@{}", proxysql.admin_address());
    (proxysql, environment, source)
}

/// Comments that people wrote.
const REMARKS: &str = "UPDATE mysql_servers SET comment='ask Anna' WHERE hostgroup_id=10;
UPDATE mysql_users SET comment='since 2019' WHERE username='app';
";

/// The engine looks the row up nowhere, so that no project has it, and a first plan removes it.
const WITHOUT_DEAD_ROWS: &str = "DELETE FROM mysql_query_rules_fast_routing;
";

#[test]
fn a_project_that_keeps_every_rule_does_not_differ_from_its_source() {
    let Some(binary) = real_proxysql("a project of a running ProxySQL") else {
        return;
    };
    let (proxysql, environment, source) = running(&binary, &format!("{REMARKS}{WITHOUT_DEAD_ROWS}"));
    let init = [
        "init",
        "--from",
        &source,
        "--password-env",
        "PX_ADMIN",
        "--only-exact",
        "shop",
    ];
    let made = environment.run(init).unwrap();
    assert_eq!(made.code(), Some(0), "{made}");
    let diff = || environment.run(["-C", "shop", "diff"]).unwrap();
    let first = diff();
    assert_eq!(first.code(), Some(0), "{}{}", first.stdout, first.stderr);
    // A row that changes gets our comment; the others keep theirs.
    let path = environment.project().join("shop/topology/clusters.yaml");
    let clusters = std::fs::read_to_string(&path).unwrap();
    let changed = clusters.replace("{host: dwh1}", "{host: dwh1, weight: 7}");
    assert_ne!(changed, clusters, "{clusters}");
    std::fs::write(&path, changed).unwrap();
    let plan = environment.run(["-C", "shop", "plan"]).unwrap().success();
    assert!(plan.stdout.contains("weight 1 → 7"), "{}", plan.stdout);
    assert!(!plan.stdout.contains("db1"), "{}", plan.stdout);
    let applied = environment
        .run(["-C", "shop", "apply", "--auto-approve"])
        .unwrap();
    assert_eq!(applied.code(), Some(0), "{applied}");
    assert_eq!(diff().code(), Some(0));
    let rows = proxysql
        .run(["SELECT hostname, comment FROM mysql_servers WHERE hostgroup_id IN (10, 30) ORDER BY hostname"])
        .unwrap();
    let texts: Vec<&str> = rows
        .iter()
        .flatten()
        .map(|cell| cell.as_deref().unwrap())
        .collect();
    assert_eq!(
        texts,
        [
            "db1.shop.internal",
            "ask Anna",
            "dwh1",
            "clusters.hg30.servers.dwh1",
            "dwh2",
            ""
        ]
    );
    let rows = proxysql
        .run(["SELECT DISTINCT comment FROM mysql_users WHERE username='app'"])
        .unwrap();
    assert_eq!(rows[0][0].as_deref(), Some("since 2019"), "{rows:?}");
}

#[test]
fn lifted_rules_are_all_that_differs_from_a_source() {
    let Some(binary) = real_proxysql("a project of a running ProxySQL") else {
        return;
    };
    let (_proxysql, environment, source) = running(&binary, &format!("{REMARKS}{WITHOUT_DEAD_ROWS}"));
    let init = ["init", "--from", &source, "--password-env", "PX_ADMIN", "shop"];
    let made = environment.run(init).unwrap();
    assert_eq!(made.code(), Some(0), "{made}");
    let diff = environment
        .run(["-C", "shop", "diff", "--format", "json"])
        .unwrap();
    assert_eq!(diff.code(), Some(2), "{}{}", diff.stdout, diff.stderr);
    let plan: Value = serde_json::from_str(&diff.stdout).unwrap();
    let effects = plan["effects"].as_array().unwrap();
    assert!(!effects.is_empty());
    for row in effects
        .iter()
        .flat_map(|effect| effect["rows"].as_array().unwrap())
    {
        // A route that refuses has a hostgroup that refuses executions.
        let is_refuser = row["action"] == "add" && row["row"].to_string().contains("mysql_servers");
        let is_rule = row["row"]["rule"].is_number();
        assert!(is_rule || is_refuser, "{row}");
    }
}

#[test]
fn a_running_proxysql_becomes_a_project_without_a_difference() {
    let Some(binary) = real_proxysql("a project of a running ProxySQL") else {
        return;
    };
    let (proxysql, mut environment, source) = running(&binary, "");
    let arguments = [
        "init",
        "--from",
        &source,
        "--password-env",
        "PX_ADMIN",
        "shop",
        "--format",
        "json",
    ];
    let run = environment.run(arguments).unwrap();
    assert_eq!(run.code(), Some(0), "{}{}", run.stdout, run.stderr);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_explained(&report);
    let project = std::fs::read_to_string(environment.project().join("shop/shardwright.yaml")).unwrap();
    assert!(project.contains("password: {env: PX_ADMIN}"), "{project}");
    // The same rules as those of the script that it was loaded with.
    environment.write("rules.sql", RULES).unwrap();
    let proved = environment
        .run(["prove", "equivalent", "shop", "rules.sql"])
        .unwrap();
    assert_eq!(proved.code(), Some(0), "{}{}", proved.stdout, proved.stderr);
    // Nothing was changed there.
    let rows = proxysql.run(["SELECT COUNT(*) FROM mysql_query_rules"]).unwrap();
    assert_eq!(rows[0][0].as_deref(), Some("7"), "{rows:?}");
    // Applied, it is what runs, and what another import finds.
    let applied = environment
        .run(["-C", "shop", "apply", "--auto-approve"])
        .unwrap();
    assert_eq!(applied.code(), Some(0), "{}{}", applied.stdout, applied.stderr);
    let diff = environment.run(["-C", "shop", "diff"]).unwrap();
    assert_eq!(diff.code(), Some(0), "{}{}", diff.stdout, diff.stderr);
    let again = environment.run([
        "init",
        "--from",
        &source,
        "--password-env",
        "PX_ADMIN",
        "again",
        "--format",
        "json",
    ]);
    let again = again.unwrap();
    assert_eq!(again.code(), Some(0), "{}{}", again.stdout, again.stderr);
    let proved = environment.run(["prove", "equivalent", "again", "shop"]).unwrap();
    assert_eq!(proved.code(), Some(0), "{}{}", proved.stdout, proved.stderr);
    let rules = std::fs::read_to_string(environment.project().join("again/topology/rules.yaml")).unwrap();
    assert!(!rules.contains("rule_id: -"), "{rules}");
    environment.set("PX_ADMIN", "wrong");
    let wrong = environment
        .run(["import", &source, "--password-env", "PX_ADMIN", "-o", "other"])
        .unwrap();
    assert_eq!(wrong.code(), Some(1), "{}", wrong.stderr);
}

const ADMIN_CNF: &str = "export CLUSTER_HOSTNAME='pxc1.db'
export CLUSTER_APP_USERNAME='app'
export CLUSTER_APP_PASSWORD='canary-of-app'
export MONITOR_USERNAME='watch'
export MONITOR_PASSWORD='canary-of-watch'
export WRITER_HOSTGROUP_ID='10'
export READER_HOSTGROUP_ID='11'
export BACKUP_WRITER_HOSTGROUP_ID='12'
export OFFLINE_HOSTGROUP_ID='13'
export MODE='singlewrite'
";

const SCHEDULER: &str = "[pxccluster]
hgW = 100
hgR = 101
singlePrimary = true
maxNumWriters = 1
writerIsAlsoReader = 1
retryDown = 2

[proxysql]
host = \"10.0.0.7\"
port = 6032
user = \"admin\"
password = \"canary-of-admin\"
";

const SETUP: &str = "[setup]
clusterHost = \"pxc1.db\"
clusterAppUser = \"app\"
clusterAppUserPassword = \"canary-of-app\"
monitorUser = \"watch\"
monitorUserPassword = \"canary-of-watch\"
";

/// A file of one of Percona's tools as a project, which must be valid; what was said.
fn of_tool(name: &str, text: &str) -> String {
    let environment = CommandEnvironment::new(PROGRAM).unwrap();
    environment.write(name, text).unwrap();
    let run = environment.run(["init", "--from", name, "shop"]).unwrap();
    assert_eq!(run.code(), Some(0), "{run}");
    assert!(!format!("{run}").contains("canary"), "{run}");
    let valid = environment.run(["-C", "shop", "validate"]).unwrap();
    assert_eq!(valid.code(), Some(0), "{valid}");
    let password = std::fs::read_to_string(environment.project().join("shop/secrets/app")).unwrap();
    assert_eq!(password.trim_end(), "canary-of-app");
    run.stdout
}

#[test]
fn files_of_perconas_tools_become_projects() {
    let admin = of_tool("proxysql-admin.cnf", ADMIN_CNF);
    assert!(admin.contains("2 of 2 rules"), "{admin}");
    let scheduler = of_tool("config.toml", &format!("{SCHEDULER}{SETUP}"));
    assert!(scheduler.contains("2 of 2 rules"), "{scheduler}");
    let stays = "pxccluster.retryDown: when pxc_scheduler_handler takes a server out and puts it back";
    assert!(scheduler.contains(stays), "{scheduler}");
}

#[test]
fn a_scheduler_without_servers_says_where_they_are() {
    let environment = CommandEnvironment::new(PROGRAM).unwrap();
    environment.write("config.toml", SCHEDULER).unwrap();
    let run = environment
        .run(["init", "--from", "config.toml", "shop"])
        .unwrap();
    assert_eq!(run.code(), Some(65), "{run}");
    assert!(
        run.stderr.contains("--scheduler: mysql://USER@10.0.0.7:6032"),
        "{run}"
    );
    assert!(!environment.project().join("shop").exists());
}

#[test]
fn a_live_proxy_whose_servers_a_scheduler_moves_has_no_difference_before_and_after_a_failover() {
    let Some(binary) = real_proxysql("servers that a scheduler moves on a real ProxySQL") else {
        return;
    };
    let proxysql = ProxySql::start(&binary, &ProxySqlOptions::default()).unwrap();
    let run = |statements: &[&str]| {
        let statements: Vec<String> = statements.iter().map(|&text| text.to_owned()).collect();
        proxysql.run(&statements).unwrap()
    };
    run(&[
        "DELETE FROM mysql_servers",
        "DELETE FROM mysql_query_rules",
        "DELETE FROM mysql_users",
        "INSERT INTO mysql_servers (hostname, hostgroup_id, weight) VALUES ('pxc1', 8100, 1000), ('pxc2', 8100, 999), \
         ('pxc1', 8101, 900), ('pxc2', 8101, 1000), ('pxc1', 100, 1000), ('pxc1', 101, 900), ('pxc2', 101, 1000)",
        "INSERT INTO mysql_users (username, password, default_hostgroup) VALUES \
         ('app', '*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19', 100)",
        "LOAD MYSQL SERVERS TO RUNTIME",
        "LOAD MYSQL QUERY RULES TO RUNTIME",
        "LOAD MYSQL USERS TO RUNTIME",
        "SAVE MYSQL SERVERS TO DISK",
    ]);
    let mut environment = CommandEnvironment::new(PROGRAM).unwrap();
    environment.write("config.toml", SCHEDULER).unwrap();
    environment.set("SHARDWRIGHT_ADMIN_PASSWORD", "admin");
    let address = format!("mysql://admin@{}", proxysql.admin_address());
    let arguments = ["init", "--from", &address, "--scheduler", "config.toml", "shop"];
    let init = environment.run(arguments).unwrap();
    assert_eq!(init.code(), Some(0), "{init}");
    let diff = || environment.run(["-C", "shop", "diff"]).unwrap();
    let before = diff();
    assert_eq!(before.code(), Some(0), "{init}{before}");
    // The program moves the writer, and what has failed out of the way.
    run(&[
        "UPDATE mysql_servers SET hostgroup_id = 9100 WHERE hostname = 'pxc1' AND hostgroup_id = 100",
        "UPDATE mysql_servers SET hostgroup_id = 9101 WHERE hostname = 'pxc1' AND hostgroup_id = 101",
        "INSERT INTO mysql_servers (hostname, hostgroup_id, weight) VALUES ('pxc2', 100, 999)",
        "LOAD MYSQL SERVERS TO RUNTIME",
    ]);
    let after = diff();
    assert_eq!(after.code(), Some(0), "{after}");
    // What nobody moves is a difference.
    run(&[
        "UPDATE mysql_servers SET weight = 5 WHERE hostgroup_id = 8100 AND hostname = 'pxc2'",
        "LOAD MYSQL SERVERS TO RUNTIME",
    ]);
    let changed = diff();
    assert_eq!(changed.code(), Some(2), "{changed}");
    assert!(
        changed
            .stdout
            .contains("clusters.pxc-writer-templates.servers.pxc2"),
        "{changed}"
    );
}
