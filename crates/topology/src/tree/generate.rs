//! `for_each`: the values of its variables, and one environment per combination.

mod source;

use std::ops::ControlFlow;
use std::sync::Arc;

use rustc_hash::FxHashSet;
use shardwright_diagnostics::{Diagnostic, Span, did_you_mean};
use shardwright_documents::Node;

pub(crate) use source::{column as data_column, is_variable, schema, values as sources};

use self::source::generator;
use crate::codes::{BAD_DATA, BAD_GENERATOR, MISSING_KEY};
use crate::fields::{AnyField, FOR_EACH};
use crate::template::Value;
use crate::tree::context::Context;
use crate::tree::data::Table;
use crate::tree::environment::{Binding, Environment};
use crate::tree::view::{Field, View};
use crate::units::{key_range, looks_like_range};

/// Combinations in `except` that leave a variable open: each is compared with every instance.
const MAX_OPEN_EXCEPTIONS: usize = 100;

/// Empty cells of one column that are reported.
const MAX_EMPTY: usize = 100;

/// The values of one variable.
#[derive(Debug)]
struct Variable {
    name: Arc<str>,
    values: Values,
}

#[derive(Debug)]
enum Values {
    Range {
        first: i64,
        count: u64,
    },
    List(Vec<Value>),
    /// A column of a table, one value for each row.
    Column(Arc<Table>, usize),
}

impl Values {
    fn len(&self) -> u64 {
        match self {
            Self::Range { count, .. } => *count,
            Self::List(values) => values.len() as u64,
            Self::Column(table, _) => table.rows() as u64,
        }
    }

    fn get(&self, at: u64) -> Value {
        match self {
            // `at` is below `count`, so the sum stays within the range that was written.
            Self::Range { first, .. } => Value::Integer(first.wrapping_add_unsigned(at)),
            Self::List(values) => values[index(at)].clone(),
            Self::Column(table, column) => Value::of_cell(table.cell(index(at), *column)),
        }
    }

    /// The row that a value stands in, and the place of its cell.
    fn row(&self, at: u64) -> Option<((Arc<Table>, usize), Span)> {
        match self {
            Self::Range { .. } | Self::List(_) => None,
            Self::Column(table, column) => Some(((table.clone(), index(at)), table.span(index(at), *column))),
        }
    }
}

/// A value's place in memory; places are below [`Values::len`].
fn index(at: u64) -> usize {
    usize::try_from(at).unwrap_or(usize::MAX)
}

/// The combinations of a `for_each` that are left after `except`.
#[derive(Debug)]
pub(crate) struct Combinations {
    variables: Vec<Variable>,
    /// Combinations that are left out, each value given.
    except: FxHashSet<Vec<Value>>,
    /// Combinations that are left out whatever the values not given.
    except_partly: Vec<Vec<Option<Value>>>,
    next: u64,
    count: u64,
}

impl Combinations {
    /// Reads a `for_each`; what is wrong with it is reported, and then there is none.
    pub(crate) fn read(for_each: &Field<'_>, outer: &Environment, context: &mut Context<'_>) -> Option<Self> {
        if !for_each.value.is_map() {
            return None;
        }
        let mut variables = Vec::new();
        let mut sound = true;
        for field in for_each
            .value
            .fields()
            .into_iter()
            .filter(|field| is_variable(&field.key.text))
        {
            match variable(&field, outer, context) {
                Some(values) => variables.push(Variable {
                    name: Arc::from(&*field.key.text),
                    values,
                }),
                None => sound = false,
            }
        }
        if !sound {
            return None;
        }
        if variables.is_empty() {
            let diagnostic = Diagnostic::error(BAD_GENERATOR, "`for_each` names no variable");
            context
                .report
                .push(outer.mark(diagnostic.at(for_each.key.span, "")));
            return None;
        }
        let count = variables
            .iter()
            .try_fold(1u64, |count, variable| count.checked_mul(variable.values.len()));
        let count = context.take_instances(count, for_each.key.span)?;
        let mut combinations = Self {
            variables,
            except: FxHashSet::default(),
            except_partly: Vec::new(),
            next: 0,
            count,
        };
        if let Some(except) = for_each.value.get(generator::EXCEPT.name()) {
            combinations.read_except(&except, outer, context);
        }
        Some(combinations)
    }

