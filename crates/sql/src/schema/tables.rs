//! The tables that a statement names.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use sqlparser::ast::{
    FromTable, ObjectName, Query, Statement, TableFactor, TableWithJoins, Visit, Visitor, With,
};

use super::{NamedTable, Refusal};
use crate::class::StatementClass;
use crate::lex::{LexMode, Span, TokenKind, identifier};
use crate::names::folded;
use crate::parse::{Reading, offset};
use crate::work;

/// What a query begins with, also inside another statement.
pub(super) const QUERY: [&str; 3] = ["SELECT", "TABLE", "WITH"];

/// The tables that a SELECT, INSERT, REPLACE, UPDATE or DELETE names, in the order of the text; names of common table
/// expressions are not among them.
///
/// # Errors
/// If the statement is of another kind or cannot be parsed.
pub fn tables(text: &[u8], mode: LexMode) -> Result<Vec<NamedTable>, Refusal> {
    of(&Reading::of(text, mode)?)
}

/// Those of them that have no schema.
pub(crate) fn unqualified(reading: &Reading<'_>) -> Result<Vec<NamedTable>, Refusal> {
    Ok(of(reading)?
        .into_iter()
        .filter(|table| table.schema.is_none())
        .collect())
}

fn of(reading: &Reading<'_>) -> Result<Vec<NamedTable>, Refusal> {
    if matches!(reading.class, StatementClass::Insert | StatementClass::Replace) {
        let target = insert_target(reading)?;
        let asks = QUERY
            .iter()
            .any(|word| (target.end..reading.tokens.len()).any(|index| reading.is_word(index, word)));
        if !asks {
            return Ok(vec![target.table()]);
        }
    }
    reading.with_tree(of_tree)?
}

fn of_tree(statement: &Statement) -> Result<Vec<NamedTable>, Refusal> {
    let mut collector = Collector::default();
    let _: ControlFlow<()> = statement.visit(&mut collector);
    if let Some(problem) = collector.problem {
        return Err(problem.to_owned());
    }
    // The visitor passes over the targets of `DELETE a FROM t a`.
    let targets = match statement {
        Statement::Delete(delete) => delete.tables.as_slice(),
        _ => &[],
    };
    let mut found = targets
        .iter()
        .chain(&collector.relations)
        .map(named)
        .collect::<Result<Vec<_>, _>>()?;
    let is_expression = |table: &NamedTable| {
        table.schema.is_none() && collector.expressions.contains(&folded(table.table.as_bytes()))
    };
    let aliases = targets_by_alias(statement)?;
    found.retain(|table| {
        let dual = table.schema.is_none() && table.table.eq_ignore_ascii_case("dual");
        !dual && !is_expression(table) && !aliases.contains(&table.span.start)
    });
    found.sort_by_key(|table| table.span);
    Ok(found)
}

/// Where the targets of `DELETE a FROM t a` and `DELETE FROM a USING t a` stand that are aliases of tables.
fn targets_by_alias(statement: &Statement) -> Result<HashSet<usize>, Refusal> {
    let Statement::Delete(delete) = statement else {
        return Ok(HashSet::new());
    };
    let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
    let (targets, tables): (Vec<&ObjectName>, _) = match &delete.using {
        Some(using) => (from.iter().filter_map(name_of_target).collect(), using),
        None => (delete.tables.iter().collect(), from),
    };
    let mut aliases = Aliases::default();
    let _: ControlFlow<()> = tables.visit(&mut aliases);
    let mut found = HashSet::new();
    for target in targets {
        let target = named(target)?;
        let alike = aliases.names.get(&folded(target.table.as_bytes()));
        match alike.filter(|_| target.schema.is_none()) {
            Some(alias) if *alias == target.table => {
                found.insert(target.span.start);
            }
            Some(_) => return Err("an alias is named with other letter case".to_owned()),
            None => {}
        }
    }
    Ok(found)
}

/// A target in front of USING.
fn name_of_target(target: &TableWithJoins) -> Option<&ObjectName> {
    match &target.relation {
        TableFactor::Table { name, .. } => Some(name),
        _ => None,
    }
}

/// The aliases of a list of tables; those inside its derived tables are not among them.
#[derive(Default)]
struct Aliases {
    depth: usize,
    /// The first of those that differ by letter case only.
    names: HashMap<String, String>,
}

impl Visitor for Aliases {
    type Break = ();

    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table {
            alias: Some(alias), ..
        } = factor
            && self.depth == 0
        {
            let name = &alias.name.value;
            let first = self.names.entry(folded(name.as_bytes()));
            first.or_insert_with(|| name.clone());
        }
        ControlFlow::Continue(())
    }
}

