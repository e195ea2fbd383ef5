//! Shards: their keys, and where they are.

use shardwright_vocabulary::parse_integer;
use std::sync::Arc;

use serde_json::{Value, json};
use shardwright_diagnostics::Diagnostic;
use shardwright_documents::Node;

use self::shard::{CLUSTER, KEYS, REFUSE, REMAINDERS, SCHEMA};
use super::object::Object;
use super::{Defined, names};
use crate::codes::{BAD_VALUE, NO_KEYS, NOT_PLACED, NOT_TOGETHER};
use crate::fields::{AnyField, Declared, EXPECTS, Text, object};
use crate::model::{Key, KeyKind, KeyRange, KeyValue, Placement, Shard};
use crate::tree::context::Context;
use crate::tree::structure::shown;
use crate::units::{is_beyond_keys, key_range, looks_like_range};

object! {
    pub(crate) mod shard = "One shard: its keys and where it is.";
    KEYS: List = list(
        "keys",
        "Its keys: values, or ranges of integers such as `1..200` (both ends included).",
        "a list of keys",
        Shaped::Custom(key_schema),
    )
    .strict(r#"{"minItems": 1}"#)
    .not_with("remainders")
    .examples(r#"[[17], ["1..200"], ["North America"]]"#);
    REMAINDERS: List = list(
        "remainders",
        "Remainders, or ranges of them, for a key with `modulo`.",
        "a list of remainders",
        Shaped::Custom(remainder_schema),
    )
    .strict(r#"{"minItems": 1}"#)
    .examples(r#"[["0..49"]]"#);
    CLUSTER: Text = text("cluster", "The name of the cluster that it is on.")
        .refers(refers::CLUSTERS);
    SCHEMA: Text = filled("schema", "The schema that it is in, on its cluster.").examples(r#"["tenant_017"]"#)
        .page("It replaces `logical_schema` in statements.")
        .refers(refers::SCHEMAS);
    REFUSE: Text = filled("refuse", "Why statements with its keys are refused. The client gets this text.")
        .examples(r#"["tenant 42 has moved: connect to tenants.example.com"]"#)
        .page("One line of at most 300 characters. See [Refused shards](#refused-shards).");
}

/// Longest text of `refuse`, in characters: errors of MySQL have 512 bytes.
const MOST_REFUSAL: usize = 300;

fn key_schema() -> Value {
    json!({ "type": ["string", "integer"], EXPECTS: "text or an integer" })
}

fn remainder_schema() -> Value {
    json!({ "type": ["string", "integer"], EXPECTS: "an integer or a range such as 0..49" })
}

pub(super) fn shard(
    object: &Object<'_, '_>,
    key: &Key,
    defined: &Defined,
    context: &mut Context<'_>,
) -> Option<Shard> {
    let cluster = names::cluster(object, &CLUSTER, defined, context);
    let schema = object.get(&SCHEMA, context);
    let refuse = refusal(object, &REFUSE, context);
    if !object.has(&CLUSTER) && !object.has(&SCHEMA) && !object.has(&REFUSE) {
        object.error(
            NOT_PLACED,
            "a shard needs a `cluster`, a `schema`, or both; or `refuse`",
            object.key,
            context,
        );
    }
    let (keys, ranges) = keys(object, key, context);
    let remainders = remainders(object, key, context);
    check_kinds(object, key, context);
    if (object.has(&CLUSTER) && cluster.is_none()) || (object.has(&SCHEMA) && schema.is_none()) {
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
        refuse,
    })
}

/// The text with which a shard is refused. It is sent to clients as it stands.
pub(super) fn refusal(
    object: &Object<'_, '_>,
    field: &Declared<Text>,
    context: &mut Context<'_>,
) -> Option<Arc<str>> {
    let text = object.get(field, context)?;
    let fault = if text.chars().any(char::is_control) {
        "the text has a line break or another control character"
    } else if text.chars().count() > MOST_REFUSAL {
        "the text is longer than 300 characters"
    } else {
        return Some(text);
    };
    object.error(BAD_VALUE, fault, object.span(field), context);
    None
}

/// Whether `keys` or `remainders` go with the map's key.
fn check_kinds(object: &Object<'_, '_>, key: &Key, context: &mut Context<'_>) {
    let by_value = key.placement == Placement::Value;
    let (meant, wrong) = match by_value {
        true => (&KEYS, &REMAINDERS),
        false => (&REMAINDERS, &KEYS),
    };
    if object.has(wrong) {
        let message = if by_value {
            "remainders need a key with `modulo`"
        } else {
            "the key has `modulo`, so shards have `remainders` instead of `keys`"
        };
        return object.error(NOT_TOGETHER, message, object.key_span(wrong), context);
    }
    let field = object.field(meant);
    let filled = field
        .as_ref()
        .is_some_and(|field| field.value.node().is_none_or(|node| !is_empty_list(node)));
    if !filled {
        let span = field.map_or(object.key, |field| field.key.span);
        object.error(
            NO_KEYS,
            format!("the shard has no `{}`", meant.name()),
            span,
            context,
        );
    }
}

fn is_empty_list(node: &Node) -> bool {
    node.as_sequence().is_some_and(<[_]>::is_empty)
}

/// Single keys, and ranges of them.
fn keys(object: &Object<'_, '_>, key: &Key, context: &mut Context<'_>) -> (Box<[KeyValue]>, Box<[KeyRange]>) {
    let items = object.items(&KEYS, context);
    if key.kind == KeyKind::Text {
        let texts = items.iter().filter_map(|item| text_key(object, item, context));
        return (texts.collect(), Box::default());
    }
    let (mut keys, mut ranges) = (Vec::with_capacity(items.len()), Vec::new());
    for item in items {
        match integer_keys(object, item, context) {
            Some(range) if range.first == range.last => keys.push(KeyValue::Integer(range.first)),
            Some(range) => ranges.push(range),
            None => {}
        }
    }
    (keys.into(), ranges.into())
}

fn integer_keys(object: &Object<'_, '_>, node: &Node, context: &mut Context<'_>) -> Option<KeyRange> {
    if let Some(value) = node.as_integer() {
        let value = i64::try_from(value).ok();
        if value.is_none() {
            object.error(BAD_VALUE, beyond_keys(&shown(node)), node.span, context);
        }
        return value.map(|value| KeyRange {
            first: value,
            last: value,
        });
    }
    if node.raw().is_none() {
        let message = format!("expected a key of type integer, found {}", shown(node));
        object.error(BAD_VALUE, message, node.span, context);
        return None;
    }
    range(object, node, true, context)
}

fn beyond_keys(found: &str) -> String {
    format!(
        "keys are integers from {} to {}, found {found}",
        i64::MIN,
        i64::MAX
    )
}

fn text_key(object: &Object<'_, '_>, node: &Node, context: &mut Context<'_>) -> Option<KeyValue> {
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
    let is_range = node.as_text().is_some() && !node.is_quoted() && key_range(&text).is_some();
    if is_range {
        let message = format!("`{text}` is a range, which needs a key of type integer");
        let help = format!("if you mean this text, put it in quotes: \"{text}\"");
        let diagnostic = Diagnostic::error(BAD_VALUE, message).at(node.span, "");
        object.push(diagnostic.help(help), context);
        return None;
    }
    Some(KeyValue::Text(Arc::from(&*text)))
}

fn remainders(object: &Object<'_, '_>, key: &Key, context: &mut Context<'_>) -> Box<[KeyRange]> {
    let modulo = match key.placement {
        Placement::Value => return Box::default(),
        Placement::Modulo(modulo) | Placement::Hash { modulo, .. } => modulo,
    };
    let mut remainders = Vec::new();
    for item in object.items(&REMAINDERS, context) {
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
        let value = parse_integer(&text).filter(|_| or_single)?;
        Some(KeyRange {
            first: value,
            last: value,
        })
    });
    if range.is_none() {
        let message = if looks_like_range(&text) {
            format!("the range `{text}` is empty: it ends before it starts")
        } else if is_beyond_keys(&text) {
            beyond_keys(&format!("`{text}`"))
        } else {
            let expected = match or_single {
                true => "an integer, or a range such as 1..200",
                false => "a range such as 1..200",
            };
            format!("expected {expected}, found `{text}`")
        };
        object.error(BAD_VALUE, message, node.span, context);
    }
    range
}
