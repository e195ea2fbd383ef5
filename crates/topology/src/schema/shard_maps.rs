//! The shapes of shard maps.

use serde_json::{Value, json};

use super::int;
use super::shapes::{EXPECTS, described, generated, list, map, object, reference, text, word, word_or};
use crate::model::MAX_MODULO;

const KEY_TEMPLATE: &str = "Text around the key, such as `tenant_$(key:03)`.";

pub(super) fn shard_map() -> Value {
    generated(
        "How a key is found in statements, and where each shard is.",
        &[
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
                word("What happens when finders disagree.", &["reject", "first"]),
            ),
            ("shards", map("The shards.", reference("shard"))),
            (
                "otherwise",
                text("The map that statements without this map's key go to: `shard_maps.NAME`."),
            ),
            (
                "unqualified",
                word(
                    "What becomes of tables that are named without a schema.",
                    &["reject", "qualify", "session_schema"],
                ),
            ),
            (
                "overrides",
                map("Shards of generators that are placed differently.", override_()),
            ),
            ("missing_key", missing_key()),
            (
                "unknown_key",
                word_or(
                    "What becomes of statements with a key of no shard.",
                    &["reject"],
                    &cluster(),
                ),
            ),
            (
                "rule_layout",
                word(
                    "How its rules are laid out.",
                    &["auto", "flat", "tree", "fast_routing", "dispatch"],
                ),
            ),
        ],
    )
}

fn cluster() -> [(&'static str, Value); 1] {
    [("cluster", text("The cluster they go to."))]
}

fn missing_key() -> Value {
    let missing = |description: &str| word_or(description, &["reject", "allow"], &cluster());
    object(
        "What becomes of statements without a key.",
        &[
            ("statements", missing("Statements in general.")),
            (
                "session_setup",
                missing("SET, USE, SHOW, SELECT without a table, and what drivers send."),
            ),
            (
                "begin",
                word(
                    "The start of a transaction.",
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
        &[
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
            ("cluster", text("Its cluster.")),
            ("schema", text("Its schema.")),
        ],
    )
}

fn override_() -> Value {
    generated(
        "Another place for one shard.",
        &[
            ("cluster", text("Its cluster.")),
            ("schema", text("Its schema.")),
            ("reason", text("Why.")),
        ],
    )
}

fn key() -> Value {
    object(
        "What shards are found by.",
        &[
            ("name", text("The word in comments.")),
            (
                "type",
                word(
                    "How values compare: exactly, or as numbers.",
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
                int("Shards take remainders of this divisor.", 1, MAX_MODULO),
            ),
            (
                "hash",
                word("The key is hashed before it is divided.", &["xxhash64"]),
            ),
        ],
    )
}

fn finder() -> Value {
    object(
        "A place where keys are found.",
        &[
            (
                "comment",
                object(
                    "A comment such as `/* tenant=17 */`.",
                    &[
                        ("name", text("The word before `=`, where not the key's name.")),
                        ("exact", text("The whole comment, such as `$(key:03)`.")),
                        ("format", word("How values are written.", &["sqlcommenter"])),
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
                    "A column in WHERE or INSERT.",
                    &[
                        ("name", text("Its name.")),
                        (
                            "in_shards",
                            word("Whether tables of shards have it.", &["present", "absent"]),
                        ),
                    ],
                ),
            ),
            ("table", text(&format!("The names of tables. {KEY_TEMPLATE}"))),
            ("user", text(&format!("The name of the user. {KEY_TEMPLATE}"))),
        ],
    )
}
