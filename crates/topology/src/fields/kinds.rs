//! Kinds of values, each with the schema that its values follow.

use std::convert::Infallible;
use std::marker::PhantomData;
use std::ops::RangeInclusive;

use serde_json::{Value, json};

use super::shapes::{self, EXPECTS, Shaped, mapping};
use super::{Declared, Fields, Kind};
use crate::model::Words;

/// A text, its expressions replaced.
#[derive(Clone, Copy)]
pub(crate) struct Text {
    pub(crate) may_be_empty: bool,
}

pub(crate) const fn text(name: &'static str, says: &'static str) -> Declared<Text> {
    Declared::new(name, says, Text { may_be_empty: true })
}

/// A text that may not be empty.
pub(crate) const fn filled(name: &'static str, says: &'static str) -> Declared<Text> {
    Declared::new(name, says, Text { may_be_empty: false })
}

impl Kind for Text {
    type Default = &'static str;

    fn shape(&self, says: &str) -> Value {
        shapes::text(says)
    }

    fn default(&self, default: Self::Default) -> Value {
        default.into()
    }
}

/// A text around the key, such as `tenant_$(key:03)`.
#[derive(Clone, Copy)]
pub(crate) struct Template;

pub(crate) const fn template(name: &'static str, says: &'static str) -> Declared<Template> {
    Declared::new(name, says, Template)
}

impl Kind for Template {
    type Default = Infallible;

    fn shape(&self, says: &str) -> Value {
        shapes::text(&format!(
            "{says} Text around the key, such as `tenant_$(key:03)`."
        ))
    }

    fn default(&self, default: Infallible) -> Value {
        match default {}
    }
}

/// A range of ids, such as `1000-2999`.
#[derive(Clone, Copy)]
pub(crate) struct IdRange;

pub(crate) const fn id_range(name: &'static str, says: &'static str) -> Declared<IdRange> {
    Declared::new(name, says, IdRange)
}

impl Kind for IdRange {
    type Default = &'static RangeInclusive<u32>;

    fn shape(&self, says: &str) -> Value {
        json!({
            "description": says,
            "type": "string",
            "pattern": "^[0-9]+-[0-9]+$",
            EXPECTS: "a range such as 1000-2999",
        })
    }

    fn default(&self, default: Self::Default) -> Value {
        format!("{}-{}", default.start(), default.end()).into()
    }
}

/// A list of texts, or one text alone.
#[derive(Clone, Copy)]
pub(crate) struct Texts {
    /// What the list is, in words; none where one text may stand in its place.
    expects: Option<&'static str>,
    /// What an item is, in words.
    item: &'static str,
}

pub(crate) const fn texts(name: &'static str, says: &'static str, expects: &'static str) -> Declared<Texts> {
    let expects = Some(expects);
    Declared::new(
        name,
        says,
        Texts {
            expects,
            item: "text",
        },
    )
}

/// A text, or a list of alternatives.
pub(crate) const fn text_or_list(name: &'static str, says: &'static str) -> Declared<Texts> {
    let expects = None;
    Declared::new(
        name,
        says,
        Texts {
            expects,
            item: "text",
        },
    )
}

impl Declared<Texts> {
    /// What an item is, in words.
    pub(crate) const fn of(mut self, item: &'static str) -> Self {
        self.kind.item = item;
        self
    }
}

impl Kind for Texts {
    type Default = Infallible;

    fn shape(&self, says: &str) -> Value {
        match self.expects {
            Some(expects) => shapes::list(says, expects, json!({ "type": "string", EXPECTS: self.item })),
            None => shapes::text_or_list(says),
        }
    }

    fn default(&self, default: Infallible) -> Value {
        match default {}
    }
}

/// An integer within bounds.
#[derive(Clone, Copy)]
pub(crate) struct Int<T> {
    pub(crate) least: i64,
    pub(crate) most: i64,
    of: PhantomData<fn() -> T>,
}

impl<T> Int<T> {
    pub(crate) const fn between(least: i64, most: i64) -> Self {
        let of = PhantomData;
        Self { least, most, of }
    }
}

/// A whole number of things.
pub(crate) type Count = Int<u32>;

pub(crate) const fn int<T: Into<i64> + Copy + Sync + 'static>(
    name: &'static str,
    says: &'static str,
    least: i64,
    most: i64,
) -> Declared<Int<T>> {
    Declared::new(name, says, Int::between(least, most))
}

pub(crate) const fn count(name: &'static str, says: &'static str) -> Declared<Count> {
    int(name, says, 0, 4_294_967_295)
}

/// An id of the engine: of a hostgroup or a flag.
pub(crate) const fn id(name: &'static str, says: &'static str) -> Declared<Count> {
    int(name, says, 0, 2_147_483_647)
}

impl<T: Into<i64> + Copy + Sync + 'static> Kind for Int<T> {
    type Default = T;

    fn shape(&self, says: &str) -> Value {
        shapes::int(says, self.least, self.most)
    }

    fn default(&self, default: T) -> Value {
        default.into().into()
    }
}

/// An integer of 64 bits.
#[derive(Clone, Copy)]
pub(crate) struct Whole;

pub(crate) const fn whole(name: &'static str, says: &'static str) -> Declared<Whole> {
    Declared::new(name, says, Whole)
}

impl Kind for Whole {
    type Default = Infallible;

    fn shape(&self, says: &str) -> Value {
        json!({ "description": says, "type": "integer", EXPECTS: "an integer" })
    }

    fn default(&self, default: Infallible) -> Value {
        match default {}
    }
}

/// A number as JSON Schema sees one.
#[derive(Clone, Copy)]
pub(crate) struct Number;