    fn read_except(&mut self, except: &Field<'_>, outer: &Environment, context: &mut Context<'_>) {
        let sets: Vec<ValueSet> = self
            .variables
            .iter()
            .map(|variable| ValueSet::of(&variable.values))
            .collect();
        for node in except.value.items() {
            let Some(row) = self.except_row(node, outer, context) else {
                continue;
            };
            let hits = sets
                .iter()
                .zip(&row)
                .all(|(sets, wanted)| wanted.as_ref().is_none_or(|wanted| sets.contains(wanted)));
            if !hits {
                let message = "`except` names a value that `for_each` does not have";
                context
                    .report
                    .push(outer.mark(Diagnostic::error(BAD_GENERATOR, message).at(node.span, "")));
            }
            let values: Option<Vec<Value>> = row.iter().cloned().collect();
            match values {
                Some(values) => {
                    self.except.insert(values);
                }
                None if self.except_partly.len() < MAX_OPEN_EXCEPTIONS => self.except_partly.push(row),
                None => {
                    let message = format!(
                        "more than {MAX_OPEN_EXCEPTIONS} combinations of `except` do not name every variable"
                    );
                    context
                        .report
                        .push(outer.mark(Diagnostic::error(BAD_GENERATOR, message).at(node.span, "")));
                    return;
                }
            }
        }
    }

    fn except_row(
        &self,
        node: &Node,
        outer: &Environment,
        context: &mut Context<'_>,
    ) -> Option<Vec<Option<Value>>> {
        let mut row = vec![None; self.variables.len()];
        let Some(mapping) = node.as_mapping() else {
            if self.variables.len() != 1 {
                let message = "with several variables, `except` takes combinations such as {n: 3, k: 1}";
                context
                    .report
                    .push(outer.mark(Diagnostic::error(BAD_GENERATOR, message).at(node.span, "")));
                return None;
            }
            row[0] = Some(scalar(node, outer, context)?);
            return Some(row);
        };
        for entry in mapping {
            let Some(position) = self
                .variables
                .iter()
                .position(|variable| *variable.name == *entry.key.text)
            else {
                let message = format!("`{}` is not a variable of this `for_each`", entry.key.text);
                let diagnostic = Diagnostic::error(BAD_GENERATOR, message).at(entry.key.span, "");
                context.report.push(outer.mark(diagnostic));
                return None;
            };
            row[position] = Some(scalar(&entry.value, outer, context)?);
        }
        Some(row)
    }

    /// The next combination; the last variable changes fastest.
    pub(crate) fn next(&mut self, outer: &Environment) -> Option<Environment> {
        while self.next < self.count {
            let mut rest = self.next;
            self.next += 1;
            let mut values = vec![Value::Integer(0); self.variables.len()];
            for (position, variable) in self.variables.iter().enumerate().rev() {
                let len = variable.values.len();
                values[position] = variable.values.get(rest % len);
                rest /= len;
            }
            let matches = |row: &Vec<Option<Value>>| {
                row.iter()
                    .zip(&values)
                    .all(|(wanted, value)| wanted.as_ref().is_none_or(|wanted| wanted == value))
            };
            if !self.except.contains(&values) && !self.except_partly.iter().any(matches) {
                return Some(self.environment(self.next - 1, values, outer));
            }
        }
        None
    }

