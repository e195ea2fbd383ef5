//! Clusters as ProxySQL's tables, and what each engine says about them. The cases F1 to F5 are published
//! configurations of Galera behind ProxySQL whose result was not what their authors wanted.

use shardwright_diagnostics::Severity;
use shardwright_rules::{Configuration, EngineId, Evaluator, Outcome, Role, SessionView, Statement};
use shardwright_targets::emit::{Cell, Row, Table, rows};

use crate::support::*;

/// The rows of a table, one per line, without host and comment.
fn table(configuration: &Configuration, table: Table) -> String {
    let rows = rows(configuration).expect("every value fits its column");
    let refuses = |row: &&Row| {
        let comment = |(name, cell): &(&str, Cell)| {
            *name == "comment" && matches!(cell, Cell::Text(text) if text.starts_with("refuses "))
        };
        row.columns.iter().any(comment)
    };
    let shown = rows
        .iter()
        .filter(|row| row.table == table && !refuses(row))
        .map(|row| {
            let hidden = ["port", "comment", "max_connections", "active"];
            let cells = row.columns.iter().filter(|(name, _)| !hidden.contains(name));
            let cells: Vec<String> = cells
                .map(|(name, cell)| match cell {
                    Cell::Integer(number) => format!("{name}={number}"),
                    Cell::Text(text) => text.clone(),
                })
                .collect();
            cells.join(" ")
        });
    shown.collect::<Vec<_>>().join("\n")
}

fn proxysql(topology: &str) -> shardwright_compiler::Compiled {
    compiled(&loaded(topology), EngineId::Proxysql27)
}

fn told(topology: &str, engine: EngineId) -> String {
    let project = loaded(topology);
    let compiled = compile_with_problems(&project, engine);
    let severities = [
        (Severity::Error, "error"),
        (Severity::Warning, "warning"),
        (Severity::Info, "info"),
    ];
    let lines = severities.into_iter().flat_map(|(severity, word)| {
        problems(&compiled, severity)
            .into_iter()
            .map(move |problem| format!("{word} {problem}"))
    });
    lines.collect::<Vec<_>>().join("\n")
}

pub(crate) fn compile_with_problems(
    project: &shardwright_topology::model::Project,
    engine: EngineId,
) -> shardwright_compiler::Compiled {
    shardwright_compiler::compile(project, engine, &Default::default(), &Default::default())
}

/// The cluster of the cases with more keys.
fn pxc(keys: &str) -> String {
    format!(
        "
clusters:
  pxc:
    type: galera
    hostgroups: {{writer: 100, reader: 101, backup_writer: 102, offline: 9101}}
    writer_preference: [n22, n23, n233]
    failback: automatic
    max_transactions_behind: 10
    {keys}
    servers:
      n22: {{host: 192.168.4.22, read_weight: 1}}
      n23: {{host: 192.168.4.23, read_weight: 100}}
      n233: {{host: 192.168.4.233, read_weight: 100}}
users:
  app: {{password: {{env: P}}, cluster: pxc}}
"
    )
}

