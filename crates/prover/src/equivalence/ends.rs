//! Where chains end, and what an end decides: rows of fast routing and flags that the firewall allows.

use std::collections::HashMap;

use shardwright_rules::{Body, Chains, Configuration, EngineRule, Firewall, FirewallMode};

use super::path::ExtraConditions;

pub(super) type ChainEndId = u32;

/// What the end of a chain decides.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct ChainEnd {
    /// User, schema and hostgroup of the rows of fast routing; sorted.
    pub(super) routes: Vec<(String, String, u32)>,
    /// Users whose firewall allows the flag.
    pub(super) allowed: Vec<String>,
}

/// The users whose statements the firewall lets pass at one of two ends: a question for each.
pub(super) fn allowed_at_one([left, right]: [&ChainEnd; 2]) -> Vec<ExtraConditions> {
    let at_one = |one: &ChainEnd, other: &ChainEnd| -> Vec<String> {
        let users = one.allowed.iter();
        users
            .filter(|user| !other.allowed.contains(user))
            .cloned()
            .collect()
    };
    let users = [at_one(left, right), at_one(right, left)].concat();
    let question = |user: String| ExtraConditions {
        must: vec![EngineRule {
            username: Some(user),
            ..EngineRule::default()
        }],
        must_not: Vec::new(),
    };
    users.into_iter().map(question).collect()
}

/// The ends of both configurations, each made once.
#[derive(Default)]
pub(super) struct ChainEnds {
    numbers: HashMap<ChainEnd, ChainEndId>,
    ends: Vec<ChainEnd>,
}

impl ChainEnds {
    fn id(&mut self, end: ChainEnd) -> ChainEndId {
        let fresh = self.ends.len() as ChainEndId;
        *self.numbers.entry(end.clone()).or_insert_with(|| {
            self.ends.push(end);
            fresh
        })
    }

    pub(super) fn end(&self, end: ChainEndId) -> &ChainEnd {
        &self.ends[end as usize]
    }
}

/// Chains and ends by flag.
pub(super) struct FlagIndex {
    chains: Chains,
    ends: HashMap<u32, ChainEndId>,
    no_routes: ChainEndId,
}

impl FlagIndex {
    pub(super) fn of(configuration: &Configuration, all: &mut ChainEnds) -> Self {
        let rules = &configuration.graph.rules;
        let last_applies = rules
            .last()
            .is_some_and(|rule| matches!(&rule.body, Body::Engine(row) if row.apply));
        let skipped = configuration.engine.profile().trailing_apply_skips_fast_routing && last_applies;
        let mut ends: HashMap<u32, ChainEnd> = HashMap::new();
        for row in configuration.graph.fast_routing.iter().filter(|_| !skipped) {
            let end = ends.entry(row.flag_in).or_default();
            end.routes
                .push((row.username.clone(), row.schemaname.clone(), row.hostgroup.0));
        }
        // Without digests or schemas nothing passes at any flag; without protection everything does.
        let limits = |list: &&Firewall| {
            list.mode == FirewallMode::Protecting && !list.schemas.is_empty() && !list.digests.is_empty()
        };
        for firewall in configuration.firewall.iter().filter(limits) {
            for &flag in &firewall.flags {
                ends.entry(flag).or_default().allowed.push(firewall.user.clone());
            }
        }
        for end in ends.values_mut() {
            end.routes.sort_unstable();
            end.allowed.sort_unstable();
        }
        Self {
            chains: Chains::of(rules),
            no_routes: all.id(ChainEnd::default()),
            ends: ends.into_iter().map(|(flag, end)| (flag, all.id(end))).collect(),
        }
    }

    /// The end behind a rule that applies at a flag.
    pub(super) fn stop(&self, flag: u32, all: &mut ChainEnds) -> ChainEndId {
        let allowed = match self.ends.get(&flag) {
            Some(&end) => all.end(end).allowed.clone(),
            None => Vec::new(),
        };
        all.id(ChainEnd {
            allowed,
            routes: Vec::new(),
        })
    }

    /// The first rule of a chain at or behind `from`, or the end of the chain.
    pub(super) fn next(&self, flag: u32, from: usize) -> Result<usize, ChainEndId> {
        let end = || self.ends.get(&flag).copied().unwrap_or(self.no_routes);
        self.chains.next(flag, from).ok_or_else(end)
    }
}
