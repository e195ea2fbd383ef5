//! Read/write policies.

use shardwright_diagnostics::Diagnostic;

use super::object::Object;
use super::scope::{scope, scope_of};
use super::{Known, finder, instances};
use crate::codes::{MISSING_KEY, NOT_TOGETHER};
use crate::context::Context;
use crate::model::{
    CommentHint, Consistency, OnUnsupported, ReadClass, ReadSelection, ReadWritePolicy, Scope,
};
use crate::view::{Field, View};

pub(super) const ON_UNSUPPORTED: [(&str, OnUnsupported); 3] = [
    ("error", OnUnsupported::Error),
    ("approximate", OnUnsupported::Approximate),
    ("skip", OnUnsupported::Skip),
];

pub(super) fn policies(
    section: Option<Field<'_>>,
    known: &Known,
    context: &mut Context<'_>,
) -> Vec<ReadWritePolicy> {
    instances::read_each(section, context, |object, context| policy(object, known, context))
}

fn policy(object: &Object<'_, '_>, known: &Known, context: &mut Context<'_>) -> Option<ReadWritePolicy> {
    object.require("reads", context);
    let applies_to = scope_of(object, "applies_to", known, context);
    let reads = reads(object, known, context);
    let consistency = [
        ("eventual", Consistency::Eventual),
        ("causal", Consistency::Causal),
    ];
    let allow_on_readers: Vec<ReadClass> = object
        .texts("allow_on_readers", context)
        .iter()
        .filter_map(|(_, class)| (**class == *"session_functions").then_some(ReadClass::SessionFunctions))
        .collect();
    let reason = object.filled_text("reason", context);
    if !allow_on_readers.is_empty() && !object.has("reason") {
        let diagnostic = Diagnostic::error(MISSING_KEY, "missing key `reason`")
            .at(object.key_span("allow_on_readers"), "this needs a reason");
        object.push(diagnostic, context);
    }
    let policy = ReadWritePolicy {
        name: object.name.clone(),
        origin: object.origin,
        applies_to,
        reads: ReadSelection::All,
        writer_hint: writer_hint(object, context),
        after_write_ms: object.duration_ms("after_write", context).unwrap_or(0),
        consistency: object
            .word("consistency", &consistency, context)
            .unwrap_or_default(),
        allow_on_readers,
        reason,
        on_unsupported: object
            .word("on_unsupported", &ON_UNSUPPORTED, context)
            .unwrap_or_default(),
    };
    Some(ReadWritePolicy {
        reads: reads?,
        ..policy
    })
}

fn reads(object: &Object<'_, '_>, known: &Known, context: &mut Context<'_>) -> Option<ReadSelection> {
    let part = object.part("reads", context)?;
    let given: Vec<&str> = ["all", "only", "except"]
        .into_iter()
        .filter(|kind| part.has(kind))
        .collect();
    match given.as_slice() {
        ["all"] => part.boolean("all", context).map(|_| ReadSelection::All),
        ["only"] => Some(ReadSelection::Only(scopes(&part, "only", known, context))),
        [_] => Some(ReadSelection::Except(scopes(&part, "except", known, context))),
        [] => {
            if part.view.fields().is_empty() {
                part.error(
                    MISSING_KEY,
                    "`reads` needs `all`, `only` or `except`",
                    part.key,
                    context,
                );
            }
            None
        }
        [_, second, ..] => {
            let message = "`reads` has one of `all`, `only` and `except`";
            part.error(NOT_TOGETHER, message, part.key_span(second), context);
            None
        }
    }
}

fn scopes(part: &Object<'_, '_>, field: &str, known: &Known, context: &mut Context<'_>) -> Vec<Scope> {
    let Some(list) = part.view.get(field) else {
        return Vec::new();
    };
    let items = part.items(field, context);
    if list.value.items().is_empty() {
        part.error(
            MISSING_KEY,
            format!("the list `{field}` is empty"),
            list.key.span,
            context,
        );
    }
    let mut scopes = Vec::with_capacity(items.len());
    for item in items.iter().filter(|item| item.as_mapping().is_some()) {
        let one = part.inner(View::of(item), item.span);
        let scope = scope(&one, known, context);
        if scope.is_everything() && one.view.fields().is_empty() {
            one.error(
                MISSING_KEY,
                "a match without a condition matches everything",
                item.span,
                context,
            );
        }
        scopes.push(scope);
    }
    scopes
}

fn writer_hint(object: &Object<'_, '_>, context: &mut Context<'_>) -> Option<CommentHint> {
    let hint = object.part("writer_hint", context)?;
    hint.require("comment", context);
    let comment = hint.part("comment", context)?;
    comment.require("name", context);
    let word = comment.filled_text("name", context)?;
    finder::check_word(&comment, &word, comment.span("name"), context)?;
    Some(CommentHint { word })
}
