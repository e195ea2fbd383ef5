//! What a configuration does not say of the proxy that runs it.

use std::collections::BTreeSet;

use shardwright_rules::{HostgroupId, NamePattern};

/// What is known besides a configuration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Beside {
    /// Users of others.
    pub users: OtherUsers,
    /// Hostgroups whose servers the engine's monitor finds by itself.
    pub filled_hostgroups: BTreeSet<HostgroupId>,
    /// Servers tell the GTIDs that they have.
    pub reports_gtids: bool,
}

/// Users who may log in besides those of a configuration, because somebody else looks after them.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum OtherUsers {
    /// There are none.
    #[default]
    None,
    /// Any but those whose names these are.
    AllBut(Vec<NamePattern>),
}

impl OtherUsers {
    /// Whether there may be one of this name.
    pub fn may_have(&self, name: &str) -> bool {
        match self {
            Self::None => false,
            Self::AllBut(own) => !own.iter().any(|pattern| pattern.matches(name)),
        }
    }
}
