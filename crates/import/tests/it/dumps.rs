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
    assert_eq!(
        said(&file, &sources),
        [
            "warning[SW165] rules.txt:1:1: the rows of mysql_query_rules are shown without username, schemaname, flagIN, client_addr, proxy_addr, proxy_port, digest, negate_match_pattern and 15 more: each is taken for unset",
            "warning[SW165] rules.txt:4:1: the rows of mysql_users are shown without default_schema, transaction_persistent, fast_forward: each is taken for unset",
        ]
    );
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
    assert_eq!(said(&file, &sources).len(), 1);
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
        said(&file, &sources)[1..],
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

/// An absent column is no 0: what it holds is not known, and the file says so once for each table.
#[test]
fn columns_that_a_printed_table_does_not_show_are_not_known() {
    let printed =
        "rule_id\tmatch_digest\tdestination_hostgroup\n1\t^SELECT.*FOR UPDATE$\t10\n2\t^SELECT\t20\n";
    let (file, _) = file("rules.txt", printed);
    assert_eq!(ids(&file), [1, 2]);
    let [unknown] = file.unmodelled.as_slice() else {
        panic!("{:?}", file.unmodelled)
    };
    assert!(unknown.contains("active"), "{unknown}");
    let head: Vec<&str> = shardwright_rules::tables::QUERY_RULES
        .columns
        .iter()
        .map(|column| column.name)
        .collect();
    let whole = format!("{}\n1{}\n", head.join("\t"), "\tNULL".repeat(head.len() - 1));
    let (file, _) = self::file("rules.txt", &whole);
    assert!(file.unmodelled.is_empty(), "{:?}", file.unmodelled);
}

/// The columns of 1.4, as its `sqlite3 proxysql.db .dump` has them.
#[test]
fn a_dump_of_another_version_is_read_by_its_own_columns() {
    let (file, sources) = file(
        "disk.sql",
        "CREATE TABLE mysql_servers (hostgroup_id INT NOT NULL DEFAULT 0 , hostname VARCHAR NOT NULL , port INT NOT NULL DEFAULT 3306 , \
         status VARCHAR CHECK (UPPER(status) IN ('ONLINE','SHUNNED','OFFLINE_SOFT', 'OFFLINE_HARD')) NOT NULL DEFAULT 'ONLINE' , \
         weight INT CHECK (weight >= 0) NOT NULL DEFAULT 1 , compression INT NOT NULL DEFAULT 0 , max_connections INT NOT NULL DEFAULT 1000 , \
         max_replication_lag INT NOT NULL DEFAULT 0 , use_ssl INT NOT NULL DEFAULT 0 , max_latency_ms INT UNSIGNED NOT NULL DEFAULT 0 , \
         comment VARCHAR NOT NULL DEFAULT '' , PRIMARY KEY (hostgroup_id, hostname, port) );\n\
         INSERT INTO mysql_servers VALUES(10,'m1.db',3306,'ONLINE',7,0,400,0,0,0,'primary');\n\
         CREATE TABLE mysql_replication_hostgroups (writer_hostgroup INT NOT NULL PRIMARY KEY , reader_hostgroup INT NOT NULL , comment VARCHAR);\n\
         INSERT INTO mysql_replication_hostgroups VALUES(10,20,'shop');\n\
         CREATE TABLE mysql_query_rules_fast_routing (username VARCHAR , schemaname VARCHAR , flagIN INT , destination_hostgroup INT , later INT , comment VARCHAR);\n\
         INSERT INTO mysql_query_rules_fast_routing VALUES('app','shop',0,20,9,'c');\n",
    );
    assert_eq!(
        said(&file, &sources),
        [
            "info[SW162] disk.sql:1:1: the dump describes mysql_servers as ProxySQL 1.4 or an earlier version has it: its values are read by the columns that it names",
            "info[SW162] disk.sql:3:1: the dump describes mysql_replication_hostgroups as ProxySQL 1.4 or an earlier version has it: its values are read by the columns that it names",
            "warning[SW162] disk.sql:5:1: column later of table mysql_query_rules_fast_routing is not read",
            "info[SW162] disk.sql:5:1: the dump describes mysql_query_rules_fast_routing as ProxySQL of another version than 2.7 has it: its values are read by the columns that it names",
        ]
    );
    let cluster = file.configuration.cluster("shop").unwrap();
    assert_eq!((cluster.writer.0, cluster.reader.unwrap().0), (10, 20));
    let members = &file.configuration.hostgroup(cluster.writer).unwrap().members;
    assert_eq!((members[0].weight, members[0].max_connections), (7, 400));
    assert_eq!(file.configuration.graph.fast_routing[0].hostgroup.0, 20);
    assert_eq!(file.unmodelled.len(), 1, "{:?}", file.unmodelled);
}

/// A script that loads some modules is one whose other modules stay as they are.
#[test]
fn modules_that_a_script_never_loads_are_told() {
    let rules = "INSERT INTO mysql_query_rules (rule_id, active, destination_hostgroup) VALUES (1, 1, 2);\n";
    let servers = "INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES (2, 'db');\nLOAD MYSQL SERVERS TO RUNTIME;\n";
    let found = |text: &str| {
        let (file, _) = file("rules.sql", text);
        let problems = file.problems.sorted();
        problems
            .iter()
            .filter(|problem| problem.code.as_str() == "SW168")
            .count()
    };
    assert_eq!(found(&format!("{rules}{servers}")), 1);
    assert_eq!(
        found(&format!("{rules}{servers}LOAD MYSQL QUERY RULES TO RUN;\n")),
        0
    );
    assert_eq!(
        found(&format!("{rules}{servers}load mysql query rules from memory;\n")),
        0
    );
    // What stands behind the LOAD waits.
    assert_eq!(
        found(&format!("{servers}LOAD MYSQL QUERY RULES TO RUNTIME;\n{rules}")),
        1
    );
    assert_eq!(found(rules), 0);
}
