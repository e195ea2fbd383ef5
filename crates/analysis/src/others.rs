//! What a configuration does not say of the proxy that runs it.

use shardwright_rules::NamePattern;

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
