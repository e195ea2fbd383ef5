//! Every outcome that plain statements of a domain can have: one pass over the rules with sets of statements.
//!
//! # Idea
//!
//! A set is all plain statements of one kind that one user sends and that have one [`State`]. The pass goes
//! once over the rules, in ascending order, and keeps the sets that wait at each flag. A rule takes the sets
//! of its flag: whether their statements match is always, never or maybe ([`Starts`]). Maybe goes on with
//! both: one set that matched, one that did not.
//!
//! # Invariant
//!
//! The sets are never too small: each statement is in a set at the flag and in the state that the evaluator
//! has for it. So what holds for every outcome holds for every statement. Sets may be too large: an outcome that no
//! statement has only costs a proof. One pass is enough: without restarts, evaluation only goes forward,
//! and with restarts, rules whose jumps lead back are not followed at all ([`OutcomeSearch::goes_back`]).
//!
//! # Example
//!
//! One rule, `match_digest: "^SELECT"`, to hostgroup 11 with `apply`; the default hostgroup of `app` is 10.
//!
//! * INSERT of `app`: no digest text of the kind begins with `SELECT`: the rule never matches. One outcome, 10.
//! * SELECT of `app`: a digest text may also begin with `(` or `TABLE`: the rule may match. Two outcomes, 10 and
//!   11.
//!
//! So "INSERT goes to 10" is proved. "SELECT goes to 11" is not, and rightly: `(SELECT 1)` goes to 10.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;
use shardwright_patterns::{Pattern, PatternError};
use shardwright_rules::decide::RulePatterns;
use shardwright_rules::{
    Body, Configuration, Effects, EngineRule, HostgroupId, Rule, StatementKind, User, Words,
};
use shardwright_sql::DigestOptions;

use super::Domain;
use super::native;
use super::outcome::PossibleOutcome;
use super::starts::{Certainty, Side, Starts};
use super::state::{Action, Schema, Sender, State, Transition};

/// Steps for all users and kinds of a domain; a tree of 10,000 shards takes some ten times as many as it has
/// rules.
const MOST_STEPS: usize = 3_000_000;

/// What no user may send who only reads.
const ALWAYS_REFUSED: [StatementKind; 6] = [
    StatementKind::Insert,
    StatementKind::Update,
    StatementKind::Delete,
    StatementKind::Replace,
    StatementKind::Ddl,
    StatementKind::Call,
];

/// Searches the rules of one configuration for outcomes.
pub(super) struct OutcomeSearch<'w> {
    pub(super) configuration: &'w Configuration,
    pub(super) patterns: &'w [RulePatterns],
    pub(super) starts: &'w Starts,
}

