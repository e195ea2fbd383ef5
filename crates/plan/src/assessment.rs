//! What an apply would be: what is different, what is risky about it, and what is done in which order.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use shardwright_rules::{Address, Configuration};
use shardwright_vocabulary::{Severity, Words};

use crate::{Difference, Observed, compare};

/// What an apply to a target would be.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Assessment {
    /// What would be different.
    pub difference: Difference,
    /// What is risky about it on this target, and what the target cannot hold.
    pub hazards: Vec<Hazard>,
    /// What would be done, in order; empty when nothing is different.
    pub steps: Vec<Step>,
}

impl Assessment {
    /// Of a target that replaces its whole configuration in one request; before its first one it counts as empty.
    pub fn of_whole(observed: &Observed, desired: &Configuration) -> Self {
        let empty;
        let current = match &observed.configuration {
            Some(configuration) => configuration,
            None => {
                empty = Configuration::empty(desired.engine);
                &empty
            }
        };
        Self {
            difference: compare(current, desired),
            hazards: Vec::new(),
            steps: vec![Step::CompareBase, Step::Swap, Step::Verify],
        }
    }
}

/// Something risky about the desired configuration, or something that the target cannot hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hazard {
    /// The finding's code.
    pub code: String,
    /// How grave it is.
    #[schemars(schema_with = "severity")]
    pub severity: Severity,
    /// What it is, human-readable.
    pub message: String,
    /// The object that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub address: Option<Address>,
    /// Whether the target has it already: an error that an apply does not bring does not refuse it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_live: bool,
}

fn severity(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "enum": Severity::words()})
}

/// One thing that is done to a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Read what the target runs and compare it with the base.
    CompareBase,
    /// Replace everything in one request that names the base.
    Swap,
    /// Keep others from applying, refuse what they have staged, and store what is needed to go back.
    Reserve,
    /// Load what the new rules need: variables, hostgroups, servers, entries of the firewall.
    Expand,
    /// Load the rules with fast routing, and then the users that they are for.
    Switch,
    /// Load what is left when that goes which nothing leads to any more.
    Contract,
    /// Read the target again: nothing may differ from the desired configuration.
    Verify,
    /// Save to disk what is live.
    Save,
}
