//! Statements that read no rows of anybody: descriptions of tables, the information schema, and queries without tables.
//!
//! Every shard has the same tables, so any server can answer them.

use std::ops::ControlFlow;

use sqlparser::ast::{ObjectName, Query, SetExpr, Statement, Visit, Visitor};

use super::ColumnQuestion;
use super::calls::check_tokens;
use super::common_tables::{CommonTables, parts_of};
use crate::class::{ReadHazards, Shape, StatementClass};
use crate::parse::Reading;

/// Whether a statement is one of these.
pub fn reads_no_rows(text: &[u8], question: &ColumnQuestion<'_>) -> bool {
    let Ok(reading) = Reading::of(text, question.mode) else {
        return false;
    };
    let reading = match reading.class {
        StatementClass::Explain => match reading.explained() {
            Some(explained) => explained,
            None => return is_description(&reading),
        },
        _ => reading,
    };
    let shape = Shape::of(text, question.mode);
    let hazards = ReadHazards::INTO | ReadHazards::SEQUENCE | ReadHazards::UNKNOWN_FUNCTION;
    reading.class == StatementClass::Select
        && !shape.read_hazards.intersects(hazards)
        && !reading
            .tokens
            .iter()
            .any(|token| token.is_operator(reading.text, ":="))
        && check_tokens(&reading).is_ok()
        && reading.with_tree(|statement| names_no_table(statement, question)) == Ok(true)
}

/// `DESCRIBE t`, `DESC shop.t column`, `EXPLAIN t 'pattern'`.
pub(super) fn is_description(reading: &Reading<'_>) -> bool {
    let names = reading.tokens.len();
    reading.class == StatementClass::Explain
        && (2..=5).contains(&names)
        && reading.tokens[1].is_name()
        && !["FOR", "ANALYZE", "EXTENDED", "PARTITIONS", "FORMAT"]
            .iter()
            .any(|word| reading.is_word(1, word))
}

/// Whether all tables are common, derived, DUAL or of the information schema.
fn names_no_table(statement: &Statement, question: &ColumnQuestion<'_>) -> bool {
    let mut names = Names {
        is_inside: question
            .session_schema
            .is_some_and(|schema| schema.eq_ignore_ascii_case(INFORMATION_SCHEMA)),
        common: CommonTables::default(),
        reads: false,
    };
    let _: ControlFlow<()> = statement.visit(&mut names);
    !names.reads
}

/// `TABLE t` is no SELECT, and its table no relation of the tree.
fn is_of_selects(body: &SetExpr) -> bool {
    match body {
        SetExpr::Select(_) | SetExpr::Query(_) | SetExpr::Values(_) => true,
        SetExpr::SetOperation { left, right, .. } => is_of_selects(left) && is_of_selects(right),
        _ => false,
    }
}

const INFORMATION_SCHEMA: &str = "information_schema";

struct Names {
    /// The session is in the information schema.
    is_inside: bool,
    common: CommonTables,
    /// A table of another kind is read.
    reads: bool,
}

impl Visitor for Names {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        self.common.enter(query);
        self.reads |= !is_of_selects(&query.body);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        self.common.leave(query);
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, name: &ObjectName) -> ControlFlow<()> {
        let is_nobodys = match parts_of(name).as_deref() {
            Some([table]) => {
                self.is_inside || table.eq_ignore_ascii_case("dual") || self.common.is_one(table) == Ok(true)
            }
            Some([schema, _]) => schema.eq_ignore_ascii_case(INFORMATION_SCHEMA),
            _ => false,
        };
        self.reads |= !is_nobodys;
        ControlFlow::Continue(())
    }
}
