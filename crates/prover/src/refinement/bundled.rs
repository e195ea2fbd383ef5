//! What the bundled engine does with the statements of one user, as far as it can be held against placements.
//!
//! # Idea
//!
//! Without a shard map, every statement of a user goes to the user's cluster. With one that finds its key in comments, a
//! statement with one key goes to the cluster of the key's shard: [`key_machine`](super::key_machine) describes these
//! statements. A placement on a cluster is shown to be allowed if no text of the placement is outside of that set, and
//! one on readers if no text of it is outside of the reads besides ([`read_machine`](super::read_machine)).
//!
//! # Invariant
//!
//! [`View::allows`] says [`Allowed::Yes`] only if the bundled engine places every statement of the placement on the
//! cluster, but for the differences of the engines that [`natures`](super::natures) lists.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use shardwright_patterns::{Automaton, Literal, Undecided};
use shardwright_rules::{
    Body, Cluster, CommentForm, Configuration, Finder, HostgroupId, KeyTemplate, MapStep, NativeStep,
    ReadSelection, Shard, User,
};

use super::placements::{Placement, SessionSchema};
use super::{key_machine, read_machine};
use crate::budget::Spending;
use crate::languages::{Languages, Lit};

/// Steps of making the machine of one cluster's keys.
const MACHINE_STEPS: u64 = 100_000;

/// Whether the bundled engine places every statement of a placement there.
pub(super) enum Allowed {
    Yes,
    /// It is not shown, because of this. The text is worth trying.
    Unknown(String, Option<Vec<u8>>),
}

/// The steps that are about one user.
pub(super) struct View<'c> {
    configuration: &'c Configuration,
    /// What machines are charged to.
    spending: Rc<Spending>,
    default: HostgroupId,
    map: Option<&'c MapStep>,
    /// The clusters by their hostgroups.
    clusters: HashMap<HostgroupId, &'c Cluster>,
    /// The shards of the map by the writer of their cluster.
    shards: HashMap<HostgroupId, Vec<&'c Shard>>,
    /// Every read of the user goes to the readers of the cluster that it is on.
    splits_reads: bool,
    /// The texts of reads; `None` beyond the limits.
    reads: OnceCell<Option<Automaton>>,
    /// By the writer of a cluster: the texts with a key of its shards; `None` beyond the limits.
    keyed: RefCell<HashMap<HostgroupId, Option<Rc<Automaton>>>>,
}

