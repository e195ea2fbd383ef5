//! Dumps, listings and templates as operators have them.

use shardwright_diagnostics::{Severity, Sources};
use shardwright_import::{Language, RuleFile, read};
use shardwright_rules::{Body, EngineId};

fn file(path: &str, text: &str) -> (RuleFile, Sources) {
    let mut sources = Sources::new();
    let language = Language::of_path(path);
    let file = read(
        &mut sources,
        path,
        text.as_bytes(),
        language,
        EngineId::Proxysql27,
    );
    (file, sources)
}

/// One line for each problem, with its notes.
fn said(file: &RuleFile, sources: &Sources) -> Vec<String> {
    let problems = file.problems.sorted().into_iter();
    problems
        .map(|problem| {
            let place = problem.primary.as_ref().map(|label| sources.display(label.span));
            let severity = format!("{:?}", problem.severity).to_lowercase();
            let place = place.unwrap_or_default();
            format!("{severity}[{}] {place}: {}", problem.code, problem.message)
        })
        .collect()
}

fn ids(file: &RuleFile) -> Vec<u32> {
    file.configuration
        .graph
        .rules
        .iter()
        .map(|rule| rule.id)
        .collect()
}

#[test]
fn rules_without_active_are_a_warning() {
    let (file, sources) = file(
        "rules.sql",
        "INSERT INTO mysql_query_rules (rule_id, match_digest, destination_hostgroup, apply) VALUES\n(1, '^SELECT', 2, 1),\n(2, '.', 1, 1);\n",
    );
    assert_eq!(
        said(&file, &sources),
        [
            "warning[SW167] rules.sql:2:1: 2 rules are not active, from rule 1 on, and the file has no other: the INSERT does \
          not name `active`, whose default is 0"
        ]
    );
    // Switched off on purpose, or switched on later.
    for (text, rules) in [
        (
            "INSERT INTO mysql_query_rules (rule_id, active) VALUES (1, 0);",
            0,
        ),
        (
            "INSERT INTO mysql_query_rules (rule_id) VALUES (1); UPDATE mysql_query_rules SET active=1;",
            1,
        ),
        ("INSERT INTO mysql_query_rules VALUES (1, 1, NULL, NULL, 0);", 0),
    ] {
        let (file, sources) = self::file("rules.sql", text);
        assert_eq!(ids(&file).len(), rules, "{text}");
        assert!(
            !said(&file, &sources).iter().any(|line| line.contains("SW167")),
            "{text}"
        );
    }
}

#[test]
fn what_does_not_matter_is_one_line() {
    let (file, sources) = file(
        "rules.sql",
        "PRAGMA foreign_keys=OFF;\nSHOW TABLES;\nPROXYSQL FLUSH LOGS;\nINSERT INTO scheduler (id) VALUES (1);\n\
         INSERT INTO mysql_query_rules (rule_id, active) VALUES (1, 0), (2, 0), (3, 1);\nLOAD MYSQL QUERY RULES TO RUNTIME;\n",
    );
    assert_eq!(
        said(&file, &sources),
        ["info[SW164] rules.sql:1:1: 6 parts of the file do not affect routing"]
    );
    let notes = &file.problems.sorted()[0].notes;
    assert!(
        notes.iter().any(|note| note.text == "rule 2 is not active"),
        "{notes:?}"
    );
    assert_eq!(ids(&file), [3]);
}

#[test]
fn placeholders_are_told_at_their_line_and_the_rest_is_read() {
    let (file, sources) = file(
        "rules.sql.j2",
        "INSERT INTO mysql_query_rules (rule_id, active, destination_hostgroup) VALUES (1, 1, $HG);\n\
         INSERT INTO mysql_query_rules (rule_id, active, destination_hostgroup) VALUES (2, 1, {{ reader }});\n\
         {% for s in servers %}\n\
         INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES (1, '{{ s }}');\n\
         {% endfor %}\n\
         INSERT INTO mysql_query_rules (rule_id, active, match_pattern) VALUES (3, 1, '{{ text }} $x');\n\
         INSERT INTO mysql_query_rules (rule_id, active, cache_ttl) VALUES (4, 1, 0);\n\
         INSERT INTO mysql_query_rules (rule_id, active) VALUES (5, 1);\n",
    );
    assert_eq!(ids(&file), [3, 5]);
    let said = said(&file, &sources);
    for line in [
        "warning[SW161] rules.sql.j2:1:1: the statement holds the placeholder `$HG` and is not run",
        "warning[SW161] rules.sql.j2:2:1: the statement holds the placeholder `{{ reader }}` and is not run",
        "warning[SW161] rules.sql.j2:3:1: the statement holds the placeholder `{% for s in servers %}` and is not run",
        "error[SW161] rules.sql.j2:7:1: the engine refuses the statement: CHECK constraint failed: cache_ttl > 0",
    ] {
        assert!(said.iter().any(|known| known == line), "{line}\n{said:#?}");
    }
}

