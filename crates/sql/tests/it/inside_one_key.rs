//! Column finders: statements of several tables and forms that stay inside one key, and those that read no rows.

use shardwright_sql::columns::reads_no_rows;
use shardwright_sql::{InShards, LexMode, SessionEffects, Shape};

use crate::columns::{answer, question};

/// Where the tables on the shards have the column, and where they lack it.
#[test]
fn what_stays_inside_one_key_is_placed() {
    let asia = "keys Asia";
    for (statement, absent) in [
        (
            "SELECT n FROM City WHERE Continent='Asia' LOCK IN SHARE MODE",
            asia,
        ),
        (
            "SELECT n FROM City WHERE id IN (SELECT id FROM City WHERE Continent='Asia' LOCK IN SHARE MODE) AND Continent='Asia'",
            asia,
        ),
        ("SELECT MAX(n) FROM City WHERE Continent='Asia' INTO @a", asia),
        (
            "SELECT n DIV 2, n MOD 3, MOD(n, 4) FROM City WHERE Continent='Asia' AND n MOD 2 = 1",
            asia,
        ),
        (
            "SELECT n FROM City WHERE Continent BETWEEN 'Asia' AND 'Asia' AND n=1",
            asia,
        ),
        ("SELECT n FROM City WHERE Continent <=> 'Asia'", asia),
        (
            "SELECT n FROM City WHERE Continent='Asia' OR Continent='Asia'",
            "undecidable",
        ),
        (
            "SELECT n FROM City WHERE (Continent='Asia' OR ('Asia'=Continent)) AND n=1",
            "undecidable",
        ),
        (
            "SELECT n FROM City WHERE (n, Continent) = (1, 'Asia')",
            "undecidable",
        ),
        (
            "SELECT n FROM City WHERE (Continent, n) IN (('Asia', 1), ('Asia', n+1))",
            "undecidable",
        ),
        (
            "SELECT n FROM City a JOIN Country b USING (Continent) WHERE a.Continent='Asia'",
            "undecidable",
        ),
        (
            "SELECT n FROM City a JOIN Country b USING (Continent) WHERE b.Continent='Asia'",
            "undecidable",
        ),
        (
            "SELECT n FROM City a JOIN Country b USING (Continent) JOIN City c USING (Continent) WHERE Continent='Asia'",
            "undecidable",
        ),
        (
            "SELECT n FROM City a LEFT JOIN Country b USING (n, Continent) WHERE Continent='Asia'",
            "undecidable",
        ),
        (
            "SELECT n FROM City a RIGHT JOIN Country b USING (Continent) WHERE Continent='Asia'",
            "undecidable",
        ),
        (
            "SELECT n FROM City a NATURAL JOIN Country b WHERE b.Continent='Asia'",
            "undecidable",
        ),
        (
            "SELECT n FROM City a, Country b WHERE a.Continent=b.Continent AND a.Continent='Asia'",
            "undecidable",
        ),
        (
            "SELECT n FROM City a LEFT JOIN Country b ON a.Continent=b.Continent AND a.c=b.c WHERE a.Continent='Asia'",
            "undecidable",
        ),
        (
            "SELECT n FROM City a RIGHT JOIN Country b ON a.c=b.c AND a.Continent='Asia' WHERE b.Continent='Asia'",
            asia,
        ),
        (
            "SELECT n FROM City a RIGHT JOIN Country b ON a.Continent=b.Continent WHERE b.Continent='Asia'",
            "undecidable",
        ),
        (
            "WITH c AS (SELECT n FROM City WHERE Continent='Asia') SELECT n FROM c",
            asia,
        ),
        (
            "WITH City AS (SELECT n FROM City WHERE Continent='Asia') SELECT n FROM City x JOIN City y",
            asia,
        ),
        (
            "WITH RECURSIVE c AS (SELECT n FROM City WHERE Continent='Asia' UNION ALL SELECT n+1 FROM c WHERE n < 5) SELECT n FROM c",
            asia,
        ),
        (
            "WITH a AS (SELECT n FROM City WHERE Continent='Asia'), b AS (SELECT n FROM a) SELECT b.n FROM b, Country k WHERE k.Continent='Asia'",
            asia,
        ),
        (
            "SELECT n FROM City c WHERE c.Continent='Asia' AND EXISTS (SELECT 1 FROM Country k WHERE k.Continent=c.Continent)",
            "undecidable",
        ),
        (
            "SELECT n, (SELECT COUNT(*) FROM Country k WHERE k.c=c.c AND c.Continent=k.Continent) FROM City c WHERE c.Continent='Asia'",
            "undecidable",
        ),
        (
            "UPDATE City a, Country b SET a.n=b.n WHERE a.Continent='Asia' AND b.Continent='Asia'",
            asia,
        ),
        (
            "UPDATE City a JOIN Country b ON a.Continent=b.Continent SET a.n=b.n WHERE b.Continent='Asia'",
            "undecidable",
        ),
        ("DELETE a FROM City a WHERE a.Continent='Asia'", asia),
        ("DELETE FROM a USING City a WHERE a.Continent='Asia'", asia),
        (
            "DELETE a, b FROM City a JOIN Country b USING (Continent) WHERE a.Continent='Asia'",
            "undecidable",
        ),
        (
            "INSERT INTO City SET n=1, Continent='Asia' ON DUPLICATE KEY UPDATE n=2",
            asia,
        ),
        ("INSERT INTO City SET Continent='Asia'", "undecidable"),
        (
            "INSERT INTO City (n, Continent) SELECT n, Continent FROM City WHERE Continent='Asia'",
            "undecidable",
        ),
        (
            "INSERT INTO City (n, Continent) SELECT n, 'Asia' FROM City a JOIN Country b USING (Continent) WHERE a.Continent='Asia' ON DUPLICATE KEY UPDATE n=1",
            "undecidable",
        ),
        ("INSERT INTO City (Continent) SELECT 'Asia'", "undecidable"),
        (
            "REPLACE INTO City (Continent, n) SELECT a.Continent, 1 FROM City a WHERE a.Continent='Asia' LIMIT 1",
            "undecidable",
        ),
        ("EXPLAIN SELECT n FROM City WHERE Continent='Asia'", asia),
        (
            "EXPLAIN FORMAT=JSON UPDATE City SET n=1 WHERE Continent='Asia'",
            asia,
        ),
        (
            "ANALYZE FORMAT=JSON SELECT n FROM City WHERE Continent='Asia'",
            asia,
        ),
        ("DESCRIBE City", "not concerned"),
        ("SHOW FULL COLUMNS FROM world.City", "not concerned"),
    ] {
        assert_eq!(
            answer(statement, Some("world"), InShards::Present),
            if absent == "not concerned" { absent } else { asia },
            "{statement}"
        );
        let found = answer(statement, Some("world"), InShards::Absent);
        assert!(found.starts_with(absent), "{statement}: {found}");
    }
    let several = answer(
        "SELECT n FROM City WHERE Continent='Asia' OR Continent IN ('Europe', 'Asia')",
        Some("world"),
        InShards::Present,
    );
    assert_eq!(several, "keys Asia|Europe");
}

