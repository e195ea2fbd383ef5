//! What was read of a target, and what of that a plan names as its base.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shardwright_rules::{Configuration, ServerLimit};

/// What a target runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Observed {
    /// Counts the configurations that the target has run; 0 before the first one.
    pub generation: u64,
    /// [`Configuration::fingerprint`] of what it runs; empty before the first one.
    pub fingerprint: String,
    /// The project that it belongs to; `None` where nobody with a name has applied to it.
    pub project: Option<String>,
    /// What it runs; `None` before the first one.
    pub configuration: Option<Configuration>,
    /// What servers have told it of how many connections they take; empty where it does not ask.
    pub server_limits: Vec<ServerLimit>,
}

impl Observed {
    /// What a plan is computed from.
    pub fn base(&self) -> Base {
        Base {
            generation: self.generation,
            fingerprint: self.fingerprint.clone(),
            project: self.project.clone(),
        }
    }
}

/// A state of a target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Base {
    /// Generation; 0 before the first configuration.
    pub generation: u64,
    /// Fingerprint of the configuration; empty before the first one.
    pub fingerprint: String,
    /// The project that the target belongs to, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
}
