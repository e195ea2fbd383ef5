//! Rows of fast routing, as shard maps whose key is the session's schema: one map for the users who have the same rows.

use std::collections::{BTreeMap, BTreeSet};

use shardwright_rules::Role;

use super::keyed::{keys, map};
use crate::draft::{Draft, ObjectDraft};
use crate::yaml::{Field, Yaml};

/// Rows stay rows.
const LAYOUT: &str = "fast_routing";

/// The cluster of each schema.
type Rows<'d> = BTreeMap<&'d str, &'d str>;

/// The maps; none where a row leads to no writer, stands behind a chain, or is of everybody beside rows of users.
pub(super) fn maps(draft: &Draft) -> Vec<ObjectDraft> {
    let mut of_users: BTreeMap<&str, Rows<'_>> = BTreeMap::new();
    for route in &draft.routes {
        let Some((cluster, Role::Writer)) = draft.place(route.hostgroup) else {
            return Vec::new();
        };
        if route.flag_in != 0 {
            return Vec::new();
        }
        let rows = of_users.entry(&route.username).or_default();
        rows.insert(&route.schemaname, &cluster.name);
    }
    if of_users.contains_key("") && of_users.len() > 1 {
        return Vec::new();
    }
    let mut alike: BTreeMap<Rows<'_>, Vec<String>> = BTreeMap::new();
    for (user, rows) in of_users {
        alike.entry(rows).or_default().push(user.to_owned());
    }
    let maps = alike.into_iter().enumerate().map(|(at, (rows, users))| {
        let mut shards: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (schema, cluster) in rows {
            shards.entry(cluster).or_default().insert(schema);
        }
        let name = match at {
            0 => "by_schema".to_owned(),
            at => format!("by_schema_{}", at + 1),
        };
        let mut applies_to = Vec::new();
        if users != [""] {
            applies_to.push(Field::new("users", Yaml::texts(users)));
        }
        applies_to.push(Field::new("schemas", keys(&shards)));
        map(&name, "schema", applies_to, &shards, Some(LAYOUT))
    });
    let taken = |map: &ObjectDraft| draft.objects.iter().any(|other| other.address() == map.address());
    let maps: Vec<ObjectDraft> = maps.collect();
    if maps.iter().any(taken) { Vec::new() } else { maps }
}
