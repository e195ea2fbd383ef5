//! Rules that send statements to the readers of a cluster, as its read/write policy.
//!
//! Such rules go by a pattern and prove nothing: the policy says `allow_on_readers: [unproven]`, which is one word to delete
//! when the team wants provable reads only.

use std::collections::BTreeMap;

use shardwright_rules::{HostgroupId, Role};

use super::matches::{conditions, only_does};
use super::{Edit, Group};
use crate::draft::{ClusterDraft, Draft, ObjectDraft, RuleDraft};
use crate::yaml::{Field, Yaml};

const SECTION: &[&str] = &["read_write_policies"];
const REASON: &str = "imported: these patterns decided where reads go";

/// One group for each cluster with readers.
pub(super) fn groups(draft: &Draft) -> Vec<Group> {
    let mut rules: BTreeMap<&str, Vec<Vec<u32>>> = BTreeMap::new();
    for rule in draft
        .rules
        .iter()
        .filter(|rule| rule.is_active && rule.flag_in == 0)
    {
        if let Some(cluster) = reader_of(draft, rule) {
            rules.entry(&cluster.name).or_default().push(vec![rule.id]);
        }
    }
    let group = |(cluster, rules): (&str, Vec<Vec<u32>>)| {
        let cluster = cluster.to_owned();
        Group {
            address: format!("read_write_policies.{cluster}"),
            rules,
            edits: Box::new(move |draft, rules| vec![Edit::Object(policy(draft, &cluster, rules))]),
        }
    };
    rules.into_iter().map(group).collect()
}

/// The cluster to whose readers a rule sends statements, where it does nothing else and asks for something.
pub(super) fn reader_of<'d>(draft: &'d Draft, rule: &RuleDraft) -> Option<&'d ClusterDraft> {
    let destination = HostgroupId(rule.row.destination_hostgroup?);
    let (cluster, role) = draft.place(destination)?;
    let asks = conditions(draft, &rule.row).is_some_and(|fields| !fields.is_empty());
    let is_plain = rule.row.apply && only_does(&rule.row, &["destination_hostgroup", "apply"]);
    (role == Role::Reader && asks && is_plain).then_some(cluster)
}

/// The policy of a cluster that sends what these rules match to its readers.
pub(super) fn policy(draft: &Draft, cluster: &str, rules: &[&RuleDraft]) -> ObjectDraft {
    let only = rules
        .iter()
        .filter_map(|rule| Some(Yaml::Map(conditions(draft, &rule.row)?)));
    of_clusters(cluster, &[cluster], only.collect())
}

/// The policy of some clusters.
pub(super) fn of_clusters(name: &str, clusters: &[&str], only: Vec<Yaml>) -> ObjectDraft {
    let value = Yaml::Block(vec![
        Field::new(
            "applies_to",
            Yaml::map([("clusters", Some(Yaml::texts(clusters)))]),
        ),
        Field::new("reads", Yaml::Block(vec![Field::new("only", Yaml::List(only))])),
        Field::new("allow_on_readers", Yaml::List(vec![Yaml::word("unproven")])),
        Field::new("reason", Yaml::text(REASON)),
    ]);
    ObjectDraft {
        section: SECTION,
        field: Field::new(name, value),
    }
}
