//! Texts of the language with the place where each part of them is written.

use std::ops::Range;

use shardwright_diagnostics::{Sources, Span};
use shardwright_documents::{Key, Node, part_of_text};

use crate::template::{Template, is_template};
use crate::tree::context::part_of_key;
use crate::tree::environment::{Environment, Names};
use crate::tree::variables::Variables;

/// A scalar or a key, or a part of one.
pub(super) struct Text<'a> {
    pub(super) text: &'a str,
    whole: Whole<'a>,
    at: usize,
}

#[derive(Clone, Copy)]
enum Whole<'a> {
    Key(&'a Key),
    Node(&'a Node),
}

impl<'a> Text<'a> {
    pub(super) fn of_key(key: &'a Key) -> Self {
        Self {
            text: &key.text,
            whole: Whole::Key(key),
            at: 0,
        }
    }

    pub(super) fn of_node(node: &'a Node) -> Option<Self> {
        let text = node.raw().filter(|_| !node.is_null())?;
        Some(Self {
            text,
            whole: Whole::Node(node),
            at: 0,
        })
    }

    pub(super) fn part(&self, part: Range<usize>) -> Self {
        Self {
            text: self.text.get(part.clone()).unwrap_or_default(),
            whole: self.whole,
            at: self.at + part.start,
        }
    }

    pub(super) fn is_template(&self) -> bool {
        is_template(self.text)
    }

    pub(super) fn span(&self, sources: &Sources) -> Span {
        let part = self.at..self.at + self.text.len();
        match self.whole {
            Whole::Key(key) => part_of_key(key, part),
            Whole::Node(node) => part_of_text(sources, node, part),
        }
    }
}

/// The texts of a list, or of one text alone.
pub(super) fn texts(node: &Node) -> Vec<Text<'_>> {
    let nodes = node.as_sequence().unwrap_or(std::slice::from_ref(node));
    nodes.iter().filter_map(Text::of_node).collect()
}

/// A text, read once for all instances.
pub(super) enum Wording<'t> {
    Plain(&'t str),
    Template(Template<'t>),
    /// It cannot be read, which the reader of the project reports.
    Broken,
}

impl<'t> Wording<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        if !is_template(text) {
            return Self::Plain(text);
        }
        Template::parse(text).map_or(Self::Broken, Self::Template)
    }

    /// The text in one instance.
    pub(super) fn expand(&self, environment: &Environment, variables: &Variables) -> Option<String> {
        match self {
            Self::Plain(text) => Some((*text).to_owned()),
            Self::Template(template) => template
                .expand(&Names {
                    environment,
                    variables,
                })
                .ok(),
            Self::Broken => None,
        }
    }
}
