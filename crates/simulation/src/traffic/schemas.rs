//! The schemas that a session may be in whose schema a log does not tell.
//!
//! Rules compare schemas with names. So the names that rules have, one that no rule has, and none stand for all schemas.

use std::collections::BTreeSet;

use shardwright_rules::{Body, Configuration, NativeStep};

use super::Schema;

/// More names than these are not tried for each statement.
const MOST_NAMES: usize = 64;

/// Names that stand for all schemas.
pub(super) struct Candidates {
    /// `None`: no list of names stands for all, or it would be too long.
    names: Option<Vec<String>>,
}

impl Candidates {
    pub(super) fn of(configurations: [&Configuration; 2]) -> Self {
        let mut names = BTreeSet::new();
        let is_listed = configurations.into_iter().all(|one| add_names(one, &mut names));
        let names: Vec<String> = names.into_iter().collect();
        Self {
            names: (is_listed && names.len() <= MOST_NAMES).then(|| {
                let other = longer_than(&names);
                names.into_iter().chain([other]).collect()
            }),
        }
    }

    /// The schemas that a session may be in; `assumed` stands in for what no record tells. `None`: it may be in any.
    pub(super) fn of_record<'r>(
        &'r self,
        schema: Schema<'r>,
        assumed: Option<&'r str>,
    ) -> Option<Vec<Option<&'r str>>> {
        match (schema, assumed) {
            (Schema::Is(name), _) => Some(vec![Some(name)]),
            (Schema::NoSchema, _) | (Schema::NotRecorded, None) => Some(vec![None]),
            (Schema::NotRecorded | Schema::Unknown, Some(name)) => Some(vec![Some(name)]),
            (Schema::OrNone(name), _) => Some(vec![Some(name), None]),
            (Schema::Unknown, None) => {
                let names = self.names.as_ref()?;
                Some(
                    names
                        .iter()
                        .map(|name| Some(name.as_str()))
                        .chain([None])
                        .collect(),
                )
            }
        }
    }
}

/// A name that is none of these.
fn longer_than(names: &[String]) -> String {
    let longest = names.iter().map(String::len).max().unwrap_or_default();
    "x".repeat(longest + 1)
}

/// Adds the names that a configuration compares schemas with; false if there are others that no list has.
fn add_names(configuration: &Configuration, names: &mut BTreeSet<String>) -> bool {
    let graph = &configuration.graph;
    names.extend(graph.fast_routing.iter().map(|row| row.schemaname.clone()));
    let is_listed = graph.rules.iter().all(|rule| match &rule.body {
        Body::Engine(row) => {
            names.extend(row.schemaname.clone());
            true
        }
        // A map may find its key in the schema, and takes the tables of a statement for those of the schema.
        Body::Native {
            step: NativeStep::Map(_),
            ..
        } => false,
        Body::Native { scope, .. } => {
            let mut patterns = scope.schemas.any_of.iter().chain(&scope.schemas.except);
            patterns.all(|pattern| {
                let pattern = pattern.as_str();
                names.insert(pattern.to_owned());
                pattern == "*" || !pattern.contains(['*', '?'])
            })
        }
    });
    is_listed && !graph.rules.iter().any(names_tables)
}

/// Whether a rule asks for tables, which belong to the session's schema where a statement names none.
fn names_tables(rule: &shardwright_rules::Rule) -> bool {
    matches!(&rule.body, Body::Native { scope, .. } if !scope.tables.is_any())
}