impl OutcomeSearch<'_> {
    /// The outcomes of every plain statement of the domain.
    ///
    /// # Errors
    /// Why they are not known.
    pub(super) fn outcomes(&self, domain: &Domain<'_>) -> Result<Vec<PossibleOutcome>, String> {
        if self.goes_back() {
            return Err("jumps lead back to earlier rules".to_owned());
        }
        let mut outcomes = Vec::new();
        let mut steps = 0;
        for user in users(self.configuration, domain) {
            for kind in kinds(domain) {
                let mut found = FxHashSet::default();
                self.outcomes_of(Sender { user, kind }, domain, &mut steps, &mut found)?;
                let inside = found.into_iter().filter(|(state, _)| in_map(domain, state));
                let before = outcomes.len();
                outcomes.extend(inside.map(|(state, action)| PossibleOutcome {
                    user: user.name.clone(),
                    kind,
                    state,
                    action,
                }));
                // Sets have no order, and answers must be the same each time.
                outcomes[before..]
                    .sort_by_cached_key(|outcome| format!("{:?}{:?}", outcome.action, outcome.state));
            }
        }
        Ok(outcomes)
    }

    /// The hostgroup that takes a sender's statements which are placed on another: of a user who only reads, its readers.
    fn taken_by(&self, sender: Sender<'_>, hostgroup: HostgroupId) -> HostgroupId {
        let cluster = self.configuration.cluster_of(hostgroup);
        let reader = cluster.and_then(|cluster| cluster.reader);
        reader.filter(|_| sender.user.reads_only).unwrap_or(hostgroup)
    }

    /// Whether a jump can lead to a rule before it, where evaluation begins again behind jumps.
    fn goes_back(&self) -> bool {
        let rules = &self.configuration.graph.rules;
        let mut first = BTreeMap::new();
        for (position, rule) in rules.iter().enumerate() {
            first.entry(rule.flag_in).or_insert(position);
        }
        let back = |position: usize, flag: u32| first.get(&flag).is_some_and(|&first| first <= position);
        self.configuration.settings.query_processor_iterations > 0
            && rules.iter().enumerate().any(|(position, rule)| match &rule.body {
                Body::Engine(row) => row.flags_set().any(|flag| back(position, flag)),
                Body::Native { .. } => false,
            })
    }

    fn outcomes_of(
        &self,
        sender: Sender<'_>,
        domain: &Domain<'_>,
        steps: &mut usize,
        outcomes: &mut FxHashSet<(State, Action)>,
    ) -> Result<(), String> {
        let rules = &self.configuration.graph.rules;
        // The sets that wait at each flag. An earlier statement may have left the session at another flag than 0.
        let mut at: BTreeMap<u32, FxHashSet<State>> = BTreeMap::new();
        for flag in self.first_flags() {
            at.insert(flag, beginnings(domain).collect());
        }
        let mut stopped = FxHashSet::default();
        for (position, rule) in rules.iter().enumerate() {
            // A rule of another flag is passed by. One of this flag takes all of its sets, and gives back those that go on.
            let Some(states) = at.remove(&rule.flag_in) else {
                continue;
            };
            *steps += states.len();
            if *steps > MOST_STEPS {
                return Err(format!("more than {MOST_STEPS} steps over the rules are needed"));
            }
            let mut next = Vec::new();
            for state in states {
                match &rule.body {
                    Body::Engine(row) => self.row(position, row, sender, state, &mut next),
                    Body::Native { scope, step } => {
                        native::step(self.configuration, rule, scope, step, sender, state, &mut next)
                    }
                }
            }
            for next in next {
                match next {
                    Transition::Continue(state) => {
                        at.entry(rule.flag_in).or_default().insert(state);
                    }
                    Transition::Jump(flag, state) => {
                        at.entry(flag).or_default().insert(state);
                    }
                    Transition::Stop(state) => {
                        stopped.insert(state);
                    }
                    Transition::Finished(state, action) => {
                        outcomes.insert((state, action));
                    }
                }
            }
        }
        // What waits at a flag behind the last rule has come to the end without `apply`.
        let trailing = rules
            .last()
            .is_some_and(|rule| matches!(&rule.body, Body::Engine(row) if row.apply));
        let profile = self.configuration.engine.profile();
        let skips = profile.trailing_apply_skips_fast_routing && trailing;
        for (flag, states) in at {
            for state in states {
                self.finish(sender, state, (!skips).then_some(flag), outcomes);
            }
        }
        for state in stopped {
            self.finish(sender, state, None, outcomes);
        }
        Ok(())
    }

    /// The flags that a statement can start at.
    fn first_flags(&self) -> impl Iterator<Item = u32> {
        let rules = self.configuration.graph.rules.iter();
        let left = rules.filter_map(|rule| match &rule.body {
            Body::Engine(row) => row.next_query_flag_in,
            Body::Native { .. } => None,
        });
        left.chain([0]).collect::<FxHashSet<u32>>().into_iter()
    }

    fn row(
        &self,
        position: usize,
        row: &EngineRule,
        sender: Sender<'_>,
        state: State,
        next: &mut Vec<Transition>,
    ) {
        let patterns = &self.patterns[position];
        let mut certainty =
            given(&row.username).map_or(Certainty::Always, |user| Certainty::of(user == sender.user.name));
        let unknown = given(&row.client_addr).is_some()
            || given(&row.proxy_addr).is_some()
            || row.proxy_port.is_some()
            || row.digest.is_some();
        if unknown {
            certainty = certainty.and(Certainty::Maybe);
        }
        let mut matched = state.clone();
        if let Some(wanted) = given(&row.schemaname) {
            match &state.schema {
                Schema::Known(schema) => certainty = certainty.and(Certainty::of(**schema == *wanted)),
                // Those that match are from here on known to be in this schema.
                Schema::Any => {
                    certainty = certainty.and(Certainty::Maybe);
                    matched.schema = Schema::Known(wanted.into());
                }
            }
        }
        let certainty_of = |pattern: &Result<Pattern, PatternError>, side| match pattern {
            Ok(pattern) => self
                .starts
                .certainty_of(pattern, row.negate_match_pattern, side, sender.kind),
            Err(_) => Certainty::Maybe,
        };
        // With digests off the engine skips the condition; digests made otherwise need not begin as the kind does.
        if let Some(options) = self.configuration.digests() {
            let is_usual = options == DigestOptions::DEFAULT;
            for pattern in patterns.of_digest() {
                let known = is_usual.then(|| certainty_of(pattern, Side::Digest));
                certainty = certainty.and(known.unwrap_or(Certainty::Maybe));
            }
        }
        for pattern in patterns.of_text() {
            // Only the client's text begins as its kind does.
            let known = if state.rewritten {
                Certainty::Maybe
            } else {
                certainty_of(pattern, Side::Text)
            };
            certainty = certainty.and(known);
        }
        // Unless all match, some go on as they came; unless none match, some go on as the row leaves them.
        if certainty != Certainty::Always {
            next.push(Transition::Continue(state));
        }
        if certainty == Certainty::Never {
            return;
        }
        act(row, &self.configuration.graph.rules[position], &mut matched);
        if row.apply {
            next.push(Transition::Stop(matched));
        } else if row.flags_set().next().is_none() {
            next.push(Transition::Continue(matched));
        } else {
            // A weighted choice is drawn anew for each statement: every flag is possible.
            next.extend(
                row.flags_set()
                    .map(|flag| Transition::Jump(flag, matched.clone())),
            );
        }
    }

    /// Fast routing, where evaluation ended at a flag that it looks at; then the outcome.
    fn finish(
        &self,
        sender: Sender<'_>,
        state: State,
        flag: Option<u32>,
        outcomes: &mut FxHashSet<(State, Action)>,
    ) {
        let graph = &self.configuration.graph;
        let rows = graph.fast_routing.iter().filter(|row| {
            let user = row.username.is_empty() || row.username == sender.user.name;
            let schema = match &state.schema {
                Schema::Any => true,
                Schema::Known(schema) => **schema == *row.schemaname,
            };
            Some(row.flag_in) == flag && user && schema
        });
        // In a known schema a row decides; in any schema each row may, or none.
        let mut sure = false;
        let routed: Vec<State> = rows
            .map(|row| {
                sure |= state.schema != Schema::Any;
                State {
                    hostgroup: Some(row.hostgroup.0),
                    schema: Schema::Known(row.schemaname.as_str().into()),
                    shard: if row.address.is_shard() {
                        Some(row.address.clone())
                    } else {
                        state.shard.clone()
                    },
                    shares_rule: !row.address.is_shard() && state.shares_rule,
                    ..state.clone()
                }
            })
            .collect();
        let unrouted = (!sure).then_some(state);
        for state in routed.into_iter().chain(unrouted) {
            // The firewall may refuse whatever rules place: its digests are not compared with the domain.
            if !self.configuration.firewall.is_empty() && !state.answered {
                outcomes.insert((state.clone(), Action::Reject));
            }
            let action = if state.answered {
                Action::Answer
            } else {
                let hostgroup = state.hostgroup.map_or(sender.user.default_hostgroup, HostgroupId);
                let hostgroup = self.taken_by(sender, hostgroup);
                if sender.user.reads_only {
                    outcomes.insert((state.clone(), Action::Reject));
                    if ALWAYS_REFUSED.contains(&sender.kind) {
                        continue;
                    }
                }
                match state.refused || self.configuration.refusing(hostgroup).is_some() {
                    true => Action::Reject,
                    false => Action::Route(hostgroup),
                }
            };
            if self.configuration.engine.profile().answers_itself && action != Action::Answer {
                by_the_engine(sender, &state, outcomes);
            }
            outcomes.insert((state, action));
        }
    }
}

