//! The read/write split for users who follow different policies.
//!
//! Users whose statements meet the same maps share the rules of those maps, whatever policies they follow. Where reads part
//! from writes, each [`RoleGroup`] but the largest, which is the last, is told apart by the names of its users. The split stands in one of two places:
//!
//! * in front of rules that name hostgroups, which then stand twice ([`Lowering::split`]);
//! * behind rules that name a cluster's writer, once for each cluster ([`Lowering::split_on`]). What is not a read keeps the
//!   writer that is set.
//!
//! Example: `app` follows a policy and `batch` does not. In front of a map, the rules are: `batch` goes to the writers; what the
//! policy takes for a read goes to the readers; the rest goes to the writers. Behind the cluster `c1`, they are: `batch` ends
//! here; a read gets the reader of `c1`; the rest falls off the end.

use std::collections::BTreeSet;

use shardwright_rules::{Address, EngineRule, MapStep};

use super::Lowering;
use super::chains::Target;
use super::role::{RoleTargets, covering, policies_of, role_chain, takes_plain_reads};
use crate::draft::{ChainRef, user_rule};
use crate::program::{Program, Section};

/// Users who follow the same policies.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RoleGroup {
    /// Names, ascending.
    pub(crate) users: Vec<String>,
    /// Indexes of their policies in the program, in order.
    pub(crate) policies: Vec<usize>,
}

/// A policy in front of two targets, and the users who do not follow it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct RoleKey {
    policy: usize,
    targets: RoleTargets,
    others: Vec<(String, Target)>,
}

/// What a cluster's split depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ClusterSplitKey {
    cluster: String,
    groups: Vec<RoleGroup>,
    then: Target,
}

impl Lowering<'_, '_> {
    /// The policies that send reads of a map's shards to readers, for rules that serve every group; none: all stay on writers.
    /// Every group that sends any away covers the same clusters (see [`reads_alike`]).
    pub(super) fn readers_of(&mut self, section: &Section<Box<MapStep>>, groups: &[RoleGroup]) -> Vec<usize> {
        let program = self.input.program;
        let mut readers = groups
            .iter()
            .map(|group| policies_of(program, section, &group.policies, self.report));
        readers.find(|policies| !policies.is_empty()).unwrap_or_default()
    }

    /// Whether all plain reads of a map's shards go to readers that these users send: their policy asks for nothing but a read.
    pub(super) fn reads_plainly(&mut self, section: &Section<Box<MapStep>>, group: &RoleGroup) -> bool {
        let program = self.input.program;
        let policies = policies_of(program, section, &group.policies, self.report);
        policies
            .first()
            .is_some_and(|&policy| takes_plain_reads(program, policy))
    }

    /// The split in front of a map's rules for readers and for writers.
    pub(super) fn split(
        &mut self,
        name: &str,
        section: &Section<Box<MapStep>>,
        groups: &[RoleGroup],
        targets: RoleTargets,
    ) -> Target {
        let mut asked: Vec<Vec<usize>> = Vec::new();
        for group in groups {
            let mut policies = policies_of(self.input.program, section, &group.policies, self.report);
            policies.truncate(1);
            asked.push(policies);
        }
        self.ask(name, &section.address, groups, &asked, targets)
    }

    /// The split behind rules that have set the writer of a cluster; `then` takes reads and writes.
    pub(super) fn split_on(&mut self, cluster: &str, groups: &[RoleGroup], then: Target) -> Target {
        let key = ClusterSplitKey {
            cluster: cluster.to_owned(),
            groups: groups.to_vec(),
            then,
        };
        if let Some(&target) = self.shared.cluster_splits.get(&key) {
            return target;
        }
        let program = self.input.program;
        let Some(reader) = program.resolved_cluster(cluster).reader else {
            return then;
        };
        let address = Address::new(format!("clusters.{cluster}"));
        let asked: Vec<Vec<usize>> = groups
            .iter()
            .map(|group| covering(program, &group.policies, cluster))
            .collect();
        let targets = RoleTargets {
            reader: then,
            hostgroup: Some(reader.0),
            writer: then,
            writer_is_set: true,
        };
        let target = self.ask(&format!("{address}.reads"), &address, groups, &asked, targets);
        self.shared.cluster_splits.insert(key, target);
        target
    }

