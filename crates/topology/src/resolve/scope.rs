//! `applies_to` and `match`: which statements something is about.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use shardwright_diagnostics::Diagnostic;

use super::object::Object;
use super::{Known, names};
use crate::codes::{BAD_VALUE, MATCHES_NOTHING, UNKNOWN_WORD};
use crate::context::Context;
use crate::model::{NamePattern, Names, Scope, StatementClass};
use crate::structure::one_of;
use crate::units;

const STATEMENTS: [(&str, StatementClass); 14] = [
    ("select", StatementClass::Select),
    ("insert", StatementClass::Insert),
    ("update", StatementClass::Update),
    ("delete", StatementClass::Delete),
    ("replace", StatementClass::Replace),
    ("ddl", StatementClass::Ddl),
    ("call", StatementClass::Call),
    ("show", StatementClass::Show),
    ("set", StatementClass::Set),
    ("begin", StatementClass::Begin),
    ("commit", StatementClass::Commit),
    ("lock", StatementClass::Lock),
    ("prepare", StatementClass::Prepare),
    ("other", StatementClass::Other),
];

/// The scope of a field such as `applies_to`; everything where it is absent.
pub(super) fn scope_of(
    object: &Object<'_, '_>,
    field: &str,
    known: &Known,
    context: &mut Context<'_>,
) -> Scope {
    object
        .part(field, context)
        .map_or_else(Scope::default, |part| scope(&part, known, context))
}

/// A scope that is the object itself.
pub(super) fn scope(object: &Object<'_, '_>, known: &Known, context: &mut Context<'_>) -> Scope {
    Scope {
        users: existing(object, ["users", "except_users"], "user", &known.users, context),
        schemas: any(object, ["schemas", "except_schemas"], context),
        clusters: existing(
            object,
            ["clusters", "except_clusters"],
            "cluster",
            &known.clusters,
            context,
        ),
        listener_ports: listener_ports(object, known, context),
        client_addr: client_addresses(object, "client_addr", context),
        except_client_addr: client_addresses(object, "except_client_addr", context),
        statements: statements(object, "statements", context),
        except_statements: statements(object, "except_statements", context),
        tables: any(object, ["tables", "except_tables"], context),
        functions: any(object, ["functions", "except_functions"], context),
        match_digest: texts(object, "match_digest", context),
        except_match_digest: texts(object, "except_match_digest", context),
        match_pattern: texts(object, "match_pattern", context),
        except_match_pattern: texts(object, "except_match_pattern", context),
        digest: digests(object, "digest", context),
        except_digest: digests(object, "except_digest", context),
    }
}

fn texts(object: &Object<'_, '_>, field: &str, context: &mut Context<'_>) -> Vec<Arc<str>> {
    let texts: Vec<Arc<str>> = object
        .texts(field, context)
        .into_iter()
        .map(|(_, text)| text)
        .collect();
    never_empty(object, field, context);
    texts
}

/// An empty list of alternatives would match nothing, while a list without members reads as no condition.
fn never_empty(object: &Object<'_, '_>, field: &str, context: &mut Context<'_>) {
    let empty = object
        .view
        .get(field)
        .and_then(|field| field.value.node()?.as_sequence().map(<[_]>::is_empty))
        .unwrap_or_default();
    if empty {
        object.error(
            BAD_VALUE,
            format!("the list `{field}` is empty"),
            object.span(field),
            context,
        );
    }
}

fn any(object: &Object<'_, '_>, fields: [&str; 2], context: &mut Context<'_>) -> Names {
    let [include, except] = fields.map(|field| {
        texts(object, field, context)
            .into_iter()
            .map(NamePattern::new)
            .collect()
    });
    Names { include, except }
}

/// Names of objects: an exact name must exist, a glob should match one.
fn existing<T>(
    object: &Object<'_, '_>,
    fields: [&str; 2],
    kind: &str,
    known: &FxHashMap<Arc<str>, Option<T>>,
    context: &mut Context<'_>,
) -> Names {
    for field in fields {
        for (span, text) in object.texts(field, context) {
            let pattern = NamePattern::new(text);
            match pattern.exact() {
                Some(name) if !known.contains_key(name) => {
                    let known = known.keys().map(|name| &**name);
                    let diagnostic = names::unknown(kind, name, known, span, context);
                    object.push(diagnostic, context);
                }
                None if !context.has_lost_names()
                    && context.take_comparisons(known.len())
                    && !known.keys().any(|name| pattern.matches(name)) =>
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

/// The ports of the listeners that are meant. Exceptions alone mean all others that are listed.
fn listener_ports(object: &Object<'_, '_>, known: &Known, context: &mut Context<'_>) -> Vec<u16> {
    let fields = ["listeners", "except_listeners"];
    let names = existing(object, fields, "listener", &known.listeners, context);
    if names.is_any() {
        return Vec::new();
    }
    let meant = known.listeners.iter().filter(|(name, _)| names.matches(name));
    let mut ports: Vec<u16> = meant.filter_map(|(_, port)| *port).collect();
    ports.sort_unstable();
    // Names without a listener have been reported; what is left must not read as no condition.
    let is_missing = |pattern: &NamePattern| {
        pattern
            .exact()
            .is_some_and(|name| !known.listeners.contains_key(name))
    };
    let reported = names.include.iter().chain(&names.except).any(is_missing)
        || known.listeners.values().any(Option::is_none);
    if ports.is_empty() && !reported {
        let field = fields
            .into_iter()
            .find(|field| object.has(field))
            .unwrap_or_default();
        object.error(BAD_VALUE, "no listener is left", object.span(field), context);
    }
    ports
}

fn client_addresses(object: &Object<'_, '_>, field: &str, context: &mut Context<'_>) -> Vec<Arc<str>> {
    for (span, text) in object.texts(field, context) {
        if !is_client_address(&text) {
            let message = format!("expected an address, or a prefix that ends with `%`, found `{text}`");
            object.error(BAD_VALUE, message, span, context);
        }
    }
    texts(object, field, context)
}

/// An empty text asks for nothing; ProxySQL drops a rule with any other that is no address and no prefix.
pub(super) fn is_client_address(text: &str) -> bool {
    !text.is_empty() && shardwright_tables::is_client_addr(text)
}

pub(super) fn statements(
    object: &Object<'_, '_>,
    field: &str,
    context: &mut Context<'_>,
) -> Vec<StatementClass> {
    never_empty(object, field, context);
    let mut classes = Vec::new();
    for (span, text) in object.texts(field, context) {
        match STATEMENTS.iter().find(|(word, _)| **word == *text) {
            Some((_, class)) => classes.push(*class),
            None => {
                let words: Vec<String> = STATEMENTS.iter().map(|(word, _)| (*word).to_owned()).collect();
                let message = format!("expected {}, found `{text}`", one_of(&words));
                object.error(UNKNOWN_WORD, message, span, context);
            }
        }
    }
    classes
}

fn digests(object: &Object<'_, '_>, field: &str, context: &mut Context<'_>) -> Vec<u64> {
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
