//! What a condition says of the key: it pins a table, or links two.

use std::ops::Range;

use sqlparser::ast::{BinaryOperator, Expr, Spanned};

use super::InShards;
use super::pins::{Beside, Pin, equal_columns_at, pin_at, pin_of_rows};
use super::scope::Surveyor;
use super::tables::{Owner, Tables};
use crate::parse::{offset, same_but_for_case};

impl Surveyor<'_> {
    /// Reads a condition that limits the rows of these tables, or of all.
    pub(super) fn condition(&mut self, condition: &Expr, limits: Option<&Range<usize>>, tables: &mut Tables) {
        for conjunct in terms_of(condition, &BinaryOperator::And) {
            self.conjunct(conjunct, limits, tables);
        }
    }

    fn conjunct(&mut self, conjunct: &Expr, limits: Option<&Range<usize>>, tables: &mut Tables) {
        if let Some((index, pins)) = self.pins(conjunct, tables) {
            return self.pin(index, pins, limits, tables);
        }
        if let Some((one, other)) = self.linked(conjunct, tables) {
            match other {
                Some(other) => tables.link(one, other, limits),
                None if limits.is_none_or(|limits| limits.contains(&one)) => tables.all[one].pinned = true,
                None => {}
            }
        }
    }

    /// The one table that a predicate limits to keys: `key = 5`, or several such predicates of which one must hold.
    fn pins(&mut self, conjunct: &Expr, tables: &Tables) -> Option<(usize, Vec<Pin>)> {
        let absent = self.question.in_shards == InShards::Absent;
        let terms = terms_of(conjunct, &BinaryOperator::Or);
        let beside = match terms.len() {
            1 => Beside::And,
            // What takes the predicates' place would have to be one.
            _ if absent => return None,
            _ => Beside::Or,
        };
        let key = self.question.key_column;
        let read = |term: &&Expr| {
            let start = offset(term.span().start)?;
            let pin = match term {
                Expr::BinaryOp { op, .. } if is_equality(op) => pin_at(self.reading, start, beside),
                Expr::InList { negated: false, .. } | Expr::Between { negated: false, .. } => {
                    pin_at(self.reading, start, beside)
                }
                _ => None,
            };
            let of_rows = || pin_of_rows(self.reading, start, key).filter(|_| !absent);
            pin.filter(|pin| same_but_for_case(pin.names[0].as_bytes(), key))
                .or_else(of_rows)
        };
        let pins: Vec<Pin> = terms.iter().map(read).collect::<Option<_>>()?;
        let mut owners = pins
            .iter()
            .map(|pin| self.pinned_table(pin, tables))
            .collect::<Vec<_>>();
        owners.dedup();
        match owners[..] {
            [Some(index)] => Some((index, pins)),
            _ => None,
        }
    }

    fn pin(&mut self, index: usize, pins: Vec<Pin>, limits: Option<&Range<usize>>, tables: &mut Tables) {
        let absent = self.question.in_shards == InShards::Absent;
        match limits {
            Some(limits) if !limits.contains(&index) => return,
            // NULL rows fail the predicate and would pass `1=1`.
            None if absent && tables.all[index].nullable => {
                return self.problem("a predicate outside ON limits the optional side of an outer join");
            }
            _ => {}
        }
        tables.all[index].pinned = true;
        self.finding.pins.extend(joined(pins));
    }

    /// The table whose key is compared with that of another one, and that one if it is of the same FROM; a table of a select
    /// around counts if it is pinned.
    fn linked(&self, conjunct: &Expr, tables: &Tables) -> Option<(usize, Option<usize>)> {
        if self.question.in_shards == InShards::Absent {
            return None;
        }
        let Expr::BinaryOp { op, .. } = conjunct else {
            return None;
        };
        let start = offset(conjunct.span().start).filter(|_| is_equality(op))?;
        let columns = equal_columns_at(self.reading, start)?;
        let is_key = |names: &Vec<String>| same_but_for_case(names[0].as_bytes(), self.question.key_column);
        if !columns.iter().all(is_key) {
            return None;
        }
        match columns.each_ref().map(|names| tables.owner(names)) {
            [Owner::Table(one), Owner::Table(other)] => Some((one, Some(other))),
            [Owner::Table(one), Owner::Elsewhere] if self.is_pinned_around(&columns[1]) => Some((one, None)),
            [Owner::Elsewhere, Owner::Table(one)] if self.is_pinned_around(&columns[0]) => Some((one, None)),
            _ => None,
        }
    }

    fn is_pinned_around(&self, names: &[String]) -> bool {
        let mut owners = self
            .outer
            .iter()
            .rev()
            .map(|tables| (tables, tables.owner(names)));
        match owners.find(|(_, owner)| *owner != Owner::Elsewhere) {
            Some((tables, Owner::Table(index))) => tables.all[index].logical && tables.all[index].pinned,
            _ => false,
        }
    }

    /// The one table of the scope that the pin's column belongs to.
    fn pinned_table(&mut self, pin: &Pin, tables: &Tables) -> Option<usize> {
        match tables.owner(&pin.names) {
            Owner::Table(index) => tables.all[index].logical.then_some(index),
            // All of it is of derived tables, whose own tables are looked at by themselves.
            _ if pin.names.len() == 1 && tables.all.is_empty() => None,
            _ if pin.names.len() == 1 => {
                self.problem(&format!(
                    "{} is not qualified and more than one table is read",
                    self.question.key_column
                ));
                None
            }
            _ if tables.has_namesakes(&pin.names) => {
                self.problem("two tables of one FROM have the same name");
                None
            }
            _ => None,
        }
    }
}

fn is_equality(operator: &BinaryOperator) -> bool {
    matches!(operator, BinaryOperator::Eq | BinaryOperator::Spaceship)
}

/// Predicates of which one must hold, as one with all their literals.
fn joined(mut pins: Vec<Pin>) -> Option<Pin> {
    let last = pins.last()?.span.end;
    let literals = pins
        .iter_mut()
        .flat_map(|pin| std::mem::take(&mut pin.literals))
        .collect();
    let mut pin = pins.swap_remove(0);
    pin.span.end = last;
    pin.literals = literals;
    Some(pin)
}

/// The terms that stand between these operators at the top level, parentheses removed; in the order of the text.
fn terms_of<'e>(condition: &'e Expr, operator: &BinaryOperator) -> Vec<&'e Expr> {
    let mut terms = Vec::new();
    let mut open = vec![condition];
    while let Some(term) = open.pop() {
        match term {
            Expr::Nested(inner) => open.push(inner),
            Expr::BinaryOp { left, op, right } if op == operator => {
                open.extend([right.as_ref(), left.as_ref()])
            }
            other => terms.push(other),
        }
    }
    terms
}
