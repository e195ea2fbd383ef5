//! What is planned for each shard map: how its key is read, its entries, and the layout that costs least.
//!
//! The program goes in, with what the lock remembers and what traffic counted ([`PlanInput`]); a [`MapPlan`] comes out for
//! each map. What rules cannot express of a map is reported here.

mod entries;
mod entry;
mod hits;
mod layouts;
mod memory;
mod session_split;
mod sessions;

use std::collections::BTreeSet;

use shardwright_diagnostics::Severity;
use shardwright_ids::Lock;
use shardwright_layout::{Candidate, Node, Price};
use shardwright_rules::{
    CommentForm, Conflict, EngineId, Finder, InShards, KeyTemplate, KeyValue, MapStep, MissingAction,
    MissingBegin, Unqualified, User,
};
use shardwright_topology::model::{CountHitsBy, OriginId, ShardMap, Topology};

use crate::conditions::Conditions;
use crate::diagnostics::{DIFFERENCE, Diagnostics, UNSUPPORTED};
use crate::key_patterns::ColumnPatterns;
use crate::key_patterns::{self, KeyPatterns, SHAPES};
use crate::program::{Program, Section};
use crate::statement_patterns::Wording;
use crate::traffic::Traffic;
pub(crate) use entry::{Entry, Values};
pub(crate) use hits::entry_of;
pub(crate) use layouts::EntryWeights;
pub(crate) use layouts::key_count;
use memory::Memory;
pub(crate) use memory::shaped_name;
pub(crate) use session_split::split_name;

/// What a layout is chosen by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlanInput<'a> {
    /// The engine's prices.
    pub price: Price,
    /// How the engine's patterns are written.
    pub wording: Wording,
    /// What live systems have, without the trees that are laid out anew.
    pub lock: &'a Lock,
    /// The same with them: hit counters name their rules.
    pub counted: &'a Lock,
    /// How often keys are asked for; none: all alike.
    pub traffic: Option<&'a Traffic>,
}

/// How the keys of a map are laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Layout {
    /// In no rule: the engine looks them up.
    #[default]
    Dispatch,
    /// In chains of rules.
    Tree,
    /// In one chain.
    Flat,
    /// In rows of fast routing.
    FastRouting,
}

impl Layout {
    /// As the language and the figures call it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Layout::Dispatch => "dispatch",
            Layout::Tree => "tree",
            Layout::Flat => "flat",
            Layout::FastRouting => "fast_routing",
        }
    }
}

/// What was decided about one map.
#[derive(Debug, Default)]
pub(crate) struct MapPlan {
    /// How its key is read; `None` when the engine cannot, which is reported.
    pub reading: Option<KeyReading>,
    /// Keys of a comment in order, each with its shard; empty without a comment finder.
    pub entries: Vec<Entry>,
    /// How much each entry counts.
    pub weights: EntryWeights,
    /// The nodes of the root chain of the tree.
    pub shape: Vec<Node>,
    /// How its keys are laid out.
    pub layout: Layout,
    /// The layouts that were compared, cheapest first, without their shapes.
    pub candidates: Vec<Candidate>,
    /// Rules for the names of schemas name writers, and the read/write split stands behind them, once for each cluster. Else
    /// these rules stand twice behind the split. The lock keeps the choice, where there is one.
    pub splits_behind: Option<bool>,
}

/// How the key of a map is read.
#[derive(Clone, Debug)]
pub(crate) struct KeyReading {
    /// In a comment.
    pub comment: Option<KeyPatterns>,
    /// In a column; never together with a name.
    pub column: Option<ColumnPatterns>,
    /// In the name of the session's schema.
    pub schema: Option<KeyTemplate>,
    /// In the name of the user; never together with `schema`.
    pub user: Option<KeyTemplate>,
}

impl KeyReading {
    /// The patterns that say which keys can be read in statements.
    fn of_statements(&self) -> Option<&KeyPatterns> {
        let column = self.column.as_ref().map(|column| &column.key);
        self.comment.as_ref().or(column)
    }
}

impl MapPlan {
    /// Whether rules for the names of schemas name writers, in front of the split.
    pub(crate) fn splits_behind(&self) -> bool {
        self.splits_behind.unwrap_or(false)
    }
}

/// A plan for every map of the program.
pub(crate) fn plans(
    program: &Program,
    topology: &Topology,
    planning: PlanInput<'_>,
    report: &mut Diagnostics<'_>,
) -> Vec<MapPlan> {
    program
        .maps
        .iter()
        .map(|section| {
            let map = topology
                .shard_maps
                .get_named(&section.step.map)
                .expect("the section was made from it");
            plan(section, map, program, planning, report)
        })
        .collect()
}

