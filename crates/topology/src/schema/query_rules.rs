//! The shape of rules in the engine's own columns.

use serde_json::Value;

use super::id;
use super::shapes::{bit, generated, int, list, object, reference, text, word, word_or};

pub(super) fn block() -> Value {
    generated(
        "Rules in written order.",
        [
            (
                "at",
                word_or(
                    "Where the block stands; before_all where not given.",
                    &["before_all", "after_all"],
                    [
                        (
                            "before",
                            text("In front of the rules of the object at this address."),
                        ),
                        ("after", text("Behind the rules of the object at this address.")),
                    ],
                ),
            ),
            (
                "rules",
                list(
                    "The rules in the order of evaluation.",
                    "a list of rules",
                    reference("rule"),
                ),
            ),
        ],
    )
}

pub(super) fn rule() -> Value {
    let mut fields = conditions();
    fields.extend(actions());
    object(
        "A rule; columns that are not given keep the engine's default, but `active` is 1.",
        fields,
    )
}

fn conditions() -> Vec<(&'static str, Value)> {
    vec![
        ("rule_id", int("A number that must be kept.", 1, 2_147_483_647)),
        ("active", bit("Whether it is loaded; 1 where not given.")),
        ("username", text("The user that the session logged in as.")),
        ("schemaname", text("The schema that the session is in.")),
        (
            "flagIN",
            id("The flag of the chain that the rule is part of; 0 where not given."),
        ),
        (
            "client_addr",
            text("The client's address, or a prefix that ends with `%`."),
        ),
        ("proxy_addr", text("The address that the client connected to.")),
        (
            "proxy_port",
            int("The port that the client connected to.", 0, 65_535),
        ),
        ("digest", text("The digest hash, such as \"0x4D7DCFF87DD1A927\".")),
        ("match_digest", text("A regular expression over the digest text.")),
        ("match_pattern", text("A regular expression over the statement.")),
        (
            "negate_match_pattern",
            bit("Whether both expressions must fail instead."),
        ),
        (
            "re_modifiers",
            word(
                "How the expressions match; CASELESS where not given.",
                &["CASELESS", "GLOBAL", "CASELESS,GLOBAL", ""],
            ),
        ),
    ]
}

fn actions() -> Vec<(&'static str, Value)> {
    vec![
        ("flagOUT", id("The flag that evaluation goes on with.")),
        (
            "replace_pattern",
            text("What replaces the match of `match_pattern`."),
        ),
        (
            "destination_hostgroup",
            id("A hostgroup by number; `cluster` and `role` name one."),
        ),
        ("cluster", text("The name of the cluster that it goes to.")),
        (
            "role",
            word(
                "Which of the cluster's hostgroups; writer where not given.",
                &["writer", "reader"],
            ),
        ),
        (
            "cache_ttl",
            int(
                "How long the result stays in the query cache, in milliseconds.",
                1,
                2_147_483_647,
            ),
        ),
        ("cache_empty_result", bit("Whether empty results are cached.")),
        (
            "cache_timeout",
            id("A column that the engine keeps and does not use."),
        ),
        (
            "reconnect",
            bit("A column that the engine keeps and does not use."),
        ),
        (
            "timeout",
            id("Time after which the statement is ended, in milliseconds."),
        ),
        ("retries", int("How often it is tried again.", 0, 1_000)),
        (
            "delay",
            id("Time that the statement waits before it is sent, in milliseconds."),
        ),
        (
            "next_query_flagIN",
            id("The flag that the session's later statements begin with."),
        ),
        (
            "mirror_flagOUT",
            id("The flag that the mirrored statement begins with."),
        ),
        (
            "mirror_hostgroup",
            id("The hostgroup that the mirrored statement goes to."),
        ),
        ("error_msg", text("Refuses it with this text.")),
        ("OK_msg", text("Answers OK with this text.")),
        (
            "sticky_conn",
            bit("A column that the engine keeps and does not use."),
        ),
        (
            "multiplex",
            int("0 off, 1 on, 2 not switched off by this statement.", 0, 2),
        ),
        (
            "gtid_from_hostgroup",
            id("The hostgroup whose last GTID of the session must have arrived."),
        ),
        ("log", bit("Whether it is written to the event log.")),
        ("apply", bit("Whether evaluation ends here; 0 where not given.")),
        (
            "attributes",
            text("JSON: `{\"flagOUTs\": [{\"id\": 1, \"weight\": 9}]}` draws a flag."),
        ),
        (
            "comment",
            text("Free text, which the engine keeps beside the rule."),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use shardwright_tables::QUERY_RULES;

    use super::rule;

    #[test]
    fn a_rule_has_the_columns_of_the_table_with_their_ranges() {
        let schema = rule();
        let fields = schema["properties"].as_object().unwrap();
        let columns = QUERY_RULES.columns.iter().map(|column| column.name);
        let names: BTreeSet<&str> = columns.chain(["cluster", "role"]).collect();
        assert_eq!(fields.keys().map(String::as_str).collect::<BTreeSet<_>>(), names);
        for column in QUERY_RULES.columns {
            let field = &fields[column.name];
            let bounds = match field.get("enum") {
                Some(words) if column.is_number() => Some(words[0].as_i64().zip(words[1].as_i64()).unwrap()),
                _ => field["minimum"].as_i64().zip(field["maximum"].as_i64()),
            };
            // An id that is pinned begins at 1.
            let least = |range: &std::ops::RangeInclusive<i64>| match column.name {
                "rule_id" => 1,
                _ => *range.start(),
            };
            let range = column.range().map(|range| (least(&range), *range.end()));
            assert_eq!(bounds, range, "{}", column.name);
        }
    }
}
