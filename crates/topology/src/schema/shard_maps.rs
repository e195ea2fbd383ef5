//! The shapes of shard maps.

use serde_json::{Value, json};

use super::int;
use crate::fields::shapes::{
    EXPECTS, described, generated, list, map, object, reference, text, texts, word, word_or,
};
use crate::model::MAX_MODULO;

const KEY_TEMPLATE: &str = "Text around the key, such as `tenant_$(key:03)`.";

pub(super) fn shard_map() -> Value {
    generated(
        "How a key is found in statements, and where each shard is.",
        [
            (
                "applies_to",
                described("scope", "Whose statements it is about; all where not given."),
            ),
            (
                "logical_schema",
                text("The schema that clients name and shards replace."),
            ),
            ("key", key()),
            (
                "key_from",
                list(
                    "Where keys are found; all that yield one must yield the same.",
                    "a list of finders",
                    finder(),
                ),
            ),
            (
                "conflict",
                word(
                    "What happens when finders disagree: the statement is refused, or the first finder counts.",
                    &["reject", "first"],
                ),
            ),
            (
                "shards",
                map(
                    "The shards by name: which keys each has, and where it is.",
                    reference("shard"),
                ),
            ),
            (
                "otherwise",
                text("The map that statements without this map's key go to: `shard_maps.NAME`."),
            ),
            (
                "unqualified",
                word(
                    "What becomes of tables that are named without a schema: refused, qualified with the shard's schema (bundled), or \
                     left to the schema of the session.",
                    &["reject", "qualify", "session_schema"],
                ),
            ),
            ("tables", stated_tables()),
            (
                "overrides",
                map("Shards of generators that are placed differently.", override_()),
            ),
            ("missing_key", missing_key()),
            (
                "unknown_key",
                word_or(
                    "What becomes of statements with a key of no shard: refused, or sent to a cluster.",
                    &["reject"],
                    cluster(),
                ),
            ),
            (
                "rule_layout",
                word(
                    "How its rules are laid out; `auto` weighs the layouts and takes the cheapest.",
                    &["auto", "flat", "tree", "fast_routing", "dispatch"],
                ),
            ),
        ],
    )
}

fn cluster() -> [(&'static str, Value); 1] {
    [("cluster", text("The name of the cluster that they go to."))]
}

fn stated_tables() -> Value {
    object(
        "What is known of tables of the logical schema: a key in a column is only believed of base tables. Of tables that \
         are not stated, the bundled proxy asks their server.",
        [
            (
                "base",
                texts(
                    "Names of base tables, which are not asked for.",
                    "a list of tables",
                ),
            ),
            (
                "views",
                map(
                    "Views that hand the key column on as it is, with the tables that they stand on.",
                    texts("The tables that the view stands on.", "a list of tables"),
                ),
            ),
        ],
    )
}

fn missing_key() -> Value {
    let missing = |description: &str| word_or(description, &["reject", "allow"], cluster());
    object(
        "What becomes of statements without a key.",
        [
            (
                "statements",
                missing(
                    "Statements that are not about the session: refused, left to what follows, or sent to a cluster.",
                ),
            ),
            (
                "session_setup",
                missing("SET, USE, SHOW, SELECT without a table, and what drivers send when they connect."),
            ),
            (
                "begin",
                word(
                    "The start of a transaction: refused without a key, opened where its first keyed statement goes (bundled), or \
                     left to what follows.",
                    &["reject", "first_statement", "allow"],
                ),
            ),
        ],
    )
}

pub(super) fn shard() -> Value {
    let scalar = json!({ "type": ["string", "integer"], EXPECTS: "text or an integer" });
    generated(
        "One shard: its keys and where it is.",
        [
            (
                "keys",
                list(
                    "Its keys: values, or ranges of integers such as `1..200` (both ends included).",
                    "a list of keys",
                    scalar,
                ),
            ),
            (
                "remainders",
                list(
                    "Remainders, or ranges of them, for a key with `modulo`.",
                    "a list of remainders",
                    json!({ "type": ["string", "integer"], EXPECTS: "an integer or a range such as 0..49" }),
                ),
            ),
            ("cluster", text("The name of the cluster that it is on.")),
            ("schema", text("The schema that it is in, on its cluster.")),
        ],
    )
}

fn override_() -> Value {
    generated(
        "Another place for one shard.",
        [
            ("cluster", text("The name of the cluster that it is on.")),
            ("schema", text("The schema that it is in, on its cluster.")),
            ("reason", text("Why it is there, such as the number of a change.")),
        ],
    )
}

fn key() -> Value {
    object(
        "What shards are found by.",
        [
            (
                "name",
                text("The name of the key, which is the word before `=` in comments."),
            ),
            (
                "type",
                word(
                    "How values compare: exactly, or as integers (017 is 17).",
                    &["text", "integer"],
                ),
            ),
            (
                "domain",
                json!({
                    "description": "All values that exist, such as `1..200`; keys without a shard are errors then.",
                    "type": ["string", "array"],
                    EXPECTS: "a range such as 1..200, or a list of them",
                    "items": { "type": ["string", "integer"], EXPECTS: "a range such as 1..200" },
                }),
            ),
            (
                "modulo",
                int("The divisor of which shards take remainders.", 1, MAX_MODULO),
            ),
            (
                "hash",
                word(
                    "The hash of the key that is divided: XXH64 with seed 0 over the canonical text.",
                    &["xxhash64"],
                ),
            ),
        ],
    )
}

fn finder() -> Value {
    object(
        "A place where keys are found.",
        [
            (
                "comment",
                object(
                    "A comment such as `/* tenant=17 */`.",
                    [
                        ("name", text("The word before `=`, where not the key's name.")),
                        ("exact", text("The whole comment, such as `$(key:03)`.")),
                        (
                            "format",
                            word(
                                "How values are written; `sqlcommenter` decodes percent signs.",
                                &["sqlcommenter"],
                            ),
                        ),
                    ],
                ),
            ),
            (
                "schema",
                text(&format!("The name of the session's schema. {KEY_TEMPLATE}")),
            ),
            (
                "column",
                object(
                    "A column that WHERE compares, or that an INSERT lists.",
                    [
                        ("name", text("The name of the column, such as `tenant_id`.")),
                        (
                            "in_shards",
                            word(
                                "Whether tables of shards have the column; where `absent`, the predicate is taken out.",
                                &["present", "absent"],
                            ),
                        ),
                    ],
                ),
            ),
            ("table", text(&format!("The names of tables. {KEY_TEMPLATE}"))),
            ("user", text(&format!("The name of the user. {KEY_TEMPLATE}"))),
        ],
    )
}
