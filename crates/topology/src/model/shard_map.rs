//! Shard maps: how a key is found and where each shard is.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{ClusterId, Key, KeyRange, KeyTemplate, KeyValue, OriginId, Scope, Table, Words};

/// A place in [`super::Topology::shard_maps`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShardMapId(pub u32);

/// How a key is found in statements, and where each shard is.
#[derive(Clone, Debug, PartialEq)]
pub struct ShardMap {
    /// The name after `shard_maps.`.
    pub name: Arc<str>,
    /// Where it was written.
    pub origin: OriginId,
    /// Whose statements it is about.
    pub applies_to: Scope,
    /// The schema that clients name and shards replace.
    pub logical_schema: Option<Arc<str>>,
    /// The key.
    pub key: Key,
    /// Where keys are found; every finder that yields a key must yield the same one. At least one.
    pub key_from: Vec<Finder>,
    /// What happens when finders disagree.
    pub conflict: Conflict,
    /// The shards in the order of definition, overrides applied; at least one.
    pub shards: Table<Shard>,
    /// The map that statements without this map's key go to.
    pub otherwise: Option<ShardMapId>,
    /// What becomes of tables without a schema, where shards are placed by schema.
    pub unqualified: Unqualified,
    /// What is stated about tables of the logical schema.
    pub tables: StatedTables,
    /// What becomes of statements without a key.
    pub missing_key: MissingKey,
    /// What becomes of statements with a key of no shard.
    pub unknown_key: UnknownKey,
    /// The layout of rules that is forced.
    pub rule_layout: RuleLayout,
}

/// What a map states about its tables; of others the bundled proxy asks their server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatedTables {
    /// Base tables.
    pub base: BTreeSet<Arc<str>>,
    /// Views that hand the key column on as it is, and the tables that they stand on.
    pub views: BTreeMap<Arc<str>, Vec<Arc<str>>>,
}

impl StatedTables {
    /// Nothing is stated.
    pub fn is_empty(&self) -> bool {
        self.base.is_empty() && self.views.is_empty()
    }
}

/// One shard. It has keys, ranges or remainders, by the map's [`super::Placement`].
#[derive(Clone, Debug, PartialEq)]
pub struct Shard {
    /// The name after `shards.`.
    pub name: Arc<str>,
    /// Where it was written.
    pub origin: OriginId,
    /// Where its override was written, if it has one.
    pub overridden: Option<OriginId>,
    /// Single values.
    pub keys: Box<[KeyValue]>,
    /// Ranges of integers.
    pub ranges: Box<[KeyRange]>,
    /// Ranges of remainders, within `0..modulo`.
    pub remainders: Box<[KeyRange]>,
    /// Its cluster; without one, statements stay where they would go anyway.
    pub cluster: Option<ClusterId>,
    /// Its schema; without one, names stay as they are. A shard has a cluster, a schema, or both.
    pub schema: Option<Arc<str>>,
}

/// Where a key is found.
#[derive(Clone, Debug, PartialEq)]
pub enum Finder {
    /// In a comment.
    Comment(CommentFinder),
    /// In the name of the session's schema.
    Schema(KeyTemplate),
    /// In a predicate or an INSERT.
    Column {
        /// The column's name.
        name: Arc<str>,
        /// Whether tables of shards have the column.
        in_shards: InShards,
    },
    /// In the names of the statement's tables.
    Table(KeyTemplate),
    /// In the name of the session's user.
    User(KeyTemplate),
}

/// How a comment names the key.
#[derive(Clone, Debug, PartialEq)]
pub struct CommentFinder {
    /// The word before `=`; the key's name where not said.
    pub word: Arc<str>,
    /// The form of the comment.
    pub form: CommentForm,
}

/// The form of a comment that holds a key.
#[derive(Clone, Debug, PartialEq)]
pub enum CommentForm {
    /// `key=value` pairs between other text.
    Pairs,
    /// Pairs whose values have percent signs decoded.
    Sqlcommenter,
    /// The whole trimmed comment is the key in this template.
    Exact(KeyTemplate),
}

/// Whether tables of shards have the key's column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InShards {
    /// They do.
    Present,
    /// They do not: the predicate is neutralised.
    Absent,
}

/// What happens when finders disagree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conflict {
    /// The statement is refused.
    Reject,
    /// The first finder in the order of `key_from` wins.
    First,
}

/// What becomes of tables that are named without a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unqualified {
    /// The statement is refused.
    Reject,
    /// They get the shard's schema.
    Qualify,
    /// The session's schema is the shard's, and the map checks it.
    SessionSchema,
}

/// What becomes of statements without a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissingKey {
    /// Statements in general.
    pub statements: MissingAction,
    /// SET, USE, SHOW, SELECT without a table, and what drivers send on connect.
    pub session_setup: MissingAction,
    /// The start of a transaction.
    pub begin: MissingBegin,
}

impl MissingKey {
    /// What holds where nothing is written.
    pub(crate) const DEFAULT: Self = Self {
        statements: MissingAction::Reject,
        session_setup: MissingAction::Allow,
        begin: MissingBegin::Reject,
    };
}

impl Default for MissingKey {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// What becomes of a statement without a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingAction {
    /// It is refused.
    Reject,
    /// The next section that matches, in the end the user's cluster as writer.
    Allow,
    /// It goes to that cluster's writer.
    Cluster(ClusterId),
}

/// What becomes of BEGIN without a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingBegin {
    /// It is refused.
    Reject,
    /// The transaction opens where its first keyed statement goes.
    FirstStatement,
    /// It goes where the next section sends it.
    Allow,
}

/// What becomes of statements with a key of no shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnknownKey {
    /// They are refused.
    Reject,
    /// They go to that cluster.
    Cluster(ClusterId),
}

/// How the map's rules are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleLayout {
    /// The compiler chooses by cost.
    Auto,
    /// One rule per shard.
    Flat,
    /// A tree of chains.
    Tree,
    /// The engine's fast routing table.
    FastRouting,
    /// A look-up by key (bundled engine).
    Dispatch,
}

impl Words for InShards {
    const WORDS: &'static [(&'static str, Self)] = &[("present", Self::Present), ("absent", Self::Absent)];
}

impl Words for Conflict {
    const WORDS: &'static [(&'static str, Self)] = &[("reject", Self::Reject), ("first", Self::First)];
}

impl Words for Unqualified {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("reject", Self::Reject),
        ("qualify", Self::Qualify),
        ("session_schema", Self::SessionSchema),
    ];
}

impl Words for MissingAction {
    const WORDS: &'static [(&'static str, Self)] = &[("reject", Self::Reject), ("allow", Self::Allow)];
}

impl Words for MissingBegin {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("reject", Self::Reject),
        ("first_statement", Self::FirstStatement),
        ("allow", Self::Allow),
    ];
}

impl Words for UnknownKey {
    const WORDS: &'static [(&'static str, Self)] = &[("reject", Self::Reject)];
}

impl Words for RuleLayout {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("auto", Self::Auto),
        ("flat", Self::Flat),
        ("tree", Self::Tree),
        ("fast_routing", Self::FastRouting),
        ("dispatch", Self::Dispatch),
    ];
}
