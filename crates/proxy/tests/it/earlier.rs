//! What a session's earlier statements have left: variables of triggers, named locks, warnings. Statements that ask for it get
//! what one server would answer, or are refused.

use mysql::Conn;
use mysql::prelude::Queryable;

use crate::maps::tenants;
use crate::support::{Setup, TestProxy, error, schema, server, start, value};

fn run(client: &mut Conn, sql: &str) {
    client
        .query_drop(sql)
        .unwrap_or_else(|error| panic!("{sql}: {error}"));
}

/// One worker, so that sessions share what connections there are.
fn shared() -> TestProxy {
    start(&Setup {
        options: Box::new(|options| options.workers = std::num::NonZeroUsize::new(1)),
        ..Setup::default()
    })
}

/// A table whose trigger sets `@trig`, one without, and code that takes variables.
fn triggers(name: &str) -> String {
    let name = schema(name);
    server()
        .run(format!(
            "USE {name}; CREATE TABLE t (a INT); CREATE TABLE plain (a INT, b INT); INSERT INTO plain VALUES (1, 1); \
             CREATE TRIGGER sets BEFORE INSERT ON t FOR EACH ROW SET @trig = NEW.a; \
             CREATE FUNCTION twice(n INT) RETURNS INT DETERMINISTIC RETURN 2 * n"
        ))
        .unwrap();
    name
}

#[test]
fn a_trigger_s_variable_is_refused_in_every_form_when_its_connection_is_gone() {
    let name = triggers("earlier_forms");
    let proxy = shared();
    let mut holder = proxy.connect(Some(&name));
    for form in [
        "SELECT @trig",
        "SELECT 1 FROM plain WHERE a = @trig",
        "SELECT @trig := @trig + 1",
        "SELECT a FROM plain ORDER BY a + @trig",
        "SELECT (SELECT @trig)",
        "SELECT twice(@trig)",
        "SELECT @TRIG, @`trig`",
        "DO @trig = 1",
        "SET @copy = @trig",
        "SET @trig = @trig + 1",
        "SET time_zone = @trig",
        "INSERT INTO plain VALUES (@trig, 1)",
        "INSERT INTO plain SELECT a, @trig FROM plain",
        "REPLACE INTO plain VALUES (@trig, 1)",
        "UPDATE plain SET b = @trig",
        "DELETE FROM plain WHERE a = @trig",
        "EXECUTE IMMEDIATE 'SELECT @trig'",
        "EXECUTE IMMEDIATE 'SELECT ?' USING @trig",
        "/*! SELECT @trig */",
    ] {
        proxy.settle();
        let mut client = proxy.connect(Some(&name));
        run(&mut client, "INSERT INTO t VALUES (7)");
        // Another session gets the connection, and keeps it.
        run(&mut holder, "SET @held = 1");
        let (code, message) = error(&mut client, form);
        assert_eq!(code, 1105, "{form}: {message}");
        assert!(message.contains("a trigger may have set"), "{form}: {message}");
        holder.reset().unwrap();
    }
    proxy.settle();
    let mut client = proxy.connect(Some(&name));
    let prepared = client.prep("UPDATE plain SET b = @trig WHERE a = ?").unwrap();
    run(&mut client, "INSERT INTO t VALUES (7)");
    run(&mut holder, "SET @held = 1");
    let executed = client.exec_drop(&prepared, (1,)).unwrap_err().to_string();
    assert!(executed.contains("a trigger may have set"), "{executed}");
}

