//! `patch` of an environment: values that are set by address, as a tree that views of the topology are read through.

use std::collections::BTreeMap;

use shardwright_diagnostics::{Diagnostic, Span};
use shardwright_documents::{Entry, Key, Mapping, Node, Value};

use crate::codes::{BAD_ADDRESS, BAD_VALUE, PATCHES_COLLIDE};
use crate::fields::FOR_EACH;
use crate::reporter::Reporter;
use crate::tree::shape::Shape;
use crate::tree::steps::selector;

/// One step of the addresses that share it.
#[derive(Clone, Debug)]
pub(crate) struct Patch {
    /// The step, at the place of the first address that has it.
    key: Key,
    /// What is set here; then nothing is set below.
    value: Option<Node>,
    below: BTreeMap<Box<str>, Self>,
    /// Whether objects with names stand here, which only a topology can add to.
    holds_objects: bool,
}

impl Patch {
    /// A tree without addresses.
    pub(crate) fn empty(span: Span, shape: &Shape<'_>) -> Self {
        Self {
            key: key("", span),
            value: None,
            below: BTreeMap::new(),
            holds_objects: shape.holds_objects(),
        }
    }

    pub(crate) const fn key(&self) -> &Key {
        &self.key
    }

    /// What is set at this address as a whole.
    pub(crate) const fn value(&self) -> Option<&Node> {
        self.value.as_ref()
    }

    /// Whether it takes away what stands at this address.
    pub(crate) fn removes(&self) -> bool {
        self.value.as_ref().is_some_and(Node::is_null)
    }

    pub(crate) fn child(&self, name: &str) -> Option<&Self> {
        self.below.get(name)
    }

    pub(crate) fn children(&self) -> impl Iterator<Item = &Self> {
        self.below.values()
    }

    pub(crate) const fn holds_objects(&self) -> bool {
        self.holds_objects
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.below.is_empty()
    }

    pub(crate) fn child_mut(&mut self, name: &str) -> Option<&mut Self> {
        self.below.get_mut(name)
    }

    pub(crate) fn children_mut(&mut self) -> impl Iterator<Item = &mut Self> {
        self.below.values_mut()
    }

    /// Whether items of a list are set here, each by a key of it.
    pub(crate) fn selects_items(&self) -> bool {
        self.below.keys().any(|step| selector(step).is_some())
    }

    /// The list that its items make, in place of what is set in them; `None`: nothing is set any more.
    pub(crate) fn settle(&mut self, list: Option<Node>) {
        self.below.clear();
        self.value = list;
    }

    /// Adds one address of these steps; what is wrong with it is reported.
    pub(crate) fn add(&mut self, entry: &Entry, steps: &[&str], shape: &Shape<'_>, report: &mut Reporter) {
        // A value that was forgotten must not take anything away.
        if entry.value.is_null() && entry.value.raw() != Some("null") {
            let message = format!("the patch of `{}` has no value", entry.key.text);
            let help = format!("to remove `{0}`, write `{0}: null`", entry.key.text);
            report.push(
                Diagnostic::error(BAD_VALUE, message)
                    .at(entry.key.span, "")
                    .help(help),
            );
            return;
        }
        if let Some(for_each) = shape.at(steps).and_then(|shape| generator(&shape, &entry.value)) {
            let message = "a patch changes one object: it cannot have a `for_each`";
            report.push(Diagnostic::error(BAD_ADDRESS, message).at(for_each.key.span, ""));
            return;
        }
        let mut here = self;
        let mut shape = Some(*shape);
        for &step in steps {
            if here.value.is_some() {
                return collide(entry, here.key.span, report);
            }
            shape = shape.and_then(|shape| shape.step(step));
            let holds_objects = shape.is_some_and(|shape| shape.holds_objects());
            here = here.below.entry(step.into()).or_insert_with(|| Self {
                key: key(step, entry.key.span),
                value: None,
                below: BTreeMap::new(),
                holds_objects,
            });
        }
        if here.value.is_some() || !here.below.is_empty() {
            return collide(entry, here.key.span, report);
        }
        here.value = Some(entry.value.clone());
    }

    /// The tree as a document that holds nothing but what is set; what is removed is not in it.
    pub(crate) fn to_node(&self) -> Node {
        if let Some(value) = &self.value {
            return value.clone();
        }
        let entry = |below: &Self| Entry {
            key: below.key.clone(),
            value: below.to_node(),
        };
        let set = self.children().filter(|below| !below.removes());
        if self.selects_items() {
            return Node {
                value: Value::Sequence(set.map(Self::to_node).collect()),
                span: self.key.span,
            };
        }
        let mapping: Mapping = set.map(entry).collect();
        Node {
            value: Value::Mapping(mapping),
            span: self.key.span,
        }
    }
}

/// The `for_each` of a value that takes the place of one object.
fn generator<'n>(shape: &Shape<'_>, value: &'n Node) -> Option<&'n Entry> {
    shape.key(FOR_EACH)?;
    value.as_mapping()?.entry(FOR_EACH)
}

fn key(step: &str, span: Span) -> Key {
    Key {
        text: step.into(),
        span,
        style: shardwright_documents::Style::Plain,
    }
}

fn collide(entry: &Entry, first: Span, report: &mut Reporter) {
    let message = format!(
        "two patches set `{}`, or one sets a part of the other",
        entry.key.text
    );
    report.push(
        Diagnostic::error(PATCHES_COLLIDE, message)
            .at(entry.key.span, "set here")
            .also(first, "and here")
            .help("a patch sets the whole value at its address: keep one of them"),
    );
}