/// All keys of a statement are its keys, whichever table each of them limits. Where the column is absent, a shard cannot tell
/// the rows of several keys apart.
#[test]
fn tables_may_be_limited_to_several_keys() {
    for (statement, keys) in [
        (
            "SELECT n FROM City WHERE Continent='Asia' UNION SELECT n FROM City WHERE Continent='Europe'",
            "Asia|Europe",
        ),
        (
            "SELECT n FROM City WHERE Continent='Asia' AND Continent='Europe'",
            "Asia|Europe",
        ),
        (
            "SELECT n FROM City a, City b WHERE a.Continent='Asia' AND b.Continent='Europe'",
            "Asia|Europe",
        ),
        (
            "SELECT n FROM City a, City b WHERE (a.Continent='Asia' AND b.Continent='Asia' AND n=1) OR (b.Continent='Europe' AND a.Continent='Asia')",
            "Asia|Europe",
        ),
        (
            "INSERT INTO City (n, Continent) SELECT n, 'Europe' FROM City WHERE Continent='Asia'",
            "Asia|Europe",
        ),
        (
            "INSERT INTO City (n, Continent) SELECT n, Continent FROM City WHERE Continent IN ('Asia', 'Europe')",
            "Asia|Europe",
        ),
    ] {
        let found = answer(statement, Some("world"), InShards::Present);
        assert_eq!(found, format!("keys {keys}"), "{statement}");
        let found = answer(statement, Some("world"), InShards::Absent);
        assert!(found.starts_with("undecidable"), "{statement}: {found}");
    }
}

