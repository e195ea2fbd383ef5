//! What is said of a project and its source: equal, different, or open.

use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;
use shardwright_adopt::{Adopted, Proof};
use shardwright_prover::equivalence::{Equivalence, equivalence};

use crate::support::{adopted, files, imported, lifted, lifts, lines};

const SERVERS: &str =
    "INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES (10, 'a'), (20, 'b'), (30, 'c');\n\
    INSERT INTO mysql_users (username, password, default_hostgroup, default_schema) VALUES
      ('app', 'x', 10, 'shop'), ('ops', 'x', 10, 'shop'), ('bi', 'x', 20, NULL);\n";
const DIGEST: &str = "0x4D7DCFF87DD1A927";

fn firewall(users: &str, rules: &str) -> String {
    let mut sql = format!("{SERVERS}SET mysql-firewall_whitelist_enabled='true';\n");
    if !users.is_empty() {
        sql += &format!(
            "INSERT INTO mysql_firewall_whitelist_users (active, username, client_address, mode, comment) VALUES {users};\n"
        );
    }
    if !rules.is_empty() {
        sql += &format!(
            "INSERT INTO mysql_firewall_whitelist_rules (active, username, client_address, schemaname, flagIN, digest, comment) VALUES {rules};\n"
        );
    }
    sql
}

fn assert_equal(adopted: &Adopted) {
    assert_eq!(adopted.proof, Proof::Equal, "{}", files(adopted));
}

/// 2.7.1 protects users without a row: they are written so, and get no way through.
#[test]
fn a_user_without_a_row_of_the_firewall_stays_refused() {
    let rule = format!("(1, 'app', '', 'shop', 0, '{DIGEST}', '')");
    let file = imported(&firewall(
        "(1, 'app', '', 'PROTECTING', ''), (1, 'ops', '', 'OFF', '')",
        &rule,
    ));
    let adopted = lifted(&file);
    assert_equal(&adopted);
    assert_eq!(
        lines(&adopted.differences),
        "mysql_firewall_whitelist_users bi '': only in the project (the firewall protects a user without a row, and refuses every statement)\n"
    );
    let users = adopted
        .built
        .files
        .iter()
        .find(|file| file.path.ends_with("users.yaml"))
        .unwrap();
    assert!(
        users
            .text
            .contains("bi: {mode: protecting, allow: {digests: []}}"),
        "{}",
        users.text
    );
}

#[test]
fn rules_without_a_user_let_their_statements_pass_and_no_others() {
    let rule = format!("(1, 'app', '', 'shop', 0, '{DIGEST}', '')");
    for (users, rules) in [
        ("", &*rule),
        ("", ""),
        ("(1, 'ops', '', 'DETECTING', '')", &*rule),
    ] {
        let file = imported(&firewall(users, rules));
        let of_app = file.configuration.firewall.iter().find(|list| list.user == "app");
        assert_eq!(
            of_app.is_some_and(|list| !list.digests.is_empty()),
            !rules.is_empty()
        );
        assert_equal(&adopted(&file));
        assert_equal(&lifted(&file));
    }
}

/// A list for some of the schemas and chains of a user is written as that, and passes nothing more.
#[test]
fn a_list_without_the_schema_of_its_user_stays_without_it() {
    let rule = format!("(1, 'app', '', 'elsewhere', 0, '{DIGEST}', '')");
    let everybody = "(1, 'app', '', 'PROTECTING', ''), (1, 'ops', '', 'OFF', ''), (1, 'bi', '', 'OFF', '')";
    let rules =
        "INSERT INTO mysql_query_rules (rule_id, active, match_digest, error_msg, flagOUT, apply) VALUES
        (1, 1, '^DROP', 'no', NULL, 1), (2, 1, '^SELECT .* FROM t', NULL, 7, 0);";
    let file = imported(&(firewall(everybody, &rule) + rules));
    for project in [adopted(&file), lifted(&file)] {
        assert_equal(&project);
        let shown = lines(&project.differences);
        assert!(!shown.contains("firewall"), "{shown}");
    }
}

/// A chain that is allowed beside another that is not: the language allows all chains of raw rules, or none.
#[test]
fn a_list_that_the_language_widens_is_not_called_equal() {
    let flags = |flag: u32| format!("(1, 'app', '', 'shop', {flag}, '{DIGEST}', '')");
    let everybody = "(1, 'app', '', 'PROTECTING', ''), (1, 'ops', '', 'OFF', ''), (1, 'bi', '', 'OFF', '')";
    let rules = "INSERT INTO mysql_query_rules (rule_id, active, match_digest, error_msg, flagOUT, apply) VALUES
        (1, 1, '^DROP', 'no', NULL, 1), (2, 1, '^SELECT .* FROM t', NULL, 7, 0), (3, 1, '^SELECT .* FROM u', NULL, 8, 0);";
    let file = imported(&(firewall(everybody, &[flags(0), flags(7)].join(", ")) + rules));
    let project = lifted(&file);
    let open = Proof::Open(vec!["the flags that the firewall allows".to_owned()]);
    assert_eq!(project.proof, open, "{}", files(&project));
    let shown = lines(&project.differences);
    assert!(shown.contains("app '' shop 8"), "{shown}");
    // What differs already keeps no rule from being lifted.
    assert!(!project.lifted.lifts.is_empty(), "{}", lifts(&project));
}

