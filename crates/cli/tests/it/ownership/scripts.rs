//! `compile --emit sql` on a real ProxySQL that holds rows of others, and after a change that took sections away.

use std::collections::BTreeMap;

use shardwright_testkit::{CommandEnvironment, ProxySql, ProxySqlOptions, TextRow, real_proxysql};

use crate::support::{PROGRAM, lines};

/// Tables with their primary order.
const TABLES: [&str; 9] = [
    "mysql_servers",
    "mysql_replication_hostgroups",
    "mysql_galera_hostgroups",
    "mysql_group_replication_hostgroups",
    "mysql_users",
    "mysql_query_rules",
    "mysql_query_rules_fast_routing",
    "mysql_firewall_whitelist_users",
    "mysql_firewall_whitelist_rules",
];

/// What a DBA and other teams have there before: rows beside ours, and rows that an earlier script of ours left.
const OF_OTHERS: &[&str] = &[
    "INSERT INTO mysql_servers (hostgroup_id, hostname, port, comment) VALUES (5, 'legacy1.db', 3306, 'DBA')",
    "INSERT INTO mysql_servers (hostgroup_id, hostname, port, comment) VALUES (6, 'legacy2.db', 3307, 'DBA')",
    "INSERT INTO mysql_servers (hostgroup_id, hostname, port, comment) VALUES (3000, 's1.db', 3306, 'above our range')",
    "INSERT INTO mysql_replication_hostgroups VALUES (5, 6, 'read_only', 'DBA')",
    "INSERT INTO mysql_galera_hostgroups VALUES (50, 51, 52, 53, 1, 1, 0, 100, 'DBA')",
    "INSERT INTO mysql_group_replication_hostgroups VALUES (60, 61, 62, 63, 1, 1, 0, 100, 'DBA')",
    "INSERT INTO mysql_users (username, password, default_hostgroup, comment) VALUES ('legacy', 'pw', 5, 'DBA')",
    "INSERT INTO mysql_users (username, password, default_hostgroup, comment) VALUES ('ap', 'pw', 5, 'no app')",
    "INSERT INTO mysql_query_rules (rule_id, active, username, match_digest, destination_hostgroup, apply, comment) \
     VALUES (1, 1, 'legacy', '^SELECT', 6, 1, 'DBA')",
    "INSERT INTO mysql_query_rules (rule_id, active, username, destination_hostgroup, apply) VALUES (200000, 1, 'legacy', 5, 1)",
    "INSERT INTO mysql_query_rules_fast_routing VALUES ('legacy', 'erp', 0, 5, 'DBA')",
    "INSERT INTO mysql_query_rules_fast_routing VALUES ('', 'crm', 0, 5, 'DBA')",
    "INSERT INTO mysql_firewall_whitelist_users VALUES (1, 'legacy', '', 'OFF', 'DBA')",
];

const LEFT_BY_US: &[&str] = &[
    "INSERT INTO mysql_servers (hostgroup_id, hostname, port) VALUES (1999, 'gone.db', 3306)",
    "INSERT INTO mysql_replication_hostgroups VALUES (1998, 1999, 'read_only', 'clusters.gone')",
    "INSERT INTO mysql_users (username, password, default_hostgroup) VALUES ('app_old', 'pw', 1999)",
    "INSERT INTO mysql_query_rules (rule_id, active, match_digest, apply) VALUES (150000, 1, '^GONE', 1)",
    "INSERT INTO mysql_query_rules_fast_routing VALUES ('', 'acct_9999', 0, 1999, 'shard_maps.accounts.shards.gone')",
    "INSERT INTO mysql_query_rules_fast_routing VALUES ('app', 'erp', 0, 5, 'not the project''s')",
];

const LIVE: &[&str] = &[
    "LOAD MYSQL SERVERS TO RUNTIME",
    "LOAD MYSQL USERS TO RUNTIME",
    "LOAD MYSQL QUERY RULES TO RUNTIME",
    "LOAD MYSQL FIREWALL TO RUNTIME",
    "SAVE MYSQL SERVERS TO DISK",
    "SAVE MYSQL USERS TO DISK",
    "SAVE MYSQL QUERY RULES TO DISK",
    "SAVE MYSQL FIREWALL TO DISK",
];