/// What follows from the whole condition, in the ways that people write it.
#[test]
fn plain_forms_are_placed() {
    for (statement, keys) in [
        (
            "SELECT n FROM City WHERE (Continent='Asia' AND n=1) OR (Continent='Asia' AND n=2)",
            "Asia",
        ),
        (
            "SELECT n FROM City c WHERE c.and AND Continent=7 AND c.where AND c.end = 1",
            "7",
        ),
        ("SELECT n FROM City WHERE (Continent)=(7)", "7"),
        (
            "SELECT n FROM City WHERE (Continent=7 OR Continent=8) AND Continent=7",
            "7",
        ),
        ("SELECT n FROM City WHERE Continent=+7", "7"),
        ("SELECT n FROM City WHERE Continent=7.0", "7"),
        ("SELECT n FROM City WHERE Continent IN ((7), -7.00)", "7|-7"),
        ("SELECT n FROM City WHERE Continent=_utf8mb4'Asia'", "Asia"),
        ("SELECT n FROM City WHERE Continent='Asia' AND !n", "Asia"),
        (
            "SELECT n FROM City WHERE Continent='Asia' AND n SOUNDS LIKE 'x'",
            "Asia",
        ),
        ("SELECT @a := @a + 1 FROM City WHERE Continent='Asia'", "Asia"),
        ("DELETE IGNORE FROM City WHERE Continent='Asia'", "Asia"),
        (
            "DELETE LOW_PRIORITY QUICK a FROM City a WHERE a.Continent='Asia'",
            "Asia",
        ),
        (
            "SELECT n FROM (City a JOIN Country b ON a.Continent=b.Continent) WHERE a.Continent='Asia'",
            "Asia",
        ),
        (
            "SELECT n FROM ((City a JOIN Country b USING (Continent)) JOIN City c USING (Continent)) WHERE a.Continent='Asia'",
            "Asia",
        ),
        (
            "SELECT n FROM City a LEFT JOIN (Country b JOIN City c ON b.Continent=c.Continent) ON a.Continent=b.Continent WHERE a.Continent='Asia'",
            "Asia",
        ),
        ("SELECT n FROM (City a) WHERE a.Continent='Asia'", "Asia"),
        ("SELECT n FROM ((City)) WHERE Continent='Asia'", "Asia"),
        (
            "SELECT n FROM (City a, (Country AS b, City)) WHERE a.Continent='Asia' AND b.Continent='Asia' AND City.Continent='Asia'",
            "Asia",
        ),
        (
            "SELECT n FROM City a LEFT JOIN (Country b) ON a.Continent=b.Continent WHERE a.Continent='Asia'",
            "Asia",
        ),
        (
            "SELECT n FROM City a LEFT JOIN (Country b, City c) ON b.Continent=a.Continent AND c.Continent=a.Continent WHERE a.Continent='Asia'",
            "Asia",
        ),
        (
            "SELECT n FROM City WHERE LEFT(n, 1)='a' AND Continent='Asia' AND RIGHT(n, 1)='b'",
            "Asia",
        ),
        (
            "SELECT n FROM City WHERE d > NOW() - INTERVAL 1 DAY AND CASE WHEN n AND n THEN 1 END AND Continent='Asia'",
            "Asia",
        ),
    ] {
        let found = answer(statement, Some("world"), InShards::Present);
        assert_eq!(found, format!("keys {keys}"), "{statement}");
    }
}

/// The literal that a SELECT puts into the key column is a key with all that stands before it.
#[test]
fn what_stands_before_a_literal_of_a_select_is_read() {
    let asia = "INSERT INTO world.City (n, Continent) SELECT SQL_NO_CACHE 1, _utf8mb4'Asia' AS c";
    assert_eq!(answer(asia, None, InShards::Present), "keys Asia");
    for statement in [
        "INSERT INTO world.City (n, Continent) SELECT 1, _latin1'Asia'",
        "INSERT INTO world.City (n, Continent) SELECT 1, _utf16'Asia' AS c",
        "INSERT INTO world.City (Continent, n) SELECT _latin1'Asia', 1",
        "INSERT INTO world.City (Continent, n) SELECT DISTINCT _latin1 'Asia', 1",
        "INSERT INTO world.City (n, Continent) SELECT 1, N'Asia'",
        "INSERT INTO world.City (n, Continent) SELECT 1, X'41'",
        "INSERT INTO world.City (n, Continent) SELECT 1, BINARY 'Asia'",
        "INSERT INTO world.City (n, Continent) SELECT 1, DATE '2026-01-02'",
        "INSERT INTO world.City (n, Continent) SELECT 1, NOT 'Asia'",
        "INSERT INTO world.City (n, Continent) SELECT 1, - 'Asia'",
        "REPLACE INTO world.City (n, Continent) SELECT 1, _latin1'Asia'",
    ] {
        let answer = answer(statement, None, InShards::Present);
        assert!(answer.starts_with("undecidable"), "{statement}: {answer}");
    }
}

