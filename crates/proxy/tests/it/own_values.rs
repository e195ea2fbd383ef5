//! `CONNECTION_ID()` and `@@max_allowed_packet` in every clause: the number is the client's own or the server's, and nothing else
//! differs from a session without a proxy: neither names and types of columns nor what is stored.

use mysql::prelude::Queryable;
use mysql::{Conn, Value};
use shardwright_testkit::ClientOptions;

use crate::support::{PASSWORD, Setup, TestProxy, USER, schema, server, start, value};

const WORDS: [&str; 5] = [
    "CONNECTION_ID()",
    "connection_id ( )",
    "@@max_allowed_packet",
    "@@session.Max_Allowed_Packet",
    "@@LOCAL.max_allowed_packet",
];

/// Queries, whose values are the client's.
const QUERIES: [&str; 58] = [
    "SELECT {}",
    "SELECT {} AS x",
    "SELECT {} x, {} 'y', {} `z`",
    "SELECT {}+1",
    "SELECT {} - 10 ",
    "SELECT ({})",
    "SELECT +{}, -{}",
    "SELECT CONCAT({})",
    "SELECT HEX({}), {} = 'a', {} LIKE '1'",
    "SELECT 1, {} , 2, {}",
    "SELECT 1 ORDER BY {}",
    "SELECT a FROM t ORDER BY {}, a",
    "SELECT a FROM t ORDER BY a + {} DESC",
    "SELECT a, {} FROM t GROUP BY a, {} ORDER BY a",
    "SELECT a + {} AS b FROM t GROUP BY a + {} ORDER BY b",
    "SELECT a FROM t GROUP BY a HAVING {} > 0 ORDER BY a",
    "SELECT {} IS NULL, {} IS NOT NULL, NOT {}",
    "SELECT {} BETWEEN 1 AND 2, {} IN (1, 2), {} DIV {}",
    "SELECT CASE {} WHEN 1 THEN 2 END, CASE WHEN {} THEN 3 ELSE 4 END AS c, CASE {} WHEN 1 THEN 2 ELSE 3 END d",
    "SELECT {} = 'a' 'b'",
    "SELECT {} UNION SELECT 1",
    "SELECT 1 UNION SELECT {}",
    "SELECT {} UNION ALL SELECT {} ORDER BY 1",
    "(SELECT {})",
    "(SELECT {}) UNION (SELECT {})",
    "SELECT * FROM (SELECT {}) d",
    "SELECT * FROM (SELECT {}+0, a FROM t ORDER BY a) d",
    "SELECT * FROM (SELECT {} AS i) d WHERE i = {}",
    "SELECT (SELECT {}), EXISTS(SELECT {}), 1 IN (SELECT {})",
    "WITH c AS (SELECT {}) SELECT * FROM c",
    "WITH c AS (SELECT {}+0 AS x) SELECT x, {} FROM c",
    "SELECT {} /* c */",
    "SELECT /* d */ {} /* ` */ + 1, {} /* e */ , 2",
    "SELECT {} # c\n + 1",
    "SELECT {}\n\t+ 1",
    "SELECT CONCAT('\u{fc}\u{20ac}', {})",
    "SELECT CONCAT('\u{1d11e}', {})",
    "SELECT LENGTH(CONCAT('`', {}, '\"', '\\'')) > 0",
    "SELECT DISTINCT {} FROM t",
    "SELECT SQL_BIG_RESULT DISTINCT {} FROM t",
    "SELECT ALL {} FROM t",
    "SELECT {} LIMIT 1",
    "SELECT {} FROM t FOR UPDATE",
    "SELECT {} FROM t LOCK IN SHARE MODE",
    "SELECT a FROM t WHERE {} > 0 ORDER BY a",
    "SELECT x.a FROM t x JOIN t y ON x.a = y.a AND {} > 0 ORDER BY x.a",
    "SELECT a, SUM(a) OVER (ORDER BY a, {}) FROM t",
    "SELECT GROUP_CONCAT(a ORDER BY a, {}), COUNT(*) FROM t",
    "SELECT t.*, {} FROM t ORDER BY a",
    "SELECT `a`, t . a, {} FROM t ORDER BY a",
    "SELECT DATE_ADD('2020-01-01', INTERVAL {} SECOND) IS NULL n",
    "SELECT EXTRACT(DAY FROM '2020-01-01') + {}",
    "SELECT COALESCE(NULL, {}), IF(1, {}, 2), GREATEST({}, 1), CAST({} AS CHAR)",
    "SELECT {} WHERE 1",
    "SELECT {} FROM DUAL",
    "SELECT {} collate utf8mb4_bin IS NULL",
    "SELECT COERCIBILITY({}), CHARSET({})",
    "SELECT {}                                                                                                                                                                                                                                                                                               + 1",
];

