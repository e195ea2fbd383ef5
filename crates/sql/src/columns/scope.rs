//! The tables of every SELECT, UPDATE and DELETE of a statement, and which of them are pinned to a key.

use std::collections::HashSet;
use std::ops::{ControlFlow, Range};

use sqlparser::ast::{
    AssignmentTarget, Delete, Expr, FromTable, Ident, Join, JoinConstraint, JoinOperator, ObjectName,
    ObjectNamePart, Query, Select, SelectItem, SetExpr, Statement, TableFactor, TableWithJoins, Update,
    Visit, Visitor,
};

use super::changes;
use super::common_tables::{CommonTables, parts_of};
use super::pins::Pin;
use super::tables::{Side, Table, Tables};
use super::{ColumnQuestion, InShards, TableChange};
use crate::lex::TokenKind;
use crate::parse::{Reading, offset, same_but_for_case};
use crate::schema::Naming;
use crate::work;

/// A table of the logical schema.
pub(super) struct LogicalTable {
    /// As the statement calls it.
    pub(super) name: String,
    /// Its own name.
    pub(super) table: String,
    pub(super) pinned: bool,
}

/// What a whole statement does with the logical schema.
#[derive(Default)]
pub(super) struct Finding {
    pub(super) logical_tables: Vec<LogicalTable>,
    pub(super) pins: Vec<Pin>,
    /// Why no key can be shown to hold; counts only if there are logical tables.
    pub(super) problems: Vec<String>,
    /// A table may stand where it is not looked for.
    pub(super) overlooks: bool,
    /// A select list has a `*`.
    pub(super) wildcard: bool,
    /// A NATURAL JOIN is taken to compare the key column.
    pub(super) natural: bool,
    /// WHERE, ON or HAVING names the key column.
    pub(super) condition_mentions_key: bool,
    pub(super) changes: Vec<TableChange>,
}

/// Looks at every SELECT in `statement` and at its UPDATE or DELETE.
pub(super) fn survey(
    statement: &Statement,
    reading: &Reading<'_>,
    question: &ColumnQuestion<'_>,
) -> Result<Finding, String> {
    let mut surveyor = Surveyor {
        reading,
        question,
        finding: Finding::default(),
        relations: 0,
        selects: 0,
        handled: 0,
        common: CommonTables::default(),
        outer: Vec::new(),
        noted: HashSet::new(),
    };
    match statement {
        Statement::Query(_) => {}
        Statement::Update(update) => surveyor.update(update),
        Statement::Delete(delete) => surveyor.delete(delete),
        _ => return Err("the statement is of a form that is not followed".to_owned()),
    }
    let _: ControlFlow<()> = statement.visit(&mut surveyor);
    if surveyor.relations != surveyor.handled {
        surveyor.overlook("a table stands where it is not looked for");
    }
    let is_select = |index: &usize| reading.is_word(*index, "SELECT");
    if surveyor.selects != (0..reading.tokens.len()).filter(is_select).count() {
        surveyor.overlook("a SELECT stands where it is not looked for");
    }
    Ok(surveyor.finding)
}

#[derive(Default)]
struct Scope<'e> {
    tables: Tables,
    /// The first table between the commas, or inside the parentheses.
    first: usize,
    conditions: Vec<Condition<'e>>,
}

struct Condition<'e> {
    expression: &'e Expr,
    bounds: Bounds,
}

/// The tables that a condition is about.
#[derive(Clone, Debug, Default)]
pub(super) struct Bounds {
    /// Those whose rows it limits; `None`: each row of the scope satisfies it.
    pub(super) limits: Option<Range<usize>>,
    /// Those whose columns can stand in it: an ON sees the tables that its join has, and not those behind a comma. `None`: all.
    pub(super) sees: Option<Range<usize>>,
}

