//! The shard that a statement's key is of, where one rule decides several shards.
//!
//! Neighbouring keys on one cluster share a rule of ProxySQL, so that its match does not tell which of them was found. The
//! maps of the same project for the bundled engine know every key, and their evaluator reads it as the rules do.

use std::sync::Arc;

use shardwright_rules::{Address, Configuration, Evaluator, MapStep, Outcome, SessionView, Statement};

/// The keys of a project's shard maps.
#[derive(Clone, Debug, Default)]
pub struct KeyedShards {
    evaluator: Option<Arc<Evaluator>>,
    maps: Vec<MapStep>,
}

impl KeyedShards {
    /// Those of a configuration for the bundled engine.
    #[must_use]
    pub fn of(bundled: &Arc<Configuration>) -> Self {
        Self {
            maps: bundled.graph.maps().cloned().collect(),
            evaluator: Some(Arc::new(Evaluator::new(Arc::clone(bundled)))),
        }
    }

    /// Maps of which no statement is decided.
    #[must_use]
    pub fn of_maps(maps: Vec<MapStep>) -> Self {
        Self {
            evaluator: None,
            maps,
        }
    }

    /// The maps.
    #[must_use]
    pub fn maps(&self) -> &[MapStep] {
        &self.maps
    }

    /// The one of these shards that the key of a statement is of; `None`: that is not known.
    #[must_use]
    pub fn among(
        &self,
        session: &SessionView<'_>,
        statement: &Statement<'_>,
        shards: &[Address],
    ) -> Option<Address> {
        if let [] | [_] = shards {
            return shards.first().cloned();
        }
        let shard = match self.evaluator.as_ref()?.decide(session, statement).outcome {
            Outcome::Route(route) => route.shard?,
            Outcome::Reject(rejection) => rejection.address?,
            Outcome::Answer { .. } | Outcome::Own { .. } | Outcome::DeferBegin => return None,
        };
        shards.contains(&shard).then_some(shard)
    }
}
