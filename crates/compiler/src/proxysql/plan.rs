//! What can be done with each shard map: how its key is read, its entries, and the layout that costs least.

use shardwright_rules::{
    CommentForm, EngineId, Finder, KeyKind, KeyTemplate, KeyValue, MapStep, MissingBegin, Unqualified,
};
use shardwright_topology::model::{OriginId, RuleLayout, ShardMap, Topology};

use super::conditions::Conditions;
use crate::ids::lock::Lock;
use crate::keys::site::{self, KeySite};
use crate::layout::kept::{self, Remembered};
use crate::layout::shape::{self, Candidate, Item, Price};
use crate::native::{Program, Section};
use crate::report::{LAYOUT, Report, UNSUPPORTED};

/// Values or ranges that one rule may test.
const MOST_VALUES: usize = 8;
/// A remembered tree is kept while it costs at most this much of the best one.
const KEPT_COST: f64 = 1.25;

/// What was decided about one map.
#[derive(Debug)]
pub(crate) struct MapPlan {
    /// How its key is read; `None` when the engine cannot, which is reported.
    pub reading: Option<Reading>,
    /// Keys of a comment in order, each with its shard; empty without a comment finder.
    pub entries: Vec<Entry>,
    /// The items of the root chain of the tree.
    pub shape: Vec<Item>,
    /// `tree`, `flat` or `fast_routing`.
    pub layout: &'static str,
    /// The layouts that were compared, cheapest first, without their shapes.
    pub candidates: Vec<Candidate>,
}

/// How the key of a map is read.
#[derive(Clone, Debug)]
pub(crate) struct Reading {
    /// In a comment.
    pub comment: Option<KeySite>,
    /// In the name of the session's schema.
    pub schema: Option<KeyTemplate>,
    /// In the name of the user; never together with `schema`.
    pub user: Option<KeyTemplate>,
}

/// Keys that stand together and lie on one shard.
#[derive(Debug)]
pub(crate) struct Entry {
    /// Place of the shard in the map.
    pub shard: usize,
    /// The keys.
    pub values: Values,
}

/// Keys of one kind, ascending.
#[derive(Debug)]
pub(crate) enum Values {
    /// Ranges, both ends included.
    Integers(Vec<(i64, i64)>),
    /// Texts.
    Texts(Vec<String>),
}

impl Entry {
    /// How many keys it holds; a range counts as one.
    pub(crate) fn keys(&self) -> u64 {
        match &self.values {
            Values::Integers(ranges) => ranges.len() as u64,
            Values::Texts(texts) => texts.len() as u64,
        }
    }

    /// The first key as text.
    pub(crate) fn name(&self) -> String {
        match &self.values {
            Values::Integers(ranges) => ranges[0].0.to_string(),
            Values::Texts(texts) => texts[0].clone(),
        }
    }
}

/// A plan for every map of the program.
pub(super) fn plans(
    program: &Program,
    topology: &Topology,
    (price, lock): (Price, &Lock),
    report: &mut Report<'_>,
) -> Vec<MapPlan> {
    program
        .maps
        .iter()
        .map(|section| {
            let map = topology
                .shard_maps
                .get_named(&section.step.map)
                .expect("the section was made from it");
            plan(section, map, program, (price, lock), report)
        })
        .collect()
}

fn plan(
    section: &Section<Box<MapStep>>,
    map: &ShardMap,
    program: &Program,
    (price, lock): (Price, &Lock),
    report: &mut Report<'_>,
) -> MapPlan {
    let step = &*section.step;
    check(section, program, report);
    let reading = reading(section.origin, step, report);
    let comment = reading.as_ref().and_then(|reading| reading.comment.as_ref());
    let entries = comment.map_or_else(Vec::new, |site| entries(step, map, site, report));
    if comment.is_none() {
        let by_user = reading.as_ref().is_some_and(|reading| reading.user.is_some());
        let layout = layout_of_names(section.origin, map.rule_layout, by_user, report);
        return MapPlan {
            reading,
            entries,
            shape: Vec::new(),
            layout,
            candidates: Vec::new(),
        };
    }
    let kept = remembered(section, &entries, lock, report.engine);
    let (shape, layout, candidates) = layout(
        section.origin,
        map.rule_layout,
        entries.len(),
        (price, kept),
        report,
    );
    MapPlan {
        reading,
        entries,
        shape,
        layout,
        candidates,
    }
}

