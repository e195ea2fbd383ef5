//! What the evaluator answers.

use std::sync::Arc;

use serde::Serialize;
use smallvec::SmallVec;

use crate::assumed::AssumedTable;
use crate::refusal::Rejection;
use crate::{Address, HostgroupId, Role, Throttled, Withheld};

/// Positions of rules; as many as most statements match are held without a heap.
pub type Hits = SmallVec<[u32; 20]>;

/// The decision about one statement, and how it came about.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Decision {
    /// What happens to the statement.
    pub outcome: Outcome,
    /// Patterns that were run.
    pub evaluations: u32,
    /// Rules that were looked at, of other chains too.
    pub visits: u32,
    /// Positions in [`crate::RuleGraph::rules`] of the rules that matched, in order.
    pub hits: Hits,
    /// Positions of the rows of which the engine may decide otherwise: their patterns could not be evaluated on the
    /// statement and were taken for patterns that do not match, or they ask for a digest that is not determined
    /// ([`shardwright_sql::Digest::is_determined`]).
    pub unknown: Hits,
    /// The statement ends in a comment that the engine reads annotations from, and behind it whatever its memory holds.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unsure: bool,
    /// The evaluation was given up ([`crate::decide::Index::most_steps`]): the outcome is none of the engine's.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_cut: bool,
    /// The rules that matched, in order, human-readable; empty when nobody asked.
    pub path: Vec<Step>,
}

/// A decision as a proxy obeys it: without what only people want to know.
#[derive(Clone, Debug, PartialEq)]
pub struct Dispatch {
    /// What happens to the statement.
    pub outcome: Outcome<Destination>,
    /// As in [`Decision::hits`].
    pub hits: Hits,
}

/// What happens to a statement.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub enum Outcome<R = Route> {
    /// It is sent to a hostgroup.
    Route(R),
    /// The client gets an error.
    Reject(Rejection),
    /// The client gets OK with this text.
    Answer {
        /// The text of the OK packet.
        message: String,
    },
    /// The engine answers, whatever rules say: their hostgroup and the flag that they set do not count.
    Own {
        /// With what.
        answer: OwnAnswer,
        /// The text that rules made of the one that was sent, to which it answers.
        #[serde(skip)]
        rewritten: Option<Vec<u8>>,
    },
    /// BEGIN is answered with OK; the transaction opens where the session's next statement with a key goes.
    DeferBegin,
}

/// What an engine answers itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OwnAnswer {
    /// `USE`: the session's schema is another one from here on.
    Schema,
    /// `SET` of what the engine follows: it sets it on servers when it is needed there.
    Set,
    /// COMMIT or ROLLBACK without an open transaction: nothing happens.
    NoTransaction,
    /// What the engine knows better than a server: `SELECT CONNECTION_ID()`, `KILL`, `SHOW WARNINGS` and their kin.
    OfEngine,
}

/// Where a statement goes, and as what.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Route {
    /// The hostgroup.
    pub hostgroup: HostgroupId,
    /// Its cluster; `None` when the configuration has no such hostgroup.
    pub cluster: Option<Arc<str>>,
    /// Its role in that cluster.
    pub role: Option<Role>,
    /// The shard that a map placed it on; where maps compose, the one of the last map that matched.
    pub shard: Option<Address>,
    /// The text to send, when it differs from the statement's.
    #[serde(skip)]
    pub rewritten: Option<Vec<u8>>,
    /// The schema that the backend session must be in, when it differs from the client session's.
    pub backend_schema: Option<Arc<str>>,
    /// What else the rules ask for.
    pub effects: Effects,
    /// The session stays locked on the hostgroup: what it does next must go there too. ProxySQL, after a SET that it
    /// cannot follow.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub locks: bool,
    /// What was taken for granted about tables of the schema on the shard; whoever sends the statement sees to it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub assumed: Vec<AssumedTable>,
}

/// A route without names: as much of it as a statement needs on its way.
#[derive(Clone, Debug, PartialEq)]
pub struct Destination {
    /// The hostgroup.
    pub hostgroup: HostgroupId,
    /// A map placed it on a shard.
    pub is_on_shard: bool,
    /// Nothing is there where it is what most statements have.
    besides: Option<Box<Besides>>,
}

/// What a statement has on its way besides its hostgroup.
#[derive(Clone, Debug, PartialEq)]
pub struct Besides {
    /// As in [`Route::rewritten`].
    pub rewritten: Option<Vec<u8>>,
    /// As in [`Route::backend_schema`].
    pub backend_schema: Option<Arc<str>>,
    /// As in [`Route::effects`].
    pub effects: Effects,
    /// As in [`Route::assumed`].
    pub assumed: Vec<AssumedTable>,
}

