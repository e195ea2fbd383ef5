//! The commands of a script: statements as text, preparations and executions.

use std::collections::BTreeMap;
use std::sync::Arc;

use shardwright_diagnostics::Diagnostic;
use shardwright_documents::Node;

use super::super::names;
use super::super::object::Object;
use super::step::{EXECUTE, PREPARE, QUERY, VALUES};
use crate::codes::{MISSING_KEY, NOT_TOGETHER};
use crate::fields::AnyField;
use crate::model::{KeyValue, TestCommand};
use crate::tree::context::Context;

/// What the steps of a script have prepared so far: names and statements.
#[derive(Default)]
pub(super) struct Prepared {
    /// Who is logged in; another user is another login, which has prepared nothing.
    user: Option<Arc<str>>,
    statements: BTreeMap<Arc<str>, Arc<str>>,
}

impl Prepared {
    /// The command of a step, and the statement that it is about.
    pub(super) fn command(
        &mut self,
        object: &Object<'_, '_>,
        user: Option<&Arc<str>>,
        context: &mut Context<'_>,
    ) -> Option<(TestCommand, Arc<str>)> {
        if self.user.as_ref() != user {
            self.user = user.cloned();
            self.statements.clear();
        }
        if !object.has(&EXECUTE) {
            if object.has(&VALUES) {
                let diagnostic = Diagnostic::error(MISSING_KEY, "`values` without `execute`")
                    .at(object.key_span(&VALUES), "")
                    .help("PREPARE has `?` in their place");
                object.push(diagnostic, context);
            }
            object.require(&QUERY, context);
            let query = query(object, context)?;
            if !object.has(&PREPARE) {
                return Some((TestCommand::Query, query));
            }
            let name = object.get(&PREPARE, context)?;
            self.statements.insert(name.clone(), query.clone());
            return Some((TestCommand::Prepare(name), query));
        }
        let others: [&dyn AnyField; 2] = [&QUERY, &PREPARE];
        for field in others.into_iter().filter(|field| object.has(*field)) {
            let message = format!("`{}` does not go together with `execute`", field.name());
            object.error(NOT_TOGETHER, message, object.key_span(field), context);
        }
        let name = object.get(&EXECUTE, context)?;
        let values = Self::values(object, context);
        let Some(query) = self.statements.get(&name).cloned() else {
            let candidates: Vec<&str> = self.statements.keys().map(|name| &**name).collect();
            let kind = "statement that a step before prepared";
            let span = object.span(&EXECUTE);
            let diagnostic = names::unknown(kind, &name, candidates.into_iter(), span, context);
            object.push(diagnostic, context);
            return None;
        };
        Some((TestCommand::Execute { name, values }, query))
    }

    /// The values as they would be bound.
    fn values(object: &Object<'_, '_>, context: &mut Context<'_>) -> Option<Vec<Option<KeyValue>>> {
        if !object.has(&VALUES) {
            return None;
        }
        let items = object.items(&VALUES, context);
        let value = |item: &Node| match item.as_integer() {
            Some(integer) => i64::try_from(integer).ok().map(KeyValue::Integer),
            None => {
                item.as_text()?;
                let text = context.expand_node(item, object.environment)?;
                Some(KeyValue::Text(text.into()))
            }
        };
        Some(items.iter().map(value).collect())
    }
}

/// The statement of a test or a step, without blanks at its end.
pub(super) fn query(object: &Object<'_, '_>, context: &mut Context<'_>) -> Option<Arc<str>> {
    let (_, text) = object.raw_text(&object.field(&QUERY)?, context)?;
    Some(context.intern(text.trim_end()))
}
