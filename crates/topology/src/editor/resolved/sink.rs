//! What takes resolved values, in order and each with its origin.

use std::io;
use std::sync::Arc;

use shardwright_diagnostics::{Sources, Span};

use crate::model::Instance;

/// Where a value comes from.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Origin {
    pub(crate) source: Source,
    /// The generator instance, such as `n=137`.
    pub(crate) instance: Option<Arc<Instance>>,
    /// Variables in it, each with where its value comes from.
    pub(crate) variables: Vec<(String, Arc<str>)>,
}

/// Where a value is written.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Source {
    /// Nowhere: it holds where nothing is written.
    #[default]
    Default,
    /// In a file.
    File(Span),
    /// On the command line.
    Option,
}

impl Origin {
    pub(crate) const fn of(source: Source) -> Self {
        Self {
            source,
            instance: None,
            variables: Vec::new(),
        }
    }

    /// `topology/shop.yaml:7, n=137, region from --var`.
    pub(crate) fn text(&self, sources: &Sources) -> String {
        let mut text = match self.source {
            Source::Default => "default".to_owned(),
            Source::File(span) => file_and_line(span, sources),
            Source::Option => "--var".to_owned(),
        };
        if let Some(instance) = &self.instance {
            text.push_str(", ");
            text.push_str(&instance.text);
            if let Some(cell) = instance.cell {
                text.push_str(&format!(" from {}", file_and_line(cell, sources)));
            }
        }
        for (variable, source) in &self.variables {
            text.push_str(&format!(", {variable} from {source}"));
        }
        text
    }
}

/// `topology/shop.yaml:7`
pub(crate) fn file_and_line(span: Span, sources: &Sources) -> String {
    format!("{}:{}", sources.path(span.file), sources.position(span).line)
}

/// A value that holds no others.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Scalar {
    /// Text, and the template that expands to it.
    Text { text: String, template: String },
    /// A number, a truth value or nothing, as it is written.
    Word(String),
}

/// Where a value stands in what holds it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Slot<'k> {
    /// It is the whole.
    Root,
    /// The value of a key.
    Key(&'k str),
    /// An item of a list.
    Item,
}

/// Takes values in order. `address` is that of the value.
pub(crate) trait Sink {
    /// A mapping or a list begins; an object has an origin of its own.
    fn begin(
        &mut self,
        kind: Collection,
        slot: Slot<'_>,
        address: &str,
        origin: Option<&Origin>,
    ) -> io::Result<()>;
    /// The mapping or list that began last ends.
    fn end(&mut self) -> io::Result<()>;
    /// One value.
    fn scalar(&mut self, slot: Slot<'_>, address: &str, value: &Scalar, origin: &Origin) -> io::Result<()>;
    /// A list of values that hold no others.
    fn scalars(
        &mut self,
        slot: Slot<'_>,
        address: &str,
        values: &[Scalar],
        origin: &Origin,
    ) -> io::Result<()>;
}

/// What holds other values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Collection {
    Mapping,
    List,
}
