//! What a condition says of the key: it pins a table, or links two.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use sqlparser::ast::Expr;

use super::InShards;
use super::conjuncts::{Structure, structure_of};
use super::pins::{Meaning, Pin, Predicate};
use super::scope::{Bounds, Surveyor};
use super::tables::{Limited, Owner, Tables};
use crate::work;

impl Surveyor<'_> {
    /// Reads a condition about these tables.
    pub(super) fn condition(&mut self, condition: &Expr, bounds: &Bounds, tables: &mut Tables) {
        match structure_of(condition, self.reading, self.question.key_column) {
            Some(Structure::All(terms)) => {
                for term in terms {
                    self.conjunct(term, bounds, tables);
                }
            }
            Some(term) => self.conjunct(term, bounds, tables),
            None => {}
        }
    }

    fn conjunct(&mut self, conjunct: Structure<Predicate>, bounds: &Bounds, tables: &mut Tables) {
        let limits = bounds.limits.as_ref();
        let absent = self.question.in_shards == InShards::Absent;
        match conjunct {
            // Where the column is absent, `1=1` takes the place of a predicate, so it must say nothing else.
            Structure::Predicate(predicate) if absent && predicate.place.columns.len() > 1 => {}
            Structure::Predicate(predicate) => match predicate.meaning {
                Meaning::Pin(pin) => match self.pinned_table(&pin, tables) {
                    Some(index) if !absent && pin.value_set().len() > 1 => {
                        tables.limit_by_any([(index, vec![pin])], limits);
                    }
                    Some(index) => self.pin(index, vec![pin], bounds, tables),
                    None => {}
                },
                Meaning::Link(columns) => self.link(&columns, limits, tables),
            },
            Structure::Any(_) if absent => {}
            Structure::Any(terms) => {
                let limited = limited_by_any(terms, tables);
                tables.limit_by_any(limited, limits);
            }
            Structure::All(_) | Structure::Other => {}
        }
    }

    /// Several keys, or terms of which one must hold, pin a table that nothing else pins. Elsewhere they only take keys away.
    pub(super) fn pin_by_any(&mut self, tables: &mut Tables) {
        for (index, pins) in std::mem::take(&mut tables.by_any) {
            if !tables.all[index].pinned {
                self.pin(index, pins, &Bounds::default(), tables);
                if tables.all[index].pinned {
                    tables.spread_from(vec![index]);
                }
            }
        }
    }

    fn pin(&mut self, index: usize, pins: Vec<Pin>, bounds: &Bounds, tables: &mut Tables) {
        let absent = self.question.in_shards == InShards::Absent;
        // A server refuses the name there (1054), and would not see it in the text that is sent.
        if absent && bounds.sees.as_ref().is_some_and(|sees| !sees.contains(&index)) {
            return self.problem("a predicate in ON is about a table that its join does not have");
        }
        match &bounds.limits {
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

    /// Two tables whose keys are compared, or one whose key is compared with that of a pinned table of a select around.
    fn link(&self, columns: &[Vec<String>; 2], limits: Option<&Range<usize>>, tables: &mut Tables) {
        let is_limited = |one: usize| limits.is_none_or(|limits| limits.contains(&one));
        match columns.each_ref().map(|names| tables.owner(names)) {
            [Owner::Table(one), Owner::Table(other)] => tables.link(one, other, limits),
            [Owner::Table(one), Owner::Elsewhere]
                if is_limited(one) && self.is_pinned_around(&columns[1]) =>
            {
                tables.all[one].pinned = true;
            }
            [Owner::Elsewhere, Owner::Table(one)]
                if is_limited(one) && self.is_pinned_around(&columns[0]) =>
            {
                tables.all[one].pinned = true;
            }
            _ => {}
        }
    }

    /// True if the column can only belong to pinned tables of the selects around. The innermost need not be the owner: a
    /// derived table sees nothing of its own FROM.
    fn is_pinned_around(&self, names: &[String]) -> bool {
        let owners = self.outer.iter().map(|tables| (tables, tables.owner(names)));
        let mut owners = owners.filter(|(_, owner)| *owner != Owner::Elsewhere).peekable();
        let is_pinned = |(tables, owner): (&Tables, Owner)| match owner {
            Owner::Table(index) => tables.all[index].logical && tables.all[index].pinned,
            Owner::Elsewhere | Owner::Unknown => false,
        };
        owners.peek().is_some() && owners.all(is_pinned)
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

/// The tables that each of these terms limits: one of them holds for a row that counts.
fn limited_by_any(terms: Vec<Structure<Predicate>>, tables: &Tables) -> Vec<Limited> {
    let mut terms = terms.into_iter().map(|term| limited_by(term, tables));
    let mut limited = terms.next().unwrap_or_default();
    for others in terms {
        work::count(1 + limited.len());
        let mut others: HashMap<usize, Vec<Pin>> = others.into_iter().collect();
        limited.retain_mut(|(index, pins)| {
            let other = others.get_mut(index);
            other.map(|other| pins.append(other)).is_some()
        });
    }
    limited
}

/// The tables that a term limits, each once.
fn limited_by(term: Structure<Predicate>, tables: &Tables) -> Vec<Limited> {
    match term {
        Structure::Predicate(Predicate {
            meaning: Meaning::Pin(pin),
            ..
        }) => match tables.owner(&pin.names) {
            Owner::Table(index) if tables.all[index].logical => vec![(index, vec![pin])],
            _ => Vec::new(),
        },
        Structure::All(terms) => {
            let mut limited: Vec<Limited> = Vec::new();
            let mut known = HashSet::new();
            for (index, pins) in terms.into_iter().flat_map(|term| limited_by(term, tables)) {
                // Any of the predicates on a table will do.
                if known.insert(index) {
                    limited.push((index, pins));
                }
            }
            limited
        }
        Structure::Any(terms) => limited_by_any(terms, tables),
        Structure::Predicate(_) | Structure::Other => Vec::new(),
    }
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
