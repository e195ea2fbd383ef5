//! `traffic diff`: what of a log moves, and what it cannot tell.

use serde_json::Value;

use crate::rule_sets::with_rules;

#[test]
fn a_list_of_statements() {
    let environment = with_rules();
    let log = "SELECT 1 FROM t;\nSELECT 1 FROM t FOR UPDATE;\nSELECT 2 FROM t FOR UPDATE\nDELETE FROM t;\n";
    environment.write("queries.txt", log).unwrap();
    let arguments = [
        "traffic",
        "diff",
        "rules.sql",
        "fixed.sql",
        "--log",
        "queries.txt",
    ];
    let output = environment.run(arguments).unwrap();
    assert_eq!(output.code(), Some(2), "{}", output.stderr);
    insta::assert_snapshot!(output.stdout, @r"
    traffic 4 statements, rules.sql → fixed.sql: 50.0 % go the same way, 50.0 % move, 0 % undecided
    moves
        50.0 %              2  shop reader (hostgroup 2) → shop writer (hostgroup 1)
                               e.g. user=app  SELECT 1 FROM t FOR UPDATE
    ");
    let same = [
        "traffic",
        "diff",
        "rules.sql",
        "rules.sql",
        "--log",
        "queries.txt",
    ];
    assert_eq!(environment.run(same).unwrap().code(), Some(0));
}

#[test]
fn executions_are_decided_by_what_was_prepared() {
    let environment = with_rules();
    let literal = environment.read("rules.sql").unwrap()
        + "INSERT INTO mysql_query_rules (rule_id, active, match_pattern, destination_hostgroup, apply) \
           VALUES (5, 1, 'id=7', 1, 1);\n";
    environment.write("literal.sql", literal).unwrap();
    let log = "261121 10:00:00\t 3 Connect\tapp@localhost on shop using Socket\n\
        \t\t 3 Prepare\tSELECT a FROM t WHERE id=?\n\
        \t\t 3 Execute\tSELECT a FROM t WHERE id=7\n\
        \t\t 3 Query\tSELECT b FROM t WHERE id=7\n\
        \t\t 3 Execute\tSELECT c FROM t WHERE id=7\n";
    environment.write("general.log", log).unwrap();
    let output = environment
        .run([
            "traffic",
            "diff",
            "rules.sql",
            "literal.sql",
            "--log",
            "general.log",
        ])
        .unwrap();
    assert_eq!(output.code(), Some(2), "{}", output.stderr);
    insta::assert_snapshot!(output.stdout, @r"
    traffic 3 statements, rules.sql → literal.sql: 33.3 % go the same way, 33.3 % move, 33.3 % undecided
    moves
        33.3 %              1  shop reader (hostgroup 2) → shop writer (hostgroup 1)
                               e.g. user=app  SELECT b FROM t WHERE id=7
    undecided
        33.3 %              1  match_pattern of rule 5 reads the statement itself
                               e.g. user=app  SELECT c FROM t WHERE id=7
    ");
}

#[test]
fn digests_do_not_tell_what_comments_and_literals_decide() {
    let environment = with_rules();
    let hint = environment.read("rules.sql").unwrap()
        + "INSERT INTO mysql_query_rules (rule_id, active, match_pattern, destination_hostgroup, apply) \
           VALUES (5, 1, 'tenant=7', 1, 1);\n\
           INSERT INTO mysql_query_rules (rule_id, active, match_digest, destination_hostgroup, apply) \
           VALUES (4, 1, '^SELECT a ', 1, 1);\n";
    environment.write("hint.sql", hint).unwrap();
    let log = "schemaname,username,digest_text,count_star\n\
        shop,app,SELECT a FROM t WHERE id=?,100\nshop,app,SELECT b FROM t WHERE id=?,50\nshop,ghost,SELECT ?,1\n";
    environment.write("digests.csv", log).unwrap();
    let arguments = [
        "traffic",
        "diff",
        "rules.sql",
        "hint.sql",
        "--log",
        "digests.csv",
        "--format",
        "json",
    ];
    let output = environment.run(arguments).unwrap();
    assert_eq!(output.code(), Some(2), "{}", output.stderr);
    let json: Value = serde_json::from_str(&output.stdout).unwrap();
    insta::assert_json_snapshot!(json, @r#"
    {
      "logs": [
        {
          "file": "digests.csv",
          "format": "export of stats_mysql_query_digest",
          "records": 3
        }
      ],
      "statements": 151,
      "same": 0,
      "altered": null,
      "moved": [
        {
          "from": "shop reader (hostgroup 2)",
          "to": "shop writer (hostgroup 1)",
          "statements": 100,
          "user": "app",
          "example": "SELECT a FROM t WHERE id=?"
        }
      ],
      "undecided": [
        {
          "why": "match_pattern of rule 5 reads the statement itself",
          "statements": 50,
          "user": "app",
          "example": "SELECT b FROM t WHERE id=?"
        },
        {
          "why": "neither side has the user",
          "statements": 1,
          "user": "ghost",
          "example": "SELECT ?"
        }
      ],
      "unread_lines": 0,
      "too_long": 0
    }
    "#);
}
