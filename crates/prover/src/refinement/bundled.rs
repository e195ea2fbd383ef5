//! What the bundled engine does with the statements of one user, as far as it can be held against placements.
//!
//! # Idea
//!
//! Without a shard map, every statement of a user goes to the user's cluster. With one that finds its key in comments, a
//! statement with one key goes to the cluster of the key's shard: [`key_machine`](super::key_machine) describes these
//! statements. A placement on a cluster is shown to be allowed if no text of the placement is outside of that set.
//!
//! # Invariant
//!
//! [`View::allows`] says [`Allowed::Yes`] only if the bundled engine places every statement of the placement on the
//! cluster, but for the differences of the engines that [`natures`](super::natures) lists.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use shardwright_patterns::{Automaton, Literal, Undecided};
use shardwright_rules::{
    Body, Cluster, CommentForm, Configuration, Finder, HostgroupId, MapStep, NativeStep, Shard, User,
};

use super::key_machine;
use super::placements::Placement;
use crate::languages::{Languages, Lit};

/// Whether the bundled engine places every statement of a placement there.
pub(super) enum Allowed {
    Yes,
    /// It is not shown, because of this. The text is worth trying.
    Unknown(String, Option<Vec<u8>>),
}

/// The steps that are about one user.
pub(super) struct View<'c> {
    configuration: &'c Configuration,
    default: HostgroupId,
    map: Option<&'c MapStep>,
    /// The clusters by their hostgroups.
    clusters: HashMap<HostgroupId, &'c Cluster>,
    /// The shards of the map by the writer of their cluster.
    shards: HashMap<HostgroupId, Vec<&'c Shard>>,
    /// By the writer of a cluster: the texts with a key of its shards; `None` beyond the limits.
    keyed: RefCell<HashMap<HostgroupId, Option<Rc<Automaton>>>>,
}

impl<'c> View<'c> {
    /// The view of a user.
    ///
    /// # Errors
    /// What of the rules is not understood.
    pub(super) fn of(configuration: &'c Configuration, user: &User) -> Result<Self, String> {
        let mut maps = Vec::new();
        for rule in &configuration.graph.rules {
            let Body::Native { scope, step } = &rule.body else {
                return Err("rules of ProxySQL among the steps of the bundled engine".to_owned());
            };
            if let NativeStep::Map(map) = step {
                if !scope.users.contains(&user.name) {
                    continue;
                }
                if !scope.takes_all_of_its_users() {
                    return Err(format!(
                        "shard map `{}`, which is about some statements of its users",
                        map.map
                    ));
                }
                maps.push(&**map);
            }
        }
        if let [one, other, ..] = maps.as_slice() {
            return Err(format!(
                "shard maps `{}` and `{}` of one user",
                one.map, other.map
            ));
        }
        let mut clusters = HashMap::new();
        let mut by_name = HashMap::new();
        for cluster in &configuration.clusters {
            by_name.entry(&*cluster.name).or_insert(cluster);
            for hostgroup in [Some(cluster.writer), cluster.reader].into_iter().flatten() {
                clusters.entry(hostgroup).or_insert(cluster);
            }
        }
        let map = maps.pop();
        let mut shards: HashMap<HostgroupId, Vec<&Shard>> = HashMap::new();
        for shard in map.iter().flat_map(|map| &map.shards) {
            // A shard without a cluster is on that of its user.
            let cluster = match &shard.cluster {
                Some(name) => by_name.get(&**name),
                None => clusters.get(&user.default_hostgroup),
            };
            if let Some(cluster) = cluster {
                shards.entry(cluster.writer).or_default().push(shard);
            }
        }
        Ok(Self {
            configuration,
            default: user.default_hostgroup,
            map,
            clusters,
            shards,
            keyed: RefCell::default(),
        })
    }