    /// Asks the policies of each group in turn; the rules of the last group's first policy begin with the users of the others.
    fn ask(
        &mut self,
        name: &str,
        address: &Address,
        groups: &[RoleGroup],
        asked: &[Vec<usize>],
        targets: RoleTargets,
    ) -> Target {
        let mut ends: Vec<Target> = Vec::new();
        let (last, others) = asked.split_last().expect("a map has users");
        for policies in others {
            ends.push(self.in_turn(name, policies, targets));
        }
        let Some((&first, later)) = last.split_first() else {
            ends.push(targets.writer);
            return self.by_group(name, address, groups, &ends);
        };
        let writer = self.in_turn(name, later, targets);
        let users = groups.iter().zip(&ends).flat_map(|(group, &end)| {
            let users = group.users.iter().cloned();
            users.map(move |user| (user, end))
        });
        let others = users.collect();
        Target::Jump(self.role(name, first, RoleTargets { writer, ..targets }, others))
    }

    /// The chains of some policies: a read that one leaves on the writer is asked about by the next one.
    pub(crate) fn in_turn(&mut self, name: &str, policies: &[usize], targets: RoleTargets) -> Target {
        let mut writer = targets.writer;
        for &policy in policies.iter().rev() {
            let targets = RoleTargets { writer, ..targets };
            writer = Target::Jump(self.role(name, policy, targets, Vec::new()));
        }
        writer
    }

    /// The chain of a policy in front of two targets, once; `others` are users who go on elsewhere.
    fn role(
        &mut self,
        name: &str,
        policy: usize,
        targets: RoleTargets,
        others: Vec<(String, Target)>,
    ) -> ChainRef {
        let key = RoleKey {
            policy,
            targets,
            others,
        };
        if let Some(&chain) = self.shared.roles.get(&key) {
            return chain;
        }
        let chain = role_chain(
            &mut self.chains,
            self.input.program,
            name,
            policy,
            &key.others,
            targets,
        );
        self.shared.roles.insert(key, chain);
        chain
    }

    /// Where each group goes on; those who go where most users do are not named.
    pub(crate) fn by_group(
        &mut self,
        name: &str,
        address: &Address,
        groups: &[RoleGroup],
        ends: &[Target],
    ) -> Target {
        let users_of = |end: Target| -> usize {
            let alike = groups.iter().zip(ends).filter(|(_, other)| **other == end);
            alike.map(|(group, _)| group.users.len().max(1)).sum()
        };
        let rest = ends.iter().copied().max_by_key(|&end| users_of(end));
        let rest = rest.expect("a map has users");
        if ends.iter().all(|&end| end == rest) {
            return rest;
        }
        let chain = self.chains.draft.chain(&format!("{name}.users"));
        for (group, &end) in groups.iter().zip(ends).filter(|(_, end)| **end != rest) {
            for user in &group.users {
                self.chains.go(chain, user, address, user_rule(user), end);
            }
        }
        self.chains
            .go(chain, "rest", address, EngineRule::default(), rest);
        Target::Jump(chain)
    }
}

/// Whether one list of rules for readers serves every group: those that send reads of a map's shards away cover the same
/// clusters.
pub(crate) fn reads_alike(program: &Program, section: &Section<Box<MapStep>>, groups: &[RoleGroup]) -> bool {
    let shards = section.step.shards.iter();
    let clusters: BTreeSet<&str> = shards.filter_map(|shard| shard.cluster.as_deref()).collect();
    let covered = |group: &RoleGroup| -> Vec<&str> {
        let clusters = clusters.iter().copied();
        clusters
            .filter(|cluster| !covering(program, &group.policies, cluster).is_empty())
            .collect()
    };
    let mut covered = groups.iter().map(covered).filter(|covered| !covered.is_empty());
    match covered.next() {
        Some(first) => covered.all(|other| other == first),
        None => true,
    }
}