/// F1: `writer_is_also_reader = 0` leaves nobody to read from, and equal weights made .233 the writer. A writer that
/// never reads is 2, and the weights of the writers fall in the order of preference.
#[test]
fn f1_a_writer_that_never_reads_leaves_readers() {
    let compiled = proxysql(&pxc("writer_serves_reads: never"));
    insta::assert_snapshot!(table(&compiled.configuration, Table::GaleraHostgroups), @"writer_hostgroup=100 backup_writer_hostgroup=102 reader_hostgroup=101 offline_hostgroup=9101 max_writers=1 writer_is_also_reader=2 max_transactions_behind=10");
    insta::assert_snapshot!(table(&compiled.configuration, Table::Servers), @"
    hostgroup_id=100 192.168.4.22 ONLINE weight=10002 max_replication_lag=0 use_ssl=0
    hostgroup_id=101 192.168.4.23 ONLINE weight=10001 max_replication_lag=0 use_ssl=0
    hostgroup_id=101 192.168.4.233 ONLINE weight=10000 max_replication_lag=0 use_ssl=0
    ");
}

/// F2 and F3: reads on the writer when nobody else is left. ProxySQL has no last resort: the writer stands among the
/// readers with at most 1.5 % of the reads.
#[test]
fn f3_the_writer_as_last_resort_takes_few_reads() {
    let compiled = proxysql(&pxc(""));
    insta::assert_snapshot!(table(&compiled.configuration, Table::GaleraHostgroups), @"writer_hostgroup=100 backup_writer_hostgroup=102 reader_hostgroup=101 offline_hostgroup=9101 max_writers=1 writer_is_also_reader=1 max_transactions_behind=10");
    insta::assert_snapshot!(table(&compiled.configuration, Table::Servers), @"
    hostgroup_id=100 192.168.4.22 ONLINE weight=10002 max_replication_lag=0 use_ssl=0
    hostgroup_id=101 192.168.4.23 ONLINE weight=10001 max_replication_lag=0 use_ssl=0
    hostgroup_id=101 192.168.4.233 ONLINE weight=10000 max_replication_lag=0 use_ssl=0
    hostgroup_id=101 192.168.4.22 ONLINE weight=1 max_replication_lag=0 use_ssl=0
    ");
    let readers = compiled
        .configuration
        .hostgroups
        .iter()
        .find(|hostgroup| hostgroup.role == Role::Reader)
        .expect("a galera cluster has readers");
    let total: u32 = readers.members.iter().map(|member| member.weight).sum();
    let writer = readers.members.last().expect("the writer is the last of them");
    assert!(writer.host.ends_with(".22") && f64::from(writer.weight) / f64::from(total) < 0.015);
}

/// F4: who writes and who reads how much are two things.
#[test]
fn f4_preference_is_separate_from_read_weights() {
    let compiled = proxysql(&pxc("writer_serves_reads: always"));
    insta::assert_snapshot!(table(&compiled.configuration, Table::Servers), @"
    hostgroup_id=100 192.168.4.22 ONLINE weight=10002 max_replication_lag=0 use_ssl=0
    hostgroup_id=101 192.168.4.23 ONLINE weight=10001 max_replication_lag=0 use_ssl=0
    hostgroup_id=101 192.168.4.233 ONLINE weight=10000 max_replication_lag=0 use_ssl=0
    hostgroup_id=101 192.168.4.22 ONLINE weight=100 max_replication_lag=0 use_ssl=0
    ");
}

/// ProxySQL #4370: one weight per server. Where the order of writers and the shares of reads contradict each other, the
/// order is kept, and the line of the share says so.
#[test]
fn f4_read_weights_that_contradict_the_preference_are_said() {
    let topology = pxc("").replace(
        "n23: {host: 192.168.4.23, read_weight: 100}",
        "n23: {host: 192.168.4.23, read_weight: 5}",
    );
    insta::assert_snapshot!(told(&topology, EngineId::Proxysql27), @"
    warning SW322: on proxysql-2.7, n23 takes more reads than its read weight says: one weight ranks writers and shares reads, and it must stay above that of n233, which is less preferred as a writer
    info SW322: on proxysql-2.7, the writer answers about one in 100 reads per reader: it is one of the readers, with the lowest weight, because there is no last resort; after another server becomes the writer, it keeps its full share of reads
    ");
    insta::assert_snapshot!(table(&proxysql(&topology).configuration, Table::Servers), @"
    hostgroup_id=100 192.168.4.22 ONLINE weight=10002 max_replication_lag=0 use_ssl=0
    hostgroup_id=101 192.168.4.23 ONLINE weight=10001 max_replication_lag=0 use_ssl=0
    hostgroup_id=101 192.168.4.233 ONLINE weight=10000 max_replication_lag=0 use_ssl=0
    hostgroup_id=101 192.168.4.22 ONLINE weight=1 max_replication_lag=0 use_ssl=0
    ");
}

/// F5: a scheduler moves the servers. The monitor is given no hostgroups, or it would undo that.
#[test]
fn f5_roles_by_a_scheduler_are_left_alone() {
    let compiled = proxysql(&pxc("roles_by: external"));
    assert_eq!(table(&compiled.configuration, Table::GaleraHostgroups), "");
    insta::assert_snapshot!(told(&pxc("roles_by: external").replace("failback: automatic", ""), EngineId::Proxysql27), @"
    warning SW322: on proxysql-2.7, the read weight of n22 has no effect: it is the writer, which takes reads by its own weight only with `writer_serves_reads: always`
    info SW322: on proxysql-2.7, the writer answers about one in 100 reads per reader: it is one of the readers, with the lowest weight, because there is no last resort; after another server becomes the writer, it keeps its full share of reads
    ");
}

/// The monitor of Galera hostgroups would set OFFLINE_SOFT back to ONLINE: a server that is out has no row, and the next
/// one in the order writes.
#[test]
fn a_server_that_is_out_of_galera_has_no_row() {
    let topology = pxc("").replace("n22: {", "n22: {state: draining, ");
    let compiled = proxysql(&topology);
    insta::assert_snapshot!(table(&compiled.configuration, Table::Servers), @"
    hostgroup_id=100 192.168.4.23 ONLINE weight=10001 max_replication_lag=0 use_ssl=0
    hostgroup_id=101 192.168.4.233 ONLINE weight=10000 max_replication_lag=0 use_ssl=0
    hostgroup_id=101 192.168.4.23 ONLINE weight=1 max_replication_lag=0 use_ssl=0
    ");
    insta::assert_snapshot!(told(&topology, EngineId::Proxysql27), @"
    info SW322: on proxysql-2.7, the writer answers about one in 100 reads per reader: it is one of the readers, with the lowest weight, because there is no last resort; after another server becomes the writer, it keeps its full share of reads
    info SW322: on proxysql-2.7, transactions that are open on a draining server are cut: it is left out of mysql_servers, because the monitor of Galera hostgroups sets OFFLINE_SOFT back to ONLINE; pxc_maint_mode on the server itself (Percona XtraDB Cluster) lets them end first
    ");
    let bundled = compiled_for_bundled(&topology);
    insta::assert_snapshot!(bundled, @"
    100 writer: 192.168.4.22 Draining 1, 192.168.4.23 Online 1
    101 reader: 192.168.4.233 Online 100, 192.168.4.22 Draining 1 last, 192.168.4.23 Online 1 last
    ");
}

fn compiled_for_bundled(topology: &str) -> String {
    let compiled = compiled(&loaded(topology), EngineId::Bundled);
    let lines = compiled.configuration.hostgroups.iter().map(|hostgroup| {
        let members = hostgroup.members.iter().map(|member| {
            let last = if member.tier > 0 { " last" } else { "" };
            format!("{} {:?} {}{last}", member.host, member.status, member.weight)
        });
        format!(
            "{} {}: {}",
            hostgroup.id,
            hostgroup.role,
            members.collect::<Vec<_>>().join(", ")
        )
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Somebody who writes `failback: manual` gets it, or an error; the default is a warning.
#[test]
fn a_written_failback_that_an_engine_lacks_is_an_error() {
    let of = |failback: &str| {
        told(
            &pxc("").replace("failback: automatic", failback),
            EngineId::Proxysql27,
        )
    };
    assert!(of("failback: manual").contains("error SW320: on proxysql-2.7, the preferred writer takes over"));
    assert!(of("").contains("warning SW322: on proxysql-2.7, the preferred writer takes over"));
    assert!(
        !of("failback: automatic").contains("takes over"),
        "{}",
        of("failback: automatic")
    );
}

/// F7: a group sets `read_only` itself; no read_only rule stands beside it.
#[test]
fn f7_group_replication_has_its_own_table() {
    let topology = pxc("writer_serves_reads: never").replace("galera", "group_replication");
    let compiled = proxysql(&topology);
    assert_eq!(table(&compiled.configuration, Table::GaleraHostgroups), "");
    assert_eq!(table(&compiled.configuration, Table::ReplicationHostgroups), "");
    insta::assert_snapshot!(table(&compiled.configuration, Table::GroupReplicationHostgroups), @"writer_hostgroup=100 backup_writer_hostgroup=102 reader_hostgroup=101 offline_hostgroup=9101 max_writers=1 writer_is_also_reader=0 max_transactions_behind=10");
    insta::assert_snapshot!(told(&topology, EngineId::Proxysql27), @"
    warning SW322: on proxysql-2.7, the group elects its primary itself, and a preferred writer that is back takes over only then: set group_replication_member_weight on the servers
    info SW322: on proxysql-2.7, the group elects its primary itself: group_replication_member_weight on the servers ranks them, `writer_preference` only decides where writes go until the monitor has asked
    ");
}

#[test]
fn what_the_bundled_engine_cannot_follow_is_said() {
    let topology = pxc("tls: preferred");
    insta::assert_snapshot!(told(&topology, EngineId::Bundled), @r"
    warning SW321: bundled does not watch this cluster: writes go to n22 until the next apply, whatever the state of the servers is; write a `monitor` section
    warning SW321: bundled does not watch this cluster: it does not fail over or fail back; write a `monitor` section
    warning SW321: bundled does not watch this cluster: a server that is further behind may answer reads; write a `monitor` section
    ");
    let topology = "
clusters:
  shop:
    type: replication
    tls: verify
    servers: {a: {host: a.db}, b: {host: b.db, max_replication_lag: 5s}}
";
    insta::assert_snapshot!(told(topology, EngineId::Bundled), @"warning SW321: bundled does not watch this cluster: a replica that is further behind may answer reads; write a `monitor` section");
    insta::assert_snapshot!(told(topology, EngineId::Proxysql27), @"
    error SW320: proxysql-2.7 verifies no certificates of servers; bundled does
    info SW322: on proxysql-2.7, the writer answers about one in 100 reads per reader: it is one of the readers, with the lowest weight, because there is no last resort
    ");
}

/// A stopped replica counts as 60 s behind unless told otherwise: with a higher limit it would be read from for ever.
#[test]
fn a_stopped_replica_is_beyond_every_limit() {
    let script = |limit: &str| {
        let topology = format!(
            "
clusters:
  shop: {{type: replication, servers: {{a: {{host: a.db}}, b: {{host: b.db, max_replication_lag: {limit}}}}}}}
"
        );
        let compiled = proxysql(&topology);
        let script = shardwright_targets::emit::sql(&compiled.configuration).expect("every value fits");
        let set = script.lines().find(|line| line.contains("slave_lag_when_null"));
        set.map(str::to_owned)
    };
    assert_eq!(script("59s"), None);
    assert_eq!(
        script("90500ms").as_deref(),
        Some("SET mysql-monitor_slave_lag_when_null='92';")
    );
    assert!(
        told(
            "
clusters:
  shop: {type: replication, servers: {a: {host: a.db}, b: {host: b.db, max_replication_lag: 7d}}}
",
            EngineId::Proxysql27
        )
        .starts_with("error SW320")
    );
}

#[test]
fn a_writer_that_never_reads_beside_one_that_does() {
    let topology = "
clusters:
  one: {type: replication, writer_serves_reads: never, servers: {a: {host: a.db}, b: {host: b.db}}}
  two: {type: replication, servers: {a: {host: c.db}, b: {host: d.db}}}
";
    insta::assert_snapshot!(told(topology, EngineId::Proxysql27), @"
    warning SW322: on proxysql-2.7, the writer may answer reads too: mysql-monitor_writer_is_also_reader is one switch for all clusters of type replication, and others let their writer serve reads
    info SW322: on proxysql-2.7, the writer answers about one in 100 reads per reader: it is one of the readers, with the lowest weight, because there is no last resort
    ");
}

/// What stands before the tables and behind them.
fn script(topology: &str) -> String {
    let compiled = proxysql(topology);
    let script = shardwright_targets::emit::sql(&compiled.configuration).expect("every value fits");
    let keep = ["SET ", "LOAD ", "SAVE ", "-- Set ", "-- Read "];
    let lines = script
        .lines()
        .filter(|line| keep.iter().any(|word| line.starts_with(word)));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn heartbeats_are_a_variable_of_proxysql() {
    let topology = "monitor: {user: watcher, password: {env: PASSWORD}, heartbeat: percona.heartbeat}\n";
    let heartbeat = "SET mysql-monitor_replication_lag_use_percona_heartbeat='percona.heartbeat';";
    assert!(script(topology).contains(heartbeat));
    insta::assert_snapshot!(told(topology, EngineId::Proxysql27), @"info SW322: on proxysql-2.7, heartbeats are compared with the local time of each replica, so servers must run in UTC, and the oldest row of the table counts: delete those of former sources");
    insta::assert_snapshot!(told(topology, EngineId::Bundled), @"");
}

/// `mysql-interfaces` and `mysql-threads` are read at the start: loaded they are set back, so they are saved before.
#[test]
fn what_proxysql_reads_at_its_start_is_saved_before_it_is_loaded() {
    let topology = "
listeners:
  rw: {port: 6033, address: 0.0.0.0}
  ro: {port: 6034, address: '::1'}
monitor: {user: watcher, password: {file: secrets/watcher}}
engine_settings:
  proxysql: {mysql-threads: 8, mysql-max_connections: 4096, mysql-verbose_query_error: true, admin-web_enabled: 'false'}
";
    insta::assert_snapshot!(script(topology), @"
    -- Set mysql-monitor_password to file secrets/watcher first: a script holds no passwords.
    SET mysql-query_processor_iterations='0';
    SET mysql-query_processor_regex='1';
    SET mysql-monitor_username='watcher';
    SET admin-web_enabled='false';
    SET mysql-max_connections='4096';
    SET mysql-verbose_query_error='true';
    LOAD ADMIN VARIABLES TO RUNTIME;
    LOAD MYSQL VARIABLES TO RUNTIME;
    LOAD MYSQL SERVERS TO RUNTIME;
    LOAD MYSQL QUERY RULES TO RUNTIME;
    LOAD MYSQL USERS TO RUNTIME;
    -- Read when ProxySQL starts. Set behind the last load, which would set them back.
    SET mysql-interfaces='[::1]:6034;0.0.0.0:6033';
    SET mysql-threads='8';
    SAVE ADMIN VARIABLES TO DISK;
    SAVE MYSQL VARIABLES TO DISK;
    SAVE MYSQL SERVERS TO DISK;
    SAVE MYSQL QUERY RULES TO DISK;
    SAVE MYSQL USERS TO DISK;
    ");
    insta::assert_snapshot!(told(topology, EngineId::Proxysql27), @"
    info SW322: on proxysql-2.7, ports are opened at start: a change takes effect after a restart
    info SW322: on proxysql-2.7, mysql-threads is read at start: a change takes effect after a restart
    ");
    insta::assert_snapshot!(told(topology, EngineId::Bundled), @"");
    insta::assert_snapshot!(script(""), @"
    SET mysql-query_processor_iterations='0';
    SET mysql-query_processor_regex='1';
    LOAD MYSQL VARIABLES TO RUNTIME;
    LOAD MYSQL SERVERS TO RUNTIME;
    LOAD MYSQL QUERY RULES TO RUNTIME;
    LOAD MYSQL USERS TO RUNTIME;
    SAVE MYSQL VARIABLES TO DISK;
    SAVE MYSQL SERVERS TO DISK;
    SAVE MYSQL QUERY RULES TO DISK;
    SAVE MYSQL USERS TO DISK;
    ");
}

#[test]
fn sockets_and_trusted_networks_of_listeners() {
    let topology = "
listeners:
  rw: {port: 6033, address: 0.0.0.0, proxy_protocol: [10.0.0.0/24, 192.0.2.7]}
  ro: {port: 6034, address: 0.0.0.0, proxy_protocol: [10.0.0.0/24, 192.0.2.7]}
  local: {socket: /run/sw/rw.sock, mode: '0660'}
";
    let script = script(topology);
    let set = script
        .lines()
        .filter(|line| line.contains("interfaces") || line.contains("networks"));
    insta::assert_snapshot!(set.collect::<Vec<_>>().join("\n"), @"
    SET mysql-proxy_protocol_networks='10.0.0.0/24,192.0.2.7/32';
    SET mysql-interfaces='/run/sw/rw.sock;0.0.0.0:6034;0.0.0.0:6033';
    ");
    insta::assert_snapshot!(told(topology, EngineId::Proxysql27), @"
    info SW322: on proxysql-2.7, ports are opened at start: a change takes effect after a restart
    info SW322: on proxysql-2.7, only version 1 of the PROXY protocol is read, and a connection from these networks need not begin with it
    info SW322: on proxysql-2.7, everybody may connect to a unix socket: `mode` has no effect
    ");
    insta::assert_snapshot!(told(topology, EngineId::Bundled), @"");
    let of_one = "6034, address: 0.0.0.0, proxy_protocol: [10.0.0.0/24, 192.0.2.7]";
    let differ = topology.replace(of_one, "6034, address: 0.0.0.0");
    insta::assert_snapshot!(told(&differ, EngineId::Proxysql27), @"
    error SW320: proxysql-2.7 trusts the same networks on every port: `proxy_protocol` must be that of `rw`
    info SW322: on proxysql-2.7, ports are opened at start: a change takes effect after a restart
    info SW322: on proxysql-2.7, only version 1 of the PROXY protocol is read, and a connection from these networks need not begin with it
    info SW322: on proxysql-2.7, everybody may connect to a unix socket: `mode` has no effect
    ");
}

/// The same statement through a port, another one and a socket, on both engines.
#[test]
fn a_policy_for_some_listeners() {
    let path = "/run/sw/ro.sock";
    let topology = format!(
        "{}
listeners:
  rw: {{port: 6033, address: 0.0.0.0}}
  ro: {{port: 6034, address: 0.0.0.0}}
  local: {{socket: {path}}}
read_write_policies:
  read_port: {{applies_to: {{except_listeners: [rw]}}, reads: {{all: true}}}}
",
        pxc("")
    );
    let project = loaded(&topology);
    for engine in BOTH {
        let compiled = compiled(&project, engine);
        let evaluator = Evaluator::new(compiled.configuration);
        let to = |listener: (&str, u16)| {
            let session = SessionView {
                user: "app",
                listener: Some(listener),
                ..SessionView::default()
            };
            let statement = Statement::new(b"SELECT a FROM t", Default::default());
            match evaluator.decide(&session, &statement).outcome {
                Outcome::Route(route) => route.hostgroup.0,
                other => panic!("{engine}: {other:?}"),
            }
        };
        let any = "0.0.0.0";
        let answers = [(any, 6033), (any, 6034), (path, 0), ("/run/sw/other.sock", 0)].map(to);
        assert_eq!(answers, [100, 101, 101, 100], "{engine}");
    }
}

/// The same statement through two ports, on both engines.
#[test]
fn a_policy_for_one_listener() {
    let topology = format!(
        "{}
listeners:
  rw: {{port: 6033, address: 0.0.0.0}}
  ro: {{port: 6034, address: 0.0.0.0}}
read_write_policies:
  read_port: {{applies_to: {{listeners: [ro]}}, reads: {{all: true}}}}
",
        pxc("")
    );
    let project = loaded(&topology);
    for engine in BOTH {
        let compiled = compiled(&project, engine);
        let evaluator = Evaluator::new(compiled.configuration);
        let to = |port: u16| {
            let session = SessionView {
                user: "app",
                listener: Some(("0.0.0.0", port)),
                ..SessionView::default()
            };
            let statement = Statement::new(b"SELECT a FROM t", Default::default());
            match evaluator.decide(&session, &statement).outcome {
                Outcome::Route(route) => route.hostgroup.0,
                other => panic!("{engine}: {other:?}"),
            }
        };
        assert_eq!((to(6033), to(6034)), (100, 101), "{engine}");
    }
}

/// An account that only reads goes to the readers without any policy.
#[test]
fn a_user_whose_statements_go_to_the_readers() {
    let topology = pxc("").replace("cluster: pxc}", "cluster: pxc, role: reader}");
    for engine in BOTH {
        let compiled = compiled(&loaded(&topology), engine);
        assert_eq!(
            compiled.configuration.users[0].default_hostgroup.0, 101,
            "{engine}"
        );
    }
}
