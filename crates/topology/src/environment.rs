//! What names stand for inside one generator instance.

use std::fmt::Write as _;
use std::sync::Arc;

use shardwright_diagnostics::Diagnostic;

use crate::template::{Lookup, Value};
use crate::variables::Variables;

/// The variables of the generators around an object.
#[derive(Clone, Debug, Default)]
pub(crate) struct Environment {
    bindings: Vec<(Arc<str>, Value)>,
    instance: Option<Arc<str>>,
}

impl Environment {
    /// This environment with further variables.
    pub(crate) fn with(&self, added: impl Iterator<Item = (Arc<str>, Value)>) -> Self {
        let mut bindings = self.bindings.clone();
        bindings.extend(added);
        let mut instance = String::new();
        for (name, value) in &bindings {
            let comma = if instance.is_empty() { "" } else { ", " };
            write!(instance, "{comma}{name}={value}").expect("writing to a string cannot fail");
        }
        Self {
            bindings,
            instance: Some(instance.into()),
        }
    }

    /// The instance as people see it: `n=137`; none outside generators.
    pub(crate) fn instance(&self) -> Option<&Arc<str>> {
        self.instance.as_ref()
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.bindings.iter().any(|(bound, _)| **bound == *name)
    }

    /// The names of the variables.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.bindings.iter().map(|(name, _)| &**name)
    }

    /// Names the instance in a problem that was found inside it.
    pub(crate) fn mark(&self, diagnostic: Diagnostic) -> Diagnostic {
        match &self.instance {
            Some(instance) => diagnostic.instance(&**instance),
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
                let bound = self
                    .environment
                    .bindings
                    .iter()
                    .find(|(bound, _)| **bound == *name);
                bound.map(|(_, value)| value.clone())
            }
        }
    }
}
