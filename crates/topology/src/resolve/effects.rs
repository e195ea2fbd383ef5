//! Pooling exceptions, caches and mirrors.

use shardwright_diagnostics::Diagnostic;

use super::object::Object;
use super::policy::{on_unsupported, reason};
use super::scope::scope_of;
use super::{Defined, instances, names};
use crate::codes::{BAD_VALUE, MISSING_KEY};
use crate::fields::{AnyField, Declared, Definition, defined, object};
use crate::model::{
    Cache, Mirror, Multiplex, OnClientGone, OnUnsupported, OriginId, Pooling, PoolingException, Role, Scope,
};
use crate::tree::context::Context;
use crate::tree::environment::Environment;
use crate::tree::view::Field;

object! {
    pub(crate) mod pooling = "How sessions share server connections.";
    ON_CLIENT_GONE: Word<OnClientGone> = word(
        "on_client_gone",
        "What becomes of a statement that a server works at when its client has gone: the server finishes it (`finish`), it is killed (`kill`), or reads are killed and everything else finishes (`kill_reads`). Without it, the engine decides.",
    );
    EXCEPTIONS: Map = map(
        "exceptions",
        "Exceptions by name: statements after which connections are shared differently.",
        Shaped::Generated(&exception::FIELDS),
    )
        .defines("pooling.exceptions");
}

object! {
    mod exception = "Statements after which connections are shared differently.";
    MATCH: Definition = MATCHED;
    MULTIPLEX: Word<Multiplex> = word(
        "multiplex",
        "`never`: the connection stays with the session. `ignore_sysvar_reads`: a read of `@@name` does not keep it. `default`: the engine decides.",
    )
    .needed();
    REASON: Text = filled("reason", "Why the engine's default is wrong here; required.").needed();
    ON_UNSUPPORTED: Or<Word<OnUnsupported>> = on_unsupported();
}

object! {
    pub(crate) mod cache = "Reads whose results are cached. Only time removes a result from the cache.";
    MATCH: Definition = MATCHED;
    TTL: Duration = duration("ttl", "How long a result is cached, such as 2s; at least 1ms.").needed()
        .page("At most 49d.");
    CACHE_EMPTY_RESULT: Or<Bool> = boolean(
        "cache_empty_result",
        "Whether an empty result is cached; true by default.",
    )
    .or(true);
    REASON: Text = reason();
    ON_UNSUPPORTED: Or<Word<OnUnsupported>> = on_unsupported();
}

object! {
    pub(crate) mod mirror = "A mirror. The results of the copy are discarded.";
    MATCH: Definition = MATCHED;
    TO: Part = part("to", &to::FIELDS).needed();
    PERCENT: Or<Count> = int(
        "percent",
        "The share of statements that are copied, in percent; 100 by default.",
        1,
        100,
    )
    .or(100)
    .examples("[5]");
    REASON: Text = reason();
    ON_UNSUPPORTED: Or<Word<OnUnsupported>> = on_unsupported();
}

object! {
    mod to = "Where the copy of each statement goes.";
    CLUSTER: Text = text("cluster", "The name of the cluster that the copy goes to.").needed()
        .refers(refers::CLUSTERS);
    ROLE: Or<Word<Role>> = word("role", "Which of its hostgroups; writer by default.").or(Role::Writer);
}

pub(super) const MATCHED: Declared<Definition> =
    defined("match", "Which statements; at least one condition.", "scope")
        .needed()
        .page("See [match](match.md).");

pub(super) fn pooling(
    section: Option<Field<'_>>,
    defined: &Defined,
    context: &mut Context<'_>,
) -> (Option<Pooling>, Vec<PoolingException>) {
    let Some(section) = section.filter(|section| section.value.is_map()) else {
        return (None, Vec::new());
    };
    let definition = instances::define(&section, context);
    let name = context.intern(&section.key.text);
    let origin = context.origins.add_named(None, name.clone(), definition, None);
    let none = Environment::default();
    let object = Object {
        view: section.value.clone(),
        key: section.key.span,
        name,
        origin,
        environment: &none,
    };
    let pooling = Pooling {
        origin,
        on_client_gone: object.get(&pooling::ON_CLIENT_GONE, context),
    };
    (Some(pooling), exceptions(&section, origin, defined, context))
}

