//! Kinds of values, each with the schema that its values follow.

use std::marker::PhantomData;
use std::ops::RangeInclusive;

use serde_json::{Value, json};

use super::shapes::{self, EXPECTS};
use super::{Declared, Defaults, FieldKind, STRICT};
use crate::model::Words;

/// A kind that is the same in all its fields: its type, the function that declares a field of it, and its schema.
macro_rules! plain_kind {
    ($(#[$meta:meta])* $kind:ident, $declares:ident = |$says:ident| $schema:expr) => {
        $(#[$meta])*
        #[derive(Clone, Copy)]
        pub(crate) struct $kind;

        pub(crate) const fn $declares(name: &'static str, says: &'static str) -> Declared<$kind> {
            Declared::new(name, says, $kind)
        }

        impl FieldKind for $kind {
            fn shape(&self, $says: &str) -> Value {
                $schema
            }
        }
    };
}

/// A text, its expressions replaced.
#[derive(Clone, Copy)]
pub(crate) struct Text {
    pub(crate) may_be_empty: bool,
}

impl Text {
    pub(crate) const ANY: Self = Self { may_be_empty: true };
}

pub(crate) const fn text(name: &'static str, says: &'static str) -> Declared<Text> {
    Declared::new(name, says, Text::ANY)
}

/// A text that may not be empty.
pub(crate) const fn filled(name: &'static str, says: &'static str) -> Declared<Text> {
    Declared::new(name, says, Text { may_be_empty: false })
}

impl FieldKind for Text {
    fn shape(&self, says: &str) -> Value {
        let mut shape = shapes::text(says);
        if !self.may_be_empty {
            shape[STRICT] = json!({ "minLength": 1 });
        }
        shape
    }
}

impl Defaults for Text {
    type Default = &'static str;

    fn default(default: Self::Default) -> Value {
        default.into()
    }
}

plain_kind! {
    /// A text around the key, such as `tenant_$(key:03)`.
    Template, template = |says| {
        shapes::text(&format!(
            "{says} Text around the key, such as `tenant_$(key:03)`."
        ))
    }
}

/// A range of ids that is a default.
#[derive(Clone, Copy)]
pub(crate) struct Ids {
    first: u32,
    last: u32,
}

impl Ids {
    pub(crate) const fn of(range: &RangeInclusive<u32>) -> Self {
        let (first, last) = (*range.start(), *range.end());
        Self { first, last }
    }
}

impl From<Ids> for RangeInclusive<u32> {
    fn from(ids: Ids) -> Self {
        ids.first..=ids.last
    }
}

plain_kind! {
    /// A range of ids, such as `1000-2999`.
    IdRange, id_range = |says| {
        json!({
            "description": says,
            "type": "string",
            "pattern": "^[0-9]+-[0-9]+$",
            EXPECTS: "a range such as 1000-2999",
        })
    }
}

impl Defaults for IdRange {
    type Default = Ids;

    fn default(Ids { first, last }: Ids) -> Value {
        format!("{first}-{last}").into()
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

impl FieldKind for Texts {
    fn shape(&self, says: &str) -> Value {
        match self.expects {
            Some(expects) => shapes::list(says, expects, json!({ "type": "string", EXPECTS: self.item })),
            None => shapes::text_or_list(says),
        }
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

impl<T: Into<i64> + Copy + Sync + 'static> FieldKind for Int<T> {
    fn shape(&self, says: &str) -> Value {
        shapes::int(says, self.least, self.most)
    }
}

impl<T: Into<i64> + Copy + Sync + 'static> Defaults for Int<T> {
    type Default = T;

    fn default(default: T) -> Value {
        default.into().into()
    }
}

plain_kind! {
    /// An integer of 64 bits.
    Whole, whole = |says| {
        json!({ "description": says, "type": "integer", EXPECTS: "an integer" })
    }
}

plain_kind! {
    /// A number as JSON Schema sees one.
    Number, number = |says| {
        json!({ "description": says, "type": "number", "minimum": 0, EXPECTS: "a number" })
    }
}

plain_kind! {
    Bool, boolean = |says| {
        json!({ "description": says, "type": "boolean", EXPECTS: "true or false" })
    }
}

impl Defaults for Bool {
    type Default = bool;

    fn default(default: bool) -> Value {
        default.into()
    }
}

plain_kind! {
    /// 0 or 1, as the engine writes truth.
    Bit, bit = |says| {
        json!({ "description": says, "enum": [0, 1], EXPECTS: "0 or 1" })
    }
}

impl Defaults for Bit {
    type Default = bool;

    fn default(default: bool) -> Value {
        u8::from(default).into()
    }
}

plain_kind! {
    /// A time, in milliseconds.
    Duration, duration = |says| {
        shapes::duration(says)
    }
}

impl Defaults for Duration {
    type Default = u64;

    fn default(ms: u64) -> Value {
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

impl<T: Words> FieldKind for Word<T> {
    fn shape(&self, says: &str) -> Value {
        json!({ "description": says, "enum": T::words() })
    }
}

impl<T: Words> Defaults for Word<T> {
    type Default = T;

    fn default(default: T) -> Value {
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

impl<T: Words> FieldKind for WordList<T> {
    fn shape(&self, says: &str) -> Value {
        shapes::list(says, self.expects, json!({ "enum": T::words() }))
    }
}