/// What a parameter is decides if the value is read.
#[test]
fn an_argument_of_call_is_refused_if_it_is_read_and_its_connection_is_gone() {
    let name = triggers("earlier_calls");
    server()
        .run(format!(
            "USE {name}; CREATE PROCEDURE takes(IN n INT) INSERT INTO plain VALUES (n, 1); \
             CREATE PROCEDURE gives(OUT n INT) SET n = 5; CREATE PROCEDURE both_ways(INOUT n INT) SET n = n + 1; \
             CREATE PROCEDURE takes_one(OUT a INT, IN b INT, OUT c INT) SET a = b, c = b"
        ))
        .unwrap();
    let proxy = shared();
    let mut holder = proxy.connect(Some(&name));
    let is_refused = |client: &mut Conn, form: &str| {
        let (code, message) = error(client, form);
        assert_eq!(code, 1105, "{form}: {message}");
        assert!(message.contains("a trigger may have set"), "{form}: {message}");
    };
    for (form, gives) in [
        ("CALL takes(@trig)", None),
        ("CALL TAKES ( @`trig` )", None),
        ("CALL earlier_calls.takes(@trig)", None),
        ("CALL takes(@trig + 1)", None),
        ("CALL takes((@trig))", None),
        ("CALL takes(COALESCE(@trig, 0))", None),
        ("CALL takes(twice(@trig))", None),
        ("CALL gives(@trig + 1)", None),
        ("CALL both_ways(@trig)", None),
        ("CALL takes_one(@a, @trig, @c)", None),
        ("CALL takes_one(@a, @trig + 1, @c)", None),
        ("CALL nosuch(@trig)", None),
        ("CALL gives(@trig)", Some("5")),
        ("CALL earlier_calls.gives(@trig)", Some("5")),
        ("CALL takes_one(@trig, 6, @c)", Some("6")),
        ("CALL takes_one(@a, 7, @trig)", Some("7")),
    ] {
        proxy.settle();
        let mut client = proxy.connect(Some(&name));
        run(&mut client, "INSERT INTO t VALUES (7)");
        // Another session gets the connection, and keeps it.
        run(&mut holder, "SET @held = 1");
        match gives {
            None => is_refused(&mut client, form),
            Some(value_of_output) => {
                run(&mut client, form);
                assert_eq!(value(&mut client, "SELECT @trig"), value_of_output, "{form}");
            }
        }
        holder.reset().unwrap();
    }
    assert_eq!(value(&mut holder, "SELECT COUNT(*) FROM plain"), "1");
    // Where the connection is there, the value is.
    let mut client = proxy.connect(Some(&name));
    run(&mut client, "INSERT INTO t VALUES (7)");
    run(&mut client, "CALL takes(@trig)");
    assert_eq!(value(&mut client, "SELECT MAX(a) FROM plain"), "7");
}

#[test]
fn a_trigger_s_variable_is_that_of_the_last_write_that_set_it() {
    let name = triggers("earlier_latest");
    let proxy = shared();
    let mut client = proxy.connect(Some(&name));
    run(&mut client, "INSERT INTO t VALUES (1)");
    assert_eq!(value(&mut client, "SELECT @trig"), "1");
    client.reset().unwrap();
    // A write on another server came after it, and has set nothing.
    run(&mut client, "INSERT INTO t VALUES (2)");
    run(&mut client, "INSERT /* b */ INTO plain VALUES (9, 9)");
    assert_eq!(error(&mut client, "SELECT @trig").0, 1105);
    client.reset().unwrap();
    // One that has set it came last.
    run(&mut client, "INSERT /* b */ INTO plain VALUES (9, 9)");
    run(&mut client, "INSERT INTO t VALUES (3)");
    assert_eq!(value(&mut client, "SELECT @trig"), "3");
    client.reset().unwrap();
    // The statement's own place is another.
    run(&mut client, "INSERT INTO t VALUES (4)");
    let (code, message) = error(&mut client, "UPDATE /* b */ plain SET b = @trig");
    assert_eq!(code, 9006, "{message}");
    assert!(
        message.contains("hostgroup 10") && message.contains("hostgroup 20"),
        "{message}"
    );
    // So is that of a text which was prepared by name.
    client.reset().unwrap();
    run(&mut client, "INSERT INTO t VALUES (5)");
    run(&mut client, "PREPARE s FROM 'SELECT @trig'");
    assert_eq!(value(&mut client, "EXECUTE s"), "5");
    client.reset().unwrap();
    run(&mut client, "INSERT INTO t VALUES (6)");
    run(&mut client, "INSERT /* b */ INTO t VALUES (7)");
    run(&mut client, "PREPARE s FROM 'SELECT @trig'");
    let code = error(&mut client, "EXECUTE s").0;
    assert!([1105, 9006].contains(&code), "{code}");
}