    /// Whether every statement of the placement is placed there.
    pub(super) fn allows(&self, placement: &Placement, languages: &Languages) -> Allowed {
        let is_default = |hostgroup: HostgroupId| {
            hostgroup == self.default
                || self
                    .cluster_of(hostgroup)
                    .is_some_and(|cluster| cluster.owns(self.default))
        };
        let reads = self
            .cluster_of(placement.hostgroup)
            .is_some_and(|cluster| cluster.writer != placement.hostgroup);
        if reads && placement.hostgroup != self.default {
            return Allowed::Unknown(
                "reads: patterns recognise them on one side, the lexer and a list of functions on the other"
                    .to_owned(),
                None,
            );
        }
        let Some(map) = self.map else {
            return match is_default(placement.hostgroup) {
                true => Allowed::Yes,
                false => Allowed::Unknown(
                    format!("statements that are sent to hostgroup {}", placement.hostgroup),
                    None,
                ),
            };
        };
        let word = match map.finders.as_slice() {
            [
                Finder::Comment {
                    word,
                    form: CommentForm::Pairs,
                },
            ] if map.shards.iter().all(|shard| shard.schema.is_none())
                && map.logical_schema.is_none()
                && map.otherwise.is_none()
                && key_machine::reads(word) =>
            {
                word
            }
            _ => {
                return Allowed::Unknown(
                    format!(
                        "shard map `{}`: its keys, or the schemas that statements name",
                        map.map
                    ),
                    None,
                );
            }
        };
        let Some(keyed) = self.keyed(map, word, placement.hostgroup) else {
            return Allowed::Unknown(format!("shard map `{}`: the number of its keys", map.map), None);
        };
        let outside = Literal {
            automaton: &keyed,
            positive: false,
        };
        let found = match outside_of(languages, &placement.text, outside) {
            Ok(None) => return Allowed::Yes,
            Ok(text) => text,
            Err(_) => {
                let what = format!("shard map `{}`: {}", map.map, languages.limit_reached());
                return Allowed::Unknown(what, None);
            }
        };
        let what = match is_default(placement.hostgroup) || self.takes_keyless(map, placement.hostgroup) {
            true => format!(
                "shard map `{}`: statements without a key that are let through; patterns recognise them on one side, \
                 the lexer on the other",
                map.map
            ),
            false => format!("shard map `{}`: keys in comments", map.map),
        };
        Allowed::Unknown(what, found)
    }

    /// What a placement that is allowed is about.
    pub(super) fn about(&self) -> String {
        match self.map {
            Some(map) => format!("shard map `{}`: statements with a key", map.map),
            None => "statements that go to the user's cluster".to_owned(),
        }
    }

    fn cluster_of(&self, hostgroup: HostgroupId) -> Option<&'c Cluster> {
        self.clusters.get(&hostgroup).copied()
    }

    /// Whether the map sends statements without a known key to the cluster of a hostgroup.
    fn takes_keyless(&self, map: &MapStep, hostgroup: HostgroupId) -> bool {
        use shardwright_rules::{MissingAction, UnknownKey};
        let named = [&map.missing.statements, &map.missing.session_setup]
            .into_iter()
            .filter_map(|action| match action {
                MissingAction::Cluster(name) => Some(name),
                _ => None,
            });
        let unknown = match &map.unknown {
            UnknownKey::Cluster(name) => Some(name),
            UnknownKey::Reject => None,
        };
        named
            .chain(unknown)
            .filter_map(|name| self.configuration.cluster(name))
            .any(|cluster| cluster.owns(hostgroup))
    }

    /// The texts with one key of the shards that the cluster of a hostgroup holds.
    fn keyed(&self, map: &MapStep, word: &str, hostgroup: HostgroupId) -> Option<Rc<Automaton>> {
        if let Some(known) = self.keyed.borrow().get(&hostgroup) {
            return known.clone();
        }
        let writer = self
            .cluster_of(hostgroup)
            .map_or(hostgroup, |cluster| cluster.writer);
        let here = self.shards.get(&writer).map_or(&[][..], Vec::as_slice);
        let keys: Vec<_> = here.iter().flat_map(|shard| shard.keys.iter().cloned()).collect();
        let ranges: Vec<_> = here
            .iter()
            .flat_map(|shard| shard.ranges.iter().copied())
            .collect();
        let made = match map.remainder {
            // Which keys have a remainder is not enumerated.
            Some(_) => None,
            None => key_machine::texts_with_key(word, map.kind, &keys, &ranges).ok(),
        };
        let made = made.map(Rc::new);
        self.keyed.borrow_mut().insert(hostgroup, made.clone());
        made
    }
}

/// A text of a placement that satisfies the literal as well; `None` is a proof that there is none.
///
/// What must match comes first. What must not match is added where the text that was found matches it: few of the rules
/// that a way passes by matter.
fn outside_of(
    languages: &Languages,
    text: &[Lit],
    outside: Literal<'_>,
) -> Result<Option<Vec<u8>>, Undecided> {
    let (mut asked, mut left): (Vec<Lit>, Vec<Lit>) = text.iter().partition(|lit| lit.positive);
    loop {
        let Some(found) = languages.shortest_with(&asked, outside)? else {
            return Ok(None);
        };
        let subject = languages.subject(&found);
        let (kept, failed): (Vec<Lit>, Vec<Lit>) =
            left.iter().partition(|&&lit| languages.holds(lit, &subject));
        if failed.is_empty() {
            return Ok(Some(found));
        }
        asked.extend(failed);
        left = kept;
    }
}
