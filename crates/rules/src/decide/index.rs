//! How a decision looks things up.

use shardwright_sql::DigestOptions;

use crate::decide::{PatternColumn, RulePatterns};
use crate::{
    Body, Cluster, Configuration, FastRoute, HostgroupId, KeyRef, MapStep, NativeStep, Remainder, Shard,
    Step, User,
};

/// A shard that holds a key.
#[derive(Debug)]
pub struct ShardOfKey<'c> {
    /// The shard.
    pub shard: &'c Shard,
    /// The writer of its cluster; `None` where it has none, or the configuration does not know it.
    pub writer: Option<HostgroupId>,
    /// Nothing but the shard's cluster owns that writer.
    pub is_sole_owner: bool,
}

/// The text that patterns are run on.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'t> {
    /// The text.
    pub text: &'t [u8],
    /// How often rules have rewritten it. Within one decision, subjects with the same number are the same text.
    pub rewrites: u32,
}

/// A rule that comes next in a chain, and what was passed on the way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NextRule {
    /// Its position; `None` where the chain ends.
    pub position: Option<usize>,
    /// Rules of the chain before it whose one condition, a pattern over the text, is known not to hold.
    pub passed: u32,
    /// It is known to match, and so many patterns are run for it: one if that is its one condition, none if it has no
    /// condition.
    pub matched: Option<u32>,
}

/// All that a rule does which matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnownAction {
    /// It jumps to this chain.
    Jump(u32),
    /// It sets this hostgroup and ends the evaluation.
    Place(u32),
}

/// Look-ups over a configuration. The provided methods go through its lists line by line; an implementation may
/// answer the same by other means.
pub trait Index {
    /// The configuration.
    fn configuration(&self) -> &Configuration;

    /// [`Configuration::digests`].
    fn digests(&self) -> Option<DigestOptions> {
        self.configuration().digests()
    }

    /// The compiled patterns of the rule at `position`.
    fn patterns(&self, position: usize) -> &RulePatterns;

    /// The position of the first rule of chain `flag` at or behind `from`.
    fn next_rule(&self, flag: u32, from: usize) -> Option<usize> {
        let rules = &self.configuration().graph.rules[from..];
        rules
            .iter()
            .position(|rule| rule.flag_in == flag)
            .map(|offset| from + offset)
    }

    /// Rules that are run and bytes of rewritten texts before an evaluation is given up ([`crate::Decision::is_cut`]). The
    /// engine has no such bound: restarts and rewrites can go on for very long.
    fn most_steps(&self) -> u64 {
        u64::MAX
    }

    /// The first rule of chain `flag` at or behind `from` that may match `subject`. Rules may be passed that are known
    /// not to match it.
    fn next_candidate(&self, flag: u32, from: usize, _subject: Subject<'_>) -> NextRule {
        NextRule {
            position: self.next_rule(flag, from),
            passed: 0,
            matched: None,
        }
    }

    /// Whether the pattern over the text of the engine rule at `position` matches, where that is known without asking it.
    fn known_match(&self, _position: usize, _subject: Subject<'_>) -> Option<bool> {
        None
    }

    /// What the rule at `position` does when it matches, where that is known to be all.
    fn known_action(&self, _position: usize) -> Option<KnownAction> {
        None
    }

    /// How a path tells that the engine rule at `position` matched of which nothing is withheld, where that is written down:
    /// [`super::step_of`].
    fn known_step(&self, _position: usize) -> Option<&Step> {
        None
    }

    /// Is told of each pattern of an engine rule that is asked: the rule's position, and where the pattern stands in it.
    #[inline]
    fn evaluates(&self, _position: usize, _column: PatternColumn) {}

    /// The user of this name.
    fn user(&self, name: &str) -> Option<&User> {
        self.configuration().user(name)
    }

    /// The cluster of this name.
    fn cluster(&self, name: &str) -> Option<&Cluster> {
        self.configuration().cluster(name)
    }

    /// The cluster that owns a hostgroup.
    fn cluster_of(&self, hostgroup: HostgroupId) -> Option<&Cluster> {
        self.configuration().cluster_of(hostgroup)
    }

    /// The shard that holds `key` in the map at `position`.
    fn shard(&self, position: usize, key: &KeyRef<'_>) -> Option<ShardOfKey<'_>> {
        let step = self.map(position)?;
        let shard = step.shards.iter().find(|shard| holds(step, shard, key))?;
        Some(self.placed_on(shard))
    }

    /// A shard, and the writer of its cluster.
    fn placed_on<'c>(&'c self, shard: &'c Shard) -> ShardOfKey<'c> {
        let cluster = shard.cluster.as_deref().and_then(|name| self.cluster(name));
        ShardOfKey {
            shard,
            writer: cluster.map(|cluster| cluster.writer),
            is_sole_owner: false,
        }
    }

    /// The shard whose own schema is `name` in the map at `position`.
    fn shard_of_schema(&self, position: usize, name: &str) -> Option<&Shard> {
        self.map(position)?
            .shards
            .iter()
            .find(|shard| shard.schema.as_deref() == Some(name))
    }

    /// The row of fast routing for exactly this user, schema and flag.
    fn fast_route(&self, user: &str, schema: &str, flag: u32) -> Option<&FastRoute> {
        let rows = &self.configuration().graph.fast_routing;
        rows.iter()
            .find(|row| row.username == user && row.schemaname == schema && row.flag_in == flag)
    }

    /// The map that the rule at `position` is.
    fn map(&self, position: usize) -> Option<&MapStep> {
        match &self.configuration().graph.rules.get(position)?.body {
            Body::Native {
                step: NativeStep::Map(step),
                ..
            } => Some(step),
            _ => None,
        }
    }
}

/// Whether a shard of a map holds a key.
pub fn holds(step: &MapStep, shard: &Shard, key: &KeyRef<'_>) -> bool {
    let in_range = match key {
        KeyRef::Integer(n) => shard
            .ranges
            .iter()
            .any(|(first, last)| (first..=last).contains(&n)),
        KeyRef::Text(_) => false,
    };
    let by_remainder = step
        .remainder
        .as_ref()
        .is_some_and(|by| shard.remainders.contains(&remainder(by, key)));
    shard.keys.iter().any(|own| key.is(own)) || in_range || by_remainder
}

/// The remainder of a key: of the number itself, or of XXH64 (seed 0) over the UTF-8 of its canonical text.
/// A text key is always hashed.
pub fn remainder(by: &Remainder, key: &KeyRef<'_>) -> u64 {
    match key {
        KeyRef::Integer(n) if !by.hashed => u64::try_from(i128::from(*n).rem_euclid(i128::from(by.modulo)))
            .expect("a remainder is below its modulus"),
        key => twox_hash::XxHash64::oneshot(0, key.to_string().as_bytes()) % by.modulo,
    }
}