/// Statements whose effect on table `t` has the client's number.
const WRITES: [&str; 16] = [
    "INSERT INTO t VALUES (3, {}, 'x')",
    "INSERT INTO t (a, o) VALUES (3, {}), (4, {} + 1)",
    "INSERT INTO t SET a = 3, o = {}",
    "INSERT INTO t SELECT a + 10, {}, s FROM t",
    "INSERT INTO t SELECT 3, {}, {}",
    "INSERT INTO t (a, o) VALUES (1, 0) ON DUPLICATE KEY UPDATE o = {} + VALUES(o)",
    "REPLACE INTO t VALUES (1, {}, {})",
    "UPDATE t SET o = {}",
    "UPDATE t SET s = {} WHERE a = 1 AND {} > 0",
    "UPDATE t, t u SET t.o = {} WHERE t.a = u.a",
    "DELETE FROM t WHERE o < {}",
    "DELETE t FROM t JOIN t u ON t.a = u.a AND {} > 0 WHERE t.a = 1",
    "CALL note({})",
    "DO {}",
    "DO SLEEP({} = 0)",
    "SET @own = {}",
];

/// Statements that store or show text. Values are the server's own number.
const TEXTS: [&str; 26] = [
    "CREATE VIEW x AS SELECT {}",
    "CREATE VIEW x AS SELECT {} + 1, a FROM t",
    "CREATE VIEW x (n) AS SELECT {}",
    "ALTER VIEW v AS SELECT {}",
    "CREATE TABLE x SELECT {}",
    "CREATE TABLE x AS SELECT {} AS c, a FROM t",
    "CREATE TABLE x (b INT) SELECT {} + 1",
    "CREATE TABLE x (a INT, b BIGINT DEFAULT ({}))",
    "CREATE TABLE x (a INT, b BIGINT AS ({}))",
    "CREATE TABLE x (a INT CHECK (a <> {}))",
    "ALTER TABLE t ADD COLUMN d BIGINT DEFAULT ({})",
    "ALTER TABLE t ADD CHECK (a <> {})",
    "CREATE PROCEDURE q() INSERT INTO t VALUES (9, {}, '')",
    "CREATE PROCEDURE q() BEGIN SELECT {}; END",
    "CREATE FUNCTION g() RETURNS BIGINT READS SQL DATA RETURN {}",
    "CREATE TRIGGER r BEFORE INSERT ON t FOR EACH ROW SET NEW.o = {}",
    "CREATE EVENT e ON SCHEDULE AT '2037-01-01 00:00:00' DO DELETE FROM t WHERE o = {}",
    "EXPLAIN SELECT a FROM t WHERE a = 1 AND {} > 0",
    "PREPARE s FROM 'SELECT {}'",
    "VALUES (1)",
    "SELECT * FROM (VALUES ({}), (1)) d",
    "SELECT 1 IN (VALUES ({}))",
    "INSERT INTO t (a, o) VALUES (3, {}) RETURNING a + {}, {}",
    "DELETE FROM t WHERE a = 1 RETURNING {}, a",
    "SELECT {} INTO @own",
    "SELECT FROM {}",
];

