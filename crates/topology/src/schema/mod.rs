//! The published JSON Schemas (Draft 2020-12), built by hand from a few shapes; what checks structure is what is
//! published.
//!
//! Keys that an object must have are not in the schema: objects merge over files, and each file is checked alone.

mod defaults;
mod details;
mod environment;
mod shape;
mod surroundings;

use serde_json::{Value, json};

use crate::fields::shapes::{int, map, mapping, object, text, word};
pub(crate) use crate::fields::{EXPECTS, WHERE};
use crate::resolve;
pub(crate) use shape::Shape;

const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// The schema of the files under `topology/`.
#[must_use]
pub fn topology() -> Value {
    let mut schema = bare_topology();
    details::topology(&mut schema);
    // A test holds that every default has its place.
    let _ = defaults::apply_topology(&mut schema);
    details::render(&mut schema);
    schema
}

/// The same without what only readers of the schema need: examples, defaults, and texts in the form that editors show.
pub(crate) fn bare_topology() -> Value {
    let mut schema = object(
        "A shardwright topology: clusters, users, shard maps, policies. Maps merge over any number of files.",
        [
            ("version", version()),
            (
                "variables",
                map("Values that `$(var.NAME)` stands for.", variable()),
            ),
            (
                "clusters",
                map(
                    "Groups of servers that hold the same data.",
                    resolve::cluster::cluster::FIELDS.generated(),
                ),
            ),
            (
                "users",
                map(
                    "Accounts that clients log in with, by name.",
                    resolve::user::user::FIELDS.generated(),
                ),
            ),
            (
                "shard_maps",
                map(
                    "How keys are found in statements, and where each shard is.",
                    resolve::shard_map::shard_map::FIELDS.generated(),
                ),
            ),
            (
                "read_write_policies",
                map(
                    "Which statements may leave the writer.",
                    resolve::policy::policy::FIELDS.generated(),
                ),
            ),
            (
                "throttles",
                map(
                    "Which statements are slowed, and when.",
                    resolve::throttle::throttle::FIELDS.generated(),
                ),
            ),
            (
                "query_rules",
                map(
                    "Rules in the engine's own columns, in ordered blocks.",
                    resolve::query_rules::block::FIELDS.generated(),
                ),
            ),
            ("pooling", resolve::effects::pooling::FIELDS.schema()),
            (
                "caches",
                map(
                    "Statements whose results are kept for a while.",
                    resolve::effects::cache::FIELDS.generated(),
                ),
            ),
            (
                "mirrors",
                map(
                    "Statements of which a copy is sent to a second place.",
                    resolve::effects::mirror::FIELDS.generated(),
                ),
            ),
            (
                "firewall",
                map(
                    "Statements that users may send, by the name of the user.",
                    resolve::firewall::firewall::FIELDS.generated(),
                ),
            ),
            ("engine_settings", surroundings::engine_settings()),
            ("monitor", resolve::monitor::account::FIELDS.schema()),
            (
                "listeners",
                map(
                    "Ports that clients connect to, by the name that a `match` uses.",
                    resolve::listener::listener::FIELDS.generated(),
                ),
            ),
            (
                "moves",
                map(
                    "Shards that move from one cluster to another, by MAP/SHARD.",
                    resolve::moves::shard_move::FIELDS.schema(),
                ),
            ),
        ],
    );
    head(&mut schema, "topology.v1.json", "shardwright topology");
    schema["$defs"] = mapping([
        ("scope", resolve::scope::scope::FIELDS.schema()),
        ("secret", resolve::user::secret_schema()),
        ("server", resolve::server::server::FIELDS.generated()),
        ("shard", resolve::shard::shard::FIELDS.generated()),
        ("rule", resolve::query_rules::rule::FIELDS.schema()),
        ("for_each", for_each()),
    ]);
    schema
}

