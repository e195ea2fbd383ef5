//! Column finders: which key a statement has, and what the shard is sent.

use shardwright_sql::InShards;
use shardwright_sql::columns::{ColumnAnswer, ColumnQuestion, KeyRole, KeyValue, Parameters, decide};
use shardwright_sql::rewrite::apply;
use shardwright_sql::schema::{Unqualified, place};
use shardwright_sql::{LexMode, Servers};

const MODE: LexMode = LexMode {
    ansi_quotes: false,
    no_backslash_escapes: false,
    servers: Servers::ANY,
};

pub(crate) fn question(session_schema: Option<&str>, in_shards: InShards) -> ColumnQuestion<'_> {
    ColumnQuestion {
        logical_schema: "world",
        key_column: "Continent",
        session_schema,
        in_shards,
        mode: MODE,
        parameters: Parameters::Unknown,
    }
}

/// The answer in one line: keys, or the kind of the answer and its reason.
pub(crate) fn answer(statement: &str, session_schema: Option<&str>, in_shards: InShards) -> String {
    match decide(statement.as_bytes(), &question(session_schema, in_shards)) {
        ColumnAnswer::Keys(found) => {
            let values: Vec<String> = found
                .values
                .iter()
                .map(|literal| match &literal.value {
                    KeyValue::Text(text) => text.clone(),
                    KeyValue::Integer(integer) => integer.to_string(),
                    KeyValue::Open => "?".to_owned(),
                })
                .collect();
            format!("keys {}", values.join("|"))
        }
        ColumnAnswer::NotConcerned => "not concerned".to_owned(),
        ColumnAnswer::Missing => "missing".to_owned(),
        ColumnAnswer::Undecidable(doubt) => format!("undecidable: {}", doubt.reason),
    }
}

/// What shard `Europe` is sent for a statement with a key, tables qualified.
fn sent(statement: &str, session_schema: Option<&str>, in_shards: InShards) -> String {
    let text = statement.as_bytes();
    let mut edits = match decide(text, &question(session_schema, in_shards)) {
        ColumnAnswer::Keys(found) => found.neutralised,
        other => panic!("{statement}: {other:?}"),
    };
    let names = place(
        text,
        MODE,
        "world",
        session_schema,
        "Europe",
        Unqualified::Qualify,
    );
    edits.extend(names.unwrap_or_else(|reason| panic!("{statement}: {reason}")));
    String::from_utf8(apply(text, &edits)).unwrap()
}

