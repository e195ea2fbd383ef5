//! Column finders: statements of several tables and forms that stay inside one key, and those that read no rows.

use shardwright_sql::InShards;
use shardwright_sql::columns::reads_no_rows;

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
