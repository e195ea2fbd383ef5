//! A file as it was read: its tree and its comments.

use shardwright_diagnostics::{FileId, Span};

use crate::Node;

/// A YAML file as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// The file in the sources.
    pub file: FileId,
    /// The tree; none for an empty file and for one that could not be read at all.
    pub root: Option<Node>,
    /// Every comment, in the order of the file.
    pub comments: Vec<Comment>,
    /// False where reading stopped before the end: the tree holds what came before, and what is missing in it
    /// may still stand in the file.
    pub complete: bool,
}

/// A comment; its text is what the span covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comment {
    /// From the `#` to the end of the line, without the line end.
    pub span: Span,
    /// Whether something stands before it on its line.
    pub placement: Placement,
}

/// Where a comment stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Alone on its line.
    OwnLine,
    /// Behind something else.
    Trailing,
}
