//! From merged trees to typed objects: generators run, templates expand, references are looked up.

pub(crate) mod capacity;
pub(crate) mod cluster;
pub(crate) mod effects;
pub(crate) mod engine_settings;
pub(crate) mod finder;
pub(crate) mod firewall;
mod instances;
pub(crate) mod key;
pub(crate) mod lint;
pub(crate) mod listener;
pub(crate) mod logins;
pub(crate) mod monitor;
pub(crate) mod moves;
mod names;
mod object;
pub(crate) mod overrides;
pub(crate) mod ownership;
mod partition;
pub(crate) mod policy;
pub(crate) mod project;
pub(crate) mod query_rules;
mod raw_rows;
pub(crate) mod route_tests;
pub(crate) mod scope;
pub(crate) mod server;
pub(crate) mod shard;
pub(crate) mod shard_map;
pub(crate) mod statement_route;
pub(crate) mod throttle;
pub(crate) mod user;
mod values;

use rustc_hash::FxHashMap;
use std::sync::Arc;

use crate::fields::{AnyField, object};
use crate::model::{ClusterId, OriginId, Table, Topology};
use crate::tree::context::Context;
use crate::tree::variables;
use crate::tree::view::{Field, View};

object! {
    pub(crate) mod root = "A shardwright topology: clusters, users, shard maps, policies. Maps merge over any number of files.";
    VERSION: Custom = version();
    VARIABLES: Map = map(
        "variables",
        "Values that `$(var.NAME)` stands for.",
        Shaped::Object(&variables::declared::FIELDS),
    )
        .defines("variables");
    CLUSTERS: Map = map(
        "clusters",
        "Groups of servers that hold the same data.",
        Shaped::Generated(&cluster::cluster::FIELDS),
    )
        .defines("clusters");
    USERS: Map = map(
        "users",
        "Accounts that clients log in with, by name.",
        Shaped::Generated(&user::user::FIELDS),
    )
        .defines("users");
    SHARD_MAPS: Map = map(
        "shard_maps",
        "Where statements carry their keys, and where each shard is.",
        Shaped::Generated(&shard_map::shard_map::FIELDS),
    )
        .defines("shard_maps");
    READ_WRITE_POLICIES: Map = map(
        "read_write_policies",
        "Which statements may leave the writer.",
        Shaped::Generated(&policy::policy::FIELDS),
    )
        .defines("read_write_policies");
    ROUTES: Map = map(
        "routes",
        "Statements that go to a cluster, or are refused, before any shard map or policy sees them.",
        Shaped::Generated(&statement_route::route::FIELDS),
    )
        .defines("routes");
    THROTTLES: Map = map(
        "throttles",
        "Which statements are slowed, and when.",
        Shaped::Generated(&throttle::throttle::FIELDS),
    )
        .defines("throttles");
    QUERY_RULES: Map = map(
        "query_rules",
        "Rules in the engine's own columns, in ordered blocks.",
        Shaped::Generated(&query_rules::block::FIELDS),
    )
        .defines("query_rules");
    POOLING: Part = part("pooling", &effects::pooling::FIELDS);
    CACHES: Map = map(
        "caches",
        "Reads whose results are cached for some time.",
        Shaped::Generated(&effects::cache::FIELDS),
    )
        .defines("caches");
    MIRRORS: Map = map(
        "mirrors",
        "Statements that are also copied to a second cluster.",
        Shaped::Generated(&effects::mirror::FIELDS),
    )
        .defines("mirrors");
    FIREWALL: Map = map(
        "firewall",
        "Statements that users may send, by the name of the user.",
        Shaped::Generated(&firewall::firewall::FIELDS),
    )
        .keys(refers::USERS);
    ENGINE_SETTINGS: Custom = custom(
        "engine_settings",
        "Variables of the engines themselves, by the name of the engine.",
        engine_settings::schema,
    );
    MONITOR: Part = part("monitor", &monitor::account::FIELDS);
    LISTENERS: Map = map(
        "listeners",
        "Ports that clients connect to, by the name that a `match` uses.",
        Shaped::Generated(&listener::listener::FIELDS),
    )
        .defines("listeners");
    MOVES: Map = map(
        "moves",
        "Shards that move from one cluster to another, by MAP/SHARD.",
        Shaped::Object(&moves::shard_move::FIELDS),
    )
        .keys(refers::SHARD);
}

use self::listener::ListenerPlace;

/// What of the topology is known when a later section refers to it. A name without an object is one whose object
/// could not be read, which has been reported.
#[derive(Default)]
pub(crate) struct Defined {
    pub(crate) clusters: FxHashMap<Arc<str>, Option<ClusterId>>,
    pub(crate) users: FxHashMap<Arc<str>, Option<OriginId>>,
    pub(crate) listeners: FxHashMap<Arc<str>, Option<ListenerPlace>>,
}

/// Resolves everything under `topology/`.
pub(crate) fn topology(root: Option<&View<'_>>, context: &mut Context<'_>) -> Topology {
    let Some(root) = root else {
        return Topology::default();
    };
    let mut defined = Defined::default();
    let section = |field: &dyn AnyField| root.get(field.name());
    let mut topology = Topology {
        clusters: Table::new(cluster::clusters(section(&root::CLUSTERS), &mut defined, context)),
        ..Topology::default()
    };
    topology.users = Table::new(user::users(
        section(&root::USERS),
        &topology.clusters,
        &mut defined,
        context,
    ));
    logins::check(&topology.users, &user::user::LOGIN, context);
    topology.listeners = Table::new(listener::listeners(
        section(&root::LISTENERS),
        &mut defined,
        context,
    ));
    topology.shard_maps = Table::new(shard_map::shard_maps(
        section(&root::SHARD_MAPS),
        &defined,
        context,
    ));
    user::check_servers(&topology.users, &topology.shard_maps, &topology.clusters, context);
    topology.read_write_policies = Table::new(policy::policies(
        section(&root::READ_WRITE_POLICIES),
        &defined,
        context,
    ));
    topology.routes = Table::new(statement_route::routes(section(&root::ROUTES), &defined, context));
    topology.throttles = Table::new(throttle::throttles(section(&root::THROTTLES), &defined, context));
    let (pooling, exceptions) = effects::pooling(section(&root::POOLING), &defined, context);
    topology.pooling = pooling;
    topology.pooling_exceptions = Table::new(exceptions);
    topology.caches = Table::new(effects::caches(section(&root::CACHES), &defined, context));
    topology.mirrors = Table::new(effects::mirrors(section(&root::MIRRORS), &defined, context));
    topology.firewall = Table::new(firewall::firewall(section(&root::FIREWALL), &defined, context));
    topology.query_rules = Table::new(query_rules::blocks(
        section(&root::QUERY_RULES),
        &defined,
        context,
    ));
    topology.monitor = monitor::monitor(section(&root::MONITOR), context);
    topology.engine_settings = engine_settings::engine_settings(section(&root::ENGINE_SETTINGS), context);
    topology.moves = moves::moves(section(&root::MOVES), &topology, &defined, context);
    topology
}

/// The section as an object of [`crate::model::Origins`].
fn section_origin(field: &Field<'_>, context: &mut Context<'_>) -> OriginId {
    let definition = context
        .origins
        .define(field.key.span, field.value.span(), Vec::new());
    let name = context.intern(&field.key.text);
    context.origins.add_named(None, name, definition, None)
}