pub(crate) const fn number(name: &'static str, says: &'static str) -> Declared<Number> {
    Declared::new(name, says, Number)
}

impl Kind for Number {
    type Default = Infallible;

    fn shape(&self, says: &str) -> Value {
        json!({ "description": says, "type": "number", "minimum": 0, EXPECTS: "a number" })
    }

    fn default(&self, default: Infallible) -> Value {
        match default {}
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Bool;

pub(crate) const fn boolean(name: &'static str, says: &'static str) -> Declared<Bool> {
    Declared::new(name, says, Bool)
}

impl Kind for Bool {
    type Default = bool;

    fn shape(&self, says: &str) -> Value {
        json!({ "description": says, "type": "boolean", EXPECTS: "true or false" })
    }

    fn default(&self, default: bool) -> Value {
        default.into()
    }
}

/// 0 or 1, as the engine writes truth.
#[derive(Clone, Copy)]
pub(crate) struct Bit;

pub(crate) const fn bit(name: &'static str, says: &'static str) -> Declared<Bit> {
    Declared::new(name, says, Bit)
}

impl Kind for Bit {
    type Default = bool;

    fn shape(&self, says: &str) -> Value {
        json!({ "description": says, "enum": [0, 1], EXPECTS: "0 or 1" })
    }

    fn default(&self, default: bool) -> Value {
        u8::from(default).into()
    }
}

/// A time, in milliseconds.
#[derive(Clone, Copy)]
pub(crate) struct Duration;

pub(crate) const fn duration(name: &'static str, says: &'static str) -> Declared<Duration> {
    Declared::new(name, says, Duration)
}

impl Kind for Duration {
    type Default = u64;

    fn shape(&self, says: &str) -> Value {
        shapes::duration(says)
    }

    fn default(&self, ms: u64) -> Value {
        match ms % 1_000 {
            0 if ms > 0 => format!("{}s", ms / 1_000).into(),
            _ => format!("{ms}ms").into(),
        }
    }
}

/// One of the words of an enumeration.
#[derive(Clone, Copy)]
pub(crate) struct Word<T>(PhantomData<fn() -> T>);

impl<T: Words> Word<T> {
    pub(crate) const ANY: Self = Self(PhantomData);
}

pub(crate) const fn word<T: Words>(name: &'static str, says: &'static str) -> Declared<Word<T>> {
    Declared::new(name, says, Word::ANY)
}

impl<T: Words> Kind for Word<T> {
    type Default = T;

    fn shape(&self, says: &str) -> Value {
        json!({ "description": says, "enum": T::words() })
    }

    fn default(&self, default: T) -> Value {
        default.word().into()
    }
}

/// A list of words of an enumeration.
#[derive(Clone, Copy)]
pub(crate) struct WordList<T> {
    expects: &'static str,
    of: PhantomData<fn() -> T>,
}

pub(crate) const fn words<T: Words>(
    name: &'static str,
    says: &'static str,
    expects: &'static str,
) -> Declared<WordList<T>> {
    let of = PhantomData;
    Declared::new(name, says, WordList { expects, of })
}

impl<T: Words> Kind for WordList<T> {
    type Default = Infallible;

    fn shape(&self, says: &str) -> Value {
        shapes::list(says, self.expects, json!({ "enum": T::words() }))
    }

    fn default(&self, default: Infallible) -> Value {
        match default {}
    }
}

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

impl<T: Words> Kind for WordOr<T> {
    type Default = T;

    fn shape(&self, says: &str) -> Value {
        mapping([
            ("description", says.into()),
            ("if", json!({ "type": "object" })),
            ("then", shapes::object(says, self.fields.properties())),
            ("else", json!({ "enum": T::words() })),
        ])
    }

    fn default(&self, default: T) -> Value {
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

impl Kind for Part {
    type Default = ();

    fn shape(&self, says: &str) -> Value {
        shapes::object(says, self.fields.properties())
    }

    fn default(&self, (): ()) -> Value {
        json!({})
    }

    fn absent(&self) -> Option<(Value, super::When)> {
        self.holds.then(|| (json!({}), super::When::Always))
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

impl Kind for Definition {
    type Default = Infallible;

    fn shape(&self, says: &str) -> Value {
        match says {
            "" => shapes::reference(self.0),
            _ => shapes::described(self.0, says),
        }
    }

    fn default(&self, default: Infallible) -> Value {
        match default {}
    }
}

/// Objects by name.
#[derive(Clone, Copy)]
pub(crate) struct Map(Shaped);

pub(crate) const fn map(name: &'static str, says: &'static str, value: Shaped) -> Declared<Map> {
    Declared::new(name, says, Map(value))
}

impl Kind for Map {
    type Default = Infallible;

    fn shape(&self, says: &str) -> Value {
        shapes::map(says, self.0.schema())
    }

    fn default(&self, default: Infallible) -> Value {
        match default {}
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

impl Kind for List {
    type Default = Infallible;

    fn shape(&self, says: &str) -> Value {
        shapes::list(says, self.expects, self.item.schema())
    }

    fn default(&self, default: Infallible) -> Value {
        match default {}
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

impl Kind for Custom {
    type Default = &'static str;

    fn shape(&self, says: &str) -> Value {
        (self.0)(says)
    }

    fn default(&self, default: Self::Default) -> Value {
        default.into()
    }
}

/// The version of the language, which every file may name.
pub(crate) const fn version() -> Declared<Custom> {
    custom(
        "version",
        "The version of the language: 1.",
        |says| json!({ "description": says, "const": 1, EXPECTS: "the version of the language, which is 1" }),
    )
}
