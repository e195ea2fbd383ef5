//! One tree over many files: maps of the same address are read as one, without copying.

use std::rc::Rc;

use rustc_hash::FxHashMap;
use shardwright_diagnostics::{Diagnostic, Span};
use shardwright_documents::{Entry, Key, Node, Value};

use crate::codes::DEFINED_TWICE;
use crate::fields::VERSION;
use crate::reporter::Reporter;
use crate::template::is_template;
use crate::tree::patch::Patch;

/// A value: a node of one file, or a map whose entries stand in several; with the patches of an environment.
#[derive(Clone, Debug)]
pub(crate) struct View<'a> {
    parts: Parts<'a>,
    span: Span,
    /// What is set below this value.
    patch: Option<&'a Patch>,
}

#[derive(Clone, Debug)]
enum Parts<'a> {
    Node(&'a Node),
    Merged(Rc<[Field<'a>]>),
}

/// A key with its value.
#[derive(Clone, Debug)]
pub(crate) struct Field<'a> {
    pub(crate) key: &'a Key,
    pub(crate) value: View<'a>,
}

impl<'a> View<'a> {
    pub(crate) const fn of(node: &'a Node) -> Self {
        Self {
            parts: Parts::Node(node),
            span: node.span,
            patch: None,
        }
    }

    /// This value as a patch leaves it. A value that is no map gives way to one with what is set below it.
    pub(crate) fn patched(self, patch: Option<&'a Patch>) -> Self {
        match patch.filter(|patch| patch.value().is_some() || !patch.is_empty()) {
            None => self,
            Some(patch) => match patch.value() {
                Some(value) => Self::of(value),
                None if self.is_map() => Self {
                    patch: Some(patch),
                    ..self
                },
                None => Self::made_by(patch),
            },
        }
    }

    /// A map of nothing but what a patch sets below it.
    fn made_by(patch: &'a Patch) -> Self {
        Self {
            parts: Parts::Merged(Rc::from([])),
            span: patch.key().span,
            patch: Some(patch),
        }
    }

    /// What is set below the object of that name, in a map of objects.
    pub(crate) fn patch_of(&self, name: &str) -> Option<&'a Patch> {
        self.patch?.child(name)
    }

    /// Whether something is set below this value.
    pub(crate) const fn is_patched(&self) -> bool {
        self.patch.is_some()
    }

    /// Where the value stands; where its first part stands, if several files hold it.
    pub(crate) const fn span(&self) -> Span {
        self.span
    }

    /// The node; none for a map whose parts stand in several places.
    pub(crate) const fn node(&self) -> Option<&'a Node> {
        match &self.parts {
            Parts::Node(node) if self.patch.is_none() => Some(node),
            _ => None,
        }
    }

    pub(crate) fn is_map(&self) -> bool {
        self.node().is_none_or(|node| node.as_mapping().is_some())
    }

    /// The value of a key, if this is a map that holds it.
    pub(crate) fn get(&self, key: &str) -> Option<Field<'a>> {
        let written = self.written(key);
        match self.patch.and_then(|patch| Some((patch, patch.child(key)?))) {
            None => written,
            Some((_, below)) if below.removes() => None,
            Some((around, below)) => match written {
                Some(field) => Some(field.patched(below)),
                None => around.adds(below),
            },
        }
    }

    fn written(&self, key: &str) -> Option<Field<'a>> {
        match &self.parts {
            Parts::Node(node) => node.as_mapping()?.entry(key).map(Field::of),
            Parts::Merged(fields) => fields.iter().find(|field| &*field.key.text == key).cloned(),
        }
    }

    /// The entries of a map in the order of definition; nothing for anything else.
    pub(crate) fn fields(&self) -> Vec<Field<'a>> {
        let written: Vec<Field<'a>> = match &self.parts {
            Parts::Node(node) => node
                .as_mapping()
                .map_or_else(Vec::new, |mapping| mapping.iter().map(Field::of).collect()),
            Parts::Merged(fields) => fields.to_vec(),
        };
        let Some(patch) = self.patch else { return written };
        let added = patch
            .children()
            .filter(|below| self.written(&below.key().text).is_none())
            .filter_map(|below| patch.adds(below));
        let added: Vec<Field<'a>> = added.collect();
        let patched = |field: Field<'a>| match patch.child(&field.key.text) {
            Some(below) if below.removes() => None,
            Some(below) => Some(field.patched(below)),
            None => Some(field),
        };
        written.into_iter().filter_map(patched).chain(added).collect()
    }

    /// The items of a list; nothing for anything else.
    pub(crate) fn items(&self) -> &'a [Node] {
        self.node().and_then(Node::as_sequence).unwrap_or_default()
    }

    pub(crate) fn type_name(&self) -> &'static str {
        self.node().map_or("a mapping", |node| node.value.type_name())
    }
}

