//! The meaning of a rule graph, fast: a routing table that answers as the evaluator does.
//!
//! The walk is [`shardwright_rules::decide`]'s own; what differs is how it looks things up. Chains are indexed by flag,
//! shards by key, users, clusters and fast routing by name, so that a decision costs the same at 10 shards and at
//! 100,000. What a proxy asks of every statement, [`RoutingTable::dispatch`], goes a shorter way still where it can.

mod chains;
mod direct;
mod families;
mod integers;
mod shards;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;
use shardwright_rules::decide::{Index, RulePatterns, ShardOfKey, decide};
use shardwright_rules::{
    Cluster, Configuration, Decision, Dispatch, FastRoute, HostgroupId, KeyRef, Rule, SessionView, Shard,
    Statement, User,
};

use crate::chains::Chains;
use crate::direct::Direct;
use crate::families::{Families, Recall};
use crate::shards::{Owner, ShardIndex};

/// Decisions after which patterns are matched together.
const OFTEN: u32 = 32;

/// A configuration prepared for deciding.
#[derive(Debug)]
pub struct RoutingTable {
    configuration: Arc<Configuration>,
    patterns: Vec<Arc<RulePatterns>>,
    chains: Chains,
    /// Made when the table has been asked often.
    families: Arc<OnceLock<Families>>,
    asked: AtomicU32,
    /// By position of the map's rule.
    shards: Vec<Option<Box<ShardIndex>>>,
    users: FxHashMap<String, KnownUser>,
    clusters: FxHashMap<Arc<str>, usize>,
    cluster_of: FxHashMap<HostgroupId, usize>,
    /// By schema and flag, then by user.
    fast_routes: FxHashMap<(String, u32), FxHashMap<String, usize>>,
}

#[derive(Debug)]
struct KnownUser {
    /// Position in [`Configuration::users`].
    position: usize,
    direct: Option<Box<Direct>>,
}

impl RoutingTable {
    /// Builds the table; its size and time grow with the configuration's.
    pub fn new(configuration: Arc<Configuration>) -> Self {
        let patterns = RulePatterns::of(&configuration);
        Self::with(configuration, patterns.into_iter().map(Arc::new).collect())
    }

    /// Makes every pattern fast at once, and not after it has been asked often: for those who answer clients.
    #[must_use]
    pub fn prepared(self) -> Self {
        self.families.get_or_init(|| self.find_families());
        self.patterns.iter().for_each(|patterns| patterns.prepare());
        self
    }

    /// The table of a configuration that differs in few rules: the patterns of rules that are in both, by id, are not
    /// compiled again.
    #[must_use]
    pub fn changed(&self, configuration: Arc<Configuration>) -> Self {
        let before = &self.configuration;
        let known = |rule: &Rule| {
            let rules = &before.graph.rules;
            let at = rules.binary_search_by_key(&rule.id, |rule| rule.id).ok()?;
            RulePatterns::are_shared((&rules[at], before), (rule, &configuration))
                .then(|| Arc::clone(&self.patterns[at]))
        };
        let rules = configuration.graph.rules.iter();
        let patterns: Vec<Arc<RulePatterns>> = rules
            .map(|rule| known(rule).unwrap_or_else(|| Arc::new(RulePatterns::of_rule(rule, &configuration))))
            .collect();
        let has_same_families = self.has_same_families(&configuration, &patterns);
        let mut changed = Self::with(configuration, patterns);
        if has_same_families {
            changed.families = Arc::clone(&self.families);
        }
        changed
    }

    /// Whether rules with these patterns have the families of this table, and the same runs.
    fn has_same_families(&self, configuration: &Configuration, patterns: &[Arc<RulePatterns>]) -> bool {
        let (rules, others) = (&self.configuration.graph.rules, &configuration.graph.rules);
        let alike = |(at, (rule, other)): (usize, (&Rule, &Rule))| {
            let shared = Arc::ptr_eq(&self.patterns[at], &patterns[at]);
            shared && Families::stand_alike((rule, &self.patterns[at]), (other, &patterns[at]))
        };
        rules.len() == others.len() && rules.iter().zip(others).enumerate().all(alike)
    }

    fn with(configuration: Arc<Configuration>, patterns: Vec<Arc<RulePatterns>>) -> Self {
        let mut cluster_of = FxHashMap::default();
        for (position, cluster) in configuration.clusters.iter().enumerate() {
            for hostgroup in [Some(cluster.writer), cluster.reader].into_iter().flatten() {
                cluster_of.entry(hostgroup).or_insert(position);
            }
        }
        let clusters = first_positions(configuration.clusters.iter().map(|cluster| cluster.name.clone()));
        let owner = |name: &str| {
            let &position = clusters.get(name)?;
            let writer = configuration.clusters[position].writer;
            let is_sole = cluster_of.get(&writer) == Some(&position);
            Some(Owner { writer, is_sole })
        };
        let shards = shards::indexes(&configuration.graph, owner);
        let mut fast_routes: FxHashMap<(String, u32), FxHashMap<String, usize>> = FxHashMap::default();
        for (position, row) in configuration.graph.fast_routing.iter().enumerate() {
            let rows = fast_routes
                .entry((row.schemaname.clone(), row.flag_in))
                .or_default();
            rows.entry(row.username.clone()).or_insert(position);
        }
        let chains = Chains::of(&configuration.graph);
        let mut users = FxHashMap::default();
        for (position, user) in configuration.users.iter().enumerate() {
            users.entry(user.name.clone()).or_insert_with(|| KnownUser {
                position,
                direct: Direct::of(&configuration, &shards, chains.of_flag_0(), &user.name).map(Box::new),
            });
        }
        Self {
            patterns,
            chains,
            families: Arc::default(),
            asked: AtomicU32::new(0),
            shards,
            users,
            clusters,
            cluster_of,
            fast_routes,
            configuration,
        }
    }

