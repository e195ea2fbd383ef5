//! `config.toml` of `pxc_scheduler_handler`, alone and beside the rule set of its ProxySQL.

use shardwright_diagnostics::{Sources, render::text};
use shardwright_import::{Language, RuleFile, SchedulerFile, read, read_scheduled, scheduled_by};
use shardwright_rules::{ClusterKind, EngineId, Failback, HostgroupId, RolesBy, WriterServesReads};

/// Every setting that the program and `percona-scheduler-admin` know.
const FILE: &str = r#"
[pxccluster]
activeFailover = 1
failBack = true
checkTimeOut = 2000
pingTimeout = 1
debug = 1 # deprecated
mainSegment = 0
sslClient = "client-cert.pem"
sslKey = "client-key.pem"
sslCa = "ca.pem"
sslCertificatePath = "/opt/cert/ssl_test"
HGW = 100
hgR = 101
configHgRange =8000
maintenanceHgRange =9000
bckHgW = 8100
bckHgR = 8101
singlePrimary = true
maxNumWriters = 1
writerIsAlsoReader = 1
retryUp = 0
retryDown = 2
clusterId = 10
persistPrimarySettings=0
development = false
developmentTime = 1
host = ""
port = 0
user = ""
password = "canary of nobody"
logDir = ""
logLevel = ""
OS = "na"
singleWriter = 1
maxWriters = 1

[proxysql]
port = 6032
host = "127.0.0.1"
user = "admin"
password = "canary of the admin port"
clustered = false
initialized = false
lockfilepath ="/var/run/pxc_scheduler_handler"
respectManualOfflineSoft=false
pingTimeout = 1

[global]
debug = true
logLevel = "info"
logTarget = "stdout"
logFile = "/var/log/pscheduler.log"
daemonize = false
daemonInterval = 2000
development = false
devInterval = 2000
performance = true
OS = "na"
lockfiletimeout = 60
lockclustertimeout = 600
lockrefreshtime = 450
"#;

const SETUP: &str = r#"
[setup]
clusterAppUser="app"
clusterAppUserPassword="canary of app"
monitorUser="watch"
monitorUserPassword="canary of the monitor"
clusterHost="pxc1.db"
clusterPort=4110
clusterUser="admin"
clusterUserPassword="canary of the tool"
useSSL=1
maxConnections=500
nodeCheckInterval=2000
"#;

/// The example of the program's own documentation: three servers, as they are when the first one writes.
const ROWS: &str = "
INSERT INTO mysql_servers (hostname, hostgroup_id, port, weight, max_connections) VALUES
  ('pxc1', 100, 3306, 1000, 2000), ('pxc1', 101, 3306, 998, 2000),
  ('pxc2', 101, 3306, 1000, 2000), ('pxc3', 101, 3306, 1000, 2000),
  ('pxc1', 8100, 3306, 1000, 2000), ('pxc2', 8100, 3306, 999, 2000), ('pxc3', 8100, 3306, 998, 2000),
  ('pxc1', 8101, 3306, 998, 2000), ('pxc2', 8101, 3306, 1000, 2000), ('pxc3', 8101, 3306, 1000, 2000);
";

const ENGINE: EngineId = EngineId::Proxysql27;

fn alone(toml: &str) -> (RuleFile, String) {
    let mut sources = Sources::new();
    let file = read(
        &mut sources,
        "config.toml",
        toml.as_bytes(),
        Language::Scheduler,
        ENGINE,
    );
    let shown = text::render(&file.problems, &sources, false);
    (file, shown)
}

fn beside(toml: &str, rows: &str) -> (SchedulerFile, RuleFile, String) {
    let mut sources = Sources::new();
    let by = scheduled_by(&mut sources, "config.toml", toml.as_bytes());
    let scheduled: Vec<_> = by.scheduled.iter().cloned().collect();
    let file = read_scheduled(
        &mut sources,
        "rules.sql",
        rows.as_bytes(),
        Language::Sql,
        ENGINE,
        &scheduled,
    );
    let shown = text::render(&by.problems, &sources, false) + &text::render(&file.problems, &sources, false);
    (by, file, shown)
}

