//! The tables that a statement names: the server asks for each of them that it lacks.

use mysql::Conn;
use mysql::prelude::Queryable;
use shardwright_sql::LexMode;
use shardwright_sql::schema::tables;

use super::{connect, server};

const NO_SUCH_TABLE: u16 = 1146;

/// `#m` stands for each list of modifiers, `#1` and `#2` for tables.
const SHAPES: [&str; 30] = [
    "UPDATE #m#1 SET a=1",
    "UPDATE #m#1 AS x SET x.a=1",
    "UPDATE #m#1 quick SET quick.a=1",
    "UPDATE #m#1, #2 SET #1.a=1",
    "UPDATE #m#1 JOIN #2 ON #1.a=#2.a SET #1.a=1",
    "UPDATE #m#1 SET a=(SELECT MAX(a) FROM #2)",
    "UPDATE #m#1 SET a=1 WHERE a IN (SELECT a FROM #2) ORDER BY a LIMIT 1",
    "DELETE #mFROM #1",
    "DELETE #mFROM #1 WHERE a=1 LIMIT 1",
    "DELETE #mFROM #1 WHERE a IN (SELECT a FROM #2)",
    "INSERT #mINTO #1 VALUES (1)",
    "INSERT #m#1 VALUES (1)",
    "INSERT #m#1 (a) VALUES (1)",
    "INSERT #m#1 SET a=1",
    "INSERT #mINTO #1 SELECT * FROM #2",
    "INSERT #m#1 (a) SELECT a FROM #2 x ON DUPLICATE KEY UPDATE #1.a=1",
    "REPLACE #mINTO #1 VALUES (1)",
    "REPLACE #m#1 SET a=1",
    "REPLACE #m#1 SELECT * FROM #2",
    "SELECT #m* FROM #1",
    "SELECT #ma FROM #1",
    "SELECT #ma quick FROM #1 quick",
    "SELECT #mCOUNT(*) FROM #1 STRAIGHT_JOIN #2",
    "SELECT 1 FROM (SELECT #ma FROM #1) x",
    "SELECT #m#1.a FROM #1 IGNORE INDEX FOR JOIN (i), #2 x USE INDEX (j)",
    "SELECT a FROM #1 UNION SELECT #ma FROM #2",
    "SELECT #ma FROM #1 FOR UPDATE",
    "WITH x AS (SELECT #ma FROM #1) SELECT * FROM x, #2",
    "EXPLAIN UPDATE #m#1 SET a=1",
    "EXPLAIN DELETE #mFROM #1",
];

/// What can stand between the verb and the table. Wrong ones are refused by the server, which then names no table.
const MODIFIERS: [&str; 16] = [
    "",
    "IGNORE ",
    "LOW_PRIORITY ",
    "LOW_PRIORITY IGNORE ",
    "ignore/* x */\n",
    "QUICK ",
    "LOW_PRIORITY QUICK IGNORE ",
    "HIGH_PRIORITY ",
    "HIGH_PRIORITY IGNORE ",
    "DELAYED ",
    "SQL_NO_CACHE ",
    "DISTINCT SQL_BIG_RESULT ",
    "SQL_BUFFER_RESULT ALL ",
    "STRAIGHT_JOIN SQL_SMALL_RESULT DISTINCT ",
    "SQL_CALC_FOUND_ROWS ",
    "HISTORY ",
];

/// Names that the tables have: plain ones, and modifiers in quotes or unreserved.
const NAMES: [[&str; 2]; 5] = [
    ["t_1", "t_2"],
    ["`ignore`", "`low_priority`"],
    ["ignored", "`t 2`"],
    ["t_1", "quick"],
    ["d.t_1", "`quick`"],
];

#[test]
fn the_tables_of_a_statement_are_those_that_the_server_opens() {
    let server = server(&[]);
    let (mut connection, mode) = connect(&server);
    let (mut compared, mut refused, mut wrong) = (0, Vec::new(), Vec::new());
    let combinations = SHAPES
        .iter()
        .flat_map(|shape| MODIFIERS.iter().map(move |modifiers| (shape, modifiers)));
    for ((shape, modifiers), names) in combinations.zip(NAMES.iter().cycle()) {
        let text = shape
            .replace("#m", modifiers)
            .replace("#1", names[0])
            .replace("#2", names[1]);
        let Some(opened) = opened(&mut connection, &text) else {
            continue;
        };
        match named(&text, mode) {
            Ok(named) if named == opened => compared += 1,
            Ok(named) => wrong.push(format!("{text}: {named:?}, the server opens {opened:?}")),
            Err(reason) => refused.push(format!("{text}: {reason}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(
        compared > 100,
        "{compared} compared, refused:\n{}",
        refused.join("\n")
    );
    assert!(
        refused.len() < compared / 10,
        "{} refused:\n{}",
        refused.len(),
        refused.join("\n")
    );
}

/// The tables that the server asks for, sorted: each is made when it has been asked for. `None`: it takes no such text.
fn opened(connection: &mut Conn, text: &str) -> Option<Vec<String>> {
    let mut made = Vec::new();
    let is_taken = loop {
        match connection.query_drop(text) {
            Ok(()) => break true,
            Err(mysql::Error::MySqlError(error)) if error.code == NO_SUCH_TABLE => {
                let name = error.message.split('\'').nth(1).unwrap();
                let name = name.strip_prefix("d.").unwrap().to_owned();
                let create = format!("CREATE TABLE `{name}` (a INT, KEY i (a), KEY j (a)) ENGINE=InnoDB");
                connection.query_drop(create).unwrap();
                made.push(name);
            }
            Err(_) => break false,
        }
    };
    for name in &made {
        connection.query_drop(format!("DROP TABLE `{name}`")).unwrap();
    }
    made.sort_unstable();
    is_taken.then_some(made)
}

fn named(text: &str, mode: LexMode) -> Result<Vec<String>, String> {
    let text = text.strip_prefix("EXPLAIN ").unwrap_or(text);
    let mut names: Vec<String> = tables(text.as_bytes(), mode)?
        .into_iter()
        .map(|table| table.table)
        .collect();
    names.sort_unstable();
    names.dedup();
    Ok(names)
}
