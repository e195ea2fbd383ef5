//! Pooling exceptions, caches and mirrors.

use shardwright_diagnostics::Diagnostic;

use super::object::Object;
use super::policy::ON_UNSUPPORTED;
use super::scope::scope_of;
use super::{Known, instances, names, section_origin};
use crate::codes::{BAD_VALUE, MISSING_KEY};
use crate::context::Context;
use crate::environment::Environment;
use crate::model::{Cache, Mirror, Multiplex, OnUnsupported, PoolingException, Role, Scope};
use crate::view::Field;

const MULTIPLEX: [(&str, Multiplex); 3] = [
    ("never", Multiplex::Never),
    ("default", Multiplex::Default),
    ("ignore_sysvar_reads", Multiplex::IgnoreSysvarReads),
];

pub(super) fn pooling(
    section: Option<Field<'_>>,
    known: &Known,
    context: &mut Context<'_>,
) -> Vec<PoolingException> {
    let Some(section) = section else { return Vec::new() };
    let pooling = section_origin(&section, context);
    let Some(exceptions) = section.value.get("exceptions") else {
        return Vec::new();
    };
    let definition = context
        .origins
        .define(exceptions.key.span, exceptions.value.span(), Vec::new());
    let name = context.intern("exceptions");
    let parent = context.origins.add_named(Some(pooling), name, definition, None);
    let none = Environment::default();
    let read = instances::read_all(&exceptions.value, parent, &none, context, |object, context| {
        exception(object, known, context)
    });
    read.into_iter().filter_map(|(_, exception)| exception).collect()
}

fn exception(object: &Object<'_, '_>, known: &Known, context: &mut Context<'_>) -> Option<PoolingException> {
    for field in ["match", "multiplex", "reason"] {
        object.require(field, context);
    }
    let matches = matches(object, known, context);
    let multiplex = object.word("multiplex", &MULTIPLEX, context);
    let reason = object.filled_text("reason", context);
    Some(PoolingException {
        name: object.name.clone(),
        origin: object.origin,
        matches,
        multiplex: multiplex?,
        reason: reason?,
        on_unsupported: on_unsupported(object, context),
    })
}

pub(super) fn caches(section: Option<Field<'_>>, known: &Known, context: &mut Context<'_>) -> Vec<Cache> {
    instances::read_each(section, context, |object, context| cache(object, known, context))
}

fn cache(object: &Object<'_, '_>, known: &Known, context: &mut Context<'_>) -> Option<Cache> {
    for field in ["match", "ttl"] {
        object.require(field, context);
    }
    let matches = matches(object, known, context);
    let ttl = object.duration_ms("ttl", context);
    let ttl_ms = ttl.and_then(|ttl| u32::try_from(ttl).ok()).filter(|ttl| *ttl > 0);
    if ttl.is_some() && ttl_ms.is_none() {
        let message = "a result is kept for 1ms to 49d; leave the cache out to keep none";
        object.error(BAD_VALUE, message, object.span("ttl"), context);
    }
    let cache_empty_result = object.boolean("cache_empty_result", context).unwrap_or(true);
    let reason = object.filled_text("reason", context);
    Some(Cache {
        name: object.name.clone(),
        origin: object.origin,
        matches,
        ttl_ms: ttl_ms?,
        cache_empty_result,
        reason,
        on_unsupported: on_unsupported(object, context),
    })
}

pub(super) fn mirrors(section: Option<Field<'_>>, known: &Known, context: &mut Context<'_>) -> Vec<Mirror> {
    instances::read_each(section, context, |object, context| mirror(object, known, context))
}

fn mirror(object: &Object<'_, '_>, known: &Known, context: &mut Context<'_>) -> Option<Mirror> {
    for field in ["match", "to"] {
        object.require(field, context);
    }
    let matches = matches(object, known, context);
    let percent = object.integer("percent", 1..=100, context);
    let percent_is_wrong = object.has("percent") && percent.is_none();
    let reason = object.filled_text("reason", context);
    let to = object.part("to", context)?;
    to.require("cluster", context);
    let cluster = names::cluster(&to, "cluster", known, context);
    let roles = [("writer", Role::Writer), ("reader", Role::Reader)];
    let role = to.word("role", &roles, context).unwrap_or_default();
    if percent_is_wrong {
        return None;
    }
    Some(Mirror {
        name: object.name.clone(),
        origin: object.origin,
        matches,
        cluster: cluster?,
        role,
        percent: percent
            .and_then(|percent| u32::try_from(percent).ok())
            .unwrap_or(100),
        reason,
        on_unsupported: on_unsupported(object, context),
    })
}

/// `match`, which says something: an effect on every statement is never what is meant.
fn matches(object: &Object<'_, '_>, known: &Known, context: &mut Context<'_>) -> Scope {
    let scope = scope_of(object, "match", known, context);
    let is_empty = object
        .view
        .get("match")
        .is_some_and(|field| field.value.is_map() && field.value.fields().is_empty());
    if is_empty {
        let message = "a match without a condition matches everything";
        object.push(
            Diagnostic::error(MISSING_KEY, message)
                .at(object.key_span("match"), "")
                .help("for every statement of everyone, write `users: [\"*\"]`"),
            context,
        );
    }
    scope
}

pub(super) fn on_unsupported(object: &Object<'_, '_>, context: &mut Context<'_>) -> OnUnsupported {
    object
        .word("on_unsupported", &ON_UNSUPPORTED, context)
        .unwrap_or_default()
}