#[test]
fn a_statement_follows_its_key_whatever_it_asks() {
    let proxy = tenants("earlier_keys");
    let mut client = proxy.connect(Some("earlier_keys"));
    for (asked, text, there) in [
        ("FOUND_ROWS()", "SELECT /* tenant=1 */ who FROM t", "1"),
        ("ROW_COUNT()", "UPDATE /* tenant=1 */ t SET who = who + 1", "1"),
        // A statement about a table begins a list.
        ("@@warning_count", "SELECT /* tenant=1 */ who / 0 FROM t", "0"),
    ] {
        run(&mut client, text);
        let update = format!("UPDATE /* tenant=2 */ t SET who = {asked}");
        let (code, message) = error(&mut client, &update);
        assert_eq!(code, 9006, "{update}: {message}");
        assert!(
            message.contains("hostgroup 10") && message.contains("hostgroup 20"),
            "{message}"
        );
        assert_eq!(value(&mut client, "SELECT /* tenant=2 */ who FROM t"), "2");
        // Where the earlier statement ran it is answered.
        run(&mut client, text);
        let select = format!("SELECT /* tenant=1 */ {asked} FROM t");
        assert_eq!(value(&mut client, &select), there, "{select}");
    }
    // The id comes along.
    run(&mut client, "SELECT LAST_INSERT_ID(77)");
    run(&mut client, "UPDATE /* tenant=2 */ t SET who = LAST_INSERT_ID()");
    assert_eq!(value(&mut client, "SELECT /* tenant=2 */ who FROM t"), "77");
    run(
        &mut client,
        "UPDATE /* tenant=1 */ t SET who = LAST_INSERT_ID(who + 5) - 5",
    );
    assert_eq!(value(&mut client, "SELECT LAST_INSERT_ID()"), "8");
    let refused = "SELECT Variable_Value FROM stats_mysql_global WHERE Variable_Name = 'Refused_9006'";
    assert_eq!(value(&mut proxy.admin(), refused), "3");
}

#[test]
fn code_does_not_run_where_it_would_miss_the_session_s_variables() {
    let name = triggers("earlier_code");
    server()
        .run(format!("USE {name}; CREATE PROCEDURE shows() SELECT @mine"))
        .unwrap();
    let proxy = shared();
    let mut client = proxy.connect(Some(&name));
    run(&mut client, "SELECT 5 INTO @mine");
    for form in [
        "CALL /* b */ shows()",
        "SELECT /* b */ twice(1)",
        "UPDATE /* b */ plain SET b = twice(1)",
        "EXECUTE /* b */ IMMEDIATE 'SELECT @mine'",
    ] {
        let (code, message) = error(&mut client, form);
        assert_eq!(code, 9006, "{form}: {message}");
        assert!(message.contains("user variables"), "{form}: {message}");
        run(&mut client, &form.replace("/* b */", ""));
    }
    // A statement without such code misses nothing.
    client.reset().unwrap();
    run(&mut client, "SELECT 5 INTO @mine");
    run(&mut client, "UPDATE /* b */ plain SET b = 7");
    assert_eq!(value(&mut client, "SELECT @mine"), "5");
}

#[test]
fn what_the_proxy_answers_itself_counts_as_on_one_server() {
    let name = triggers("earlier_own");
    let proxy = shared();
    let mut client = proxy.connect(Some(&name));
    let mut other = proxy.connect(Some(&name));
    assert_eq!(value(&mut client, "SELECT ROW_COUNT()"), "0");
    for (own, row_count) in [
        ("SET NAMES utf8mb4", "0"),
        ("SET autocommit=1", "0"),
        (&*format!("USE {name}"), "0"),
        ("SELECT CONNECTION_ID()", "-1"),
        ("KILL QUERY 4000000000", "-1"),
    ] {
        run(&mut client, "INSERT INTO plain VALUES (5, 5), (6, 6)");
        let _refused = client.query_drop(own);
        run(&mut other, "SELECT 1");
        assert_eq!(value(&mut client, "SELECT ROW_COUNT()"), row_count, "{own}");
    }
    run(&mut client, "SELECT 1 UNION SELECT 2 UNION SELECT 3");
    client.ping().unwrap();
    assert_eq!(
        value(&mut client, "SELECT CONCAT(FOUND_ROWS(), ROW_COUNT())"),
        "30"
    );
}

