//! Columns and tables as values.

use std::fmt::Write;
use std::ops::RangeInclusive;

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Its declared type.
    pub sql_type: SqlType,
    /// Whether it takes NULL.
    pub is_nullable: bool,
    /// The default other than NULL, as SQL writes it.
    pub default: Option<&'static str>,
    /// What its values must satisfy.
    pub check: Option<Check>,
    /// Whether `proxysql.cnf` can hold it, where it can hold the table.
    pub is_in_file: bool,
}

/// The declared type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SqlType {
    /// `INTEGER`
    Integer,
    /// `INT`
    Int,
    /// `INT UNSIGNED`; SQLite stores negative numbers in it too.
    IntUnsigned,
    /// `VARCHAR`
    Varchar,
}

/// What the values of a column must satisfy; NULL satisfies everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// One of these numbers, ascending and without a gap.
    OneOf(&'static [i64]),
    /// At least this number.
    AtLeast(i64),
    /// More than this number.
    Above(i64),
    /// From the first number to the second.
    Between(i64, i64),
    /// An expression of SQLite, which may name other columns.
    Expression(&'static str),
}

/// A table.
#[derive(Debug, PartialEq, Eq)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// Its columns, in order.
    pub columns: &'static [Column],
    /// Names of the columns of its primary key; empty: it has none.
    pub primary_key: &'static [&'static str],
    /// Names of columns that are unique together, besides the primary key.
    pub unique: &'static [&'static [&'static str]],
    /// The columns that a row must have in `proxysql.cnf`; `None`: the file's reader does not know the table.
    pub file_keys: Option<&'static [&'static str]>,
    /// Whether the engine numbers rows of which the one column of the key is not given.
    pub is_numbered: bool,
}

impl SqlType {
    /// As SQL writes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Integer => "INTEGER",
            Self::Int => "INT",
            Self::IntUnsigned => "INT UNSIGNED",
            Self::Varchar => "VARCHAR",
        }
    }
}

impl Check {
    /// The numbers that it takes, where it takes every number of a range and nothing else.
    pub const fn range(self) -> Option<RangeInclusive<i64>> {
        match self {
            Self::OneOf([first, .., last]) => Some(*first..=*last),
            Self::AtLeast(least) => Some(least..=i64::MAX),
            Self::Above(below) => Some(below + 1..=i64::MAX),
            Self::Between(least, most) => Some(least..=most),
            Self::OneOf(_) | Self::Expression(_) => None,
        }
    }

    fn sql(self, name: &str) -> String {
        match self {
            Self::OneOf(numbers) => {
                let numbers: Vec<String> = numbers.iter().map(i64::to_string).collect();
                format!("{name} IN ({})", numbers.join(", "))
            }
            Self::AtLeast(least) => format!("{name} >= {least}"),
            Self::Above(below) => format!("{name} > {below}"),
            Self::Between(least, most) => format!("{name} BETWEEN {least} AND {most}"),
            Self::Expression(expression) => expression.to_owned(),
        }
    }
}

impl Column {
    /// A nullable column of numbers.
    pub(crate) const fn int(name: &'static str) -> Self {
        Self::of(name, SqlType::Int)
    }

    /// A nullable column of numbers that is declared unsigned.
    pub(crate) const fn unsigned(name: &'static str) -> Self {
        Self::of(name, SqlType::IntUnsigned)
    }

    /// A nullable column of numbers that is declared as an `INTEGER`.
    pub(crate) const fn integer(name: &'static str) -> Self {
        Self::of(name, SqlType::Integer)
    }

    /// A nullable column of texts.
    pub(crate) const fn text(name: &'static str) -> Self {
        Self::of(name, SqlType::Varchar)
    }

    /// A column of 0 and 1, 0 where not given.
    pub(crate) const fn switch(name: &'static str, default: &'static str) -> Self {
        Self::int(name).bit().filled().or(default)
    }

    const fn of(name: &'static str, sql_type: SqlType) -> Self {
        Self {
            name,
            sql_type,
            is_nullable: true,
            default: None,
            check: None,
            is_in_file: true,
        }
    }

