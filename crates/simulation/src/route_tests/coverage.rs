//! What of a configuration the route tests exercise: rules, shards, and the branches of policies and maps.

use std::collections::BTreeMap;

use shardwright_prover::KeyedShards;
use shardwright_rules::refusal::Refusal;
use shardwright_rules::{
    Address, Body, Configuration, Decision, MapStep, MissingAction, MissingBegin, NativeStep, Outcome, Role,
    RoleStep, SessionView, Statement, UnknownKey,
};

/// What a coverage point is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// A rule, or a row of fast routing, by its id (0 for rows).
    Rule(u32),
    /// A shard: a statement is placed on it.
    Shard,
    /// A branch of a policy or of a map.
    Branch(&'static str),
}

/// A part of a configuration that tests can exercise.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CoveragePoint {
    /// The object that it belongs to.
    pub address: Address,
    /// What of it.
    pub part: Part,
}

/// The coverage points of a configuration, each with whether a test came to it.
#[derive(Debug)]
pub struct Coverage<'c> {
    configuration: &'c Configuration,
    keys: KeyedShards,
    points: BTreeMap<CoveragePoint, bool>,
    policies: Vec<(Address, &'c RoleStep, &'c shardwright_rules::Scope)>,
}

/// How much of something is covered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// What tests came to.
    pub covered: usize,
    /// All of it.
    pub total: usize,
}

impl Share {
    /// In percent; 100 of nothing.
    #[must_use]
    pub fn percent(self) -> f64 {
        if self.total == 0 {
            100.0
        } else {
            100.0 * self.covered as f64 / self.total as f64
        }
    }
}

/// Branches of a policy, as people read them.
const TO_READERS: &str = "a read goes to readers";
const WRITE_STAYS: &str = "what is not provably a read stays on the writer";
const IN_TRANSACTION: &str = "a read inside a transaction stays on the writer";
const HINTED: &str = "a read with the writer's hint stays on the writer";
const AFTER_WRITE: &str = "a read soon after a write stays on the writer";

/// Branches of a map, with the code that its refusals begin with.
const MISSING: &str = "a statement without a key";
const BEGIN: &str = "BEGIN without a key";
const UNKNOWN: &str = "a key that no shard holds";
const CONFLICT: &str = "keys that contradict each other";

impl<'c> Coverage<'c> {
    /// Everything that there is to cover. `keys` tell the shard where a rule decides several.
    #[must_use]
    pub fn of(configuration: &'c Configuration, keys: KeyedShards) -> Self {
        let mut coverage = Self {
            configuration,
            keys,
            points: BTreeMap::new(),
            policies: Vec::new(),
        };
        for rule in &configuration.graph.rules {
            match &rule.body {
                Body::Engine(_) => {
                    coverage.rule(&rule.address, rule.id);
                    rule.shards.iter().for_each(|shard| coverage.shard(shard));
                }
                Body::Native { scope, step } => match step {
                    // It does nothing that could be seen but end the evaluation.
                    NativeStep::StopIfPlaced => {}
                    NativeStep::Map(map) => coverage.map(&rule.address, map),
                    NativeStep::Role(role) => {
                        coverage.policy(&rule.address, role);
                        coverage.policies.push((rule.address.clone(), role, scope));
                    }
                    NativeStep::Delay(_) | NativeStep::Throttle(_) | NativeStep::NoMultiplex => {
                        coverage.rule(&rule.address, rule.id);
                    }
                },
            }
        }
        for row in &configuration.graph.fast_routing {
            if !row.address.is_shard() {
                coverage.rule(&row.address, 0);
            }
            coverage.shard(&row.address);
        }
        coverage
    }

    fn add(&mut self, address: &Address, part: Part) {
        let address = address.clone();
        self.points.insert(CoveragePoint { address, part }, false);
    }

    fn rule(&mut self, address: &Address, id: u32) {
        self.add(address, Part::Rule(id));
        self.shard(address);
    }

    fn shard(&mut self, address: &Address) {
        if address.is_shard() {
            self.add(address, Part::Shard);
        }
    }

    fn map(&mut self, address: &Address, map: &MapStep) {
        for shard in &map.shards {
            self.add(&shard.address, Part::Shard);
        }
        if map.otherwise.is_none() && map.missing.statements != MissingAction::Allow {
            self.add(address, Part::Branch(MISSING));
        }
        if map.otherwise.is_none() && map.missing.begin != MissingBegin::Allow {
            self.add(address, Part::Branch(BEGIN));
        }
        self.add(address, Part::Branch(UNKNOWN));
        if map.finders.len() > 1 {
            self.add(address, Part::Branch(CONFLICT));
        }
    }

    fn policy(&mut self, address: &Address, role: &RoleStep) {
        self.add(address, Part::Branch(TO_READERS));
        self.add(address, Part::Branch(WRITE_STAYS));
        self.add(address, Part::Branch(IN_TRANSACTION));
        if role.writer_hint.is_some() {
            self.add(address, Part::Branch(HINTED));
        }
        if role.after_write_ms > 0 {
            self.add(address, Part::Branch(AFTER_WRITE));
        }
    }