const TOPOLOGY: &str = r#"
version: 1
clusters:
  shop: {type: replication, servers: {s1: {host: s1.db}, s2: {host: s2.db}}}
  pay: {type: galera, hostgroups: {writer: 100, reader: 101, backup_writer: 102, offline: 103}, servers: {p1: {host: p1.db}}}
users:
  app: {password: {env: APP}, cluster: shop}
  app_batch: {password: {env: BATCH}, cluster: pay}
shard_maps:
  accounts:
    applies_to: {users: [app]}
    key: {name: account, type: integer}
    key_from: [{schema: acct_$(key:04)}]
    rule_layout: fast_routing
    shards:
      one: {keys: [1], cluster: shop}
      two: {keys: [2], cluster: pay}
  tenants:
    applies_to: {users: [app_batch]}
    key: {name: tenant, type: integer}
    key_from: [{comment: {}}]
    shards:
      t1: {keys: [1], cluster: shop}
      t2: {keys: [2], cluster: pay}
"#;

fn project(file: &str, topology: &str) -> CommandEnvironment {
    let environment = CommandEnvironment::new(PROGRAM).unwrap();
    environment
        .write(
            "shardwright.yaml",
            format!("version: 1\nengines: [proxysql-2.7]\n{file}\n"),
        )
        .unwrap();
    environment.write("topology/a.yaml", topology).unwrap();
    environment
}

fn script(environment: &CommandEnvironment) -> String {
    let output = environment.run(["compile", "--emit", "sql"]).unwrap();
    output.success().stdout
}

/// The statements of a script; each is one line.
fn statements(script: &str) -> impl Iterator<Item = &str> {
    script
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with("--"))
}

/// Every row of every table, in memory, live and on disk.
fn rows(proxysql: &ProxySql) -> BTreeMap<String, Vec<String>> {
    let mut found = BTreeMap::new();
    for table in TABLES {
        for name in [
            table.to_owned(),
            format!("runtime_{table}"),
            format!("disk.{table}"),
        ] {
            let rows: Vec<TextRow> = proxysql.run([format!("SELECT * FROM {name}")]).unwrap();
            let mut rows = lines(&rows);
            rows.sort_unstable();
            found.insert(name, rows);
        }
    }
    found
}

/// Rows that are on one side only, by table.
fn difference(
    one: &BTreeMap<String, Vec<String>>,
    other: &BTreeMap<String, Vec<String>>,
) -> BTreeMap<String, Vec<String>> {
    let only = one.iter().map(|(table, rows)| {
        let rows = rows.iter().filter(|row| !other[table].contains(row));
        (table.clone(), rows.cloned().collect::<Vec<_>>())
    });
    only.filter(|(_, rows)| !rows.is_empty()).collect()
}

fn real() -> Option<ProxySql> {
    let binary = real_proxysql("scripts of `compile --emit sql` beside rows of others")?;
    Some(ProxySql::start(&binary, &ProxySqlOptions::default()).unwrap())
}

#[test]
fn rows_of_others_stay_on_a_real_proxysql() {
    let (Some(shared), Some(fresh)) = (real(), real()) else {
        return;
    };
    let manage =
        "manage: {query_rules: 100000-199999, users: [\"app*\"], clusters: [shop, pay]}\nunmanaged: report";
    let environment = project(manage, TOPOLOGY);
    let script = script(&environment);

    shared.run(OF_OTHERS).unwrap();
    shared.run(LIVE).unwrap();
    let of_others = rows(&shared);
    shared.run(LEFT_BY_US).unwrap();
    shared.run(LIVE).unwrap();
    fresh.run(statements(&script)).unwrap();
    let ours = rows(&fresh);

    for time in ["once", "twice"] {
        let told = lines(&shared.run(statements(&script)).unwrap());
        let found = rows(&shared);
        for (table, of_others) in &of_others {
            let mut expected: Vec<&String> = of_others.iter().chain(&ours[table]).collect();
            let mut found: Vec<&String> = found[table].iter().collect();
            expected.sort_unstable();
            found.sort_unstable();
            assert_eq!(found, expected, "{table} {time}");
        }
        // What was left alone is listed: rows of others, each once.
        let listed = told
            .iter()
            .filter(|line| TABLES.iter().any(|table| line.starts_with(table)))
            .count();
        let others = TABLES.iter().map(|table| of_others[*table].len()).sum::<usize>();
        let firewall = of_others["mysql_firewall_whitelist_users"].len();
        assert_eq!(listed, others, "{firewall}: {told:?}");
    }
}

