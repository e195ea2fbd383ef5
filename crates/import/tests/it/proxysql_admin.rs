//! `proxysql-admin.cnf`.

use shardwright_diagnostics::Sources;
use shardwright_import::{Language, RuleFile, read};
use shardwright_rules::{ClusterKind, EngineId, HostgroupId, WriterServesReads};

const FILE: &str = "# proxysql admin interface credentials.
export PROXYSQL_USERNAME='admin'
export CLUSTER_USERNAME='admin'
export CLUSTER_PASSWORD='canary of the tool'
export CLUSTER_HOSTNAME='pxc1.db'
  export CLUSTER_PORT='3307'
export MONITOR_USERNAME=\"watch\"
export MONITOR_PASSWORD=\"canary of the monitor\"
export CLUSTER_APP_USERNAME='app'
export CLUSTER_APP_PASSWORD='canary of app'
export WRITER_HOSTGROUP_ID='10'
export READER_HOSTGROUP_ID='11'
export BACKUP_WRITER_HOSTGROUP_ID='12'
export OFFLINE_HOSTGROUP_ID='13'
#export WRITER_HOSTGROUP_ID='99'
export MODE=\"loadbal\"
export MAX_CONNECTIONS=500
export WRITERS_ARE_READERS='yes'
";

fn imported(text: &str) -> (RuleFile, Sources) {
    let mut sources = Sources::new();
    let file = read(
        &mut sources,
        "proxysql-admin.cnf",
        text.as_bytes(),
        Language::Cnf,
        EngineId::Proxysql27,
    );
    (file, sources)
}

#[test]
fn the_file_is_a_cluster_its_user_and_the_monitor() {
    let (file, _) = imported(FILE);
    assert!(!file.problems.has_errors(), "{:?}", file.problems.sorted());
    let configuration = &file.configuration;
    let cluster = &configuration.clusters[0];
    let ClusterKind::Galera(group) = &cluster.kind else {
        panic!("{cluster:?}")
    };
    assert_eq!((cluster.writer.0, cluster.reader), (10, Some(HostgroupId(11))));
    assert_eq!(
        (group.backup_writer.0, group.offline.0, group.writers),
        (12, 13, 1_000_000)
    );
    assert_eq!(group.max_transactions_behind, 100);
    assert_eq!(cluster.writer_serves_reads, WriterServesReads::Always);
    let server = &configuration.hostgroup(cluster.writer).unwrap().members[0];
    assert_eq!(
        (server.host.as_str(), server.port, server.max_connections),
        ("pxc1.db", 3307, 500)
    );
    let users: Vec<_> = configuration
        .users
        .iter()
        .map(|user| (user.name.as_str(), user.default_hostgroup.0))
        .collect();
    assert_eq!(users, [("app", 10)]);
    assert_eq!(configuration.monitor.as_ref().unwrap().user, "watch");
    assert_eq!(file.beside.passwords["app"].expose(), "canary of app");
    assert_eq!(
        file.beside.monitor_password.as_ref().unwrap().expose(),
        "canary of the monitor"
    );
    let passed: Vec<&str> = file.beside.passed_over.iter().map(String::as_str).collect();
    assert!(
        passed.iter().any(|what| what.contains("add the others")),
        "{passed:?}"
    );
}

#[test]
fn no_message_shows_a_password() {
    let text = FILE.replace("'11'", "'10'");
    let (file, sources) = imported(&text);
    assert!(
        file.problems.has_errors(),
        "one hostgroup for writers and readers"
    );
    let shown = shardwright_diagnostics::render::text::render(&file.problems, &sources, false);
    assert!(!shown.contains("canary"), "{shown}");
}

#[test]
fn without_a_server_there_is_no_cluster() {
    let (file, _) = imported("export WRITER_HOSTGROUP_ID='10'\n");
    assert!(file.problems.has_errors());
}

#[test]
fn an_encrypted_file_of_accounts_is_named() {
    let (file, _) = imported(&format!("{FILE}export LOGIN_FILE='/etc/login.enc'\n"));
    assert!(!file.problems.has_errors(), "{:?}", file.problems.sorted());
    let passed: Vec<&str> = file.beside.passed_over.iter().map(String::as_str).collect();
    assert!(
        passed
            .iter()
            .any(|what| what.contains("/etc/login.enc, which is encrypted")),
        "{passed:?}"
    );
}
