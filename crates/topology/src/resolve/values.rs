//! How the value of a field is read, by its kind.

use shardwright_vocabulary::parse_integer;
use std::borrow::Cow;
use std::ops::RangeInclusive;
use std::sync::Arc;

use shardwright_diagnostics::Span;
use shardwright_documents::{Node, Value};

use super::object::Object;
use crate::codes::{BAD_VALUE, UNKNOWN_WORD};
use crate::fields::{
    AnyField, Bit, Bool, Declared, Defaults, Duration, FieldKind, IdRange, Int, Number, Or, Text, Texts,
    Whole, Word, WordList, WordOr,
};
use crate::model::Words;
use crate::template::is_template;
use crate::tree::context::Context;
use crate::tree::structure::{one_of, shown};
use crate::tree::view::Field;
use crate::units;

/// A kind of values that a reader takes out of an object.
pub(super) trait Read: FieldKind {
    type Value;

    /// The value of a field. None where it is wrong, which is reported.
    fn read(
        &self,
        field: &Field<'_>,
        object: &Object<'_, '_>,
        context: &mut Context<'_>,
    ) -> Option<Self::Value>;
}

/// What a reader gets for a field: a value where a default stands for what is not given, perhaps one elsewhere.
pub(super) trait Get {
    type Got;

    fn get(&self, object: &Object<'_, '_>, context: &mut Context<'_>) -> Self::Got;
}

impl<K: Read> Get for Declared<K> {
    type Got = Option<K::Value>;

    fn get(&self, object: &Object<'_, '_>, context: &mut Context<'_>) -> Option<K::Value> {
        object.read(self, &self.kind, context)
    }
}

impl<K: Read + Defaults> Get for Declared<Or<K>>
where
    K::Default: Into<K::Value>,
{
    type Got = K::Value;

    fn get(&self, object: &Object<'_, '_>, context: &mut Context<'_>) -> K::Value {
        let given = object.given(self, context);
        given.unwrap_or_else(|| self.standing())
    }
}

impl<K: Defaults> Declared<Or<K>> {
    /// The value that holds where none is written.
    pub(super) fn standing<V>(&self) -> V
    where
        K::Default: Into<V>,
    {
        self.kind.default.into()
    }
}

impl Object<'_, '_> {
    /// What is read for a field.
    pub(super) fn get<G: Get>(&self, field: &G, context: &mut Context<'_>) -> G::Got {
        field.get(self, context)
    }

    /// The value that is written for a field with a default, if there is one.
    pub(super) fn given<K: Read + Defaults>(
        &self,
        field: &Declared<Or<K>>,
        context: &mut Context<'_>,
    ) -> Option<K::Value> {
        self.read(field, &field.kind.kind, context)
    }

    /// The value of a field that may be of several kinds, as one of this kind.
    pub(super) fn read<K: Read>(
        &self,
        field: &dyn AnyField,
        kind: &K,
        context: &mut Context<'_>,
    ) -> Option<K::Value> {
        kind.read(&self.field(field)?, self, context)
    }

    /// The node and text of a field, its expressions replaced.
    pub(super) fn raw_text<'n>(
        &self,
        field: &Field<'n>,
        context: &mut Context<'_>,
    ) -> Option<(&'n Node, Cow<'n, str>)> {
        let node = match field.value.node() {
            Some(node) if node.as_text().is_some() => node,
            _ => {
                self.expected("text", &field.value, field.value.span(), context);
                return None;
            }
        };
        Some((node, context.expand_node(node, self.environment)?))
    }

    /// An integer within bounds.
    fn integer(
        &self,
        field: &Field<'_>,
        bounds: RangeInclusive<i64>,
        context: &mut Context<'_>,
    ) -> Option<i64> {
        let node = field.value.node()?;
        let value = match node.as_integer() {
            Some(value) => i64::try_from(value).ok(),
            None if node.as_text().is_some_and(is_template) => {
                let text = context.expand_node(node, self.environment)?;
                parse_integer(&text)
            }
            None => None,
        };
        if let Some(value) = value.filter(|value| bounds.contains(value)) {
            context.warn_yaml_1_1(node, self.environment);
            return Some(value);
        }
        let found = match context.expand_node(node, self.environment) {
            Some(text) => format!("`{text}`"),
            None => shown(node),
        };
        let message = format!(
            "expected an integer from {} to {}, found {found}",
            bounds.start(),
            bounds.end()
        );
        self.error(BAD_VALUE, message, node.span, context);
        None
    }
}

/// The value in a part that may be absent.
pub(super) fn within<K: Read + Defaults>(
    part: Option<&Object<'_, '_>>,
    field: &Declared<Or<K>>,
    context: &mut Context<'_>,
) -> K::Value
where
    K::Default: Into<K::Value>,
{
    part.map_or_else(|| field.standing(), |part| part.get(field, context))
}

impl Read for Text {
    type Value = Arc<str>;

    fn read(
        &self,
        field: &Field<'_>,
        object: &Object<'_, '_>,
        context: &mut Context<'_>,
    ) -> Option<Arc<str>> {
        let (node, text) = object.raw_text(field, context)?;
        context.warn_yaml_1_1(node, object.environment);
        if text.is_empty() && !self.may_be_empty {
            let message = format!("`{}` is empty", field.key.text);
            object.error(BAD_VALUE, message, field.value.span(), context);
            return None;
        }
        Some(context.intern(&text))
    }
}

