//! The key of a shard map: what shards are found by.

use serde_json::{Value, json};

use self::key::{DOMAIN, HASH, MODULO, NAME, TYPE};
use super::object::Object;
use super::{finder, shard};
use crate::codes::{MISSING_KEY, NOT_TOGETHER};
use crate::fields::{EXPECTS, object};
use crate::model::{HashFunction, Key, KeyKind, KeyRange, MAX_MODULO, Placement};
use crate::tree::context::Context;

object! {
    pub(crate) mod key = "The key by which statements are placed on shards.";
    NAME: Text = filled("name", "The name of the key, which is the word before `=` in comments.")
        .needed()
        .examples(r#"["tenant"]"#)
        .page("Error messages use it.");
    TYPE: Word<KeyKind> = word("type", "How values compare: exactly, or as integers (017 is 17).").needed()
        .page("Integers have 64 bits; text is UTF-8.");
    DOMAIN: Custom = custom(
        "domain",
        "All values that exist, such as `1..200`; each of them must then have a shard.",
        ranges,
    )
    .examples(r#"["1..200"]"#)
    .page("Integers only.");
    MODULO: Count = int("modulo", "The divisor. Each shard takes some of the remainders.", 1, MAX_MODULO).examples("[100]")
        .page("Shards then have `remainders` instead of `keys`. The remainder of a negative key is not negative.");
    HASH: Word<HashFunction> = word(
        "hash",
        "The hash of the key that is divided by `modulo`: XXH64 with seed 0 over the canonical text.",
    )
        .page("The text is UTF-8; an integer is written in decimal.");
}

fn ranges(says: &str) -> Value {
    json!({
        "description": says,
        "type": ["string", "array"],
        EXPECTS: "a range such as 1..200, or a list of them",
        "items": { "type": ["string", "integer"], EXPECTS: "a range such as 1..200" },
    })
}

/// Reads `key` of a shard map.
pub(super) fn key(part: &Object<'_, '_>, context: &mut Context<'_>) -> Option<Key> {
    part.require_all(&key::FIELDS, context);
    let name = part.get(&NAME, context);
    let kind = part.get(&TYPE, context);
    let modulo = part.get(&MODULO, context).map(u64::from);
    let function = part.get(&HASH, context);
    let (name, kind) = (name?, kind?);
    finder::check_word(part, &name, part.span(&NAME), context)?;
    let placement = match (function, modulo) {
        (Some(function), Some(modulo)) => Placement::Hash { function, modulo },
        (None, Some(modulo)) if kind == KeyKind::Integer => Placement::Modulo(modulo),
        (None, Some(_)) => {
            let message = "text has no remainder: add `hash: xxhash64`, or use a key of type integer";
            part.error(NOT_TOGETHER, message, part.key_span(&MODULO), context);
            return None;
        }
        (Some(_), None) if !part.has(&MODULO) => {
            let message = "missing key `modulo`: it divides the hash among the shards";
            part.error(MISSING_KEY, message, part.key_span(&HASH), context);
            return None;
        }
        (_, None) if part.has(&MODULO) || part.has(&HASH) => return None,
        (_, None) => Placement::Value,
    };
    let domain = domain(part, kind, context);
    if placement != Placement::Value && part.has(&DOMAIN) {
        let message = "`domain` has no effect with `modulo`: all remainders are known";
        part.error(NOT_TOGETHER, message, part.key_span(&DOMAIN), context);
    }
    Some(Key {
        name,
        kind,
        domain,
        placement,
    })
}

fn domain(part: &Object<'_, '_>, kind: KeyKind, context: &mut Context<'_>) -> Vec<KeyRange> {
    let Some(field) = part.field(&DOMAIN) else {
        return Vec::new();
    };
    if kind == KeyKind::Text {
        let message = "`domain` is a range of integers: it needs a key of type integer";
        part.error(NOT_TOGETHER, message, field.key.span, context);
        return Vec::new();
    }
    let Some(node) = field.value.node() else {
        return Vec::new();
    };
    let mut domain: Vec<_> = match node.as_sequence() {
        Some(items) => items
            .iter()
            .filter_map(|item| shard::range(part, item, true, context))
            .collect(),
        None => shard::range(part, node, false, context).into_iter().collect(),
    };
    domain.sort_unstable();
    domain
}
