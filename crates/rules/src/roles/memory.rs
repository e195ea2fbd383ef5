//! What roles depend on beside what is seen now.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Claim;
use crate::Address;

/// What the roles of a cluster depend on beside what is seen now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoleMemory {
    /// The servers that wrote last.
    pub(super) writers: Vec<Address>,
    /// In a cluster of type replication: what each server's flag has said so far.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) claims: BTreeMap<Address, Claim>,
}

impl RoleMemory {
    /// Forgets a server: there is another one in its place.
    pub fn forget(&mut self, server: &Address) {
        self.writers.retain(|writer| writer != server);
        self.claims.remove(server);
    }

    /// A server is to write in the place of those that did.
    pub(super) fn prefer(&mut self, server: &Address) {
        self.writers = vec![server.clone()];
    }

    pub(super) fn knows_anything(&self) -> bool {
        !self.writers.is_empty() || !self.claims.is_empty()
    }

    pub(super) fn wrote_last(&self, server: &Address) -> bool {
        self.writers.contains(server)
    }

    /// Who writes now; if nobody does, who wrote last is still known.
    pub(super) fn remember(&mut self, writers: Vec<Address>) {
        if !writers.is_empty() {
            self.writers = writers;
        }
    }
}
