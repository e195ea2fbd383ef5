//! Every end that plain statements of a domain can come to: a walk over the rules with sets of statements.
//!
//! # Idea
//!
//! A set is all plain statements of one kind that one user sends and that have one [`State`]. The walk goes
//! once over the rules, in ascending order, and keeps the sets that wait at each flag. A rule takes the sets
//! of its flag: whether their statements match is always, never or maybe ([`Starts`]). Maybe goes on with
//! both: one set that matched, one that did not.
//!
//! # Invariant
//!
//! The sets are never too small: each statement is in a set at the flag and in the state that the evaluator
//! has for it. So what holds for every end holds for every statement. Sets may be too large: an end that no
//! statement comes to only costs a proof. One pass is enough: without restarts, evaluation only goes forward,
//! and with restarts, rules whose jumps lead back are not walked at all ([`Walker::goes_back`]).
//!
//! # Example
//!
//! One rule, `match_digest: "^SELECT"`, to hostgroup 11 with `apply`; the default hostgroup of `app` is 10.
//!
//! * INSERT of `app`: no digest text of the kind begins with `SELECT`: the rule never matches. One end, 10.
//! * SELECT of `app`: a digest text may also begin with `(` or `TABLE`: the rule may match. Two ends, 10 and
//!   11.
//!
//! So "INSERT goes to 10" is proved. "SELECT goes to 11" is not, and rightly: `(SELECT 1)` goes to 10.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;
use shardwright_patterns::{Pattern, PatternError};
use shardwright_rules::decide::RulePatterns;
use shardwright_rules::{
    Address, Body, Configuration, Effects, EngineRule, HostgroupId, StatementKind, User, Words,
};
use shardwright_sql::DigestOptions;

use super::Domain;
use super::end::End;
use super::native;
use super::starts::{Side, Starts, Tells};
use super::state::{Next, Schema, Sender, State, What};

/// Steps for all users and kinds of a domain; a tree of 10,000 shards takes some ten times as many as it has
/// rules.
const MOST_STEPS: usize = 3_000_000;

/// Walks the rules of one configuration.
pub(super) struct Walker<'w> {
    pub(super) configuration: &'w Configuration,
    pub(super) patterns: &'w [RulePatterns],
    pub(super) starts: &'w Starts,
}