/// The schema of the files under `tests/`.
#[must_use]
pub fn tests() -> Value {
    let mut schema = resolve::route_tests::file::FIELDS.schema();
    head(&mut schema, "tests.v1.json", "shardwright route tests");
    schema["$defs"] = mapping([
        ("for_each", for_each()),
        ("session", resolve::route_tests::session::FIELDS.schema()),
        (
            "expect",
            resolve::route_tests::expectation::expect::FIELDS.schema(),
        ),
    ]);
    details::render(&mut schema);
    schema
}

/// The schema of `shardwright.yaml`.
#[must_use]
pub fn project() -> Value {
    let mut schema = bare_project();
    details::render(&mut schema);
    schema
}

/// As [`bare_topology`].
pub(crate) fn bare_project() -> Value {
    let mut schema = resolve::project::project::FIELDS.schema();
    head(&mut schema, "project.v1.json", "shardwright project file");
    let mut secret = resolve::user::secret_schema();
    // What is an example of a secret of clients is none of one of the proxy's own.
    for source in ["file", "command"] {
        if let Some(source) = secret["then"]["properties"][source].as_object_mut() {
            source.remove("examples");
        }
    }
    secret["then"]["properties"]["env"]["examples"] = json!(["SHARDWRIGHT_ADMIN_PASSWORD"]);
    schema["$defs"] = mapping([("secret", secret)]);
    schema
}

/// The schema of the files under `env/`.
#[must_use]
pub fn environment() -> Value {
    let mut schema = environment::environment();
    head(&mut schema, "environment.v1.json", "shardwright environment");
    details::render(&mut schema);
    schema
}

fn head(schema: &mut Value, file: &str, title: &str) {
    schema["$schema"] = DIALECT.into();
    schema["$id"] =
        format!("https://raw.githubusercontent.com/shardwright/shardwright/main/schemas/{file}").into();
    schema["title"] = title.into();
}

fn version() -> Value {
    json!({ "description": "The version of the language: 1.", "const": 1, EXPECTS: "the version of the language, which is 1" })
}

fn variable() -> Value {
    object(
        "A value that an environment or `--var` may set.",
        [
            (
                "type",
                word(
                    "What values it takes; text where not given.",
                    &["text", "integer"],
                ),
            ),
            (
                "default",
                json!({
                    "description": "Its value where none is given.",
                    "type": ["string", "integer"],
                    EXPECTS: "text or an integer",
                }),
            ),
            ("description", text("What the variable is for, for people.")),
        ],
    )
}

/// `for_each` beside the fields of an object that a generator makes.
fn for_each() -> Value {
    json!({
        "description": "Makes one object per value, or per combination of values: `{n: 1..200}`, `{zone: [a, b]}`.",
        "type": "object",
        EXPECTS: "variables with their values, such as {n: 1..200}",
        "properties": {
            "except": {
                "description": "Values to leave out; with several variables, combinations such as `{n: 3, k: 1}`.",
                "type": "array",
                EXPECTS: "a list of values to leave out",
                "items": {
                    "type": ["string", "integer", "object"],
                    EXPECTS: "a value to leave out",
                },
            },
        },
        "additionalProperties": {
            "description": "A range such as `1..200` (both ends included), a list of values, or a column of a data file.",
            "type": ["string", "array", "object"],
            EXPECTS: "a range such as 1..200, a list, or {from: {csv: FILE, column: NAME}}",
            "items": { "type": ["string", "integer"], EXPECTS: "text or an integer" },
            "properties": {
                "from": object(
                    "Makes an instance of each row of a file; `$(NAME.COLUMN)` is another cell of the row.",
                    [
                        ("csv", text("A CSV file below the project's directory; its first row names the columns.")),
                        ("column", text("The column that the variable takes its values from.")),
                    ],
                ),
            },
            "additionalProperties": false,
        },
    })
}

/// Ids of hostgroups and flags: whole numbers of the engine.
fn id(description: &str) -> Value {
    int(description, 0, 2_147_483_647)
}
