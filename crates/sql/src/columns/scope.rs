//! The tables of every SELECT, UPDATE and DELETE of a statement, and which of them are pinned to a key.

use std::ops::ControlFlow;

use sqlparser::ast::{
    AssignmentTarget, BinaryOperator, Delete, Expr, FromTable, Ident, Join, JoinConstraint, JoinOperator,
    ObjectName, ObjectNamePart, Query, Select, SelectItem, SetExpr, Spanned, Statement, TableFactor,
    TableWithJoins, Update, Visit, Visitor,
};

use super::pins::{Pin, pin_at};
use super::{ColumnQuestion, InShards};
use crate::parse::{Reading, offset, same_but_for_case};
use crate::schema::Naming;

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
    /// A select list has a `*`.
    pub(super) wildcard: bool,
    /// WHERE, ON or HAVING names the key column.
    pub(super) condition_mentions_key: bool,
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
        handled: 0,
    };
    match statement {
        Statement::Query(_) => {}
        Statement::Update(update) => surveyor.update(update),
        Statement::Delete(delete) => surveyor.delete(delete),
        _ => return Err("the statement is of a form that is not followed".to_owned()),
    }
    let _: ControlFlow<()> = statement.visit(&mut surveyor);
    if surveyor.relations != surveyor.handled {
        surveyor.problem("a table stands where it is not looked for");
    }
    Ok(surveyor.finding)
}

/// A table in a FROM clause.
struct Table {
    name: String,
    /// As columns are qualified by it.
    exposed: String,
    /// It has no alias, so the schema can stand before it.
    schema: Option<String>,
    has_alias: bool,
    logical: bool,
    /// Rows of NULLs can stand for it.
    nullable: bool,
    pinned: bool,
}

#[derive(Default)]
struct Scope<'e> {
    tables: Vec<Table>,
    /// Derived tables.
    derived: usize,
    /// Conditions that every row of the scope satisfies.
    conditions: Vec<&'e Expr>,
    /// Conditions of a LEFT JOIN and the index of the table that they limit.
    limited: Vec<(&'e Expr, usize)>,
}

struct Surveyor<'r> {
    reading: &'r Reading<'r>,
    question: &'r ColumnQuestion<'r>,
    finding: Finding,
    relations: usize,
    handled: usize,
}

impl Visitor for Surveyor<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        if query.with.is_some() {
            self.problem("common table expressions are not followed");
        }
        if !query.pipe_operators.is_empty() || query.for_clause.is_some() {
            self.problem("a clause of the query is not followed");
        }
        self.set_expression(&query.body);
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        self.select(select);
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, _: &ObjectName) -> ControlFlow<()> {
        self.relations += 1;
        ControlFlow::Continue(())
    }
}