    /// The same, never NULL.
    pub(crate) const fn filled(mut self) -> Self {
        self.is_nullable = false;
        self
    }

    /// The same with a default.
    pub(crate) const fn or(mut self, default: &'static str) -> Self {
        self.default = Some(default);
        self
    }

    /// The same, not read from `proxysql.cnf`.
    pub(crate) const fn not_in_file(mut self) -> Self {
        self.is_in_file = false;
        self
    }

    /// The same with a condition.
    pub(crate) const fn check(mut self, check: Check) -> Self {
        self.check = Some(check);
        self
    }

    /// The same for 0 and 1.
    pub(crate) const fn bit(self) -> Self {
        self.check(Check::OneOf(&[0, 1]))
    }

    /// The same for numbers from `least` on.
    pub(crate) const fn at_least(self, least: i64) -> Self {
        self.check(Check::AtLeast(least))
    }

    /// The same for numbers of a range.
    pub(crate) const fn between(self, least: i64, most: i64) -> Self {
        self.check(Check::Between(least, most))
    }

    /// Whether the engine reads a number from it.
    pub const fn is_number(&self) -> bool {
        !matches!(self.sql_type, SqlType::Varchar)
    }

    /// Whether it holds a password.
    pub fn is_secret(&self) -> bool {
        self.name == "password"
    }

    /// The numbers that the engine takes and reads as they are; `None` for texts. It reads numbers with `atoi`: larger ones
    /// become negative, and negative ones NULL.
    pub const fn range(&self) -> Option<RangeInclusive<i64>> {
        if !self.is_number() {
            return None;
        }
        let (least, most) = match self.check {
            Some(check) => match check.range() {
                Some(range) => (*range.start(), *range.end()),
                None => (0, i64::MAX),
            },
            None => (0, i64::MAX),
        };
        let most = if most > i32::MAX as i64 {
            i32::MAX as i64
        } else {
            most
        };
        Some(least..=most)
    }

    /// Its part of the table's definition.
    fn definition(&self) -> String {
        let mut out = format!("{} {}", self.name, self.sql_type.name());
        if !self.is_nullable {
            out.push_str(" NOT NULL");
        }
        if let Some(default) = self.default {
            write!(out, " DEFAULT {default}").expect("writing to a String does not fail");
        }
        if let Some(check) = self.check {
            write!(out, " CHECK ({})", check.sql(self.name)).expect("writing to a String does not fail");
        }
        out
    }
}

impl Table {
    /// The statement that makes it in SQLite.
    pub fn definition(&self) -> String {
        let mut parts: Vec<String> = self.columns.iter().map(Column::definition).collect();
        match self.primary_key {
            [] => {}
            // SQLite takes the word at the column only.
            [key] if self.is_numbered => {
                let at = self.columns.iter().position(|column| column.name == *key);
                let part = &mut parts[at.expect("a key is a column; a test makes every table")];
                part.push_str(" PRIMARY KEY AUTOINCREMENT");
            }
            key => parts.push(format!("PRIMARY KEY ({})", key.join(", "))),
        }
        parts.extend(
            self.unique
                .iter()
                .map(|columns| format!("UNIQUE ({})", columns.join(", "))),
        );
        format!("CREATE TABLE {} ({})", self.name, parts.join(", "))
    }

    /// The column of this name; names compare without case.
    pub fn column(&self, name: &str) -> Option<&'static Column> {
        self.columns
            .iter()
            .find(|column| column.name.eq_ignore_ascii_case(name))
    }

    /// The column of this name, for a name that is written in the source: no such column does not compile.
    pub const fn named(&self, name: &str) -> &'static Column {
        let columns = self.columns;
        let mut at = 0;
        while at < columns.len() {
            if equal(columns[at].name, name) {
                return &columns[at];
            }
            at += 1;
        }
        panic!("the table has no column of this name")
    }
}

/// Whether texts are the same, where a constant asks.
pub(crate) const fn equal(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    if one.len() != other.len() {
        return false;
    }
    let mut at = 0;
    while at < one.len() {
        if one[at] != other[at] {
            return false;
        }
        at += 1;
    }
    true
}