/// The outcomes that an engine has for some statements whatever rules say. A SET that it cannot read goes to the user's
/// hostgroup; LOAD DATA LOCAL is refused.
fn by_the_engine(sender: Sender<'_>, state: &State, outcomes: &mut FxHashSet<(State, Action)>) {
    match sender.kind {
        StatementKind::Set if !state.refused => {
            let default = State {
                hostgroup: None,
                shard: None,
                ..state.clone()
            };
            outcomes.insert((default, Action::Route(sender.user.default_hostgroup)));
        }
        StatementKind::Other => {
            outcomes.insert((state.clone(), Action::Reject));
        }
        _ => {}
    }
}

/// Later matches overwrite what they set.
fn act(row: &EngineRule, rule: &Rule, state: &mut State) {
    let Effects {
        delay_ms,
        multiplex,
        cache_ttl_ms,
        mirror_hostgroup,
        ..
    } = &mut state.effects;
    *delay_ms = row.delay_ms.or(*delay_ms);
    *multiplex = row.multiplex.or(*multiplex);
    *cache_ttl_ms = row.cache_ttl_ms.or(*cache_ttl_ms);
    *mirror_hostgroup = row.mirror_hostgroup.or(*mirror_hostgroup);
    state.hostgroup = row.destination_hostgroup.or(state.hostgroup);
    state.refused |= row.error_msg.is_some();
    state.answered |= row.ok_msg.is_some();
    state.rewritten |= row.replace_pattern.is_some();
    let mut shards = rule.decided_shards();
    if let (true, Some(shard)) = (moves_on(row), shards.next()) {
        state.shard = Some(shard.clone());
        state.shares_rule = shards.next().is_some();
    }
}