#[test]
fn keys_are_found_in_top_level_conjuncts() {
    for (statement, keys) in [
        ("SELECT name FROM world.City WHERE Continent='Europe'", "Europe"),
        ("SELECT name FROM world.City WHERE 'Europe' = Continent", "Europe"),
        (
            "select name from `world`.`City` where `Continent` = 'Europe' and x > 1 order by x limit 1",
            "Europe",
        ),
        (
            "SELECT name FROM world . City WHERE continent = 'North America'",
            "North America",
        ),
        (
            "SELECT name FROM world.City c WHERE c.Continent = 'Asia' AND (a = 1 OR b = 2)",
            "Asia",
        ),
        (
            "SELECT name FROM world.City WHERE (x = 1 AND (Continent = 'Asia'))",
            "Asia",
        ),
        (
            "SELECT name FROM world.City WHERE world.City.Continent = 'Asia'",
            "Asia",
        ),
        (
            "SELECT name FROM world.City WHERE Continent IN ('Asia', 'Europe')",
            "Asia|Europe",
        ),
        (
            "SELECT name FROM world.City WHERE Continent = 'Asia' AND Continent='Asia'",
            "Asia",
        ),
        (
            "SELECT name FROM world.City WHERE Continent='Asia' && x=1",
            "Asia",
        ),
        (
            "SELECT DATABASE() FROM world.City WHERE Continent='Asia' AND name = DATABASE()",
            "Asia",
        ),
        ("SELECT name FROM world.City WHERE Continent = 7", "7"),
        ("SELECT name FROM world.City WHERE Continent = -7", "-7"),
        (
            "SELECT name FROM world.City WHERE Continent='O''Brien\\'s'",
            "O'Brien's",
        ),
        (
            "UPDATE world.City SET x = 1 WHERE Continent = 'Asia' AND id = 3",
            "Asia",
        ),
        (
            "DELETE FROM world.City WHERE id = 3 AND Continent = 'Asia'",
            "Asia",
        ),
        (
            "SELECT 1 FROM world.City a JOIN world.Country b ON a.c = b.c AND b.Continent = 'Asia' WHERE a.Continent = 'Asia'",
            "Asia",
        ),
        (
            "SELECT 1 FROM world.City a LEFT JOIN world.Country b ON a.c = b.c AND b.Continent = 'Asia' WHERE a.Continent = 'Asia'",
            "Asia",
        ),
        (
            "SELECT n FROM world.City WHERE Continent='Asia' AND c IN (SELECT c FROM world.Country WHERE Continent='Asia')",
            "Asia",
        ),
        (
            "SELECT n FROM (SELECT n FROM world.City WHERE Continent='Asia') d WHERE n > 'a'",
            "Asia",
        ),
        (
            "SELECT n FROM world.City WHERE Continent='Asia' UNION ALL SELECT n FROM world.Country WHERE Continent='Asia'",
            "Asia",
        ),
        ("SELECT COUNT(*) FROM world.City WHERE Continent='Asia'", "Asia"),
        (
            "INSERT INTO world.City (id, Continent, n) VALUES (1, 'Asia', 'x'), (2, 'Europe', NOW())",
            "Asia|Europe",
        ),
        ("REPLACE world.City (Continent) VALUE ('Asia');", "Asia"),
        (
            "INSERT INTO world.City (n, Continent) VALUES (1, 'Asia') ON DUPLICATE KEY UPDATE n = n + 1",
            "Asia",
        ),
    ] {
        for in_shards in [InShards::Present, InShards::Absent] {
            assert_eq!(
                answer(statement, None, in_shards),
                format!("keys {keys}"),
                "{statement}"
            );
        }
    }
}