pub(super) struct Surveyor<'r> {
    pub(super) reading: &'r Reading<'r>,
    pub(super) question: &'r ColumnQuestion<'r>,
    pub(super) finding: Finding,
    relations: usize,
    selects: usize,
    handled: usize,
    common: CommonTables,
    /// The tables of the selects around, the innermost last.
    pub(super) outer: Vec<Tables>,
    /// Selects inside a condition that was looked through for the key column: their own conditions are looked through with it.
    pub(super) noted: HashSet<*const Select>,
}

impl Visitor for Surveyor<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        self.common.enter(query);
        if !query.pipe_operators.is_empty() || query.for_clause.is_some() {
            self.problem("a clause of the query is not followed");
        }
        self.set_expression(&query.body);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        self.common.leave(query);
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        work::count(1);
        self.selects += 1;
        self.select(select);
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, _: &Select) -> ControlFlow<()> {
        self.outer.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, _: &ObjectName) -> ControlFlow<()> {
        self.relations += 1;
        ControlFlow::Continue(())
    }
}

impl Surveyor<'_> {
    pub(super) fn problem(&mut self, what: &str) {
        self.finding.problems.push(what.to_owned());
    }

    fn overlook(&mut self, what: &str) {
        self.problem(what);
        self.finding.overlooks = true;
    }

    fn set_expression(&mut self, body: &SetExpr) {
        match body {
            SetExpr::Select(_) | SetExpr::Query(_) => {}
            SetExpr::SetOperation { left, right, .. } => {
                self.set_expression(left);
                self.set_expression(right);
            }
            SetExpr::Values(_) => self.problem("VALUES in the place of a SELECT is not followed"),
            _ => self.overlook("a query body other than SELECT is not followed"),
        }
    }

    fn select(&mut self, select: &Select) {
        let foreign = select.top.is_some()
            || select.prewhere.is_some()
            || select.qualify.is_some()
            || select.exclude.is_some()
            || !select.lateral_views.is_empty()
            || !select.connect_by.is_empty()
            || !select.cluster_by.is_empty()
            || !select.distribute_by.is_empty()
            || !select.sort_by.is_empty()
            || select.value_table_mode.is_some();
        if foreign {
            self.problem("a clause of the SELECT is not followed");
        }
        self.note_wildcard(&select.projection);
        let is_noted = self.noted.contains(&std::ptr::from_ref(select));
        if let Some(having) = select.having.as_ref().filter(|_| !is_noted) {
            self.note_mention(having);
        }
        let mut scope = Scope::default();
        self.from(&select.from, &mut scope);
        scope.everywhere(&select.selection);
        self.close(scope, is_noted);
    }

    fn update(&mut self, update: &Update) {
        if update.from.is_some() {
            self.problem("a clause of the UPDATE is not followed");
        }
        for assignment in &update.assignments {
            if let AssignmentTarget::ColumnName(name) = &assignment.target
                && let Some(column) = name.0.last().and_then(ObjectNamePart::as_ident)
                && self.is_key(column)
            {
                self.problem(&format!(
                    "the statement sets {}, which would move the row",
                    self.question.key_column
                ));
            }
        }
        let mut scope = Scope::default();
        self.from(std::slice::from_ref(&update.table), &mut scope);
        match changes::of_assignments(&update.assignments, &scope.tables) {
            Some(changes) => self.finding.changes = changes,
            None => self.problem("an assignment is not followed"),
        }
        scope.everywhere(&update.selection);
        self.close(scope, false);
    }

    /// `DELETE FROM t`, `DELETE a, b FROM t a JOIN …`, `DELETE FROM a USING t a JOIN …`.
    fn delete(&mut self, delete: &Delete) {
        let from = match &delete.from {
            FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from) => from,
        };
        let read = match &delete.using {
            Some(using) => {
                // Names of tables that stand behind USING.
                self.handled += from.len();
                using
            }
            None => from,
        };
        self.note_wildcard(delete.returning.as_deref().unwrap_or_default());
        let mut scope = Scope::default();
        self.from(read, &mut scope);
        self.finding.changes = changes::of_delete(delete, &scope.tables);
        scope.everywhere(&delete.selection);
        self.close(scope, false);
    }

    fn from<'e>(&mut self, from: &'e [TableWithJoins], scope: &mut Scope<'e>) {
        for (index, from) in from.iter().enumerate() {
            scope.first = scope.tables.all.len();
            if index > 0 {
                scope.tables.is_loose = true;
            }
            self.factor(&from.relation, false, scope);
            for join in &from.joins {
                self.join(join, scope);
            }
        }
    }

    /// `(a JOIN b ON …)`: a condition inside limits only what is inside.
    fn nested<'e>(&mut self, nested: &'e TableWithJoins, nullable: bool, scope: &mut Scope<'e>) {
        let (start, conditions) = (scope.tables.all.len(), scope.conditions.len());
        let first = std::mem::replace(&mut scope.first, start);
        // The anchor is a table outside, which no USING inside compares.
        scope.tables.is_loose |= start > 0 && !nested.joins.is_empty();
        self.factor(&nested.relation, nullable, scope);
        for join in &nested.joins {
            self.join(join, scope);
        }
        scope.first = first;
        let inside = start..scope.tables.all.len();
        for condition in &mut scope.conditions[conditions..] {
            condition.bounds.limits.get_or_insert_with(|| inside.clone());
        }
        if nullable {
            scope.tables.make_optional(inside);
        }
    }

    /// Whether parentheses are around the first table of a nested join. Without them, the parser's grouping is not that of
    /// the server.
    fn is_in_parentheses(&self, factor: &TableFactor, depth: usize) -> bool {
        match factor {
            TableFactor::NestedJoin { table_with_joins, .. } => {
                self.is_in_parentheses(&table_with_joins.relation, depth + 1)
            }
            TableFactor::Table { name, .. } => {
                let first = name.0.first().and_then(ObjectNamePart::as_ident);
                let start = first.and_then(|first| self.reading.index_at(offset(first.span.start)?));
                start.is_some_and(|start| {
                    start >= depth
                        && (start - depth..start).all(|at| self.reading.is_kind(at, TokenKind::LeftParen))
                })
            }
            _ => false,
        }
    }

    fn join<'e>(&mut self, join: &'e Join, scope: &mut Scope<'e>) {
        let (constraint, side) = match &join.join_operator {
            JoinOperator::Join(constraint)
            | JoinOperator::Inner(constraint)
            | JoinOperator::CrossJoin(constraint)
            | JoinOperator::StraightJoin(constraint) => (constraint, Side::None),
            JoinOperator::Left(constraint) | JoinOperator::LeftOuter(constraint) => (constraint, Side::Right),
            JoinOperator::Right(constraint) | JoinOperator::RightOuter(constraint) => {
                (constraint, Side::Left)
            }
            _ => {
                self.problem("a join is not followed");
                (&JoinConstraint::None, Side::Right)
            }
        };
        if join.global {
            self.problem("a join is not followed");
        }
        let absent = self.question.in_shards == InShards::Absent;
        let right = scope.tables.all.len();
        let left = scope.first;
        self.factor(&join.relation, side == Side::Right, scope);
        let end = scope.tables.all.len();
        let limits = match side {
            Side::None => None,
            Side::Left => Some(left..right),
            Side::Right => Some(right..end),
        };
        let shares_key = match constraint {
            JoinConstraint::On(expression) => {
                let sees = Some(left..end);
                scope.conditions.push(Condition {
                    expression,
                    bounds: Bounds { limits, sees },
                });
                false
            }
            JoinConstraint::Natural if absent => {
                self.problem("NATURAL JOIN compares columns that are not named");
                false
            }
            // Whoever sends the statement confirms that both sides show the key column.
            JoinConstraint::Natural => {
                self.finding.natural = true;
                true
            }
            JoinConstraint::Using(columns) => {
                let is_key = |name: &ObjectName| {
                    let column = name.0.last().and_then(ObjectNamePart::as_ident);
                    column.is_some_and(|column| self.is_key(column))
                };
                !absent && columns.iter().any(is_key)
            }
            JoinConstraint::None => false,
        };
        scope.tables.joined(left..right, side, shares_key);
    }

    fn factor<'e>(&mut self, factor: &'e TableFactor, nullable: bool, scope: &mut Scope<'e>) {
        match factor {
            TableFactor::NestedJoin {
                table_with_joins,
                alias: None,
            } if self.question.in_shards == InShards::Present && self.is_in_parentheses(factor, 0) => {
                self.nested(table_with_joins, nullable, scope);
            }
            TableFactor::Table {
                name,
                alias,
                args: None,
                version: None,
                sample: None,
                json_path: None,
                ..
            } => {
                self.handled += 1;
                let alias = alias.as_ref().map(|alias| alias.name.value.clone());
                self.table(name, alias, nullable, scope);
            }
            TableFactor::Derived { alias, .. } => {
                let name = alias.as_ref().map(|alias| alias.name.value.clone());
                scope.tables.push_derived(&name.unwrap_or_default());
            }
            _ => self.problem("a table reference is not followed"),
        }
    }

    fn table(&mut self, name: &ObjectName, alias: Option<String>, nullable: bool, scope: &mut Scope<'_>) {
        let parts = parts_of(name);
        let (schema, table) = match parts.as_deref() {
            Some([table]) => (None, *table),
            Some([schema, table]) => (Some(*schema), *table),
            _ => return self.problem("the name of a table is not followed"),
        };
        if schema.is_none() && table.eq_ignore_ascii_case("dual") {
            return;
        }
        let exposed = alias.clone().unwrap_or_else(|| table.to_owned());
        match self.common.is_one(table) {
            Ok(true) if schema.is_none() => return scope.tables.push_derived(&exposed),
            Err(()) if schema.is_none() => {
                return self.problem("a table and a common table expression differ by letter case");
            }
            _ => {}
        }
        let naming = schema
            .or(self.question.session_schema)
            .map(|schema| Naming::of(schema.as_bytes(), self.question.logical_schema));
        let logical = match naming {
            Some(Naming::Same) => true,
            Some(Naming::SameButForCase) => {
                self.problem("a schema is named with other letter case than the logical one");
                true
            }
            Some(Naming::Other) | None => {
                self.problem(&format!(
                    "table `{table}` of another schema is read beside the logical one"
                ));
                false
            }
        };
        scope.tables.push(Table {
            name: table.to_owned(),
            exposed,
            schema: schema.or(self.question.session_schema).map(str::to_owned),
            has_alias: alias.is_some(),
            logical,
            nullable,
            pinned: false,
        });
    }

    /// Reads the conditions of a scope whose tables are known.
    fn close(&mut self, mut scope: Scope<'_>, is_noted: bool) {
        scope.tables.settle();
        for condition in std::mem::take(&mut scope.conditions) {
            if !is_noted {
                self.note_mention(condition.expression);
            }
            self.condition(condition.expression, &condition.bounds, &mut scope.tables);
        }
        scope.tables.spread();
        self.pin_by_any(&mut scope.tables);
        for table in scope.tables.all.iter().filter(|table| table.logical) {
            self.finding.logical_tables.push(LogicalTable {
                name: table.exposed.clone(),
                table: table.name.clone(),
                pinned: table.pinned,
            });
        }
        self.outer.push(scope.tables);
    }

    fn note_wildcard(&mut self, items: &[SelectItem]) {
        self.finding.wildcard |= items
            .iter()
            .any(|item| matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..)));
    }

    pub(super) fn is_key(&self, ident: &Ident) -> bool {
        same_but_for_case(ident.value.as_bytes(), self.question.key_column)
    }
}

impl<'e> Scope<'e> {
    /// A condition that each row satisfies.
    fn everywhere(&mut self, condition: &'e Option<Expr>) {
        let conditions = condition.iter().map(|expression| Condition {
            expression,
            bounds: Bounds::default(),
        });
        self.conditions.extend(conditions);
    }
}
