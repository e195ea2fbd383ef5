//! The topology in the words of `rules`: what every engine's rules are made from.

mod cluster;
pub(crate) mod effects;
pub(crate) mod firewall;
mod globals;
mod map;
pub(crate) mod patterns;
mod policy;
mod raw;
mod scope;
pub(crate) mod statement_route;
mod user;

pub(crate) use globals::Globals;

use std::collections::{BTreeMap, BTreeSet};

use shardwright_ids::Lock;
use shardwright_rules::{
    Address, Cluster, EngineRule, FastRoute, Hostgroup, HostgroupId, MapStep, RefusingHostgroup, Role,
    RoleStep, Scope, User,
};
use shardwright_topology::model::{self as model, BlockPlace, OnUnsupported, OriginId};

use crate::diagnostics::Diagnostics;
use effects::Effect;
use firewall::UserFirewall;
use statement_route::StatementEnd;

/// Everything that routes, before it is laid out in rules.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    /// By name.
    pub clusters: Vec<Cluster>,
    /// By id.
    pub hostgroups: Vec<Hostgroup>,
    /// By name.
    pub users: Vec<User>,
    /// The names of users who only read, and where they are written.
    pub readers: BTreeMap<String, OriginId>,
    /// A map stands before those that its `otherwise` leads to; else written order.
    pub maps: Vec<Section<Box<MapStep>>>,
    /// In written order; the first that matches counts.
    pub statement_routes: Vec<Section<StatementEnd>>,
    /// In written order.
    pub roles: Vec<Section<RoleStep>>,
    /// The policies that send what they match to readers, whatever it is.
    pub unproven: BTreeSet<Address>,
    /// Later ones win over earlier ones.
    pub effects: Vec<Section<Effect>>,
    /// By user.
    pub firewall: Vec<UserFirewall>,
    /// In written order.
    pub blocks: Vec<RawBlock>,
    /// Settings that do not route.
    pub globals: Globals,
}

/// A step with its scope and where it was written.
#[derive(Clone, Debug)]
pub(crate) struct Section<T> {
    /// Where.
    pub origin: OriginId,
    /// What people call it.
    pub address: Address,
    /// The statements that it is about.
    pub scope: Scope,
    /// What to do for an engine that cannot.
    pub on_unsupported: OnUnsupported,
    /// The step.
    pub step: T,
}

/// Raw rules that stand together.
#[derive(Clone, Debug)]
pub(crate) struct RawBlock {
    /// Where it was written.
    pub origin: OriginId,
    /// Where it stands among the others.
    pub at: BlockPlace,
    /// Whether effects that name no cluster are set in front of its rules.
    pub behind_effects: bool,
    /// Active rules in order.
    pub rules: Vec<RawRow>,
    /// Rows of fast routing.
    pub routes: Vec<RawRoute>,
    /// Hostgroups that refuse, with where they were written.
    pub refusing: Vec<(OriginId, RefusingHostgroup)>,
}

/// A row of fast routing as it is written.
#[derive(Clone, Debug)]
pub(crate) struct RawRoute {
    /// Where it was written.
    pub origin: OriginId,
    /// The row.
    pub route: FastRoute,
}

/// A raw rule with the columns that are not part of [`EngineRule`].
#[derive(Clone, Debug)]
pub(crate) struct RawRow {
    /// Where it was written.
    pub origin: OriginId,
    /// `query_rules.legacy.rules[0]`
    pub address: Address,
    /// The written id.
    pub rule_id: Option<u32>,
    /// The chain that it is part of.
    pub flag_in: u32,
    /// The row.
    pub rule: EngineRule,
}

impl Program {
    /// Whether a block stands beside an object where there are routes: it may be among these.
    pub(crate) fn may_stand_among_routes(&self, block: &RawBlock) -> bool {
        let stands_beside = matches!(block.at, BlockPlace::Before(_) | BlockPlace::After(_));
        stands_beside && !self.statement_routes.is_empty()
    }