/// The plan of one map.
pub(crate) fn plan(
    section: &Section<Box<MapStep>>,
    map: &ShardMap,
    program: &Program,
    planning: PlanInput<'_>,
    report: &mut Diagnostics<'_>,
) -> MapPlan {
    let step = &*section.step;
    check(section, program, report);
    sessions::check(section, map, report);
    let reading = reading(section.origin, step, planning.wording, report);
    let splits_behind =
        session_split::splits_behind(section, reading.as_ref(), program, planning.lock, report.engine);
    let Some(key) = reading.as_ref().and_then(KeyReading::of_statements) else {
        let by_user = reading.as_ref().is_some_and(|reading| reading.user.is_some());
        let chosen =
            layouts::layout_of_names(section, map.rule_layout, by_user, program, planning.price, report);
        return MapPlan {
            reading,
            splits_behind,
            layout: chosen.layout,
            candidates: chosen.candidates,
            ..MapPlan::default()
        };
    };
    let unguarded = |user: &User| user.annotations_allowed && section.scope.users.contains(&user.name);
    let lets_pass = step
        .every_missing()
        .any(|missing| missing.statements != MissingAction::Reject);
    if lets_pass && program.users.iter().any(unguarded) {
        let what = "rules see a statement only up to its first NUL byte: a key after it is not found, and missing_key decides";
        report.difference(section.origin, "missing_key", what);
    }
    let memory = Memory::of(section, planning, report.engine);
    let by_shard = map.count_hits_by == CountHitsBy::Shard
        || report.engine == EngineId::Bundled
        || removes_predicates(&reading);
    let entries = entries::entries(step, map, key, by_shard, &memory, report);
    let counts = hits::HitSource {
        section,
        clusters: &program.clusters,
        memory: &memory,
    };
    let weights = EntryWeights::of(planning.traffic, counts, &entries, report);
    let kept = memory.shape(&entries, planning.price);
    let chosen = layouts::layout(
        section,
        map.rule_layout,
        weights.measure(planning.price),
        kept,
        report,
    );
    MapPlan {
        reading,
        entries,
        weights,
        splits_behind,
        shape: chosen.shape,
        layout: chosen.layout,
        candidates: chosen.candidates,
    }
}