    fn environment(&self, number: u64, values: Vec<Value>, outer: &Environment) -> Environment {
        let mut cell = None;
        let mut rest = number;
        let mut rows: Vec<Option<(Arc<Table>, usize)>> = vec![None; self.variables.len()];
        for (position, variable) in self.variables.iter().enumerate().rev() {
            let len = variable.values.len();
            if let Some((row, span)) = variable.values.row(rest % len) {
                rows[position] = Some(row);
                cell = cell.or(Some(span));
            }
            rest /= len;
        }
        let bindings = self.variables.iter().zip(values).zip(rows);
        let bindings = bindings.map(|((variable, value), row)| Binding {
            name: variable.name.clone(),
            value,
            row,
        });
        outer.with(bindings, cell)
    }
}

/// What a variable's values are, for asking many times.
enum ValueSet {
    Range { first: i64, count: u64 },
    Set(FxHashSet<Value>),
}

impl ValueSet {
    fn of(values: &Values) -> Self {
        match values {
            Values::Range { first, count } => Self::Range {
                first: *first,
                count: *count,
            },
            Values::List(values) => Self::Set(values.iter().cloned().collect()),
            Values::Column(..) => Self::Set((0..values.len()).map(|at| values.get(at)).collect()),
        }
    }

    fn contains(&self, wanted: &Value) -> bool {
        match (self, wanted) {
            (Self::Range { first, count }, Value::Integer(wanted)) => wanted
                .checked_sub(*first)
                .is_some_and(|at| u64::try_from(at).is_ok_and(|at| at < *count)),
            (Self::Range { .. }, Value::Text(_)) => false,
            (Self::Set(values), wanted) => values.contains(wanted),
        }
    }
}

fn variable(field: &Field<'_>, outer: &Environment, context: &mut Context<'_>) -> Option<Values> {
    let span = field.value.span();
    let name = &*field.key.text;
    let plain = name
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    if !plain || matches!(name, "key" | "var") || outer.has(name) {
        let why = if !plain {
            "is not a variable: use letters, digits and `_`"
        } else if outer.has(name) {
            "is already a variable of the enclosing generator"
        } else {
            "is reserved"
        };
        let diagnostic = Diagnostic::error(BAD_GENERATOR, format!("`{name}` {why}")).at(field.key.span, "");
        context.report.push(outer.mark(diagnostic));
        return None;
    }
    let values = if field.value.is_map() {
        column(field, outer, context)?
    } else {
        let node = field.value.node()?;
        match node.as_sequence() {
            Some(items) => Values::List(list(items, outer, context)?),
            None => range(node, outer, context)?,
        }
    };
    if values.len() == 0 {
        let diagnostic =
            Diagnostic::error(BAD_GENERATOR, "the generator makes nothing").at(span, "there is no value");
        context.report.push(outer.mark(diagnostic));
        return None;
    }
    Some(values)
}

/// The values of `{from: {csv: FILE, column: NAME}}`.
fn column(field: &Field<'_>, outer: &Environment, context: &mut Context<'_>) -> Option<Values> {
    let missing = |what: &str, at: Span, context: &mut Context<'_>| {
        let message = format!(
            "missing key `{what}`: to read instances from data, write {{from: {{csv: FILE, column: NAME}}}}"
        );
        context
            .report
            .push(outer.mark(Diagnostic::error(MISSING_KEY, message).at(at, "")));
    };
    let Some(from) = field.value.get(sources::FROM.name()) else {
        missing(sources::FROM.name(), field.key.span, context);
        return None;
    };
    if !from.value.is_map() {
        return None;
    }
    let (path, name) = (
        from.value.get(data_column::CSV.name()),
        from.value.get(data_column::COLUMN.name()),
    );
    for (what, given) in [(&data_column::CSV, &path), (&data_column::COLUMN, &name)] {
        if given.is_none() {
            missing(what.name(), from.key.span, context);
        }
    }
    let (path, name) = (path?.value.node()?, name?.value.node()?);
    let (file, column) = (
        context.expand_node(path, outer)?,
        context.expand_node(name, outer)?,
    );
    let table = match context.tables.get(&file) {
        Some(table) => table.clone()?,
        None => {
            let message =
                "the path of a data file can only use `$(var.NAME)`: files are read before generators run";
            bad_values(context, outer, path.span, message.to_owned());
            return None;
        }
    };
    let Some(position) = table.column(&column) else {
        let near = did_you_mean(&column, table.columns.iter().map(|column| &**column));
        let diagnostic = Diagnostic::error(BAD_DATA, format!("`{file}` has no column `{column}`"))
            .at(name.span, "")
            .also(table.header_span(), "its columns")
            .did_you_mean(near);
        context.report.push(outer.mark(diagnostic));
        return None;
    };
    let empty = (0..table.rows()).filter(|row| table.cell(*row, position).is_empty());
    let mut sound = true;
    for row in empty.take(MAX_EMPTY) {
        let diagnostic = Diagnostic::error(BAD_DATA, format!("the cell of column `{column}` is empty"))
            .at(table.span(row, position), "")
            .also(field.key.span, "instances are made from it here");
        context.report.push(outer.mark(diagnostic));
        sound = false;
    }
    sound.then_some(Values::Column(table, position))
}

