//! The `mysql` crate, in this process; lines as every client prints them.

use std::fmt::Write;
use std::io::Write as _;
use std::time::Duration;

use mysql::consts::CapabilityFlags;
use mysql::prelude::Queryable;
use mysql::{
    AccessMode, ChangeUserOpts, Conn, IsolationLevel, LocalInfileHandler, OptsBuilder, Pool, SslOpts, TxOpts,
    Value,
};

use crate::estate::{Estate, OTHER_USER, PASSWORD, Side, USER, left_out, time_limit};

/// How many rows of a long result are looked at.
const MANY_ROWS: &str = "SELECT seq, REPEAT('x', 50) FROM seq_1_to_20000";

struct Run<'a> {
    side: &'a Side,
    schema: &'a str,
    variables: Vec<(&'static str, String)>,
    lines: String,
}

type Outcome = mysql::Result<String>;

pub(crate) fn run(estate: &Estate, side: &Side, schema: &str) -> Result<String, String> {
    let variables = estate.variables(side, schema);
    let mut run = Run {
        side,
        schema,
        variables,
        lines: "client: mysql 28\n".to_owned(),
    };
    run.connecting();
    run.writing();
    run.transactions();
    run.reading();
    run.sessions();
    run.statements("", all_results);
    run.statements(crate::observed::PREPARED, |connection, sql| {
        executed(connection, sql, ())
    });
    Ok(run.lines)
}

/// All results of a text.
fn all_results(connection: &mut Conn, sql: &str) -> Outcome {
    let mut result = connection.query_iter(sql)?;
    let mut parts = Vec::new();
    while let Some(set) = result.iter() {
        let (columns, affected) = (set.columns().as_ref().len(), set.affected_rows());
        let rows: Vec<String> = set
            .map(|row| row.map(|row| shown(row.unwrap())))
            .collect::<mysql::Result<_>>()?;
        parts.push(if columns == 0 {
            format!("ok {affected}")
        } else {
            rows.join(" ")
        });
    }
    Ok(parts.join(" + "))
}

/// All results of a prepared statement.
fn executed(connection: &mut Conn, sql: &str, parameters: impl Into<mysql::Params>) -> Outcome {
    let mut result = connection.exec_iter(sql, parameters)?;
    let mut parts = Vec::new();
    while let Some(set) = result.iter() {
        let (columns, affected) = (set.columns().as_ref().len(), set.affected_rows());
        let rows: Vec<String> = set
            .map(|row| row.map(|row| shown(row.unwrap())))
            .collect::<mysql::Result<_>>()?;
        parts.push(if columns == 0 {
            format!("ok {affected}")
        } else {
            rows.join(" ")
        });
    }
    Ok(parts.join(" + "))
}

fn shown(row: Vec<Value>) -> String {
    let value = |value: Value| match value {
        Value::Bytes(bytes) if bytes.len() > 120 => {
            format!(
                "{} bytes {:?}…",
                bytes.len(),
                String::from_utf8_lossy(&bytes[..20])
            )
        }
        Value::Bytes(bytes) => format!("{:?}", String::from_utf8_lossy(&bytes)),
        other => other.as_sql(true),
    };
    format!("({})", row.into_iter().map(value).collect::<Vec<_>>().join(", "))
}

fn error(error: &mysql::Error) -> String {
    match error {
        mysql::Error::MySqlError(error) => format!("error {}", error.code),
        mysql::Error::IoError(_) => "error Io".to_owned(),
        mysql::Error::DriverError(error) => format!("error Driver {error:?}"),
        mysql::Error::TlsError(_) => "error Tls".to_owned(),
        other => format!("error {other}"),
    }
}

