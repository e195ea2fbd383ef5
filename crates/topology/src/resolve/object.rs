//! Typed reading of one object's fields. A field that is wrong is reported and reads as absent.

use std::borrow::Cow;
use std::ops::RangeInclusive;
use std::sync::Arc;

use shardwright_diagnostics::{Code, Diagnostic, Span};
use shardwright_documents::Node;

use super::values::Get;
use crate::codes::{BAD_VALUE, MISSING_KEY, UNKNOWN_WORD, WRONG_TYPE};
use crate::context::Context;
use crate::environment::Environment;
use crate::fields::{AnyField, Declared, Fields, Kind};
use crate::model::{DefinitionId, OriginId, Words};
use crate::structure::{one_of, shown};
use crate::template::is_template;
use crate::units::duration_ms;
use crate::view::{Field, View};

/// What names a field.
pub(super) trait Name: Copy {
    fn name(&self) -> &str;
}

impl Name for &str {
    fn name(&self) -> &str {
        self
    }
}

impl Name for &&str {
    fn name(&self) -> &str {
        self
    }
}

impl Name for &dyn AnyField {
    fn name(&self) -> &str {
        AnyField::name(*self)
    }
}

impl<K: Kind> Name for &Declared<K> {
    fn name(&self) -> &str {
        AnyField::name(*self)
    }
}

/// One object in one generator instance.
pub(super) struct Object<'a, 'e> {
    pub(super) view: View<'a>,
    /// Where its name stands.
    pub(super) key: Span,
    pub(super) name: Arc<str>,
    pub(super) origin: OriginId,
    pub(super) environment: &'e Environment,
}

impl<'a, 'e> Object<'a, 'e> {
    /// The object that a field of a map holds; its origin is an instance of `definition` below `parent`.
    pub(super) fn of_field(
        field: &Field<'a>,
        name: Arc<str>,
        (parent, definition): (OriginId, DefinitionId),
        environment: &'e Environment,
        context: &mut Context<'_>,
    ) -> Self {
        let instance = environment.instance().cloned();
        let origin = context
            .origins
            .add_named(Some(parent), name.clone(), definition, instance);
        Object {
            view: field.value.clone(),
            key: field.key.span,
            name,
            origin,
            environment,
        }
    }

    /// An object inside this one, such as `key`; none where it is absent or no map.
    pub(super) fn part(&self, field: impl Name, context: &mut Context<'_>) -> Option<Object<'a, 'e>> {
        let field = self.field(field)?;
        if !field.value.is_map() {
            self.expected("a mapping", &field.value, field.key.span, context);
            return None;
        }
        Some(self.inner(field.value, field.key.span))
    }

    /// A part of this object whose view is known.
    pub(super) fn inner(&self, view: View<'a>, key: Span) -> Object<'a, 'e> {
        Object {
            view,
            key,
            name: self.name.clone(),
            origin: self.origin,
            environment: self.environment,
        }
    }

