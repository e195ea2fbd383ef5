//! Moves a statement's names from the logical schema to a shard's schema.
//!
//! # Idea
//!
//! A schema is named before a dot (`world.City`), or it is the session's and not named at all (`City`). For
//! the first kind, the tokens are enough: the first name of each dotted chain that equals the logical schema
//! is replaced. For the second kind, the statement is parsed to find its tables, and the shard's schema is
//! inserted before each one.
//!
//! # Invariant
//!
//! Either no name of the result means the logical schema, or the statement is refused (`Unqualified::Keep`
//! leaves tables without a schema to the session). Only names change: every other byte stays as it was. No
//! two edits overlap: replacements are first names of chains, insertions are empty spans before names that
//! stand in no chain.
//!
//! Without the tables of the server, a name may be a schema, a table, an alias or a column. So whatever has
//! two readings is refused:
//!
//! * The logical schema in other letter case: one schema or two, as the server is set up.
//! * Its name without a dot behind it, beside a chain that begins with it: an alias, to which the chain may
//!   belong.
//! * The same in a statement other than SELECT, INSERT, REPLACE, UPDATE and DELETE: there the bare name may
//!   be the schema.
//! * Tables without a schema in a kind of statement whose tables are not looked for.
//!
//! # Example
//!
//! The logical schema `world` is on shard `Europe`, the session is in `world`, and unqualified tables are
//! qualified.
//!
//! ```sql
//! SELECT n FROM world.City JOIN Country WHERE City.id = 1      -- is sent as
//! SELECT n FROM Europe.City JOIN `Europe`.Country WHERE City.id = 1
//! ```
//!
//! The chains begin with `world` and `City`; only the first is the logical schema. The tables are
//! `world.City` and `Country`; only the second has no schema. `City.id` stays: it is a column of a table that
//! keeps its name. `SELECT world.n FROM world.City AS world` is refused: behind AS, `world` stands without a
//! dot, so `world.n` is a column of the alias.

use super::naming::{Naming, is_plain, quoted};
use super::{Refusal, refer, tables};
use crate::class::StatementClass;
use crate::lex::bytes::is_name_byte;
use crate::lex::{LexMode, Span, TokenKind};
use crate::parse::Reading;
use crate::rewrite::Edit;

/// What to do with tables named without a schema while the session's schema is the logical one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unqualified {
    /// Refuse the statement.
    Reject,
    /// Write the shard's schema before them.
    Qualify,
    /// Leave them: the client is connected to the shard's own schema.
    Keep,
}

/// The edits that make `text` name `shard_schema` where it names `logical_schema`. Only identifiers change; a
/// statement in which the name could mean something else is refused.
///
/// # Errors
/// The reason, human-readable.
pub fn place(
    text: &[u8],
    mode: LexMode,
    logical_schema: &str,
    session_schema: Option<&str>,
    shard_schema: &str,
    unqualified: Unqualified,
) -> Result<Vec<Edit>, Refusal> {
    let reading = Reading::of(text, mode)?;
    // It says where a session goes, and no server runs it in the place of the session.
    if reading.class == StatementClass::Use {
        return Ok(Vec::new());
    }
    let mut edits = qualified(&reading, logical_schema, shard_schema)?;
    let explained = match reading.class {
        StatementClass::Explain => reading.explained(),
        _ => None,
    };
    let reading = explained.unwrap_or(reading);
    // Tables without a schema are the map's only if the session is in the logical schema.
    let session_is_logical = match session_schema.map(|schema| Naming::of(schema.as_bytes(), logical_schema))
    {
        Some(Naming::Same) => true,
        Some(Naming::SameButForCase) => {
            return Err(format!(
                "the session's schema is `{logical_schema}` in other letter case"
            ));
        }
        Some(Naming::Other) | None => false,
    };
    if session_is_logical && unqualified != Unqualified::Keep && names_tables(&reading)? {
        for table in tables::unqualified(&reading)? {
            if unqualified == Unqualified::Reject {
                return Err(format!("table `{}` is named without a schema", table.table));
            }
            if text[table.span.start].is_ascii_digit() {
                return Err(format!(
                    "put backticks around `{}`: behind a schema, a name that begins with a digit is read as a number",
                    table.table
                ));
            }
            // An empty span inserts: the table's own name stays as the client wrote it.
            let prefix = [quoted(shard_schema).as_slice(), b"."].concat();
            edits.push(Edit {
                span: Span {
                    start: table.span.start,
                    end: table.span.start,
                },
                text: prefix,
            });
        }
    }
    Ok(edits)
}

