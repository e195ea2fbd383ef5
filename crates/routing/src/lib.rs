//! The meaning of a rule graph, fast: a routing table that answers as the evaluator does.
//!
//! The walk is [`shardwright_rules::decide`]'s own; what differs is how it looks things up. Chains are indexed by flag,
//! shards by key, users, clusters and fast routing by name, so that a decision costs the same at 10 shards and at
//! 100,000. What a proxy asks of every statement, [`RoutingTable::dispatch`], goes a shorter way still where it can.

mod chains;
mod direct;
mod families;
mod integers;
mod moved;
mod pool;
mod recall;
mod shards;
mod unruled;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;
use shardwright_rules::decide::{Detail, Index, RulePatterns, ShardOfKey, decide, step_of};
use shardwright_rules::{
    Cluster, Configuration, Decision, Dispatch, FastRoute, HostgroupId, KeyRef, Rule, SessionView, Shard,
    Statement, Step, User,
};
use shardwright_sql::DigestOptions;

use crate::chains::Chains;
use crate::direct::Direct;
use crate::families::Runs;
pub use crate::moved::{alike_beside_rules, moved};
use crate::pool::{NONE, Pool};
use crate::recall::Recall;
pub use crate::recall::Recollection;
use crate::shards::{Owner, ShardIndex};
use crate::unruled::Unruled;

/// Decisions after which patterns are matched together.
const OFTEN: u32 = 32;

/// A configuration prepared for deciding.
#[derive(Debug)]
pub struct RoutingTable {
    configuration: Arc<Configuration>,
    patterns: Vec<Arc<RulePatterns>>,
    chains: Chains,
    /// The patterns over the text that can be matched together.
    pool: Arc<Pool>,
    /// By position: the number of the rule's pattern in the pool.
    numbers: Box<[u32]>,
    /// Made when the table has been asked often; `None` where no patterns are matched together.
    runs: OnceLock<Option<Runs>>,
    /// By position: how paths tell rules that matched, as far as somebody asked for one.
    steps: OnceLock<Box<[OnceLock<Option<Step>>]>>,
    asked: AtomicU32,
    /// By position of the map's rule.
    shards: Vec<Option<Box<ShardIndex>>>,
    /// By position in [`Configuration::users`].
    users: Box<[KnownUser]>,
    user_positions: FxHashMap<String, usize>,
    clusters: FxHashMap<Arc<str>, usize>,
    cluster_of: FxHashMap<HostgroupId, usize>,
    /// By schema and flag, then by user.
    fast_routes: FxHashMap<(String, u32), FxHashMap<String, usize>>,
    digests: Option<DigestOptions>,
}

#[derive(Debug)]
struct KnownUser {
    direct: Option<Box<Direct>>,
    unruled: Option<Unruled>,
}

impl RoutingTable {
    /// Builds the table; its size and time grow with the configuration's.
    pub fn new(configuration: Arc<Configuration>) -> Self {
        let patterns = compiled(&configuration);
        let (pool, [numbers]) = Pool::of([&patterns]);
        Self::with(configuration, patterns, pool, numbers)
    }

    /// The tables of two configurations that are asked about the same statements: what is in both is compiled once, and
    /// the patterns of both are matched together ([`RoutingTable::dispatch_recalling`]).
    pub fn pair(left: Arc<Configuration>, right: Arc<Configuration>) -> [Self; 2] {
        let of_left = compiled(&left);
        let of_right = changed_patterns(&left, &of_left, &right);
        let (pool, [numbers, others]) = Pool::of([&of_left, &of_right]);
        [
            Self::with(left, of_left, Arc::clone(&pool), numbers),
            Self::with(right, of_right, pool, others),
        ]
    }

    /// Makes every pattern fast at once, and not after it has been asked often: for those who answer clients. What is
    /// matched together with others is not asked alone.
    #[must_use]
    pub fn prepared(self) -> Self {
        let families = self.pool.families();
        let alone = |&(_, &number): &(_, &u32)| families.of(number) == NONE;
        let patterns = self.patterns.iter().zip(&self.numbers).filter(alone);
        patterns.for_each(|(patterns, _)| patterns.prepare());
        let _ = self.runs.get_or_init(|| self.find_runs());
        self
    }