/// A number of a connection that no other value of the tests has; those of a fresh server are small.
const DISTINCT_NUMBER: u32 = 1000;

fn session(address: std::net::SocketAddr, name: &str) -> Conn {
    let connect = || {
        let login = ClientOptions {
            user: USER,
            password: PASSWORD,
            schema: Some(name),
        };
        shardwright_testkit::connect(address, login).unwrap()
    };
    std::iter::repeat_with(connect)
        .find(|connection| connection.connection_id() >= DISTINCT_NUMBER)
        .unwrap()
}

/// Values that may differ, by their names.
struct Own {
    number: u64,
    packet: u64,
}

impl Own {
    fn text(&self, value: Value) -> String {
        let text = value.as_sql(true);
        let bare = text.trim_matches('\'');
        for (own, name) in [(self.number, "NUMBER"), (self.packet, "PACKET")] {
            for (value, shown) in [
                (own.to_string(), name.to_owned()),
                ((own + 1).to_string(), format!("{name}+1")),
                ((own.wrapping_sub(10)).to_string(), format!("{name}-10")),
                (format!("-{own}"), format!("-{name}")),
                (format!("{own:X}"), format!("HEX {name}")),
                (format!("{}", own + 2), format!("{name}+2")),
            ] {
                if bare == value {
                    return shown;
                }
            }
            for prefix in ["\u{fc}\u{20ac}", "\u{1d11e}"] {
                if bare == format!("{prefix}{own}") {
                    return format!("{prefix}{name}");
                }
            }
        }
        text.replace(&self.packet.to_string(), "PACKET")
    }
}

/// What a client sees: columns, then rows, or the number of an error.
fn seen<T: mysql::prelude::Protocol>(
    result: mysql::Result<mysql::QueryResult<'_, '_, '_, T>>,
    own: &Own,
) -> String {
    let mut result = match result {
        Ok(result) => result,
        Err(mysql::Error::MySqlError(error)) => return format!("error {}", error.code),
        Err(error) => panic!("{error}"),
    };
    let mut seen = String::new();
    while let Some(set) = result.iter() {
        for column in set.columns().as_ref() {
            seen += &format!("{column:?}\n");
        }
        for row in set {
            let Ok(row) = row else {
                seen += "error in rows\n";
                break;
            };
            let values: Vec<String> = row.unwrap().into_iter().map(|value| own.text(value)).collect();
            seen += &format!("{values:?}\n");
        }
    }
    seen
}

/// What the statements have stored.
fn stored(name: &str, own: &Own) -> String {
    let mut root = server().root().unwrap();
    let mut stored = String::new();
    for sql in [
        format!("SELECT a, o, s FROM {name}.t ORDER BY a"),
        format!("SELECT n FROM {name}.notes"),
        format!(
            "SELECT VIEW_DEFINITION FROM information_schema.VIEWS WHERE TABLE_SCHEMA = '{name}' ORDER BY TABLE_NAME"
        ),
        format!(
            "SELECT TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE, COLUMN_DEFAULT, EXTRA, GENERATION_EXPRESSION \
             FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = '{name}' ORDER BY TABLE_NAME, ORDINAL_POSITION"
        ),
        format!(
            "SELECT CHECK_CLAUSE FROM information_schema.CHECK_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = '{name}'"
        ),
        format!(
            "SELECT ROUTINE_NAME, ROUTINE_DEFINITION FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = '{name}' ORDER BY 1"
        ),
        format!("SELECT ACTION_STATEMENT FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = '{name}'"),
        format!("SELECT EVENT_DEFINITION FROM information_schema.EVENTS WHERE EVENT_SCHEMA = '{name}'"),
    ] {
        stored += &seen(root.query_iter(&sql), own);
    }
    stored
}

