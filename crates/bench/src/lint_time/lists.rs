//! Rules as people write them by hand.

use shardwright_rules::{Address, Body, Configuration, EngineId, EngineRule, Rule};

use crate::shards::compiled;

fn list(rules: impl Iterator<Item = EngineRule>) -> Configuration {
    let mut configuration = compiled(10, EngineId::Proxysql27).configuration.as_ref().clone();
    let rules = rules.enumerate().map(|(position, row)| Rule {
        id: u32::try_from(position + 1).expect("a list has fewer than 2^32 rules"),
        address: Address::new("query_rules.list"),
        shards: Vec::new(),
        summary: None,
        flag_in: 0,
        body: Body::Engine(Box::new(row)),
    });
    configuration.graph.rules = rules.collect();
    configuration
}

/// A tenth of the rules stand behind a rule that takes their statements.
pub(super) fn shadowing(rules: usize) -> Configuration {
    let verbs = ["SELECT", "INSERT INTO", "UPDATE", "DELETE FROM", "REPLACE INTO"];
    list((0..rules).map(move |n| {
        let (verb, table) = (verbs[n % verbs.len()], n / verbs.len());
        let pattern = match n % 10 {
            9 => format!(
                "^{} .*table_{:05}\\b.*WHERE",
                verbs[(n - 1) % verbs.len()],
                (n - 1) / verbs.len()
            ),
            _ => format!("^{verb} .*table_{table:05}\\b"),
        };
        EngineRule {
            match_digest: Some(pattern),
            destination_hostgroup: Some(u32::try_from(n % 7).unwrap_or_default()),
            apply: true,
            ..EngineRule::default()
        }
    }))
}

/// One rule for each shard, found by a comment.
pub(super) fn sharding(rules: usize) -> Configuration {
    list((0..rules).map(|n| EngineRule {
        match_pattern: Some(format!(r"/\*\s*shard={n:05}\s*\*/")),
        destination_hostgroup: Some(u32::try_from(n).unwrap_or_default()),
        apply: true,
        ..EngineRule::default()
    }))
}

/// The rules of a list as statements that fill `mysql_query_rules`.
pub(super) fn dump(configuration: &Configuration) -> String {
    let mut dump = String::new();
    for rule in &configuration.graph.rules {
        if let Body::Engine(row) = &rule.body {
            dump.push_str(&row_of(rule.id, row));
        }
    }
    dump
}

fn row_of(id: u32, row: &EngineRule) -> String {
    let quoted = |text: &Option<String>| {
        text.as_ref().map_or_else(
            || "NULL".to_owned(),
            |text| format!("'{}'", text.replace('\'', "''")),
        )
    };
    format!(
        "INSERT INTO mysql_query_rules (rule_id,active,match_digest,match_pattern,destination_hostgroup,apply) VALUES \
         ({id},1,{},{},{},{});\n",
        quoted(&row.match_digest),
        quoted(&row.match_pattern),
        row.destination_hostgroup.unwrap_or_default(),
        u8::from(row.apply),
    )
}
