//! The published JSON Schemas (Draft 2020-12), made from the declarations of [`crate::fields`].
//!
//! [`bare_topology`] and the like are what checks files before they are read. What is published is stricter: it also has what readers refuse of one
//! file, which they word better than a schema.
//!
//! Keys that an object must have are in no schema: objects merge over files, and each file is checked alone.

mod render;
mod tables;

use serde_json::{Value, json};

use crate::fields::STRICT;
use crate::fields::shapes::mapping;
use crate::resolve;
use crate::tree::generate;
pub use tables::fill as fill_tables;

const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// The schema of the files under `topology/`.
#[must_use]
pub fn topology() -> Value {
    published(bare_topology())
}

/// The same with texts as they are declared, not in the form that editors show.
pub(crate) fn bare_topology() -> Value {
    let mut schema = resolve::root::FIELDS.schema();
    head(&mut schema, "topology.v1.json", "shardwright topology");
    schema["$defs"] = mapping([
        ("scope", resolve::scope::scope::FIELDS.schema()),
        ("secret", resolve::user::secret_schema()),
        ("server", resolve::server::server::FIELDS.generated()),
        ("shard", resolve::shard::shard::FIELDS.generated()),
        ("rule", resolve::query_rules::rule::FIELDS.schema()),
        ("for_each", generate::schema()),
    ]);
    schema
}

/// The schema of the files under `tests/`.
#[must_use]
pub fn tests() -> Value {
    published(bare_tests())
}

/// As [`bare_topology`].
pub(crate) fn bare_tests() -> Value {
    let mut schema = resolve::route_tests::file::FIELDS.schema();
    head(&mut schema, "tests.v1.json", "shardwright route tests");
    schema["properties"]["route_tests"]["additionalProperties"][STRICT] = json!({
        "anyOf": [{ "required": ["query", "expect"] }, { "required": ["script"] }],
    });
    schema["$defs"] = mapping([
        ("for_each", generate::schema()),
        ("session", resolve::route_tests::session::FIELDS.schema()),
        (
            "expect",
            resolve::route_tests::expectation::expect::FIELDS.schema(),
        ),
    ]);
    schema
}

/// The schema of `shardwright.yaml`.
#[must_use]
pub fn project() -> Value {
    published(bare_project())
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
    schema["$defs"] = mapping([("secret", secret), ("for_each", generate::schema())]);
    schema
}

/// The schema of the files under `env/`.
#[must_use]
pub fn environment() -> Value {
    published(bare_environment())
}

/// As [`bare_topology`].
pub(crate) fn bare_environment() -> Value {
    let mut schema = crate::tree::overlay::environment::FIELDS.schema();
    head(&mut schema, "environment.v1.json", "shardwright environment");
    schema
}

/// A kind of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum File {
    /// Under `topology/`.
    Topology,
    /// `shardwright.yaml`
    Project,
    /// Under `tests/`.
    Tests,
    /// Under `env/`.
    Environment,
}

/// The schema of a kind of file as it is published, with what names in fields stand for.
#[must_use]
pub fn with_references(file: File) -> Value {
    let mut schema = bare(file);
    render::render(&mut schema);
    schema
}

fn bare(file: File) -> Value {
    match file {
        File::Topology => bare_topology(),
        File::Project => bare_project(),
        File::Tests => bare_tests(),
        File::Environment => bare_environment(),
    }
}

/// A schema as it is published: without what only we read, and with texts in the form that editors show.
fn published(mut schema: Value) -> Value {
    render::with_what_readers_refuse(&mut schema);
    render::without_internal(&mut schema);
    render::render(&mut schema);
    schema
}

fn head(schema: &mut Value, file: &str, title: &str) {
    schema["$schema"] = DIALECT.into();
    schema["$id"] =
        format!("https://raw.githubusercontent.com/shardwright/shardwright/main/schemas/{file}").into();
    schema["title"] = title.into();
    // A place for anchors, which no reader looks at.
    schema["patternProperties"] = json!({ "^x-": {} });
}