#[test]
fn rows_that_the_engine_never_looks_up_are_left_out_with_the_reason() {
    let rows = "INSERT INTO mysql_query_rules_fast_routing (username, schemaname, flagIN, destination_hostgroup, comment) VALUES
        ('', 't1', 0, 20, ''), ('app', 't2', 0, 30, ''), ('', 't3', 7, 30, '');";
    let rule = |apply: u8| {
        format!(
            "INSERT INTO mysql_query_rules (rule_id, active, match_digest, destination_hostgroup, apply) VALUES (5, 1, '^SELECT', 30, 1), (9, 1, '^UPDATE', 20, {apply});"
        )
    };
    let file = imported(&format!("{SERVERS}{rows}{}", rule(1)));
    for adopted in [adopted(&file), lifted(&file)] {
        assert_equal(&adopted);
        let [left_out] = adopted.unwritten.as_slice() else {
            panic!("{:?}", adopted.unwritten)
        };
        assert_eq!(left_out.what, "3 rows of fast routing");
        assert!(
            left_out.why.starts_with("the last rule, 9, has apply = 1"),
            "{left_out:?}"
        );
        let shown = lines(&adopted.differences);
        assert!(!shown.contains("fast_routing"), "{shown}");
    }
    // A row whose flag no rule sets is never looked up either, on both sides.
    let file = imported(&format!("{SERVERS}{rows}{}", rule(0)));
    for adopted in [adopted(&file), lifted(&file)] {
        assert_equal(&adopted);
        assert!(adopted.unwritten.is_empty(), "{:?}", adopted.unwritten);
    }
}

fn source() -> impl Strategy<Value = String> {
    let users = ["", "app", "ops", "bi"];
    let row = (
        select(users.to_vec()),
        select(vec!["shop", "t1", "t2"]),
        select(vec![0, 7]),
        select(vec![10, 20, 30]),
    )
        .prop_map(|(user, schema, flag, to)| format!("('{user}', '{schema}', {flag}, {to}, '')"));
    let rule = (
        of(select(users[1..].to_vec())),
        of(select(vec!["t1", "t2"])),
        of(select(vec!["^SELECT", "^UPDATE .* WHERE", "FROM audit"])),
        select(vec!["10", "20", "30", "NULL"]),
        select(vec!["7", "NULL", "NULL"]),
        select(vec![0, 7]),
        select(vec!["50", "NULL", "NULL"]),
        select(vec![0, 1]),
    )
        .prop_map(|(user, schema, pattern, to, jump, flag, delay, apply)| {
            let text =
                |value: Option<&str>| value.map_or_else(|| "NULL".to_owned(), |text| format!("'{text}'"));
            let columns = [text(user), text(schema), text(pattern)].join(", ");
            format!("1, {columns}, {to}, {jump}, {flag}, {delay}, {apply})")
        });
    let mode = of(select(vec!["PROTECTING", "DETECTING", "OFF"]));
    let allowed = (
        select(users[1..].to_vec()),
        select(vec!["shop", "t1"]),
        select(vec![0, 7]),
    );
    let lists = of((vec(mode, 3), vec(allowed, 0..4)));
    (vec(row, 0..6), vec(rule, 0..7), lists).prop_map(move |(rows, rules, lists)| {
        let mut sql = SERVERS.to_owned();
        for row in rows {
            sql += &format!("INSERT OR REPLACE INTO mysql_query_rules_fast_routing (username, schemaname, flagIN, destination_hostgroup, comment) VALUES {row};\n");
        }
        for (at, rule) in rules.iter().enumerate() {
            sql += &format!("INSERT INTO mysql_query_rules (rule_id, active, username, schemaname, match_digest, destination_hostgroup, flagOUT, flagIN, delay, apply) VALUES ({}, {rule};\n", 10 * (at + 1));
        }
        if let Some((modes, allowed)) = lists {
            sql += "SET mysql-firewall_whitelist_enabled='true';\n";
            for (user, mode) in users[1..].iter().zip(modes) {
                if let Some(mode) = mode {
                    sql += &format!("INSERT INTO mysql_firewall_whitelist_users (active, username, client_address, mode, comment) VALUES (1, '{user}', '', '{mode}', '');\n");
                }
            }
            for (user, schema, flag) in allowed {
                sql += &format!("INSERT OR REPLACE INTO mysql_firewall_whitelist_rules (active, username, client_address, schemaname, flagIN, digest, comment) VALUES (1, '{user}', '', '{schema}', {flag}, '{DIGEST}', '');\n");
            }
        }
        sql
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    /// What is called equal is proved from the two configurations alone. Without a firewall nothing is left open.
    #[test]
    fn projects_are_equal_or_say_so(sql in source()) {
        let file = imported(&sql);
        for project in [adopted(&file), lifted(&file)] {
            let answer = equivalence(&file.configuration, project.built.configuration());
            prop_assert_eq!(project.proof == Proof::Equal, answer == Equivalence::Proved, "{:?} {:?}\n{}{}", project.proof, answer, sql, files(&project));
            if !sql.contains("firewall") {
                prop_assert_eq!(&project.proof, &Proof::Equal, "{}{}", sql, files(&project));
            }
        }
    }
}
