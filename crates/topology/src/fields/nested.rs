//! Kinds of values that hold others, and values with a schema of their own.

use std::marker::PhantomData;

use serde_json::{Value, json};

use super::shapes::{self, EXPECTS, Shaped, mapping};
use super::{Declared, Defaults, FOR_EACH, FieldKind, Fields, When};
use crate::model::Words;

/// One of some words, or an object.
#[derive(Clone, Copy)]
pub(crate) struct WordOr<T> {
    fields: &'static Fields,
    of: PhantomData<fn() -> T>,
}

pub(crate) const fn word_or<T: Words>(
    name: &'static str,
    says: &'static str,
    fields: &'static Fields,
) -> Declared<WordOr<T>> {
    let of = PhantomData;
    Declared::new(name, says, WordOr { fields, of })
}

impl<T: Words> FieldKind for WordOr<T> {
    fn shape(&self, says: &str) -> Value {
        mapping([
            ("description", says.into()),
            ("if", json!({ "type": "object" })),
            ("then", shapes::object(says, self.fields.properties())),
            ("else", json!({ "enum": T::words() })),
        ])
    }
}

impl<T: Words> Defaults for WordOr<T> {
    type Default = T;

    fn default(default: T) -> Value {
        default.word().into()
    }
}

/// An object inside another.
#[derive(Clone, Copy)]
pub(crate) struct Part {
    fields: &'static Fields,
    /// Whether the defaults of its fields hold where it is not given.
    holds: bool,
}

pub(crate) const fn part(name: &'static str, fields: &'static Fields) -> Declared<Part> {
    Declared::new(name, fields.says, Part { fields, holds: false })
}

impl Declared<Part> {
    /// What the object is for here.
    pub(crate) const fn says(mut self, says: &'static str) -> Self {
        self.says = says;
        self
    }

    /// The defaults of its fields hold where it is not given.
    pub(crate) const fn or_defaults(mut self) -> Self {
        self.kind.holds = true;
        self
    }
}

impl FieldKind for Part {
    fn shape(&self, says: &str) -> Value {
        shapes::object(says, self.fields.properties())
    }

    fn absent(&self) -> Option<(Value, When)> {
        self.holds.then(|| (json!({}), When::Always))
    }
}

/// What the schema defines once for all its fields of the kind, such as a scope or a secret.
#[derive(Clone, Copy)]
pub(crate) struct Definition(&'static str);

pub(crate) const fn defined(
    name: &'static str,
    says: &'static str,
    definition: &'static str,
) -> Declared<Definition> {
    Declared::new(name, says, Definition(definition))
}

impl FieldKind for Definition {
    fn shape(&self, says: &str) -> Value {
        match says {
            "" => shapes::reference(self.0),
            _ => shapes::described(self.0, says),
        }
    }
}

/// `for_each` of an object that a generator may make.
pub(crate) const fn for_each() -> Declared<Definition> {
    defined(FOR_EACH, "", FOR_EACH)
}

/// Objects by name.
#[derive(Clone, Copy)]
pub(crate) struct Map(Shaped);

pub(crate) const fn map(name: &'static str, says: &'static str, value: Shaped) -> Declared<Map> {
    Declared::new(name, says, Map(value))
}

impl FieldKind for Map {
    fn shape(&self, says: &str) -> Value {
        shapes::map(says, self.0.schema())
    }
}

/// A list of anything but texts.
#[derive(Clone, Copy)]
pub(crate) struct List {
    expects: &'static str,
    item: Shaped,
}

pub(crate) const fn list(
    name: &'static str,
    says: &'static str,
    expects: &'static str,
    item: Shaped,
) -> Declared<List> {
    Declared::new(name, says, List { expects, item })
}

impl FieldKind for List {
    fn shape(&self, says: &str) -> Value {
        shapes::list(says, self.expects, self.item.schema())
    }
}

/// A value with a schema of its own.
#[derive(Clone, Copy)]
pub(crate) struct Custom(fn(&str) -> Value);

pub(crate) const fn custom(
    name: &'static str,
    says: &'static str,
    schema: fn(&str) -> Value,
) -> Declared<Custom> {
    Declared::new(name, says, Custom(schema))
}

impl FieldKind for Custom {
    fn shape(&self, says: &str) -> Value {
        (self.0)(says)
    }
}

/// The version of the language, which every file may name.
pub(crate) const fn version() -> Declared<Custom> {
    custom(
        super::VERSION,
        "The version of the language: 1.",
        |says| json!({ "description": says, "const": 1, EXPECTS: "the version of the language, which is 1" }),
    )
}
