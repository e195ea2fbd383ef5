//! The greeting tells the version of the servers behind the proxy.

use mysql::prelude::Queryable;
use shardwright_testkit::{MariaDb, Options};

use crate::support::{self, PATIENCE, Setup, member, server, value};

#[test]
fn clients_are_greeted_with_the_servers_version() {
    let proxy = support::start(&Setup::default());
    let client = proxy.connect(None);
    let direct = server().root().unwrap();
    assert_eq!(client.server_version(), direct.server_version());
    let variable = "SELECT variable_value FROM global_variables WHERE variable_name = 'mysql-server_version'";
    let told = value(&mut proxy.admin(), variable);
    assert!(told.contains("MariaDB"), "{told}");
}

#[test]
fn a_version_that_is_set_is_told() {
    let proxy = support::start(&Setup {
        options: Box::new(|options| options.server_version = Some("8.4.3-mine".to_owned())),
        ..Setup::default()
    });
    assert_eq!(proxy.connect(None).server_version(), (8, 4, 3));
}

#[test]
fn a_server_that_was_away_is_known_from_its_first_connection() {
    let mut away = MariaDb::start(Options::default()).unwrap();
    support::create_users(&away);
    let port = away.port();
    away.kill().unwrap();
    let proxy = support::start(&Setup {
        configuration: Box::new(move |configuration| {
            for hostgroup in &mut configuration.hostgroups {
                hostgroup.members = vec![member("a", port, 20)];
            }
        }),
        ..Setup::default()
    });
    let mut early = proxy.connect(None);
    assert_eq!(early.server_version(), (8, 0, 30), "nobody knows better");
    away.restart().unwrap();
    shardwright_testkit::eventually(PATIENCE, || early.query_drop("SELECT 1").is_ok());
    let late = proxy.connect(None);
    assert_eq!(late.server_version(), server().root().unwrap().server_version());
}

#[test]
fn servers_are_told_who_connects() {
    let observed = MariaDb::start(Options::default().arg("--performance-schema=ON")).unwrap();
    support::create_users(&observed);
    let proxy = support::start(&Setup {
        port: observed.port(),
        ..Setup::default()
    });
    proxy.connect(None).query_drop("SELECT 1").unwrap();
    let attribute = "SELECT attr_value FROM performance_schema.session_connect_attrs WHERE attr_name = 'program_name' \
                     AND attr_value LIKE 'shardwright%'";
    let told = observed.run(attribute).unwrap();
    assert_eq!(told, [[Some("shardwright proxy".to_owned())]]);
}

#[test]
fn a_set_of_autocommit_that_reads_a_table_is_refused_for_mysql() {
    let proxy = support::start(&Setup {
        options: Box::new(|options| options.server_version = Some("9.7.4".to_owned())),
        ..Setup::default()
    });
    let mut client = proxy.connect(None);
    for (sql, is_refused) in [
        ("SET autocommit = (SELECT 0)", true),
        ("SET @x = 1, @@session.autocommit = own(0)", true),
        ("SET sql_mode = '', AUTOCOMMIT := own(0)", true),
        ("SET autocommit = 0", false),
        ("SET autocommit = 1 - 0", false),
        ("SET @autocommit_seen = 1", false),
    ] {
        let answer = client.query_drop(sql);
        let refused = |error: &mysql::Error| error.to_string().contains("MySQL can lose");
        assert_eq!(
            answer.as_ref().is_err_and(refused),
            is_refused,
            "{sql}: {answer:?}"
        );
    }
}