fn named(name: &ObjectName) -> Result<NamedTable, Refusal> {
    let idents: Option<Vec<_>> = name.0.iter().map(|part| part.as_ident()).collect();
    let (schema, table, first, last) = match idents.as_deref() {
        Some([table]) => (None, table, table, table),
        Some([schema, table]) => (Some(schema.value.clone()), table, schema, table),
        _ => return Err("the name of a table is not followed".to_owned()),
    };
    match (offset(first.span.start), offset(last.span.end)) {
        (Some(start), Some(end)) => Ok(NamedTable {
            schema,
            table: table.value.clone(),
            span: Span { start, end },
        }),
        _ => Err("the place of a table's name is not known".to_owned()),
    }
}

/// Visits each node once, also those of common table expressions, which stand inside each other.
#[derive(Default)]
struct Collector {
    depth: usize,
    /// Names of the common table expressions of the outermost query.
    expressions: HashSet<String>,
    /// Those of the outermost query that is being visited.
    list: ExpressionList,
    relations: Vec<ObjectName>,
    problem: Option<&'static str>,
}

/// The common table expressions of one query, in their order.
#[derive(Default)]
struct ExpressionList {
    queries: Vec<*const Query>,
    /// The last place of each name.
    places: HashMap<String, usize>,
    is_recursive: bool,
    /// The expression that is being visited, or the next one.
    current: usize,
    is_inside: bool,
}

impl ExpressionList {
    fn of(with: &With) -> Self {
        let tables = with.cte_tables.iter();
        let names = tables
            .clone()
            .map(|table| folded(table.alias.name.value.as_bytes()));
        Self {
            queries: tables.map(|table| std::ptr::from_ref(&*table.query)).collect(),
            places: names.enumerate().map(|(place, name)| (name, place)).collect(),
            is_recursive: with.recursive,
            ..Self::default()
        }
    }

    fn begins(&self, query: &Query) -> bool {
        let next = self.queries.get(self.current);
        next.is_some_and(|next| std::ptr::eq(*next, query))
    }

    /// Whether the name of a table is that of an expression which cannot be used here yet.
    fn is_ahead(&self, name: &str) -> bool {
        let place = self.places.get(&folded(name.as_bytes()));
        let usable = self.current + usize::from(self.is_recursive);
        self.is_inside && place.is_some_and(|&place| place >= usable)
    }
}

impl Visitor for Collector {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        work::count(1);
        self.depth += 1;
        self.list.is_inside |= self.depth == 2 && self.list.begins(query);
        let Some(with) = &query.with else {
            return ControlFlow::Continue(());
        };
        if self.depth > 1 {
            self.problem = Some("a common table expression inside another query is not followed");
            return ControlFlow::Continue(());
        }
        self.list = ExpressionList::of(with);
        self.expressions.extend(self.list.places.keys().cloned());
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        if self.depth == 2 && self.list.begins(query) {
            self.list.current += 1;
            self.list.is_inside = false;
        }
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
        work::count(1);
        let last = relation.0.last().and_then(|part| part.as_ident());
        if last.is_some_and(|last| self.list.is_ahead(&last.value)) {
            self.problem
                .get_or_insert("a common table expression has the name of a table");
        }
        self.relations.push(relation.clone());
        ControlFlow::Continue(())
    }
}

/// The table that an INSERT or REPLACE writes to.
pub(crate) struct InsertTarget {
    pub(crate) schema: Option<String>,
    table: String,
    span: Span,
    /// Index of the token behind the name and its PARTITION clause.
    pub(crate) end: usize,
}

impl InsertTarget {
    /// The table's own name.
    pub(crate) fn name(&self) -> &str {
        &self.table
    }

    fn table(self) -> NamedTable {
        NamedTable {
            schema: self.schema,
            table: self.table,
            span: self.span,
        }
    }
}

/// Reads `INSERT [modifiers] [INTO] [schema.]table [PARTITION (…)]`.
pub(crate) fn insert_target(reading: &Reading<'_>) -> Result<InsertTarget, Refusal> {
    let odd = || "the table of this INSERT is not found".to_owned();
    let mut at = reading.behind_modifiers(0);
    at += usize::from(reading.is_word(at, "INTO"));
    let name = |index: usize| {
        let token = reading.tokens.get(index)?;
        String::from_utf8(identifier(token, reading.text)?.into_owned()).ok()
    };
    let first = name(at).ok_or_else(odd)?;
    let start = reading.tokens[at].span.start;
    let (schema, table) = if reading.is_kind(at + 1, TokenKind::Dot) {
        at += 2;
        (Some(first), name(at).ok_or_else(odd)?)
    } else {
        (None, first)
    };
    let span = Span {
        start,
        end: reading.tokens[at].span.end,
    };
    at += 1;
    if reading.is_word(at, "PARTITION") {
        while !reading.is_kind(at, TokenKind::RightParen) {
            at += 1;
            if at >= reading.tokens.len() {
                return Err(odd());
            }
        }
        at += 1;
    }
    Ok(InsertTarget {
        schema,
        table,
        span,
        end: at,
    })
}