fn exceptions(
    section: &Field<'_>,
    pooling: OriginId,
    defined: &Defined,
    context: &mut Context<'_>,
) -> Vec<PoolingException> {
    let Some(exceptions) = section.value.get(pooling::EXCEPTIONS.name()) else {
        return Vec::new();
    };
    let definition = context
        .origins
        .define(exceptions.key.span, exceptions.value.span(), Vec::new());
    let name = context.intern(pooling::EXCEPTIONS.name());
    let parent = context.origins.add_named(Some(pooling), name, definition, None);
    let none = Environment::default();
    let read = instances::read_all(&exceptions.value, parent, &none, context, |object, context| {
        exception(object, defined, context)
    });
    read.into_iter().filter_map(|(_, exception)| exception).collect()
}

fn exception(
    object: &Object<'_, '_>,
    defined: &Defined,
    context: &mut Context<'_>,
) -> Option<PoolingException> {
    object.require_all(&exception::FIELDS, context);
    let matches = matches(object, defined, context);
    let multiplex = object.get(&exception::MULTIPLEX, context);
    let reason = object.get(&exception::REASON, context);
    Some(PoolingException {
        name: object.name.clone(),
        origin: object.origin,
        matches,
        multiplex: multiplex?,
        reason: reason?,
        on_unsupported: object.get(&exception::ON_UNSUPPORTED, context),
    })
}

pub(super) fn caches(section: Option<Field<'_>>, defined: &Defined, context: &mut Context<'_>) -> Vec<Cache> {
    instances::read_each(section, context, |object, context| {
        cache(object, defined, context)
    })
}

fn cache(object: &Object<'_, '_>, defined: &Defined, context: &mut Context<'_>) -> Option<Cache> {
    object.require_all(&cache::FIELDS, context);
    let matches = matches(object, defined, context);
    let ttl = object.get(&cache::TTL, context);
    let ttl_ms = ttl.and_then(|ttl| u32::try_from(ttl).ok()).filter(|ttl| *ttl > 0);
    if ttl.is_some() && ttl_ms.is_none() {
        let message = "a result is cached for 1ms to 49d; to cache nothing, remove the cache";
        object.error(BAD_VALUE, message, object.span(&cache::TTL), context);
    }
    let cache_empty_result = object.get(&cache::CACHE_EMPTY_RESULT, context);
    let reason = object.get(&cache::REASON, context);
    Some(Cache {
        name: object.name.clone(),
        origin: object.origin,
        matches,
        ttl_ms: ttl_ms?,
        cache_empty_result,
        reason,
        on_unsupported: object.get(&cache::ON_UNSUPPORTED, context),
    })
}

pub(super) fn mirrors(
    section: Option<Field<'_>>,
    defined: &Defined,
    context: &mut Context<'_>,
) -> Vec<Mirror> {
    instances::read_each(section, context, |object, context| {
        mirror(object, defined, context)
    })
}

fn mirror(object: &Object<'_, '_>, defined: &Defined, context: &mut Context<'_>) -> Option<Mirror> {
    object.require_all(&mirror::FIELDS, context);
    let matches = matches(object, defined, context);
    let percent = object.given(&mirror::PERCENT, context);
    let percent_is_wrong = object.has(&mirror::PERCENT) && percent.is_none();
    let reason = object.get(&mirror::REASON, context);
    let to = object.part(&mirror::TO, context)?;
    to.require_all(&to::FIELDS, context);
    let cluster = names::cluster(&to, &to::CLUSTER, defined, context);
    let role = to.get(&to::ROLE, context);
    if percent_is_wrong {
        return None;
    }
    Some(Mirror {
        name: object.name.clone(),
        origin: object.origin,
        matches,
        cluster: cluster?,
        role,
        percent: percent.unwrap_or_else(|| mirror::PERCENT.standing()),
        reason,
        on_unsupported: object.get(&mirror::ON_UNSUPPORTED, context),
    })
}

/// `match`, which says something: an object about every statement is never what is meant.
pub(super) fn matches(object: &Object<'_, '_>, defined: &Defined, context: &mut Context<'_>) -> Scope {
    let scope = scope_of(object, &MATCHED, defined, context);
    let given = object.inside(&MATCHED);
    if given.is_some_and(|given| given.view.fields().is_empty()) {
        let message = "a match without a condition matches everything";
        object.push(
            Diagnostic::error(MISSING_KEY, message)
                .at(object.key_span(&MATCHED), "")
                .help("to match every statement of every user, write `users: [\"*\"]`"),
            context,
        );
    }
    scope
}
