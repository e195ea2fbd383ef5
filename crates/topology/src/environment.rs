//! What names stand for inside one generator instance.

use std::fmt::Write as _;
use std::sync::Arc;

use shardwright_diagnostics::{Diagnostic, did_you_mean};

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

    fn nearest(&self, name: &str) -> Option<String> {
        let bound = self
            .environment
            .bindings
            .iter()
            .map(|(bound, _)| bound.to_string());
        let names: Vec<String> = bound
            .chain(self.variables.keys().map(|variable| format!("var.{variable}")))
            .collect();
        let names = || names.iter().map(String::as_str);
        // `region` for `var.region` is the usual slip.
        let with_prefix = format!("var.{name}");
        let near = did_you_mean(name, names()).or_else(|| did_you_mean(&with_prefix, names()));
        near.map(ToOwned::to_owned)
    }
}