/// Whether a match of the row does anything with where a statement goes.
pub(super) fn moves_on(row: &EngineRule) -> bool {
    row.ends() || row.destination_hostgroup.is_some()
}

fn given(text: &Option<String>) -> Option<&str> {
    text.as_deref().filter(|text| !text.is_empty())
}

fn users<'c>(configuration: &'c Configuration, domain: &Domain<'_>) -> impl Iterator<Item = &'c User> {
    let wanted: Vec<String> = domain.users.iter().map(|user| (*user).to_owned()).collect();
    let users = configuration.users.iter();
    users.filter(move |user| wanted.is_empty() || wanted.contains(&user.name))
}

/// The kinds of a domain.
pub(super) fn kinds(domain: &Domain<'_>) -> Vec<StatementKind> {
    if domain.statements.is_empty() {
        StatementKind::values().collect()
    } else {
        domain.statements.clone()
    }
}

fn beginnings(domain: &Domain<'_>) -> impl Iterator<Item = State> {
    let schemas: Vec<Schema> = if domain.schemas.is_empty() {
        vec![Schema::Any]
    } else {
        let known = domain
            .schemas
            .iter()
            .map(|schema| Schema::Known((*schema).into()));
        known.collect()
    };
    schemas.into_iter().map(|schema| State {
        schema,
        hostgroup: None,
        placed: false,
        shard: None,
        shares_rule: false,
        backend_schema: None,
        own_schema: None,
        rewritten: false,
        effects: Effects::default(),
        refused: false,
        answered: false,
    })
}

/// Whether the statements are among those that a shard of the domain's map places.
fn in_map(domain: &Domain<'_>, state: &State) -> bool {
    domain.map.is_none_or(|map| {
        state.shard.as_ref().is_some_and(|shard| {
            let rest = shard.as_str().strip_prefix("shard_maps.");
            rest.and_then(|rest| rest.strip_prefix(map))
                .is_some_and(|rest| rest.starts_with(".shards."))
        })
    })
}
