//! Shards: their keys, and where they are.

use std::sync::Arc;

use shardwright_documents::Node;

use super::object::Object;
use super::{Known, names};
use crate::codes::{BAD_VALUE, NO_KEYS, NOT_PLACED, NOT_TOGETHER};
use crate::context::Context;
use crate::model::{Key, KeyKind, KeyRange, KeyValue, Placement, Shard, parse_integer_key};
use crate::structure::shown;
use crate::units::{key_range, looks_like_range};

pub(super) fn shard(
    object: &Object<'_, '_>,
    key: &Key,
    known: &Known,
    context: &mut Context<'_>,
) -> Option<Shard> {
    let cluster = names::cluster(object, "cluster", known, context);
    let schema = object.filled_text("schema", context);
    if !object.has("cluster") && !object.has("schema") {
        object.error(
            NOT_PLACED,
            "a shard needs a `cluster`, a `schema`, or both",
            object.key,
            context,
        );
    }
    let (keys, ranges, remainders) = (
        keys(object, key, context),
        ranges(object, key, context),
        remainders(object, key, context),
    );
    check_kinds(object, key, context);
    if (object.has("cluster") && cluster.is_none()) || (object.has("schema") && schema.is_none()) {
        return None;
    }
    Some(Shard {
        name: object.name.clone(),
        origin: object.origin,
        overridden: None,
        keys,
        ranges,
        remainders,
        cluster,
        schema,
    })
}

/// Which of `keys`, `ranges` and `remainders` go with the map's key.
fn check_kinds(object: &Object<'_, '_>, key: &Key, context: &mut Context<'_>) {
    let by_value = key.placement == Placement::Value;
    let (meant, wrong): (&[&str], &[&str]) = if by_value {
        (&["keys", "ranges"], &["remainders"])
    } else {
        (&["remainders"], &["keys", "ranges"])
    };
    let mut said = false;
    for field in wrong.iter().filter(|field| object.has(field)) {
        let message = if by_value {
            "remainders need a key with `modulo`".to_owned()
        } else {
            format!("the key has `modulo`, so shards have `remainders` instead of `{field}`")
        };
        object.error(NOT_TOGETHER, message, object.key_span(field), context);
        said = true;
    }
    let is_filled = |field: &&str| {
        object
            .view
            .get(field)
            .is_some_and(|field| field.value.node().is_none_or(|node| !is_empty_list(node)))
    };
    if !said && !meant.iter().any(is_filled) {
        let span = meant
            .iter()
            .find(|field| object.has(field))
            .map_or(object.key, |field| object.key_span(field));
        object.error(NO_KEYS, format!("the shard has no `{}`", meant[0]), span, context);
    }
}

fn is_empty_list(node: &Node) -> bool {
    node.as_sequence().is_some_and(<[_]>::is_empty)
}

fn keys(object: &Object<'_, '_>, key: &Key, context: &mut Context<'_>) -> Box<[KeyValue]> {
    let items = object.items("keys", context);
    items
        .iter()
        .filter_map(|item| key_value(object, key.kind, item, context))
        .collect()
}

fn key_value(
    object: &Object<'_, '_>,
    kind: KeyKind,
    node: &Node,
    context: &mut Context<'_>,
) -> Option<KeyValue> {
    match kind {
        KeyKind::Integer => {
            let value = match node.as_integer() {
                Some(value) => i64::try_from(value).ok(),
                None => {
                    let text = context.expand_node(node, object.environment)?;
                    if looks_like_range(&text) {
                        let message = format!("`{text}` is a range, not a key");
                        object.push(
                            shardwright_diagnostics::Diagnostic::error(BAD_VALUE, message)
                                .at(node.span, "")
                                .help(format!("write it as ranges: [{text}]")),
                            context,
                        );
                        return None;
                    }
                    parse_integer_key(&text)
                }
            };
            if value.is_none() {
                let message = format!("expected a key of type integer, found {}", shown(node));
                object.error(BAD_VALUE, message, node.span, context);
            }
            value.map(KeyValue::Integer)
        }
        KeyKind::Text => {
            let is_scalar = node.as_text().is_some() || node.as_integer().is_some();
            if !is_scalar {
                let message = format!("expected a key of type text, found {}", shown(node));
                object.error(BAD_VALUE, message, node.span, context);
                return None;
            }
            context.warn_yaml_1_1(node, object.environment);
            let text = context.expand_node(node, object.environment)?;
            if text.is_empty() {
                object.error(BAD_VALUE, "a key is empty", node.span, context);
                return None;
            }
            Some(KeyValue::Text(Arc::from(&*text)))
        }
    }
}

fn ranges(object: &Object<'_, '_>, key: &Key, context: &mut Context<'_>) -> Box<[KeyRange]> {
    let Some(field) = object.view.get("ranges") else {
        return Box::default();
    };
    if key.kind == KeyKind::Text && key.placement == Placement::Value {
        object.error(
            NOT_TOGETHER,
            "ranges need a key of type integer",
            field.key.span,
            context,
        );
        return Box::default();
    }
    let items = object.items("ranges", context);
    items
        .iter()
        .filter_map(|item| range(object, item, false, context))
        .collect()
}

fn remainders(object: &Object<'_, '_>, key: &Key, context: &mut Context<'_>) -> Box<[KeyRange]> {
    let modulo = match key.placement {
        Placement::Value => return Box::default(),
        Placement::Modulo(modulo) | Placement::Hash { modulo, .. } => modulo,
    };
    let mut remainders = Vec::new();
    for item in object.items("remainders", context) {
        let Some(range) = range(object, item, true, context) else {
            continue;
        };
        let last = i64::try_from(modulo).map_or(i64::MAX, |modulo| modulo - 1);
        if range.first < 0 || range.last > last {
            let message = format!("remainders of {modulo} are from 0 to {last}, found `{range}`");
            object.error(BAD_VALUE, message, item.span, context);
        } else {
            remainders.push(range);
        }
    }
    remainders.into()
}

/// A range; with `or_single`, also one number.
pub(super) fn range(
    object: &Object<'_, '_>,
    node: &Node,
    or_single: bool,
    context: &mut Context<'_>,
) -> Option<KeyRange> {
    let text = context.expand_node(node, object.environment)?;
    let range = key_range(&text).or_else(|| {
        let value = parse_integer_key(&text).filter(|_| or_single)?;
        Some(KeyRange {
            first: value,
            last: value,
        })
    });
    if range.is_none() {
        let message = if looks_like_range(&text) {
            format!("the range `{text}` is empty: it ends before it starts")
        } else {
            format!("expected a range such as 1..200, found `{text}`")
        };
        object.error(BAD_VALUE, message, node.span, context);
    }
    range
}
