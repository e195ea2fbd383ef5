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
pub(crate) mod route_tests;
pub(crate) mod scope;
pub(crate) mod server;
pub(crate) mod shard;
pub(crate) mod shard_map;
pub(crate) mod throttle;
pub(crate) mod user;
mod values;

use rustc_hash::FxHashMap;
use std::sync::Arc;

use crate::context::Context;
use crate::model::{ClusterId, OriginId, Table, Topology};
use crate::view::{Field, View};

/// What of the topology is known when a later section refers to it. A name without an object is one whose object
/// could not be read, which has been reported.
#[derive(Default)]
pub(crate) struct Known {
    pub(crate) clusters: FxHashMap<Arc<str>, Option<ClusterId>>,
    pub(crate) users: FxHashMap<Arc<str>, Option<OriginId>>,
    /// By port.
    pub(crate) listeners: FxHashMap<Arc<str>, Option<u16>>,
}

/// Resolves everything under `topology/`.
pub(crate) fn topology(root: Option<&View<'_>>, context: &mut Context<'_>) -> Topology {
    let Some(root) = root else {
        return Topology::default();
    };
    let mut known = Known::default();
    let section = |name: &str| root.get(name);
    let mut topology = Topology {
        clusters: Table::new(cluster::clusters(section("clusters"), &mut known, context)),
        ..Topology::default()
    };
    topology.users = Table::new(user::users(section("users"), &mut known, context));
    topology.listeners = Table::new(listener::listeners(section("listeners"), &mut known, context));
    topology.shard_maps = Table::new(shard_map::shard_maps(section("shard_maps"), &known, context));
    topology.read_write_policies =
        Table::new(policy::policies(section("read_write_policies"), &known, context));
    topology.throttles = Table::new(throttle::throttles(section("throttles"), &known, context));
    topology.pooling_exceptions = Table::new(effects::pooling(section("pooling"), &known, context));
    topology.caches = Table::new(effects::caches(section("caches"), &known, context));
    topology.mirrors = Table::new(effects::mirrors(section("mirrors"), &known, context));
    topology.firewall = Table::new(firewall::firewall(section("firewall"), &known, context));
    topology.query_rules = Table::new(query_rules::blocks(section("query_rules"), &known, context));
    topology.monitor = monitor::monitor(section("monitor"), context);
    topology.engine_settings = engine_settings::engine_settings(section("engine_settings"), context);
    topology.moves = moves::moves(section("moves"), &topology, &known, context);
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
