//! Shard maps: the key, its finders, the shards, and what becomes of other statements.

use rustc_hash::FxHashMap;
use shardwright_diagnostics::{Diagnostic, Span};
use std::sync::Arc;

use super::object::Object;
use super::scope::scope_of;
use super::{Known, finder, instances, names, overrides, partition, shard};
use crate::codes::{BAD_VALUE, MISSING_KEY, NOT_PLACED, NOT_TOGETHER, OTHERWISE_CYCLE};
use crate::context::Context;
use crate::model::{
    Conflict, HashFunction, Key, KeyKind, MAX_MODULO, MissingAction, MissingBegin, MissingKey, Placement,
    RuleLayout, Shard, ShardMap, ShardMapId, StatedTables, Table, UnknownKey, Unqualified,
};
use crate::view::Field;

const LAYOUTS: [(&str, RuleLayout); 5] = [
    ("auto", RuleLayout::Auto),
    ("flat", RuleLayout::Flat),
    ("tree", RuleLayout::Tree),
    ("fast_routing", RuleLayout::FastRouting),
    ("dispatch", RuleLayout::Dispatch),
];
const UNQUALIFIED: [(&str, Unqualified); 3] = [
    ("reject", Unqualified::Reject),
    ("qualify", Unqualified::Qualify),
    ("session_schema", Unqualified::SessionSchema),
];
const BEGIN: [(&str, MissingBegin); 3] = [
    ("reject", MissingBegin::Reject),
    ("first_statement", MissingBegin::FirstStatement),
    ("allow", MissingBegin::Allow),
];

/// A map whose `otherwise` is still a name.
struct Unlinked {
    map: ShardMap,
    otherwise: Option<(Arc<str>, Span)>,
}

pub(super) fn shard_maps(
    section: Option<Field<'_>>,
    known: &Known,
    context: &mut Context<'_>,
) -> Vec<ShardMap> {
    let read = instances::read_section(section, context, |object, context| {
        shard_map(object, known, context)
    });
    let mut places: FxHashMap<Arc<str>, Option<ShardMapId>> = FxHashMap::default();
    let mut unlinked = Vec::new();
    for (name, map) in read {
        let id = ShardMapId(u32::try_from(unlinked.len()).unwrap_or(u32::MAX));
        places.insert(name, map.is_some().then_some(id));
        unlinked.extend(map);
    }
    let mut maps = link(unlinked, &places, context);
    report_cycles(&mut maps, context);
    maps
}

fn shard_map(object: &Object<'_, '_>, known: &Known, context: &mut Context<'_>) -> Option<Unlinked> {
    for field in ["key", "key_from", "shards"] {
        object.require(field, context);
    }
    let applies_to = scope_of(object, "applies_to", known, context);
    let logical_schema = object.filled_text("logical_schema", context);
    let key = key(object, context);
    let conflict = object.word(
        "conflict",
        &[("reject", Conflict::Reject), ("first", Conflict::First)],
        context,
    );
    let unqualified = object
        .word("unqualified", &UNQUALIFIED, context)
        .unwrap_or_default();
    let tables = stated_tables(object, context);
    let missing_key = missing_key(object, known, context);
    let unknown_key = unknown_key(object, known, context);
    let rule_layout = object.word("rule_layout", &LAYOUTS, context).unwrap_or_default();
    let otherwise = otherwise(object, context);
    let key = key?;
    let key_from = finder::finders(object, &key, context);
    let (shards, complete) = shards(object, &key, known, context);
    if complete {
        partition::check(object, &key, &shards, context);
    }
    check_schemas(object, &shards, context);
    let map = ShardMap {
        name: object.name.clone(),
        origin: object.origin,
        applies_to,
        logical_schema,
        key,
        key_from,
        conflict: conflict.unwrap_or_default(),
        shards,
        otherwise: None,
        unqualified,
        tables,
        missing_key,
        unknown_key,
        rule_layout,
    };
    Some(Unlinked { map, otherwise })
}