impl Besides {
    /// Most statements go as they are.
    pub const NOTHING: Self = Self {
        rewritten: None,
        backend_schema: None,
        effects: Effects::NONE,
        assumed: Vec::new(),
    };
}

impl Destination {
    /// A statement goes there with what there is besides.
    pub fn new(hostgroup: HostgroupId, is_on_shard: bool, besides: Besides) -> Self {
        Self {
            besides: (besides != Besides::NOTHING).then(|| Box::new(besides)),
            ..Self::plain(hostgroup, is_on_shard)
        }
    }

    /// A statement goes there as it is.
    #[inline]
    pub fn plain(hostgroup: HostgroupId, is_on_shard: bool) -> Self {
        Self {
            hostgroup,
            is_on_shard,
            besides: None,
        }
    }

    /// What there is besides.
    #[inline]
    pub fn besides(&self) -> &Besides {
        static NOTHING: Besides = Besides::NOTHING;
        self.besides.as_deref().unwrap_or(&NOTHING)
    }
}

impl From<Route> for Destination {
    fn from(route: Route) -> Self {
        let besides = Besides {
            rewritten: route.rewritten,
            backend_schema: route.backend_schema,
            effects: route.effects,
            assumed: route.assumed,
        };
        Self::new(route.hostgroup, route.shard.is_some(), besides)
    }
}

impl From<Decision> for Dispatch {
    fn from(decision: Decision) -> Self {
        let outcome = match decision.outcome {
            Outcome::Route(route) => Outcome::Route(route.into()),
            Outcome::Reject(rejection) => Outcome::Reject(rejection),
            Outcome::Answer { message } => Outcome::Answer { message },
            Outcome::Own { answer, rewritten } => Outcome::Own { answer, rewritten },
            Outcome::DeferBegin => Outcome::DeferBegin,
        };
        Self {
            outcome,
            hits: decision.hits,
        }
    }
}

/// Effects on a statement that is sent; `None` where no rule said anything.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Effects {
    /// Pause before it is sent, ms.
    pub delay_ms: Option<u32>,
    /// 0: keep the connection for the session; 1: do not; 2: variables in this statement do not keep it.
    pub multiplex: Option<u8>,
    /// Result cache, ms.
    pub cache_ttl_ms: Option<u32>,
    /// Whether an empty result is cached.
    pub cache_empty_result: Option<bool>,
    /// Execution time after which the statement is killed, ms.
    pub timeout_ms: Option<u32>,
    /// Retries after a lost connection.
    pub retries: Option<u32>,
    /// The flag that the session's next statements start at.
    pub next_query_flag_in: Option<u32>,
    /// Where a copy is sent.
    pub mirror_hostgroup: Option<u32>,
    /// Whether it is written to the event log.
    pub log: Option<bool>,
    /// It is answered by a server that has what the session has written, whatever hostgroup it is sent to.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub causal: bool,
    /// Throttles that slow it as their signals and limits say, in the order of their rules.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub throttles: Vec<Throttled>,
}

impl Default for Effects {
    fn default() -> Self {
        Self::NONE
    }
}

impl Effects {
    /// No rule said anything.
    pub const NONE: Self = Self {
        delay_ms: None,
        multiplex: None,
        cache_ttl_ms: None,
        cache_empty_result: None,
        timeout_ms: None,
        retries: None,
        next_query_flag_in: None,
        mirror_hostgroup: None,
        log: None,
        causal: false,
        throttles: Vec::new(),
    };

    /// The pause that does not depend on a signal, ms.
    #[must_use]
    pub fn certain_delay_ms(&self) -> Option<u32> {
        let always = self
            .throttles
            .iter()
            .filter_map(|throttled| throttled.throttle.certain_delay_ms());
        always.chain(self.delay_ms).max()
    }

    /// The effects that remain to a command.
    pub(crate) fn without(mut self, withheld: Withheld) -> Self {
        if withheld.delay {
            self.delay_ms = None;
            self.throttles.clear();
        }
        if withheld.cache {
            self.cache_ttl_ms = None;
            self.cache_empty_result = None;
        }
        if withheld.mirror {
            self.mirror_hostgroup = None;
        }
        if withheld.retries {
            self.retries = None;
        }
        self
    }
}

/// A rule that matched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    /// Its id.
    pub rule_id: u32,
    /// The object of the topology that it came from; for a map, the shard where one was found.
    pub address: Address,
    /// What made it match, human-readable.
    pub why: Arc<str>,
    /// The chain that it jumped to.
    pub flag_out: Option<u32>,
}
