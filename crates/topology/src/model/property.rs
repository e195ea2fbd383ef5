//! Properties: what must hold for every statement of a domain.

use std::sync::Arc;

use super::{EngineName, Expectation, OriginId, StatementKind};

/// What must hold for every statement that it is about.
#[derive(Clone, Debug, PartialEq)]
pub struct Property {
    /// Its name: a sentence.
    pub name: Arc<str>,
    /// Where it was written.
    pub origin: OriginId,
    /// Engines that it is for; empty for every one that the project lists.
    pub engines: Vec<EngineName>,
    /// Which statements it is about.
    pub domain: PropertyDomain,
    /// What must hold.
    pub claim: PropertyClaim,
}

/// Which statements a property is about; an empty list is no limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PropertyDomain {
    /// Names of users.
    pub users: Vec<Arc<str>>,
    /// Schemas that sessions are in.
    pub schemas: Vec<Arc<str>>,
    /// Kinds of statements.
    pub statements: Vec<StatementKind>,
    /// Only statements that a shard of this map places.
    pub map: Option<Arc<str>>,
}

/// What must hold.
#[derive(Clone, Debug, PartialEq)]
pub enum PropertyClaim {
    /// This, of each statement.
    Each(Box<Expectation>),
    /// Statements of two shards never meet in one place.
    Disjoint,
}