#[test]
fn whatever_could_read_other_rows_is_undecidable() {
    for statement in [
        "SELECT n FROM world.City WHERE NOT Continent='Asia'",
        "SELECT n FROM world.City WHERE Continent='Asia' OR x=1",
        "SELECT n FROM world.City WHERE Continent='Asia' OR NOT Continent='Asia'",
        "SELECT n FROM world.City WHERE Continent='Asia' OR Continent='Asia' XOR 1",
        "SELECT n FROM world.City WHERE Continent BETWEEN 'Asia' AND 'Europe'",
        "SELECT n FROM world.City WHERE Continent NOT BETWEEN 'Asia' AND 'Asia'",
        "SELECT n FROM world.City WHERE (Continent, n) = ('Asia', 1) OR n = 2",
        "SELECT n FROM world.City WHERE (Continent, n) NOT IN (('Asia', 1))",
        "SELECT n FROM world.City WHERE (Continent, n) IN (('Asia', 1), ('Europe'))",
        "SELECT n FROM world.City WHERE (n, Continent) = (SELECT 1, 'Asia')",
        "SELECT n FROM world.City a LEFT JOIN world.Country b ON a.Continent=b.Continent WHERE b.Continent='Asia'",
        "SELECT n FROM world.City a RIGHT JOIN world.Country b ON a.Continent=b.Continent WHERE a.Continent='Asia'",
        "SELECT n FROM world.City a LEFT JOIN world.Country b USING (Continent) WHERE b.Continent='Asia'",
        "SELECT n FROM world.City a JOIN world.Country b USING (Code) WHERE Continent='Asia'",
        "SELECT n FROM world.City a JOIN world.Country b ON a.Continent=b.Continent OR a.c=b.c WHERE a.Continent='Asia'",
        "SELECT n FROM world.City a JOIN world.Country b ON a.Continent=b.Code WHERE a.Continent='Asia'",
        "SELECT n FROM world.City a JOIN world.Country b USING (Continent) JOIN world.City c ON c.n=a.n WHERE Continent='Asia'",
        "SELECT n FROM world.City a, world.Country b RIGHT JOIN world.City c USING (Continent) WHERE c.Continent='Asia'",
        "WITH c AS (SELECT * FROM world.City) SELECT n FROM c WHERE Continent='Asia'",
        "WITH c AS (SELECT * FROM world.City) SELECT n FROM world.City WHERE Continent='Asia'",
        "WITH c AS (SELECT 1) SELECT n FROM C, world.City WHERE world.City.Continent='Asia'",
        "SELECT n FROM world.City c WHERE c.Continent='Asia' AND EXISTS (SELECT 1 FROM world.Country k WHERE k.Continent<>c.Continent)",
        "SELECT n FROM world.City c WHERE c.Continent='Asia' AND EXISTS (SELECT 1 FROM world.Country c WHERE c.Continent=c.Continent)",
        "SELECT n FROM world.City c WHERE c.Continent='Asia' OR EXISTS (SELECT 1 FROM world.Country k WHERE k.Continent='Asia')",
        "SELECT n FROM world.City c WHERE n IN (SELECT k.n FROM world.Country k WHERE k.Continent='Asia' AND k.Continent=c.Continent)",
        "INSERT INTO world.City (n, Continent) SELECT Continent, n FROM world.City WHERE Continent='Asia'",
        "INSERT INTO world.City (n, Continent) SELECT n, Continent FROM world.City",
        "INSERT INTO world.City (n, Continent) SELECT n, 'Asia' FROM world.City",
        "INSERT INTO world.City (n, Continent) SELECT * FROM world.City WHERE Continent='Asia'",
        "INSERT INTO world.City (n, Continent) SELECT n, b.Continent FROM world.City a LEFT JOIN world.Country b ON b.Continent='Asia' WHERE a.Continent='Asia'",
        "INSERT INTO world.City (n, Continent) SELECT n, Continent FROM (SELECT n, c AS Continent FROM world.City WHERE Continent='Asia') d",
        "INSERT INTO world.City (n, Continent) SELECT n, 'Asia' FROM app.t",
        "INSERT INTO world.City (n, Continent) SELECT n, Continent FROM world.City WHERE Continent='Asia' ON DUPLICATE KEY UPDATE Continent='Europe'",
        "INSERT INTO world.City SET Continent=UPPER('Asia')",
        "INSERT INTO world.City SET n=1, Continent='Asia', Continent='Europe'",
        "INSERT INTO world.City SET n=Continent",
        "SELECT n FROM world.City WHERE Continent='Asia' AND a=1 || b=2",
        "SELECT n FROM world.City WHERE Continent='Asia' AND a=1 XOR b=2",
        "SELECT n FROM world.City WHERE Continent='Asia' 'n'",
        "SELECT n FROM world.City WHERE Continent='Asia' COLLATE utf8mb4_bin",
        "SELECT n FROM world.City WHERE Continent=x'41'",
        "SELECT n FROM world.City WHERE Continent='Asia'=0",
        "SELECT n FROM world.City WHERE Continent='Asia' IS NOT TRUE",
        "SELECT n FROM world.City WHERE Continent='Asia'+0",
        "SELECT n FROM world.City WHERE Continent='Asia' LIKE 'x'",
        "SELECT n FROM world.City WHERE Continent LIKE 'Asia'",
        "SELECT n FROM world.City WHERE Continent NOT IN ('Asia')",
        "SELECT n FROM world.City WHERE Continent IN (SELECT 'Asia')",
        "SELECT n FROM world.City WHERE Continent <> 'Asia'",
        "SELECT n FROM world.City WHERE Continent = ?",
        "SELECT n FROM world.City WHERE LOWER(Continent) = 'asia'",
        "SELECT n FROM world.City WHERE Continent=1.5",
        "SELECT n FROM world.City WHERE Continent=1e0",
        "SELECT n FROM world.City WHERE Continent=_latin1'Asia'",
        "SELECT n FROM world.City WHERE Continent=+'Asia'",
        "SELECT n FROM world.City WHERE @x := Continent='Asia'",
        "SELECT f(n) FROM world.City WHERE Continent='Asia'",
        "SELECT n FROM world.City, world.Country WHERE Continent='Asia'",
        "SELECT n FROM world.City a, world.Country b WHERE a.Continent='Asia'",
        "SELECT n FROM world.City a JOIN app.t b ON a.c=b.c WHERE a.Continent='Asia'",
        "SELECT n FROM world.City a LEFT JOIN world.Country b ON a.Continent='Asia' WHERE b.Continent='Asia'",
        "SELECT n FROM world.City WHERE Continent='Asia' UNION SELECT n FROM world.City",
        "SELECT n FROM world.City WHERE Continent='Asia' AND c IN (SELECT c FROM world.Country)",
        "SELECT n FROM World.City WHERE Continent='Asia'",
        "SELECT n FROM world.City WHERE Continent='Asia'; DELETE FROM world.City",
        "SELECT n FROM world.City WHERE Continent='Asia' /*! OR 1=1 */",
        "SELECT n FROM world.City WHERE Continent='Asia' /* ",
        "UPDATE world.City SET Continent='Asia' WHERE Continent='Asia'",
        "INSERT INTO world.City VALUES (1, 'Asia')",
        "INSERT INTO world.City (Continent) VALUES ('Asia'), (UPPER('asia'))",
        "INSERT INTO world.City (Continent, n) VALUES ('Asia')",
        "INSERT INTO world.City (id, Continent) VALUES (1, 'Asia') ON DUPLICATE KEY UPDATE Continent='Europe'",
        "INSERT INTO app.t SELECT * FROM world.City WHERE Continent='Asia'",
        "TRUNCATE world.City",
        "CALL world.p()",
        "PREPARE s FROM 'SELECT n FROM world.City'",
        "SELECT n FROM world.City FINAL WHERE Continent='Asia' QUALIFY 1",
        "TABLE world.City",
    ] {
        for in_shards in [InShards::Present, InShards::Absent] {
            let answer = answer(statement, None, in_shards);
            assert!(answer.starts_with("undecidable: "), "{statement}: {answer}");
        }
    }
    let invalid = b"SELECT n FROM world.City WHERE Continent='A\xff'";
    assert!(matches!(
        decide(invalid, &question(None, InShards::Present)),
        ColumnAnswer::Undecidable(_)
    ));
}

