//! Plans as files: written once, and refused when they are not what was written.

use std::collections::BTreeSet;
use std::io::Read;

use jiff::Timestamp;
use serde::Deserialize;
use shardwright_rules::FORMAT_VERSION;
use thiserror::Error;

use crate::{Plan, SCHEMA_VERSION};

/// The largest file that is read as a plan.
pub const MAX_PLAN_BYTES: u64 = 1 << 30;

/// Why a file is not a plan that can be applied.
#[derive(Debug, Error)]
pub enum LoadError {
    /// It cannot be read.
    #[error("the plan cannot be read: {0}")]
    Read(#[from] std::io::Error),
    /// It is larger than any plan.
    #[error("the file is larger than {limit} bytes, the most that is read as a plan")]
    Oversize {
        /// The limit, in bytes.
        limit: u64,
    },
    /// It is not JSON, or not a plan.
    #[error("the file is not a plan: {0}")]
    NotAPlan(serde_json::Error),
    /// Another version of this program wrote it.
    #[error("the plan has schema_version {found}, this program reads {SCHEMA_VERSION}")]
    UnknownVersion {
        /// What the file says.
        found: u64,
    },
    /// A configuration in it has another format.
    #[error("the plan holds a configuration of format {found}, this program reads {FORMAT_VERSION}")]
    UnknownFormat {
        /// What the file says.
        found: u32,
    },
    /// It is not what was written.
    #[error("the plan was changed after it was made: {what}; make a new plan")]
    Tampered {
        /// What does not fit.
        what: String,
    },
    /// Its time is over.
    #[error("the plan expired at {expires_at}, it is {now}; make a new plan")]
    Expired {
        /// When it stopped being applicable.
        expires_at: Timestamp,
        /// The time that it was compared with.
        now: Timestamp,
    },
}

/// Only the version, so that a plan of a later one is refused for that and not for a field.
#[derive(Deserialize)]
struct Version {
    schema_version: u64,
}

impl Plan {
    /// The plan as compact JSON: the same bytes for equal plans.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a plan has string keys only, so JSON can hold it")
    }

    /// Reads a plan in order to apply it; `now` is compared with its expiry.
    pub fn load(source: impl Read, now: Timestamp) -> Result<Self, LoadError> {
        let plan = Self::read(source)?;
        if now >= plan.expires_at {
            return Err(LoadError::Expired {
                expires_at: plan.expires_at,
                now,
            });
        }
        Ok(plan)
    }

    /// Reads a plan in order to show it, also when it has expired.
    pub fn read(source: impl Read) -> Result<Self, LoadError> {
        Self::read_up_to(source, MAX_PLAN_BYTES)
    }

    fn read_up_to(source: impl Read, limit: u64) -> Result<Self, LoadError> {
        let mut bytes = Vec::new();
        source.take(limit + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > limit {
            return Err(LoadError::Oversize { limit });
        }
        let version: Version = serde_json::from_slice(&bytes).map_err(LoadError::NotAPlan)?;
        if version.schema_version != u64::from(SCHEMA_VERSION) {
            return Err(LoadError::UnknownVersion {
                found: version.schema_version,
            });
        }
        let plan: Self = serde_json::from_slice(&bytes).map_err(LoadError::NotAPlan)?;
        plan.check_integrity()?;
        Ok(plan)
    }

    fn check_integrity(&self) -> Result<(), LoadError> {
        let tampered = |what: String| Err(LoadError::Tampered { what });
        if self.id != self.computed_id() {
            return tampered("its content does not have its id".into());
        }
        for (fingerprint, configuration) in &self.configurations {
            if configuration.format != FORMAT_VERSION {
                return Err(LoadError::UnknownFormat {
                    found: configuration.format,
                });
            }
            if configuration.fingerprint() != *fingerprint {
                return tampered(format!(
                    "configuration {fingerprint} does not have its fingerprint"
                ));
            }
        }
        let mut names = BTreeSet::new();
        for target in &self.targets {
            let name = &target.name;
            if !names.insert(name) {
                return tampered(format!("target {name} appears twice"));
            }
            let desired = self.configurations.get(&target.desired);
            if desired.is_none_or(|desired| desired.engine != target.engine) {
                return tampered(format!("the configuration of target {name} is not there"));
            }
            if target.effect_digest != target.computed_effect_digest() {
                return tampered(format!("the effects on target {name} do not have their digest"));
            }
        }
        if self.effect_digest != self.computed_effect_digest() {
            return tampered("its effects do not have their digest".into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_over_the_limit_is_not_read_to_its_end() {
        let endless = std::io::repeat(b' ');
        let error = Plan::read_up_to(endless, 1000).unwrap_err();
        insta::assert_snapshot!(error, @"the file is larger than 1000 bytes, the most that is read as a plan");
    }
}
