//! Whatever columns the rules of a set have, the project has the same.

use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;

use crate::support::{adopted, files, imported, lines};

/// A column with a value as SQLite reads it.
type Column = (&'static str, Option<String>);

const SERVERS: &str = "INSERT INTO mysql_servers (hostgroup_id, hostname, port, weight, max_connections) VALUES
  (10, 'a.db', 3306, 7, 5), (20, 'b.db', 3307, 1, 1000), (20, 'c.db', 3306, 0, 9), (30, '10.0.0.1', 3306, 1, 1000);
INSERT INTO mysql_users (username, password, default_hostgroup) VALUES ('app', 'x', 10), ('ops', NULL, 20);\n";

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Texts that YAML, templates and SQL read in ways of their own.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        select(vec![
            "", "NO", "017", "~", "null", "$(var.x)", "$$(", "a: b", "- a", "# a", "it's", "\"", "\\1",
            "a\nb", "é 🦀", "{a: 1}"
        ])
        .prop_map(str::to_owned),
        "[ -~]{1,20}",
    ]
    .prop_map(|text| quoted(&text))
}

fn pattern() -> impl Strategy<Value = String> {
    let patterns = [
        "^SELECT",
        "^SELECT.*FOR UPDATE$",
        "FROM `t`\\b",
        "/\\* *x=(\\d+) *\\*/",
        "a|b",
        "",
        "'x'",
        "$(a)",
        "[#:{}]",
    ];
    select(patterns.to_vec()).prop_map(quoted)
}

fn number(least: u32, most: u32) -> impl Strategy<Value = String> {
    (least..=most).prop_map(|number| number.to_string())
}

fn conditions() -> impl Strategy<Value = Vec<Column>> {
    (
        of(select(vec!["'app'", "'ops'", "'nobody'"])),
        of(select(vec!["'shop'", "'NO'"])),
        of(select(vec!["'10.0.%'", "'10.0.0.1'"])),
        of(number(6033, 6034)),
        of(select(vec!["'0x4D7DCFF87DD1A927'"])),
        of(pattern()),
        of(pattern()),
        select(vec!["0", "1"]),
        select(vec!["'CASELESS'", "'GLOBAL'", "'CASELESS,GLOBAL'", "''"]),
        number(0, 3),
    )
        .prop_map(
            |(user, schema, client, port, digest, by_digest, by_text, negate, modifiers, flag)| {
                let own = |text: Option<&str>| text.map(str::to_owned);
                vec![
                    ("username", own(user)),
                    ("schemaname", own(schema)),
                    ("client_addr", own(client)),
                    ("proxy_port", port),
                    ("digest", own(digest)),
                    ("match_digest", by_digest),
                    ("match_pattern", by_text),
                    ("negate_match_pattern", own(Some(negate))),
                    ("re_modifiers", own(Some(modifiers))),
                    ("flagIN", Some(flag)),
                ]
            },
        )
}

fn effects() -> impl Strategy<Value = Vec<Column>> {
    let attributes = "'{\"flagOUTs\": [{\"id\": 2, \"weight\": 9}, {\"id\": 3, \"weight\": 1}]}'";
    let first = (
        of(number(0, 3)),
        of(select(vec!["10", "20", "30", "99"])),
        of(number(1, 9)),
        of(select(vec!["0", "1"])),
    );
    let second = (
        of(number(0, 9)),
        of(number(0, 9)),
        of(number(0, 9)),
        of(number(0, 3)),
        of(select(vec!["10", "20"])),
    );
    let third = (
        of(text()),
        of(text()),
        of(number(0, 2)),
        select(vec!["0", "1"]),
        of(Just(attributes)),
        of(text()),
    );
    (first, second, third).prop_map(|(first, second, third)| {
        let own = |text: Option<&str>| text.map(str::to_owned);
        vec![
            ("flagOUT", first.0),
            ("destination_hostgroup", own(first.1)),
            ("cache_ttl", first.2),
            ("cache_empty_result", own(first.3)),
            ("timeout", second.0),
            ("retries", second.1),
            ("delay", second.2),
            ("next_query_flagIN", second.3),
            ("mirror_hostgroup", own(second.4)),
            ("error_msg", third.0),
            ("OK_msg", third.1),
            ("multiplex", third.2),
            ("apply", own(Some(third.3))),
            ("attributes", third.4.map(str::to_owned).or(Some("''".to_owned()))),
            ("comment", third.5),
        ]
    })
}

fn statement(id: usize, columns: &[Column]) -> String {
    let given = || {
        columns
            .iter()
            .filter_map(|(name, value)| Some((*name, value.as_deref()?)))
    };
    let names: Vec<&str> = given().map(|(name, _)| name).collect();
    let values: Vec<&str> = given().map(|(_, value)| value).collect();
    format!(
        "INSERT INTO mysql_query_rules (rule_id, active, {}) VALUES ({}, 1, {});\n",
        names.join(", "),
        7 * id + 3,
        values.join(", ")
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn rules_are_written_as_they_are(rules in vec((conditions(), effects()), 1..8)) {
        let rules = rules.into_iter().enumerate();
        let rules: String = rules.map(|(at, (conditions, effects))| statement(at, &[conditions, effects].concat())).collect();
        let file = imported(&format!("{SERVERS}{rules}"));
        let adopted = adopted(&file);
        prop_assert!(adopted.inactive.is_empty(), "{:?}", adopted.inactive);
        prop_assert_eq!(lines(&adopted.differences), "", "{}", files(&adopted));
        let bodies = |configuration: &shardwright_rules::Configuration| {
            let rules = configuration.graph.rules.iter();
            rules.map(|rule| (rule.id, rule.flag_in, rule.body.clone())).collect::<Vec<_>>()
        };
        prop_assert_eq!(bodies(&file.configuration), bodies(adopted.built.configuration()));
    }
}
