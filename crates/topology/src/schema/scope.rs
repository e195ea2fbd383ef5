//! The shape of `applies_to` and `match`.

use serde_json::{Value, json};

use super::shapes::{EXPECTS, list, object, text_or_list, texts};

/// The classes of statements, in the order of the language.
pub(super) const STATEMENTS: [&str; 14] = [
    "select", "insert", "update", "delete", "replace", "ddl", "call", "show", "set", "begin", "commit",
    "lock", "prepare", "other",
];

pub(super) fn scope() -> Value {
    let mut fields = vec![];
    let mut both = |name: &'static str, except: &'static str, schema: Value| {
        let mut excluded = schema.clone();
        let description = schema["description"].as_str().unwrap_or_default();
        excluded["description"] = format!("Not these. {description}").into();
        fields.push((name, schema));
        fields.push((except, excluded));
    };
    let names = |description: &str| texts(description, "a list of names");
    both(
        "users",
        "except_users",
        names("Names of users; globs are allowed."),
    );
    both(
        "schemas",
        "except_schemas",
        names("Names of session schemas; globs are allowed."),
    );
    both(
        "clusters",
        "except_clusters",
        names("Names of clusters; globs are allowed."),
    );
    both(
        "listeners",
        "except_listeners",
        names("Names of listeners; globs are allowed."),
    );
    both(
        "client_addr",
        "except_client_addr",
        text_or_list("Addresses of clients, or prefixes that end with `%`."),
    );
    let class = json!({ "enum": STATEMENTS });
    both(
        "statements",
        "except_statements",
        list(
            "Classes of statements, such as `select` or `ddl`.",
            "a list of statement classes",
            class,
        ),
    );
    both(
        "tables",
        "except_tables",
        names("Names of tables that it names; globs are allowed."),
    );
    both(
        "functions",
        "except_functions",
        names("Names of SQL functions that it calls, without case."),
    );
    both(
        "match_digest",
        "except_match_digest",
        text_or_list("Regular expressions over the digest text."),
    );
    both(
        "match_pattern",
        "except_match_pattern",
        text_or_list("Regular expressions over the statement."),
    );
    let hash = json!({ "type": "string", EXPECTS: "a digest such as \"0x4D7DCFF87DD1A927\"" });
    both(
        "digest",
        "except_digest",
        list(
            "Digests of statements, such as `0x4D7DCFF87DD1A927`.",
            "a list of digests",
            hash,
        ),
    );
    object(
        "Which statements: keys must all hold, lists are alternatives.",
        fields,
    )
}
