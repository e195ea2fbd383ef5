//! Which names are common table expressions, where in the statement.
//!
//! A name is one inside the query that its WITH belongs to: in its body, and in the expressions behind it. In its own
//! expression it is one only under RECURSIVE; else it is the table that the name means outside:
//! `WITH t AS (SELECT * FROM t WHERE …) SELECT * FROM t` reads the table `t` once.

use std::collections::HashMap;

use sqlparser::ast::{ObjectName, Query};

use crate::names::folded;
use crate::work;

/// The parts of a table's name, the schema first; `None` where one is no name.
pub(super) fn parts_of(name: &ObjectName) -> Option<Vec<&str>> {
    let parts = name.0.iter();
    parts
        .map(|part| part.as_ident().map(|ident| ident.value.as_str()))
        .collect()
}

/// The queries around the place that is looked at, the innermost last.
#[derive(Default)]
pub(super) struct CommonTables {
    open: Vec<Frame>,
}

struct Frame {
    query: *const Query,
    /// The queries of its expressions, in their order.
    expressions: Vec<*const Query>,
    names: HashMap<String, Spellings>,
    is_recursive: bool,
    /// The expression that is looked at, or the next one.
    current: usize,
    /// How many of the names can be used.
    visible: usize,
}

/// The places of the first name, and of the first that differs from it by letter case only.
struct Spellings {
    first: (usize, String),
    other: Option<usize>,
}

impl Frame {
    fn of(query: &Query) -> Self {
        let with = query.with.as_ref();
        let tables = with.map_or(&[][..], |with| &with.cte_tables);
        let mut names: HashMap<String, Spellings> = HashMap::new();
        for (place, table) in tables.iter().enumerate() {
            let name = &table.alias.name.value;
            let known = names.entry(folded(name.as_bytes())).or_insert_with(|| Spellings {
                first: (place, name.clone()),
                other: None,
            });
            if known.first.1 != *name {
                known.other.get_or_insert(place);
            }
        }
        Frame {
            query,
            expressions: tables
                .iter()
                .map(|table| std::ptr::from_ref(&*table.query))
                .collect(),
            names,
            is_recursive: with.is_some_and(|with| with.recursive),
            current: 0,
            visible: 0,
        }
    }

    fn is_current(&self, query: &Query) -> bool {
        let current = self.expressions.get(self.current);
        current.is_some_and(|current| std::ptr::eq(*current, query))
    }
}

impl CommonTables {
    /// A query begins.
    pub(super) fn enter(&mut self, query: &Query) {
        if let Some(outer) = self.open.last_mut().filter(|outer| outer.is_current(query)) {
            outer.visible = if outer.is_recursive {
                outer.expressions.len()
            } else {
                outer.current
            };
        }
        self.open.push(Frame::of(query));
    }

    /// A query ends.
    pub(super) fn leave(&mut self, query: &Query) {
        debug_assert!(
            self.open
                .last()
                .is_some_and(|frame| std::ptr::eq(frame.query, query))
        );
        self.open.pop();
        if let Some(outer) = self.open.last_mut().filter(|outer| outer.is_current(query)) {
            outer.current += 1;
            outer.visible = outer.current;
        }
    }

    /// Whether an unqualified name of a table is a common table expression here; `Err` where that depends on letter case.
    pub(super) fn is_one(&self, name: &str) -> Result<bool, ()> {
        let folded = folded(name.as_bytes());
        let mut is_one = false;
        for frame in &self.open {
            work::count(1);
            let known = frame.names.get(&folded);
            let Some(known) = known.filter(|known| known.first.0 < frame.visible) else {
                continue;
            };
            if known.first.1 != name || known.other.is_some_and(|place| place < frame.visible) {
                return Err(());
            }
            is_one = true;
        }
        Ok(is_one)
    }
}
