//! Classes, provable reads, and what statements leave in their session.

use shardwright_sql::set::{Scope, SetItem, UnknownMode, Value, items, lex_mode_after};
use shardwright_sql::{LexMode, Servers, SessionEffects, Shape, StatementClass, classify};

const MODE: LexMode = LexMode {
    ansi_quotes: false,
    no_backslash_escapes: false,
    servers: Servers::ANY,
};

fn shape(statement: &str) -> Shape {
    Shape::of(statement.as_bytes(), MODE)
}

#[test]
fn classes() {
    use StatementClass as C;
    for (statement, class) in [
        ("SELECT 1", C::Select),
        ("/* c */ ( select 1)", C::Select),
        ("WITH a AS (SELECT 1) SELECT * FROM a", C::Select),
        (
            "WITH a(x) AS (SELECT 1), b AS (DELETE) UPDATE t SET x=1",
            C::Update,
        ),
        ("WITH a AS (SELECT 1) (SELECT 1)", C::Other),
        ("TABLE t", C::Select),
        ("VALUES ROW(1)", C::Select),
        ("insert into t values (1)", C::Insert),
        ("REPLACE t VALUES (1)", C::Replace),
        ("LOAD DATA INFILE 'x' INTO TABLE t", C::Load),
        ("LOAD INDEX INTO CACHE t", C::Other),
        ("TRUNCATE t", C::Ddl),
        ("START TRANSACTION", C::Begin),
        ("START SLAVE", C::Other),
        ("START /*M! transaction */", C::Begin),
        ("START /*!50000TRANSACTION*/ READ ONLY", C::Begin),
        ("/*M!START*/ TRANSACTION", C::Begin),
        ("START /*!50000 SLAVE */", C::Other),
        ("BEGIN", C::Begin),
        ("BEGIN NOT ATOMIC SELECT 1; END", C::Other),
        ("COMMIT AND CHAIN", C::Commit),
        ("ROLLBACK TO SAVEPOINT a", C::Rollback),
        ("RELEASE SAVEPOINT a", C::Savepoint),
        ("RELEASE", C::Other),
        ("XA START 'x'", C::Xa),
        ("SET NAMES utf8", C::Set),
        ("SET STATEMENT max_statement_time=1 FOR DELETE FROM t", C::Other),
        ("DESC t", C::Explain),
        ("ANALYZE SELECT 1", C::Explain),
        ("ANALYZE TABLE t", C::Other),
        ("UNLOCK TABLES", C::Lock),
        ("EXECUTE s", C::Prepare),
        ("/*!40101 SET NAMES utf8 */;", C::Set),
        ("/*!40101*/ SELECT 1", C::Select),
        (" -- x", C::Empty),
        ("'x'", C::Other),
    ] {
        assert_eq!(classify(statement.as_bytes(), MODE), class, "{statement}");
    }
}

#[test]
fn only_proved_reads_are_safe() {
    for statement in [
        "SELECT * FROM t WHERE a = 'FOR UPDATE' AND b IN (1)",
        "SELECT COUNT(*), MAX(a) FROM t GROUP BY b HAVING COUNT(*) > 1",
        "WITH c AS (SELECT 1) SELECT * FROM c",
        "WITH c (n) AS (SELECT 1) SELECT n FROM c",
        "WITH RECURSIVE `c` (n, `m`) AS (SELECT 1, 2 UNION SELECT n, m FROM c) SELECT n FROM c",
        "SELECT next value FROM t",
        "SELECT a IN share FROM t",
        "SELECT CAST(a AS DECIMAL(10,2)) FROM t USE INDEX (i) ORDER BY a LIMIT 3",
        "SELECT ROW_NUMBER() OVER (PARTITION BY a) FROM t",
        "SELECT @@version_comment LIMIT 1",
        "TABLE t",
    ] {
        let shape = shape(statement);
        assert!(shape.is_safe_read(), "{statement}: {:?}", shape.read_hazards);
    }
    for (statement, hazard) in [
        ("SELECT * FROM t FOR UPDATE", "locks what it reads"),
        ("SELECT * FROM t for /* x */ share", "locks what it reads"),
        ("SELECT * FROM t LOCK IN SHARE MODE", "locks what it reads"),
        ("SELECT GET_LOCK('a', 1)", "uses a named lock"),
        ("SELECT last_insert_id()", "reads or leaves state of its session"),
        ("SELECT FOUND_ROWS()", "reads or leaves state of its session"),
        (
            "SELECT SQL_CALC_FOUND_ROWS * FROM t",
            "reads or leaves state of its session",
        ),
        ("SELECT @@identity", "reads or leaves state of its session"),
        ("SELECT @a", "uses a user variable"),
        ("SELECT 1 INTO OUTFILE 'x'", "has an INTO clause"),
        ("SELECT NEXTVAL(s)", "uses a sequence"),
        ("SELECT NEXT VALUE FOR s", "uses a sequence"),
        ("SELECT s.nextval", "uses a sequence"),
        (
            "SELECT my_function(a) FROM t",
            "calls a function that is not built in",
        ),
        (
            "SELECT app.count(a) FROM t",
            "calls a function that is not built in",
        ),
        (
            "SELECT `count`(a) FROM t",
            "calls a function that is not built in",
        ),
        ("SELECT COUNT (a) FROM t", "calls a function that is not built in"),
        (
            "SELECT LOAD_FILE('/x')",
            "calls a function whose answer belongs to one server",
        ),
        ("SELECT 1 /*! INTO @a */", "holds an executable comment"),
        ("SELECT 1; DELETE FROM t", "holds several statements"),
        ("SELECT 'a", "ends inside a comment, string or name"),
        ("SHOW TABLES", "is not a SELECT"),
        ("CALL p()", "is not a SELECT"),
    ] {
        let shape = shape(statement);
        assert!(
            shape.read_hazards.texts().any(|text| text == hazard),
            "{statement}: {:?}",
            shape.read_hazards
        );
    }
    assert!(!shape("SELECT 1;").several);
}

