//! Random rows for the admin port.

use std::collections::BTreeMap;

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

/// What a column of a row is set to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cell {
    Null,
    Number(usize),
    Text(String),
}

impl Cell {
    pub(crate) fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }

    fn sql(&self) -> String {
        match self {
            Self::Null => "NULL".to_owned(),
            Self::Number(number) => number.to_string(),
            Self::Text(text) => format!("'{}'", text.replace('\'', "''")),
        }
    }
}

/// A row by its columns; what is not named has the engine's default.
pub(crate) type Row = BTreeMap<&'static str, Cell>;

/// Variables, users, rules and fast routing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RuleSet {
    pub(crate) variables: BTreeMap<&'static str, String>,
    pub(crate) users: Vec<Row>,
    /// In the order of their ids.
    pub(crate) rules: Vec<Row>,
    pub(crate) fast_routing: Vec<Row>,
}

impl RuleSet {
    /// As statements for the admin port.
    pub(crate) fn statements(&self) -> Vec<String> {
        let variables = self.variables.iter();
        let variables = variables.map(|(name, value)| format!("SET mysql-{name}='{value}'"));
        let tables = [
            ("mysql_users", &self.users),
            ("mysql_query_rules", &self.rules),
            ("mysql_query_rules_fast_routing", &self.fast_routing),
        ];
        let rows = tables
            .iter()
            .flat_map(|(table, rows)| rows.iter().map(|row| inserted(table, row)));
        variables.chain(rows).collect()
    }
}

fn inserted(table: &str, row: &Row) -> String {
    let names: Vec<&str> = row.keys().copied().collect();
    let values: Vec<String> = row.values().map(Cell::sql).collect();
    format!(
        "INSERT INTO {table} ({}) VALUES ({})",
        names.join(", "),
        values.join(", ")
    )
}

/// A rule set for the users and listeners of the suite.
///
/// Left out by name: `error_msg` and `OK_msg` in a set whose sessions prepare, except where a rule cannot be of an EXECUTE
/// (2.7.1 ends with a signal when one of them meets an EXECUTE). Here such rules carry a `match_pattern` of a statement
/// that is never prepared.
pub(crate) fn rule_set(dice: &mut Dice, rig: &Rig) -> RuleSet {
    let mut variables = BTreeMap::from([
        ("query_processor_iterations", dice.below(6).to_string()),
        ("query_processor_regex", (1 + dice.below(2)).to_string()),
    ]);
    let schema = if dice.one_in(3) {
        "world"
    } else {
        "information_schema"
    };
    variables.insert("default_schema", schema.to_owned());
    let batch_schema = if dice.one_in(2) {
        Cell::text("shop")
    } else {
        Cell::Null
    };
    let users = vec![
        Row::from([
            ("username", Cell::text("app")),
            ("default_hostgroup", Cell::Number(0)),
            ("transaction_persistent", Cell::Number(1)),
        ]),
        Row::from([
            ("username", Cell::text("batch")),
            ("default_hostgroup", Cell::Number(1)),
            ("default_schema", batch_schema),
            ("transaction_persistent", Cell::Number(1)),
        ]),
    ];
    let count = 1 + dice.below(14);
    let mut id = 0;
    let rules = (0..count).map(|_| {
        id += 1 + dice.below(5);
        rule(dice, rig, id)
    });
    let rules = rules.collect();
    let mut fast_routing = Vec::new();
    for user in ["app", "batch", ""] {
        for schema in ["shop", "world", "information_schema"] {
            if dice.one_in(4) {
                fast_routing.push(Row::from([
                    ("username", Cell::text(user)),
                    ("schemaname", Cell::text(schema)),
                    ("flagIN", Cell::Number(dice.below(3))),
                    ("destination_hostgroup", Cell::Number(dice.below(9))),
                    ("comment", Cell::text("")),
                ]));
            }
        }
    }
    RuleSet {
        variables,
        users,
        rules,
        fast_routing,
    }
}

fn rule(dice: &mut Dice, rig: &Rig, id: usize) -> Row {
    let mut row = Row::from([("rule_id", Cell::Number(id)), ("active", Cell::Number(1))]);
    let flag = if dice.one_in(3) { dice.below(4) } else { 0 };
    row.insert("flagIN", Cell::Number(flag));
    conditions_on_sessions(dice, rig, &mut row);
    if dice.one_in(12) {
        let hash = digest_hash(dice.of(&DIGESTS).as_bytes());
        row.insert("digest", Cell::Text(format!("0x{hash:016X}")));
    }
    if dice.one_in(3) {
        row.insert("match_digest", Cell::text(dice.of(&DIGEST_PATTERNS)));
    }
    let answers = dice.one_in(9);
    let has_pattern = answers || dice.one_in(2);
    if answers {
        let pattern = dice.of(&["^USE", "^SET", "^SHOW TABLES$", "KILL"]);
        row.insert("match_pattern", Cell::text(pattern));
        let column = if dice.one_in(3) { "OK_msg" } else { "error_msg" };
        row.insert(column, Cell::text(dice.of(&["no", "refused here", ""])));
    } else if has_pattern {
        row.insert("match_pattern", Cell::text(dice.of(&PATTERNS)));
        if dice.one_in(4) {
            row.insert("replace_pattern", Cell::text(dice.of(&REPLACEMENTS)));
        }
    }
    if !answers && dice.one_in(6) {
        row.insert("negate_match_pattern", Cell::Number(1));
    }
    let modifiers = dice.of(&["CASELESS", "CASELESS", "GLOBAL", "CASELESS,GLOBAL", ""]);
    let modifiers = if modifiers.is_empty() {
        Cell::Null
    } else {
        Cell::text(modifiers)
    };
    row.insert("re_modifiers", modifiers);
    if dice.one_in(4) {
        row.insert("flagOUT", Cell::Number(dice.below(4)));
    }
    if dice.one_in(20) {
        // A single weight is no choice.
        row.insert(
            "attributes",
            Cell::text("{\"flagOUTs\":[{\"id\":2,\"weight\":5}]}"),
        );
    }
    if !dice.one_in(4) {
        row.insert("destination_hostgroup", Cell::Number(dice.below(9)));
    }
    if dice.one_in(10) {
        row.insert("next_query_flagIN", Cell::Number(dice.below(3)));
    }
    if dice.one_in(12) {
        row.insert("multiplex", Cell::Number(dice.below(3)));
    }
    row.insert("apply", Cell::Number(dice.below(2)));
    row
}

fn conditions_on_sessions(dice: &mut Dice, rig: &Rig, row: &mut Row) {
    if dice.one_in(5) {
        row.insert("username", Cell::text(dice.of(&["app", "batch", ""])));
    }
    if dice.one_in(5) {
        let schema = dice.of(&["shop", "world", "information_schema", "mysql"]);
        row.insert("schemaname", Cell::text(schema));
    }
    if dice.one_in(8) {
        let address = dice.of(&["127.0.0.1", "127.%", "10.%", "%", "127.0.0.2"]);
        row.insert("client_addr", Cell::text(address));
    }
    if dice.one_in(8) {
        row.insert("proxy_addr", Cell::text(dice.of(&["127.0.0.1", "0.0.0.0"])));
    }
    if dice.one_in(8) {
        let port = rig.proxysql().addresses()[dice.below(2)].port();
        row.insert("proxy_port", Cell::Number(port.into()));
    }
}