#[test]
fn statements_without_a_key_or_without_the_schema() {
    for (statement, session, expect) in [
        ("SELECT n FROM world.City", None, "missing"),
        ("SELECT Name FROM City WHERE id = 3", Some("world"), "missing"),
        ("INSERT INTO world.City (id) VALUES (1)", None, "missing"),
        (
            "SELECT n FROM app.t WHERE Continent='Asia'",
            None,
            "not concerned",
        ),
        (
            "SELECT n FROM City WHERE Continent='Asia'",
            Some("app"),
            "not concerned",
        ),
        ("SELECT 'world.City'", None, "not concerned"),
        ("SELECT 1", Some("world"), "not concerned"),
        ("SET autocommit=0", Some("world"), "not concerned"),
        ("COMMIT", Some("world"), "not concerned"),
        ("SHOW WARNINGS", Some("world"), "not concerned"),
        ("USE world", None, "not concerned"),
        (
            "INSERT INTO t (a) VALUES ('world.City')",
            Some("app"),
            "not concerned",
        ),
        ("SELECT world FROM app.t", None, "not concerned"),
    ] {
        assert_eq!(
            answer(statement, session, InShards::Absent),
            expect,
            "{statement}"
        );
    }
    assert_eq!(
        answer("SELECT Continent FROM world.City", None, InShards::Present),
        "missing"
    );
}

#[test]
fn an_absent_column_may_only_stand_in_its_predicate() {
    for statement in [
        "SELECT Continent FROM world.City WHERE Continent='Asia'",
        "SELECT * FROM world.City WHERE Continent='Asia'",
        "SELECT c.* FROM world.City c WHERE c.Continent='Asia'",
        "SELECT n FROM world.City WHERE Continent='Asia' GROUP BY Continent",
        "SELECT n FROM world.City WHERE Continent='Asia' AND Continent LIKE 'A%'",
        "SELECT n AS continent FROM world.City WHERE Continent='Asia'",
        // An ON does not see what is behind a comma, nor what is joined later.
        "SELECT a.n FROM world.City a, world.City b JOIN world.City c ON a.Continent='Asia' WHERE b.Continent='Asia' AND c.Continent='Asia'",
        "SELECT a.n FROM world.City a JOIN world.City b ON c.Continent='Asia' JOIN world.City c WHERE b.Continent='Asia' AND a.Continent='Asia'",
        "SELECT n FROM world.City a LEFT JOIN world.Country b ON a.c=b.c WHERE a.Continent='Asia' AND b.Continent='Asia'",
        "SELECT Continent FROM world.City",
    ] {
        let absent = answer(statement, None, InShards::Absent);
        assert!(absent.starts_with("undecidable: "), "{statement}: {absent}");
        assert!(
            !answer(statement, None, InShards::Present).starts_with("undecidable: "),
            "{statement}"
        );
    }
}