#[test]
fn effects_that_bind_a_session() {
    for (statement, effects) in [
        ("SELECT a FROM t", SessionEffects::NONE),
        ("UPDATE t SET a=1", SessionEffects::NONE),
        ("SELECT DATABASE (), a FROM t", SessionEffects::READS_SCHEMA),
        ("DELETE FROM t WHERE a = schema()", SessionEffects::READS_SCHEMA),
        (
            "SELECT 'DATABASE()', `schema`, s.a FROM t s",
            SessionEffects::NONE,
        ),
        ("SELECT @a := 1", SessionEffects::USER_VARIABLE),
        (
            "CREATE TEMPORARY TABLE t (a INT)",
            SessionEffects::TEMPORARY_TABLE,
        ),
        (
            "CREATE OR REPLACE TEMPORARY TABLE t (a INT)",
            SessionEffects::TEMPORARY_TABLE,
        ),
        ("LOCK TABLES t READ", SessionEffects::TABLE_LOCK),
        (
            "FLUSH TABLES WITH READ LOCK",
            SessionEffects::TABLE_LOCK | SessionEffects::UNKNOWN,
        ),
        ("SELECT GET_LOCK('a',1)", SessionEffects::NAMED_LOCK),
        (
            "PREPARE s FROM 'SELECT 1'",
            SessionEffects::TEXT_PREPARE | SessionEffects::UNKNOWN,
        ),
        ("SELECT SQL_CALC_FOUND_ROWS 1", SessionEffects::FOUND_ROWS),
        ("INSERT INTO t (a) VALUES (1)", SessionEffects::INSERT_ID),
        ("CALL p()", SessionEffects::UNKNOWN),
        ("SELECT f()", SessionEffects::UNKNOWN),
        ("SELECT 1 /*!99999 x */", SessionEffects::UNKNOWN),
        ("SELECT @@sql_mode", SessionEffects::READS_SYSTEM_VARIABLE),
        ("BEGIN", SessionEffects::TRANSACTION),
        ("USE a", SessionEffects::SCHEMA),
    ] {
        assert_eq!(shape(statement).effects, effects, "{statement}");
    }
}

#[test]
fn session_setup_is_what_drivers_send_on_connect() {
    for statement in [
        "SET NAMES utf8mb4",
        "USE app",
        "SHOW VARIABLES LIKE 'sql_mode'",
        "SELECT @@session.auto_increment_increment AS auto_increment_increment, @@version_comment",
        "select 1",
        "SELECT DATABASE()",
        "/*!40101 SET NAMES utf8 */;",
        "/*!50003 SET sql_mode = 'STRICT_TRANS_TABLES' */",
        "SET @old = @@sql_mode, time_zone = '+00:00'",
        "SET sql_mode = CONCAT(@@sql_mode, ',STRICT_TRANS_TABLES')",
        "SHOW CREATE TABLE t",
        "SHOW FULL TABLES FROM app LIKE 'a%'",
        "SHOW COUNT(*) WARNINGS",
        "/* mysql-connector */ SELECT @@max_allowed_packet, CONNECTION_ID();",
    ] {
        assert!(shape(statement).is_session_setup(), "{statement}");
    }
    for statement in [
        "SELECT a FROM t",
        "TABLE t",
        "COMMIT",
        "SELECT f()",
        "SELECT NEXTVAL(s)",
        "SET a=1; DELETE FROM t",
        "SELECT 1 /*! FROM t */",
        "SELECT 1 /*M! FROM t */",
        "SET @x = f(15)",
        "SET autocommit = f()",
        "SET @x = (SELECT 1 FROM t)",
        "SET @x = EXISTS(TABLE t)",
        "SET @x = `abs`(1)",
        "SET @x = NEXT VALUE FOR s",
        "SET NAMES utf8 /*! , @x = f(15) */",
        "/*! SET @x = f(15) */",
        "/*! SET @x = */ /*! f */ (15)",
        "SHOW TABLES WHERE f()",
        "SHOW TABLES WHERE app.f()",
        "SHOW VARIABLES WHERE EXISTS(SELECT 1 FROM t)",
        "SHOW STATUS WHERE EXISTS(WITH x AS (TABLE t) TABLE x)",
        "SELECT 1 UNION TABLE t",
        "SELECT (TABLE t)",
        "DO f()",
        "CALL p()",
        "KILL f()",
        "SIGNAL SQLSTATE '45000'",
        "EXECUTE IMMEDIATE 'SELECT 1'",
        "PREPARE s FROM @q",
        "HANDLER t READ FIRST",
        "EXPLAIN SELECT 1",
    ] {
        assert!(!shape(statement).is_session_setup(), "{statement}");
    }
    assert!(shape("ROLLBACK").is_transaction_control() && !shape("BEGIN").is_transaction_control());
}