    /// A field with its key, if it is given.
    pub(super) fn field(&self, field: impl Name) -> Option<Field<'a>> {
        self.view.get(field.name())
    }

    /// What is read for a field.
    pub(super) fn get<F: Get>(&self, field: &F, context: &mut Context<'_>) -> F::Got {
        field.get(self, context)
    }

    /// The texts of a list.
    pub(super) fn list(&self, field: impl Name, context: &mut Context<'_>) -> Vec<Arc<str>> {
        let texts = self.texts(field, context);
        texts.into_iter().map(|(_, text)| text).collect()
    }

    /// The object that a field holds in place of a word.
    pub(super) fn inside(&self, field: impl Name) -> Option<Object<'a, 'e>> {
        let field = self.field(field).filter(|field| field.value.is_map())?;
        Some(self.inner(field.value, field.key.span))
    }

    /// Reports every field that must be there and is not.
    pub(super) fn require_all(&self, fields: &Fields, context: &mut Context<'_>) {
        for field in fields.fields.iter().filter(|field| field.is_needed()) {
            self.require(*field, context);
        }
    }

    /// What words mean; other words are reported.
    pub(super) fn words_of<T: Words>(&self, words: &[(Span, Arc<str>)], context: &mut Context<'_>) -> Vec<T> {
        let mut values = Vec::new();
        for (span, word) in words {
            match T::of_word(word) {
                Some(value) => values.push(value),
                None => {
                    let known: Vec<String> = T::words().into_iter().map(ToOwned::to_owned).collect();
                    let message = format!("expected {}, found `{word}`", one_of(&known));
                    self.error(UNKNOWN_WORD, message, *span, context);
                }
            }
        }
        values
    }

    pub(super) fn has(&self, field: impl Name) -> bool {
        self.field(field).is_some()
    }

    /// Where a field's name stands; the object's name where there is no such field.
    pub(super) fn key_span(&self, field: impl Name) -> Span {
        self.field(field).map_or(self.key, |field| field.key.span)
    }

    /// Where a field's value stands; the object's name where there is no such field.
    pub(super) fn span(&self, field: impl Name) -> Span {
        self.field(field).map_or(self.key, |field| field.value.span())
    }

    /// Reports a field that must be there, if it is not.
    pub(super) fn require(&self, field: impl Name, context: &mut Context<'_>) {
        if !self.has(field) {
            let diagnostic =
                Diagnostic::error(MISSING_KEY, format!("missing key `{}`", field.name())).at(self.key, "");
            self.push(diagnostic, context);
        }
    }

    /// A problem at a place of this object.
    pub(super) fn error(
        &self,
        code: Code,
        message: impl Into<String>,
        span: Span,
        context: &mut Context<'_>,
    ) {
        self.push(Diagnostic::error(code, message).at(span, ""), context);
    }

    /// A problem of this object, if there is one.
    pub(super) fn push(&self, diagnostic: impl Into<Option<Diagnostic>>, context: &mut Context<'_>) {
        let Some(diagnostic) = diagnostic.into() else {
            return;
        };
        let diagnostic = if self.environment.instance().is_some() {
            self.environment.mark(diagnostic)
        } else {
            diagnostic.address(context.origins.address(self.origin))
        };
        context.report.push(diagnostic);
    }

    /// A text, its expressions replaced.
    pub(super) fn text(&self, field: &str, context: &mut Context<'_>) -> Option<Arc<str>> {
        let (node, text) = self.raw_text(field, context)?;
        context.warn_yaml_1_1(node, self.environment);
        Some(context.intern(&text))
    }

    /// A text that may not be empty.
    pub(super) fn filled_text(&self, field: &str, context: &mut Context<'_>) -> Option<Arc<str>> {
        let text = self.text(field, context)?;
        if text.is_empty() {
            self.error(
                BAD_VALUE,
                format!("`{field}` is empty"),
                self.span(field),
                context,
            );
            return None;
        }
        Some(text)
    }

    /// Texts of a list, or of one text alone.
    pub(super) fn texts(&self, field: impl Name, context: &mut Context<'_>) -> Vec<(Span, Arc<str>)> {
        let Some(field) = self.field(field) else {
            return Vec::new();
        };
        let Some(node) = field.value.node() else {
            return Vec::new();
        };
        let nodes = node.as_sequence().unwrap_or(std::slice::from_ref(node));
        if !context.take_items(nodes.len(), node.span) {
            return Vec::new();
        }
        nodes
            .iter()
            .filter_map(|node| Some((node.span, self.item_text(node, context)?)))
            .collect()
    }

    /// The items of a list; nothing for anything else.
    pub(super) fn items(&self, field: impl Name, context: &mut Context<'_>) -> &'a [Node] {
        let Some(field) = self.field(field) else {
            return &[];
        };
        let items = field.value.items();
        if context.take_items(items.len(), field.key.span) {
            items
        } else {
            &[]
        }
    }

    /// The text of an item of a list.
    pub(super) fn item_text(&self, node: &'a Node, context: &mut Context<'_>) -> Option<Arc<str>> {
        if node.as_text().is_none() {
            self.expected("text", &View::of(node), node.span, context);
            return None;
        }
        let text = context.expand_node(node, self.environment)?;
        context.warn_yaml_1_1(node, self.environment);
        Some(context.intern(&text))
    }

    /// An integer within bounds.
    pub(super) fn integer(
        &self,
        field: &str,
        bounds: RangeInclusive<i64>,
        context: &mut Context<'_>,
    ) -> Option<i64> {
        let field = self.field(field)?;
        let node = field.value.node()?;
        let value = match node.as_integer() {
            Some(value) => i64::try_from(value).ok(),
            None if node.as_text().is_some_and(is_template) => {
                let text = context.expand_node(node, self.environment)?;
                crate::model::parse_integer_key(&text)
            }
            None => None,
        };
        if let Some(value) = value.filter(|value| bounds.contains(value)) {
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

    /// A whole number of 32 bits.
    pub(super) fn count(&self, field: &str, context: &mut Context<'_>) -> Option<u32> {
        let value = self.integer(field, 0..=i64::from(u32::MAX), context)?;
        u32::try_from(value).ok()
    }

    /// An id of the engine.
    pub(super) fn id(&self, field: &str, context: &mut Context<'_>) -> Option<u32> {
        let value = self.integer(field, 0..=i64::from(i32::MAX), context)?;
        u32::try_from(value).ok()
    }

    pub(super) fn boolean(&self, field: &str, context: &mut Context<'_>) -> Option<bool> {
        let field = self.field(field)?;
        let value = field.value.node().and_then(Node::as_bool);
        if value.is_none() {
            self.expected("true or false", &field.value, field.value.span(), context);
        }
        value
    }

    /// 0 or 1.
    pub(super) fn bit(&self, field: &str, context: &mut Context<'_>) -> Option<bool> {
        self.integer(field, 0..=1, context).map(|bit| bit == 1)
    }

    pub(super) fn duration_ms(&self, field: &str, context: &mut Context<'_>) -> Option<u64> {
        let (node, text) = self.raw_text(field, context)?;
        let duration = duration_ms(&text);
        if duration.is_none() {
            let message =
                format!("expected a duration with its unit, such as 500ms, 5s or 10m, found `{text}`");
            self.error(BAD_VALUE, message, node.span, context);
        }
        duration
    }

    /// One of the words of an enumeration.
    pub(super) fn word<T: Copy>(
        &self,
        field: &str,
        words: &[(&'static str, T)],
        context: &mut Context<'_>,
    ) -> Option<T> {
        let field = self.field(field)?;
        let node = field.value.node()?;
        let word = node.as_text()?;
        let value = words
            .iter()
            .find(|(known, _)| *known == word)
            .map(|(_, value)| *value);
        if value.is_none() {
            let known: Vec<String> = words.iter().map(|(known, _)| (*known).to_owned()).collect();
            let message = format!("expected {}, found {}", one_of(&known), shown(node));
            self.error(UNKNOWN_WORD, message, node.span, context);
        }
        value
    }

    /// Reports a value of the wrong type, which the structure check has done where the value stands in one file.
    pub(super) fn expected(&self, expected: &str, value: &View<'_>, span: Span, context: &mut Context<'_>) {
        let message = format!("expected {expected}, found {}", value.type_name());
        let span = if context.report.is_flagged(value.span()) {
            value.span()
        } else {
            span
        };
        self.error(WRONG_TYPE, message, span, context);
    }

    /// The node and text of a field, its expressions replaced.
    pub(super) fn raw_text(
        &self,
        field: impl Name,
        context: &mut Context<'_>,
    ) -> Option<(&'a Node, Cow<'a, str>)> {
        let field = self.field(field)?;
        let node = match field.value.node() {
            Some(node) if node.as_text().is_some() => node,
            _ => {
                self.expected("text", &field.value, field.value.span(), context);
                return None;
            }
        };
        Some((node, context.expand_node(node, self.environment)?))
    }
}