/// What a map asks for besides its finders.
fn check(section: &Section<Box<MapStep>>, program: &Program, report: &mut Diagnostics<'_>) {
    let (step, origin) = (&*section.step, section.origin);
    if step.remainder.is_some() {
        report.unsupported(origin, "key.modulo", "place by the remainder of a key");
    }
    if let Err(what) = Conditions::of(&section.scope, &program.users) {
        report.unsupported(origin, "applies_to", what);
    }
    check_begin(section, "missing_key.begin", step.missing.begin, report);
    for (user, missing) in &step.missing_by_user {
        if missing.begin != step.missing.begin {
            let field = format!("missing_key.by_user.{user}.begin");
            check_begin(section, &field, missing.begin, report);
        }
    }
    let writes_schemas = step.shards.iter().any(|shard| shard.schema.is_some());
    if step.logical_schema.is_some() && writes_schemas && step.unqualified == Unqualified::Qualify {
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
    let index = |wanted: fn(&Finder) -> bool| step.finders.iter().position(wanted);
    let (schema, comment) = (
        index(|finder| matches!(finder, Finder::Schema { .. })),
        index(|finder| matches!(finder, Finder::Comment { .. })),
    );
    if step.conflict == Conflict::First && schema.is_some_and(|schema| comment.is_some_and(|at| schema < at))
    {
        let what = "take the key of a schema's name before that of a comment";
        report.unsupported(origin, "conflict", what);
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

/// What BEGIN without a key asks for.
fn check_begin(
    section: &Section<Box<MapStep>>,
    field: &str,
    begin: MissingBegin,
    report: &mut Diagnostics<'_>,
) {
    let origin = section.origin;
    match begin {
        MissingBegin::Reject => {}
        MissingBegin::FirstStatement => {
            let what = "open a transaction where its first statement with a key goes";
            report.unsupported(origin, field, what);
        }
        MissingBegin::Allow => {
            let placed = section.step.shards.iter().filter(|shard| shard.refuse.is_none());
            let clusters: BTreeSet<&str> = placed.filter_map(|shard| shard.cluster.as_deref()).collect();
            if clusters.len() > 1 {
                let what = "let BEGIN pass without a key: the transaction would stay on the user's cluster, whatever keys follow";
                report.unsupported(origin, field, what);
            }
        }
    }
}

/// How the key is read, of the finders that the engine has; the others are reported.
fn reading(
    origin: OriginId,
    step: &MapStep,
    wording: Wording,
    report: &mut Diagnostics<'_>,
) -> Option<KeyReading> {
    let mut reading = KeyReading {
        comment: None,
        column: None,
        schema: None,
        user: None,
    };
    for (at, finder) in step.finders.iter().enumerate() {
        let field = format!("key_from[{at}]");
        match finder {
            Finder::Comment { .. } if reading.comment.is_some() => {
                report.unsupported(origin, &field, "compare the keys of two kinds of comment");
            }
            Finder::Comment { word, .. } if !key_patterns::is_searchable(word) => {
                report.unsupported(
                    origin,
                    &field,
                    "search for a word that begins or ends with a dash",
                );
            }
            Finder::Comment { word, form } => {
                if *form == CommentForm::Sqlcommenter {
                    let what =
                        "a statement is refused when its key, or the word before it, has a percent sign";
                    report.difference(origin, &field, what);
                }
                let spaced = step.shards.iter().flat_map(|shard| &shard.keys).any(is_spaced);
                reading.comment = Some(KeyPatterns::new(word, form, step.kind, spaced, wording));
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
            Finder::User { .. } | Finder::Schema { .. } if reading.column.is_some() => {
                report.unsupported(origin, &field, "compare the keys of names with those of columns");
            }
            Finder::User { template } => reading.user = Some(template.clone()),
            Finder::Schema { template } => reading.schema = Some(template.clone()),
            Finder::Column { .. } if reading.column.is_some() => {
                report.unsupported(origin, &field, "compare the keys of two columns");
            }
            Finder::Column { .. } if reading.schema.is_some() || reading.user.is_some() => {
                report.unsupported(origin, &field, "compare the keys of names with those of columns");
            }
            Finder::Column { .. } if step.otherwise.is_some() => {
                let what = "hand statements on to another map from one that finds its key in a column";
                report.unsupported(origin, "otherwise", what);
            }
            Finder::Column { column, in_shards } => {
                let schema = step.logical_schema.as_deref().unwrap_or_default();
                reading.column = ColumnPatterns::new(column, schema, step.kind, *in_shards, wording);
                if reading.column.is_some() {
                    let stated = !step.tables.is_empty();
                    report_shapes(origin, &field, column, *in_shards, stated, report);
                } else {
                    let what = format!(
                        "find a key in predicates on `{column}` of `{schema}`: its patterns spell ASCII letters, digits and _"
                    );
                    report.unsupported(origin, &field, &what);
                }
            }
        }
    }
    let reads = reading.of_statements().is_some() || reading.schema.is_some() || reading.user.is_some();
    reads.then_some(reading)
}

/// Whether the shards' tables do not have the key's column: then what a rule does depends on how many keys a shard has.
fn removes_predicates(reading: &Option<KeyReading>) -> bool {
    let column = reading.as_ref().and_then(|reading| reading.column.as_ref());
    column.is_some_and(|column| column.in_shards == InShards::Absent)
}

fn is_spaced(key: &KeyValue) -> bool {
    match key {
        KeyValue::Text(text) => key_patterns::is_spaced(text),
        KeyValue::Integer(_) => false,
    }
}

/// Tells which statements the engine will not place, and that it trusts views unless the map states its tables.
fn report_shapes(
    origin: OriginId,
    field: &str,
    column: &str,
    in_shards: InShards,
    tables_are_stated: bool,
    report: &mut Diagnostics<'_>,
) {
    let inserts = match in_shards {
        InShards::Present => format!("; and single-row INSERTs that list {column} first"),
        InShards::Absent => "; INSERTs and `SELECT *`".to_owned(),
    };
    let (placed, refused) = match in_shards {
        InShards::Present => (inserts.as_str(), ""),
        InShards::Absent => ("", inserts.as_str()),
    };
    let views = if tables_are_stated {
        ""
    } else {
        ". A view is taken for a table, because this engine cannot ask: state the map's `tables`"
    };
    let message = format!(
        "on {}, a key in column {column} is found in SELECT, UPDATE and DELETE with `{column} = literal` and of this shape: \
         {SHAPES}{placed}. Other statements of the logical schema are refused{refused}, prepared statements too{views}",
        report.engine
    );
    report.add(Severity::Warning, DIFFERENCE, origin, field, message);
}
