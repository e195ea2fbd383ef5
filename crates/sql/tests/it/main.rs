//! Statements as the engines read them: tokens, comments, classes, columns.

#![allow(clippy::unwrap_used, reason = "tests may unwrap")]

mod annotations;
mod class;
mod column_names;
mod columns;
mod comments;
mod conformance;
mod digests;
mod inside_one_key;
mod lex;
mod parameters;
mod pins;
mod properties;
mod recorded;
mod servers;
