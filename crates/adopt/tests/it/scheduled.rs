//! Clusters whose servers `pxc_scheduler_handler` moves.

use shardwright_diagnostics::Sources;
use shardwright_import::{Language, RuleFile, read_scheduled, scheduled_by};
use shardwright_rules::EngineId;

use crate::support::{adopted, files, lifted, lifts};

const SCHEDULER: &str = "[pxccluster]
hgW = 100
hgR = 101
singlePrimary = true
maxNumWriters = 1
writerIsAlsoReader = 1
";

/// What the program never moves.
const TEMPLATES: &str = "INSERT INTO mysql_servers (hostname, hostgroup_id, weight, max_connections) VALUES
  ('pxc1', 8100, 1000, 2000), ('pxc2', 8100, 999, 2000), ('pxc3', 8100, 998, 1500),
  ('pxc1', 8101, 900, 2000), ('pxc2', 8101, 1000, 2000), ('pxc3', 8101, 1000, 1500);
INSERT INTO mysql_users (username, default_hostgroup) VALUES ('app', 100);
INSERT INTO mysql_query_rules (rule_id, active, username, match_digest, destination_hostgroup, apply) VALUES
  (1, 1, 'app', '^SELECT.*FOR UPDATE', 100, 1), (2, 1, 'app', '^SELECT ', 101, 1);
";

fn imported(scheduler: &str, rows: &str) -> RuleFile {
    let mut sources = Sources::new();
    let by = scheduled_by(&mut sources, "config.toml", scheduler.as_bytes());
    let scheduled: Vec<_> = by.scheduled.into_iter().collect();
    let sql = format!("{TEMPLATES}{rows}");
    let file = read_scheduled(
        &mut sources,
        "rules.sql",
        sql.as_bytes(),
        Language::Sql,
        EngineId::Proxysql27,
        &scheduled,
    );
    assert!(!file.problems.has_errors(), "{:?}", file.problems.sorted());
    file
}

/// The preferred writer writes.
const USUAL: &str = "INSERT INTO mysql_servers (hostname, hostgroup_id, weight, max_connections) VALUES
  ('pxc1', 100, 1000, 2000), ('pxc1', 101, 900, 2000), ('pxc2', 101, 1000, 2000), ('pxc3', 101, 1000, 1500);";

/// It has failed, and waits among those that are out; a reader drains.
const FAILED_OVER: &str = "INSERT INTO mysql_servers (hostname, hostgroup_id, weight, max_connections, status) VALUES
  ('pxc2', 100, 999, 2000, 'ONLINE'), ('pxc2', 101, 1000, 2000, 'ONLINE'), ('pxc3', 101, 1000, 1500, 'OFFLINE_SOFT'),
  ('pxc1', 9100, 1000, 2000, 'ONLINE'), ('pxc1', 9101, 900, 2000, 'ONLINE');";

#[test]
fn the_rows_are_kept_and_the_order_of_the_writers_is_that_of_the_templates() {
    let adopted = adopted(&imported(SCHEDULER, USUAL));
    assert_eq!(adopted.differences, [], "{}", files(&adopted));
    let clusters = &adopted
        .built
        .files
        .iter()
        .find(|file| file.path.ends_with("clusters.yaml"));
    insta::assert_snapshot!(clusters.unwrap().text, @r"
    version: 1

    clusters:
      pxc:
        type: galera
        hostgroups: {writer: 100, reader: 101, backup_writer: 9101, offline: 9100}
        writer_serves_reads: always
        roles_by: external
        servers:
          pxc1: {host: pxc1, weight: 1000, read_weight: 900, max_connections: 2000}
          pxc2: {host: pxc2, weight: 999, read_weight: 1000, max_connections: 2000}
          pxc3: {host: pxc3, weight: 998, read_weight: 1000, max_connections: 1500}
      pxc-reader-templates:
        type: hostgroup
        hostgroups: {writer: 8101}
        servers:
          pxc1: {host: pxc1, weight: 900, max_connections: 2000}
          pxc2: {host: pxc2, weight: 1000, max_connections: 2000}
          pxc3: {host: pxc3, weight: 1000, max_connections: 1500}
      pxc-writer-templates:
        type: hostgroup
        hostgroups: {writer: 8100}
        servers:
          pxc1: {host: pxc1, weight: 1000, max_connections: 2000}
          pxc2: {host: pxc2, weight: 999, max_connections: 2000}
          pxc3: {host: pxc3, weight: 998, max_connections: 1500}
    ");
}

#[test]
fn what_the_program_has_moved_is_not_written() {
    let usual = adopted(&imported(SCHEDULER, USUAL));
    let moved = adopted(&imported(SCHEDULER, FAILED_OVER));
    assert_eq!(files(&usual), files(&moved));
    assert!(!moved.differences.is_empty());
    for difference in &moved.differences {
        let why = difference.why.unwrap_or_default();
        assert!(
            why.starts_with("a program of the scheduler moves servers"),
            "{difference:?}"
        );
    }
}

#[test]
fn the_rules_of_its_user_become_a_policy() {
    let adopted = lifted(&imported(SCHEDULER, USUAL));
    insta::assert_snapshot!(lifts(&adopted), @r"
    read_write_policies.pxc: {2}
    routes.select-for-update: {1}
    ");
}

#[test]
fn a_writer_that_does_not_read_and_several_writers_keep_their_rows() {
    let apart = SCHEDULER.replace("writerIsAlsoReader = 1", "writerIsAlsoReader = 0");
    let rows = USUAL.replace("('pxc1', 101, 900, 2000), ", "");
    assert_eq!(adopted(&imported(&apart, &rows)).differences, []);
    let several = SCHEDULER
        .replace("singlePrimary = true", "singlePrimary = false")
        .replace("maxNumWriters = 1", "maxNumWriters = 2");
    let rows = format!(
        "{USUAL}INSERT INTO mysql_servers (hostname, hostgroup_id, weight, max_connections) VALUES ('pxc2', 100, 999, 2000);"
    );
    assert_eq!(adopted(&imported(&several, &rows)).differences, []);
}
