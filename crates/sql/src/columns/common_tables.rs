//! Which names are common table expressions, where in the statement.
//!
//! A name is one inside the query that its WITH belongs to: in its body, and in the expressions behind it. In its own
//! expression it is one only under RECURSIVE; else it is the table that the name means outside:
//! `WITH t AS (SELECT * FROM t WHERE …) SELECT * FROM t` reads the table `t` once.

use sqlparser::ast::{ObjectName, Query};

use crate::parse::same_but_for_case;

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
    /// Names with the addresses of their queries.
    names: Vec<(String, *const Query)>,
    is_recursive: bool,
    /// How many of the names can be used.
    visible: usize,
}

impl CommonTables {
    /// A query begins.
    pub(super) fn enter(&mut self, query: &Query) {
        if let Some(outer) = self.open.last_mut()
            && let Some(index) = outer.names.iter().position(|name| std::ptr::eq(name.1, query))
        {
            outer.visible = if outer.is_recursive {
                outer.names.len()
            } else {
                index
            };
        }
        let with = query.with.as_ref();
        let tables = with.map_or(&[][..], |with| &with.cte_tables);
        let names = tables
            .iter()
            .map(|table| (table.alias.name.value.clone(), std::ptr::from_ref(&*table.query)));
        self.open.push(Frame {
            query,
            names: names.collect(),
            is_recursive: with.is_some_and(|with| with.recursive),
            visible: 0,
        });
    }

    /// A query ends.
    pub(super) fn leave(&mut self, query: &Query) {
        debug_assert!(
            self.open
                .last()
                .is_some_and(|frame| std::ptr::eq(frame.query, query))
        );
        self.open.pop();
        if let Some(outer) = self.open.last_mut()
            && let Some(index) = outer.names.iter().position(|name| std::ptr::eq(name.1, query))
        {
            outer.visible = index + 1;
        }
    }

    /// Whether an unqualified name of a table is a common table expression here; `Err` where that depends on letter case.
    pub(super) fn is_one(&self, name: &str) -> Result<bool, ()> {
        let visible = self.open.iter().flat_map(|frame| &frame.names[..frame.visible]);
        let alike: Vec<_> = visible
            .filter(|known| same_but_for_case(known.0.as_bytes(), name))
            .collect();
        match alike.iter().all(|known| known.0 == name) {
            true => Ok(!alike.is_empty()),
            false => Err(()),
        }
    }
}
