//! A configuration that statements can be decided under at once: patterns are compiled when the first statement asks them.

mod filter;

use std::cell::{Cell, OnceCell};
use std::collections::HashMap;
use std::rc::Rc;

use shardwright_rules::decide::{Detail, Index, RulePatterns, decide};
use shardwright_rules::{
    Chains, Cluster, Configuration, Decision, FastRoute, HostgroupId, SessionView, Statement, User,
};

use filter::{Filter, Filtered};

/// Rules and bytes of rewritten texts of one evaluation, in addition to some visits of every rule: more than any engine
/// should spend on a statement. What takes more is no example of anything.
const MOST_STEPS: u64 = 1 << 14;
/// Visits of every rule.
const MOST_PASSES: u64 = 8;

/// To find out which rules can match at all takes the patterns of all of them. It begins to pay when this part of as many
/// patterns as there are rules has been asked one by one.
const PART_ASKED: u64 = 4;

/// The patterns of a configuration's rules, by position.
#[derive(Debug)]
struct Patterns<'c> {
    configuration: &'c Configuration,
    compiled: Vec<OnceCell<RulePatterns>>,
}

impl<'c> Patterns<'c> {
    fn of(configuration: &'c Configuration) -> Self {
        let rules = configuration.graph.rules.iter();
        Self {
            configuration,
            compiled: rules.map(|_| OnceCell::new()).collect(),
        }
    }

    fn at(&self, position: usize) -> &RulePatterns {
        let rule = &self.configuration.graph.rules[position];
        self.compiled[position].get_or_init(|| RulePatterns::of_rule(rule, self.configuration))
    }

    /// Compiles all at once, which is quicker than one after the other where there are many.
    fn compile_all(&self) {
        let missing = self.compiled.iter().filter(|patterns| patterns.get().is_none());
        if missing.count() <= self.compiled.len() / 2 {
            return;
        }
        let all = RulePatterns::of(self.configuration);
        for (known, patterns) in self.compiled.iter().zip(all) {
            known.get_or_init(|| patterns);
        }
    }
}

/// The patterns of another configuration, and by position the rule there that has the same as ours.
#[derive(Debug)]
struct Shared<'c> {
    patterns: Rc<Patterns<'c>>,
    places: Vec<Option<u32>>,
}

impl<'c> Shared<'c> {
    fn with(patterns: &Rc<Patterns<'c>>, configuration: &Configuration) -> Self {
        let known = &patterns.configuration.graph.rules;
        let place = |rule: &shardwright_rules::Rule| {
            let at = known.binary_search_by_key(&rule.id, |known| known.id).ok()?;
            let of = (&known[at], patterns.configuration);
            RulePatterns::are_shared(of, (rule, configuration)).then_some(at as u32)
        };
        Self {
            patterns: Rc::clone(patterns),
            places: configuration.graph.rules.iter().map(place).collect(),
        }
    }
}

/// The evaluator's own walk over indexed rules.
#[derive(Debug)]
pub(crate) struct Lookup<'c> {
    configuration: &'c Configuration,
    patterns: Rc<Patterns<'c>>,
    shared: Option<Shared<'c>>,
    pub(crate) chains: Chains,
    users: HashMap<&'c str, usize>,
    cluster_of: HashMap<HostgroupId, usize>,
    fast_routes: HashMap<(&'c str, &'c str, u32), usize>,
    filter: OnceCell<Filter>,
    /// How many patterns were asked while there was no filter.
    asked: Cell<u64>,
}