impl Run<'_> {
    fn options(&self) -> OptsBuilder {
        OptsBuilder::new()
            .ip_or_hostname(Some(self.side.address.ip().to_string()))
            .tcp_port(self.side.address.port())
            .prefer_socket(false)
            .user(Some(USER))
            .pass(Some(PASSWORD))
            .db_name(Some(self.schema))
            .read_timeout(Some(Duration::from_secs(60)))
    }

    fn connect(&self) -> Conn {
        Conn::new(self.options()).unwrap()
    }

    fn variable(&self, name: &str) -> &str {
        &self.variables.iter().find(|(known, _)| *known == name).unwrap().1
    }

    /// Reports what a function gives.
    fn feature(&mut self, name: &str, work: impl FnOnce(&Self) -> Outcome) {
        if left_out().contains(&name) {
            return;
        }
        let outcome = work(self).unwrap_or_else(|failed| error(&failed));
        writeln!(self.lines, "{name}: {}", outcome.replace('\n', "\\n")).unwrap();
    }

    /// Every block on a connection of its own.
    fn statements(&mut self, suffix: &str, ask: impl Fn(&mut Conn, &str) -> Outcome) {
        let text = std::fs::read_to_string(self.variable("CLIENT_STATEMENTS")).unwrap();
        for block in text.split("\n\n").skip(1) {
            let mut lines = block.lines();
            let name = lines.next().unwrap().trim_start_matches("-- ");
            let mut connection = self.connect();
            let outcomes = lines.map(|line| {
                let sql = line.strip_suffix(';').unwrap();
                ask(&mut connection, sql).unwrap_or_else(|failed| error(&failed))
            });
            let outcomes: Vec<String> = outcomes.collect();
            self.feature(&format!("{name}{suffix}"), |_| Ok(outcomes.join(" ; ")));
        }
    }

    fn connecting(&mut self) {
        let select = |options: OptsBuilder, sql: &str| all_results(&mut Conn::new(options)?, sql);
        self.feature("connect", |run| {
            select(run.options(), &format!("SELECT DATABASE() = '{}'", run.schema))
        });
        self.feature("connect without a schema", |run| {
            select(run.options().db_name(None::<&str>), "SELECT DATABASE()")
        });
        self.feature("connect with a wrong password", |run| {
            select(run.options().pass(Some("wrong")), "SELECT 1")
        });
        self.feature("connect as an unknown user", |run| {
            select(
                run.options().user(Some(run.variable("CLIENT_UNKNOWN_USER"))),
                "SELECT 1",
            )
        });
        self.feature("connect to an unknown schema", |run| {
            select(run.options().db_name(Some("nosuch")), "SELECT 1")
        });
        for (name, authority) in [
            ("connect with TLS", "CLIENT_AUTHORITY"),
            ("connect with TLS of another authority", "CLIENT_STRANGER"),
        ] {
            self.feature(name, |run| {
                let path = std::path::PathBuf::from(run.variable(authority));
                let tls = SslOpts::default().with_root_cert_path(Some(path));
                select(run.options().ssl_opts(Some(tls)), "SELECT 1")
            });
        }
        self.feature("connect with compression", |run| {
            let options = run.options().compress(Some(mysql::Compression::default()));
            select(options, "SELECT REPEAT('x', 100000)")
        });
        self.feature("connect by unix socket", |run| {
            select(
                run.options().socket(Some(run.variable("CLIENT_SOCKET"))),
                "SELECT 1",
            )
        });
        self.feature("connect with a first statement", |run| {
            select(run.options().init(vec!["SET @first = 5"]), "SELECT @first")
        });
        self.feature("connection id", |run| {
            let mut connection = run.connect();
            let number: Option<u32> = connection.query_first("SELECT CONNECTION_ID()")?;
            Ok(format!(
                "the same: {}",
                number == Some(connection.connection_id())
            ))
        });
        self.feature("version in the greeting", |run| {
            let (major, minor, patch) = run.connect().server_version();
            Ok(format!("{major}.{minor}, with a patch: {}", patch > 0))
        });
    }

    fn writing(&mut self) {
        let mut connection = self.connect();
        self.feature("parameters", |_| {
            connection.query_drop("DROP TABLE IF EXISTS calls")?;
            connection.query_drop(
                "CREATE TABLE calls (a INT, b BIGINT UNSIGNED, c DOUBLE, d DECIMAL(20,5), e VARCHAR(20), \
                 f BLOB, g DATE, h DATETIME(6), i TIME, j JSON)",
            )?;
            let values = vec![
                Value::Int(-5),
                Value::UInt(u64::MAX),
                Value::Double(1.5),
                Value::from("12345.67890"),
                Value::from("né 👍 '\"\\%"),
                Value::Bytes(b"\x00\xff'\\\n".to_vec()),
                Value::Date(2026, 11, 23, 0, 0, 0, 0),
                Value::Date(2026, 11, 23, 1, 2, 3, 456_789),
                Value::Time(true, 1, 6, 0, 0, 0),
                Value::from("{\"a\": [1]}"),
            ];
            let insert = "INSERT INTO calls VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
            executed(&mut connection, insert, values)?;
            executed(&mut connection, insert, vec![Value::NULL; 10])?;
            executed(
                &mut connection,
                "SELECT * FROM calls WHERE a = ? OR a IS NULL ORDER BY a DESC",
                (-5,),
            )
        });
        self.feature("insert many rows", |_| {
            connection.query_drop("DROP TABLE IF EXISTS calls")?;
            connection.query_drop("CREATE TABLE calls (id INT PRIMARY KEY AUTO_INCREMENT, a VARCHAR(20))")?;
            connection.exec_batch(
                "INSERT INTO calls (a) VALUES (?)",
                (0..200).map(|n| (format!("row {n}"),)),
            )?;
            all_results(&mut connection, "SELECT COUNT(*), MAX(a) FROM calls")
        });
        self.feature("last insert id", |_| {
            connection.query_drop("INSERT INTO calls (a) VALUES ('x'), ('y')")?;
            let first = connection.last_insert_id();
            connection.query_drop("UPDATE calls SET id = LAST_INSERT_ID(id + 100000) WHERE a = 'y'")?;
            Ok(format!("{first}, {}", connection.last_insert_id()))
        });
        let changed = |connection: &mut Conn| {
            connection.query_drop("UPDATE calls SET a = 'same' WHERE id <= 3")?;
            let first = connection.affected_rows();
            connection.query_drop("UPDATE calls SET a = 'same' WHERE id <= 5")?;
            Ok(format!(
                "{first}, {}, {}",
                connection.affected_rows(),
                connection.info_str()
            ))
        };
        self.feature("affected rows", |_| changed(&mut connection));
        self.feature("found rows", |run| {
            let options = run
                .options()
                .additional_capabilities(CapabilityFlags::CLIENT_FOUND_ROWS);
            changed(&mut Conn::new(options)?)
        });
        self.feature("warnings by call", |_| {
            connection.query_drop("SELECT 1/0, CAST('1x' AS SIGNED)")?;
            Ok(connection.warnings().to_string())
        });
        self.feature("LOAD DATA LOCAL", |_| {
            connection.query_drop("DROP TABLE IF EXISTS calls")?;
            connection.query_drop("CREATE TABLE calls (id INT, a VARCHAR(20))")?;
            connection.set_local_infile_handler(Some(LocalInfileHandler::new(|_, stream| {
                stream.write_all("1\tone\n2\tzwei é\n3\t\\N\n".as_bytes())
            })));
            connection.query_drop("LOAD DATA LOCAL INFILE 'x' INTO TABLE calls CHARACTER SET utf8mb4")?;
            let info = connection.info_str().into_owned();
            Ok(format!(
                "{info}, {}",
                all_results(&mut connection, "SELECT * FROM calls ORDER BY id")?
            ))
        });
        self.feature("LOAD DATA LOCAL that the client refuses", |_| {
            connection.set_local_infile_handler(None);
            let refused = connection.query_drop("LOAD DATA LOCAL INFILE 'x' INTO TABLE calls");
            let refused = refused.map_or_else(|failed| error(&failed), |()| "ok".to_owned());
            Ok(format!(
                "{refused}, then {}",
                all_results(&mut connection, "SELECT 1")?
            ))
        });
    }

    fn transactions(&mut self) {
        let (mut first, mut second) = (self.connect(), self.connect());
        self.feature("transaction by call", |_| {
            first.query_drop("DROP TABLE IF EXISTS calls")?;
            first.query_drop("CREATE TABLE calls (id INT PRIMARY KEY, a INT)")?;
            let options = TxOpts::default().set_isolation_level(Some(IsolationLevel::Serializable));
            let mut transaction = first.start_transaction(options)?;
            transaction.query_drop("INSERT INTO calls VALUES (1, 1)")?;
            drop(transaction);
            let mut transaction = first.start_transaction(TxOpts::default())?;
            transaction.query_drop("INSERT INTO calls VALUES (2, 2), (3, 3)")?;
            transaction.commit()?;
            all_results(&mut second, "SELECT * FROM calls ORDER BY id")
        });
        self.feature("read only", |_| {
            let options = TxOpts::default().set_access_mode(Some(AccessMode::ReadOnly));
            let mut transaction = first.start_transaction(options)?;
            transaction
                .query_drop("INSERT INTO calls VALUES (4, 4)")
                .map(|()| "ok".to_owned())
        });
        self.feature("two connections", |_| {
            second.query_drop("SET SESSION innodb_lock_wait_timeout = 1")?;
            let mut transaction = first.start_transaction(TxOpts::default())?;
            transaction.query_drop("UPDATE calls SET a = 5 WHERE id = 2")?;
            second
                .query_drop("UPDATE calls SET a = 6 WHERE id = 2")
                .map(|()| "ok".to_owned())
        });
        self.feature("pool", |run| {
            let options = run.options().pool_opts(Some(
                mysql::PoolOpts::default().with_constraints(mysql::PoolConstraints::new(1, 1).unwrap()),
            ));
            let pool = Pool::new(options)?;
            pool.get_conn()?.query_drop("SET @left = 1")?;
            all_results(pool.get_conn()?.as_mut(), "SELECT @left")
        });
        self.feature("statement executed many times", |_| {
            let statement = first.prep("SELECT ? + 1, ?")?;
            let mut total = 0;
            for n in 0..200 {
                let row: Option<(i64, String)> = first.exec_first(&statement, (n, "é"))?;
                total += row.unwrap().0;
            }
            first.close(statement)?;
            Ok(total.to_string())
        });
    }

    fn reading(&mut self) {
        let mut connection = self.connect();
        self.feature("unbuffered rows", |_| {
            let rows = connection.query_iter(MANY_ROWS)?;
            Ok(rows
                .map(|row| row.unwrap().get::<u64, _>(0).unwrap())
                .sum::<u64>()
                .to_string())
        });
        self.feature("unbuffered rows that are left", |_| {
            let first = connection
                .query_iter(MANY_ROWS)?
                .next()
                .unwrap()?
                .get::<u64, _>(0)
                .unwrap();
            Ok(format!(
                "{first}, then {}",
                all_results(&mut connection, "SELECT 2")?
            ))
        });
        self.feature("procedure with several results", |_| {
            connection.query_drop(
                "CREATE PROCEDURE IF NOT EXISTS answers(IN n INT) BEGIN SELECT n; SELECT n + 1, 'x'; END",
            )?;
            let text = all_results(&mut connection, "CALL answers(20)")?;
            Ok(format!(
                "{text}, {}",
                executed(&mut connection, "CALL answers(?)", (21,))?
            ))
        });
        self.feature("several statements", |_| {
            all_results(&mut connection, "SELECT 1; DO 2; SELECT 'x', 3")
        });
        self.feature("several statements with an error", |_| {
            let failed = all_results(&mut connection, "SELECT 1; SELECT nosuch; SELECT 3")
                .map_err(|failed| error(&failed));
            Ok(format!(
                "{failed:?}, then {}",
                all_results(&mut connection, "SELECT 4")?
            ))
        });
        self.feature("metadata", |_| {
            let statement =
                connection.prep("SELECT CAST(1 AS UNSIGNED) AS a, 'x' AS é, 1.5 AS c, NULL AS e, ? AS p")?;
            let column =
                |c: &mysql::Column| format!("{} {:?} {}", c.name_str(), c.column_type(), c.character_set());
            let columns: Vec<String> = statement.columns().iter().map(column).collect();
            Ok(format!(
                "{}; {} parameters",
                columns.join(", "),
                statement.params().len()
            ))
        });
        self.feature("packet of 17 MiB", |run| {
            let mut connection = Conn::new(run.options().max_allowed_packet(Some(64 << 20)))?;
            let text = "0123456789abcdef".repeat(17 << 16);
            let back: Option<String> = connection.exec_first("SELECT ?", (&text,))?;
            Ok(format!("equal: {}", back.as_deref() == Some(text.as_str())))
        });
        self.feature("long data", |run| {
            let mut connection = run.connect();
            let text = "0123456789abcdef".repeat(20 << 16);
            let length: Option<(u64, String)> = connection.exec_first("SELECT LENGTH(?), ?", (&text, "é"))?;
            Ok(format!("{length:?}"))
        });
    }

    fn sessions(&mut self) {
        let left = "SELECT @left, SUBSTRING_INDEX(CURRENT_USER(), '@', 1), @@group_concat_max_len";
        let mut connection = self.connect();
        self.feature("reset the connection", |_| {
            connection.query_drop("SET @left = 1, group_concat_max_len = 77")?;
            connection.reset()?;
            all_results(&mut connection, left)
        });
        self.feature("change user", |run| {
            connection.query_drop("SET @left = 1, group_concat_max_len = 77")?;
            let other = ChangeUserOpts::new()
                .with_user(Some(OTHER_USER.to_owned()))
                .with_pass(Some(PASSWORD.to_owned()))
                .with_db_name(Some(run.schema.to_owned()));
            connection.change_user(other)?;
            all_results(&mut connection, left)
        });
        self.feature("select a schema", |_| {
            connection.select_db("information_schema")?;
            all_results(&mut connection, "SELECT DATABASE()")
        });
        self.feature("select an unknown schema", |_| {
            let refused = connection.select_db("nosuch").map_err(|failed| error(&failed));
            Ok(format!(
                "{refused:?}, then {}",
                all_results(&mut connection, "SELECT DATABASE()")?
            ))
        });
        self.feature("ping", |_| connection.ping().map(|()| "ok".to_owned()));
        self.feature("ping after the connection was killed", |run| {
            let (mut connection, mut killer) = (run.connect(), run.connect());
            killer.query_drop(format!("KILL {}", connection.connection_id()))?;
            connection.ping().map(|()| "ok".to_owned())
        });
        self.feature("time limit of a statement", |run| {
            let mut connection = run.connect();
            connection.query_drop(time_limit())?;
            all_results(&mut connection, "SELECT BENCHMARK(1000000000000, MD5('x'))")
        });
    }
}