impl<'c> View<'c> {
    /// The view of a user.
    ///
    /// # Errors
    /// What of the rules is not understood.
    pub(super) fn of(
        configuration: &'c Configuration,
        user: &User,
        spending: &Rc<Spending>,
    ) -> Result<Self, String> {
        if user.reads_only {
            return Err(format!("that {} only reads", user.name));
        }
        let mut maps = Vec::new();
        let (mut splits_reads, mut may_be_over) = (false, false);
        for rule in &configuration.graph.rules {
            let Body::Native { scope, step } = &rule.body else {
                return Err("rules of ProxySQL among the steps of the bundled engine".to_owned());
            };
            if !scope.users.contains(&user.name) {
                continue;
            }
            match step {
                NativeStep::Map(map) if scope.takes_all_of_its_users() => maps.push(&**map),
                NativeStep::Map(map) => {
                    return Err(format!(
                        "shard map `{}`, which is about some statements of its users",
                        map.map
                    ));
                }
                NativeStep::Role(role) => {
                    splits_reads |= !may_be_over
                        && scope.takes_all_of_its_users()
                        && role.reads == ReadSelection::All
                        && role.writer_hint.is_none()
                        && role.after_write_ms == 0
                        && !role.causal;
                }
                NativeStep::StopIfPlaced => may_be_over = true,
                NativeStep::Delay(_) | NativeStep::Throttle(_) | NativeStep::NoMultiplex => {}
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
        let placed = map.iter().flat_map(|map| &map.shards);
        for shard in placed.filter(|shard| shard.refuse.is_none()) {
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
            spending: Rc::clone(spending),
            default: user.default_hostgroup,
            map,
            clusters,
            shards,
            splits_reads,
            reads: OnceCell::new(),
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
        if self.is_of_reads(placement)
            && let Some(unknown) = self.beyond_reads(placement, languages)
        {
            return unknown;
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
        if let [Finder::Schema { template }] = map.finders.as_slice()
            && keeps_names(map)
        {
            let what = || {
                format!(
                    "shard map `{}`: sessions whose schema is no key of a shard",
                    map.map
                )
            };
            return match self.holds_schema(map, template, placement) {
                true => Allowed::Yes,
                false => Allowed::Unknown(what(), None),
            };
        }
        let word = match map.finders.as_slice() {
            [
                Finder::Comment {
                    word,
                    form: CommentForm::Pairs,
                },
            ] if keeps_names(map) && key_machine::reads(word) => word,
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
    pub(super) fn about(&self, placement: &Placement) -> String {
        match (self.map, self.is_of_reads(placement)) {
            (Some(map), false) => format!("shard map `{}`: statements with a key", map.map),
            (Some(map), true) => format!("shard map `{}`: reads with a key", map.map),
            (None, false) => "statements that go to the user's cluster".to_owned(),
            (None, true) => "reads that go to the readers of the user's cluster".to_owned(),
        }
    }

    /// Whether the placement is on readers for what its statements are, and not for their user.
    fn is_of_reads(&self, placement: &Placement) -> bool {
        placement.hostgroup != self.default
            && self
                .cluster_of(placement.hostgroup)
                .is_some_and(|cluster| cluster.writer != placement.hostgroup)
    }

    /// Why it is not shown that the placement holds reads only.
    fn beyond_reads(&self, placement: &Placement, languages: &Languages) -> Option<Allowed> {
        const READS: &str =
            "reads: patterns recognise them on one side, the lexer and a list of functions on the other";
        if !self.splits_reads {
            let what = "reads: a policy about some of them, or with a hint for the writer";
            return Some(Allowed::Unknown(what.to_owned(), None));
        }
        let reads = self.reads.get_or_init(|| read_machine::reads().ok()).as_ref();
        let outside = reads.map(|automaton| Literal {
            automaton,
            positive: false,
        });
        match outside.map(|outside| outside_of(languages, &placement.text, outside)) {
            Some(Ok(None)) => None,
            Some(Ok(text)) => Some(Allowed::Unknown(READS.to_owned(), text)),
            Some(Err(_)) | None => Some(Allowed::Unknown(
                format!("reads: {}", languages.limit_reached()),
                None,
            )),
        }
    }

    /// Whether the session's schema is that of a shard which the cluster of the placement holds. Its statements belong
    /// there, whatever they are.
    fn holds_schema(&self, map: &MapStep, template: &KeyTemplate, placement: &Placement) -> bool {
        let SessionSchema::Known(schema) = &placement.schema else {
            return false;
        };
        let writer = self
            .cluster_of(placement.hostgroup)
            .map_or(placement.hostgroup, |cluster| cluster.writer);
        let here = self.shards.get(&writer).map_or(&[][..], Vec::as_slice);
        let mut keys = here.iter().flat_map(|shard| &shard.keys);
        map.remainder.is_none() && keys.any(|key| template.render(key).as_deref() == Some(&**schema))
    }

    fn cluster_of(&self, hostgroup: HostgroupId) -> Option<&'c Cluster> {
        self.clusters.get(&hostgroup).copied()
    }

    /// Whether the map sends statements without a known key to the cluster of a hostgroup.
    fn takes_keyless(&self, map: &MapStep, hostgroup: HostgroupId) -> bool {
        map.clusters_elsewhere()
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
            None if self.spending.steps(MACHINE_STEPS).is_ok() => {
                key_machine::texts_with_key(word, map.kind, &keys, &ranges).ok()
            }
            None => None,
        };
        let made = made.map(Rc::new);
        self.keyed.borrow_mut().insert(hostgroup, made.clone());
        made
    }
}

/// Whether the map sends statements as they are.
fn keeps_names(map: &MapStep) -> bool {
    map.shards.iter().all(|shard| shard.schema.is_none())
        && map.logical_schema.is_none()
        && map.otherwise.is_none()
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
