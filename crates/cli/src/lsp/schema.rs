//! What the published schemas say about a position in a file.

use serde_json::{Map, Value};
use shardwright_topology::schema::{self, File};
use shardwright_topology::symbols::Refers;
use shardwright_topology::{ENVIRONMENT_DIRECTORY, PROJECT_FILE, TESTS_DIRECTORY};

/// References and conditions inside each other; the schemas have a handful.
const MAX_DEPTH: usize = 16;

/// One step of the path to a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step<'a> {
    /// The value of a key.
    Key(&'a str),
    /// An item of a list.
    Item,
}

/// The schema of a file.
pub(super) struct Schema {
    root: Value,
}

/// Everything that a schema says about one position; more than one where it depends on the value's type.
pub(super) struct Says<'s> {
    parts: Vec<&'s Value>,
}

impl Schema {
    /// The schema of the file at this path of a project.
    pub(super) fn of(path: &str) -> Self {
        let directory = path.split('/').next();
        let file = match path {
            PROJECT_FILE => File::Project,
            _ if directory == Some(TESTS_DIRECTORY) => File::Tests,
            _ if directory == Some(ENVIRONMENT_DIRECTORY) => File::Environment,
            _ => File::Topology,
        };
        Self {
            root: schema::with_references(file),
        }
    }

    /// What it says about the value that a path leads to.
    pub(super) fn at(&self, path: &[Step<'_>]) -> Says<'_> {
        let mut parts = self.unfolded(&self.root);
        for step in path {
            let inner = parts.iter().filter_map(|part| match step {
                Step::Key(key) => {
                    let property = part.get("properties").and_then(|properties| properties.get(key));
                    property
                        .or_else(|| part.get("additionalProperties"))
                        .filter(|schema| schema.is_object())
                }
                Step::Item => part.get("items"),
            });
            parts = inner.flat_map(|schema| self.unfolded(schema)).collect();
        }
        Says { parts }
    }

    /// A schema with those that it refers to or chooses from, itself first.
    fn unfolded<'s>(&'s self, schema: &'s Value) -> Vec<&'s Value> {
        let mut parts = Vec::new();
        let mut open = vec![(schema, 0)];
        while let Some((part, depth)) = open.pop() {
            parts.push(part);
            if depth == MAX_DEPTH {
                continue;
            }
            let mut inner: Vec<&Value> = ["then", "else"].iter().filter_map(|key| part.get(key)).collect();
            for key in ["anyOf", "oneOf", "allOf"] {
                inner.extend(part.get(key).and_then(Value::as_array).into_iter().flatten());
            }
            let target = part
                .get("$ref")
                .and_then(Value::as_str)
                .and_then(|target| target.strip_prefix('#'));
            inner.extend(target.and_then(|pointer| self.root.pointer(pointer)));
            open.extend(inner.into_iter().rev().map(|part| (part, depth + 1)));
        }
        parts
    }
}

impl<'s> Says<'s> {
    /// What the position is for, in the words next to it.
    pub(super) fn description(&self) -> Option<&'s str> {
        self.texts("description").next()
    }

    /// What is expected, in words.
    pub(super) fn expects(&self) -> Option<&'s str> {
        self.texts("x-expects").next()
    }

    /// What its texts are names of.
    pub(super) fn refers(&self) -> Option<Refers<'s>> {
        self.parts.iter().find_map(|part| Refers::of_texts(part))
    }

    /// What its keys are names of.
    pub(super) fn keys_refer(&self) -> Option<Refers<'s>> {
        self.parts.iter().find_map(|part| Refers::of_keys(part))
    }

    /// The value where none is given.
    pub(super) fn default(&self) -> Option<&'s Value> {
        self.parts.iter().find_map(|part| part.get("default"))
    }

    /// Values that show what is meant.
    pub(super) fn examples(&self) -> impl Iterator<Item = &'s Value> {
        self.parts
            .iter()
            .filter_map(|part| part.get("examples")?.as_array())
            .flatten()
    }

    /// The words or numbers that it may be.
    pub(super) fn words(&self) -> Vec<&'s Value> {
        let constants = self.parts.iter().filter_map(|part| part.get("const"));
        let words = self
            .parts
            .iter()
            .filter_map(|part| part.get("enum")?.as_array())
            .flatten();
        words.chain(constants).collect()
    }

    /// The keys that it may have, each with its schema, in the order of the schema.
    pub(super) fn keys(&self) -> impl Iterator<Item = (&'s str, &'s Value)> {
        let properties = self
            .parts
            .iter()
            .filter_map(|part| part.get("properties")?.as_object());
        properties
            .flat_map(Map::iter)
            .map(|(key, schema)| (key.as_str(), schema))
    }

    /// Whether it may be a value of this type.
    pub(super) fn takes(&self, kind: &str) -> bool {
        self.parts.iter().any(|part| match part.get("type") {
            Some(Value::String(one)) => one == kind,
            Some(Value::Array(several)) => several.iter().any(|one| one == kind),
            _ => false,
        })
    }

    fn texts(&self, key: &'static str) -> impl Iterator<Item = &'s str> {
        self.parts.iter().filter_map(move |part| part.get(key)?.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_through_references_and_choices() {
        let schema = Schema::of("topology/shop.yaml");
        let check = |path: &[Step<'_>], words: &[&str]| {
            let says = schema.at(path);
            assert_eq!(says.words(), words, "{path:?}");
            assert!(says.description().is_some(), "{path:?}");
        };
        check(
            &[
                Step::Key("clusters"),
                Step::Key("pay"),
                Step::Key("servers"),
                Step::Key("x"),
                Step::Key("state"),
            ],
            &["online", "draining", "offline"],
        );
        check(
            &[Step::Key("shard_maps"), Step::Key("m"), Step::Key("conflict")],
            &["reject", "first"],
        );
        let password = schema.at(&[Step::Key("users"), Step::Key("app"), Step::Key("password")]);
        let keys: Vec<&str> = password.keys().map(|(key, _)| key).collect();
        assert_eq!(keys, ["env", "file", "command", "previous"]);
        assert!(schema.at(&[Step::Key("users"), Step::Item]).words().is_empty());
        let engines = Schema::of(PROJECT_FILE);
        assert_eq!(
            engines.at(&[Step::Key("engines"), Step::Item]).words(),
            ["bundled", "proxysql-2.7", "proxysql-3.0"]
        );
    }
}