impl<'a> Field<'a> {
    fn of(entry: &'a Entry) -> Self {
        Self {
            key: &entry.key,
            value: View::of(&entry.value),
        }
    }

    /// This field with what a patch sets in it.
    pub(crate) fn patched(self, patch: &'a Patch) -> Self {
        Self {
            key: if patch.value().is_some() {
                patch.key()
            } else {
                self.key
            },
            value: self.value.patched(Some(patch)),
        }
    }
}

impl Patch {
    /// A field that is not written, and set by a patch; none in a map of objects, whose names come from generators.
    fn adds<'a>(&'a self, below: &'a Self) -> Option<Field<'a>> {
        let value = below.value().map_or_else(|| View::made_by(below), View::of);
        (!self.holds_objects() && !below.removes()).then_some(Field {
            key: below.key(),
            value,
        })
    }
}

/// Reads the roots of files as one map. The same leaf in two of them is a problem that shows both places.
pub(crate) fn merge<'a>(roots: &[&'a Node], report: &mut Reporter) -> Option<View<'a>> {
    match roots {
        [] => None,
        [root] => Some(View::of(root)),
        [first, ..] => {
            let parts = roots.iter().filter(|root| root.as_mapping().is_some());
            Some(merge_maps(
                parts.copied(),
                first.span,
                |key| !is_extension(key),
                report,
            ))
        }
    }
}

/// Whether a key at the top of a file is nobody's, as in Compose: a place for anchors.
fn is_extension(key: &str) -> bool {
    key.starts_with("x-")
}

fn merge_maps<'a>(
    parts: impl Iterator<Item = &'a Node>,
    span: Span,
    counts: impl Fn(&str) -> bool,
    report: &mut Reporter,
) -> View<'a> {
    let mut places: FxHashMap<&str, usize> = FxHashMap::default();
    let mut groups: Vec<Vec<(&'a Key, &'a Node)>> = Vec::new();
    for entry in parts
        .filter_map(Node::as_mapping)
        .flat_map(|mapping| mapping.iter())
        .filter(|entry| counts(&entry.key.text))
    {
        // Generators with one template are different generators: the ranges of two files may complete each other.
        if is_template(&entry.key.text) {
            groups.push(vec![(&entry.key, &entry.value)]);
            continue;
        }
        let place = *places.entry(&entry.key.text).or_insert(groups.len());
        if place == groups.len() {
            groups.push(Vec::new());
        }
        groups[place].push((&entry.key, &entry.value));
    }
    let fields: Rc<[Field<'a>]> = groups
        .into_iter()
        .map(|group| merge_group(&group, report))
        .collect();
    View {
        parts: Parts::Merged(fields),
        span,
        patch: None,
    }
}

fn merge_group<'a>(group: &[(&'a Key, &'a Node)], report: &mut Reporter) -> Field<'a> {
    let (key, first) = group[0];
    let is_map = |node: &Node| matches!(node.value, Value::Mapping(_));
    let mut parts = vec![first];
    for (other_key, other) in &group[1..] {
        // `version: 1` stands in every file.
        if &*key.text == VERSION && first.raw() == other.raw() {
            continue;
        }
        if is_map(first) && is_map(other) {
            parts.push(other);
        } else {
            report.push(
                Diagnostic::error(DEFINED_TWICE, format!("`{}` is defined twice", key.text))
                    .at(other_key.span, "defined here again")
                    .also(key.span, "first defined here")
                    .help("a value can be set only once in all files: delete one of them"),
            );
        }
    }
    let value = if parts.len() == 1 {
        View::of(first)
    } else {
        merge_maps(parts.iter().copied(), first.span, |_| true, report)
    };
    Field { key, value }
}
