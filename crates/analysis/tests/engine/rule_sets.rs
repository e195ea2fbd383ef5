//! Random rows for the admin port.

use shardwright_rules::digest_hash;
use shardwright_testkit::Rig;

use crate::random::Dice;

const PATTERNS: [&str; 16] = [
    "^SELECT",
    "^select",
    "t1",
    "orders",
    "id ?= ?\\d+",
    "tenant=1",
    "FOR UPDATE$",
    "^(INSERT|UPDATE|DELETE)",
    "^\\s*\\(?SELECT (.*) FROM (t\\d)",
    "'[^']*'",
    "^USE",
    "^SET",
    "^COMMIT|^ROLLBACK|^BEGIN",
    "a",
    ".",
    "hostgroup",
];

const DIGEST_PATTERNS: [&str; 8] = [
    "^SELECT",
    "id=\\?",
    "orders",
    "^UPDATE .* SET",
    "\\(\\?,\\?\\)",
    "t[12]",
    "^SET|^USE",
    "^$",
];

const REPLACEMENTS: [&str; 6] = ["", "t2", "SELECT", "\\0 ", "a", "orders"];

const DIGESTS: [&str; 4] = ["SELECT 1", "SELECT a FROM t1 WHERE id=5", "USE shop", "COMMIT"];

/// Users, variables, rules and fast routing, as statements.
///
/// Left out by name: `error_msg` and `OK_msg` in a set whose sessions prepare, except where a rule cannot be of an EXECUTE
/// (2.7.1 ends with a signal when one of them meets an EXECUTE). Here such rules carry a `match_pattern` of a statement
/// that is never prepared.
pub(crate) fn rule_set(dice: &mut Dice, rig: &Rig) -> Vec<String> {
    let mut statements = vec![
        format!("SET mysql-query_processor_iterations='{}'", dice.below(6)),
        format!("SET mysql-query_processor_regex='{}'", 1 + dice.below(2)),
        format!(
            "SET mysql-default_schema='{}'",
            if dice.one_in(3) {
                "world"
            } else {
                "information_schema"
            }
        ),
    ];
    let batch_schema = if dice.one_in(2) { "'shop'" } else { "NULL" };
    statements.push(
        "INSERT INTO mysql_users (username, default_hostgroup, transaction_persistent) VALUES ('app', 0, 1)"
            .to_owned(),
    );
    statements.push(format!(
        "INSERT INTO mysql_users (username, default_hostgroup, default_schema, transaction_persistent) \
         VALUES ('batch', 1, {batch_schema}, 1)"
    ));
    let count = 1 + dice.below(14);
    let mut id = 0;
    for _ in 0..count {
        id += 1 + dice.below(5);
        statements.push(rule(dice, rig, id));
    }
    for user in ["app", "batch", ""] {
        for schema in ["shop", "world", "information_schema"] {
            if dice.one_in(4) {
                let flag = dice.below(3);
                statements.push(format!(
                    "INSERT INTO mysql_query_rules_fast_routing (username, schemaname, flagIN, destination_hostgroup, comment) \
                     VALUES ('{user}', '{schema}', {flag}, {}, '')",
                    dice.below(9)
                ));
            }
        }
    }
    statements
}

fn rule(dice: &mut Dice, rig: &Rig, id: usize) -> String {
    let mut columns = vec![("rule_id", id.to_string()), ("active", "1".to_owned())];
    let text = |text: &str| format!("'{}'", text.replace('\'', "''"));
    if !dice.one_in(3) {
        columns.push(("flagIN", "0".to_owned()));
    } else {
        columns.push(("flagIN", dice.below(4).to_string()));
    }
    if dice.one_in(5) {
        columns.push(("username", text(dice.of(&["app", "batch", ""]))));
    }
    if dice.one_in(5) {
        columns.push((
            "schemaname",
            text(dice.of(&["shop", "world", "information_schema", "mysql"])),
        ));
    }
    if dice.one_in(8) {
        columns.push((
            "client_addr",
            text(dice.of(&["127.0.0.1", "127.%", "10.%", "%", "127.0.0.2"])),
        ));
    }
    if dice.one_in(8) {
        columns.push(("proxy_addr", text(dice.of(&["127.0.0.1", "0.0.0.0"]))));
    }
    if dice.one_in(8) {
        columns.push((
            "proxy_port",
            rig.proxysql().addresses()[dice.below(2)].port().to_string(),
        ));
    }
    if dice.one_in(12) {
        columns.push((
            "digest",
            text(&format!("0x{:016X}", digest_hash(dice.of(&DIGESTS).as_bytes()))),
        ));
    }
    if dice.one_in(3) {
        columns.push(("match_digest", text(dice.of(&DIGEST_PATTERNS))));
    }
    let answers = dice.one_in(9);
    let has_pattern = answers || dice.one_in(2);
    if answers {
        columns.push((
            "match_pattern",
            text(dice.of(&["^USE", "^SET", "^SHOW TABLES$", "KILL"])),
        ));
        let column = if dice.one_in(3) { "OK_msg" } else { "error_msg" };
        columns.push((column, text(dice.of(&["no", "refused here", ""]))));
    } else if has_pattern {
        columns.push(("match_pattern", text(dice.of(&PATTERNS))));
        if dice.one_in(4) {
            columns.push(("replace_pattern", text(dice.of(&REPLACEMENTS))));
        }
    }
    if !answers && dice.one_in(6) {
        columns.push(("negate_match_pattern", "1".to_owned()));
    }
    columns.push((
        "re_modifiers",
        dice.of(&[
            "'CASELESS'",
            "'CASELESS'",
            "'GLOBAL'",
            "'CASELESS,GLOBAL'",
            "NULL",
        ])
        .to_owned(),
    ));
    if dice.one_in(4) {
        columns.push(("flagOUT", dice.below(4).to_string()));
    }
    if dice.one_in(20) {
        // A single weight is no choice.
        columns.push(("attributes", text("{\"flagOUTs\":[{\"id\":2,\"weight\":5}]}")));
    }
    if !dice.one_in(4) {
        columns.push(("destination_hostgroup", dice.below(9).to_string()));
    }
    if dice.one_in(10) {
        columns.push(("next_query_flagIN", dice.below(3).to_string()));
    }
    if dice.one_in(12) {
        columns.push(("multiplex", dice.below(3).to_string()));
    }
    columns.push(("apply", dice.below(2).to_string()));
    let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    let values: Vec<&str> = columns.iter().map(|(_, value)| value.as_str()).collect();
    format!(
        "INSERT INTO mysql_query_rules ({}) VALUES ({})",
        names.join(", "),
        values.join(", ")
    )
}
