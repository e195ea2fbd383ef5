//! Typed reading of one object's fields. A field that is wrong is reported and reads as absent.

use std::sync::Arc;

use shardwright_diagnostics::{Code, Diagnostic, Span};
use shardwright_documents::Node;

use crate::codes::{MISSING_KEY, WRONG_TYPE};
use crate::fields::{AnyField, Fields};
use crate::model::{DefinitionId, OriginId};
use crate::tree::context::Context;
use crate::tree::environment::Environment;
use crate::tree::view::{Field, View};

/// One object in one generator instance.
pub(super) struct Object<'a, 'e> {
    pub(super) view: View<'a>,
    /// Where its name stands.
    pub(super) key: Span,
    pub(super) name: Arc<str>,
    pub(super) origin: OriginId,
    pub(super) environment: &'e Environment,
}

/// Where an object is written, and what it is a part of.
#[derive(Clone, Copy)]
pub(super) struct ObjectOrigin {
    pub(super) parent: OriginId,
    pub(super) definition: DefinitionId,
}

impl<'a, 'e> Object<'a, 'e> {
    /// The object that a field of a map holds; its origin is an instance of the definition below the parent.
    pub(super) fn of_field(
        field: &Field<'a>,
        name: Arc<str>,
        written: ObjectOrigin,
        environment: &'e Environment,
        context: &mut Context<'_>,
    ) -> Self {
        let instance = environment.instance().cloned();
        let origin =
            context
                .origins
                .add_named(Some(written.parent), name.clone(), written.definition, instance);
        Object {
            view: field.value.clone(),
            key: field.key.span,
            name,
            origin,
            environment,
        }
    }

    /// An object inside this one, such as `key`; none where it is absent or no map.
    pub(super) fn part(&self, field: &dyn AnyField, context: &mut Context<'_>) -> Option<Object<'a, 'e>> {
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
    pub(super) fn field(&self, field: &dyn AnyField) -> Option<Field<'a>> {
        self.view.get(field.name())
    }

    /// The texts of a list.
    pub(super) fn list(&self, field: &dyn AnyField, context: &mut Context<'_>) -> Vec<Arc<str>> {
        let texts = self.texts(field, context);
        texts.into_iter().map(|(_, text)| text).collect()
    }

    /// The object that a field holds in place of a word.
    pub(super) fn inside(&self, field: &dyn AnyField) -> Option<Object<'a, 'e>> {
        let field = self.field(field).filter(|field| field.value.is_map())?;
        Some(self.inner(field.value, field.key.span))
    }

    /// Reports every field that must be there and is not.
    pub(super) fn require_all(&self, fields: &Fields, context: &mut Context<'_>) {
        for field in fields.fields.iter().filter(|field| field.is_needed()) {
            self.require(*field, context);
        }
    }

    pub(super) fn has(&self, field: &dyn AnyField) -> bool {
        self.field(field).is_some()
    }

    /// Where a field's name stands; the object's name where there is no such field.
    pub(super) fn key_span(&self, field: &dyn AnyField) -> Span {
        self.field(field).map_or(self.key, |field| field.key.span)
    }

    /// Where a field's value stands; the object's name where there is no such field.
    pub(super) fn span(&self, field: &dyn AnyField) -> Span {
        self.field(field).map_or(self.key, |field| field.value.span())
    }

    /// Reports a field that must be there, if it is not.
    pub(super) fn require(&self, field: &dyn AnyField, context: &mut Context<'_>) {
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

    /// Texts of a list, or of one text alone.
    pub(super) fn texts(&self, field: &dyn AnyField, context: &mut Context<'_>) -> Vec<(Span, Arc<str>)> {
        let field = self.field(field);
        field.map_or_else(Vec::new, |field| self.texts_of(&field, context))
    }

    /// As [`Self::texts`], of a field whose name is free.
    pub(super) fn texts_of(&self, field: &Field<'_>, context: &mut Context<'_>) -> Vec<(Span, Arc<str>)> {
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
    pub(super) fn items(&self, field: &dyn AnyField, context: &mut Context<'_>) -> &'a [Node] {
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
    pub(super) fn item_text(&self, node: &Node, context: &mut Context<'_>) -> Option<Arc<str>> {
        if node.as_text().is_none() {
            self.expected("text", &View::of(node), node.span, context);
            return None;
        }
        let text = context.expand_node(node, self.environment)?;
        context.warn_yaml_1_1(node, self.environment);
        Some(context.intern(&text))
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
}