impl Read for Texts {
    type Value = Vec<(Span, Arc<str>)>;

    fn read(
        &self,
        field: &Field<'_>,
        object: &Object<'_, '_>,
        context: &mut Context<'_>,
    ) -> Option<Self::Value> {
        Some(object.texts_of(field, context))
    }
}

impl<T> Read for Int<T>
where
    T: TryFrom<i64> + Into<i64> + Copy + Sync + 'static,
{
    type Value = T;

    fn read<'a>(&self, field: &Field<'_>, object: &Object<'a, '_>, context: &mut Context<'_>) -> Option<T> {
        let value = object.integer(field, self.least..=self.most, context)?;
        T::try_from(value).ok()
    }
}

impl Read for Whole {
    type Value = i64;

    fn read<'a>(&self, field: &Field<'_>, object: &Object<'a, '_>, context: &mut Context<'_>) -> Option<i64> {
        object.integer(field, i64::MIN..=i64::MAX, context)
    }
}

impl Read for IdRange {
    type Value = RangeInclusive<u32>;

    fn read(
        &self,
        field: &Field<'_>,
        object: &Object<'_, '_>,
        context: &mut Context<'_>,
    ) -> Option<Self::Value> {
        let text = Text::ANY.read(field, object, context)?;
        let range = units::id_range(&text).filter(|range| *range.end() <= i32::MAX.unsigned_abs());
        if range.is_none() {
            let message = format!(
                "expected a range such as 1000-2999 within 0-{}, found `{text}`",
                i32::MAX
            );
            object.error(BAD_VALUE, message, field.value.span(), context);
        }
        range
    }
}

impl Read for Number {
    type Value = f64;

    /// Anything but a number is a problem of the structure.
    fn read(&self, field: &Field<'_>, _: &Object<'_, '_>, _: &mut Context<'_>) -> Option<f64> {
        let node = field.value.node()?;
        match &node.value {
            Value::Float { value, .. } if value.is_finite() => Some(*value),
            _ => node
                .as_integer()
                .and_then(|value| i32::try_from(value).ok())
                .map(f64::from),
        }
    }
}

impl Read for Bool {
    type Value = bool;

    fn read(&self, field: &Field<'_>, object: &Object<'_, '_>, context: &mut Context<'_>) -> Option<bool> {
        let value = field.value.node().and_then(Node::as_bool);
        if value.is_none() {
            object.expected("true or false", &field.value, field.value.span(), context);
        }
        value
    }
}

impl Read for Bit {
    type Value = bool;

    fn read(&self, field: &Field<'_>, object: &Object<'_, '_>, context: &mut Context<'_>) -> Option<bool> {
        object.integer(field, 0..=1, context).map(|bit| bit == 1)
    }
}

impl Read for Duration {
    type Value = u64;

    fn read<'a>(&self, field: &Field<'_>, object: &Object<'a, '_>, context: &mut Context<'_>) -> Option<u64> {
        let (node, text) = object.raw_text(field, context)?;
        let duration = shardwright_vocabulary::duration_ms(&text);
        if duration.is_none() {
            let message =
                format!("expected a duration with its unit, such as 500ms, 5s or 10m, found `{text}`");
            object.error(BAD_VALUE, message, node.span, context);
        }
        duration
    }
}

impl<T: Words> Read for Word<T> {
    type Value = T;

    fn read<'a>(&self, field: &Field<'_>, object: &Object<'a, '_>, context: &mut Context<'_>) -> Option<T> {
        let node = field.value.node()?;
        let value = T::of_word(node.as_text()?);
        if value.is_none() {
            let message = format!("expected {}, found {}", one_of(&every_word::<T>()), shown(node));
            object.error(UNKNOWN_WORD, message, node.span, context);
        }
        value
    }
}

impl<T: Words> Read for WordOr<T> {
    type Value = T;

    /// The word; none where the object stands in its place.
    fn read<'a>(&self, field: &Field<'_>, object: &Object<'a, '_>, context: &mut Context<'_>) -> Option<T> {
        let is_word = !field.value.is_map();
        is_word.then(|| Word::ANY.read(field, object, context)).flatten()
    }
}

impl<T: Words> Read for WordList<T> {
    type Value = Vec<T>;

    fn read(&self, field: &Field<'_>, object: &Object<'_, '_>, context: &mut Context<'_>) -> Option<Vec<T>> {
        Some(words_of(&object.texts_of(field, context), object, context))
    }
}

/// What words mean; other words are reported.
pub(super) fn words_of<T: Words>(
    words: &[(Span, Arc<str>)],
    object: &Object<'_, '_>,
    context: &mut Context<'_>,
) -> Vec<T> {
    let mut values = Vec::new();
    for (span, word) in words {
        match T::of_word(word) {
            Some(value) => values.push(value),
            None => {
                let message = format!("expected {}, found `{word}`", one_of(&every_word::<T>()));
                object.error(UNKNOWN_WORD, message, *span, context);
            }
        }
    }
    values
}

fn every_word<T: Words>() -> Vec<String> {
    T::words().into_iter().map(ToOwned::to_owned).collect()
}
