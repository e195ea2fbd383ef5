//! One tree over many files: maps of the same address are read as one, without copying.

use std::rc::Rc;

use rustc_hash::FxHashMap;
use shardwright_diagnostics::{Diagnostic, Span};
use shardwright_documents::{Key, Node, Value};

use crate::codes::DEFINED_TWICE;
use crate::report::Report;
use crate::template::is_template;

/// A value: a node of one file, or a map whose entries stand in several.
#[derive(Clone, Debug)]
pub(crate) struct View<'a> {
    kind: Kind<'a>,
    span: Span,
}

#[derive(Clone, Debug)]
enum Kind<'a> {
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
            kind: Kind::Node(node),
            span: node.span,
        }
    }

    /// Where the value stands; where its first part stands, if several files hold it.
    pub(crate) const fn span(&self) -> Span {
        self.span
    }

    /// The node; none for a map over several files.
    pub(crate) const fn node(&self) -> Option<&'a Node> {
        match &self.kind {
            Kind::Node(node) => Some(node),
            Kind::Merged(_) => None,
        }
    }

    pub(crate) fn is_map(&self) -> bool {
        self.node().is_none_or(|node| node.as_mapping().is_some())
    }

    /// The value of a key, if this is a map that holds it.
    pub(crate) fn get(&self, key: &str) -> Option<Field<'a>> {
        match &self.kind {
            Kind::Node(node) => node.as_mapping()?.entry(key).map(|entry| Field {
                key: &entry.key,
                value: View::of(&entry.value),
            }),
            Kind::Merged(fields) => fields.iter().find(|field| &*field.key.text == key).cloned(),
        }
    }

    /// The entries of a map in the order of definition; nothing for anything else.
    pub(crate) fn fields(&self) -> Vec<Field<'a>> {
        match &self.kind {
            Kind::Node(node) => node.as_mapping().map_or_else(Vec::new, |mapping| {
                let field = |entry: &'a shardwright_documents::Entry| Field {
                    key: &entry.key,
                    value: View::of(&entry.value),
                };
                mapping.iter().map(field).collect()
            }),
            Kind::Merged(fields) => fields.to_vec(),
        }
    }

    /// The items of a list; nothing for anything else.
    pub(crate) fn items(&self) -> &'a [Node] {
        self.node().and_then(Node::as_sequence).unwrap_or_default()
    }

    pub(crate) fn type_name(&self) -> &'static str {
        self.node().map_or("a mapping", |node| node.value.type_name())
    }
}

/// Reads the roots of files as one map. The same leaf in two of them is a problem that shows both places.
pub(crate) fn merge<'a>(roots: &[&'a Node], report: &mut Report) -> Option<View<'a>> {
    match roots {
        [] => None,
        [root] => Some(View::of(root)),
        [first, ..] => {
            let parts = roots.iter().filter(|root| root.as_mapping().is_some());
            Some(merge_maps(parts.copied(), first.span, report))
        }
    }
}

fn merge_maps<'a>(parts: impl Iterator<Item = &'a Node>, span: Span, report: &mut Report) -> View<'a> {
    let mut places: FxHashMap<&str, usize> = FxHashMap::default();
    let mut groups: Vec<Vec<(&'a Key, &'a Node)>> = Vec::new();
    for entry in parts
        .filter_map(Node::as_mapping)
        .flat_map(|mapping| mapping.iter())
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
        kind: Kind::Merged(fields),
        span,
    }
}

fn merge_group<'a>(group: &[(&'a Key, &'a Node)], report: &mut Report) -> Field<'a> {
    let (key, first) = group[0];
    let is_map = |node: &Node| matches!(node.value, Value::Mapping(_));
    let mut parts = vec![first];
    for (other_key, other) in &group[1..] {
        // `version: 1` stands in every file.
        if &*key.text == "version" && first.raw() == other.raw() {
            continue;
        }
        if is_map(first) && is_map(other) {
            parts.push(other);
        } else {
            report.push(
                Diagnostic::error(DEFINED_TWICE, format!("`{}` is defined twice", key.text))
                    .at(other_key.span, "defined here again")
                    .also(key.span, "first defined here")
                    .help("maps merge over files, but each value is given once: delete one of them"),
            );
        }
    }
    let value = if parts.len() == 1 {
        View::of(first)
    } else {
        merge_maps(parts.iter().copied(), first.span, report)
    };
    Field { key, value }
}