/// Whatever stands around a predicate, or beside the condition that it stands in, hides it.
#[test]
fn what_stands_around_a_predicate_hides_it() {
    for statement in [
        "DELETE FROM City WHERE NOT ((Continent, id) IN (('Asia', 1), ('Asia', 2)))",
        "DELETE FROM City WHERE ((Continent) = ('Asia')) = 0",
        "DELETE FROM City WHERE ((Continent) = ('Asia')) IS NOT NULL",
        "DELETE FROM City WHERE ((Continent) = ('Asia')) | 1",
        "DELETE FROM City WHERE ~((Continent) = ('Asia'))",
        "DELETE FROM City WHERE !(Continent = 'Asia')",
        "DELETE FROM City WHERE d > NOW() + INTERVAL 1 AND Continent='Asia' AND 3 DAY",
        "DELETE FROM City WHERE CASE WHEN n AND Continent='Asia' AND n THEN 0 ELSE 1 END",
        "DELETE FROM City WHERE @a := 1 AND Continent='Asia'",
        "DELETE FROM City WHERE (@a := @a + 1) AND Continent='Asia'",
        "SELECT n FROM City WHERE Continent='Asia' AND n = (SELECT MAX(n) FROM Country WHERE Continent='Asia' XOR 1)",
        // A derived table does not see the tables beside it: here `a` is the outer one, which has no key.
        "SELECT 1 FROM (SELECT n AS Continent FROM City WHERE Continent='Asia') a WHERE EXISTS (SELECT 1 FROM City a JOIN          (SELECT * FROM Country u WHERE u.Continent=a.Continent) d WHERE a.Continent='Asia')",
        // Without parentheses, the server groups joins otherwise than they are read.
        "SELECT n FROM City a JOIN City b LEFT JOIN City c ON a.Continent=b.Continent ON b.Continent=c.Continent WHERE a.Continent='Asia'",
        "SELECT n FROM City a LEFT JOIN (City b JOIN City c USING (Continent)) ON a.id=b.id WHERE a.Continent='Asia'",
        "INSERT INTO City (n, Continent) SELECT 1, 'Asia' ON DUPLICATE KEY UPDATE n=(SELECT MAX(n) FROM City)",
        "INSERT INTO City (n, Continent) SELECT COUNT(*), Continent FROM City WHERE Continent='Asia'",
        "INSERT INTO City (n, Continent) SELECT n, Continent FROM City WHERE Continent='Asia' GROUP BY Continent, n WITH ROLLUP",
        "TABLE City",
        "SELECT 1 UNION TABLE City",
        // Each table in parentheses needs its key.
        "SELECT n FROM (City a, Country b) WHERE a.Continent='Asia'",
        "SELECT n FROM City a LEFT JOIN (Country b, City c) ON b.Continent=a.Continent WHERE a.Continent='Asia'",
        "SELECT n FROM (City a) JOIN (Country b) WHERE a.Continent='Asia'",
        "DELETE FROM City WHERE Continent='Asia' AND n IN (SELECT n FROM (Country))",
        // A comma binds looser than a join.
        "SELECT n FROM (City a, Country b RIGHT JOIN City c ON b.Continent='Asia') WHERE a.Continent='Asia' AND c.Continent='Asia'",
    ] {
        for in_shards in [InShards::Present, InShards::Absent] {
            let found = answer(statement, Some("world"), in_shards);
            assert!(found.starts_with("undecidable"), "{statement}: {found}");
        }
    }
    for statement in [
        "INSERT INTO City (Continent, n) VALUES ('Asia', Continent)",
        "INSERT INTO City (Continent, n) VALUES ('Asia', 1) RETURNING *",
        "INSERT INTO City SET Continent='Asia', n=1 RETURNING n, City.*",
        "DELETE FROM City WHERE Continent='Asia' RETURNING *",
    ] {
        let found = answer(statement, Some("world"), InShards::Present);
        assert_eq!(found, "keys Asia", "{statement}");
        let found = answer(statement, Some("world"), InShards::Absent);
        assert!(found.starts_with("undecidable"), "{statement}: {found}");
    }
}

