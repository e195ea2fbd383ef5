//! What a MySQL or MariaDB statement is: tokens, digest, comments, class, tables and keys.
//!
//! Statements are bytes. [`lex`] reads them once and is what everything else stands on; [`comment`],
//! [`annotation`], [`digest`], [`class`], [`set`] and [`schema`] answer from tokens, [`columns`] asks a parser that
//! is fed with the same tokens, so that no two readers can see different statements.
//!
//! Character sets whose second byte can be an ASCII quote or backslash (gbk, sjis, big5, cp932, gb18030) are
//! outside what these answers cover; [`set::charset_is_ascii_safe`] tells which they are.

pub mod annotation;
pub mod class;
pub mod column_names;
pub mod columns;
pub mod comment;
pub mod digest;
pub mod dynamic;
mod functions;
#[cfg(test)]
mod growth;
mod key_value;
pub mod lex;
pub mod names;
mod parse;
pub mod rewrite;
pub mod schema;
mod servers;
pub mod set;
pub mod skeleton;
pub mod skim;
mod spooky;
mod work;

pub use class::{ReadHazards, SessionEffects, Shape, StatementClass, classify};
pub use columns::{ColumnAnswer, ColumnQuestion, KeyLiteral, KeyUse, KeyValue};
pub use comment::{CommentForm, CommentKey, comment_keys};
pub use digest::{Digest, DigestOptions};
pub use lex::{LexMode, Lexer, Span, Token, TokenKind};
pub use schema::{Naming, Unqualified};
pub use servers::Servers;
pub use shardwright_vocabulary::InShards;
pub use skim::Skim;
