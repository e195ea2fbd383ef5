//! What names stand for inside one generator instance.

use std::fmt::Write as _;
use std::sync::Arc;

use shardwright_diagnostics::{Diagnostic, Span};

use crate::model::Instance;
use crate::template::{Lookup, Value};
use crate::tree::data::Table;
use crate::tree::variables::Variables;

/// The variables of the generators around an object.
#[derive(Clone, Debug, Default)]
pub(crate) struct Environment {
    bindings: Vec<Binding>,
    instance: Option<Arc<Instance>>,
}

/// A variable in one instance.
#[derive(Clone, Debug)]
pub(crate) struct Binding {
    pub(crate) name: Arc<str>,
    pub(crate) value: Value,
    /// The row that the value stands in; its other cells are named `NAME.COLUMN`.
    pub(crate) row: Option<(Arc<Table>, usize)>,
}

impl Environment {
    /// This environment with further variables; `cell` is where the last value from a data file stands.
    pub(crate) fn with(&self, added: impl Iterator<Item = Binding>, cell: Option<Span>) -> Self {
        let mut bindings = self.bindings.clone();
        bindings.extend(added);
        let mut text = String::new();
        for Binding { name, value, .. } in &bindings {
            let comma = if text.is_empty() { "" } else { ", " };
            write!(text, "{comma}{name}={value}").expect("writing to a string cannot fail");
        }
        let outer = self.instance.as_ref().and_then(|instance| instance.cell);
        let instance = Instance {
            text: text.into(),
            cell: cell.or(outer),
        };
        Self {
            bindings,
            instance: Some(Arc::new(instance)),
        }
    }

    /// The instance as people see it: `n=137`; none outside generators.
    pub(crate) fn instance(&self) -> Option<&Arc<Instance>> {
        self.instance.as_ref()
    }

    /// Whether the instance is made from data.
    pub(crate) fn is_of_data(&self) -> bool {
        self.instance
            .as_ref()
            .is_some_and(|instance| instance.cell.is_some())
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.bindings.iter().any(|bound| *bound.name == *name)
    }

    /// The names of the variables and of the cells beside them.
    pub(crate) fn names(&self) -> impl Iterator<Item = String> {
        self.bindings.iter().flat_map(|bound| {
            let columns = bound.row.iter().flat_map(|(table, _)| &table.columns);
            let beside = columns.map(|column| format!("{}.{column}", bound.name));
            std::iter::once(bound.name.to_string()).chain(beside)
        })
    }

    /// Names the instance in a problem that was found inside it.
    pub(crate) fn mark(&self, diagnostic: Diagnostic) -> Diagnostic {
        match &self.instance {
            Some(instance) => instance.mark(diagnostic),
            None => diagnostic,
        }
    }
}

/// An environment with the project's variables.
pub(crate) struct Names<'n> {
    pub(crate) environment: &'n Environment,
    pub(crate) variables: &'n Variables,
}

impl Lookup for Names<'_> {
    fn value(&self, name: &str) -> Option<Value> {
        match name.strip_prefix("var.") {
            Some(variable) => self.variables.get(variable)?.clone(),
            None => {
                let (variable, column) = match name.split_once('.') {
                    Some((variable, column)) => (variable, Some(column)),
                    None => (name, None),
                };
                let bindings = &self.environment.bindings;
                let bound = bindings.iter().find(|bound| *bound.name == *variable)?;
                let Some(column) = column else {
                    return Some(bound.value.clone());
                };
                let (table, row) = bound.row.as_ref()?;
                Some(Value::of_cell(table.cell(*row, table.column(column)?)))
            }
        }
    }
}