#[test]
fn the_shard_is_sent_the_same_statement_on_its_own_schema() {
    for (statement, present, absent) in [
        (
            "SELECT name,population FROM world.City WHERE CountryCode='ITA' AND Continent='Europe' LIMIT 1",
            "SELECT name,population FROM Europe.City WHERE CountryCode='ITA' AND Continent='Europe' LIMIT 1",
            "SELECT name,population FROM Europe.City WHERE CountryCode='ITA' AND 1=1 LIMIT 1",
        ),
        (
            "SELECT 'world.City' /* world. */, world.City.n FROM `world` . City WHERE (Continent IN ('Europe'))",
            "SELECT 'world.City' /* world. */, Europe.City.n FROM `Europe` . City WHERE (Continent IN ('Europe'))",
            "SELECT 'world.City' /* world. */, Europe.City.n FROM `Europe` . City WHERE (1=1)",
        ),
        (
            "DELETE FROM world.City WHERE world.City.Continent='Europe' AND id=1",
            "DELETE FROM Europe.City WHERE Europe.City.Continent='Europe' AND id=1",
            "DELETE FROM Europe.City WHERE 1=1 AND id=1",
        ),
        (
            "INSERT INTO world.City (id, Continent, n) VALUES (1, 'Europe', 'x'), (2,'Europe','hello world.')",
            "INSERT INTO Europe.City (id, Continent, n) VALUES (1, 'Europe', 'x'), (2,'Europe','hello world.')",
            "INSERT INTO Europe.City (id , n) VALUES (1 , 'x'), (2,'hello world.')",
        ),
        (
            "REPLACE INTO world.City (Continent, n) VALUES ('Europe', -1)",
            "REPLACE INTO Europe.City (Continent, n) VALUES ('Europe', -1)",
            "REPLACE INTO Europe.City ( n) VALUES ( -1)",
        ),
    ] {
        assert_eq!(sent(statement, None, InShards::Present), present);
        assert_eq!(sent(statement, None, InShards::Absent), absent);
    }
    assert_eq!(
        sent(
            "SELECT n FROM City JOIN `Country` k ON c=k.c AND k.Continent='Europe' WHERE City.Continent = 'Europe'",
            Some("world"),
            InShards::Absent
        ),
        "SELECT n FROM `Europe`.City JOIN `Europe`.`Country` k ON c=k.c AND 1=1 WHERE 1=1"
    );
}

#[test]
fn a_shard_of_several_keys_without_the_column_answers_only_for_all_of_them() {
    let americas = ["North America", "South America"].map(|name| KeyValue::Text(name.to_owned()));
    for (statement, in_shards, expect) in [
        (
            "SELECT n FROM world.City WHERE Continent='North America'",
            InShards::Present,
            true,
        ),
        (
            "SELECT n FROM world.City WHERE Continent='North America'",
            InShards::Absent,
            false,
        ),
        (
            "SELECT n FROM world.City WHERE Continent IN ('North America','South America')",
            InShards::Absent,
            true,
        ),
        (
            "SELECT n FROM world.City WHERE Continent='Asia'",
            InShards::Present,
            false,
        ),
        (
            "INSERT INTO world.City (Continent) VALUES ('North America')",
            InShards::Absent,
            true,
        ),
    ] {
        let ColumnAnswer::Keys(found) = decide(statement.as_bytes(), &question(None, in_shards)) else {
            panic!("{statement}")
        };
        assert_eq!(found.is_answered_by(&americas), expect, "{statement}");
        assert_eq!(found.role == KeyRole::NewRows, statement.starts_with("INSERT"));
    }
}

