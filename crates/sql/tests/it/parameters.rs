//! Column finders and the `?` of prepared statements.

use shardwright_sql::InShards;
use shardwright_sql::columns::{ColumnAnswer, ColumnQuestion, Parameters, decide};
use shardwright_vocabulary::KeyValue as Key;

use crate::columns::question;

/// The keys, with `?` for one that is open, or "none".
fn bound(statement: &str, parameters: Parameters<'_>) -> String {
    let question = ColumnQuestion {
        parameters,
        ..question(Some("world"), InShards::Present)
    };
    match decide(statement.as_bytes(), &question) {
        ColumnAnswer::Keys(found) => {
            let values = found.values.iter().map(|literal| format!("{:?}", literal.value));
            values.collect::<Vec<_>>().join(" ")
        }
        _ => "none".to_owned(),
    }
}

#[test]
fn parameters_are_keys_when_they_are_bound() {
    let eu = || Some(Key::Text("Europe".into()));
    let values = [eu(), Some(Key::Integer(7))];
    for (statement, open, found) in [
        (
            "SELECT n FROM City WHERE Continent = ? AND id = ?",
            "Open",
            r#"Text("Europe")"#,
        ),
        (
            "SELECT n FROM City WHERE id = ? AND Continent = ?",
            "Open",
            "Integer(7)",
        ),
        (
            "SELECT n FROM City WHERE Continent IN (?, 'Asia', ?)",
            r#"Open Text("Asia")"#,
            r#"Text("Europe") Text("Asia") Integer(7)"#,
        ),
        (
            "SELECT n FROM City a JOIN City b ON a.Continent = ? WHERE b.Continent = ?",
            "Open",
            r#"Text("Europe") Integer(7)"#,
        ),
        (
            "SELECT n FROM City WHERE Continent BETWEEN ? AND ?",
            "Open",
            "none",
        ),
        ("SELECT n FROM City WHERE Continent = ? OR id = ?", "none", "none"),
        (
            "SELECT n FROM City WHERE Continent > ? AND id = ?",
            "none",
            "none",
        ),
        (
            "SELECT n FROM City WHERE -? = Continent AND id = ?",
            "none",
            "none",
        ),
        (
            "SELECT n FROM City WHERE Continent = ? + 1 AND id = ?",
            "none",
            "none",
        ),
        (
            "SELECT '?', ? /* ? */ FROM City WHERE Continent = ?",
            "Open",
            "Integer(7)",
        ),
        (
            "INSERT INTO City (Continent, id) VALUES (?, ?)",
            "Open",
            r#"Text("Europe")"#,
        ),
        (
            "INSERT INTO City (id, Continent) VALUES (?, ?)",
            "Open",
            "Integer(7)",
        ),
        (
            "INSERT INTO City (id, Continent) VALUES (?, ? + 1)",
            "none",
            "none",
        ),
        (
            "EXPLAIN SELECT n FROM City WHERE Continent = ? AND id = ?",
            "Open",
            r#"Text("Europe")"#,
        ),
    ] {
        assert_eq!(bound(statement, Parameters::Open), open, "{statement}");
        assert_eq!(bound(statement, Parameters::Bound(&values)), found, "{statement}");
        assert_eq!(bound(statement, Parameters::Unknown), "none", "{statement}");
        // Another number of values than the text has `?`, and values that are no keys.
        assert_eq!(
            bound(statement, Parameters::Bound(&values[..1])),
            "none",
            "{statement}"
        );
        assert_eq!(
            bound(statement, Parameters::Bound(&[None, None])),
            "none",
            "{statement}"
        );
    }
    let same = [eu(), eu()];
    for statement in [
        "SELECT n FROM City a JOIN City b ON a.Continent = ? WHERE b.Continent = ?",
        "SELECT n FROM City WHERE Continent BETWEEN ? AND ?",
        "INSERT INTO City (Continent) VALUES (?), (?)",
    ] {
        assert_eq!(
            bound(statement, Parameters::Bound(&same)),
            r#"Text("Europe")"#,
            "{statement}"
        );
    }
}