impl<'c> Lookup<'c> {
    pub(crate) fn of(configuration: &'c Configuration) -> Self {
        let graph = &configuration.graph;
        // Where a name stands twice, the first counts, as in the evaluator.
        let mut users = HashMap::new();
        for (at, user) in configuration.users.iter().enumerate() {
            users.entry(user.name.as_str()).or_insert(at);
        }
        let mut cluster_of = HashMap::new();
        for (at, cluster) in configuration.clusters.iter().enumerate() {
            for hostgroup in [Some(cluster.writer), cluster.reader].into_iter().flatten() {
                cluster_of.entry(hostgroup).or_insert(at);
            }
        }
        let mut fast_routes = HashMap::new();
        for (at, row) in graph.fast_routing.iter().enumerate() {
            let key = (row.username.as_str(), row.schemaname.as_str(), row.flag_in);
            fast_routes.entry(key).or_insert(at);
        }
        Self {
            patterns: Rc::new(Patterns::of(configuration)),
            shared: None,
            configuration,
            chains: Chains::of(&graph.rules),
            users,
            cluster_of,
            fast_routes,
            filter: OnceCell::new(),
            asked: Cell::new(0),
        }
    }

    /// Those of two configurations: what both have is compiled once.
    pub(crate) fn of_both([left, right]: [&'c Configuration; 2]) -> [Self; 2] {
        let left = Self::of(left);
        let shared = Shared::with(&left.patterns, right);
        let right = Self {
            shared: Some(shared),
            ..Self::of(right)
        };
        [left, right]
    }

    /// Where a statement goes, found by asking only the rules whose patterns can match it, once many have been asked: the
    /// counts of evaluations and visits are those of this search.
    pub(crate) fn decide_quickly(
        &self,
        session: &SessionView<'_>,
        statement: &Statement<'_>,
        detail: Detail,
    ) -> Decision {
        let few = self.patterns.compiled.len() as u64 / PART_ASKED;
        if self.filter.get().is_none() && self.asked.get() < few {
            let decision = decide(self, session, statement, detail);
            self.asked.set(self.asked.get() + u64::from(decision.evaluations));
            return decision;
        }
        let filter = self.filter.get_or_init(|| {
            self.compile_all();
            Filter::of(self)
        });
        let hits = filter.hits(statement);
        decide(
            &Filtered {
                lookup: self,
                filter,
                hits,
            },
            session,
            statement,
            detail,
        )
    }

    /// Compiles the patterns of all rules at once; those that are shared only once, where they are most of them.
    pub(crate) fn compile_all(&self) {
        let own = |shared: &Shared<'_>| shared.places.iter().filter(|place| place.is_none()).count();
        match &self.shared {
            Some(shared) if own(shared) <= shared.places.len() / 2 => shared.patterns.compile_all(),
            Some(_) | None => self.patterns.compile_all(),
        }
    }

    /// Where a statement goes.
    pub(crate) fn decide(&self, session: &SessionView<'_>, text: &[u8]) -> Decision {
        decide(
            self,
            session,
            &Statement::new(text, Default::default()),
            Detail::Names,
        )
    }

    /// The configuration itself, for as long as it lives.
    pub(crate) fn of_configuration(&self) -> &'c Configuration {
        self.configuration
    }
}

impl Index for Lookup<'_> {
    fn configuration(&self) -> &Configuration {
        self.configuration
    }

    fn most_steps(&self) -> u64 {
        MOST_STEPS + MOST_PASSES * self.patterns.compiled.len() as u64
    }

    fn patterns(&self, position: usize) -> &RulePatterns {
        let shared = self.shared.as_ref();
        let there = shared.and_then(|shared| Some((&shared.patterns, shared.places[position]?)));
        match there {
            Some((patterns, place)) => patterns.at(place as usize),
            None => self.patterns.at(position),
        }
    }

    fn next_rule(&self, flag: u32, from: usize) -> Option<usize> {
        self.chains.next(flag, from)
    }

    fn user(&self, name: &str) -> Option<&User> {
        self.users.get(name).map(|&at| &self.configuration.users[at])
    }

    fn cluster_of(&self, hostgroup: HostgroupId) -> Option<&Cluster> {
        self.cluster_of
            .get(&hostgroup)
            .map(|&at| &self.configuration.clusters[at])
    }

    fn fast_route(&self, user: &str, schema: &str, flag: u32) -> Option<&FastRoute> {
        self.fast_routes
            .get(&(user, schema, flag))
            .map(|&at| &self.configuration.graph.fast_routing[at])
    }
}
