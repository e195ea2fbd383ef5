//! Walking a published schema beside a tree: what stands under a key, what objects have names, what is the default.

use serde_json::{Map, Value};

use crate::fields::WHERE;
use crate::fields::refers::{DEFINES, Refers};
use crate::tree::steps::selector;

/// References that are followed in a row; schemas of ours need two.
const MAX_REFERENCES: usize = 8;

/// A place in a schema.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape<'s> {
    root: &'s Value,
    here: &'s Value,
}

impl<'s> Shape<'s> {
    pub(crate) const fn root(schema: &'s Value) -> Self {
        Self {
            root: schema,
            here: schema,
        }
    }

    const fn with(self, here: &'s Value) -> Self {
        Self {
            root: self.root,
            here,
        }
    }

    /// The forms that a value here may have: itself, behind its references, and the branches of a choice.
    fn forms(self) -> Vec<&'s Value> {
        let mut forms = vec![self.here];
        let mut here = self.here;
        for _ in 0..MAX_REFERENCES {
            let target = here.get("$ref").and_then(Value::as_str);
            let Some(target) = target.and_then(|target| self.root.pointer(target.strip_prefix('#')?)) else {
                break;
            };
            forms.push(target);
            here = target;
        }
        let branches = ["then", "else"].map(|branch| here.get(branch));
        forms.extend(branches.into_iter().flatten());
        for choice in ["oneOf", "anyOf", "allOf"] {
            let choices = here.get(choice).and_then(Value::as_array);
            forms.extend(choices.into_iter().flatten());
        }
        forms
    }

    /// What stands under a key, whether the key is fixed or a name.
    pub(crate) fn key(self, key: &str) -> Option<Self> {
        let forms = self.forms();
        let fixed = forms.iter().find_map(|form| form.get("properties")?.get(key));
        fixed.map(|here| self.with(here)).or_else(|| self.entry())
    }

    /// What stands under a step of an address: a key, or an item of a list.
    pub(crate) fn step(self, step: &str) -> Option<Self> {
        match selector(step) {
            Some(_) => self.item(),
            None => self.key(step),
        }
    }

    /// What stands under the steps of an address.
    pub(crate) fn at(self, steps: &[&str]) -> Option<Self> {
        steps.iter().try_fold(self, |shape, step| shape.step(step))
    }

    /// What stands under any name, where names are free.
    pub(crate) fn entry(self) -> Option<Self> {
        let additional =
            |form: &&'s Value| form.get("additionalProperties").filter(|entry| entry.is_object());
        self.forms()
            .iter()
            .find_map(additional)
            .map(|here| self.with(here))
    }

    /// What the items of a list are.
    pub(crate) fn item(self) -> Option<Self> {
        let items = self.forms().into_iter().find_map(|form| form.get("items"))?;
        Some(self.with(items))
    }

    /// The keys of an object, in the order of the schema.
    pub(crate) fn properties(self) -> Option<&'s Map<String, Value>> {
        self.forms()
            .into_iter()
            .find_map(|form| form.get("properties")?.as_object())
    }

    /// Whether a value may be an integer.
    pub(crate) fn takes_integer(self) -> bool {
        let is_integer = |kind: &Value| kind == "integer" || kind == "number";
        self.forms().iter().any(|form| match form.get("type") {
            Some(Value::Array(kinds)) => kinds.iter().any(is_integer),
            Some(kind) => is_integer(kind),
            None => form
                .get("enum")
                .and_then(Value::as_array)
                .is_some_and(|words| words.iter().any(Value::is_number)),
        })
    }

    /// The value that holds where none is written, and what must be so beside it.
    pub(crate) fn default(self) -> Option<(&'s Value, Option<&'s Map<String, Value>>)> {
        let default = self.here.get("default")?;
        Some((default, self.here.get(WHERE).and_then(Value::as_object)))
    }

    /// What texts here are names of.
    pub(crate) fn refers(self) -> Option<Refers<'s>> {
        Refers::of_texts(self.here)
    }

    /// What the keys here are names of.
    pub(crate) fn keys(self) -> Option<Refers<'s>> {
        Refers::of_keys(self.here)
    }

    /// The section of addresses whose objects are defined here.
    pub(crate) fn defines(self) -> Option<&'s str> {
        self.here.get(DEFINES)?.as_str()
    }

    /// Whether a key is declared, and no name that is free.
    pub(crate) fn declares(self, key: &str) -> bool {
        self.properties()
            .is_some_and(|properties| properties.contains_key(key))
    }

    /// Whether objects with names stand here, each with keys of its own.
    pub(crate) fn holds_objects(self) -> bool {
        self.properties().is_none() && self.entry().is_some_and(|entry| entry.properties().is_some())
    }
}