fn key(object: &Object<'_, '_>, context: &mut Context<'_>) -> Option<Key> {
    let part = object.part("key", context)?;
    part.require("name", context);
    part.require("type", context);
    let name = part.filled_text("name", context);
    let kind = part.word(
        "type",
        &[("text", KeyKind::Text), ("integer", KeyKind::Integer)],
        context,
    );
    let modulo = part
        .integer("modulo", 1..=MAX_MODULO, context)
        .and_then(|modulo| u64::try_from(modulo).ok());
    let function = part.word("hash", &[("xxhash64", HashFunction::XxHash64)], context);
    let (name, kind) = (name?, kind?);
    finder::check_word(&part, &name, part.span("name"), context)?;
    let placement = match (function, modulo) {
        (Some(function), Some(modulo)) => Placement::Hash { function, modulo },
        (None, Some(modulo)) if kind == KeyKind::Integer => Placement::Modulo(modulo),
        (None, Some(_)) => {
            let message = "text has no remainder: add `hash: xxhash64`, or use a key of type integer";
            part.error(NOT_TOGETHER, message, part.key_span("modulo"), context);
            return None;
        }
        (Some(_), None) if !part.has("modulo") => {
            let message = "missing key `modulo`: a hash is divided among shards";
            part.error(MISSING_KEY, message, part.key_span("hash"), context);
            return None;
        }
        (_, None) if part.has("modulo") || part.has("hash") => return None,
        (_, None) => Placement::Value,
    };
    let domain = domain(&part, kind, context);
    if placement != Placement::Value && part.has("domain") {
        let message = "`domain` is for keys that are placed by value; all remainders are known anyway";
        part.error(NOT_TOGETHER, message, part.key_span("domain"), context);
    }
    Some(Key {
        name,
        kind,
        domain,
        placement,
    })
}

fn domain(part: &Object<'_, '_>, kind: KeyKind, context: &mut Context<'_>) -> Vec<crate::model::KeyRange> {
    let Some(field) = part.view.get("domain") else {
        return Vec::new();
    };
    if kind == KeyKind::Text {
        let message = "a domain is a range, which needs a key of type integer";
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

/// The shards with overrides applied, and whether all of them could be read.
fn shards(
    object: &Object<'_, '_>,
    key: &Key,
    known: &Known,
    context: &mut Context<'_>,
) -> (Table<Shard>, bool) {
    let Some(field) = object.view.get("shards").filter(|field| field.value.is_map()) else {
        return (Table::default(), false);
    };
    if field.value.fields().is_empty() {
        object.error(
            MISSING_KEY,
            "a shard map needs at least one shard",
            field.key.span,
            context,
        );
        return (Table::default(), false);
    }
    let parent = instances::part_origin(object, &field, context);
    let errors_before = context.report.problems.counts().error;
    let read = instances::read_all(
        &field.value,
        parent,
        object.environment,
        context,
        |object, context| shard::shard(object, key, known, context),
    );
    let complete = errors_before == context.report.problems.counts().error;
    let mut places: FxHashMap<Arc<str>, Option<u32>> = FxHashMap::default();
    places.reserve(read.len());
    let mut shards = Vec::with_capacity(read.len());
    for (name, shard) in read {
        let place = u32::try_from(shards.len()).unwrap_or(u32::MAX);
        places.insert(name, shard.is_some().then_some(place));
        shards.extend(shard);
    }
    overrides::apply(object, &mut shards, &places, known, context);
    (Table::new(shards), complete)
}

/// A map that renames schemas must know the one that clients name; the others have no use for it.
fn check_schemas(object: &Object<'_, '_>, shards: &[Shard], context: &mut Context<'_>) {
    if object.has("unqualified") && !shards.is_empty() && shards.iter().all(|shard| shard.schema.is_none()) {
        let message = "`unqualified` is for maps whose shards have a `schema`";
        object.error(NOT_TOGETHER, message, object.key_span("unqualified"), context);
    }
    let by_schema_only = shards
        .iter()
        .find(|shard| shard.cluster.is_none() && shard.schema.is_some());
    if let Some(shard) = by_schema_only.filter(|_| !object.has("logical_schema")) {
        let message = format!(
            "the shard `{}` is placed by schema only, and the map names no `logical_schema` that it takes the place of",
            shard.name
        );
        let diagnostic = Diagnostic::error(NOT_PLACED, message)
            .at(context.origins.field(shard.origin, "schema"), "")
            .also(object.key, "the map");
        let diagnostic = context.origins.mark(shard.origin, diagnostic);
        context.report.push(diagnostic);
    }
}

/// What `tables` states, for maps that find their key in a column.
fn stated_tables(object: &Object<'_, '_>, context: &mut Context<'_>) -> StatedTables {
    let Some(part) = object.part("tables", context) else {
        return StatedTables::default();
    };
    let named = |part: &Object<'_, '_>, field: &str, context: &mut Context<'_>| -> Vec<Arc<str>> {
        let names = part.texts(field, context);
        names.into_iter().map(|(_, name)| name).collect()
    };
    let mut stated = StatedTables {
        base: named(&part, "base", context).into_iter().collect(),
        ..StatedTables::default()
    };
    let Some(views) = part.part("views", context) else {
        return stated;
    };
    for field in views.view.fields() {
        let view = &*field.key.text;
        let below = named(&views, view, context);
        if below.is_empty() {
            let message = format!("the view `{view}` stands on no table");
            views.error(BAD_VALUE, message, field.key.span, context);
        } else if stated.base.contains(view) {
            let message = format!("`{view}` is stated as a base table and as a view");
            views.error(NOT_TOGETHER, message, field.key.span, context);
        } else {
            stated.views.insert(view.into(), below);
        }
    }
    stated
}

fn missing_key(object: &Object<'_, '_>, known: &Known, context: &mut Context<'_>) -> MissingKey {
    let default = MissingKey::default();
    let Some(part) = object.part("missing_key", context) else {
        return default;
    };
    MissingKey {
        statements: missing_action(&part, "statements", known, context).unwrap_or(default.statements),
        session_setup: missing_action(&part, "session_setup", known, context)
            .unwrap_or(default.session_setup),
        begin: part.word("begin", &BEGIN, context).unwrap_or(default.begin),
    }
}

fn missing_action(
    part: &Object<'_, '_>,
    field: &str,
    known: &Known,
    context: &mut Context<'_>,
) -> Option<MissingAction> {
    let words = [("reject", MissingAction::Reject), ("allow", MissingAction::Allow)];
    match part.view.get(field)? {
        named if named.value.is_map() => cluster_of(part, named, known, context).map(MissingAction::Cluster),
        _ => part.word(field, &words, context),
    }
}

fn unknown_key(object: &Object<'_, '_>, known: &Known, context: &mut Context<'_>) -> UnknownKey {
    let unknown = match object.view.get("unknown_key") {
        None => None,
        Some(field) if field.value.is_map() => {
            cluster_of(object, field, known, context).map(UnknownKey::Cluster)
        }
        Some(_) => object.word("unknown_key", &[("reject", UnknownKey::Reject)], context),
    };
    unknown.unwrap_or_default()
}

/// The cluster of `{cluster: NAME}`.
fn cluster_of<'a>(
    object: &Object<'a, '_>,
    field: Field<'a>,
    known: &Known,
    context: &mut Context<'_>,
) -> Option<crate::model::ClusterId> {
    let part = object.inner(field.value, field.key.span);
    part.require("cluster", context);
    names::cluster(&part, "cluster", known, context)
}