/// The layout of a map whose keys stand in names of schemas or users.
fn layout_of_names(
    origin: OriginId,
    wanted: RuleLayout,
    by_user: bool,
    report: &mut Report<'_>,
) -> &'static str {
    let fits = match wanted {
        RuleLayout::Auto | RuleLayout::Flat => true,
        RuleLayout::FastRouting => !by_user,
        RuleLayout::Tree | RuleLayout::Dispatch => false,
    };
    if !fits {
        let message = match by_user {
            true => "keys in user names are laid out as `flat`",
            false => "keys in schema names are laid out as `fast_routing` or `flat`",
        };
        report.error(LAYOUT, origin, "rule_layout", message);
    }
    if by_user || wanted == RuleLayout::Flat {
        "flat"
    } else {
        "fast_routing"
    }
}

fn layout(
    origin: OriginId,
    wanted: RuleLayout,
    entries: usize,
    (price, kept): (Price, Option<Vec<Item>>),
    report: &mut Report<'_>,
) -> (Vec<Item>, &'static str, Vec<Candidate>) {
    match wanted {
        RuleLayout::Auto | RuleLayout::Flat | RuleLayout::Tree => {}
        RuleLayout::FastRouting => {
            let message = "fast routing looks up session schemas; the key of this map stands in a comment";
            report.error(LAYOUT, origin, "rule_layout", message);
        }
        RuleLayout::Dispatch => report.unsupported(origin, "rule_layout", "look keys up by dispatch"),
    }
    let mut candidates = shape::candidates(entries, price);
    if let Some(shape) = kept.filter(|_| wanted != RuleLayout::Flat) {
        let cost = shape::cost(&shape, price);
        let limit = candidates[0].cost.mean_ns * KEPT_COST;
        if cost.mean_ns <= limit && (cost.chains > 1 || wanted == RuleLayout::Auto) {
            let name = "kept".to_owned();
            candidates.insert(0, Candidate { name, shape, cost });
        }
    }
    let is_flat = |candidate: &Candidate| candidate.name == "flat";
    let chosen = match wanted {
        RuleLayout::Flat => candidates.iter().position(is_flat),
        RuleLayout::Tree => candidates.iter().position(|candidate| candidate.cost.chains > 1),
        _ => None,
    }
    .unwrap_or(0);
    let shape = std::mem::take(&mut candidates[chosen].shape);
    let layout = if candidates[chosen].cost.chains == 1 {
        "flat"
    } else {
        "tree"
    };
    for candidate in &mut candidates {
        candidate.shape = Vec::new();
    }
    let winner = candidates.remove(chosen);
    candidates.insert(0, winner);
    (shape, layout, candidates)
}

/// The shape that the lock file remembers, with the keys of today.
fn remembered(
    section: &Section<Box<MapStep>>,
    entries: &[Entry],
    lock: &Lock,
    engine: EngineId,
) -> Option<Vec<Item>> {
    let root = format!("{engine}.{}.writers", section.address);
    lock.below(&format!("rules.{root}#")).next()?;
    let prefix = format!("flags.{root}/");
    let mut chains = Vec::new();
    for name in lock.below(&prefix) {
        let (first, last) = name.split_once("..")?;
        let (from, to) = match section.step.kind {
            KeyKind::Integer => {
                let (first, last): (i64, i64) = (first.parse().ok()?, last.parse().ok()?);
                let key = |entry: &Entry| match &entry.values {
                    Values::Integers(ranges) => ranges[0].0,
                    Values::Texts(_) => i64::MIN,
                };
                (
                    entries.partition_point(|entry| key(entry) < first),
                    entries.partition_point(|entry| key(entry) <= last),
                )
            }
            KeyKind::Text => (
                entries.partition_point(|entry| entry.name().as_str() < first),
                entries.partition_point(|entry| entry.name().as_str() <= last),
            ),
        };
        let name = name.to_owned();
        chains.push(Remembered { name, from, to });
    }
    kept::shape(entries.len(), chains)
}