fn prepare_schema(name: &str) {
    schema(name);
    server()
        .run(format!(
            "USE {name}; CREATE TABLE t (a INT PRIMARY KEY, o BIGINT UNSIGNED, s VARCHAR(30)); \
             INSERT INTO t VALUES (1, 0, 'a'), (2, 0, 'b'); CREATE TABLE notes (n BIGINT UNSIGNED); \
             CREATE VIEW v AS SELECT 1 AS one; CREATE PROCEDURE note(IN i BIGINT UNSIGNED) INSERT INTO notes VALUES (i)"
        ))
        .unwrap();
}

/// What a client sees of a statement, and what is stored behind one that is no query.
fn outcome(
    client: &mut Conn,
    name: &str,
    (sql, is_binary): (&str, bool),
    (packet, stores): (u64, bool),
) -> String {
    let number = u64::from(client.connection_id());
    let own = Own { number, packet };
    let mut outcome = match is_binary {
        false => seen(client.query_iter(sql), &own),
        true => match client.prep(sql) {
            Ok(statement) => {
                let columns = format!("{:?}", statement.columns());
                columns + &seen(client.exec_iter(&statement, ()), &own)
            }
            Err(mysql::Error::MySqlError(error)) => format!("error {}", error.code),
            Err(error) => panic!("{sql}: {error}"),
        },
    };
    if sql.contains("@own") {
        outcome += &seen(client.query_iter("SELECT @own"), &own);
    }
    if stores {
        outcome += &stored(name, &own);
    }
    outcome
}

/// Numbers, which differ where they are the server's.
fn without_numbers(outcome: &str) -> String {
    let mut shown = String::new();
    for char in outcome.chars() {
        match char {
            '0'..='9' if shown.ends_with('#') => {}
            '0'..='9' => shown.push('#'),
            char => shown.push(char),
        }
    }
    // A number of the client's own stands without quotes.
    shown.replace("NUMBER", "#").replace('\'', "")
}

const LIMIT: usize = 1 << 20;

fn proxy() -> TestProxy {
    start(&Setup {
        options: Box::new(|options| options.limits.max_packet = LIMIT),
        configuration: Box::new(|configuration| configuration.graph.rules.clear()),
        ..Setup::default()
    })
}

/// Queries share a session; other statements begin with the same tables.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Query,
    Write,
    Text,
}

fn compare(name: &str, shapes: &[&str], words: &[&str], kind: Kind) {
    let proxy = proxy();
    let direct = server().address();
    let through = proxy.running().listen_address();
    let packet = value(&mut server().root().unwrap(), "SELECT @@max_allowed_packet");
    let packet: u64 = packet.parse().unwrap();
    let stores = kind != Kind::Query;
    let mut wrong = Vec::new();
    prepare_schema(name);
    let mut both =
        [(direct, packet), (through, LIMIT as u64)].map(|(at, packet)| (at, packet, session(at, name)));
    for (shape, word) in shapes
        .iter()
        .flat_map(|shape| words.iter().map(move |word| (shape, word)))
    {
        let sql = shape.replace("{}", word);
        for is_binary in [false, true] {
            let [expected, found] = both.each_mut().map(|(at, packet, client)| {
                if stores {
                    prepare_schema(name);
                    *client = session(*at, name);
                }
                outcome(client, name, (&sql, is_binary), (*packet, stores))
            });
            let is_same = match kind {
                Kind::Text => without_numbers(&expected) == without_numbers(&found),
                _ => expected == found,
            };
            if !is_same {
                wrong.push(format!(
                    "{sql:?} binary: {is_binary}\n{expected}\n--- here\n{found}"
                ));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} differ:\n{}",
        wrong.len(),
        wrong.join("\n======\n")
    );
}

#[test]
fn queries_have_the_names_and_types_of_the_server() {
    compare("own_values_queries", &QUERIES, &WORDS, Kind::Query);
}

#[test]
fn writes_store_the_number_of_the_client() {
    compare("own_values_writes", &WRITES, &WORDS[..1], Kind::Write);
}

#[test]
fn texts_are_stored_as_they_are() {
    compare("own_values_texts", &TEXTS, &WORDS[..1], Kind::Text);
}