fn range(node: &Node, outer: &Environment, context: &mut Context<'_>) -> Option<Values> {
    let text = context.expand_node(node, outer)?;
    match key_range(&text) {
        Some(range) => {
            let count = range
                .last
                .wrapping_sub(range.first)
                .cast_unsigned()
                .checked_add(1);
            Some(Values::Range {
                first: range.first,
                count: count.unwrap_or(u64::MAX),
            })
        }
        None => {
            let message = if looks_like_range(&text) {
                format!("the range `{text}` is empty: it ends before it starts")
            } else {
                format!("expected a range such as 1..200, or a list, found `{text}`")
            };
            bad_values(context, outer, node.span, message);
            None
        }
    }
}

fn list(items: &[Node], outer: &Environment, context: &mut Context<'_>) -> Option<Vec<Value>> {
    let mut values = Vec::new();
    for item in items {
        let looks_like_range = item
            .as_text()
            .is_some_and(|text| !item.is_quoted() && looks_like_range(text));
        if looks_like_range {
            let message =
                "a list cannot contain a range; write the range alone, as in {n: 1..200}".to_owned();
            bad_values(context, outer, item.span, message);
            return None;
        }
        context.warn_yaml_1_1(item, outer);
        values.push(scalar(item, outer, context)?);
    }
    Some(values)
}

fn scalar(node: &Node, outer: &Environment, context: &mut Context<'_>) -> Option<Value> {
    if let Some(integer) = node.as_integer() {
        return match i64::try_from(integer) {
            Ok(integer) => Some(Value::Integer(integer)),
            Err(_) => {
                bad_values(
                    context,
                    outer,
                    node.span,
                    "the number does not fit 64 bits".to_owned(),
                );
                None
            }
        };
    }
    let text = context.expand_node(node, outer)?;
    Some(Value::Text(context.intern(&text)))
}

fn bad_values(context: &mut Context<'_>, outer: &Environment, span: Span, message: String) {
    context
        .report
        .push(outer.mark(Diagnostic::error(BAD_GENERATOR, message).at(span, "")));
}

/// A view's `for_each`, if it is a generator.
pub(crate) fn for_each<'a>(view: &View<'a>) -> Option<Field<'a>> {
    view.get(FOR_EACH)
}

/// Calls `one` with the environment of each instance of a generator, or once with the one around it where the value is no
/// generator, until it breaks. None where the generator cannot be read, which has been reported.
pub(crate) fn each<B>(
    value: &View<'_>,
    outer: &Environment,
    context: &mut Context<'_>,
    mut one: impl FnMut(&Environment, &mut Context<'_>) -> ControlFlow<B>,
) -> Option<ControlFlow<B>> {
    let Some(for_each) = for_each(value) else {
        return Some(one(outer, context));
    };
    let mut combinations = Combinations::read(&for_each, outer, context)?;
    while let Some(environment) = combinations.next(outer) {
        if let ControlFlow::Break(why) = one(&environment, context) {
            return Some(ControlFlow::Break(why));
        }
    }
    Some(ControlFlow::Continue(()))
}
