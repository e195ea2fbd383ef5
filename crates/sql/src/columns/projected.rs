//! What the SELECT of an INSERT puts into the key column.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, Function, GroupByExpr, Join, JoinOperator, Query, Select, SelectItem, SetExpr, Spanned, Statement,
    TableFactor, TableWithJoins, Visit, Visitor, visit_expressions,
};

use super::pins::literal_at;
use super::{ColumnQuestion, KeyLiteral};
use crate::lex::TokenKind;
use crate::parse::{Reading, offset, same_but_for_case};

/// What a SELECT puts into a column.
pub(super) enum Projected {
    Literal(KeyLiteral),
    /// The key column of its tables, none of whose rows are missing.
    Key,
}

pub(super) fn projected(
    statement: &Statement,
    query: &Reading<'_>,
    question: &ColumnQuestion<'_>,
    place: usize,
) -> Option<Projected> {
    let Statement::Query(tree) = statement else {
        return None;
    };
    let SetExpr::Select(select) = &*tree.body else {
        return None;
    };
    let items = select.projection.iter().map(|item| match item {
        SelectItem::UnnamedExpr(expression) | SelectItem::ExprWithAlias { expr: expression, .. } => {
            Some(expression)
        }
        _ => None,
    });
    let items: Vec<&Expr> = items.collect::<Option<_>>()?;
    let item = items.get(place)?;
    let name = match item {
        Expr::Identifier(name) => Some(name),
        Expr::CompoundIdentifier(names) => names.last(),
        _ => None,
    };
    let Some(name) = name else {
        let first = query.index_at(offset(item.span().start)?)?;
        // The span of a number leaves out its sign.
        let first = first
            - usize::from(matches!(item, Expr::UnaryOp { .. }) && query.is_kind(first, TokenKind::Number));
        // That of a string leaves out its introducer, and could leave out more.
        let before = first.checked_sub(1)?;
        let first = first - usize::from(query.is_kind(before, TokenKind::Introducer));
        let verb = query.index_at(offset(select.select_token.0.span.start)?)?;
        let begins = match place {
            0 => query.behind_modifiers(verb) == first,
            _ => query.is_kind(first.checked_sub(1)?, TokenKind::Comma),
        };
        if !begins {
            return None;
        }
        let (literal, end) = literal_at(query, first)?;
        let is_whole = query.is_kind(end, TokenKind::Comma)
            || query.is_word(end, "FROM")
            || query.is_word(end, "AS")
            || end == query.tokens.len();
        return is_whole.then_some(Projected::Literal(literal));
    };
    let is_plain = |factor: &TableFactor| matches!(factor, TableFactor::Table { .. });
    let is_inner = |join: &Join| {
        let inner = matches!(
            join.join_operator,
            JoinOperator::Join(_)
                | JoinOperator::Inner(_)
                | JoinOperator::CrossJoin(_)
                | JoinOperator::StraightJoin(_)
        );
        inner && is_plain(&join.relation)
    };
    let is_whole = |from: &TableWithJoins| is_plain(&from.relation) && from.joins.iter().all(is_inner);
    let is_key = same_but_for_case(name.value.as_bytes(), question.key_column);
    (is_key && !makes_rows(tree, select) && tree.with.is_none() && select.from.iter().all(is_whole))
        .then_some(Projected::Key)
}

/// Functions that give a row where no row is read.
const AGGREGATES: [&str; 20] = [
    "AVG",
    "BIT_AND",
    "BIT_OR",
    "BIT_XOR",
    "COUNT",
    "GROUP_CONCAT",
    "JSON_ARRAYAGG",
    "JSON_OBJECTAGG",
    "MAX",
    "MEDIAN",
    "MIN",
    "STD",
    "STDDEV",
    "STDDEV_POP",
    "STDDEV_SAMP",
    "ST_COLLECT",
    "SUM",
    "VARIANCE",
    "VAR_POP",
    "VAR_SAMP",
];

/// Whether the query may give a row that stands for no row of its tables: a total, or an aggregate of no rows. The key of such
/// a row is NULL, which the server may store as 0.
fn makes_rows(query: &Query, select: &Select) -> bool {
    let GroupByExpr::Expressions(groups, modifiers) = &select.group_by else {
        return true;
    };
    if groups.is_empty() {
        let mut aggregates = Aggregates {
            depth: 0,
            found: false,
        };
        let _: ControlFlow<()> = query.visit(&mut aggregates);
        return aggregates.found;
    }
    let gives_totals = |group: &Expr| match group {
        Expr::Rollup(_) | Expr::Cube(_) | Expr::GroupingSets(_) => true,
        Expr::Function(function) => is_one_of(function, &["ROLLUP", "CUBE"]),
        _ => false,
    };
    !modifiers.is_empty() || groups.iter().any(gives_totals)
}

fn is_one_of(function: &Function, names: &[&str]) -> bool {
    let name = function.name.0.last().and_then(|part| part.as_ident());
    name.is_some_and(|name| names.iter().any(|entry| name.value.eq_ignore_ascii_case(entry)))
}

/// Looks for aggregates of the outermost query.
struct Aggregates {
    /// Queries around the place.
    depth: usize,
    found: bool,
}

impl Visitor for Aggregates {
    type Break = ();

    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<()> {
        if let Expr::Function(function) = expression
            && function.over.is_none()
            && is_one_of(function, &AGGREGATES)
        {
            // In a subquery, an aggregate of columns of the outermost query belongs to that one.
            self.found |= self.depth <= 1 || names_columns(function);
        }
        ControlFlow::Continue(())
    }
}

fn names_columns(function: &Function) -> bool {
    let is_column = |expression: &Expr| match expression {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    visit_expressions(&function.args, is_column).is_break()
}