#[test]
fn without_manage_everything_is_ours() {
    let (Some(shared), Some(fresh)) = (real(), real()) else {
        return;
    };
    let script = script(&project("", TOPOLOGY));
    assert!(script.contains("-- Replaces every server"), "{script}");
    shared.run(OF_OTHERS.iter().chain(LEFT_BY_US)).unwrap();
    shared.run(LIVE).unwrap();
    shared.run(statements(&script)).unwrap();
    fresh.run(statements(&script)).unwrap();
    let (mut shared, fresh) = (rows(&shared), rows(&fresh));
    // A firewall that no script ever wrote is somebody else's.
    shared.retain(|table, _| !table.contains("firewall"));
    assert_eq!(difference(&shared, &fresh), BTreeMap::new());
    assert_eq!(
        difference(&fresh, &shared_and_firewall(&shared, &fresh)),
        BTreeMap::new()
    );
}

fn shared_and_firewall(
    shared: &BTreeMap<String, Vec<String>>,
    fresh: &BTreeMap<String, Vec<String>>,
) -> BTreeMap<String, Vec<String>> {
    let firewall = fresh.iter().filter(|(table, _)| table.contains("firewall"));
    let firewall = firewall.map(|(table, rows)| (table.clone(), rows.clone()));
    shared.clone().into_iter().chain(firewall).collect()
}

const SECTIONS: &str = r#"
firewall:
  app: {mode: detecting, allow: {statements: ["SELECT 1"]}}
  app_batch: {mode: disabled}
engine_settings:
  proxysql: {mysql-threads: 3, mysql-wait_timeout: 60000, mysql-init_connect: "SET @a=1", mysql-verbose_query_error: true, admin-web_verbosity: 1}
monitor: {user: watcher, password: {env: MONITOR}}
listeners: {rw: {port: 16133, address: 0.0.0.0, proxy_protocol: [10.0.0.0/8]}}
caches:
  rates: {match: {digest: ["0x4D7DCFF87DD1A927"]}, ttl: 2s, reason: changes hourly}
throttles:
  purge: {applies_to: {statements: [delete]}, delay: 5ms}
"#;

/// Live variables but those that say where a proxy listens and how it was started.
fn variables(proxysql: &ProxySql) -> Vec<String> {
    let rows = proxysql
        .run([
            "SELECT * FROM runtime_global_variables WHERE variable_name NOT IN ('mysql-interfaces', 'admin-mysql_ifaces') \
             ORDER BY 1",
        ])
        .unwrap();
    lines(&rows)
}