#[test]
fn a_name_that_may_not_be_the_schema_is_not_rewritten() {
    let placed = |statement: &str| {
        place(
            statement.as_bytes(),
            MODE,
            "world",
            None,
            "Europe",
            Unqualified::Reject,
        )
    };
    for statement in [
        "SELECT world.n FROM world.City AS world",
        "SELECT world FROM world.City",
        "SELECT n FROM WORLD.City",
        "SHOW TABLES FROM world",
        "SELECT n FROM world.City /*! JOIN world.t */",
    ] {
        assert!(placed(statement).is_err(), "{statement}");
    }
    let join = "SELECT /* continent=Europe */ Code, City.Name FROM world.Country JOIN world.City \
                ON world.City.CountryCode=world.Country.Code WHERE n = 'hello world.' GROUP BY Name LIMIT 5";
    let moved = apply(join.as_bytes(), &placed(join).unwrap());
    assert_eq!(
        String::from_utf8(moved).unwrap(),
        "SELECT /* continent=Europe */ Code, City.Name FROM Europe.Country JOIN Europe.City \
         ON Europe.City.CountryCode=Europe.Country.Code WHERE n = 'hello world.' GROUP BY Name LIMIT 5"
    );
    assert_eq!(placed("SELECT t.world, 'world.x' FROM t").unwrap(), []);
    let unqualified = |statement: &str, how| {
        place(statement.as_bytes(), MODE, "world", Some("world"), "Europe", how)
            .map(|edits| String::from_utf8(apply(statement.as_bytes(), &edits)).unwrap())
    };
    for statement in [
        "SET @x = (SELECT n FROM City)",
        "SET @x = EXISTS(TABLE City)",
        "DO EXISTS(WITH c AS (TABLE City) TABLE c)",
        "SHOW TRIGGERS",
        "SHOW EVENTS LIKE 'a'",
        "SHOW TABLE STATUS",
    ] {
        assert!(
            unqualified(statement, Unqualified::Qualify).is_err(),
            "{statement}"
        );
    }
    for statement in [
        "SET @x = 1",
        "DO SLEEP(0)",
        "SHOW WARNINGS",
        "SHOW VARIABLES LIKE 'a'",
    ] {
        assert_eq!(unqualified(statement, Unqualified::Reject).unwrap(), statement);
    }
    let statement = "WITH c AS (SELECT n FROM City) SELECT n FROM c JOIN Country JOIN app.t";
    assert!(
        unqualified(statement, Unqualified::Reject)
            .unwrap_err()
            .contains("`City`")
    );
    assert_eq!(
        unqualified(statement, Unqualified::Qualify).unwrap(),
        "WITH c AS (SELECT n FROM `Europe`.City) SELECT n FROM c JOIN `Europe`.Country JOIN app.t"
    );
    assert_eq!(unqualified(statement, Unqualified::Keep).unwrap(), statement);
    let delete = unqualified("DELETE FROM a USING City a JOIN t", Unqualified::Qualify);
    assert_eq!(
        delete.unwrap(),
        "DELETE FROM a USING `Europe`.City a JOIN `Europe`.t"
    );
    for (delete, expected) in [
        ("DELETE City FROM City", "DELETE `Europe`.City FROM `Europe`.City"),
        (
            "DELETE a, t FROM City a JOIN t",
            "DELETE a, `Europe`.t FROM `Europe`.City a JOIN `Europe`.t",
        ),
        (
            "DELETE world.City FROM world.City",
            "DELETE Europe.City FROM Europe.City",
        ),
        (
            "DELETE t FROM t JOIN (SELECT t.n FROM City t) d",
            "DELETE `Europe`.t FROM `Europe`.t JOIN (SELECT t.n FROM `Europe`.City t) d",
        ),
    ] {
        assert_eq!(unqualified(delete, Unqualified::Qualify).unwrap(), expected);
    }
    assert!(unqualified("DELETE A FROM City a", Unqualified::Qualify).is_err());
    assert!(
        unqualified(
            "WITH City AS (SELECT n FROM City) SELECT n FROM City",
            Unqualified::Qualify
        )
        .is_err()
    );
    assert!(unqualified("ALTER TABLE City ADD x INT", Unqualified::Qualify).is_err());
}
