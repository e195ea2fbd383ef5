//! The tables of one FROM clause, and how a key passes from one to another.
//!
//! A table is pinned if each of its rows that can matter has the key. `a.tenant = 5` in WHERE pins `a`. `a.tenant = b.tenant` is a
//! link: what pins one pins the other. In the ON of an outer join a link limits the optional side only:
//!
//! ```text
//! a LEFT JOIN b ON a.k = b.k     a → b: rows of b matter only beside a row of a that has their key
//! a RIGHT JOIN b USING (k)       b → a
//! a JOIN b USING (k)             a ↔ b
//! ```
//!
//! A column without a qualifier belongs to the only table, or to all tables if each was joined by USING: then it is the column
//! of the anchor, the table whose rows are never missing.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::pins::Pin;
use crate::names::folded;
use crate::work;

/// A table that a condition limits, and the predicates of which one holds for each of its rows.
pub(super) type Limited = (usize, Vec<Pin>);

/// A table in a FROM clause.
pub(super) struct Table {
    pub(super) name: String,
    /// As columns are qualified by it.
    pub(super) exposed: String,
    /// The schema as written, or the session's.
    pub(super) schema: Option<String>,
    /// With an alias, the schema cannot stand before it.
    pub(super) has_alias: bool,
    pub(super) logical: bool,
    /// Rows of NULLs can stand for it.
    pub(super) nullable: bool,
    pub(super) pinned: bool,
}

/// The tables of one FROM clause.
#[derive(Default)]
pub(super) struct Tables {
    pub(super) all: Vec<Table>,
    /// By exposed name, without regard to letter case.
    exposed: HashMap<String, Alike>,
    /// How often each exposed name stands there.
    spellings: HashMap<String, usize>,
    /// Tables that are limited to one of several keys.
    pub(super) by_any: Vec<Limited>,
    /// Names of derived and common tables, without regard to letter case.
    derived: HashSet<String>,
    /// From a table to those that it pins when it is pinned.
    links: HashMap<usize, Vec<usize>>,
    /// Tables for which rows of NULLs can stand, beside those that say so.
    optional: Vec<Range<usize>>,
    /// A join that is not by USING, or a comma, makes an unqualified column ambiguous.
    pub(super) is_loose: bool,
    anchor: usize,
}

/// Tables whose exposed names differ by letter case at most.
struct Alike {
    first: usize,
    is_alone: bool,
}

/// What a name of a column belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    Table(usize),
    /// Nothing here has this qualifier.
    Elsewhere,
    Unknown,
}

impl Tables {
    /// Adds a table.
    pub(super) fn push(&mut self, table: Table) {
        let first = self.all.len();
        self.exposed
            .entry(folded(table.exposed.as_bytes()))
            .and_modify(|alike| alike.is_alone = false)
            .or_insert(Alike {
                first,
                is_alone: true,
            });
        *self.spellings.entry(table.exposed.clone()).or_default() += 1;
        self.all.push(table);
    }

    /// A derived or common table.
    pub(super) fn push_derived(&mut self, name: &str) {
        self.derived.insert(folded(name.as_bytes()));
    }

    /// Rows of NULLs can stand for these tables.
    pub(super) fn make_optional(&mut self, tables: Range<usize>) {
        self.optional.push(tables);
    }

    /// All tables are known: which of them are optional is written to them, each once.
    pub(super) fn settle(&mut self) {
        let mut ranges = std::mem::take(&mut self.optional);
        ranges.sort_unstable_by_key(|range| range.start);
        let mut done = 0;
        for range in ranges {
            for table in &mut self.all[range.start.max(done).min(range.end)..range.end] {
                table.nullable = true;
            }
            done = done.max(range.end);
        }
    }

