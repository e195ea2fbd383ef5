//! Asks the evaluator what one statement pays: its decision is counted, not computed a second time.
//!
//! The evaluator walks the rules of the configuration as they are. It is spared two things. Rules that name another schema
//! or user are passed without a look. In the trees of the map that is asked about, the way of the key is known, so that the
//! patterns of thousands of rules are neither compiled nor matched.

use std::cell::{Cell, OnceCell};
use std::collections::{HashMap, HashSet};

use shardwright_rules::decide::{
    Detail, Index, NextRule, PatternColumn, RulePatterns, ShardOfKey, Subject, decide, holds,
};
use shardwright_rules::{
    Address, Body, Cluster, Configuration, EngineRule, FastRoute, KeyRef, KeyValue, NativeStep, PatternKind,
    PatternPrices, ReadSelection, Rule, Scope, SessionView, Shard, Statement, TextLength,
};

use super::evaluated::Evaluated;

/// What one statement pays.
#[derive(Clone, Debug)]
pub(super) struct Paid {
    pub(super) evaluated: Evaluated,
    /// Rules looked at, of other chains too.
    pub(super) visits: u64,
    /// Positions of the rules that matched, in order.
    pub(super) hits: Vec<usize>,
}

/// A statement with a key, and where it leads.
pub(super) struct Question<'q> {
    pub(super) user: &'q str,
    /// `None`: the session names no schema.
    pub(super) schema: Option<&'q str>,
    pub(super) sql: &'q str,
    pub(super) key: &'q KeyValue,
    /// The map, and the shard that holds the key.
    pub(super) map: &'q str,
    pub(super) shard: &'q Shard,
    /// Chains of the map's trees.
    pub(super) tree_flags: &'q HashSet<u32>,
    /// Positions of the rules in these chains that match.
    pub(super) way: &'q [usize],
}

/// A configuration that is asked statements.
pub(super) struct Asker<'c> {
    configuration: &'c Configuration,
    prices: &'c PatternPrices,
    /// Compiled when they are asked.
    patterns: Vec<OnceCell<Box<RulePatterns>>>,
    /// Stands for the patterns of rules of which it is known whether they match.
    known: RulePatterns,
    chains: HashMap<u32, Chain<'c>>,
    named_schemas: HashSet<&'c str>,
    named_users: HashSet<&'c str>,
    /// Rows of fast routing by schema.
    routes: HashMap<&'c str, Vec<&'c FastRoute>>,
    clusters: HashMap<&'c str, &'c Cluster>,
    users: HashSet<&'c str>,
    /// What native steps are about, where it is not every cluster.
    scopes: Vec<&'c Scope>,
}

/// What the steps behind a map see of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ClusterShape {
    has_reader: bool,
    /// Of each scope that names clusters: whether it is about this one.
    is_meant: Vec<bool>,
}

/// Positions of a chain's rules, ascending.
#[derive(Default)]
struct Chain<'c> {
    any_session: Vec<usize>,
    by_schema: HashMap<&'c str, Vec<usize>>,
    by_user: HashMap<&'c str, Vec<usize>>,
}