fn otherwise(object: &Object<'_, '_>, context: &mut Context<'_>) -> Option<(Arc<str>, Span)> {
    let text = object.text("otherwise", context)?;
    let span = object.span("otherwise");
    match text.strip_prefix("shard_maps.") {
        Some(name) if !name.is_empty() => Some((name.into(), span)),
        _ => {
            let message = format!("expected the address of a shard map, found `{text}`");
            let diagnostic = Diagnostic::error(BAD_VALUE, message).at(span, "");
            object.push(diagnostic.help(format!("write `shard_maps.{text}`")), context);
            None
        }
    }
}

fn link(
    unlinked: Vec<Unlinked>,
    places: &FxHashMap<Arc<str>, Option<ShardMapId>>,
    context: &mut Context<'_>,
) -> Vec<ShardMap> {
    let mut maps = Vec::with_capacity(unlinked.len());
    for Unlinked { mut map, otherwise } in unlinked {
        if let Some((name, span)) = otherwise {
            match places.get(&name) {
                Some(place) => map.otherwise = *place,
                None => {
                    let known = places.keys().map(|name| &**name);
                    if let Some(diagnostic) = names::unknown("shard map", &name, known, span, context) {
                        let diagnostic = context.origins.mark(map.origin, diagnostic);
                        context.report.push_at_cell(diagnostic);
                    }
                }
            }
        }
        maps.push(map);
    }
    maps
}

/// Reports each circle of `otherwise` once, and cuts it.
fn report_cycles(maps: &mut [ShardMap], context: &mut Context<'_>) {
    let mut settled = vec![false; maps.len()];
    for start in 0..maps.len() {
        let mut path: Vec<usize> = Vec::new();
        let mut on_path: FxHashMap<usize, usize> = FxHashMap::default();
        let mut at = Some(start);
        while let Some(place) = at.filter(|place| !settled[*place]) {
            if let Some(entry) = on_path.get(&place) {
                report_cycle(maps, &path[*entry..], context);
                maps[place].otherwise = None;
                break;
            }
            on_path.insert(place, path.len());
            path.push(place);
            at = maps[place].otherwise.map(|next| next.0 as usize);
        }
        for place in path {
            settled[place] = true;
        }
    }
}

fn report_cycle(maps: &[ShardMap], cycle: &[usize], context: &mut Context<'_>) {
    let mut names: Vec<&str> = cycle.iter().map(|place| &*maps[*place].name).collect();
    names.extend(cycle.first().map(|place| &*maps[*place].name));
    let place = |place: &usize| context.origins.field(maps[*place].origin, "otherwise");
    let mut spans = cycle.iter().map(place);
    let Some(first) = spans.next() else { return };
    let message = format!("`otherwise` leads in a circle: {}", names.join(" → "));
    let diagnostic = Diagnostic::error(OTHERWISE_CYCLE, message).at(first, "");
    let diagnostic = spans
        .take(8)
        .fold(diagnostic, |diagnostic, span| diagnostic.also(span, ""));
    context.report.push(diagnostic);
}