#[test]
fn found_rows_are_those_of_the_last_select_wherever_it_ran() {
    let name = triggers("earlier_found");
    let proxy = shared();
    let mut client = proxy.connect(Some(&name));
    for between in [
        "INSERT INTO plain VALUES (5, 5)",
        "INSERT /* b */ INTO plain VALUES (5, 5)",
        "SET time_zone='+00:00'",
        "BEGIN",
        "COMMIT",
    ] {
        run(&mut client, "SELECT 1 UNION SELECT 2 UNION SELECT 3");
        run(&mut client, between);
        assert_eq!(value(&mut client, "SELECT FOUND_ROWS()"), "3", "{between}");
    }
    // Nobody can tell from its text what it leaves.
    run(&mut client, "SELECT 1 UNION SELECT 2 UNION SELECT 3");
    run(&mut client, "INSERT /* b */ INTO plain SELECT a, b FROM plain");
    assert_eq!(error(&mut client, "SELECT FOUND_ROWS()").0, 1105);
    // Two answers on two connections.
    run(&mut client, "SELECT 1 UNION SELECT 2 UNION SELECT 3");
    run(&mut client, "INSERT /* b */ INTO plain VALUES (5, 5)");
    assert_eq!(error(&mut client, "SELECT FOUND_ROWS(), ROW_COUNT()").0, 1105);
}

#[test]
fn warnings_are_those_of_a_server_after_a_set_with_an_expression() {
    let name = triggers("earlier_set");
    let proxy = shared();
    let mut direct = server()
        .connect(shardwright_testkit::ClientOptions {
            user: crate::support::USER,
            password: crate::support::PASSWORD,
            schema: Some(&name),
        })
        .unwrap();
    let mut through = proxy.connect(Some(&name));
    for client in [&mut direct, &mut through] {
        run(client, "SET @old = @@sql_mode, @zone = 'SYSTEM'");
    }
    for set in [
        "SET sql_mode = @old",
        "SET sql_mode = CONCAT(@@sql_mode, ',HIGH_NOT_PRECEDENCE')",
        "SET sql_mode = REPLACE(@@sql_mode, 'HIGH_NOT_PRECEDENCE', '')",
        "SET time_zone = @zone",
        "SET sql_mode = (SELECT @old)",
    ] {
        for before in ["SELECT 1/0", "SELECT a FROM plain", "DO 1", "SELECT nothing"] {
            for question in [
                "SHOW WARNINGS",
                "SHOW COUNT(*) WARNINGS",
                "SELECT @@warning_count",
                "SELECT @@error_count",
            ] {
                let [expected, found] = [&mut direct, &mut through].map(|client| {
                    let _failed = client.query_drop(before);
                    run(client, set);
                    value(client, question)
                });
                assert_eq!(found, expected, "{before}; {set}; {question}");
            }
        }
    }
}

#[test]
fn a_lock_is_known_where_it_is_or_the_question_is_refused() {
    let proxy = tenants("earlier_locks");
    let mut client = proxy.connect(Some("earlier_locks"));
    let mut other = proxy.connect(Some("earlier_locks"));
    assert_eq!(
        value(&mut client, "SELECT /* tenant=2 */ GET_LOCK('earlier_a', 0)"),
        "1"
    );
    let ours = [
        "GET_LOCK('earlier_a', 0)",
        "IS_USED_LOCK('earlier_a')",
        "IS_FREE_LOCK('earlier_a')",
        "RELEASE_LOCK('earlier_a')",
        "RELEASE_ALL_LOCKS()",
        "GET_LOCK(CONCAT('earlier', '_a'), 0)",
    ];
    for lock in ours {
        for elsewhere in [
            format!("SELECT {lock}"),
            format!("SELECT /* tenant=1 */ {lock}"),
            format!("/* tenant=1 */ DO {lock}"),
        ] {
            let (code, message) = error(&mut client, &elsewhere);
            assert_eq!(code, 9006, "{elsewhere}: {message}");
            assert!(
                message.contains("hostgroup 20") && message.contains("hostgroup 10"),
                "{message}"
            );
        }
    }
    // Another lock is free everywhere, as far as the session is concerned.
    assert_eq!(
        value(&mut client, "SELECT /* tenant=1 */ IS_FREE_LOCK('earlier_b')"),
        "1"
    );
    assert_eq!(
        value(&mut other, "SELECT /* tenant=2 */ GET_LOCK('earlier_a', 0)"),
        "0"
    );
    // Once it is freed, it can be taken elsewhere.
    assert_eq!(
        value(&mut client, "SELECT /* tenant=2 */ RELEASE_LOCK('earlier_a')"),
        "1"
    );
    assert_eq!(
        value(&mut client, "SELECT /* tenant=1 */ GET_LOCK('earlier_a', 0)"),
        "1"
    );
}