#[test]
fn what_the_mysql_client_prints_is_read() {
    let tabs = "rule_id\tactive\tmatch_digest\tmatch_pattern\tdestination_hostgroup\tapply\thits\n\
                1\t1\t^SELECT\\tx\tNULL\t2\t1\t12\n\
                2\t1\tNULL\ta\\\\b\t1\t1\t0\n\
                username\tpassword\tactive\tdefault_hostgroup\n\
                app\tcanary\t1\t5\n";
    let (file, sources) = file("rules.txt", tabs);
    assert_eq!(said(&file, &sources), Vec::<String>::new());
    assert_eq!(ids(&file), [1, 2]);
    let Body::Engine(row) = &file.configuration.graph.rules[0].body else {
        panic!("a file has rows only")
    };
    assert_eq!(row.match_digest.as_deref(), Some("^SELECT\tx"));
    assert_eq!(
        (row.match_pattern.as_deref(), row.destination_hostgroup),
        (None, Some(2))
    );
    let Body::Engine(row) = &file.configuration.graph.rules[1].body else {
        panic!("a file has rows only")
    };
    assert_eq!(row.match_pattern.as_deref(), Some("a\\b"));
    assert_eq!(file.configuration.users.len(), 1);
    assert_eq!(
        sources.display(file.origins["mysql_query_rules.2"]),
        "rules.txt:3:1"
    );

    let boxed = "+---------+--------+--------------+-----------------------+\n\
                 | rule_id | active | match_digest | destination_hostgroup |\n\
                 +---------+--------+--------------+-----------------------+\n\
                 | 7       | 1      | a|b          | 2                     |\n\
                 +---------+--------+--------------+-----------------------+\n\
                 1 row in set (0.00 sec)\n";
    let (file, sources) = self::file("rules.txt", boxed);
    assert_eq!(said(&file, &sources), Vec::<String>::new());
    let Body::Engine(row) = &file.configuration.graph.rules[0].body else {
        panic!("a file has rows only")
    };
    assert_eq!(row.match_digest.as_deref(), Some("a|b"));
}

/// Rows that the engine would refuse, and lines that are none, are told at their line.
#[test]
fn rows_that_are_none() {
    let (file, sources) = file(
        "rules.tsv",
        "rule_id\tactive\tapply\n1\t1\t1\n1\t1\t1\n2\t1\n3\t1\t7\n4\t1\t0\n",
    );
    assert_eq!(ids(&file), [1, 4]);
    assert_eq!(
        said(&file, &sources),
        [
            "error[SW161] rules.tsv:3:1: the engine refuses the row: UNIQUE constraint failed: mysql_query_rules.rule_id",
            "error[SW161] rules.tsv:4:1: the engine refuses the row: it has 2 columns, and its header names more",
            "error[SW161] rules.tsv:5:1: the engine refuses the row: CHECK constraint failed: apply IN (0, 1)",
        ]
    );
}

#[test]
fn users_of_the_admin_port_lock_operators_out() {
    for (text, found) in [
        (
            "INSERT INTO mysql_users (username, password) VALUES ('admin', 'x'), ('app', 'x');",
            1,
        ),
        (
            "INSERT INTO mysql_users (username, password) VALUES ('stats', 'x');",
            1,
        ),
        (
            "SET admin-admin_credentials='root:y;ops:z'; INSERT INTO mysql_users (username, password) VALUES ('admin', 'x');",
            0,
        ),
        (
            "SET admin-admin_credentials='root:y;ops:z'; INSERT INTO mysql_users (username, password) VALUES ('ops', 'x');",
            1,
        ),
    ] {
        let (file, _) = file("rules.sql", text);
        let errors = file.problems.sorted();
        let errors = errors.iter().filter(|problem| problem.code.as_str() == "SW245");
        let errors: Vec<_> = errors.collect();
        assert_eq!(errors.len(), found, "{text}");
        assert!(errors.iter().all(|problem| problem.severity == Severity::Error));
        assert!(
            errors.iter().all(|problem| !problem.message.contains("root:y")),
            "{errors:?}"
        );
    }
}

/// `sqlite3 proxysql.db .dump` of 2.7.1, shortened.
#[test]
fn what_sqlite_dumps_is_read() {
    let (file, sources) = file(
        "dump.sql",
        r#"PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE global_settings (variable_name VARCHAR NOT NULL PRIMARY KEY , variable_value VARCHAR);
INSERT INTO global_settings VALUES('cluster_uuid','x');
CREATE TABLE mysql_query_rules (rule_id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL , active INT CHECK (active IN (0,1)) NOT NULL DEFAULT 0);
INSERT INTO mysql_query_rules VALUES(1,1,NULL,NULL,0,NULL,NULL,NULL,NULL,replace('^SELECT\na','\n',char(10)),NULL,0,'CASELESS',NULL,NULL,2,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1,'',NULL);
CREATE TABLE global_variables (variable_name VARCHAR NOT NULL PRIMARY KEY , variable_value VARCHAR NOT NULL);
INSERT INTO "global_variables" VALUES('admin-admin_credentials','root:canary');
INSERT INTO "global_variables" VALUES('mysql-query_processor_iterations','3');
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('mysql_query_rules',1);
COMMIT;
"#,
    );
    assert_eq!(
        said(&file, &sources),
        ["info[SW164] dump.sql:1:1: 5 parts of the file do not affect routing"]
    );
    assert_eq!(ids(&file), [1]);
    assert_eq!(file.configuration.settings.query_processor_iterations, 3);
}
