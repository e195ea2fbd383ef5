//! Files that mean no good: whatever is in them, they are read to the end, twice to the same, with places that exist.

use proptest::prelude::*;
use shardwright_diagnostics::{Sources, render};
use shardwright_import::{Language, RuleFile, read};
use shardwright_rules::EngineId;

fn once(bytes: &[u8], language: Language) -> (RuleFile, String) {
    let mut sources = Sources::new();
    let file = read(&mut sources, "rules", bytes, language, EngineId::Proxysql27);
    for span in file.origins.values() {
        assert!(sources.text(span.file).get(span.range()).is_some(), "{span:?}");
    }
    let shown = render::text::render(&file.problems, &sources, false);
    (file, shown)
}

fn check(bytes: &[u8]) {
    for language in [Language::Sql, Language::Cnf] {
        let (file, shown) = once(bytes, language);
        let ids: Vec<u32> = file
            .configuration
            .graph
            .rules
            .iter()
            .map(|rule| rule.id)
            .collect();
        assert!(ids.is_sorted_by(|a, b| a < b), "{ids:?}");
        let (again, shown_again) = once(bytes, language);
        assert_eq!(file.configuration, again.configuration);
        assert_eq!(shown, shown_again);
    }
}

/// Pieces that statements and settings are made of.
const PIECES: [&str; 36] = [
    "INSERT INTO ",
    "REPLACE INTO ",
    "UPDATE ",
    "DELETE FROM ",
    "SET ",
    "mysql_query_rules",
    "mysql_users",
    "global_variables",
    "mysql_servers",
    " (rule_id, active)",
    " VALUES ",
    "(1, 1)",
    "(2, 'x')",
    ",",
    ";",
    "'",
    "\"",
    "--",
    "/*",
    "*/",
    " WHERE ",
    "1",
    "NULL",
    "mysql-threads",
    "=",
    "mysql_query_rules = (",
    "{ ",
    "rule_id = 3",
    " }",
    ")",
    "password",
    "\n",
    "\\",
    "é",
    "SELECT",
    "(WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM r) SELECT n FROM r LIMIT 9)",
];

proptest! {
    #[test]
    fn any_pieces_are_read(picked in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..30)) {
        check(picked.concat().as_bytes());
    }

    #[test]
    fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
        check(&bytes);
    }
}

#[test]
fn a_statement_may_not_work_for_ever_or_reach_anything_else() {
    let endless = "INSERT INTO mysql_query_rules (rule_id) \
        WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n FROM r) SELECT count(*) FROM r";
    for sql in [
        endless,
        "UPDATE mysql_users SET comment = load_extension('x')",
        "INSERT INTO sqlite_master VALUES (1)",
        "INSERT INTO mysql_users (username) VALUES (hex(zeroblob(2000000000)))",
    ] {
        let (file, shown) = once(sql.as_bytes(), Language::Sql);
        assert!(file.problems.has_errors(), "{sql}\n{shown}");
    }
}
