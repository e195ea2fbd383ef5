//! Rule sets in the shape of published ones.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde_yaml::Value;
use shardwright_adopt::Adopted;
use shardwright_import::RuleFile;
use shardwright_rules::tables::{Part, RULE_COLUMNS};
use shardwright_rules::{Body, Rule};

use crate::support::{adopted, assert_same_routing, imported, lifted, lines};

/// The rule sets by name, as statements for the admin port.
pub(crate) fn rule_sets() -> Vec<(String, String)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../prover/tests/rule_sets");
    let mut sets = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let page: Value = serde_yaml::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        sets.push((name, statements(&page)));
    }
    sets.sort();
    assert!(sets.len() > 50, "{}", sets.len());
    sets
}

fn statements(page: &Value) -> String {
    let users: Vec<&str> = match page.get("users") {
        Some(users) => users
            .as_sequence()
            .unwrap()
            .iter()
            .map(|user| user.as_str().unwrap())
            .collect(),
        None => vec!["app"],
    };
    let mut sql = String::new();
    let rules = page["rules"].as_sequence().unwrap();
    let named = |column: &str| {
        rules
            .iter()
            .filter_map(|rule| rule.get(column)?.as_u64())
            .collect::<Vec<_>>()
    };
    let hostgroups: BTreeSet<u64> = [
        named("destination_hostgroup"),
        named("mirror_hostgroup"),
        vec![10],
    ]
    .concat()
    .into_iter()
    .collect();
    for id in hostgroups {
        sql += &format!(
            "INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES ({id}, 'db{id}');
"
        );
    }
    for user in users {
        sql += &format!(
            "INSERT INTO mysql_users (username, password, default_hostgroup) VALUES ('{user}', 'x', 10);\n"
        );
    }
    for rule in rules {
        let mut rule = rule.as_mapping().unwrap().clone();
        // The table takes none; a configuration does.
        if rule.get("cache_ttl").is_some_and(|ttl| ttl.as_u64() == Some(0)) {
            rule.remove("cache_ttl");
        }
        let columns: Vec<&str> = rule.keys().map(|key| key.as_str().unwrap()).collect();
        let values: Vec<String> = rule
            .values()
            .map(|value| match value {
                Value::Number(number) => number.to_string(),
                Value::String(text) => format!("'{}'", text.replace('\'', "''")),
                other => panic!("a column holds {other:?}"),
            })
            .collect();
        sql += &format!(
            "INSERT INTO mysql_query_rules (active, {}) VALUES (1, {});\n",
            columns.join(", "),
            values.join(", ")
        );
    }
    sql
}

#[test]
fn rules_are_lifted_where_every_statement_goes_the_same_way() {
    let (mut all, mut lifted_rules) = (0, 0);
    let mut kinds = Kinds::default();
    let mut table = String::new();
    for (name, sql) in rule_sets() {
        let file: RuleFile = imported(&sql);
        let adopted = lifted(&file);
        assert_same_routing(&file, &adopted, &name);
        let lifted: usize = adopted.lifted.lifts.iter().map(|lift| lift.rules.len()).sum();
        let rules = file.configuration.graph.rules.len();
        assert_eq!(lifted + adopted.lifted.resisted.len(), rules, "{name}");
        for one in &adopted.lifted.resisted {
            assert!(!one.why.is_empty(), "{name}: rule {}", one.rule);
        }
        kinds.add(&file, &adopted);
        table += &format!("{name}: {lifted} of {rules}\n");
        all += rules;
        lifted_rules += lifted;
    }
    table += &format!("all: {lifted_rules} of {all}\n");
    assert!(2 * lifted_rules >= all, "{lifted_rules} of {all}");
    insta::assert_snapshot!(table);
    insta::assert_snapshot!(kinds.table());
}

/// Rules by what they do, and what became of them.
#[derive(Default)]
struct Kinds(BTreeMap<String, Kind>);

#[derive(Default)]
struct Kind {
    rules: usize,
    /// By section.
    lifted: BTreeMap<String, usize>,
    /// By reason, for rules that stay.
    stay: BTreeMap<String, usize>,
}

impl Kinds {
    fn add(&mut self, file: &RuleFile, adopted: &Adopted) {
        for rule in &file.configuration.graph.rules {
            let kind = self.0.entry(kind(rule)).or_default();
            kind.rules += 1;
            let mut lifts = adopted.lifted.lifts.iter();
            let lift = lifts.find(|lift| lift.rules.contains(&rule.id));
            if let Some(lift) = lift {
                let section = lift.address.split('.').next().unwrap();
                *kind.lifted.entry(section.to_owned()).or_default() += 1;
                continue;
            }
            let mut resisted = adopted.lifted.resisted.iter();
            let resisted = resisted.find(|one| one.rule == rule.id).unwrap();
            let why = match &resisted.address {
                // Which chain it is tells nothing here.
                None => resisted
                    .why
                    .trim_end_matches(|c: char| c.is_ascii_digit())
                    .trim_end()
                    .to_owned(),
                Some(address) => {
                    let section = address.split('.').next().unwrap();
                    let found = match resisted.why.starts_with('`') {
                        true => "a statement would go another way",
                        false => "not proved",
                    };
                    format!("as {section}: {found}")
                }
            };
            *kind.stay.entry(why).or_default() += 1;
        }
    }

    /// The most frequent kinds first.
    fn table(self) -> String {
        let mut kinds: Vec<(String, Kind)> = self.0.into_iter().collect();
        kinds.sort_by_key(|(_, kind)| std::cmp::Reverse(kind.rules));
        let mut table = String::new();
        for (name, kind) in kinds {
            let lifted: usize = kind.lifted.values().sum();
            table += &format!("{lifted} of {}  {name}\n", kind.rules);
            for (section, count) in kind.lifted {
                table += &format!("    {count} {section}\n");
            }
            for (why, count) in kind.stay {
                table += &format!("    {count} stay: {why}\n");
            }
        }
        table
    }
}

/// The columns that a rule sets besides its conditions.
fn kind(rule: &Rule) -> String {
    let Body::Engine(row) = &rule.body else {
        panic!("rule {} is no row", rule.id)
    };
    let sets = RULE_COLUMNS.iter().filter(|column| {
        !matches!(column.part, Part::Condition | Part::Matching | Part::Comment)
            && column.get_given(row).is_some()
    });
    let mut names: Vec<&str> = sets.map(|column| column.name()).collect();
    if rule.flag_in != 0 {
        names.insert(0, "flagIN");
    }
    names.join(", ")
}

#[test]
fn every_rule_set_is_written_exactly() {
    for (name, sql) in rule_sets() {
        let file: RuleFile = imported(&sql);
        let adopted = adopted(&file);
        assert_eq!(lines(&adopted.differences), "", "{name}");
        assert!(adopted.unwritten.is_empty(), "{name}: {:?}", adopted.unwritten);
        assert_same_routing(&file, &adopted, &name);
    }
}