impl Walker<'_> {
    /// The ends of every plain statement of the domain.
    ///
    /// # Errors
    /// Why they cannot be told.
    pub(super) fn ends(&self, domain: &Domain<'_>) -> Result<Vec<End>, String> {
        if self.goes_back() {
            return Err("jumps lead back to earlier rules".to_owned());
        }
        let mut ends = Vec::new();
        let mut steps = 0;
        for user in users(self.configuration, domain) {
            for kind in kinds(domain) {
                let mut found = FxHashSet::default();
                self.walk(Sender { user, kind }, domain, &mut steps, &mut found)?;
                let inside = found.into_iter().filter(|(state, _)| in_map(domain, state));
                let before = ends.len();
                ends.extend(inside.map(|(state, what)| End {
                    user: user.name.clone(),
                    kind,
                    state,
                    what,
                }));
                // Sets have no order, and answers must be the same each time.
                ends[before..].sort_by_cached_key(|end| format!("{:?}{:?}", end.what, end.state));
            }
        }
        Ok(ends)
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

    fn walk(
        &self,
        sender: Sender<'_>,
        domain: &Domain<'_>,
        steps: &mut usize,
        ends: &mut FxHashSet<(State, What)>,
    ) -> Result<(), String> {
        let rules = &self.configuration.graph.rules;
        let mut at: BTreeMap<u32, FxHashSet<State>> = BTreeMap::new();
        for flag in self.first_flags() {
            at.insert(flag, beginnings(domain).collect());
        }
        let mut stopped = FxHashSet::default();
        for (position, rule) in rules.iter().enumerate() {
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
                        native::step(self.configuration, scope, step, sender, state, &mut next)
                    }
                }
            }
            for next in next {
                match next {
                    Next::On(state) => {
                        at.entry(rule.flag_in).or_default().insert(state);
                    }
                    Next::Jump(flag, state) => {
                        at.entry(flag).or_default().insert(state);
                    }
                    Next::Stop(state) => {
                        stopped.insert(state);
                    }
                    Next::Ended(state, what) => {
                        ends.insert((state, what));
                    }
                }
            }
        }
        let trailing = rules
            .last()
            .is_some_and(|rule| matches!(&rule.body, Body::Engine(row) if row.apply));
        let profile = self.configuration.engine.profile();
        let skips = profile.trailing_apply_skips_fast_routing && trailing;
        for (flag, states) in at {
            for state in states {
                self.finish(sender, state, (!skips).then_some(flag), ends);
            }
        }
        for state in stopped {
            self.finish(sender, state, None, ends);
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

    fn row(&self, position: usize, row: &EngineRule, sender: Sender<'_>, state: State, next: &mut Vec<Next>) {
        let patterns = &self.patterns[position];
        let mut tells =
            given(&row.username).map_or(Tells::Always, |user| Tells::of(user == sender.user.name));
        let unknown = given(&row.client_addr).is_some()
            || given(&row.proxy_addr).is_some()
            || row.proxy_port.is_some()
            || row.digest.is_some();
        if unknown {
            tells = tells.and(Tells::Maybe);
        }
        let mut matched = state.clone();
        if let Some(wanted) = given(&row.schemaname) {
            match &state.schema {
                Schema::Known(schema) => tells = tells.and(Tells::of(**schema == *wanted)),
                // Those that match are from here on known to be in this schema.
                Schema::Any => {
                    tells = tells.and(Tells::Maybe);
                    matched.schema = Schema::Known(wanted.into());
                }
            }
        }
        let tell = |pattern: &Result<Pattern, PatternError>, side| match pattern {
            Ok(pattern) => self
                .starts
                .tell(pattern, row.negate_match_pattern, side, sender.kind),
            Err(_) => Tells::Maybe,
        };
        // With digests off the engine skips the condition; digests made otherwise need not begin as the kind does.
        if let Some(options) = self.configuration.digests() {
            let is_usual = options == DigestOptions::DEFAULT;
            for pattern in patterns.of_digest() {
                let known = is_usual.then(|| tell(pattern, Side::Digest));
                tells = tells.and(known.unwrap_or(Tells::Maybe));
            }
        }
        for pattern in patterns.of_text() {
            // Only the client's text begins as its kind does.
            let known = if state.rewritten {
                Tells::Maybe
            } else {
                tell(pattern, Side::Text)
            };
            tells = tells.and(known);
        }
        if tells != Tells::Always {
            next.push(Next::On(state));
        }
        if tells == Tells::Never {
            return;
        }
        act(
            row,
            self.configuration.graph.rules[position].address.clone(),
            &mut matched,
        );
        if row.apply {
            next.push(Next::Stop(matched));
        } else if row.flags_set().next().is_none() {
            next.push(Next::On(matched));
        } else {
            next.extend(row.flags_set().map(|flag| Next::Jump(flag, matched.clone())));
        }
    }

    /// Fast routing, where evaluation ended at a flag that it looks at; then the outcome.
    fn finish(
        &self,
        sender: Sender<'_>,
        state: State,
        flag: Option<u32>,
        ends: &mut FxHashSet<(State, What)>,
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
                    ..state.clone()
                }
            })
            .collect();
        let unrouted = (!sure).then_some(state);
        for state in routed.into_iter().chain(unrouted) {
            if !self.configuration.firewall.is_empty() && !state.answered {
                ends.insert((state.clone(), What::Reject));
            }
            let what = if state.answered {
                What::Answer
            } else {
                let hostgroup = state.hostgroup.map_or(sender.user.default_hostgroup, HostgroupId);
                match state.refused || self.configuration.refusing(hostgroup).is_some() {
                    true => What::Reject,
                    false => What::Route(hostgroup),
                }
            };
            if self.configuration.engine.profile().answers_itself && what != What::Answer {
                by_the_engine(sender, &state, ends);
            }
            ends.insert((state, what));
        }
    }
}

/// The ends that an engine has for some statements whatever rules say. A SET that it cannot read goes to the user's
/// hostgroup; LOAD DATA LOCAL is refused.
fn by_the_engine(sender: Sender<'_>, state: &State, ends: &mut FxHashSet<(State, What)>) {
    match sender.kind {
        StatementKind::Set if !state.refused => {
            let default = State {
                hostgroup: None,
                shard: None,
                ..state.clone()
            };
            ends.insert((default, What::Route(sender.user.default_hostgroup)));
        }
        StatementKind::Other => {
            ends.insert((state.clone(), What::Reject));
        }
        _ => {}
    }
}

/// Later matches overwrite what they set.
fn act(row: &EngineRule, address: Address, state: &mut State) {
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
    if moves_on(row) && address.is_shard() {
        state.shard = Some(address);
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