    /// The table of a configuration that differs in few rules: the patterns of rules that are in both, by id, are not
    /// compiled again, and what is matched together is that of this table.
    #[must_use]
    pub fn changed(&self, configuration: Arc<Configuration>) -> Self {
        let patterns = changed_patterns(&self.configuration, &self.patterns, &configuration);
        let known = |position: usize| {
            let rule = &configuration.graph.rules[position];
            let at = position_of(&self.configuration, rule)?;
            Arc::ptr_eq(&self.patterns[at], &patterns[position]).then(|| self.numbers[at])
        };
        match self.pool.numbers(&patterns, known) {
            Some(numbers) => Self::with(configuration, patterns, Arc::clone(&self.pool), numbers),
            None => {
                let (pool, [numbers]) = Pool::of([&patterns]);
                Self::with(configuration, patterns, pool, numbers)
            }
        }
    }

    fn with(
        configuration: Arc<Configuration>,
        patterns: Vec<Arc<RulePatterns>>,
        pool: Arc<Pool>,
        numbers: Vec<u32>,
    ) -> Self {
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
        let known = |user: &User| KnownUser {
            direct: Direct::of(&configuration, &shards, chains.of_flag_0(), &user.name).map(Box::new),
            unruled: Unruled::of(&configuration, chains.of_flag_0(), user),
        };
        let users = configuration.users.iter().map(known).collect();
        let user_positions = first_positions(configuration.users.iter().map(|user| user.name.clone()));
        Self {
            patterns,
            chains,
            pool,
            numbers: numbers.into(),
            runs: OnceLock::new(),
            steps: OnceLock::new(),
            asked: AtomicU32::new(0),
            shards,
            users,
            user_positions,
            clusters,
            cluster_of,
            fast_routes,
            digests: configuration.digests(),
            configuration,
        }
    }

    /// Where `statement` of `session` goes; the human-readable path stays empty.
    pub fn decide(&self, session: &SessionView<'_>, statement: &Statement<'_>) -> Decision {
        self.walk(session, statement, Detail::Names)
    }

    fn walk(&self, session: &SessionView<'_>, statement: &Statement<'_>, detail: Detail) -> Decision {
        if self.runs().is_none() && !self.chains.ask_for_schemas() {
            return decide(self, session, statement, detail);
        }
        let told = Recollection::default();
        let recall = Recall::new(self, session, &told, false);
        decide(&recall, session, statement, detail)
    }

    /// What is known of the rules where patterns are matched together and the table has been asked often.
    fn runs(&self) -> Option<&Runs> {
        let runs = match self.runs.get() {
            Some(runs) => runs,
            None if self.asked.fetch_add(1, Ordering::Relaxed) < OFTEN => return None,
            None => self.runs.get_or_init(|| self.find_runs()),
        };
        runs.as_ref()
    }

    fn find_runs(&self) -> Option<Runs> {
        let families = self.pool.families();
        let graph = &self.configuration.graph;
        let runs = || Runs::of(graph, &self.patterns, &self.numbers, &self.pool, &self.chains);
        (!families.is_empty()).then(runs)
    }

    /// How a path tells that an engine's rule matched.
    fn step(&self, position: usize) -> Option<&Step> {
        let rules = &self.configuration.graph.rules;
        let none = || rules.iter().map(|_| OnceLock::new()).collect();
        let step = self.steps.get_or_init(none).get(position)?;
        step.get_or_init(|| step_of(&rules[position])).as_ref()
    }

    /// Where `statement` of `session` goes, without names: what [`RoutingTable::decide`] answers, as a proxy needs it.
    pub fn dispatch(&self, session: &SessionView<'_>, statement: &Statement<'_>) -> Dispatch {
        match self.shortly(session, statement) {
            Some(short) => short.dispatch(),
            None => self.at_length(session, statement),
        }
    }

