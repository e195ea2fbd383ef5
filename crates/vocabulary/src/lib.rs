//! The words of the field that the language and the rules share, so that they mean the same on both sides.
//!
//! A value that both `topology` and `rules` hold is defined here, with the word that stands for it in the language and
//! in everything that is serialised. What only one of them knows stays there.

mod cluster;
mod duration;
mod glob;
mod key;
mod names;
mod regex;
mod session;
mod severity;
mod shard_map;
mod statement;
mod supposition;
mod throttle;
mod tls;
mod words;

pub use cluster::{
    Failback, ReadOnlyCheck, Role, RolesBy, ServerState, SlowReaders, UnknownLag, WriterServesReads,
};
pub use duration::{duration_ms, parse_unsigned};
pub use glob::{glob_matches, is_glob};
pub use key::{KeyKind, KeyRef, KeyTemplate, KeyValue, parse_integer};
pub use names::{MAX_LOGIN, NamePattern, Names, is_client_address, is_host, is_login};
pub use regex::RegexEngine;
pub use session::OnClientGone;
pub use severity::Severity;
pub use shard_map::{
    CommentForm, Conflict, Finder, InShards, MissingAction, MissingBegin, MissingKey, StatedTables,
    UnknownKey, Unqualified,
};
pub use statement::{FirewallMode, StatementKind};
pub use supposition::{ServerName, Supposition};
pub use throttle::OnUnknown;
pub use tls::{ClientTls, ServerTls};
pub use words::Words;
