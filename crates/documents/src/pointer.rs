//! From an instance path of a schema error to the key and value it names.

use shardwright_diagnostics::Span;

use crate::{Key, Node, Value};

/// What a path leads to.
#[derive(Clone, Copy, Debug)]
pub struct PointedNode<'a> {
    /// The key in front of it; none for the root and for items of lists.
    pub key: Option<&'a Key>,
    /// The value.
    pub node: &'a Node,
}

impl PointedNode<'_> {
    /// The key's place, or the value's where there is no key.
    #[must_use]
    pub fn key_span(&self) -> Span {
        self.key.map_or(self.node.span, |key| key.span)
    }
}

impl Node {
    /// What a JSON pointer (RFC 6901: `/shards/0/a~1b`, empty for this node itself) leads to.
    #[must_use]
    pub fn pointer(&self, pointer: &str) -> Option<PointedNode<'_>> {
        let mut found = PointedNode {
            key: None,
            node: self,
        };
        if pointer.is_empty() {
            return Some(found);
        }
        for part in pointer.strip_prefix('/')?.split('/') {
            let part = part.replace("~1", "/").replace("~0", "~");
            found = match &found.node.value {
                Value::Mapping(mapping) => {
                    let entry = mapping.entry(&part)?;
                    PointedNode {
                        key: Some(&entry.key),
                        node: &entry.value,
                    }
                }
                Value::Sequence(items) => PointedNode {
                    key: None,
                    node: items.get(part.parse::<usize>().ok()?)?,
                },
                _ => return None,
            };
        }
        Some(found)
    }
}