    #[cold]
    fn at_length(&self, session: &SessionView<'_>, statement: &Statement<'_>) -> Dispatch {
        self.walk(session, statement, Detail::Dispatch).into()
    }

    /// The same for one of several tables that are asked about one statement: what the patterns that they share have told
    /// is in `recollection`, and they are not run again.
    pub fn dispatch_recalling<'t>(
        &'t self,
        session: &SessionView<'_>,
        statement: &Statement<'_>,
        recollection: &Recollection<'t>,
    ) -> Dispatch {
        if let Some(short) = self.shortly(session, statement) {
            return short.dispatch();
        }
        let recall = Recall::new(self, session, recollection, true);
        decide(&recall, session, statement, Detail::Dispatch).into()
    }

    /// A short way, where the statement takes one.
    #[inline(always)]
    fn shortly(&self, session: &SessionView<'_>, statement: &Statement<'_>) -> Option<Short<'_>> {
        let known = self.known_user(session)?;
        if !direct::is_usual(session) {
            return None;
        }
        if let Some(unruled) = known.unruled {
            return Unruled::takes(statement).then_some(Short::Unruled(unruled));
        }
        let direct = known.direct.as_deref()?;
        let key = direct.key(statement)?;
        let shards = self.shards.get(direct.map)?.as_deref()?;
        Some(Short::Direct(direct, shards.writer(&key)?))
    }

    #[inline]
    fn known_user(&self, session: &SessionView<'_>) -> Option<&KnownUser> {
        let users = &self.configuration.users;
        let told = session.user_position.map(|position| position as usize);
        let is_there = |&position: &usize| users.get(position).is_some_and(|user| user.name == session.user);
        match told.filter(is_there) {
            Some(position) => self.users.get(position),
            None => self.users.get(*self.user_positions.get(session.user)?),
        }
    }

    /// Where `statement` of `session` goes, and why.
    pub fn explain(&self, session: &SessionView<'_>, statement: &Statement<'_>) -> Decision {
        self.walk(session, statement, Detail::Path)
    }
}

/// A short way, and where it leads.
enum Short<'t> {
    Unruled(Unruled),
    Direct(&'t Direct, HostgroupId),
}

impl Short<'_> {
    #[inline(always)]
    fn dispatch(self) -> Dispatch {
        match self {
            Self::Unruled(unruled) => unruled.dispatch(),
            Self::Direct(direct, writer) => direct.dispatch(writer),
        }
    }
}

fn compiled(configuration: &Configuration) -> Vec<Arc<RulePatterns>> {
    RulePatterns::of(configuration)
        .into_iter()
        .map(Arc::new)
        .collect()
}

/// The patterns of a configuration, of which those of rules that another has by id are its own.
fn changed_patterns(
    before: &Configuration,
    patterns: &[Arc<RulePatterns>],
    configuration: &Configuration,
) -> Vec<Arc<RulePatterns>> {
    let known = |rule: &Rule| {
        let at = position_of(before, rule)?;
        RulePatterns::are_shared((&before.graph.rules[at], before), (rule, configuration))
            .then(|| Arc::clone(&patterns[at]))
    };
    let rules = configuration.graph.rules.iter();
    rules
        .map(|rule| known(rule).unwrap_or_else(|| Arc::new(RulePatterns::of_rule(rule, configuration))))
        .collect()
}

/// Where a configuration has the rule with the id of another's.
fn position_of(configuration: &Configuration, rule: &Rule) -> Option<usize> {
    let rules = &configuration.graph.rules;
    rules.binary_search_by_key(&rule.id, |rule| rule.id).ok()
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

    fn digests(&self) -> Option<DigestOptions> {
        self.digests
    }

    fn patterns(&self, position: usize) -> &RulePatterns {
        &self.patterns[position]
    }

    fn known_step(&self, position: usize) -> Option<&Step> {
        self.step(position)
    }

    fn next_rule(&self, flag: u32, from: usize) -> Option<usize> {
        self.chains.next(flag, from)
    }

    fn user(&self, name: &str) -> Option<&User> {
        self.user_positions
            .get(name)
            .map(|&position| &self.configuration.users[position])
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
