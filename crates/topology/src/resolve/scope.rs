//! `applies_to` and `match`: which statements something is about.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use shardwright_diagnostics::Diagnostic;

use self::scope::*;
use super::listener::ListenerPlace;
use super::object::Object;
use super::{Defined, names};
use crate::codes::{BAD_VALUE, MATCHES_NOTHING};
use crate::fields::{AnyField, Declared, Texts, WordList, object};
use crate::model::{NamePattern, Names, Scope, StatementKind};
use crate::tree::context::Context;
use crate::units;

object! {
    pub(crate) mod scope = "Which statements. All keys must match. A list matches when one of its items does.";
    USERS: Texts = texts(
        "users",
        "Names of users; globs are allowed.",
        "a list of names",
    )
    .examples(r#"[["app", "batch_*"]]"#)
    .page("Who is logged in.")
    .refers(refers::USERS);
    EXCEPT_USERS: Texts = USERS.except("except_users");
    SCHEMAS: Texts = texts("schemas", "Names of session schemas; globs are allowed.", "a list of names")
        .page("Schemas in table names do not count.")
        .refers(refers::SCHEMAS);
    EXCEPT_SCHEMAS: Texts = SCHEMAS.except("except_schemas");
    CLUSTERS: Texts = texts(
        "clusters",
        "Names of clusters; globs are allowed.",
        "a list of names",
    )
    .examples(r#"[["shard-*"]]"#)
    .page("The cluster that the statement is placed on. Before it is placed, that is the user's cluster.")
    .refers(refers::CLUSTERS);
    EXCEPT_CLUSTERS: Texts = CLUSTERS.except("except_clusters");
    LISTENERS: Texts = texts("listeners", "Names of listeners; globs are allowed.", "a list of names")
        .page("The [listener](listeners.md) that the client connected to.")
        .refers(refers::LISTENERS);
    EXCEPT_LISTENERS: Texts = LISTENERS.except("except_listeners");
    CLIENT_ADDR: Texts = text_or_list(
        "client_addr",
        "Addresses of clients, or prefixes that end with `%`.",
    )
    .examples(r#"["10.0.%"]"#)
    .page("An address must be equal; with `%`, it must begin with the prefix.");
    EXCEPT_CLIENT_ADDR: Texts = CLIENT_ADDR.except("except_client_addr");
    STATEMENTS: WordList<StatementKind> = words(
        "statements",
        "Classes of statements, such as `select` or `ddl`.",
        "a list of statement classes",
    )
        .page("All are listed below.");
    EXCEPT_STATEMENTS: WordList<StatementKind> = STATEMENTS.except("except_statements");
    TABLES: Texts = texts("tables", "Names of tables in the statement; globs are allowed.", "a list of names")
        .page("`table` or `schema.table`; one is enough.");
    EXCEPT_TABLES: Texts = TABLES.except("except_tables");
    FUNCTIONS: Texts = texts(
        "functions",
        "Names of SQL functions that the statement calls; case-insensitive.",
        "a list of names",
    )
    .examples(r#"[["GET_LOCK", "RELEASE_LOCK"]]"#)
    .page("One is enough.");
    EXCEPT_FUNCTIONS: Texts = FUNCTIONS.except("except_functions");
    MATCH_DIGEST: Texts = text_or_list(
        "match_digest",
        "Regular expressions over the digest text.",
    )
    .examples(r#"["^SELECT .* FROM (products|reviews)"]"#)
    .page("Case-insensitive. A match anywhere counts; anchor the expression if you need to.");
    EXCEPT_MATCH_DIGEST: Texts = MATCH_DIGEST.except("except_match_digest");
    MATCH_PATTERN: Texts = text_or_list("match_pattern", "Regular expressions over the statement.")
        .page("Case-insensitive. A match anywhere counts. A rewritten statement is searched as it is sent.");
    EXCEPT_MATCH_PATTERN: Texts = MATCH_PATTERN.except("except_match_pattern");
    DIGEST: Texts = texts(
        "digest",
        "Digests of statements, such as `0x4D7DCFF87DD1A927`.",
        "a list of digests",
    )
    .of(A_DIGEST)
    .examples(r#"[["0x4D7DCFF87DD1A927"]]"#);
    EXCEPT_DIGEST: Texts = DIGEST.except("except_digest");
}

const A_DIGEST: &str = "a digest such as \"0x4D7DCFF87DD1A927\"";

/// The scope of a field such as `applies_to`; everything where it is absent.
pub(super) fn scope_of(
    object: &Object<'_, '_>,
    field: &dyn AnyField,
    defined: &Defined,
    context: &mut Context<'_>,
) -> Scope {
    object
        .part(field, context)
        .map_or_else(Scope::default, |part| scope(&part, defined, context))
}

/// A scope that is the object itself.
pub(super) fn scope(object: &Object<'_, '_>, defined: &Defined, context: &mut Context<'_>) -> Scope {
    let (listener_ports, listener_sockets) = listeners(object, defined, context);
    Scope {
        users: existing(object, [&USERS, &EXCEPT_USERS], "user", &defined.users, context),
        schemas: any(object, [&SCHEMAS, &EXCEPT_SCHEMAS], context),
        clusters: existing(
            object,
            [&CLUSTERS, &EXCEPT_CLUSTERS],
            "cluster",
            &defined.clusters,
            context,
        ),
        listener_ports,
        listener_sockets,
        client_addr: client_addresses(object, &CLIENT_ADDR, context),
        except_client_addr: client_addresses(object, &EXCEPT_CLIENT_ADDR, context),
        statements: statements(object, &STATEMENTS, context),
        except_statements: statements(object, &EXCEPT_STATEMENTS, context),
        tables: any(object, [&TABLES, &EXCEPT_TABLES], context),
        functions: any(object, [&FUNCTIONS, &EXCEPT_FUNCTIONS], context),
        match_digest: texts(object, &MATCH_DIGEST, context),
        except_match_digest: texts(object, &EXCEPT_MATCH_DIGEST, context),
        match_pattern: texts(object, &MATCH_PATTERN, context),
        except_match_pattern: texts(object, &EXCEPT_MATCH_PATTERN, context),
        digest: digests(object, &DIGEST, context),
        except_digest: digests(object, &EXCEPT_DIGEST, context),
    }
}

fn texts(object: &Object<'_, '_>, field: &Declared<Texts>, context: &mut Context<'_>) -> Vec<Arc<str>> {
    let texts = object.list(field, context);
    never_empty(object, field, context);
    texts
}

/// An empty list of alternatives would match nothing, while a list without members reads as no condition.
fn never_empty(object: &Object<'_, '_>, field: &dyn AnyField, context: &mut Context<'_>) {
    let empty = object
        .field(field)
        .and_then(|field| field.value.node()?.as_sequence().map(<[_]>::is_empty))
        .unwrap_or_default();
    if empty {
        object.error(
            BAD_VALUE,
            format!("the list `{}` is empty", field.name()),
            object.span(field),
            context,
        );
    }
}

fn any(object: &Object<'_, '_>, fields: [&Declared<Texts>; 2], context: &mut Context<'_>) -> Names {
    let [any_of, except] = fields.map(|field| {
        texts(object, field, context)
            .into_iter()
            .map(NamePattern::new)
            .collect()
    });
    Names { any_of, except }
}

/// Names of objects: an exact name must exist, a glob should match one.
fn existing<T>(
    object: &Object<'_, '_>,
    fields: [&Declared<Texts>; 2],
    kind: &str,
    candidates: &FxHashMap<Arc<str>, Option<T>>,
    context: &mut Context<'_>,
) -> Names {
    for field in fields {
        for (span, text) in object.texts(field, context) {
            let pattern = NamePattern::new(text);
            match pattern.exact() {
                Some(name) if !candidates.contains_key(name) => {
                    let candidates = candidates.keys().map(|name| &**name);
                    let diagnostic = names::unknown(kind, name, candidates, span, context);
                    object.push(diagnostic, context);
                }
                None if !context.has_lost_names()
                    && context.take_comparisons(candidates.len())
                    && !candidates.keys().any(|name| pattern.matches(name)) =>
                {
                    let message = format!("no {kind} matches `{}`", pattern.as_str());
                    object.push(
                        Diagnostic::warning(MATCHES_NOTHING, message).at(span, ""),
                        context,
                    );
                }
                _ => {}
            }
        }
    }
    any(object, fields, context)
}

/// The ports and the paths of the listeners that are meant. Exceptions alone mean all others that are listed.
fn listeners(
    object: &Object<'_, '_>,
    defined: &Defined,
    context: &mut Context<'_>,
) -> (Vec<u16>, Vec<Arc<str>>) {
    let fields: [&Declared<Texts>; 2] = [&LISTENERS, &EXCEPT_LISTENERS];
    let names = existing(object, fields, "listener", &defined.listeners, context);
    if names.is_any() {
        return (Vec::new(), Vec::new());
    }
    let meant = defined.listeners.iter().filter(|(name, _)| names.contains(name));
    let (mut ports, mut sockets) = (Vec::new(), Vec::new());
    for (_, place) in meant {
        match place {
            Some(ListenerPlace::Port(port)) => ports.push(*port),
            Some(ListenerPlace::Socket(path)) => sockets.push(path.clone()),
            None => {}
        }
    }
    ports.sort_unstable();
    sockets.sort_unstable();
    // Names without a listener have been reported; what is left must not read as no condition.
    let is_missing = |pattern: &NamePattern| {
        pattern
            .exact()
            .is_some_and(|name| !defined.listeners.contains_key(name))
    };
    let reported = names.any_of.iter().chain(&names.except).any(is_missing)
        || defined.listeners.values().any(Option::is_none);
    if ports.is_empty() && sockets.is_empty() && !reported {
        let field = fields
            .into_iter()
            .find(|field| object.has(*field))
            .unwrap_or(&LISTENERS);
        object.error(
            BAD_VALUE,
            "`except_listeners` leaves no listener",
            object.span(field),
            context,
        );
    }
    (ports, sockets)
}

fn client_addresses(
    object: &Object<'_, '_>,
    field: &Declared<Texts>,
    context: &mut Context<'_>,
) -> Vec<Arc<str>> {
    for (span, text) in object.texts(field, context) {
        if !is_client_address(&text) {
            let message = format!("expected an address, or a prefix that ends with `%`, found `{text}`");
            object.error(BAD_VALUE, message, span, context);
        } else if shardwright_tables::is_no_address(&text) {
            let message = format!(
                "`{text}` matches no client: addresses are compared as text, so that networks and host names do not work; write an address, or a prefix that ends with `%`, such as 10.0.12.%"
            );
            object.error(BAD_VALUE, message, span, context);
        }
    }
    texts(object, field, context)
}

/// An empty text asks for nothing; ProxySQL drops a rule with any other that is no address and no prefix.
pub(super) fn is_client_address(text: &str) -> bool {
    !text.is_empty() && shardwright_tables::is_client_addr(text)
}

fn statements(
    object: &Object<'_, '_>,
    field: &Declared<WordList<StatementKind>>,
    context: &mut Context<'_>,
) -> Vec<StatementKind> {
    never_empty(object, field, context);
    object.get(field, context).unwrap_or_default()
}

fn digests(object: &Object<'_, '_>, field: &Declared<Texts>, context: &mut Context<'_>) -> Vec<u64> {
    never_empty(object, field, context);
    let mut digests = Vec::new();
    for (span, text) in object.texts(field, context) {
        match units::digest(&text) {
            Some(digest) => digests.push(digest),
            None => {
                let message = format!("expected a digest such as 0x4D7DCFF87DD1A927, found `{text}`");
                object.error(BAD_VALUE, message, span, context);
            }
        }
    }
    digests
}