/// MySQL compares a BIGINT column with the ROW_COUNT() of the time when the statement was prepared.
#[test]
fn counts_beside_a_table_are_not_prepared_on_mysql() {
    let name = triggers("earlier_prepared");
    let proxy = shared();
    let mut client = proxy.connect(Some(&name));
    run(&mut client, "INSERT INTO plain VALUES (5, 5), (6, 6)");
    let own: Option<i64> = client.exec_first("SELECT ROW_COUNT() + 0", ()).unwrap();
    assert!(own.is_some());
    for text in [
        "UPDATE plain SET b = 1 WHERE a = ROW_COUNT()",
        "SELECT b FROM plain WHERE a = FOUND_ROWS() + 1",
        "INSERT INTO plain VALUES (ROW_COUNT(), 1)",
    ] {
        let prepared = client.prep(text);
        match server().flavour().is_mysql() {
            false => assert!(prepared.is_ok(), "{text}: {prepared:?}"),
            true => {
                let error = prepared.unwrap_err().to_string();
                assert!(
                    error.contains("1295") && error.contains("ROW_COUNT()"),
                    "{text}: {error}"
                );
            }
        }
    }
}

/// The only connection goes from session to session, also to those of another worker, for which it is closed.
#[test]
fn an_id_survives_the_connection_that_the_proxy_closes_for_others() {
    let name = schema("earlier_closed");
    let table = "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, made INT); \
                 CREATE TABLE child (a INT, parent INT); \
                 CREATE TRIGGER knows BEFORE INSERT ON child FOR EACH ROW SET NEW.parent = LAST_INSERT_ID()";
    server().run(format!("USE {name}; {table}")).unwrap();
    let proxy = start(&Setup {
        max_connections: 1,
        options: Box::new(|options| options.workers = std::num::NonZeroUsize::new(2)),
        ..Setup::default()
    });
    let mut others: Vec<_> = (0..4).map(|_| proxy.connect(Some(&name))).collect();
    let mut client = proxy.connect(Some(&name));
    for turn in 0..5 {
        for question in ["SELECT LAST_INSERT_ID()", "INSERT INTO child (a) VALUES (1)"] {
            run(&mut client, "INSERT INTO t (made) VALUES (1)");
            let id = client.last_insert_id();
            for other in &mut others {
                assert_eq!(value(other, "SELECT 1"), "1");
            }
            match question.starts_with("SELECT") {
                true => assert_eq!(value(&mut client, question), id.to_string(), "{turn}"),
                false => {
                    run(&mut client, question);
                    let parent = value(&mut client, "SELECT MAX(parent) FROM child");
                    assert_eq!(parent, id.to_string(), "{turn}");
                }
            }
        }
    }
}

#[test]
fn a_savepoint_without_a_transaction_is_not_missed_elsewhere() {
    let name = schema("earlier_savepoint");
    server()
        .run(format!("USE {name}; CREATE TABLE t (a INT) ENGINE=InnoDB"))
        .unwrap();
    let proxy = shared();
    let mut client = proxy.connect(Some(&name));
    run(&mut client, "SET autocommit = 0");
    run(&mut client, "SAVEPOINT s");
    let (code, message) = error(&mut client, "INSERT /* b */ INTO t VALUES (1)");
    assert_eq!(code, 9006, "{message}");
    assert!(message.contains("a savepoint under autocommit=0"), "{message}");
    run(&mut client, "INSERT INTO t VALUES (2)");
    run(&mut client, "ROLLBACK TO s");
    run(&mut client, "COMMIT");
    run(&mut client, "INSERT /* b */ INTO t VALUES (3)");
    run(&mut client, "COMMIT");
    assert_eq!(value(&mut client, "SELECT GROUP_CONCAT(a) FROM t"), "3");
}
