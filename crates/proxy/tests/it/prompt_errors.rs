//! Errors come with the command that is wrong, as a server gives them, and not with the next statement.

use mysql::Conn;
use mysql::prelude::Queryable;
use shardwright_testkit::ClientOptions;

use crate::support::{self, Setup, TestProxy, error, schema, server, value};

/// What a server and the proxy say: OK, or the number of the error; and the schema behind it.
fn said(client: &mut Conn, sql: &str) -> (u16, String) {
    let code = match client.query_drop(sql) {
        Ok(()) => 0,
        Err(mysql::Error::MySqlError(error)) => error.code,
        Err(other) => panic!("{sql}: {other}"),
    };
    (code, value(client, "SELECT IFNULL(DATABASE(), '')"))
}

/// Statements have only one place to go to, so a schema that is not there is nowhere.
fn one_cluster() -> TestProxy {
    support::start(&Setup {
        configuration: Box::new(|configuration| configuration.graph.rules.clear()),
        ..Setup::default()
    })
}

#[test]
fn the_proxy_says_what_a_server_says() {
    let proxy = one_cluster();
    let name = schema("prompt_errors");
    for sql in [
        "/* x */",
        "-- x",
        "# x\n",
        "/* x */;",
        "",
        "  ",
        ";",
        "USE nope",
        "USE mysql",
        "USE mysql;",
        "/* a */ USE `mysql` -- b",
        "USE",
        "USE mysql, mysql",
        "USE mysql mysql",
        "use index (a) select 1",
        "SET NAMES nonesuch",
        "SET NAMES utf8mb4 COLLATE latin1_bin",
        "SET NAMES utf8mb4 COLLATE utf8mb4_nonesuch",
        "SET NAMES latin1 COLLATE latin1_bin",
    ] {
        let login = ClientOptions {
            user: support::USER,
            password: support::PASSWORD,
            schema: Some(&name),
        };
        let mut direct = server().connect(login).unwrap();
        let mut through = proxy.connect(Some(&name));
        assert_eq!(said(&mut through, sql), said(&mut direct, sql), "{sql:?}");
    }
}

#[test]
fn a_name_that_no_schema_can_have_is_refused_at_once() {
    let proxy = one_cluster();
    let here = schema("prompt_names");
    for name in ["x".repeat(65), "x".repeat(300), "blank ".to_owned()] {
        let code = |refused: mysql::Error| match refused {
            mysql::Error::MySqlError(error) => error.code,
            other => panic!("{name}: {other}"),
        };
        let login = |schema| ClientOptions {
            user: support::USER,
            password: support::PASSWORD,
            schema: Some(schema),
        };
        let expected = code(server().connect(login(&name)).unwrap_err());
        let refused = proxy.try_connect(support::USER, support::PASSWORD, Some(&name));
        let found = code(refused.unwrap_err());
        // Of some names, MySQL's login says that they are too long, and COM_INIT_DB that they are wrong.
        let is_of_name = |code| [1059, 1102].contains(&code);
        assert!(
            found == expected || (is_of_name(found) && is_of_name(expected)),
            "{name}: {found} for {expected}"
        );
        let (mut direct, mut through) = (
            server().connect(login(&here)).unwrap(),
            proxy.connect(Some(&here)),
        );
        let expected = code(direct.select_db(&name).unwrap_err());
        assert_eq!(code(through.select_db(&name).unwrap_err()), expected, "{name}");
        let sql = format!("USE `{name}`");
        assert_eq!(said(&mut through, &sql), said(&mut direct, &sql), "{sql}");
    }
}

#[test]
fn a_schema_that_is_dropped_is_missed_at_once() {
    let proxy = one_cluster();
    let name = schema("prompt_dropped");
    let mut client = proxy.connect(None);
    client.query_drop(format!("USE {name}")).unwrap();
    client.query_drop(format!("DROP DATABASE {name}")).unwrap();
    assert_eq!(error(&mut client, &format!("USE {name}")).0, 1049);
    assert!(client.select_db(&name).is_err());
    client.query_drop("USE mysql").unwrap();
    assert_eq!(value(&mut client, "SELECT DATABASE()"), "mysql");
}

