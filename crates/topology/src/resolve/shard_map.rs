//! Shard maps: the key, its finders, the shards, and what becomes of other statements.

mod schemas;

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use serde_json::Value;
use shardwright_diagnostics::{Diagnostic, Span};
use std::sync::Arc;

use self::shard_map::{LOGICAL_SCHEMA, OTHERWISE, UNQUALIFIED};
use super::object::Object;
use super::policy::applies_to;
use super::scope::scope_of;
use super::values::within;
use super::{Defined, finder, instances, key, names, overrides, partition, shard};
use crate::codes::{BAD_VALUE, MISSING_KEY, NOT_TOGETHER, OTHERWISE_CYCLE};
use crate::fields::{AnyField, Declared, Or, WordOr, holders, object, shapes};
use crate::model::{
    ClusterId, Conflict, CountHitsBy, Finder, Key, MissingAction, MissingBegin, MissingKey, RuleLayout,
    Shard, ShardMap, ShardMapId, StatedTables, Table, UnknownKey, Unqualified, Words,
};
use crate::tree::context::Context;
use crate::tree::view::Field;

object! {
    pub(crate) mod shard_map = "Where statements carry the key, and where each shard is.";
    APPLIES_TO: Definition = applies_to();
    LOGICAL_SCHEMA: Text = filled("logical_schema", "The schema that clients write and that shards replace with their own.")
        .examples(r#"["world"]"#)
        .page("See [Placement](#placement).")
        .refers(refers::SCHEMAS);
    KEY: Part = part("key", &key::key::FIELDS).needed()
        .page("See [The key](#the-key).");
    KEY_FROM: List = list(
        "key_from",
        "Where to look for the key. If several finders find one, it must be the same.",
        "a list of finders",
        Shaped::Object(&finder::finder::FIELDS),
    )
    .needed()
    .page("At most 32; see [Finders](#finders).");
    CONFLICT: Or<Word<Conflict>> = word(
        "conflict",
        "What happens when finders disagree: the statement is refused, or the first finder counts.",
    )
    .or(Conflict::Reject)
    .page("The first in the order of `key_from`.");
    SHARDS: Map = map(
        holders::SHARDS,
        "The shards by name: which keys each has, and where it is.",
        Shaped::Definition("shard"),
    )
    .needed()
    .page("See [Shards](#shards).")
    .defines("shards");
    OTHERWISE: Text = text("otherwise", "The map that statements without this map's key go to: `shard_maps.NAME`.")
        .examples(r#"["shard_maps.tenants"]"#)
        .refers(refers::MAP_ADDRESS);
    UNQUALIFIED: Or<Word<Unqualified>> = word(
        "unqualified",
        "What happens to table names without a schema: they are refused, qualified with the shard's schema (bundled), or left to the schema of the session.",
    )
    .or_when(Unqualified::Reject, When::Has(&LOGICAL_SCHEMA));
    TABLES: Part = part("tables", &tables::FIELDS)
        .page("See views under [Finders](#finders).");
    OVERRIDES: Map = map(
        holders::OVERRIDES,
        "Generated shards that are placed differently.",
        Shaped::Generated(&overrides::placed::FIELDS),
    )
        .page("Each needs a `reason`.")
        .keys(refers::SHARDS);
    MISSING_KEY: Part = part("missing_key", &missing_key::FIELDS).or_defaults()
        .page("See [Without a key](#without-a-key).");
    UNKNOWN_KEY: Or<WordOr<UnknownKey>> = word_or(
        "unknown_key",
        "What happens to statements with a key of no shard: they are refused, or sent to a cluster.",
        &sent_to::FIELDS,
    )
    .or(UnknownKey::Reject);
    RULE_LAYOUT: Or<Word<RuleLayout>> = word(
        "rule_layout",
        "The layout of its rules; `auto` compares the costs and takes the cheapest.",
    )
    .or(RuleLayout::Auto);
    COUNT_HITS_BY: Or<Word<CountHitsBy>> = word(
        "count_hits_by",
        "What the hit counters of ProxySQL's rules distinguish. By `cluster`, neighbouring keys on one cluster share a rule.",
    )
    .or(CountHitsBy::Cluster);
}

object! {
    mod tables = "Which tables of the logical schema are base tables and which are views. A key in a column counts only for base tables. For tables that are not listed, the bundled proxy asks the server.";
    BASE: Texts = texts("base", "Base tables; the server is not asked about them.", "a list of tables");
    VIEWS: Map = map(
        "views",
        "Views that pass the key column on unchanged, each with the tables that it reads.",
        Shaped::Custom(view_schema),
    );
}

object! {
    mod missing_key = "What happens to statements without a key.";
    STATEMENTS: Or<WordOr<MissingAction>> = word_or(
        "statements",
        "All statements except session setup and BEGIN: refused, left to the next section, or sent to a cluster.",
        &sent_to::FIELDS,
    )
    .or(MissingKey::DEFAULT.statements);
    SESSION_SETUP: Or<WordOr<MissingAction>> = word_or(
        "session_setup",
        "SET, USE, SHOW, SELECT without a table, and what drivers send when they connect.",
        &sent_to::FIELDS,
    )
    .or(MissingKey::DEFAULT.session_setup);
    BEGIN: Or<Word<MissingBegin>> = word(
        "begin",
        "BEGIN and START TRANSACTION without a key: refused, opened where the first statement with a key goes (bundled), or left to the next section.",
    )
    .or(MissingKey::DEFAULT.begin)
    .page("Put the key on BEGIN.");
    BY_USER: Map = map(
        "by_user",
        "What happens to statements of some users, by their names.",
        Shaped::Object(&missing_key_of_user::FIELDS),
    )
    .page("See [By user](#by-user).")
    .keys(refers::USERS);
}

object! {
    mod missing_key_of_user = "What happens to statements of one user without a key. What is not given is as for all users.";
    STATEMENTS: WordOr<MissingAction> = word_or("statements", missing_key::STATEMENTS.sentence(), &sent_to::FIELDS)
        .absent("as for all users");
    SESSION_SETUP: WordOr<MissingAction> = word_or("session_setup", missing_key::SESSION_SETUP.sentence(), &sent_to::FIELDS)
        .absent("as for all users");
    BEGIN: Word<MissingBegin> = word("begin", missing_key::BEGIN.sentence())
        .absent("as for all users");
}

object! {
    mod sent_to = "A cluster that statements go to.";
    CLUSTER: Text = text("cluster", "The name of the cluster that they go to.").needed()
        .refers(refers::CLUSTERS);
}

fn view_schema() -> Value {
    shapes::texts("The tables that the view reads.", "a list of tables")
}

/// A map whose `otherwise` is still a name.
struct Unlinked {
    map: ShardMap,
    otherwise: Option<(Arc<str>, Span)>,
}

pub(super) fn shard_maps(
    section: Option<Field<'_>>,
    defined: &Defined,
    context: &mut Context<'_>,
) -> Vec<ShardMap> {
    let read = instances::read_section(section, context, |object, context| {
        shard_map(object, defined, context)
    });
    let mut positions: FxHashMap<Arc<str>, Option<ShardMapId>> = FxHashMap::default();
    let mut unlinked = Vec::new();
    for (name, map) in read {
        let id = ShardMapId(u32::try_from(unlinked.len()).unwrap_or(u32::MAX));
        positions.insert(name, map.is_some().then_some(id));
        unlinked.extend(map);
    }
    let mut maps = link(unlinked, &positions, context);
    report_cycles(&mut maps, context);
    maps
}

fn shard_map(object: &Object<'_, '_>, defined: &Defined, context: &mut Context<'_>) -> Option<Unlinked> {
    object.require_all(&shard_map::FIELDS, context);
    let applies_to = scope_of(object, &shard_map::APPLIES_TO, defined, context);
    let logical_schema = object.get(&LOGICAL_SCHEMA, context);
    let part = object.part(&shard_map::KEY, context);
    let key = part.as_ref().and_then(|part| key::key(part, context));
    let conflict = object.get(&shard_map::CONFLICT, context);
    let unqualified = object.get(&UNQUALIFIED, context);
    let tables = stated_tables(object, context);
    let (missing_key, missing_key_by_user) = missing_key(object, defined, context);
    let unknown_key = unknown_key(object, defined, context);
    let rule_layout = object.get(&shard_map::RULE_LAYOUT, context);
    let count_hits_by = object.get(&shard_map::COUNT_HITS_BY, context);
    let otherwise = otherwise(object, context);
    let key = key?;
    let map_key = finder::MapKey {
        key: &key,
        has_logical_schema: object.has(&LOGICAL_SCHEMA),
    };
    let key_from = object.field(&shard_map::KEY_FROM);
    let key_from = key_from.map_or_else(Vec::new, |field| {
        finder::finders(object, &field, map_key, context)
    });
    let (shards, complete) = shards(object, &key, defined, context);
    if complete && let Some(part) = &part {
        partition::check(object, part, &key, &shards, context);
    }
    schemas::check(object, &shards, &key_from, unqualified, context);
    check_tables(object, &key_from, context);
    check_missing_key(object, context);
    let map = ShardMap {
        name: object.name.clone(),
        origin: object.origin,
        applies_to,
        logical_schema,
        key,
        key_from,
        conflict,
        shards,
        otherwise: None,
        unqualified,
        tables,
        missing_key,
        missing_key_by_user,
        unknown_key,
        rule_layout,
        count_hits_by,
    };
    Some(Unlinked { map, otherwise })
}

/// The shards with overrides applied, and whether all of them could be read.
fn shards(
    object: &Object<'_, '_>,
    key: &Key,
    defined: &Defined,
    context: &mut Context<'_>,
) -> (Table<Shard>, bool) {
    let Some(field) = object
        .field(&shard_map::SHARDS)
        .filter(|field| field.value.is_map())
    else {
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
        |object, context| shard::shard(object, key, defined, context),
    );
    let complete = errors_before == context.report.problems.counts().error;
    let mut positions: FxHashMap<Arc<str>, Option<u32>> = FxHashMap::default();
    positions.reserve(read.len());
    let mut shards = Vec::with_capacity(read.len());
    for (name, shard) in read {
        let position = u32::try_from(shards.len()).unwrap_or(u32::MAX);
        positions.insert(name, shard.is_some().then_some(position));
        shards.extend(shard);
    }
    let overridden = object.field(&shard_map::OVERRIDES);
    if let Some(field) = overridden.filter(|field| field.value.is_map()) {
        overrides::apply(object, &field, &mut shards, &positions, defined, context);
    }
    (Table::new(shards), complete)
}

/// Statements without a key of a map with `otherwise` go to the other map, so that only that map answers for them.
fn check_missing_key(object: &Object<'_, '_>, context: &mut Context<'_>) {
    let part = object.part(&shard_map::MISSING_KEY, context);
    let Some(part) = part.filter(|_| object.has(&OTHERWISE)) else {
        return;
    };
    let unasked: [&dyn AnyField; 3] = [
        &missing_key::STATEMENTS,
        &missing_key::SESSION_SETUP,
        &missing_key::BY_USER,
    ];
    for field in unasked.into_iter().filter(|field| part.has(*field)) {
        let message = format!(
            "`{}` has no effect beside `otherwise`: statements without a key of this map go to the other one",
            field.name()
        );
        let diagnostic = Diagnostic::error(NOT_TOGETHER, message).at(part.key_span(field), "");
        let help = "give it to the map that `otherwise` leads to";
        part.push(diagnostic.help(help), context);
    }
}

/// `tables` is read by finders that look for a column.
fn check_tables(object: &Object<'_, '_>, key_from: &[Finder], context: &mut Context<'_>) {
    let has_columns = key_from
        .iter()
        .any(|finder| matches!(finder, Finder::Column { .. }));
    if object.has(&shard_map::TABLES) && !key_from.is_empty() && !has_columns {
        let message = "`tables` is for maps that find their key in a column";
        object.error(
            NOT_TOGETHER,
            message,
            object.key_span(&shard_map::TABLES),
            context,
        );
    }
}

/// What `tables` states, for maps that find their key in a column.
fn stated_tables(object: &Object<'_, '_>, context: &mut Context<'_>) -> StatedTables {
    let Some(part) = object.part(&shard_map::TABLES, context) else {
        return StatedTables::default();
    };
    let mut stated = StatedTables {
        base: part.list(&tables::BASE, context).into_iter().collect(),
        ..StatedTables::default()
    };
    let Some(views) = part.part(&tables::VIEWS, context) else {
        return stated;
    };
    for field in views.view.fields() {
        let view = &*field.key.text;
        let below = views.texts_of(&field, context);
        if below.is_empty() {
            let message = format!("the view `{view}` names no table that it reads");
            views.error(BAD_VALUE, message, field.key.span, context);
        } else if stated.base.contains(view) {
            let message = format!("`{view}` is listed both as a base table and as a view");
            views.error(NOT_TOGETHER, message, field.key.span, context);
        } else {
            let below = below.into_iter().map(|(_, table)| table);
            stated.views.insert(view.into(), below.collect());
        }
    }
    stated
}

/// What happens without a key, of all users and then of some.
fn missing_key(
    object: &Object<'_, '_>,
    defined: &Defined,
    context: &mut Context<'_>,
) -> (MissingKey, BTreeMap<Arc<str>, MissingKey>) {
    let part = object.part(&shard_map::MISSING_KEY, context);
    let part = part.as_ref();
    let mut action = |field| action(part, field, MissingAction::Cluster, defined, context);
    let of_all = MissingKey {
        statements: action(&missing_key::STATEMENTS),
        session_setup: action(&missing_key::SESSION_SETUP),
        begin: within(part, &missing_key::BEGIN, context),
    };
    let by_user = part.and_then(|part| part.part(&missing_key::BY_USER, context));
    let mut of_some = BTreeMap::new();
    for field in by_user.iter().flat_map(|by_user| by_user.view.fields()) {
        let by_user = by_user.as_ref().expect("its fields are read");
        let name = context.intern(&field.key.text);
        let user = names::find(by_user, "user", &name, &defined.users, field.key.span, context);
        if field.value.is_map() {
            let own = by_user.inner(field.value, field.key.span);
            let own = missing_key_of_user(&own, of_all, defined, context);
            of_some.extend(user.map(|_| (name, own)));
        }
    }
    (of_all, of_some)
}

/// What happens to statements of one user; what is not given is as for all.
fn missing_key_of_user(
    object: &Object<'_, '_>,
    of_all: MissingKey,
    defined: &Defined,
    context: &mut Context<'_>,
) -> MissingKey {
    let mut own = |field: &Declared<Or<WordOr<MissingAction>>>, of_all| match object.has(field) {
        true => action(Some(object), field, MissingAction::Cluster, defined, context),
        false => of_all,
    };
    MissingKey {
        statements: own(&missing_key::STATEMENTS, of_all.statements),
        session_setup: own(&missing_key::SESSION_SETUP, of_all.session_setup),
        begin: object.given(&missing_key::BEGIN, context).unwrap_or(of_all.begin),
    }
}

fn unknown_key(object: &Object<'_, '_>, defined: &Defined, context: &mut Context<'_>) -> UnknownKey {
    let field = &shard_map::UNKNOWN_KEY;
    action(Some(object), field, UnknownKey::Cluster, defined, context)
}

/// A word, or the cluster that is named in its place.
fn action<T: Words>(
    part: Option<&Object<'_, '_>>,
    field: &Declared<Or<WordOr<T>>>,
    to: impl Fn(ClusterId) -> T,
    defined: &Defined,
    context: &mut Context<'_>,
) -> T {
    match part.and_then(|part| part.inside(field)) {
        None => within(part, field, context),
        Some(named) => {
            let cluster = cluster_of(&named, defined, context);
            cluster.map_or_else(|| field.standing(), to)
        }
    }
}

/// The cluster of `{cluster: NAME}`.
fn cluster_of(part: &Object<'_, '_>, defined: &Defined, context: &mut Context<'_>) -> Option<ClusterId> {
    part.require_all(&sent_to::FIELDS, context);
    names::cluster(part, &sent_to::CLUSTER, defined, context)
}

fn otherwise(object: &Object<'_, '_>, context: &mut Context<'_>) -> Option<(Arc<str>, Span)> {
    let text = object.get(&OTHERWISE, context)?;
    let span = object.span(&OTHERWISE);
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
    positions: &FxHashMap<Arc<str>, Option<ShardMapId>>,
    context: &mut Context<'_>,
) -> Vec<ShardMap> {
    let mut maps = Vec::with_capacity(unlinked.len());
    for Unlinked { mut map, otherwise } in unlinked {
        if let Some((name, span)) = otherwise {
            match positions.get(&name) {
                Some(position) => map.otherwise = *position,
                None => {
                    let candidates = positions.keys().map(|name| &**name);
                    if let Some(diagnostic) = names::unknown("shard map", &name, candidates, span, context) {
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
        while let Some(position) = at.filter(|position| !settled[*position]) {
            if let Some(entry) = on_path.get(&position) {
                report_cycle(maps, &path[*entry..], context);
                maps[position].otherwise = None;
                break;
            }
            on_path.insert(position, path.len());
            path.push(position);
            at = maps[position].otherwise.map(|next| next.0 as usize);
        }
        for position in path {
            settled[position] = true;
        }
    }
}

fn report_cycle(maps: &[ShardMap], cycle: &[usize], context: &mut Context<'_>) {
    let mut names: Vec<&str> = cycle.iter().map(|position| &*maps[*position].name).collect();
    names.extend(cycle.first().map(|position| &*maps[*position].name));
    let position = |position: &usize| context.origins.field(maps[*position].origin, OTHERWISE.name());
    let mut spans = cycle.iter().map(position);
    let Some(first) = spans.next() else { return };
    let message = format!("`otherwise` leads in a circle: {}", names.join(" → "));
    let diagnostic = Diagnostic::error(OTHERWISE_CYCLE, message).at(first, "");
    let diagnostic = spans
        .take(8)
        .fold(diagnostic, |diagnostic, span| diagnostic.also(span, ""));
    context.report.push(diagnostic);
}
