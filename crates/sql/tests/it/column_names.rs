//! Columns keep their names where statements are placed on a shard.

use shardwright_sql::LexMode;
use shardwright_sql::column_names::{Unnamed, keep};
use shardwright_sql::rewrite::apply;
use shardwright_sql::schema::{Unqualified, place};

/// The text on shard `Asia`, or the item that cannot be named.
fn placed(text: &str) -> Result<String, String> {
    let (bytes, mode) = (text.as_bytes(), LexMode::default());
    let edits = place(bytes, mode, "world", None, "Asia", Unqualified::Keep).unwrap();
    let edits = keep(bytes, mode, edits);
    let edits = edits.map_err(|Unnamed(span)| text[span.start..span.end].to_owned())?;
    Ok(String::from_utf8(apply(bytes, &edits)).unwrap())
}

#[test]
fn items_keep_their_names() {
    for (text, expect) in [
        ("SELECT n FROM world.City", "SELECT n FROM Asia.City"),
        (
            "SELECT world.City.n, ( +world.t.`a`), world.t.* FROM world.t",
            "SELECT Asia.City.n, ( +Asia.t.`a`), Asia.t.* FROM Asia.t",
        ),
        (
            "SELECT world.t.a + 1, b FROM world.t",
            "SELECT Asia.t.a + 1 AS `world.t.a + 1`, b FROM Asia.t",
        ),
        (
            "SELECT DISTINCT world.t.a /* ` */ * 2 /* x */ FROM world.t",
            "SELECT DISTINCT Asia.t.a /* ` */ * 2 AS `world.t.a /* `` */ * 2` /* x */ FROM Asia.t",
        ),
        (
            "SELECT world.t.a+1 AS x, world.t.a+2 y, -world.t.a 'z', world.f(1) `v` FROM world.t",
            "SELECT Asia.t.a+1 AS x, Asia.t.a+2 y, -Asia.t.a 'z', Asia.f(1) `v` FROM Asia.t",
        ),
        (
            "SELECT (SELECT a FROM world.t LIMIT 1)",
            "SELECT (SELECT a FROM Asia.t LIMIT 1) AS `(SELECT a FROM world.t LIMIT 1)`",
        ),
        (
            "SELECT f(world.t.a IS NULL), world.t.a IS NULL, world.t.a BETWEEN 1 AND b FROM world.t",
            "SELECT f(Asia.t.a IS NULL) AS `f(world.t.a IS NULL)`, Asia.t.a IS NULL AS `world.t.a IS NULL`, Asia.t.a BETWEEN 1 AND b AS `world.t.a BETWEEN 1 AND b` FROM Asia.t",
        ),
        (
            "SELECT CASE world.t.a WHEN 1 THEN b END, CASE world.t.a WHEN 1 THEN b END c FROM world.t",
            "SELECT CASE Asia.t.a WHEN 1 THEN b END AS `CASE world.t.a WHEN 1 THEN b END`, CASE Asia.t.a WHEN 1 THEN b END c FROM Asia.t",
        ),
        (
            "SELECT EXTRACT(DAY FROM world.t.a) FROM world.t",
            "SELECT EXTRACT(DAY FROM Asia.t.a) AS `EXTRACT(DAY FROM world.t.a)` FROM Asia.t",
        ),
        (
            "SELECT NEXT VALUE FOR world.s",
            "SELECT NEXT VALUE FOR Asia.s AS `NEXT VALUE FOR world.s`",
        ),
        (
            "SELECT * FROM (SELECT world.t.a+1, 2 FROM world.t) x UNION SELECT world.u.a+1, 2 FROM world.u",
            "SELECT * FROM (SELECT Asia.t.a+1 AS `world.t.a+1`, 2 FROM Asia.t) x UNION SELECT Asia.u.a+1 AS `world.u.a+1`, 2 FROM Asia.u",
        ),
        (
            "INSERT INTO world.t VALUES (1) RETURNING world.t.a+1",
            "INSERT INTO Asia.t VALUES (1) RETURNING Asia.t.a+1 AS `world.t.a+1`",
        ),
        (
            "UPDATE world.t SET world.t.a = world.t.b + 1",
            "UPDATE Asia.t SET Asia.t.a = Asia.t.b + 1",
        ),
        (
            "SELECT world.t.a = 'a' 'b', world.t.a - DATE '2000-01-01' FROM world.t",
            "SELECT Asia.t.a = 'a' 'b' AS `world.t.a = 'a' 'b'`, Asia.t.a - DATE '2000-01-01' AS `world.t.a - DATE '2000-01-01'` FROM Asia.t",
        ),
        (
            "SELECT world.t.a = '\u{fc}\u{1d11e}' FROM world.t",
            "SELECT Asia.t.a = '\u{fc}\u{1d11e}' AS `world.t.a = '\u{fc}?'` FROM Asia.t",
        ),
    ] {
        assert_eq!(placed(text).as_deref(), Ok(expect), "{text}");
    }
}

#[test]
fn long_names_are_cut_where_servers_cut_them() {
    let pad = " ".repeat(300);
    let sent = placed(&format!("SELECT world.t.a{pad}+ 1 FROM world.t")).unwrap();
    let name = format!("world.t.a{}", &pad[..255 - 9]);
    assert_eq!(sent, format!("SELECT Asia.t.a{pad}+ 1 AS `{name}` FROM Asia.t"));
    let view = format!(
        "CREATE VIEW world.v AS SELECT world.t.a{}+ 1 FROM world.t",
        &pad[..60]
    );
    assert_eq!(placed(&view).unwrap(), view.replace("world", "Asia"));
}

#[test]
fn items_that_cannot_be_named_are_told() {
    for (text, item) in [
        ("SELECT 1, /* c */ world.t.a + 1 FROM world.t", "world.t.a + 1"),
        (
            "SELECT world.t.a + INTERVAL 1 DAY FROM world.t",
            "world.t.a + INTERVAL 1 DAY",
        ),
        ("SELECT world.t.a + offset, 1 FROM world.t", "world.t.a +"),
    ] {
        assert_eq!(placed(text), Err(item.to_owned()), "{text}");
    }
}