    /// The owner of the column with these names, from the column back to its schema.
    pub(super) fn owner(&self, names: &[String]) -> Owner {
        match names {
            [_] => self.anchor().map_or(Owner::Unknown, Owner::Table),
            [_, qualifier] => self.named(qualifier, |_| true),
            [_, qualifier, schema] => self.named(qualifier, |table| {
                !table.has_alias && table.schema.as_deref() == Some(schema)
            }),
            _ => Owner::Unknown,
        }
    }

    fn named(&self, qualifier: &str, is: impl Fn(&Table) -> bool) -> Owner {
        let folded = folded(qualifier.as_bytes());
        let is_derived = self.derived.contains(&folded);
        match self.exposed.get(&folded) {
            None if !is_derived => Owner::Elsewhere,
            // Whether names differ by case is up to the server.
            Some(alike)
                if alike.is_alone
                    && !is_derived
                    && self.all[alike.first].exposed == *qualifier
                    && is(&self.all[alike.first]) =>
            {
                Owner::Table(alike.first)
            }
            _ => Owner::Unknown,
        }
    }

    /// The table that an unqualified key column belongs to.
    pub(super) fn anchor(&self) -> Option<usize> {
        let is_plain = self.derived.is_empty() && !self.is_loose && !self.all.is_empty();
        is_plain.then_some(self.anchor)
    }

    /// Whether tables have the same name to columns.
    pub(super) fn has_namesakes(&self, names: &[String]) -> bool {
        let [_, qualifier, ..] = names else { return false };
        self.spellings.get(qualifier).is_some_and(|&count| count > 1)
    }

    /// The tables behind `left` were joined to these; `shares_key`: by a USING or NATURAL that compares the key column.
    pub(super) fn joined(&mut self, left: Range<usize>, side: Side, shares_key: bool) {
        let (left_anchor, right) = (self.anchor, left.end);
        let is_one_table = self.all.len() == right + 1;
        let can_link = shares_key && !left.is_empty() && is_one_table && self.anchor().is_some();
        if side == Side::Left {
            self.make_optional(left);
        }
        if !can_link {
            self.is_loose = true;
            return;
        }
        match side {
            Side::None => {
                self.add_link(left_anchor, right);
                self.add_link(right, left_anchor);
            }
            Side::Right => self.add_link(left_anchor, right),
            Side::Left => {
                self.add_link(right, left_anchor);
                self.anchor = right;
            }
        }
    }

    /// Two tables whose keys are compared, in a condition that limits only these tables, or all.
    pub(super) fn link(&mut self, one: usize, other: usize, limits: Option<&Range<usize>>) {
        let limited = |table: usize| limits.is_none_or(|limits| limits.contains(&table));
        if limited(other) {
            self.add_link(one, other);
        }
        if limited(one) {
            self.add_link(other, one);
        }
    }

    fn add_link(&mut self, from: usize, to: usize) {
        self.links.entry(from).or_default().push(to);
    }

    /// A condition that limits only the tables of `limits`, or all, limits these to one of several keys.
    pub(super) fn limit_by_any(
        &mut self,
        limited: impl IntoIterator<Item = Limited>,
        limits: Option<&Range<usize>>,
    ) {
        let is_limited = |index: usize| limits.is_none_or(|limits| limits.contains(&index));
        self.by_any
            .extend(limited.into_iter().filter(|limited| is_limited(limited.0)));
    }

    /// Pins what is linked to pinned tables.
    pub(super) fn spread(&mut self) {
        let pinned = (0..self.all.len()).filter(|&index| self.all[index].pinned);
        self.spread_from(pinned.collect());
    }

    /// The same where these were pinned last. A link is followed once: what it leads to is pinned then.
    pub(super) fn spread_from(&mut self, mut open: Vec<usize>) {
        while let Some(from) = open.pop() {
            for to in self.links.remove(&from).unwrap_or_default() {
                work::count(1);
                if !std::mem::replace(&mut self.all[to].pinned, true) {
                    open.push(to);
                }
            }
        }
    }
}

/// The side of a join whose rows may be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    None,
    Left,
    Right,
}
