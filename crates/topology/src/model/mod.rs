//! What users mean, after generators, merging and references are resolved: plain data for the compiler.
//!
//! Objects carry an [`OriginId`]; where they were written, and by which generator instance, stands in [`Origins`].

mod cluster;
mod effects;
mod key;
mod lint;
mod moves;
mod origins;
mod policy;
mod project;
mod property;
mod query_rules;
mod refuser;
mod route_test;
mod scope;
mod shard_map;
mod statement_route;
mod surroundings;
mod table;
mod throttle;
mod user;

pub use cluster::{Cluster, ClusterId, ClusterKind, GALERA_TRANSACTIONS_BEHIND, HostgroupPins, Server};
pub use effects::{Allowed, Cache, Firewall, Mirror, Multiplex, Pooling, PoolingException};
pub use key::{HashFunction, Key, KeyRange, MAX_MODULO, Placement};
pub use lint::{FieldCondition, FieldTest, LintPath, LintSettings, TeamItems, TeamRule, TeamTest, TeamValue};
pub use moves::{Move, OpenTransactions};
pub use origins::{DefinitionId, FieldId, Instance, OriginId, Origins};
pub use policy::{CommentHint, Consistency, OnUnsupported, ReadClass, ReadSelection, ReadWritePolicy};
pub use project::{
    EngineEntry, EngineName, Environment, IdRanges, Manage, Managed, ProjectFile, Safety, ServerAccount,
    SharedState, StateSettings, StateStore, Switchover, Target, Unmanaged,
};
pub use property::{Property, PropertyClaim, PropertyDomain};
pub use query_rules::{BlockPlace, RawRefusing, RawRoute, RawRule, RefusedBy, RuleBlock};
pub use route_test::{Expectation, ExpectedOutcome, RouteTest, TestCommand, TestSession, TestStep};
pub use scope::Scope;
pub use shard_map::{
    CountHitsBy, MissingAction, MissingKey, RuleLayout, Shard, ShardMap, ShardMapId, UnknownKey,
};
pub use shardwright_vocabulary::{
    ClientTls, CommentForm, Conflict, Failback, Finder, FirewallMode, InShards, KeyKind, KeyTemplate,
    KeyValue, MissingBegin, NamePattern, Names, OnClientGone, OnUnknown, ReadOnlyCheck, RegexEngine, Role,
    RolesBy, ServerState, ServerTls, Severity, SlowReaders, StatedTables, StatementKind, Supposition,
    UnknownLag, Unqualified, Words, WriterServesReads,
};
pub use statement_route::{RouteEnd, StatementRoute};
pub use surroundings::{EngineFamily, EngineVariables, Listener, Monitor, Refuser};
pub use table::{Named, Table};
pub use throttle::{Delay, Signal, SignalLevels, SignalSource, Throttle};
pub use user::{Annotations, PlainText, Secret, SecretSource, User};

/// Everything that users wrote, resolved. Tables keep the order of definition: files by path, then by line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Topology {
    /// Groups of servers that hold the same data.
    pub clusters: Table<Cluster>,
    /// Accounts of clients.
    pub users: Table<User>,
    /// Where statements carry their keys, and where each shard is.
    pub shard_maps: Table<ShardMap>,
    /// Which statements may leave the writer.
    pub read_write_policies: Table<ReadWritePolicy>,
    /// Statements that go to a cluster, or are refused, before maps and policies see them; the first that matches counts.
    pub routes: Table<StatementRoute>,
    /// Which statements are slowed, and when.
    pub throttles: Table<Throttle>,
    /// How sessions share connections.
    pub pooling: Option<Pooling>,
    /// Statements after which connections are shared differently.
    pub pooling_exceptions: Table<PoolingException>,
    /// Statements whose results are kept.
    pub caches: Table<Cache>,
    /// Statements that are also copied to a second cluster.
    pub mirrors: Table<Mirror>,
    /// What users may send, by user.
    pub firewall: Table<Firewall>,
    /// Rules in the engine's own columns.
    pub query_rules: Table<RuleBlock>,
    /// Ports that clients connect to.
    pub listeners: Table<Listener>,
    /// The account that watches servers.
    pub monitor: Option<Monitor>,
    /// Variables of engines; one entry per family.
    pub engine_settings: Vec<EngineVariables>,
    /// Shards on their way.
    pub moves: Vec<Move>,
}

impl Topology {
    /// The cluster that a resolved reference means.
    ///
    /// # Panics
    /// When `id` comes from another topology.
    #[must_use]
    pub fn cluster(&self, id: ClusterId) -> &Cluster {
        &self.clusters[id.0 as usize]
    }

    /// The shard map that a resolved reference means.
    ///
    /// # Panics
    /// When `id` comes from another topology.
    #[must_use]
    pub fn shard_map(&self, id: ShardMapId) -> &ShardMap {
        &self.shard_maps[id.0 as usize]
    }
}

/// A whole project: its project file, its topology, and where everything was written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Project {
    /// What `shardwright.yaml` says.
    pub file: ProjectFile,
    /// What the files under `topology/` say.
    pub topology: Topology,
    /// What the files under `tests/` say, where they were read.
    pub route_tests: Vec<RouteTest>,
    /// Their properties.
    pub properties: Vec<Property>,
    /// How many tests and properties were not read because they are for other environments.
    pub tests_elsewhere: usize,
    /// Addresses and places of all objects.
    pub origins: Origins,
}