    /// Where `statement` of `session` goes; the human-readable path stays empty.
    pub fn decide(&self, session: &SessionView<'_>, statement: &Statement<'_>) -> Decision {
        self.walk(session, statement, false)
    }

    fn walk(&self, session: &SessionView<'_>, statement: &Statement<'_>, explain: bool) -> Decision {
        match self.families() {
            Some(families) => decide(&Recall::new(self, families), session, statement, explain),
            None => decide(self, session, statement, explain),
        }
    }

    /// The patterns that are matched together, where there are any and the table has been asked often.
    fn families(&self) -> Option<&Families> {
        let families = match self.families.get() {
            Some(families) => families,
            None if self.asked.fetch_add(1, Ordering::Relaxed) < OFTEN => return None,
            None => self.families.get_or_init(|| self.find_families()),
        };
        (!families.is_empty()).then_some(families)
    }

    fn find_families(&self) -> Families {
        Families::among(&self.configuration.graph, &self.patterns)
    }

    /// Where `statement` of `session` goes, without names: what [`RoutingTable::decide`] answers, as a proxy needs it.
    pub fn dispatch(&self, session: &SessionView<'_>, statement: &Statement<'_>) -> Dispatch {
        match self.directly(session, statement) {
            Some((direct, writer)) => direct.dispatch(writer),
            None => self.decide(session, statement).into(),
        }
    }

    fn directly(
        &self,
        session: &SessionView<'_>,
        statement: &Statement<'_>,
    ) -> Option<(&Direct, HostgroupId)> {
        let direct = self.users.get(session.user)?.direct.as_deref()?;
        if !Direct::is_usual(session) {
            return None;
        }
        let key = direct.key(statement)?;
        let shards = self.shards.get(direct.map)?.as_deref()?;
        Some((direct, shards.writer(&key)?))
    }

    /// Where `statement` of `session` goes, and why.
    pub fn explain(&self, session: &SessionView<'_>, statement: &Statement<'_>) -> Decision {
        self.walk(session, statement, true)
    }
}

/// Where each name stands first.
fn first_positions<K: std::hash::Hash + Eq>(names: impl Iterator<Item = K>) -> FxHashMap<K, usize> {
    let mut positions = FxHashMap::default();
    for (position, name) in names.enumerate() {
        positions.entry(name).or_insert(position);
    }
    positions
}

impl Index for RoutingTable {
    fn configuration(&self) -> &Configuration {
        &self.configuration
    }

    fn patterns(&self, position: usize) -> &RulePatterns {
        &self.patterns[position]
    }

    fn next_rule(&self, flag: u32, from: usize) -> Option<usize> {
        self.chains.next(flag, from)
    }

    fn user(&self, name: &str) -> Option<&User> {
        self.users
            .get(name)
            .map(|known| &self.configuration.users[known.position])
    }

    fn cluster(&self, name: &str) -> Option<&Cluster> {
        self.clusters
            .get(name)
            .map(|&position| &self.configuration.clusters[position])
    }

    fn cluster_of(&self, hostgroup: HostgroupId) -> Option<&Cluster> {
        self.cluster_of
            .get(&hostgroup)
            .map(|&position| &self.configuration.clusters[position])
    }

    fn shard(&self, position: usize, key: &KeyRef<'_>) -> Option<ShardOfKey<'_>> {
        let index = self.shards.get(position)?.as_ref()?;
        let mut place = index.of_key(key, self.map(position)?)?;
        if place.writer.is_none() {
            let cluster = place.shard.cluster.as_deref().and_then(|name| self.cluster(name));
            place.writer = cluster.map(|cluster| cluster.writer);
        }
        Some(place)
    }

    fn shard_of_schema(&self, position: usize, name: &str) -> Option<&Shard> {
        let shard = self.shards.get(position)?.as_ref()?.of_schema(name)?;
        self.map(position)?.shards.get(shard)
    }

    fn fast_route(&self, user: &str, schema: &str, flag: u32) -> Option<&FastRoute> {
        if self.fast_routes.is_empty() {
            return None;
        }
        let position = *self.fast_routes.get(&(schema.to_owned(), flag))?.get(user)?;
        self.configuration.graph.fast_routing.get(position)
    }
}
