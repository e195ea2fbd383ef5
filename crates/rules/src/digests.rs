//! How ProxySQL makes digests, as its variables say.

use std::collections::BTreeMap;

use shardwright_sql::DigestOptions;

/// The variables that say how many members of a list a digest keeps. ProxySQL 2.7.1 reads each as one signed byte.
pub const GROUPING_LIMITS: [&str; 2] = [
    "mysql-query_digests_grouping_limit",
    "mysql-query_digests_groups_grouping_limit",
];

/// Whether digests are made otherwise with this value of a variable than with its default.
#[must_use]
pub fn changes_digests(name: &str, value: &str) -> bool {
    let alone = BTreeMap::from([(name.to_owned(), value.to_owned())]);
    of_variables(&alone).is_some_and(|options| options != DigestOptions::DEFAULT)
}

/// What the variables say, defaults where they say nothing; `None` where `mysql-query_digests` is off.
pub(crate) fn of_variables(variables: &BTreeMap<String, String>) -> Option<DigestOptions> {
    let given = |name: &str| {
        variables
            .get(&format!("mysql-query_digests{name}"))
            .map(String::as_str)
    };
    let is_on = |name: &str, usual: bool| given(name).map_or(usual, |value| is_true(value).unwrap_or(usual));
    let number = |name: &str, usual: u32| given(name).and_then(|value| value.parse().ok()).unwrap_or(usual);
    let length = |name: &str, usual: usize| given(name).and_then(|value| value.parse().ok()).unwrap_or(usual);
    let usual = DigestOptions::DEFAULT;
    is_on("", true).then(|| DigestOptions {
        lowercase: is_on("_lowercase", usual.lowercase),
        replace_null: is_on("_replace_null", usual.replace_null),
        no_digits: is_on("_no_digits", usual.no_digits),
        keep_comment: is_on("_keep_comment", usual.keep_comment),
        grouping_limit: number("_grouping_limit", usual.grouping_limit),
        groups_grouping_limit: number("_groups_grouping_limit", usual.groups_grouping_limit),
        max_query_length: length("_max_query_length", usual.max_query_length),
        max_digest_length: length("_max_digest_length", usual.max_digest_length),
    })
}

/// A switch as ProxySQL reads it; `None` for what it ignores.
pub(crate) fn is_true(value: &str) -> Option<bool> {
    match value.to_ascii_lowercase().as_str() {
        "true" | "1" | "on" => Some(true),
        "false" | "0" | "off" => Some(false),
        _ => None,
    }
}