#[test]
fn long_chains_and_long_texts_are_read() {
    let terms = |count: usize, between: &str| vec!["n=1"; count].join(between);
    for condition in [
        terms(9_000, " OR "),
        terms(9_000, " AND "),
        vec!["1"; 19_000].join("+"),
    ] {
        let statement = format!("SELECT n FROM City WHERE Continent='Asia' AND ({condition})");
        assert_eq!(answer(&statement, Some("world"), InShards::Present), "keys Asia");
    }
    let too_many = format!(
        "SELECT n FROM City WHERE Continent='Asia' AND ({})",
        terms(30_000, " OR ")
    );
    assert!(answer(&too_many, Some("world"), InShards::Present).starts_with("undecidable"));
    let blob = "x".repeat(20 << 20);
    let statement = format!("SELECT n FROM City WHERE Continent='Asia' AND n <> '{blob}'");
    assert_eq!(answer(&statement, Some("world"), InShards::Present), "keys Asia");
    let rows = vec!["('Asia', 1)"; 300_000].join(",");
    let statement = format!("INSERT INTO City (Continent, n) VALUES {rows}");
    assert_eq!(answer(&statement, Some("world"), InShards::Present), "keys Asia");
}

#[test]
fn what_reads_no_rows_is_known() {
    for (statement, expected) in [
        ("SELECT * FROM (SELECT 1) d", true),
        ("SELECT 1 FROM dual", true),
        (
            "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i+1 FROM n WHERE i < 5) SELECT * FROM n",
            true,
        ),
        (
            "SELECT * FROM information_schema.tables WHERE table_schema='world'",
            true,
        ),
        (
            "SELECT t.a FROM INFORMATION_SCHEMA.TABLES t JOIN information_schema.columns USING (a)",
            true,
        ),
        (
            "SELECT * FROM information_schema.tables WHERE table_schema = DATABASE()",
            true,
        ),
        ("DESCRIBE City", true),
        ("DESC world.City Continent", true),
        ("EXPLAIN SELECT 1", true),
        ("SELECT * FROM (SELECT 1) d, City", false),
        ("SELECT * FROM information_schema.tables, City", false),
        ("SELECT 1 FROM dual WHERE EXISTS (SELECT 1 FROM City)", false),
        ("WITH c AS (SELECT 1) SELECT * FROM C", false),
        ("WITH City AS (SELECT * FROM City) SELECT * FROM City", false),
        ("SELECT f(1) FROM dual", false),
        ("SELECT 1 UNION TABLE City", false),
        ("SELECT 1 UNION SELECT 2", true),
        ("SELECT nextval(s)", false),
        ("SELECT NEXT VALUE FOR s", false),
        ("SELECT 1 FROM dual INTO OUTFILE 'a'", false),
        ("SELECT * FROM mysql.user", false),
        ("INSERT INTO information_schema.x (a) VALUES (1)", false),
        ("EXPLAIN SELECT * FROM City", false),
    ] {
        let question = question(Some("world"), InShards::Present);
        assert_eq!(
            reads_no_rows(statement.as_bytes(), &question),
            expected,
            "{statement}"
        );
    }
}

#[test]
fn hostile_depth_is_refused_quickly() {
    for (open, close, n) in [
        ("(", ")", 100_000),
        ("NOT ", "", 100_000),
        ("1 AND ", "", 100_000),
        ("1+", "", 100_000),
    ] {
        let statement = format!(
            "SELECT n FROM world.City WHERE {}1{}",
            open.repeat(n),
            close.repeat(n)
        );
        let found = answer(&statement, None, InShards::Present);
        assert!(found.starts_with("undecidable: "), "{open}");
    }
    let wide = format!(
        "SELECT n FROM world.City WHERE Continent='Asia' AND id IN ({}1)",
        "1,".repeat(20_000)
    );
    assert_eq!(answer(&wide, None, InShards::Present), "keys Asia");
    let long = format!(
        "SELECT n FROM world.City WHERE Continent='Asia'{}",
        " AND x=1".repeat(120)
    );
    assert_eq!(answer(&long, None, InShards::Present), "keys Asia");
    assert!(Shape::of(long.as_bytes(), LexMode::default()).effects == SessionEffects::NONE);
}
