//! What roles depend on beside what is seen now.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::sisters::{Doubt, SisterReport};
use super::{Claim, claims};
use crate::{Address, ClusterKind};

/// What the roles of a cluster depend on beside what is seen now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoleMemory {
    /// The servers that wrote last.
    pub(super) writers: Vec<Address>,
    /// In a cluster of type replication: what each server's flag has said so far.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) claims: BTreeMap<Address, Claim>,
    /// Why no server writes, although other proxies may write somewhere. A person or another apply ends it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) doubt: Option<Doubt>,
}

impl RoleMemory {
    /// Forgets a server: there is another one in its place.
    pub fn forget(&mut self, server: &Address) {
        self.writers.retain(|writer| writer != server);
        self.claims.remove(server);
    }

    /// The servers that write, or did last: no other takes over from them without a promotion or a failure.
    #[must_use]
    pub fn last_writers(&self) -> Vec<Address> {
        match claims::holder(&self.claims) {
            Some(holder) => vec![holder.clone()],
            None => self.writers.clone(),
        }
    }

    /// Nothing writes until somebody says where the other proxies write.
    #[must_use]
    pub fn of_doubt(doubt: Doubt) -> Self {
        Self {
            doubt: Some(doubt),
            ..Self::default()
        }
    }

    /// Takes up what other proxies say of the writers. A proxy that has seen who writes knows better.
    pub fn hear(&mut self, kind: &ClusterKind, report: &SisterReport) {
        if self.knows_anything() && self.doubt.is_none() {
            return;
        }
        match report {
            SisterReport::Writers(writers) => self.believe(kind, writers),
            SisterReport::Doubt(doubt) => self.doubt = Some(doubt.clone()),
        }
    }

    /// These servers are to write in the place of those that did.
    pub(super) fn believe(&mut self, kind: &ClusterKind, writers: &[Address]) {
        self.doubt = None;
        self.writers = writers.to_vec();
        if let (ClusterKind::Replication { .. }, [writer]) = (kind, writers) {
            claims::promote(&mut self.claims, writer);
        }
    }

    pub(super) fn knows_anything(&self) -> bool {
        !self.writers.is_empty() || !self.claims.is_empty() || self.doubt.is_some()
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