    fn cover(&mut self, address: &Address, part: Part) {
        let point = CoveragePoint {
            address: address.clone(),
            part,
        };
        if let Some(covered) = self.points.get_mut(&point) {
            *covered = true;
        }
    }

    /// Takes in a decision with its path.
    pub fn see(&mut self, session: &SessionView<'_>, statement: &Statement<'_>, decision: &Decision) {
        for &hit in &decision.hits {
            let rule = &self.configuration.graph.rules[hit as usize];
            self.cover(&rule.address, Part::Rule(rule.id));
            if let Some(shard) = self.keys.among(session, statement, &rule.shards) {
                self.cover(&shard, Part::Shard);
            }
            if let Body::Native {
                step: NativeStep::Role(_),
                ..
            } = &rule.body
            {
                self.cover(&rule.address, Part::Branch(TO_READERS));
            }
        }
        for step in &decision.path {
            self.cover(&step.address, Part::Shard);
            if step.rule_id == 0 {
                self.cover(&step.address, Part::Rule(0));
            }
        }
        self.see_maps(statement, decision);
        self.see_policies(session, statement, decision);
    }

    /// Which branch of a map decided: its refusals name their code, and what it sends elsewhere stands in the path.
    fn see_maps(&mut self, statement: &Statement<'_>, decision: &Decision) {
        let branch = |refusal: Refusal| match refusal {
            Refusal::MissingKey => Some(MISSING),
            Refusal::UnknownKey => Some(UNKNOWN),
            Refusal::ConflictingKeys => Some(CONFLICT),
            Refusal::BeginWithoutKey => Some(BEGIN),
            _ => None,
        };
        if let Outcome::Reject(rejection) = &decision.outcome
            && let (Some(address), Some(branch)) = (&rejection.address, rejection.refusal.and_then(branch))
        {
            self.cover(address, Part::Branch(branch));
        }
        for &hit in &decision.hits {
            let rule = &self.configuration.graph.rules[hit as usize];
            let Body::Native {
                step: NativeStep::Map(map),
                ..
            } = &rule.body
            else {
                continue;
            };
            let Some(step) = decision.path.iter().find(|step| step.rule_id == rule.id) else {
                continue;
            };
            if step.address != rule.address || matches!(decision.outcome, Outcome::Reject(_)) {
                continue;
            }
            let unknown =
                matches!(&map.unknown, UnknownKey::Cluster(_)) && step.why.contains("is of no shard");
            let branch = match () {
                () if unknown => UNKNOWN,
                () if statement.begins() => BEGIN,
                () => MISSING,
            };
            self.cover(&rule.address.clone(), Part::Branch(branch));
        }
    }

    /// Why policies left a statement on the writer: those about its user, schema and cluster.
    fn see_policies(&mut self, session: &SessionView<'_>, statement: &Statement<'_>, decision: &Decision) {
        let Outcome::Route(route) = &decision.outcome else {
            return;
        };
        if route.role != Some(Role::Writer) {
            return;
        }
        let about = |scope: &shardwright_rules::Scope| {
            scope.users.contains(session.user)
                && scope.takes_schema(session.schema)
                && route
                    .cluster
                    .as_deref()
                    .is_some_and(|cluster| scope.clusters.contains(cluster))
        };
        let mut branches = Vec::new();
        for (address, role, scope) in &self.policies {
            if !about(scope) {
                continue;
            }
            let branch = if !statement.is_safe_read(role.session_functions_on_readers) {
                WRITE_STAYS
            } else if session.transaction.is_some() || session.is_about_to_open() {
                IN_TRANSACTION
            } else if role
                .writer_hint
                .as_ref()
                .is_some_and(|hint| mentions(statement, &hint.word))
            {
                HINTED
            } else if session
                .since_write_ms
                .is_some_and(|since| since < u64::from(role.after_write_ms))
            {
                AFTER_WRITE
            } else {
                continue;
            };
            branches.push((address.clone(), branch));
        }
        for (address, branch) in branches {
            self.cover(&address, Part::Branch(branch));
        }
    }

    /// How much of each: rules, shards, branches, and all of them.
    #[must_use]
    pub fn shares(&self) -> [(&'static str, Share); 4] {
        let mut shares = [
            ("rules", Share::default()),
            ("shards", Share::default()),
            ("branches", Share::default()),
            ("all", Share::default()),
        ];
        for (point, covered) in &self.points {
            let kind = match point.part {
                Part::Rule(_) => 0,
                Part::Shard => 1,
                Part::Branch(_) => 2,
            };
            for at in [kind, 3] {
                shares[at].1.total += 1;
                shares[at].1.covered += usize::from(*covered);
            }
        }
        shares
    }

    /// What no test came to, by address.
    pub fn uncovered(&self) -> impl Iterator<Item = &CoveragePoint> {
        self.points
            .iter()
            .filter(|(_, covered)| !**covered)
            .map(|(point, _)| point)
    }
}

/// Whether the statement's text holds the word at all; the policy knows how it must be written.
fn mentions(statement: &Statement<'_>, word: &str) -> bool {
    let word = word.as_bytes();
    let mut windows = statement.text().windows(word.len().max(1));
    windows.any(|window| window.eq_ignore_ascii_case(word))
}
