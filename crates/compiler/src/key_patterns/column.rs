//! A key in a predicate: a closed list of statement shapes, each matched from its first byte to its last.
//!
//! What a pattern does not read to the end it cannot place: an OR behind the predicate, a join, a second statement. So
//! `accepts` describes whole statements on one table whose conditions are comparisons joined by AND, and every other
//! statement that may concern the map is refused. Repeats have bounds: PCRE 8 takes stack for every turn of a group. It also
//! writes a repeated group out, and refuses what comes to more than 64 KiB: so words are no classes of their letters, UPDATE and
//! DELETE share their conditions, and the bounds are low.

use shardwright_rules::{InShards, KeyKind};

use super::integer::Writing;
use super::search::{KeyPatterns, Quotable};
use super::text::{self, caseless};
use crate::statement_patterns::Wording;

/// A blank, as the server's lexer has it.
const BLANK: &str = r"[\t-\r ]";
/// An identifier in ASCII, with or without backquotes.
const NAME: &str = r"(?:[A-Za-z_][0-9A-Za-z_$]*|`[0-9A-Za-z_$]+`)";
/// A literal that no quote or backslash can end early.
const LITERAL: &str = r"(?:-?[0-9]+(?:\.[0-9]+)?|'[^'\\]*')";
/// Conditions that may stand on either side of the key's.
const MOST_CONDITIONS: u8 = 3;
/// Columns of a select list, assignments, columns of an INSERT behind the first.
const MOST_COLUMNS: u8 = 7;

/// What a statement must look like, as refusals and diagnostics say it; the numbers are [`MOST_COLUMNS`] and [`MOST_CONDITIONS`].
pub(crate) const SHAPES: &str = "one table, at most 8 columns, comparisons joined by AND, at most 3 on either side of \
                                 the key's, no OR, IN, join, subquery, double quote, backslash, placeholder or comment \
                                 behind the verb";

/// The key in a column of the tables of a logical schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ColumnPatterns {
    /// The patterns around the value; `accepts` is for tables written with their schema.
    pub key: KeyPatterns,
    /// The same for sessions in the logical schema, where tables may stand without it.
    pub accepts_in_schema: String,
    /// Matches where the logical schema is named, however it is written.
    pub mentions_schema: String,
    /// Matches where the column is named, however it is written.
    pub mentions_column: String,
    /// The logical schema is named twice.
    pub repeats_schema: String,
    /// Shapes that are accepted and mean something else: the key would be found in a literal, or there is no table.
    pub ambiguous: String,
    /// The predicate alone, where it is to be replaced.
    pub predicate: String,
    pub in_shards: InShards,
}

impl ColumnPatterns {
    /// The patterns of `column` in tables of `schema`; `None` where a name holds what the patterns cannot spell.
    pub(crate) fn new(
        column: &str,
        schema: &str,
        kind: KeyKind,
        in_shards: InShards,
        wording: Wording,
    ) -> Option<Self> {
        let plain = |name: &str| {
            let begins = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
            name.bytes().next().is_some_and(begins)
                && name.bytes().all(|byte| begins(byte) || byte.is_ascii_digit())
        };
        if !plain(column) || !plain(schema) {
            return None;
        }
        let name = caseless(column, wording);
        let literal = match kind {
            KeyKind::Integer => r"(?:-?[0-9]{1,19}|'(?:0|-?[1-9][0-9]{0,18})')",
            KeyKind::Text => r"'[^'\\]*'",
        };
        let (quote, after, quotable) = match kind {
            KeyKind::Integer => ("", r"(?:[\t-\r ),;]|\z)", Quotable::Simple),
            KeyKind::Text => ("'", "'", Quotable::No),
        };
        let predicate = format!("(?:\\b{name}|`{name}`){BLANK}*={BLANK}*{literal}");
        let schema_pattern = text::escaped(schema);
        let qualified = format!(r"(?:{schema_pattern}|`{schema_pattern}`){BLANK}*\.{BLANK}*{NAME}");
        let in_schema = format!(r"(?:(?:{schema_pattern}|`{schema_pattern}`){BLANK}*\.{BLANK}*)?{NAME}");
        let values = format!("{}{BLANK}*\\(", word("VALUES"));
        let assigned = format!("\\b{name}`?{BLANK}*=");
        let any_schema = caseless(schema, wording);
        let shapes = Shapes {
            key: &name,
            literal,
            predicate: &predicate,
            in_shards,
        };
        let key = KeyPatterns {
            alone: None,
            word: format!(r"\b{name}\b"),
            once: None,
            accepts: shapes.any(&qualified),
            repeats: format!(r"\b{name}\b(?s:.*)\b{name}\b"),
            doubtful: format!(r"\b{name}\b"),
            before: format!("(?:\\b{name}`?{BLANK}*={BLANK}*|{values}{BLANK}*){quote}"),
            after: after.to_owned(),
            first_decides: false,
            keyed: predicate.clone(),
            commented: None,
            quotable,
            writing: Writing::Free,
        };
        Some(Self {
            key,
            accepts_in_schema: shapes.any(&in_schema),
            mentions_schema: format!(r"\b{any_schema}\b"),
            mentions_column: format!(r"\b{name}\b"),
            repeats_schema: format!(r"\b{any_schema}\b(?s:.*)\b{any_schema}\b"),
            ambiguous: format!(
                "{assigned}(?s:.*){values}|{values}(?s:.*){assigned}|{}{BLANK}+`?{}\\b",
                word("FROM"),
                word("DUAL")
            ),
            predicate,
            in_shards,
        })
    }
}

/// The statements that can be placed, but for the way their table is written.
struct Shapes<'s> {
    key: &'s str,
    literal: &'s str,
    predicate: &'s str,
    in_shards: InShards,
}