    /// Whether rows of fast routing are written for statements that nothing has placed.
    pub(crate) fn routes_what_is_left(&self) -> bool {
        let rows = self.blocks.iter().flat_map(|block| &block.routes);
        rows.into_iter().any(|row| row.route.flag_in == 0)
    }

    /// The first row of fast routing that is written.
    pub(crate) fn first_written_route(&self) -> Option<&RawRoute> {
        self.blocks.iter().flat_map(|block| &block.routes).next()
    }

    /// Reads a topology; `lock` keeps the numbers of hostgroups.
    pub(crate) fn of(project: &model::Project, lock: &mut Lock, report: &mut Diagnostics<'_>) -> Self {
        let topology = &project.topology;
        let compiled = cluster::compiled(topology, &project.file.ids, lock, report);
        let (clusters, hostgroups) = (compiled.clusters, compiled.hostgroups);
        let hostgroup_of =
            |id: model::ClusterId, role: Role| hostgroup(&clusters, &topology.cluster(id).name, role);
        let mut users: Vec<User> = topology
            .users
            .iter()
            .map(|user| {
                let cluster = topology.cluster(user.cluster);
                let hostgroup = match user.server_name(cluster) {
                    Some(name) => hostgroup(&clusters, &name, Role::Writer),
                    None => hostgroup_of(user.cluster, user.role),
                };
                user::user(user, hostgroup, report)
            })
            .collect();
        users.sort_by(|a, b| a.name.cmp(&b.name));
        let maps = map::sections(topology, report);
        let statement_routes = statement_route::routes(topology, report);
        let roles = policy::roles(topology, report);
        let unproven = policy::unproven(topology, report);
        let mut effects = effects::effects(topology, &hostgroup_of, report);
        let firewall = firewall::users(topology, report);
        let blocks = raw::blocks(topology, &hostgroup_of, report);
        if !firewall.is_empty() {
            firewall::refuse_mirrors(&mut effects, &blocks, report);
        }
        let globals = globals::globals(topology, report);
        Self {
            clusters,
            hostgroups,
            users,
            readers: readers(topology),
            maps,
            statement_routes,
            roles,
            unproven,
            effects,
            firewall,
            blocks,
            globals,
        }
    }

    /// The program as users who only read meet it: readers stand in the place of every cluster's writer.
    pub(crate) fn of_readers(&self) -> Self {
        let mut program = self.clone();
        for cluster in &mut program.clusters {
            cluster.writer = cluster.reader.take().unwrap_or(cluster.writer);
        }
        program.roles.clear();
        program
    }

    /// The cluster that something refers to.
    pub(crate) fn resolved_cluster(&self, name: &str) -> &Cluster {
        self.cluster(name).expect("references are resolved")
    }

    /// The cluster of a user.
    pub(crate) fn cluster_of(&self, user: &User) -> Option<&Cluster> {
        self.clusters
            .iter()
            .find(|cluster| cluster.owns(user.default_hostgroup))
    }

    /// The cluster of this name.
    pub(crate) fn cluster(&self, name: &str) -> Option<&Cluster> {
        let at = self
            .clusters
            .binary_search_by(|cluster| (*cluster.name).cmp(name))
            .ok()?;
        Some(&self.clusters[at])
    }
}

/// Users who only read.
fn readers(topology: &model::Topology) -> BTreeMap<String, OriginId> {
    let users = topology.users.iter().filter(|user| user.reads_only);
    users.map(|user| (user.login.to_string(), user.origin)).collect()
}

/// The hostgroup of a role of a cluster; clusters without readers of their own read from the writer.
fn hostgroup(clusters: &[Cluster], name: &str, role: Role) -> HostgroupId {
    let at = clusters
        .binary_search_by(|cluster| (*cluster.name).cmp(name))
        .expect("references are resolved, and every cluster has hostgroups");
    let cluster = &clusters[at];
    match role {
        Role::Writer => cluster.writer,
        Role::Reader => cluster.reader.unwrap_or(cluster.writer),
    }
}
