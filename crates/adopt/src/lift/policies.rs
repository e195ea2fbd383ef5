//! Rules that send statements to the readers of a cluster, as its read/write policy.
//!
//! Such rules go by a pattern and prove nothing: the policy says `allow_on_readers: [unproven]`, which is one word to delete
//! when the team wants provable reads only. Rules in front that keep some of these statements on the writer, as
//! `^SELECT.*FOR UPDATE$` does, are exceptions of the policy.

use std::collections::{BTreeMap, BTreeSet};

use shardwright_rules::{HostgroupId, Role};

use super::matches::{conditions, only_does};
use super::{Edit, Group, Part};
use crate::draft::{ClusterDraft, Draft, ObjectDraft, RuleDraft};
use crate::yaml::{Field, Yaml};

const SECTION: &[&str] = &["read_write_policies"];
const REASON: &str = "imported: these patterns decided where reads go";

/// Exceptions are repeated for each kind of reads; where they would be more than this, routes are easier to read.
const MOST_EXCEPTIONS: usize = 16;

/// One group for each cluster with readers.
pub(super) fn groups(draft: &Draft) -> Vec<Group> {
    let mut rules: BTreeMap<&str, Vec<Vec<u32>>> = BTreeMap::new();
    for rule in draft.entry_rules() {
        if let Some(cluster) = reader_of(draft, rule) {
            rules.entry(&cluster.name).or_default().push(vec![rule.id]);
        }
    }
    for (cluster, reads) in &mut rules {
        let last = reads.last().map_or(0, |ids| ids[0]);
        let stays = |rule: &&RuleDraft| rule.id < last && exception(draft, cluster, rule).is_some();
        let exceptions: Vec<Vec<u32>> = draft
            .entry_rules()
            .filter(stays)
            .map(|rule| vec![rule.id])
            .collect();
        if exceptions.len() * reads.len() <= MOST_EXCEPTIONS {
            reads.extend(exceptions);
            reads.sort_unstable();
        }
    }
    let group = |(cluster, rules): (&str, Vec<Vec<u32>>)| {
        let cluster = cluster.to_owned();
        Group {
            address: format!("read_write_policies.{cluster}"),
            rules,
            part: Part::Any,
            lifts: None,
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

/// What a rule keeps on the writer of a cluster.
#[derive(PartialEq)]
struct Exception<'d> {
    /// The key of a `match` that excepts it.
    key: &'static str,
    pattern: &'d str,
    /// What else the rule asks for: the exception is one of reads that ask for the same.
    others: Vec<Field>,
}

fn exception<'d>(draft: &Draft, cluster: &str, rule: &'d RuleDraft) -> Option<Exception<'d>> {
    let row = &rule.row;
    let (own, role) = draft.place(HostgroupId(row.destination_hostgroup?))?;
    let is_plain = row.apply && only_does(row, &["destination_hostgroup", "apply"]);
    let mut others = conditions(draft, row)?;
    let at = others
        .iter()
        .position(|field| matches!(field.key.as_str(), "match_digest" | "match_pattern"))?;
    let (key, pattern) = match others.remove(at).key.as_str() {
        "match_digest" => ("except_match_digest", row.match_digest.as_deref()?),
        _ => ("except_match_pattern", row.match_pattern.as_deref()?),
    };
    let exception = Exception { key, pattern, others };
    (is_plain && role == Role::Writer && own.name == cluster).then_some(exception)
}

/// The policy of a cluster that sends what these rules match to its readers, but for what a rule in front keeps on the writer.
pub(super) fn policy(draft: &Draft, cluster: &str, rules: &[&RuleDraft]) -> ObjectDraft {
    let mut excepted: Vec<Exception<'_>> = Vec::new();
    let mut only = Vec::new();
    for rule in rules {
        if let Some(exception) = exception(draft, cluster, rule) {
            excepted.push(exception);
            continue;
        }
        let Some(mut fields) = conditions(draft, &rule.row) else {
            continue;
        };
        let mut patterns: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        let is_of_rule = |one: &&Exception<'_>| one.others.iter().all(|field| fields.contains(field));
        for exception in excepted.iter().filter(is_of_rule) {
            patterns
                .entry(exception.key)
                .or_default()
                .insert(exception.pattern);
        }
        let exceptions = patterns.iter();
        fields.extend(exceptions.map(|(key, patterns)| Field::new(*key, Yaml::texts(patterns))));
        only.push(Yaml::Map(fields));
    }
    of_clusters(cluster, &[cluster], only)
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