/// Words of a SHOW that is about a schema: the session's where it names none.
const OF_A_SCHEMA: [&str; 7] = ["FROM", "IN", "TABLES", "CREATE", "TABLE", "TRIGGERS", "EVENTS"];

/// False for statements that name no table; an error for those whose tables are not looked for.
fn names_tables(reading: &Reading<'_>) -> Result<bool, Refusal> {
    use StatementClass as C;
    let asks = |words: &[&str]| {
        let is_asked = |index| words.iter().any(|word| reading.is_word(index, word));
        (0..reading.tokens.len()).any(is_asked)
    };
    match reading.class {
        C::Select | C::Insert | C::Replace | C::Update | C::Delete => Ok(true),
        C::Begin | C::Commit | C::Rollback | C::Savepoint | C::Xa | C::Use | C::Kill | C::Empty => Ok(false),
        // Only a subquery names tables there.
        C::Set | C::Do if !asks(&tables::QUERY) => Ok(false),
        C::Show if !asks(&OF_A_SCHEMA) => Ok(false),
        C::Lock if reading.is_word(0, "UNLOCK") => Ok(false),
        _ => Err(
            "tables without a schema are looked for in SELECT, INSERT, REPLACE, UPDATE and DELETE only"
                .to_owned(),
        ),
    }
}

fn qualified(reading: &Reading<'_>, logical: &str, shard: &str) -> Result<Vec<Edit>, Refusal> {
    let references = refer::references(reading.text, reading.mode);
    let mut edits = Vec::new();
    for reference in &references {
        match Naming::of(&reference.name, logical) {
            Naming::Other => {}
            Naming::SameButForCase => {
                return Err(format!(
                    "`{logical}` is written in other letter case, which may be another schema"
                ));
            }
            Naming::Same => edits.push(Edit {
                span: reference.span,
                text: renamed(reading, reference.span, shard),
            }),
        }
    }
    // A name that begins no chain: an alias, a column, a table, or the schema itself.
    let alone = reading.tokens.iter().find(|token| {
        let begins_chain = || references.binary_search_by_key(&token.span, |reference| reference.span);
        reading.is_name(token, logical) && begins_chain().is_err()
    });
    let rows_only = matches!(
        reading.class,
        StatementClass::Select
            | StatementClass::Insert
            | StatementClass::Replace
            | StatementClass::Update
            | StatementClass::Delete
    );
    // In these statements a schema always has a dot behind it, so a bare name alone needs no edit.
    match alone {
        Some(token) if !edits.is_empty() || !rows_only => Err(format!(
            "`{logical}` stands at byte {} without a name behind it, so it may be something else than the schema",
            token.span.start
        )),
        _ => Ok(edits),
    }
}

/// The shard's name, quoted unless the old one was not and the server would take it for a name as it stands.
fn renamed(reading: &Reading<'_>, old: Span, shard: &str) -> Vec<u8> {
    let was_plain = reading
        .index_at(old.start)
        .is_some_and(|index| reading.is_kind(index, TokenKind::Word));
    let behind = &reading.text[old.end..];
    let joined = behind.first() == Some(&b'.') && behind.get(1).is_some_and(|&b| is_name_byte(b));
    if was_plain && joined && is_plain(shard) {
        shard.as_bytes().to_vec()
    } else {
        quoted(shard)
    }
}
