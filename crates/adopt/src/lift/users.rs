//! Rules that place all statements of a user, as a shard map whose key is the user.

use std::collections::BTreeMap;

use shardwright_rules::{HostgroupId, Role};
use shardwright_topology::is_name;

use super::matches::only_does;
use super::{Edit, Group};
use crate::draft::{Draft, ObjectDraft, RuleDraft};
use crate::yaml::{Field, Yaml, fields_of};

const SECTION: &[&str] = &["shard_maps"];
const NAME: &str = "by_user";

pub(super) fn groups(draft: &Draft) -> Vec<Group> {
    let rules: Vec<u32> = draft
        .rules
        .iter()
        .filter(|rule| rule.is_active && rule.flag_in == 0 && placed(draft, rule).is_some())
        .map(|rule| rule.id)
        .collect();
    if rules.len() < 2 {
        return Vec::new();
    }
    vec![Group {
        address: format!("shard_maps.{NAME}"),
        rules,
        edits: Box::new(|draft, rules| vec![Edit::Object(map(draft, rules))]),
    }]
}

/// The user and the cluster of a rule that sends everything of a user to a writer.
fn placed<'d>(draft: &'d Draft, rule: &'d RuleDraft) -> Option<(&'d str, &'d str)> {
    let row = &rule.row;
    let user = row.username.as_deref().filter(|user| is_name(user))?;
    let (cluster, role) = draft.place(HostgroupId(row.destination_hostgroup?))?;
    let is_plain = row.apply && only_does(row, &["destination_hostgroup", "apply"]);
    let known = draft.users.iter().any(|own| own.name == user);
    (is_plain && known && role == Role::Writer && row.is_unconditional_for(user))
        .then_some((user, cluster.name.as_str()))
}

fn map(draft: &Draft, rules: &[&RuleDraft]) -> ObjectDraft {
    let mut shards: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (user, cluster) in rules.iter().filter_map(|rule| placed(draft, rule)) {
        shards.entry(cluster).or_default().push(user);
    }
    let users: Vec<&str> = shards.values().flatten().copied().collect();
    let shards = shards.iter().map(|(cluster, users)| {
        let shard = Yaml::map([
            ("keys", Some(Yaml::texts(users))),
            ("cluster", Some(Yaml::text(cluster))),
        ]);
        Field::new(*cluster, shard)
    });
    let value = Yaml::Block(fields_of([
        (
            "applies_to",
            Some(Yaml::map([("users", Some(Yaml::texts(&users)))])),
        ),
        (
            "key",
            Some(Yaml::map([
                ("name", Some(Yaml::word("user"))),
                ("type", Some(Yaml::word("text"))),
            ])),
        ),
        (
            "key_from",
            Some(Yaml::List(vec![Yaml::Map(vec![Field::new(
                "user",
                Yaml::Text("$(key)".to_owned()),
            )])])),
        ),
        ("shards", Some(Yaml::Block(shards.collect()))),
    ]));
    ObjectDraft {
        section: SECTION,
        field: Field::new(NAME, value),
    }
}