#[test]
fn set_statements() {
    let read = |statement: &'static str| items(statement.as_bytes(), MODE);
    assert_eq!(
        read("SET autocommit=0, @@autocommit = ON"),
        [SetItem::Autocommit(false), SetItem::Autocommit(true)]
    );
    assert_eq!(
        read("SET NAMES 'utf8mb4' COLLATE utf8mb4_bin"),
        [SetItem::Names {
            charset: Some(b"utf8mb4".into()),
            collation: Some(b"utf8mb4_bin".into())
        }]
    );
    assert_eq!(read("SET CHARACTER SET DEFAULT;"), [SetItem::CharacterSet(None)]);
    assert_eq!(
        read("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"),
        [SetItem::Transaction {
            scope: Scope::NextTransaction,
            isolation: Some("REPEATABLE READ".to_owned()),
            read_only: Some(true)
        }]
    );
    let variable = |scope, name: &str, value| SetItem::Variable {
        scope,
        name: name.to_owned(),
        value,
    };
    assert_eq!(
        read("SET SESSION a=-1, b='x', GLOBAL c=DEFAULT, @@session.`d`:=ON, @@tx_isolation='x'"),
        [
            variable(Scope::Session, "a", Value::Number(b"-1".into())),
            variable(Scope::Session, "b", Value::Text(b"x".into())),
            variable(Scope::Global, "c", Value::Default),
            variable(Scope::Session, "d", Value::Word(b"ON")),
            variable(Scope::NextTransaction, "tx_isolation", Value::Text(b"x".into())),
        ]
    );
    assert!(matches!(
        read("SET @a = 1, b = IF(1, 2, 3)").as_slice(),
        [
            SetItem::UserVariable(_),
            SetItem::Variable {
                value: Value::Expression(_),
                ..
            }
        ]
    ));
    for statement in [
        "SET STATEMENT a=1 FOR SELECT 1",
        "SET ROLE x",
        "SET a=1; SELECT 1",
        "SET a=1 /*! , b=2 */",
        "SET",
        "SET NAMES",
        "SET TRANSACTION x",
        "SET PASSWORD FOR u = 'x'",
    ] {
        let read = read(statement);
        assert!(
            read.is_empty() && statement == "SET" || read.contains(&SetItem::Unknown),
            "{statement}: {read:?}"
        );
    }
}

#[test]
fn sql_mode_changes_the_lexer() {
    let both = LexMode {
        ansi_quotes: true,
        no_backslash_escapes: true,
        servers: Servers::ANY,
    };
    let ansi = LexMode {
        ansi_quotes: true,
        no_backslash_escapes: false,
        servers: Servers::ANY,
    };
    for (statement, current, expect) in [
        ("SET sql_mode=''", both, Ok(MODE)),
        ("SET sql_mode='STRICT_TRANS_TABLES,ansi'", MODE, Ok(ansi)),
        (
            "SET sql_mode=\"ANSI_QUOTES,NO_BACKSLASH_ESCAPES\"",
            MODE,
            Ok(both),
        ),
        ("SET sql_mode=TRADITIONAL", both, Ok(MODE)),
        ("SET sql_mode=4", MODE, Ok(ansi)),
        ("SET sql_mode=1048580", MODE, Ok(both)),
        (
            "SET sql_mode=REPLACE(@@sql_mode, 'ANSI_QUOTES', '')",
            ansi,
            Err(UnknownMode::Undecided),
        ),
        ("SET sql_mode=DEFAULT", both, Ok(MODE)),
        ("SET sql_mode=`ansi`", both, Ok(ansi)),
        ("SET sql_mode=\"ANSI_QUOTES\"", ansi, Ok(ansi)),
        ("SET sql_mode=256", MODE, Ok(ansi)),
        ("SET sql_mode=-1", MODE, Err(UnknownMode::Undecided)),
        ("SET sql_mode=512", MODE, Err(UnknownMode::OtherGrammar)),
        (
            "SET sql_mode='STRICT_ALL_TABLES,ORACLE'",
            MODE,
            Err(UnknownMode::OtherGrammar),
        ),
        ("SET sql_mode=@old", MODE, Err(UnknownMode::Undecided)),
    ] {
        let read = items(statement.as_bytes(), current);
        let [SetItem::Variable { value, .. }] = read.as_slice() else {
            panic!("{statement}: {read:?}")
        };
        assert_eq!(lex_mode_after(value), expect, "{statement}");
    }
}