#[test]
fn a_client_hears_that_its_server_has_closed_its_session() {
    let proxy = support::start(&Setup::default());
    let mut killed = proxy.connect(None);
    let mut other = proxy.connect(None);
    killed.query_drop("SET @a = 1").unwrap();
    let thread = value(&mut killed, "SELECT @@pseudo_thread_id");
    server().run(format!("KILL {thread}")).unwrap();
    // The driver reads an answer or the end of its stream: the proxy closes it without being asked.
    let closed = killed.query_drop("SELECT 1");
    assert!(closed.is_err());
    assert!(killed.ping().is_err(), "the connection is of no use any more");
    assert_eq!(value(&mut other, "SELECT 1"), "1");
}

#[test]
fn what_can_be_repeated_outlives_its_connection() {
    let proxy = support::start(&Setup::default());
    let mut client = proxy.connect(None);
    client.query_drop("SET time_zone = '+03:00'").unwrap();
    client.query_drop("SELECT 1/0").unwrap();
    let thread = value(&mut client, "SELECT @@pseudo_thread_id");
    server().run(format!("KILL {thread}")).unwrap();
    proxy.settle();
    assert_eq!(value(&mut client, "SELECT @@time_zone"), "+03:00");
}

/// What a login, or a change of the user, into a schema comes to.
fn login_said(result: mysql::Result<Conn>) -> (u16, String) {
    match result {
        Ok(mut client) => (0, value(&mut client, "SELECT IFNULL(DATABASE(), '')")),
        Err(mysql::Error::MySqlError(error)) => (error.code, error.message),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn a_login_into_a_schema_that_is_not_there_is_refused() {
    let proxy = one_cluster();
    let name = schema("prompt_login");
    for wanted in [
        None,
        Some(name.as_str()),
        Some("nope"),
        Some("nope nope"),
        Some("mysql"),
    ] {
        let login = ClientOptions {
            user: support::USER,
            password: support::PASSWORD,
            schema: wanted,
        };
        let direct = login_said(server().connect(login));
        let through = login_said(proxy.try_connect(support::USER, support::PASSWORD, wanted));
        assert_eq!(through, direct, "{wanted:?}");
    }
    // A refusal leaves nothing behind: not a place among the user's sessions, not a connection.
    shardwright_testkit::eventually(support::PATIENCE, || proxy.running().sessions() == 0);
    proxy.settle();
}

#[test]
fn a_change_of_the_user_into_a_schema_that_is_not_there_is_refused() {
    let proxy = one_cluster();
    let mut client = proxy.connect(None);
    let change = |schema: &str| {
        mysql::ChangeUserOpts::DEFAULT
            .with_user(Some(support::USER.to_owned()))
            .with_pass(Some(support::PASSWORD.to_owned()))
            .with_db_name(Some(schema.to_owned()))
    };
    client.change_user(change("mysql")).unwrap();
    assert_eq!(value(&mut client, "SELECT DATABASE()"), "mysql");
    let refused = client.change_user(change("nope")).unwrap_err();
    assert!(
        matches!(&refused, mysql::Error::MySqlError(error) if error.code == 1049),
        "{refused}"
    );
}

#[test]
fn a_schema_that_is_known_costs_a_login_no_round_trip() {
    let proxy = support::start(&Setup {
        options: Box::new(|options| options.workers = std::num::NonZeroUsize::new(1)),
        configuration: Box::new(|configuration| configuration.graph.rules.clear()),
        max_connections: 1,
        ..Setup::default()
    });
    let name = schema("prompt_known");
    // One worker and one connection to the server, which counts the changes of its schema.
    let changes = || {
        let mut client = proxy.connect(Some(&name));
        let row: (String, u64) = client
            .query_first("SHOW SESSION STATUS LIKE 'Com_change_db'")
            .unwrap()
            .unwrap();
        row.1
    };
    changes();
    let before = changes();
    assert_eq!(changes(), before);
}