#[test]
fn a_section_that_is_taken_away_is_taken_back() {
    let (Some(reverted), Some(fresh)) = (real(), real()) else {
        return;
    };
    let environment = project("", &format!("{TOPOLOGY}{SECTIONS}"));
    let with_sections = script(&environment);
    reverted.run(statements(&with_sections)).unwrap();
    reverted
        .run([
            "SET mysql-monitor_password='canary'",
            "LOAD MYSQL VARIABLES TO RUNTIME",
            "SAVE MYSQL VARIABLES TO DISK",
        ])
        .unwrap();

    environment.write("topology/a.yaml", TOPOLOGY).unwrap();
    let without = script(&environment);
    // The same numbers, and nothing that says what was written before.
    let lock = environment.read("shardwright.lock").unwrap();
    let ids: Vec<&str> = lock
        .lines()
        .filter(|line| !line.starts_with("written."))
        .collect();
    let never_had_them = project("", TOPOLOGY);
    never_had_them.write("shardwright.lock", ids.join("\n")).unwrap();
    let of_fresh = script(&never_had_them);
    assert_ne!(variables(&reverted), variables(&fresh));
    for _ in 0..2 {
        reverted.run(statements(&without)).unwrap();
        fresh.run(statements(&of_fresh)).unwrap();
        assert_eq!(variables(&reverted), variables(&fresh));
        let (reverted, fresh) = (rows(&reverted), rows(&fresh));
        assert_eq!(reverted, fresh);
    }
    // These are read at the next start.
    let on_disk = "SELECT variable_value FROM disk.global_variables \
                   WHERE variable_name IN ('mysql-interfaces', 'mysql-threads') ORDER BY variable_name";
    assert_eq!(lines(&reverted.run([on_disk]).unwrap()), ["0.0.0.0:6033", "4"]);
    // The lock still knows: a proxy that missed a script gets the same from the next one.
    assert_eq!(script(&environment), without);
    assert!(
        environment
            .read("shardwright.lock")
            .unwrap()
            .contains("written.modules.firewall 1\n")
    );
}

#[test]
fn the_firewall_stays_on_for_users_of_others() {
    let Some(shared) = real() else { return };
    let environment = project("", &format!("{TOPOLOGY}{SECTIONS}"));
    shared.run(statements(&script(&environment))).unwrap();
    environment
        .write(
            "shardwright.yaml",
            "version: 1\nengines: [proxysql-2.7]\nmanage: {users: [\"app*\"]}\n",
        )
        .unwrap();
    environment.write("topology/a.yaml", TOPOLOGY).unwrap();
    let theirs = "INSERT INTO mysql_firewall_whitelist_users VALUES (1, 'legacy', '', 'PROTECTING', 'DBA')";
    shared.run([theirs]).unwrap();
    let enabled = "SELECT variable_value FROM runtime_global_variables WHERE variable_name='mysql-firewall_whitelist_enabled'";
    let users = "SELECT username FROM runtime_mysql_firewall_whitelist_users";
    let script = script(&environment);
    shared.run(statements(&script)).unwrap();
    assert_eq!(lines(&shared.run([enabled, users]).unwrap()), ["true", "legacy"]);
    shared
        .run(["DELETE FROM mysql_firewall_whitelist_users"])
        .unwrap();
    shared.run(statements(&script)).unwrap();
    assert_eq!(lines(&shared.run([enabled, users]).unwrap()), ["false"]);
}

#[test]
fn parts_that_manage_leaves_out_are_the_projects_own_rows() {
    let environment = project("manage: {query_rules: 100000-199999}", TOPOLOGY);
    let first = script(&environment);
    for line in [
        "-- Replaces query rules 100000-199999; users app, app_batch; hostgroups 100-103, 1000-2999. Other rows stay.",
        "DELETE FROM mysql_users WHERE username IN ('app', 'app_batch');",
        "DELETE FROM mysql_query_rules WHERE rule_id BETWEEN 100000 AND 199999;",
    ] {
        assert!(first.lines().any(|found| found == line), "{line}\n{first}");
    }
    // The lock remembers what nothing else would: a user and a pinned hostgroup that are gone.
    let (without_tenants, _) = TOPOLOGY.split_once("  tenants:").unwrap();
    let topology = without_tenants
        .replace("  app_batch: {password: {env: BATCH}, cluster: pay}\n", "")
        .replace("{writer: 100, reader: 101,", "{writer: 110, reader: 111,");
    environment.write("topology/a.yaml", topology).unwrap();
    let second = script(&environment);
    let users = "DELETE FROM mysql_users WHERE username IN ('app', 'app_batch');";
    assert!(second.lines().any(|found| found == users), "{second}");
    assert!(
        second.contains("hostgroups 100-103, 110-111, 1000-2999."),
        "{second}"
    );
}