/// What a map asks for besides its finders.
fn check(section: &Section<Box<MapStep>>, program: &Program, report: &mut Report<'_>) {
    let (step, origin) = (&*section.step, section.origin);
    if step.remainder.is_some() {
        report.unsupported(origin, "key.modulo", "place by the remainder of a key");
    }
    if let Err(what) = Conditions::of(&section.scope, &program.users) {
        report.unsupported(origin, "applies_to", what);
    }
    match step.missing.begin {
        MissingBegin::Reject => {}
        MissingBegin::FirstStatement => {
            report.unsupported(
                origin,
                "missing_key.begin",
                "open a transaction where its first statement with a key goes",
            );
        }
        MissingBegin::Allow => {
            let mut clusters: Vec<&str> = step
                .shards
                .iter()
                .filter_map(|shard| shard.cluster.as_deref())
                .collect();
            clusters.sort_unstable();
            clusters.dedup();
            if clusters.len() > 1 {
                let what = "let BEGIN pass without a key: the transaction would stay on the user's cluster, whatever keys follow";
                report.unsupported(origin, "missing_key.begin", what);
            }
        }
    }
    if step.logical_schema.is_some() && step.unqualified == Unqualified::Qualify {
        report.unsupported(
            origin,
            "unqualified",
            "give tables without a schema the shard's schema",
        );
    }
    let named = |finder: &Finder| matches!(finder, Finder::Schema { .. } | Finder::User { .. });
    if step.logical_schema.is_some()
        && step.finders.iter().any(named)
        && step.shards.iter().any(|shard| shard.schema.is_some())
    {
        let what =
            "write a shard's schema for the logical one in statements whose key does not stand in a comment";
        report.unsupported(origin, "logical_schema", what);
    }
    let spread = program
        .users
        .iter()
        .find(|user| !user.transaction_persistent && section.scope.users.contains(&user.name));
    if let Some(user) = spread {
        let message = format!(
            "{} would let the statements of one transaction of user {} go to several shards; `transaction_persistent: true` \
             keeps it on one",
            report.engine, user.name
        );
        report.error(UNSUPPORTED, origin, "applies_to", message);
    }
}

