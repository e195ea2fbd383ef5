//! The meaning of a configuration: rule graph, hostgroups, and the reference evaluator.
//!
//! A [`Configuration`] is what a compiler produces, a plan compares and a proxy runs. What it means for one statement
//! of one session is what the evaluator says; everything else that routes (the routing table, the analyser, `route`,
//! `test`) is held to that answer by differential tests.

mod address;
mod assumed;
mod chains;
mod configuration;
mod control;
pub mod decide;
mod decision;
mod digests;
mod encoding;
mod evaluator;
mod firewall;
mod graph;
mod hostgroups;
pub mod key_column;
mod known_text;
mod known_texts;
mod lacking;
mod map;
mod pattern_kind;
pub mod prepared;
mod prices;
mod profile;
mod proxysql_prices;
pub mod refusal;
mod refusing;
pub mod roles;
mod rows;
mod scope;
mod sent_as;
mod server_limit;
mod session;
mod statement;
mod steps;
mod surroundings;
pub mod throttle;
mod user;

pub use address::Address;
pub use assumed::{AssumedKey, AssumedTable, ComparedValue, RowWrites};
pub use chains::Chains;
pub use configuration::{Configuration, FORMAT_VERSION, ON_CLIENT_GONE, fingerprint};
pub use decide::{BrokenPattern, PatternColumn, remainder};
pub use decision::{
    Besides, Decision, Destination, Dispatch, Effects, Hits, Outcome, OwnAnswer, Route, Step,
};
pub use digests::{GROUPING_LIMITS, changes_digests};
pub use encoding::Encoding;
pub use evaluator::Evaluator;
pub use firewall::{FIREWALL_MESSAGE, Firewall};
pub use graph::{Body, FastRoute, NativeStep, Rule, RuleGraph};
pub use hostgroups::{Candidate, Cluster, ClusterKind, Group, Hostgroup, HostgroupId, Member};
pub use known_text::KnownText;
pub use known_texts::KnownTexts;
pub use lacking::Lacking;
pub use map::{MapStep, MissingAction, MissingKey, Remainder, Shard, UnknownKey};
pub use pattern_kind::PatternKind;
pub use prepared::{PreparedStatements, RefusedExecution};
pub use prices::{PatternPrices, Prices, TextLength};
pub use profile::{Annotations, EngineId, EngineProfile, EngineSettings};
pub use refusal::Rejection;
pub use refusing::{REFUSED_LOGIN, Refuser, RefusingHostgroup, ToldApart, told_apart};
pub use rows::{Cells, LEFT_COLUMNS, PLACEHOLDER_PASSWORD, left_columns};
pub use scope::Scope;
pub use sent_as::{SentAs, Withheld};
pub use server_limit::{ServerLimit, most_of_one_proxy};
pub use session::{PendingKind, SessionView, Transaction};
pub use shardwright_sql::annotation::KNOWN_KEYS as ANNOTATION_KEYS;
pub use shardwright_tables as tables;
pub use shardwright_tables::{EngineRule, FlagOutChoice, Modifiers};
pub use shardwright_vocabulary::{
    ClientTls, CommentForm, Conflict, Failback, Finder, FirewallMode, InShards, KeyKind, KeyRef, KeyTemplate,
    KeyValue, MissingBegin, NamePattern, Names, OnClientGone, OnUnknown, ReadOnlyCheck, RegexEngine, Role,
    RolesBy, ServerState as MemberStatus, ServerTls, SlowReaders, StatedTables, StatementKind, UnknownLag,
    Unqualified, Words, WriterServesReads, glob_matches, is_client_address, is_glob, is_host, is_login,
};
pub use statement::{Statement, TransactionEnd, digest_hash};
pub use steps::{DelayStep, ReadSelection, RoleStep, WriterHint};
pub use surroundings::{Listener, Monitor};
pub use throttle::{Throttle, Throttled};
pub use user::{SecretReference, User};
