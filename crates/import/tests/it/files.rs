//! Rule sets as people have them, and what is said of them.

use insta::assert_snapshot;
use shardwright_diagnostics::{Sources, render};
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

/// One line for each problem: `info[SW164] rules.sql:1: message`.
fn said(file: &RuleFile, sources: &Sources) -> String {
    let lines = file.problems.sorted().into_iter().map(|problem| {
        let place = problem
            .primary
            .as_ref()
            .map(|label| sources.display(label.span))
            .unwrap_or_default();
        let severity = format!("{:?}", problem.severity).to_lowercase();
        format!("{severity}[{}] {place}: {}", problem.code, problem.message)
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The rules, each with its place and what it says.
fn rules(file: &RuleFile, sources: &Sources) -> String {
    let lines = file.configuration.graph.rules.iter().map(|rule| {
        let Body::Engine(engine) = &rule.body else {
            panic!("a file has rows only")
        };
        let place = sources.display(file.origins[rule.address.as_str()]);
        format!(
            "{place} rule {} in {}: {}",
            rule.id,
            rule.flag_in,
            serde_json::to_string(engine).unwrap()
        )
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn statements_mean_what_they_mean_to_the_engine() {
    let (file, sources) = file(
        "rules.sql",
        r#"-- a set by hand
DELETE FROM mysql_query_rules;
INSERT INTO mysql_query_rules (rule_id, active, match_digest, destination_hostgroup, apply)
VALUES (10, 1, '^SELECT .* FOR UPDATE$', 1, 1),
       (20, 1, '^SELECT\s', 2, 1),
       (30, 0, 'never', 3, 1);
INSERT INTO "mysql_query_rules" (rule_id, active, match_pattern, replace_pattern, error_msg)
  VALUES (15, 1, 'it''s \d'||char(92), '\1', 'don''t');
REPLACE INTO main.mysql_query_rules (rule_id, active, username, comment) VALUES (20, 1, '', 'replaced');
UPDATE mysql_query_rules SET destination_hostgroup = destination_hostgroup + 100 WHERE apply = 1;
DELETE FROM mysql_query_rules WHERE rule_id > 25;
SET mysql-query_processor_iterations = 3;
UPDATE global_variables SET variable_value='2' WHERE variable_name='mysql-query_processor_regex';
LOAD MYSQL QUERY RULES TO RUNTIME; SAVE MYSQL QUERY RULES TO DISK;
"#,
    );
    assert_snapshot!(rules(&file, &sources), @r#"
    rules.sql:4:8 rule 10 in 0: {"match_digest":"^SELECT .* FOR UPDATE$","re_modifiers":{"caseless":true,"global":false},"destination_hostgroup":101,"apply":true}
    rules.sql:8:10 rule 15 in 0: {"match_pattern":"it's \\d\\","re_modifiers":{"caseless":true,"global":false},"replace_pattern":"\\1","error_msg":"don't"}
    rules.sql:9:81 rule 20 in 0: {"re_modifiers":{"caseless":true,"global":false},"comment":"replaced"}
    "#);
    assert_snapshot!(said(&file, &sources), @"info[SW164] rules.sql:14:1: LOAD and SAVE are not run: the tables count as the running configuration");
    assert_snapshot!(serde_json::to_string(&file.configuration.settings).unwrap(), @r#"{"query_processor_iterations":3,"regex":"re2"}"#);
}

/// L37: a blank in front of a modifier makes it another word; case does not matter, nor what follows.
#[test]
fn modifiers_are_words_without_blanks() {
    for (written, caseless, global, said_something) in [
        ("CASELESS,GLOBAL", true, true, false),
        ("caseless,globally", true, true, false),
        ("CASELESS, GLOBAL", true, false, true),
        (" CASELESS", false, false, true),
        ("GLOBL", false, false, true),
        ("", false, false, false),
    ] {
        let statement = format!(
            "INSERT INTO mysql_query_rules (rule_id, active, match_pattern, re_modifiers) VALUES (1, 1, 'a', '{written}');"
        );
        let (file, sources) = file("rules.sql", &statement);
        let Body::Engine(row) = &file.configuration.graph.rules[0].body else {
            panic!("a file has rows only")
        };
        assert_eq!(
            (row.re_modifiers.caseless, row.re_modifiers.global),
            (caseless, global),
            "`{written}`"
        );
        assert_eq!(
            said(&file, &sources).contains("SW163"),
            said_something,
            "`{written}`"
        );
    }
}

/// L40: with other lengths and limits digests are other texts, and rules are evaluated on those.
#[test]
fn variables_that_change_digests_are_part_of_the_rules() {
    for (variable, usual, other, changes) in [
        ("", "true", "false", true),
        ("_lowercase", "false", "true", true),
        ("_replace_null", "false", "true", true),
        ("_no_digits", "false", "true", true),
        ("_keep_comment", "false", "true", true),
        ("_normalize_digest_text", "false", "true", false),
        ("_grouping_limit", "3", "1", true),
        ("_groups_grouping_limit", "10", "0", true),
        ("_max_digest_length", "2048", "16", true),
        ("_max_query_length", "65000", "16", true),
    ] {
        let of = |value: &str| {
            let (file, _) = file(
                "rules.sql",
                &format!("SET mysql-query_digests{variable}='{value}';"),
            );
            assert!(file.unmodelled.is_empty(), "{variable}: {:?}", file.unmodelled);
            file.configuration
        };
        let (usual, other) = (of(usual), of(other));
        assert!(usual.variables.is_empty(), "{variable}: {:?}", usual.variables);
        assert_eq!(usual.digests() != other.digests(), changes, "{variable}");
    }
}

#[test]
fn what_the_engine_refuses_or_reads_otherwise_is_said() {
    let (file, sources) = file(
        "rules.sql",
        r#"INSERT INTO mysql_query_rules (rule_id, active, cache_ttl) VALUES (1, 1, 0);
INSERT INTO mysql_query_rules (rule_id, active, match_dgest) VALUES (2, 1, 'x');
INSERT INTO mysql_query_ruls (rule_id) VALUES (3);
INSERT INTO mysql_query_rules (rule_id, active, destination_hostgroup, digest) VALUES (4, 1, 'abc', 'zz');
INSERT INTO mysql_query_rules (rule_id, active) VALUES (4, 1);
INSERT INTO mysql_query_rules (rule_id, active, client_addr) VALUES (5, 1, '10.%.1');
INSERT INTO mysql_query_rules (rule_id, active, attributes, re_modifiers) VALUES (6, 1, '{"flagOUTs":[{"id":1},{"id":2,"weight":3}]}', 'GLOBAL,BOGUS');
INSERT INTO mysql_query_rules (rule_id, active, delay) VALUES (7, 1, -1);
INSERT INTO mysql_query_rules (rule_id, active, mirror_flagOUT, next_query_flagIN) VALUES (8, 1, -1, 3000000000);
INSERT INTO runtime_mysql_users (username) VALUES ('x');
INSERT INTO disk.mysql_users (username) VALUES ('x');
INSERT INTO scheduler (id) VALUES (1);
ATTACH 'x.db' AS x;
INSERT INTO mysql_users (username, password, default_hostgroup, fast_forward) VALUES ('app', 'secret', 1, 1), ('neg', 's', -1, 0);
SET mysql-query_digests='false';
SET NAMES utf8;
LOAD MYSQL USERS FROM DISK;
INSERT INTO mysql_query_rules (rule_id, active, client_addr) VALUES (9, 1, '%.1');
INSERT INTO mysql_query_rules (rule_id, active) VALUES (10, 1
"#,
    );
    assert_snapshot!(said(&file, &sources), @r"
    error[SW161] rules.sql:1:1: the engine refuses the statement: CHECK constraint failed: cache_ttl > 0
    error[SW161] rules.sql:2:1: the engine refuses the statement: table mysql_query_rules has no column named match_dgest
    error[SW162] rules.sql:3:13: rows of table mysql_query_ruls are not read
    warning[SW163] rules.sql:4:87: the engine drops the condition of rule 4 on digests: it reads none in `zz`
    warning[SW163] rules.sql:4:87: the engine reads destination_hostgroup as 0: the value is no whole number
    error[SW161] rules.sql:5:1: the engine refuses the statement: UNIQUE constraint failed: mysql_query_rules.rule_id
    warning[SW166] rules.sql:6:69: the engine drops rule 5: its client_addr is no address and no prefix that ends in %
    warning[SW163] rules.sql:7:82: the engine ignores a part of the re_modifiers of rule 6: `BOGUS`
    warning[SW163] rules.sql:7:82: the engine ignores an entry of the flagOUTs of rule 6
    error[SW161] rules.sql:8:1: the engine refuses the statement: CHECK constraint failed: delay >= 0
    error[SW163] rules.sql:9:91: next_query_flagIN is 3000000000, past 2147483647, the largest number that the engine reads
    warning[SW163] rules.sql:9:91: the engine reads mirror_flagOUT as not set: -1 is negative
    error[SW162] rules.sql:10:13: rows of table runtime_mysql_users are not read
    info[SW164] rules.sql:11:18: 3 parts of the file do not affect routing
    error[SW160] rules.sql:13:1: not a statement of a rule set: ATTACH
    warning[SW165] rules.sql:14:86: user app has fast_forward: no rule is evaluated for its statements
    warning[SW166] rules.sql:14:111: the engine does not load user neg: default_hostgroup is -1
    warning[SW162] rules.sql:17:1: this replaces the rows by others that the file does not contain
    warning[SW166] rules.sql:18:69: the engine drops rule 9: its client_addr is no address and no prefix that ends in %
    error[SW161] rules.sql:19:1: the engine refuses the statement: incomplete input
    ");
    assert_snapshot!(file.unmodelled.join("\n"), @r"
    user app has fast_forward: no rule is evaluated for its statements
    ");
}

#[test]
fn secrets_are_not_shown_and_not_kept() {
    for (path, text) in [
        (
            "a.sql",
            "INSERT INTO mysql_users (username, password, default_hostgroup) VALUES ('u', 'canary', -1);",
        ),
        ("b.sql", "INSERT INTO mysql_users VALUES ('u', 'canary', 7);"),
        ("c.sql", "UPDATE mysql_users SET password='canary', nosuch=1;"),
        ("d.sql", "SET mysql-monitor_password='canary' x;"),
        (
            "pgsql.sql",
            "INSERT INTO pgsql_users (username, password) VALUES ('u', 'canary');",
        ),
        (
            "slip.sql",
            "INSERT INTO mysql_user (username, password) VALUES ('u', 'canary');",
        ),
        (
            "column.sql",
            "INSERT INTO mysql_users (username, passwd) VALUES ('u', 'canary');",
        ),
        ("create.sql", "CREATE USER 'u' IDENTIFIED BY 'canary';"),
        ("grant.sql", "GRANT ALL ON *.* TO 'u' IDENTIFIED BY 'canary';"),
        (
            "cnf.txt",
            "mysql_users = ( { username = \"u\", password = \"canary\" } )",
        ),
        (
            "slip.cnf",
            "mysql_users = ( { username = \"u\", passwrd = \"canary\", default_hostgroup = -1 } )",
        ),
        ("e.sql", "SET admin-admin_credentials='admin:canary';"),
        (
            "f.sql",
            "REPLACE INTO mysql_users (password, username, active) VALUES ('canary', 'u', 7), ('canary', 'v', 1);",
        ),
        (
            "g.sql",
            "UPDATE global_variables SET x='canary' WHERE variable_name='mysql-monitor_password';",
        ),
        (
            "h.cnf",
            "mysql_users = ( { username = \"u\", password = \"canary\", default_hostgroup = -1 } )",
        ),
        (
            "i.cnf",
            "mysql_variables = { monitor_password = \"canary\" }\nadmin_variables = { admin_credentials = \"a:canary\" }",
        ),
    ] {
        let (file, sources) = file(path, text);
        assert!(!file.problems.is_empty(), "{path}");
        let shown = render::text::render(&file.problems, &sources, false);
        assert!(!shown.contains("canary"), "{path}\n{shown}");
        let json = render::json::render(&file.problems, &sources);
        assert!(!json.contains("canary"), "{path}\n{json}");
        assert!(!file.configuration.to_json().contains("canary"), "{path}");
    }
}

const CNF: &str = r#"
datadir = "/var/lib/proxysql"
admin_variables = { admin_credentials = "admin:admin"; mysql_ifaces = "0.0.0.0:6032" }
mysql_variables =
{
  threads = 4
  interfaces = "0.0.0.0:6033;/tmp/proxysql.sock"
  monitor_username = "monitor"
  query_processor_iterations = 2
  monitor_writer_is_also_reader = false
}
mysql_servers =
(
  { address = "db1", port = 3306, hostgroup = 1, max_connections = 200 },
  { hostname = "db2", hostgroup_id = 2, status = "OFFLINE_SOFT", comment = "it's" }
)
mysql_replication_hostgroups = ( { writer_hostgroup = 1, reader_hostgroup = 2, comment = "shop" } )
mysql_users: ( { username = "app", password = "x", default_hostgroup = 1, default_schema = "shop" } );
mysql_query_rules =
(
  { rule_id = 1, match_digest = "^SELECT .* FOR UPDATE$", destination_hostgroup = 1, apply = 1 },
  { rule_id = 2, match_pattern = "\d+ \\d \"\"x\"\"", destination_hostgroup = 2, flagOUT = -1,
    replace_pattern = "\1" },
)
"#;

#[test]
fn a_configuration_file() {
    let (file, sources) = file("proxysql.cnf", CNF);
    assert_snapshot!(rules(&file, &sources), @r#"
    proxysql.cnf:21:3 rule 1 in 0: {"match_digest":"^SELECT .* FOR UPDATE$","re_modifiers":{"caseless":true,"global":false},"destination_hostgroup":1,"apply":true}
    proxysql.cnf:22:3 rule 2 in 0: {"match_pattern":"\\d+ \\d \"x\"","re_modifiers":{"caseless":true,"global":false},"replace_pattern":"\\1","destination_hostgroup":2}
    "#);
    assert_snapshot!(said(&file, &sources), @"info[SW164] proxysql.cnf:2:1: 2 parts of the file do not affect routing");
    let configuration = &file.configuration;
    let shown = [
        serde_json::to_string(&configuration.clusters).unwrap(),
        serde_json::to_string(&configuration.hostgroups).unwrap(),
        serde_json::to_string(&configuration.users).unwrap(),
        serde_json::to_string(&configuration.listeners).unwrap(),
        serde_json::to_string(&configuration.variables).unwrap(),
    ];
    assert_snapshot!(shown.join("\n"), @r#"
    [{"name":"shop","address":"mysql_replication_hostgroups.1","kind":{"type":"replication","read_only_check":"read_only"},"writer":1,"reader":2,"writer_serves_reads":"never"}]
    [{"id":1,"cluster":"mysql_replication_hostgroups.1","role":"writer","members":[{"server":"mysql_servers.1.db1:3306","host":"db1","port":3306,"weight":1,"tier":0,"max_connections":200,"max_replication_lag_s":0,"tls":"disabled","status":"online"}]},{"id":2,"cluster":"mysql_replication_hostgroups.1","role":"reader","members":[{"server":"mysql_servers.2.db2:3306","host":"db2","port":3306,"weight":1,"tier":0,"max_connections":1000,"max_replication_lag_s":0,"tls":"disabled","status":"draining"}]}]
    [{"name":"app","address":"mysql_users.app","password":{"env":"APP_PASSWORD"},"default_hostgroup":1,"default_schema":"shop","max_connections":10000,"transaction_persistent":true,"annotations_allowed":true}]
    [{"name":"listener0","address":"global_variables.mysql-interfaces.0","bind":"0.0.0.0","port":6033},{"name":"listener1","address":"global_variables.mysql-interfaces.1","bind":"/tmp/proxysql.sock","port":0}]
    {"admin-mysql_ifaces":"0.0.0.0:6032","mysql-threads":"4"}
    "#);
}

#[test]
fn an_entry_that_stands_twice_is_told() {
    let (file, sources) = file(
        "proxysql.cnf",
        r#"mysql_query_rules = (
  { rule_id = 1, match_digest = "^SELECT", destination_hostgroup = 2, apply = 1 },
  { rule_id = 2, match_digest = "^DELETE", destination_hostgroup = 1, apply = 1 },
  { rule_id = 1, match_digest = "^INSERT", destination_hostgroup = 1, apply = 1 }
)
mysql_servers = (
  { address = "a.db", port = 3306, hostgroup = 1 },
  { address = "a.db", port = 3307, hostgroup = 1 },
  { address = "a.db", port = 3306, hostgroup = 1, weight = 5 }
)
"#,
    );
    assert_snapshot!(said(&file, &sources), @r"
    warning[SW166] proxysql.cnf:4:3: rule_id 1 stands twice in mysql_query_rules: the engine keeps this entry and drops the one before it
    warning[SW166] proxysql.cnf:9:3: hostname a.db, port 3306, hostgroup_id 1 stands twice in mysql_servers: the engine keeps this entry and drops the one before it
    ");
    let rules: Vec<u32> = file
        .configuration
        .graph
        .rules
        .iter()
        .map(|rule| rule.id)
        .collect();
    assert_eq!(rules, [1, 2]);
}

#[test]
fn mistakes_in_a_configuration_file() {
    let (file, sources) = file(
        "proxysql.cnf",
        r#"mysql_query_rules = (
  { rule_id = 1, apply = "1", active = true, match_digets = "x" },
  { match_digest = "no id" },
  { rule_id = 2, match_pattern = "a"b" },
  { rule_id = 3 "#,
    );
    assert_snapshot!(said(&file, &sources), @r"
    error[SW160] proxysql.cnf:4:37: a name is followed by = or : and a value
    error[SW160] proxysql.cnf:5:17: a bracket is not closed
    ");
    let (file, sources) = self::file(
        "proxysql.cnf",
        r#"mysql_query_rules = (
  { rule_id = 1, apply = "1", active = true, match_digets = "x" },
  { match_digest = "no id" },
  { rule_id = 2, match_pattern = "say \"hi" },
  { rule_id = 3, rule_id = 4, cache_ttl = 0 },
  5
)
mysql_query_rules_fast_routing = ( )
mysql_user = ( )
mysql_variables = ( )
mysql_users = { }
scheduler = ( { id = 1 } )
"#,
    );
    assert_snapshot!(said(&file, &sources), @r"
    warning[SW163] proxysql.cnf:2:26: the engine does not read `apply`: it expects a number without quotes
    warning[SW163] proxysql.cnf:2:40: the engine does not read `active`: it expects a number without quotes
    warning[SW162] proxysql.cnf:2:46: the engine does not read `match_digets` from a file
    warning[SW166] proxysql.cnf:4:34: the engine drops the entry: `match_pattern` holds a quote, which ends its statement
    error[SW161] proxysql.cnf:5:3: the engine refuses the entry: CHECK constraint failed: cache_ttl > 0
    error[SW160] proxysql.cnf:5:18: the setting stands twice in its group: the engine does not start
    error[SW161] proxysql.cnf:6:3: an entry of mysql_query_rules is a group: { ... }
    error[SW162] proxysql.cnf:8:1: the engine does not read mysql_query_rules_fast_routing from a file
    warning[SW162] proxysql.cnf:9:1: unknown setting `mysql_user`: the engine ignores it
    error[SW161] proxysql.cnf:10:19: mysql_variables is a group: { ... }; of a list the engine ends with signal 11, and does not start
    error[SW161] proxysql.cnf:11:15: mysql_users is a list of groups: ( { ... }, ... )
    info[SW164] proxysql.cnf:12:1: scheduler does not affect routing
    ");
}

/// The example of each page is reported, and what the page says to do is not.
#[test]
fn pages_show_what_they_are_about() {
    for page in shardwright_import::CODES {
        let blocks: Vec<&str> = page
            .page
            .split("```sql\n")
            .skip(1)
            .map(|rest| rest.split("```").next().unwrap())
            .collect();
        let [example, better] = blocks.as_slice() else {
            panic!("{}: an example and what to do", page.code)
        };
        let reports = |text: &str| {
            let (file, _) = file("rules.sql", text);
            file.problems
                .sorted()
                .iter()
                .any(|problem| problem.code == page.code)
        };
        assert!(reports(example), "{}", page.code);
        assert!(!reports(better), "{}", page.code);
        assert!(
            page.page
                .starts_with(&format!("# {}: {}\n", page.code, page.title)),
            "{}",
            page.code
        );
    }
}

#[test]
fn files_that_are_none() {
    let mut sources = Sources::new();
    for (bytes, language) in [(&b"\n\xff"[..], Language::Sql), (b"", Language::Cnf)] {
        let file = read(&mut sources, "x", bytes, language, EngineId::Proxysql27);
        assert!(file.configuration.graph.rules.is_empty());
        assert_eq!(file.problems.has_errors(), !bytes.is_empty());
    }
}

#[test]
fn a_configuration_file_holds_attributes_between_single_quotes() {
    let (file, sources) = file(
        "proxysql.cnf",
        r#"mysql_query_rules = (
  { rule_id = 1, attributes = "{\"flagOUTs\":[{\"id\":7,\"weight\":3}]}" },
  { rule_id = 2, attributes = "{\"it's\":1}" }
)
mysql_galera_hostgroups = (
  { writer_hostgroup = 1, backup_writer_hostgroup = 2, reader_hostgroup = 3, offline_hostgroup = 4, active = 0 }
)
"#,
    );
    assert_snapshot!(rules(&file, &sources), @r#"proxysql.cnf:2:3 rule 1 in 0: {"re_modifiers":{"caseless":true,"global":false},"flag_outs":[{"id":7,"weight":3}]}"#);
    assert_snapshot!(said(&file, &sources), @r"
    warning[SW166] proxysql.cnf:3:31: the engine drops the entry: `attributes` holds a quote, which ends its statement
    info[SW163] proxysql.cnf:6:3: writer_is_also_reader 0 of writer hostgroup 1 is read as 2: with 0, servers that could write and do not would not be readers either
    warning[SW162] proxysql.cnf:6:101: the engine does not read `active` from a file
    ");
}

/// What SQLite has made of statements means the same as the statements.
#[test]
fn rows_mean_what_statements_mean() {
    let (file, _) = file(
        "rules.sql",
        "INSERT INTO mysql_query_rules (rule_id, active, username, match_digest, re_modifiers, destination_hostgroup, apply) \
         VALUES (7, 1, 'app', '^SELECT', 'GLOBAL,CASELESS', 3, 1), (9, 0, NULL, NULL, 'CASELESS', NULL, 0);
         INSERT INTO mysql_query_rules_fast_routing (username, schemaname, flagIN, destination_hostgroup, comment) \
         VALUES ('app', 'shop', 0, 4, '');
         INSERT INTO mysql_users (username, password, default_hostgroup) VALUES ('app', 'x', 3);
         INSERT INTO global_variables (variable_name, variable_value) VALUES ('mysql-query_processor_iterations', '2');",
    );
    let rule = |given: serde_json::Value| {
        let mut row = serde_json::json!({"active": 1, "flagIN": 0, "negate_match_pattern": 0, "apply": 0, "attributes": ""});
        row.as_object_mut()
            .unwrap()
            .extend(given.as_object().unwrap().clone());
        ("mysql_query_rules", row)
    };
    let rows = [
        rule(
            serde_json::json!({"rule_id": 7, "username": "app", "match_digest": "^SELECT",
            "re_modifiers": "GLOBAL,CASELESS", "destination_hostgroup": 3, "apply": 1}),
        ),
        rule(serde_json::json!({"rule_id": 9, "active": 0, "re_modifiers": "CASELESS"})),
        (
            "mysql_query_rules_fast_routing",
            serde_json::json!({"username": "app", "schemaname": "shop", "flagIN": 0, "destination_hostgroup": 4, "comment": ""}),
        ),
        (
            "mysql_users",
            serde_json::json!({"username": "app", "password": "x", "active": 1, "use_ssl": 0, "default_hostgroup": 3,
                "schema_locked": 0, "transaction_persistent": 1, "fast_forward": 0, "backend": 1, "frontend": 1,
                "max_connections": 10000, "attributes": "", "comment": ""}),
        ),
        (
            "global_variables",
            serde_json::json!({"variable_name": "mysql-query_processor_iterations", "variable_value": "2"}),
        ),
    ];
    let given = rows.iter().map(|(table, row)| {
        (
            shardwright_rules::tables::table(table).unwrap(),
            row.as_object().unwrap(),
        )
    });
    let read = shardwright_import::read_rows(given, EngineId::Proxysql27);
    assert_eq!(read.first_error(), None);
    assert_eq!(read.configuration, file.configuration);
    assert_eq!(read.configuration.graph.rules.len(), 1);
    assert_eq!(read.beside.inactive.len(), 1);
}