/// How the key is read, of the finders that the engine has; the others are reported.
fn reading(origin: OriginId, step: &MapStep, report: &mut Report<'_>) -> Option<Reading> {
    let mut reading = Reading {
        comment: None,
        schema: None,
        user: None,
    };
    for (at, finder) in step.finders.iter().enumerate() {
        let field = format!("key_from[{at}]");
        match finder {
            Finder::Comment { .. } if reading.comment.is_some() => {
                report.unsupported(origin, &field, "compare the keys of two kinds of comment");
            }
            Finder::Comment { word, .. } if !site::is_searchable(word) => {
                report.unsupported(
                    origin,
                    &field,
                    "search for a word that begins or ends with a dash",
                );
            }
            Finder::Comment { word, form } => {
                if *form == CommentForm::Sqlcommenter {
                    let what = "keys and words with percent-encoded characters are unknown and refused";
                    report.difference(origin, &field, what);
                }
                let spaced = step.shards.iter().flat_map(|shard| &shard.keys).any(is_spaced);
                reading.comment = Some(KeySite::new(word, form, step.kind, spaced));
            }
            Finder::Schema { .. } if reading.schema.is_some() => {
                report.unsupported(origin, &field, "compare the keys of two forms of schema names");
            }
            Finder::Table { .. } => {
                report.unsupported(origin, &field, "find a key in the names of tables");
            }
            Finder::User { .. } if reading.user.is_some() => {
                report.unsupported(origin, &field, "compare the keys of two forms of user names");
            }
            Finder::User { .. } | Finder::Schema { .. }
                if reading.user.is_some() || reading.schema.is_some() =>
            {
                let what = "compare the keys of users with those of schemas";
                report.unsupported(origin, &field, what);
            }
            Finder::User { template } => reading.user = Some(template.clone()),
            Finder::Schema { template } => reading.schema = Some(template.clone()),
            Finder::Column { column, .. } => {
                let what = format!("find a key in predicates on column {column}");
                report.unsupported(origin, &field, &what);
            }
        }
    }
    let reads = reading.comment.is_some() || reading.schema.is_some() || reading.user.is_some();
    reads.then_some(reading)
}

fn is_spaced(key: &KeyValue) -> bool {
    match key {
        KeyValue::Text(text) => site::is_spaced(text),
        KeyValue::Integer(_) => false,
    }
}

/// The keys of a map in order; neighbours on one shard stand together.
fn entries(step: &MapStep, map: &ShardMap, site: &KeySite, report: &mut Report<'_>) -> Vec<Entry> {
    match step.kind {
        KeyKind::Integer => integer_entries(step),
        KeyKind::Text => text_entries(step, map, site, report),
    }
}

fn integer_entries(step: &MapStep) -> Vec<Entry> {
    let mut ranges: Vec<((i64, i64), usize)> = Vec::new();
    for (at, shard) in step.shards.iter().enumerate() {
        let single = shard.keys.iter().filter_map(|key| match key {
            KeyValue::Integer(value) => Some((*value, *value)),
            KeyValue::Text(_) => None,
        });
        ranges.extend(
            single
                .chain(shard.ranges.iter().copied())
                .map(|range| (range, at)),
        );
    }
    ranges.sort_unstable();
    let mut entries: Vec<Entry> = Vec::new();
    for (range, shard) in ranges {
        if let Some(Entry {
            shard: last,
            values: Values::Integers(values),
        }) = entries.last_mut()
            && *last == shard
            && values.len() < MOST_VALUES
        {
            match values.last_mut() {
                Some(before) if before.1.checked_add(1) == Some(range.0) => before.1 = range.1,
                _ => values.push(range),
            }
            continue;
        }
        entries.push(Entry {
            shard,
            values: Values::Integers(vec![range]),
        });
    }
    entries
}

fn text_entries(step: &MapStep, map: &ShardMap, site: &KeySite, report: &mut Report<'_>) -> Vec<Entry> {
    let mut keys: Vec<(&str, usize)> = Vec::new();
    for (at, shard) in step.shards.iter().enumerate() {
        for key in &shard.keys {
            let KeyValue::Text(text) = key else { continue };
            if site.can_hold(text) {
                keys.push((text, at));
            } else if let Some(written) = map.shards.get(at) {
                let what = format!(
                    "read the key `{text}` in a comment: it holds quotes, `*`, `\\` or blanks at an end"
                );
                report.unsupported(written.origin, "keys", &what);
            }
        }
    }
    keys.sort_unstable();
    let mut entries: Vec<Entry> = Vec::new();
    for (text, shard) in keys {
        if let Some(Entry {
            shard: last,
            values: Values::Texts(values),
        }) = entries.last_mut()
            && *last == shard
            && values.len() < MOST_VALUES
        {
            values.push(text.to_owned());
            continue;
        }
        entries.push(Entry {
            shard,
            values: Values::Texts(vec![text.to_owned()]),
        });
    }
    entries
}
