//! What users may send: an engine's list of allowed digests.

use serde::{Deserialize, Serialize};

use crate::{Address, FirewallMode};

/// What a client is told whose statement is not allowed: `mysql-firewall_whitelist_errormsg`.
pub const FIREWALL_MESSAGE: &str = "the firewall of this proxy does not allow this statement to its user";

/// What one user may send. With such a list, an engine refuses every user who has none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Firewall {
    /// The user.
    pub user: String,
    /// `firewall.NAME`; for users who are not limited, `users.NAME`.
    pub address: Address,
    /// What happens to other statements.
    pub mode: FirewallMode,
    /// Session schemas in which the digests are allowed, sorted; compared exactly.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub schemas: Vec<String>,
    /// Flags at which the evaluation of the user's statements can end, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<u32>,
    /// Hashes of the digest texts that are allowed, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub digests: Vec<u64>,
}

impl Firewall {
    /// Whether the statement of this digest passes, in a session of this schema whose evaluation ended at this flag.
    pub fn passes(&self, schema: &str, flag: u32, digest: u64) -> bool {
        self.mode != FirewallMode::Protecting
            || (self.digests.binary_search(&digest).is_ok()
                && self.flags.binary_search(&flag).is_ok()
                && self
                    .schemas
                    .binary_search_by(|known| known.as_str().cmp(schema))
                    .is_ok())
    }
}
