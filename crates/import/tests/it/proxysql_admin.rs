//! `proxysql-admin.cnf`.

use shardwright_diagnostics::Sources;
use shardwright_import::{Language, RuleFile, read};
use shardwright_rules::{Body, ClusterKind, EngineId, HostgroupId, RolesBy, WriterServesReads};

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
    // Every server writes, so the tool adds none of them to the readers, whatever WRITERS_ARE_READERS says.
    assert_eq!(cluster.writer_serves_reads, WriterServesReads::Never);
    assert!(configuration.graph.rules.is_empty());
    let server = &configuration.hostgroup(cluster.writer).unwrap().members[0];
    assert_eq!(
        (
            server.host.as_str(),
            server.port,
            server.max_connections,
            server.weight
        ),
        ("pxc1.db", 3307, 500, 1000)
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
            .any(|what| what.contains("LOGIN_FILE: accounts are in a file that is encrypted")),
        "{passed:?}"
    );
}

/// The messages about what is passed over.
fn passed(file: &RuleFile) -> String {
    file.beside.passed_over.join("\n")
}

#[test]
fn one_writer_comes_with_the_rules_that_send_reads_elsewhere() {
    let text = FILE.replace("loadbal", "singlewrite")
        + "export WRITE_NODE='pxc2.db:3308'\nexport NODE_CHECK_INTERVAL=3000\n";
    let (file, _) = imported(&text);
    assert!(!file.problems.has_errors(), "{:?}", file.problems.sorted());
    let configuration = &file.configuration;
    let cluster = &configuration.clusters[0];
    assert_eq!(cluster.writer_serves_reads, WriterServesReads::Always);
    let servers = |id| {
        let members = &configuration.hostgroup(HostgroupId(id)).unwrap().members;
        let one = |member: &shardwright_rules::Member| (member.host.clone(), member.port, member.weight);
        members.iter().map(one).collect::<Vec<_>>()
    };
    assert_eq!(servers(10), [("pxc2.db".to_owned(), 3308, 1_000_000)]);
    assert_eq!(servers(12), [("pxc1.db".to_owned(), 3307, 1_000)]);
    let rules = configuration.graph.rules.iter().map(|rule| match &rule.body {
        Body::Engine(row) => (
            row.username.clone().unwrap(),
            row.match_digest.clone().unwrap(),
            row.destination_hostgroup.unwrap(),
        ),
        other => panic!("{other:?}"),
    });
    let app = || "app".to_owned();
    assert_eq!(
        rules.collect::<Vec<_>>(),
        [
            (app(), "^SELECT.*FOR UPDATE".to_owned(), 10),
            (app(), "^SELECT ".to_owned(), 11)
        ]
    );
    let interval = configuration
        .variables
        .get("mysql-monitor_galera_healthcheck_interval");
    assert_eq!(interval.map(String::as_str), Some("3000"));
}

#[test]
fn the_tool_of_proxysql_1_4_has_a_script_move_the_servers() {
    let text = "export CLUSTER_HOSTNAME='pxc1.db'\nexport WRITE_HOSTGROUP_ID='10'\nexport READ_HOSTGROUP_ID='11'\n\
        export MODE=\"singlewrite\"\nexport WRITER_IS_READER=\"always\"\nexport HOST_PRIORITY_FILE='/var/lib/proxysql/p.conf'\n";
    let (file, _) = imported(text);
    assert!(!file.problems.has_errors(), "{:?}", file.problems.sorted());
    let cluster = &file.configuration.clusters[0];
    assert_eq!(cluster.roles_by, RolesBy::External);
    assert_eq!((cluster.writer.0, cluster.reader), (10, Some(HostgroupId(11))));
    assert_eq!(cluster.writer_serves_reads, WriterServesReads::Always);
    assert!(
        passed(&file).contains("HOST_PRIORITY_FILE: the order of the writers is in that file"),
        "{}",
        passed(&file)
    );
}

#[test]
fn what_stays_with_the_tool_has_its_reason_and_what_nobody_knows_is_told() {
    let (file, _) = imported(&format!(
        "{FILE}export PROXYSQL_DATADIR='/var/lib/proxysql'\nexport WRITER_ARE_READERS='yes'\n"
    ));
    let told = passed(&file);
    for part in [
        "CLUSTER_USERNAME, CLUSTER_PASSWORD: the account of proxysql-admin itself",
        "PROXYSQL_DATADIR: where ProxySQL keeps its files",
        "PROXYSQL_USERNAME: how proxysql-admin reaches ProxySQL",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let unknown = file.problems.sorted().into_iter();
    let unknown: Vec<_> = unknown
        .filter(|problem| problem.code.as_str() == "SW162")
        .collect();
    assert_eq!(unknown.len(), 1, "{unknown:?}");
    assert!(unknown[0].message.contains("WRITER_ARE_READERS"), "{unknown:?}");
}
