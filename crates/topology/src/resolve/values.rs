//! How the value of a field is read, by its kind.

use std::convert::Infallible;
use std::ops::RangeInclusive;
use std::sync::Arc;

use shardwright_diagnostics::Span;

use super::object::Object;
use crate::codes::BAD_VALUE;
use crate::context::Context;
use crate::fields::{
    AnyField, Bit, Bool, Declared, Duration, IdRange, Int, Kind, Number, Or, Text, Texts, Whole, Word,
    WordList, WordOr,
};
use crate::model::Words;
use crate::units;

/// A kind of values that a reader takes out of an object.
pub(super) trait Read: Kind {
    type Value;

    /// The value of a field. None where it is absent, or wrong, which is reported.
    fn read(&self, name: &str, object: &Object<'_, '_>, context: &mut Context<'_>) -> Option<Self::Value>;

    /// What a default stands for.
    fn standing(default: Self::Default, context: &mut Context<'_>) -> Self::Value;
}

/// What a reader gets for a field: a value where a default stands for what is not given, perhaps one elsewhere.
pub(super) trait Get {
    type Got;

    fn get(&self, object: &Object<'_, '_>, context: &mut Context<'_>) -> Self::Got;
}

impl<K: Read> Get for Declared<K> {
    type Got = Option<K::Value>;

    fn get(&self, object: &Object<'_, '_>, context: &mut Context<'_>) -> Option<K::Value> {
        self.kind.read(self.name(), object, context)
    }
}

impl<K: Read> Get for Declared<Or<K>> {
    type Got = K::Value;

    fn get(&self, object: &Object<'_, '_>, context: &mut Context<'_>) -> K::Value {
        let given = self.given(object, context);
        given.unwrap_or_else(|| self.standing(context))
    }
}

impl<K: Read> Declared<Or<K>> {
    /// The value that is written, if there is one.
    pub(super) fn given(&self, object: &Object<'_, '_>, context: &mut Context<'_>) -> Option<K::Value> {
        self.kind.kind.read(self.name(), object, context)
    }

    /// The value that holds where none is written.
    pub(super) fn standing(&self, context: &mut Context<'_>) -> K::Value {
        K::standing(self.kind.default, context)
    }

    /// The value in a part that may be absent.
    pub(super) fn within(&self, part: Option<&Object<'_, '_>>, context: &mut Context<'_>) -> K::Value {
        match part {
            Some(part) => self.get(part, context),
            None => self.standing(context),
        }
    }
}

impl Read for Text {
    type Value = Arc<str>;

    fn read(&self, name: &str, object: &Object<'_, '_>, context: &mut Context<'_>) -> Option<Arc<str>> {
        match self.may_be_empty {
            true => object.text(name, context),
            false => object.filled_text(name, context),
        }
    }

    fn standing(default: &'static str, context: &mut Context<'_>) -> Arc<str> {
        context.intern(default)
    }
}

impl Read for Texts {
    type Value = Vec<(Span, Arc<str>)>;

    fn read(&self, name: &str, object: &Object<'_, '_>, context: &mut Context<'_>) -> Option<Self::Value> {
        Some(object.texts(name, context))
    }

    fn standing(default: Infallible, _: &mut Context<'_>) -> Self::Value {
        match default {}
    }
}

impl<T> Read for Int<T>
where
    T: TryFrom<i64> + Into<i64> + Copy + Sync + 'static,
{
    type Value = T;

    fn read(&self, name: &str, object: &Object<'_, '_>, context: &mut Context<'_>) -> Option<T> {
        let value = object.integer(name, self.least..=self.most, context)?;
        T::try_from(value).ok()
    }

    fn standing(default: T, _: &mut Context<'_>) -> T {
        default
    }
}

impl Read for Whole {
    type Value = i64;

    fn read(&self, name: &str, object: &Object<'_, '_>, context: &mut Context<'_>) -> Option<i64> {
        object.integer(name, i64::MIN..=i64::MAX, context)
    }

    fn standing(default: Infallible, _: &mut Context<'_>) -> i64 {
        match default {}
    }
}

impl Read for IdRange {
    type Value = RangeInclusive<u32>;

    fn read(&self, name: &str, object: &Object<'_, '_>, context: &mut Context<'_>) -> Option<Self::Value> {
        let text = object.text(name, context)?;
        let range = units::id_range(&text).filter(|range| *range.end() <= i32::MAX.unsigned_abs());
        if range.is_none() {
            let message = format!(
                "expected a range such as 1000-2999 within 0-{}, found `{text}`",
                i32::MAX
            );
            object.error(BAD_VALUE, message, object.span(name), context);
        }
        range
    }

    fn standing(default: Self::Default, _: &mut Context<'_>) -> Self::Value {
        default.clone()
    }
}

impl Read for Number {
    type Value = f64;

    fn read(&self, name: &str, object: &Object<'_, '_>, _: &mut Context<'_>) -> Option<f64> {
        super::throttle::number(object, name)
    }

    fn standing(default: Infallible, _: &mut Context<'_>) -> f64 {
        match default {}
    }
}

impl Read for Bool {
    type Value = bool;

    fn read(&self, name: &str, object: &Object<'_, '_>, context: &mut Context<'_>) -> Option<bool> {
        object.boolean(name, context)
    }

    fn standing(default: bool, _: &mut Context<'_>) -> bool {
        default
    }
}

impl Read for Bit {
    type Value = bool;

    fn read(&self, name: &str, object: &Object<'_, '_>, context: &mut Context<'_>) -> Option<bool> {
        object.bit(name, context)
    }

    fn standing(default: bool, _: &mut Context<'_>) -> bool {
        default
    }
}

impl Read for Duration {
    type Value = u64;

    fn read(&self, name: &str, object: &Object<'_, '_>, context: &mut Context<'_>) -> Option<u64> {
        object.duration_ms(name, context)
    }

    fn standing(default: u64, _: &mut Context<'_>) -> u64 {
        default
    }
}

impl<T: Words> Read for Word<T> {
    type Value = T;

    fn read(&self, name: &str, object: &Object<'_, '_>, context: &mut Context<'_>) -> Option<T> {
        object.word(name, T::WORDS, context)
    }

    fn standing(default: T, _: &mut Context<'_>) -> T {
        default
    }
}

impl<T: Words> Read for WordOr<T> {
    type Value = T;

    /// The word; none where the object stands in its place.
    fn read(&self, name: &str, object: &Object<'_, '_>, context: &mut Context<'_>) -> Option<T> {
        let is_word = object.view.get(name).is_some_and(|field| !field.value.is_map());
        is_word.then(|| object.word(name, T::WORDS, context)).flatten()
    }

    fn standing(default: T, _: &mut Context<'_>) -> T {
        default
    }
}

impl<T: Words> Read for WordList<T> {
    type Value = Vec<T>;

    fn read(&self, name: &str, object: &Object<'_, '_>, context: &mut Context<'_>) -> Option<Vec<T>> {
        let texts = object.texts(name, context);
        Some(object.words_of(&texts, context))
    }

    fn standing(default: Infallible, _: &mut Context<'_>) -> Vec<T> {
        match default {}
    }
}