impl<'c> Asker<'c> {
    pub(super) fn new(configuration: &'c Configuration) -> Self {
        let graph = &configuration.graph;
        let mut chains: HashMap<u32, Chain<'c>> = HashMap::new();
        for (position, rule) in graph.rules.iter().enumerate() {
            let chain = chains.entry(rule.flag_in).or_default();
            let named = |name: &'c Option<String>| name.as_deref().filter(|name| !name.is_empty());
            let list = match &rule.body {
                Body::Engine(row) => match (named(&row.schemaname), named(&row.username)) {
                    (Some(schema), _) => chain.by_schema.entry(schema).or_default(),
                    (None, Some(user)) => chain.by_user.entry(user).or_default(),
                    (None, None) => &mut chain.any_session,
                },
                Body::Native { .. } => &mut chain.any_session,
            };
            list.push(position);
        }
        let mut routes: HashMap<&str, Vec<&FastRoute>> = HashMap::new();
        for row in &graph.fast_routing {
            routes.entry(row.schemaname.as_str()).or_default().push(row);
        }
        let regex = configuration.settings.regex;
        Self {
            configuration,
            prices: configuration.engine.profile().prices.patterns(regex),
            patterns: graph.rules.iter().map(|_| OnceCell::new()).collect(),
            known: RulePatterns::of_rule(&known_rule(), configuration),
            named_schemas: (chains.values())
                .flat_map(|chain| chain.by_schema.keys().copied())
                .collect(),
            named_users: (chains.values())
                .flat_map(|chain| chain.by_user.keys().copied())
                .collect(),
            chains,
            routes,
            clusters: (configuration.clusters.iter())
                .map(|cluster| (&*cluster.name, cluster))
                .collect(),
            users: (configuration.users.iter())
                .map(|user| user.name.as_str())
                .collect(),
            scopes: scopes(configuration),
        }
    }

    /// The configuration.
    pub(super) fn configuration(&self) -> &'c Configuration {
        self.configuration
    }

    /// What the statement pays.
    pub(super) fn ask(&self, question: &Question<'_>) -> Paid {
        let session = SessionView {
            user: question.user,
            schema: question.schema,
            ..SessionView::default()
        };
        let of_engine = || {
            let has_default = self.configuration.engine.profile().default_schema.is_some();
            has_default
                .then(|| self.configuration.default_schema(question.user))
                .flatten()
        };
        let index = Asked {
            asker: self,
            question,
            schema: question.schema.or_else(of_engine).unwrap_or_default(),
            evaluated: Cell::default(),
        };
        let statement = Statement::new(question.sql.as_bytes(), Default::default());
        let decision = decide(&index, &session, &statement, Detail::Names);
        let of_rows = index.evaluated.get();
        // Native steps ask the patterns that users wrote; those have one price.
        let of_steps = decision.evaluations - of_rows.patterns;
        let each = self.prices.ns(PatternKind::Search, TextLength::default());
        Paid {
            evaluated: of_rows
                + Evaluated {
                    patterns: of_steps,
                    ns: f64::from(of_steps) * each,
                },
            visits: u64::from(decision.visits),
            hits: decision.hits.iter().map(|&position| position as usize).collect(),
        }
    }

    /// Whether there is a user of this name.
    pub(super) fn has_user(&self, name: &str) -> bool {
        self.users.contains(name)
    }

    /// What native steps see of a cluster; `None` where there are none that ask for it.
    pub(super) fn shape_of(&self, cluster: Option<&str>) -> Option<ClusterShape> {
        if self.configuration.engine.is_proxysql() {
            return None;
        }
        let cluster = self.clusters.get(cluster?)?;
        let scopes = self.scopes.iter();
        Some(ClusterShape {
            has_reader: cluster.reader.is_some(),
            is_meant: scopes
                .map(|scope| scope.clusters.contains(&cluster.name))
                .collect(),
        })
    }

    /// Whether a rule is about this schema alone.
    pub(super) fn names_schema(&self, schema: &str) -> bool {
        self.named_schemas.contains(schema)
    }

    /// Whether a rule is about this user alone.
    pub(super) fn names_user(&self, user: &str) -> bool {
        self.named_users.contains(user)
    }

    /// The pattern over the text of a rule.
    pub(super) fn of_text(&self, position: usize) -> Evaluated {
        self.priced(position, PatternColumn::MatchPattern)
    }

    fn priced(&self, position: usize, column: PatternColumn) -> Evaluated {
        let text = match &self.configuration.graph.rules[position].body {
            Body::Engine(row) if column == PatternColumn::MatchDigest => row.match_digest.as_deref(),
            Body::Engine(row) => row.match_pattern.as_deref(),
            Body::Native { .. } => None,
        };
        text.map_or_else(Evaluated::default, |text| Evaluated {
            patterns: 1,
            ns: self.prices.ns(PatternKind::of(text), TextLength::default()),
        })
    }
}

