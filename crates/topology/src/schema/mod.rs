//! The published JSON Schemas (Draft 2020-12), built by hand from a few shapes; what checks structure is what is
//! published.
//!
//! Keys that an object must have are not in the schema: objects merge over files, and each file is checked alone.

mod clusters;
mod defaults;
mod details;
mod effects;
mod environment;
mod lint;
mod policies;
mod project;
mod query_rules;
mod route_tests;
mod scope;
mod shape;
mod shapes;
mod shard_maps;
mod surroundings;

use serde_json::{Value, json};

pub(crate) use defaults::WHERE;
pub(crate) use shape::Shape;
pub(crate) use shapes::EXPECTS;
use shapes::{int, map, mapping, object, text, word};

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
                map("Groups of servers that hold the same data.", clusters::cluster()),
            ),
            (
                "users",
                map("Accounts that clients log in with, by name.", clusters::user()),
            ),
            (
                "shard_maps",
                map(
                    "How keys are found in statements, and where each shard is.",
                    shard_maps::shard_map(),
                ),
            ),
            (
                "read_write_policies",
                map(
                    "Which statements may leave the writer.",
                    policies::read_write_policy(),
                ),
            ),
            (
                "throttles",
                map("Which statements are slowed, and when.", policies::throttle()),
            ),
            (
                "query_rules",
                map(
                    "Rules in the engine's own columns, in ordered blocks.",
                    query_rules::block(),
                ),
            ),
            ("pooling", effects::pooling()),
            ("caches", effects::caches()),
            ("mirrors", effects::mirrors()),
            ("firewall", effects::firewall()),
            ("engine_settings", surroundings::engine_settings()),
            ("monitor", surroundings::monitor()),
            ("listeners", surroundings::listeners()),
            ("moves", surroundings::moves()),
        ],
    );
    head(&mut schema, "topology.v1.json", "shardwright topology");
    schema["$defs"] = mapping([
        ("scope", scope::scope()),
        ("secret", clusters::secret()),
        ("server", clusters::server()),
        ("shard", shard_maps::shard()),
        ("rule", query_rules::rule()),
        ("for_each", for_each()),
    ]);
    schema
}

/// The schema of the files under `tests/`.
#[must_use]
pub fn tests() -> Value {
    let mut schema = route_tests::route_tests();
    head(&mut schema, "tests.v1.json", "shardwright route tests");
    schema["$defs"] = mapping([("for_each", for_each())]);
    for (name, definition) in route_tests::definitions() {
        schema["$defs"][name] = definition;
    }
    details::tests(&mut schema);
    details::render(&mut schema);
    schema
}

/// The schema of `shardwright.yaml`.
#[must_use]
pub fn project() -> Value {
    let mut schema = bare_project();
    details::project(&mut schema);
    let _ = defaults::apply_project(&mut schema);
    details::render(&mut schema);
    schema
}

/// As [`bare_topology`].
pub(crate) fn bare_project() -> Value {
    let mut schema = project::project();
    head(&mut schema, "project.v1.json", "shardwright project file");
    schema["$defs"] = mapping([("secret", clusters::secret())]);
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
