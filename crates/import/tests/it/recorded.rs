//! Rows that end a ProxySQL 2.7.1 when they are loaded, as it was recorded.

use shardwright_diagnostics::Sources;
use shardwright_import::{Language, read};
use shardwright_rules::EngineId;
use shardwright_testkit::recorded;

#[test]
fn rows_that_end_the_engine_are_errors() {
    let mut asked = 0;
    for record in recorded("admin") {
        let Some(statements) = record["statements"]
            .as_array()
            .filter(|_| record.get("ended").is_some())
        else {
            continue;
        };
        let statements: Vec<&str> = statements.iter().filter_map(|one| one.as_str()).collect();
        // No project has this table, and no file of a rule set is read for it.
        if statements
            .iter()
            .any(|one| one.contains("mysql_hostgroup_attributes"))
        {
            continue;
        }
        asked += 1;
        let script = statements.join(";\n") + ";\n";
        let file = read(
            &mut Sources::new(),
            "rules.sql",
            script.as_bytes(),
            Language::Sql,
            EngineId::Proxysql27,
        );
        assert!(
            file.problems.has_errors(),
            "{script}\n{:?}",
            file.problems.sorted()
        );
    }
    assert!(asked > 50, "{asked}");
}
