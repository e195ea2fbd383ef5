//! The tree: values with the place where they were written.

pub(crate) mod core_schema;
pub(crate) mod mapping;

use shardwright_diagnostics::Span;

use mapping::Mapping;

/// A value and where it was written; for a value behind an alias, where the anchor defines it.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// What was written.
    pub value: Value,
    /// From the first to the last character, with quotes and brackets, without anchors and tags. For a block
    /// scalar, its text without the `|`; for a block list or mapping, from the first item or key to the end of
    /// the last value.
    pub span: Span,
}

/// A value by the YAML 1.2 core schema. Scalars that are not text keep the word that was written (`raw`).
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Nothing, `~` or `null`.
    Null {
        /// The word; empty where there was none.
        raw: Box<str>,
    },
    /// `true` or `false`.
    Bool {
        /// Its value.
        value: bool,
        /// The word.
        raw: Box<str>,
    },
    /// A decimal number (`017` is seventeen), `0o17` or `0x1f`.
    Integer {
        /// Its value.
        value: i128,
        /// The word.
        raw: Box<str>,
    },
    /// A number with a fraction or exponent, `.inf`, `.nan`, or an integer beyond 128 bits.
    Float {
        /// Its value.
        value: f64,
        /// The word.
        raw: Box<str>,
    },
    /// Anything else, and everything in quotes.
    Text {
        /// The text without quotes and escapes.
        text: Box<str>,
        /// How it was written.
        style: Style,
    },
    /// A list.
    Sequence(Vec<Node>),
    /// A map with text keys, in the order of the file.
    Mapping(Mapping),
}

/// How text was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Without quotes.
    Plain,
    /// `'…'`
    SingleQuoted,
    /// `"…"`
    DoubleQuoted,
    /// `|`
    Literal,
    /// `>`
    Folded,
}

impl Value {
    /// Names the type for messages: "a mapping", "text", …
    #[must_use]
    pub const fn type_name(&self) -> &'static str {
        match self {
            Self::Null { .. } => "nothing",
            Self::Bool { .. } => "a boolean",
            Self::Integer { .. } => "an integer",
            Self::Float { .. } => "a number",
            Self::Text { .. } => "text",
            Self::Sequence(_) => "a list",
            Self::Mapping(_) => "a mapping",
        }
    }

    /// Any scalar as it was written; see [`Node::raw`].
    #[must_use]
    pub const fn raw(&self) -> Option<&str> {
        match self {
            Self::Null { raw }
            | Self::Bool { raw, .. }
            | Self::Integer { raw, .. }
            | Self::Float { raw, .. }
            | Self::Text { text: raw, .. } => Some(raw),
            Self::Sequence(_) | Self::Mapping(_) => None,
        }
    }
}

impl Node {
    /// The map, if it is one.
    #[must_use]
    pub const fn as_mapping(&self) -> Option<&Mapping> {
        match &self.value {
            Value::Mapping(mapping) => Some(mapping),
            _ => None,
        }
    }

    /// The list, if it is one.
    #[must_use]
    pub fn as_sequence(&self) -> Option<&[Self]> {
        match &self.value {
            Value::Sequence(items) => Some(items),
            _ => None,
        }
    }

    /// The text, if it is text.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match &self.value {
            Value::Text { text, .. } => Some(text),
            _ => None,
        }
    }

    /// The number, if it is an integer.
    #[must_use]
    pub const fn as_integer(&self) -> Option<i128> {
        match self.value {
            Value::Integer { value, .. } => Some(value),
            _ => None,
        }
    }

    /// The truth value, if it is one.
    #[must_use]
    pub const fn as_bool(&self) -> Option<bool> {
        match self.value {
            Value::Bool { value, .. } => Some(value),
            _ => None,
        }
    }

    /// Whether it is null.
    #[must_use]
    pub const fn is_null(&self) -> bool {
        matches!(self.value, Value::Null { .. })
    }

    /// Any scalar as it was written, quotes and escapes undone: `017` for the integer 17. None for collections.
    #[must_use]
    pub const fn raw(&self) -> Option<&str> {
        self.value.raw()
    }

    /// Whether it is text in quotes or a block scalar, which every YAML reads alike.
    #[must_use]
    pub const fn is_quoted(&self) -> bool {
        matches!(&self.value, Value::Text { style, .. } if !matches!(style, Style::Plain))
    }

    /// The value of `key`, if this is a map that holds it.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.as_mapping()?.get(key)
    }

    /// What a YAML 1.1 reader takes an unquoted scalar for, where that differs from YAML 1.2: `NO`, `017`,
    /// `1_000`, `12:30`. For a warning where text is expected.
    #[must_use]
    pub fn yaml_1_1_reading(&self) -> Option<&'static str> {
        if self.is_quoted() {
            None
        } else {
            core_schema::yaml_1_1_reading(self.raw()?)
        }
    }
}