/// The scopes of native steps that are about some clusters.
fn scopes(configuration: &Configuration) -> Vec<&Scope> {
    let mut scopes: Vec<&Scope> = Vec::new();
    for rule in &configuration.graph.rules {
        let Body::Native { scope, step } = &rule.body else {
            continue;
        };
        scopes.push(scope);
        if let NativeStep::Role(role) = step
            && let ReadSelection::Only(reads) | ReadSelection::Except(reads) = &role.reads
        {
            scopes.extend(reads);
        }
    }
    scopes.retain(|scope| !scope.clusters.is_any());
    scopes
}

/// A rule with one pattern over the text.
fn known_rule() -> Rule {
    Rule {
        id: 0,
        address: Address::new("known"),
        shards: Vec::new(),
        summary: None,
        flag_in: 0,
        body: Body::Engine(Box::new(EngineRule {
            match_pattern: Some("known".to_owned()),
            ..EngineRule::default()
        })),
    }
}

/// The look-ups of one statement.
struct Asked<'a> {
    asker: &'a Asker<'a>,
    question: &'a Question<'a>,
    /// The session's schema; empty where it has none.
    schema: &'a str,
    evaluated: Cell<Evaluated>,
}

impl Asked<'_> {
    /// Whether it is known if the pattern of a rule matches.
    fn is_known(&self, rule: &Rule) -> bool {
        self.question.tree_flags.contains(&rule.flag_in)
            && matches!(&rule.body, Body::Engine(row) if row.match_pattern.is_some())
    }
}

impl Index for Asked<'_> {
    fn configuration(&self) -> &Configuration {
        self.asker.configuration
    }

    fn patterns(&self, position: usize) -> &RulePatterns {
        let rule = &self.asker.configuration.graph.rules[position];
        if self.is_known(rule) {
            return &self.asker.known;
        }
        self.asker.patterns[position]
            .get_or_init(|| Box::new(RulePatterns::of_rule(rule, self.asker.configuration)))
    }

    fn next_candidate(&self, flag: u32, from: usize, _subject: Subject<'_>) -> NextRule {
        let first = |positions: &Vec<usize>| {
            let at = positions.partition_point(|&position| position < from);
            positions.get(at).copied()
        };
        let of_chain = self.asker.chains.get(&flag).and_then(|chain| {
            let of_schema = chain.by_schema.get(self.schema).and_then(first);
            let of_user = chain.by_user.get(self.question.user).and_then(first);
            let next = [first(&chain.any_session), of_schema, of_user];
            next.into_iter().flatten().min()
        });
        NextRule {
            position: of_chain,
            passed: 0,
            matched: None,
        }
    }

    fn known_match(&self, position: usize, _subject: Subject<'_>) -> Option<bool> {
        let rule = &self.asker.configuration.graph.rules[position];
        self.is_known(rule).then(|| self.question.way.contains(&position))
    }

    fn evaluates(&self, position: usize, column: PatternColumn) {
        let sum = self.evaluated.get() + self.asker.priced(position, column);
        self.evaluated.set(sum);
    }

    fn shard(&self, position: usize, key: &KeyRef<'_>) -> Option<ShardOfKey<'_>> {
        let step = self.map(position)?;
        let is_own = step.map == self.question.map && key.is(self.question.key);
        let own = is_own.then_some(self.question.shard);
        let shard = own.or_else(|| step.shards.iter().find(|shard| holds(step, shard, key)))?;
        Some(self.placed_on(shard))
    }

    fn fast_route(&self, user: &str, schema: &str, flag: u32) -> Option<&FastRoute> {
        let rows = self.asker.routes.get(schema)?;
        let is_meant = |row: &&&FastRoute| row.username == user && row.flag_in == flag;
        rows.iter().find(is_meant).copied()
    }
}
