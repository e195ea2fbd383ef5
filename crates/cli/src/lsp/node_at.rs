//! From a byte of a file to its path in the tree.

use shardwright_documents::{Entry, Node, Value};

use super::schema::Step;

/// What is at a byte.
#[derive(Clone, Copy)]
pub(super) enum At<'a> {
    /// The key of an entry.
    Key(&'a Entry),
    /// A value, or the space between its parts.
    Value(&'a Node),
}

/// The path to the key or value at a byte of a tree. The path to a key leads to its value.
pub(super) fn find(root: &Node, offset: u32) -> (Vec<Step<'_>>, At<'_>) {
    let mut path = Vec::new();
    let mut node = root;
    loop {
        let covers = |start: u32, end: u32| start <= offset && offset <= end;
        let inner = match &node.value {
            Value::Mapping(mapping) => {
                let entry = mapping
                    .iter()
                    .find(|entry| covers(entry.key.span.start, entry.key.span.end));
                if let Some(entry) = entry {
                    path.push(Step::Key(&entry.key.text));
                    return (path, At::Key(entry));
                }
                mapping
                    .iter()
                    .find(|entry| covers(entry.value.span.start, entry.value.span.end))
                    .map(|entry| (Step::Key(&entry.key.text), &entry.value))
            }
            Value::Sequence(items) => items
                .iter()
                .find(|item| covers(item.span.start, item.span.end))
                .map(|item| (Step::Item, item)),
            _ => None,
        };
        let Some((step, value)) = inner else {
            return (path, At::Value(node));
        };
        path.push(step);
        node = value;
    }
}