impl Shapes<'_> {
    fn any(&self, table: &str) -> String {
        let condition = self.condition();
        let mut shapes = vec![
            format!("{}{condition}{}", self.select(table), behind_select()),
            format!(
                "(?:{}|{}){condition}{}",
                self.update(table),
                self.delete(table),
                limit()
            ),
        ];
        // A shard without the column cannot take its value.
        if self.in_shards == InShards::Present {
            shapes.push(self.insert(table));
        }
        let comments = format!(r"(?:/\*(?:[^*!+M][^*]*)?\*/{BLANK}*){{0,2}}");
        format!(
            r"\A{BLANK}*{comments}(?:{}){BLANK}*;?{BLANK}*\z",
            shapes.join("|")
        )
    }

    fn select(&self, table: &str) -> String {
        let star = match self.in_shards {
            InShards::Present => format!(r"\*|{NAME}\.\*|"),
            InShards::Absent => String::new(),
        };
        let called = format!(
            r"{}\({BLANK}*(?:{}{BLANK}+)?(?:\*|{}){BLANK}*\)",
            word("COUNT|SUM|MIN|MAX|AVG"),
            word("DISTINCT"),
            column()
        );
        let item = format!(
            r"(?:{star}(?:{called}|[0-9]+|{})(?:{BLANK}+{}{BLANK}+{NAME})?)",
            column(),
            word("AS")
        );
        format!(
            "{}{BLANK}+(?:{}{BLANK}+)?{}{BLANK}+{}{BLANK}+{table}(?:{BLANK}+(?:{}{BLANK}+)?{NAME})?",
            word("SELECT"),
            word("DISTINCT"),
            list(&item, MOST_COLUMNS),
            word("FROM"),
            word("AS"),
        )
    }

    fn update(&self, table: &str) -> String {
        let value = format!("(?:{LITERAL}|{}(?:{BLANK}*[+-]{BLANK}*[0-9]+)?)", column());
        let assignment = format!("{NAME}{BLANK}*={BLANK}*{value}");
        format!(
            "{}{BLANK}+{table}{BLANK}+{}{BLANK}+{}",
            word("UPDATE"),
            word("SET"),
            list(&assignment, MOST_COLUMNS),
        )
    }

    fn delete(&self, table: &str) -> String {
        format!("{}{BLANK}+{}{BLANK}+{table}", word("DELETE"), word("FROM"))
    }

    /// One row, the key column first.
    fn insert(&self, table: &str) -> String {
        let (key, literal) = (self.key, self.literal);
        let value = format!("(?:{LITERAL}|{})", word("NULL"));
        let more = |item: &str| format!("(?:{BLANK}*,{BLANK}*{item}){{0,{MOST_COLUMNS}}}");
        format!(
            "(?:{}(?:{BLANK}+{})?|{}){BLANK}+{}{BLANK}+{table}{BLANK}*\\({BLANK}*(?:{key}|`{key}`){}{BLANK}*\\){BLANK}*{}\
             {BLANK}*\\({BLANK}*{literal}{}{BLANK}*\\)",
            word("INSERT"),
            word("IGNORE"),
            word("REPLACE"),
            word("INTO"),
            more(NAME),
            word("VALUES"),
            more(&value),
        )
    }

    /// WHERE and comparisons joined by AND, one of them the key's.
    fn condition(&self) -> String {
        let (and, like, is) = (word("AND"), word("LIKE"), word("IS"));
        let other = format!(
            r"{}(?:{BLANK}*(?:=|<>|!=|<=|>=|<|>){BLANK}*{LITERAL}|{BLANK}+{like}{BLANK}+'[^'\\]*'|{BLANK}+{is}{BLANK}+(?:{}{BLANK}+)?{})",
            column(),
            word("NOT"),
            word("NULL")
        );
        format!(
            "{BLANK}+{}{BLANK}+(?:{other}{BLANK}+{and}{BLANK}+){{0,{MOST_CONDITIONS}}}{}(?:{BLANK}+{and}{BLANK}+{other}){{0,{MOST_CONDITIONS}}}",
            word("WHERE"),
            self.predicate
        )
    }
}

/// A word of SQL, or several of them, in any case. A letter beyond ASCII that RE2 takes for one of these is a mistake to the
/// server.
fn word(word: &str) -> String {
    format!("(?i:{word})")
}

/// What may follow the conditions of a SELECT.
fn behind_select() -> String {
    let ordered = format!("{}(?:{BLANK}+{})?", column(), word("ASC|DESC"));
    format!(
        "(?:{BLANK}+{}{BLANK}+{by}{BLANK}+{})?(?:{BLANK}+{}{BLANK}+{by}{BLANK}+{})?{}(?:{BLANK}+{}{BLANK}+{})?",
        word("GROUP"),
        list(&column(), MOST_CONDITIONS),
        word("ORDER"),
        list(&ordered, MOST_CONDITIONS),
        limit(),
        word("FOR"),
        word("UPDATE"),
        by = word("BY"),
    )
}

/// A column, with its table or without.
fn column() -> String {
    format!(r"{NAME}(?:\.{NAME})?")
}

fn list(item: &str, more: u8) -> String {
    format!("{item}(?:{BLANK}*,{BLANK}*{item}){{0,{more}}}")
}

fn limit() -> String {
    let offset = word("OFFSET");
    format!(
        "(?:{BLANK}+{}{BLANK}+[0-9]+(?:{BLANK}*,{BLANK}*[0-9]+|{BLANK}+{offset}{BLANK}+[0-9]+)?)?",
        word("LIMIT")
    )
}
