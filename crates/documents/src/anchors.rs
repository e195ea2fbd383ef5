//! Anchored subtrees and their copies, within the budget of a file.

use std::collections::HashMap;

use shardwright_diagnostics::did_you_mean;

use crate::Node;
use crate::limits::{MAX_ALIASED_BYTES, MAX_ALIASED_NODES};

/// No more anchors than this are looked at for a name that is near.
const MAX_SUGGESTED: usize = 1_000;

/// What a subtree costs to copy, and how many collections are inside each other in it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Size {
    nodes: usize,
    bytes: usize,
    height: usize,
}

impl Size {
    /// A scalar; with empty text also a collection that holds nothing yet.
    pub(crate) fn of_text(text: &str) -> Self {
        Self {
            nodes: 1,
            bytes: text.len(),
            height: 0,
        }
    }

    /// Puts a subtree into this collection.
    pub(crate) fn add(&mut self, child: Self) {
        self.nodes += child.nodes;
        self.bytes += child.bytes;
        self.height = self.height.max(child.height + 1);
    }
}

/// Why there is no copy.
pub(crate) enum Refused {
    /// The alias stands inside its anchor.
    Unfinished,
    /// The copy would be nested too deep where it is wanted.
    TooDeep,
    /// The copies of this file are too many already.
    PastBudget,
}

/// The anchors of one file.
#[derive(Default)]
pub(crate) struct Anchors {
    /// Finished subtrees, by the parser's number for the anchor.
    kept: HashMap<usize, (Node, Size)>,
    names: Vec<String>,
    copied_nodes: usize,
    copied_bytes: usize,
}

impl Anchors {
    /// Remembers a name for suggestions.
    pub(crate) fn name(&mut self, name: String) {
        if self.names.len() < MAX_SUGGESTED {
            self.names.push(name);
        }
    }

    /// The known name that is nearest to an unknown one.
    pub(crate) fn near(&self, name: &str) -> Option<&str> {
        did_you_mean(name, self.names.iter().map(String::as_str))
    }

    /// Keeps a copy of a finished subtree, which counts as one.
    pub(crate) fn keep(&mut self, anchor: usize, node: &Node, size: Size) -> Result<(), Refused> {
        self.pay(size)?;
        self.kept.insert(anchor, (node.clone(), size));
        Ok(())
    }

    /// A copy for a place that has room for `depth` more collections inside each other.
    pub(crate) fn copy(&mut self, anchor: usize, depth: usize) -> Result<(Node, Size), Refused> {
        let size = self.kept.get(&anchor).ok_or(Refused::Unfinished)?.1;
        if size.height > depth {
            return Err(Refused::TooDeep);
        }
        self.pay(size)?;
        self.kept.get(&anchor).cloned().ok_or(Refused::Unfinished)
    }

    fn pay(&mut self, size: Size) -> Result<(), Refused> {
        self.copied_nodes += size.nodes;
        self.copied_bytes += size.bytes;
        if self.copied_nodes > MAX_ALIASED_NODES || self.copied_bytes > MAX_ALIASED_BYTES {
            return Err(Refused::PastBudget);
        }
        Ok(())
    }
}