#[test]
fn the_hostgroups_that_it_names_are_one_cluster() {
    let (by, file, shown) = beside(FILE, ROWS);
    assert!(
        !by.problems.has_errors() && !file.problems.has_errors(),
        "{shown}"
    );
    let names: Vec<&str> = file
        .configuration
        .clusters
        .iter()
        .map(|cluster| &*cluster.name)
        .collect();
    assert_eq!(names, ["pxc", "pxc-reader-templates", "pxc-writer-templates"]);
    let cluster = &file.configuration.clusters[0];
    let ClusterKind::Galera(group) = &cluster.kind else {
        panic!("{cluster:?}")
    };
    assert_eq!((cluster.writer.0, cluster.reader), (100, Some(HostgroupId(101))));
    assert_eq!((group.offline.0, group.backup_writer.0), (9100, 9101));
    assert_eq!((group.writers, group.failback), (1, Failback::Automatic));
    assert_eq!(cluster.writer_serves_reads, WriterServesReads::Always);
    assert_eq!(cluster.roles_by, RolesBy::External);
}

#[test]
fn every_setting_is_read_or_has_a_reason_to_stay() {
    let (by, _, shown) = beside(FILE, ROWS);
    assert!(!shown.contains("SW162"), "{shown}");
    insta::assert_snapshot!(by.passed_over.join("\n"), @r"
    pxccluster.activeFailover, pxccluster.mainSegment: which server pxc_scheduler_handler chooses as the writer: it goes on to read this itself
    pxccluster.checkTimeOut, pxccluster.pingTimeout, pxccluster.retryUp, pxccluster.retryDown, proxysql.respectManualOfflineSoft: when pxc_scheduler_handler takes a server out and puts it back: it goes on to read this itself
    pxccluster.debug, pxccluster.development, pxccluster.developmentTime, pxccluster.host, pxccluster.port, pxccluster.user, pxccluster.password, pxccluster.logDir, pxccluster.logLevel, pxccluster.OS, pxccluster.singleWriter, pxccluster.maxWriters, proxysql.initialized, global.debug, global.development, global.devInterval, global.OS: pxc_scheduler_handler does not use it
    pxccluster.sslClient, pxccluster.sslKey, pxccluster.sslCa, pxccluster.sslCertificatePath: certificates with which pxc_scheduler_handler itself connects to the servers: ProxySQL has its own
    pxccluster.bckHgW, pxccluster.bckHgR: deprecated: pxc_scheduler_handler computes it from configHgRange
    pxccluster.clusterId, proxysql.clustered, proxysql.lockfilepath, global.lockfiletimeout, global.lockclustertimeout, global.lockrefreshtime: how several pxc_scheduler_handler keep out of each other's way
    pxccluster.persistPrimarySettings: pxc_scheduler_handler gives a new writer the weight and limits of the former one: after a failover, `diff` shows them
    proxysql.port, proxysql.host, proxysql.user, proxysql.password, proxysql.pingTimeout: how pxc_scheduler_handler reaches ProxySQL; for applies, write a target in shardwright.yaml
    global.logLevel, global.logTarget, global.logFile, global.daemonize, global.daemonInterval, global.performance: how pxc_scheduler_handler runs and what it logs
    ");
    assert!(!shown.contains("canary"), "{shown}");
}

#[test]
fn with_the_section_setup_it_is_a_project_of_its_own() {
    let (file, shown) = alone(&format!("{FILE}{SETUP}"));
    assert!(!file.problems.has_errors(), "{shown}");
    let configuration = &file.configuration;
    let user = &configuration.users[0];
    assert_eq!((user.name.as_str(), user.default_hostgroup.0), ("app", 100));
    assert_eq!(configuration.monitor.as_ref().unwrap().user, "watch");
    assert_eq!(configuration.graph.rules.len(), 2);
    let server = &configuration.hostgroup(HostgroupId(8101)).unwrap().members[0];
    assert_eq!(
        (
            server.host.as_str(),
            server.port,
            server.max_connections,
            server.weight
        ),
        ("pxc1.db", 4110, 500, 1000)
    );
    let told = file.beside.passed_over.join("\n");
    assert!(
        told.contains("the file names one server, pxc1.db: add the others"),
        "{told}"
    );
    assert!(
        !shown.contains("canary") && !told.contains("canary"),
        "{shown}{told}"
    );
}

#[test]
fn without_it_the_servers_are_in_proxysql_and_it_is_told_how_to_read_them() {
    let (file, shown) = alone(FILE);
    assert!(file.problems.has_errors());
    let error = shown.split("error").nth(1).unwrap();
    insta::assert_snapshot!(error, @r"
    [SW160]: the file names no server: pxc_scheduler_handler finds them in ProxySQL, in hostgroup 8100
       ╭▸ config.toml:13:1
       │
    13 │ HGW = 100
       │ ━━━━━━━━━
       │
       ├ help: import that ProxySQL, and give this file with --scheduler: mysql://USER@127.0.0.1:6032
       ╰ more: shardwright explain SW160
    ");
}

#[test]
fn what_the_program_does_not_start_with_is_an_error_here_too() {
    let changed = |from: &str, to: &str| FILE.replace(from, to);
    for (text, told) in [
        (changed("hgR = 101", ""), "pxccluster.hgR is missing"),
        (
            changed("hgR = 101", "hgR = \"101\""),
            "pxccluster.hgR is no whole number",
        ),
        (
            changed("hgR = 101", "hgR = 100"),
            "two of its six hostgroups have one number",
        ),
        (
            changed("maxNumWriters = 1", "maxNumWriters = 2"),
            "singlePrimary allows one writer",
        ),
        (
            changed("singlePrimary = true", "singlePrimary = false")
                .replace("writerIsAlsoReader = 1", "writerIsAlsoReader = 0"),
            "several writers are also readers",
        ),
        (
            changed("failBack = true", "failBack = 1"),
            "pxccluster.failBack is neither true nor false",
        ),
        (
            changed("configHgRange =8000", "configHgRange = 4294967295"),
            "past the largest number",
        ),
        (changed("retryUp = 0", "retryUp = "), "SW160"),
    ] {
        let (by, _, shown) = beside(&text, ROWS);
        assert!(by.scheduled.is_none() && shown.contains(told), "{told}: {shown}");
        assert!(!shown.contains("canary"), "{shown}");
    }
}

#[test]
fn a_broken_line_does_not_show_the_passwords_around_it() {
    let text = FILE.replace("\"canary of the admin port\"", "\"canary of the admin port");
    let (by, _, shown) = beside(&text, ROWS);
    assert!(by.problems.has_errors());
    assert!(!shown.contains("canary"), "{shown}");
}

#[test]
fn a_setting_that_no_version_has_and_another_proxysql_are_told() {
    let (_, _, shown) = beside(&FILE.replace("retryUp", "retryUpp"), ROWS);
    assert!(shown.contains("unknown setting `pxccluster.retryUpp`"), "{shown}");
    let (_, file, shown) = beside(
        FILE,
        "INSERT INTO mysql_servers (hostname, hostgroup_id) VALUES ('a', 1);",
    );
    assert!(file.problems.has_errors(), "{shown}");
    assert!(shown.contains("no server in hostgroups 100 and 101"), "{shown}");
}

#[test]
fn a_row_of_galera_hostgroups_for_the_same_servers_is_a_warning() {
    let rows = format!(
        "{ROWS}INSERT INTO mysql_galera_hostgroups (writer_hostgroup, backup_writer_hostgroup, reader_hostgroup, \
         offline_hostgroup, active, max_writers) VALUES (100, 102, 101, 9101, 1, 1);"
    );
    let (_, file, shown) = beside(FILE, &rows);
    assert!(!file.problems.has_errors(), "{shown}");
    assert!(
        shown.contains("its monitor and the program both move the servers there"),
        "{shown}"
    );
    assert_eq!(
        file.configuration
            .clusters
            .iter()
            .filter(|cluster| !cluster.roles_by.is_engine())
            .count(),
        0
    );
}