impl Surveyor<'_> {
    fn problem(&mut self, what: &str) {
        self.finding.problems.push(what.to_owned());
    }

    fn set_expression(&mut self, body: &SetExpr) {
        match body {
            SetExpr::Select(_) | SetExpr::Query(_) => {}
            SetExpr::SetOperation { left, right, .. } => {
                self.set_expression(left);
                self.set_expression(right);
            }
            _ => self.problem("a query body other than SELECT is not followed"),
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
        self.finding.wildcard |= select
            .projection
            .iter()
            .any(|item| matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..)));
        if let Some(having) = &select.having {
            self.note_mention(having);
        }
        let mut scope = Scope::default();
        for from in &select.from {
            self.from(from, &mut scope);
        }
        scope.conditions.extend(&select.selection);
        self.close(scope);
    }

    fn update(&mut self, update: &Update) {
        if !update.table.joins.is_empty() || update.from.is_some() {
            self.problem("an UPDATE of several tables is not followed");
        }
        for assignment in &update.assignments {
            let column = match &assignment.target {
                AssignmentTarget::ColumnName(name) => name.0.last().and_then(ObjectNamePart::as_ident),
                AssignmentTarget::Tuple(_) => None,
            };
            match column {
                Some(column) if self.is_key(column) => {
                    self.problem(&format!(
                        "the statement sets {}, which would move the row",
                        self.question.key_column
                    ));
                }
                Some(_) => {}
                None => self.problem("an assignment is not followed"),
            }
        }
        let mut scope = Scope::default();
        self.from(&update.table, &mut scope);
        scope.conditions.extend(&update.selection);
        self.close(scope);
    }

    fn delete(&mut self, delete: &Delete) {
        let from = match &delete.from {
            FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from) => from,
        };
        if !delete.tables.is_empty() || delete.using.is_some() || from.len() != 1 || !from[0].joins.is_empty()
        {
            self.problem("a DELETE from several tables is not followed");
        }
        let mut scope = Scope::default();
        for from in from {
            self.from(from, &mut scope);
        }
        scope.conditions.extend(&delete.selection);
        self.close(scope);
    }

    fn from<'e>(&mut self, from: &'e TableWithJoins, scope: &mut Scope<'e>) {
        self.factor(&from.relation, false, scope);
        for join in &from.joins {
            self.join(join, scope);
        }
    }

    fn join<'e>(&mut self, join: &'e Join, scope: &mut Scope<'e>) {
        let (constraint, outer) = match &join.join_operator {
            JoinOperator::Join(constraint)
            | JoinOperator::Inner(constraint)
            | JoinOperator::CrossJoin(constraint)
            | JoinOperator::StraightJoin(constraint) => (constraint, false),
            JoinOperator::Left(constraint) | JoinOperator::LeftOuter(constraint) => (constraint, true),
            _ => {
                self.problem("of outer joins only LEFT JOIN is followed");
                (&JoinConstraint::None, true)
            }
        };
        if join.global {
            self.problem("a join is not followed");
        }
        let right = scope.tables.len();
        self.factor(&join.relation, outer, scope);
        match constraint {
            JoinConstraint::On(condition) if outer => scope.limited.push((condition, right)),
            JoinConstraint::On(condition) => scope.conditions.push(condition),
            JoinConstraint::Natural => self.problem("NATURAL JOIN compares columns that are not named"),
            JoinConstraint::Using(_) | JoinConstraint::None => {}
        }
    }

    fn factor(&mut self, factor: &TableFactor, nullable: bool, scope: &mut Scope<'_>) {
        match factor {
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
            TableFactor::Derived { .. } => scope.derived += 1,
            _ => self.problem("a table reference is not followed"),
        }
    }

    fn table(&mut self, name: &ObjectName, alias: Option<String>, nullable: bool, scope: &mut Scope<'_>) {
        let parts: Vec<&str> = name
            .0
            .iter()
            .filter_map(|part| Some(part.as_ident()?.value.as_str()))
            .collect();
        let (schema, table) = match (name.0.len(), parts.as_slice()) {
            (1, [table]) => (None, *table),
            (2, [schema, table]) => (Some(*schema), *table),
            _ => return self.problem("the name of a table is not followed"),
        };
        if schema.is_none() && table.eq_ignore_ascii_case("dual") {
            return;
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
            exposed: alias.clone().unwrap_or_else(|| table.to_owned()),
            schema: schema.map(str::to_owned),
            has_alias: alias.is_some(),
            logical,
            nullable,
            pinned: false,
        });
    }

    /// Reads the conditions of a scope whose tables are known.
    fn close(&mut self, mut scope: Scope<'_>) {
        let conditions = std::mem::take(&mut scope.conditions);
        let limited = std::mem::take(&mut scope.limited);
        let everywhere = conditions.into_iter().map(|condition| (condition, None));
        let somewhere = limited
            .into_iter()
            .map(|(condition, table)| (condition, Some(table)));
        for (condition, only) in everywhere.chain(somewhere) {
            self.note_mention(condition);
            for conjunct in conjuncts(condition) {
                self.conjunct(conjunct, only, &mut scope);
            }
        }
        for table in scope.tables.into_iter().filter(|table| table.logical) {
            self.finding.logical_tables.push(LogicalTable {
                name: table.exposed,
                table: table.name,
                pinned: table.pinned,
            });
        }
    }

    fn conjunct(&mut self, conjunct: &Expr, only: Option<usize>, scope: &mut Scope<'_>) {
        let simple = matches!(
            conjunct,
            Expr::BinaryOp {
                op: BinaryOperator::Eq,
                ..
            } | Expr::InList { negated: false, .. }
        );
        let Some(pin) = simple
            .then(|| offset(conjunct.span().start))
            .flatten()
            .and_then(|start| pin_at(self.reading, start))
            .filter(|pin| same_but_for_case(pin.names[0].as_bytes(), self.question.key_column))
        else {
            return;
        };
        let Some(index) = self.pinned_table(&pin, scope) else {
            return;
        };
        let absent = self.question.in_shards == InShards::Absent;
        match only {
            Some(limited) if limited != index => return,
            // NULL rows fail the predicate and would pass `1=1`.
            None if absent && scope.tables[index].nullable => {
                return self.problem("a predicate outside ON limits the optional side of an outer join");
            }
            _ => {}
        }
        scope.tables[index].pinned = true;
        self.finding.pins.push(pin);
    }

    /// The one table of the scope that the pin's column belongs to.
    fn pinned_table(&mut self, pin: &Pin, scope: &Scope<'_>) -> Option<usize> {
        let candidates: Vec<usize> = match pin.names.as_slice() {
            [_] if scope.tables.len() == 1 && scope.derived == 0 => vec![0],
            [_] => {
                self.problem(&format!(
                    "{} is not qualified and more than one table is read",
                    self.question.key_column
                ));
                return None;
            }
            [_, qualifier] => (0..scope.tables.len())
                .filter(|&i| scope.tables[i].exposed == *qualifier)
                .collect(),
            [_, table, schema] => (0..scope.tables.len())
                .filter(|&i| {
                    let candidate = &scope.tables[i];
                    let own = candidate.schema.as_deref().or(self.question.session_schema);
                    !candidate.has_alias && candidate.exposed == *table && own == Some(schema)
                })
                .collect(),
            _ => Vec::new(),
        };
        match candidates.as_slice() {
            [index] if scope.tables[*index].logical => Some(*index),
            [_] | [] => None,
            _ => {
                self.problem("two tables of one FROM have the same name");
                None
            }
        }
    }

    fn note_mention(&mut self, condition: &Expr) {
        let mut mention = Mention {
            surveyor: self,
            found: false,
        };
        let _: ControlFlow<()> = condition.visit(&mut mention);
        let found = mention.found;
        self.finding.condition_mentions_key |= found;
    }

    fn is_key(&self, ident: &Ident) -> bool {
        same_but_for_case(ident.value.as_bytes(), self.question.key_column)
    }
}

struct Mention<'s, 'r> {
    surveyor: &'s Surveyor<'r>,
    found: bool,
}

impl Visitor for Mention<'_, '_> {
    type Break = ();

    fn pre_visit_ident(&mut self, ident: &Ident) -> ControlFlow<()> {
        self.found |= self.surveyor.is_key(ident);
        ControlFlow::Continue(())
    }
}

/// The terms of a top-level AND, parentheses removed.
fn conjuncts(condition: &Expr) -> Vec<&Expr> {
    let mut terms = Vec::new();
    let mut open = vec![condition];
    while let Some(term) = open.pop() {
        match term {
            Expr::Nested(inner) => open.push(inner),
            Expr::BinaryOp {
                left,
                op: BinaryOperator::And,
                right,
            } => open.extend([right.as_ref(), left.as_ref()]),
            other => terms.push(other),
        }
    }
    terms
}
