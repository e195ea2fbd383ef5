//! Hostgroups as boxes of the picture: one box each if they are few, otherwise one box for each kind.
//!
//! Hostgroups are of a kind when their clusters are named alike but for numbers, and their role is the same: 200 hostgroups
//! `shard-001 writer` to `shard-200 writer` are the box `shard-001 … shard-200` with `200 writers`. Where that leaves too many
//! boxes, the role alone is the kind.

use std::collections::{BTreeMap, BTreeSet};

/// A box for hostgroups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Group {
    /// `shop writer`, or `shard-001 … shard-200`
    pub(super) title: String,
    /// `hostgroup 1017`, or `200 writers`
    pub(super) detail: String,
    /// Hostgroups in it.
    pub(super) count: usize,
}

/// A hostgroup, by the words of its name.
struct Named<'p> {
    id: u32,
    cluster: &'p str,
    /// Empty if it is unknown.
    role: &'p str,
    /// `hostgroup 1017`
    number: &'p str,
}

/// The box of each hostgroup, by its number; at most `most` boxes where kinds allow it.
pub(super) fn grouped<'p>(
    hostgroups: impl Iterator<Item = (u32, &'p str)>,
    most: usize,
) -> BTreeMap<u32, Group> {
    let named: Vec<Named<'_>> = hostgroups.map(|(id, name)| named(id, name)).collect();
    if named.len() <= most {
        return by(&named, |hostgroup| hostgroup.id.to_string());
    }
    let by_name = by(&named, |hostgroup| {
        format!("{} {}", without_numbers(hostgroup.cluster), hostgroup.role)
    });
    let titles: BTreeSet<_> = by_name
        .values()
        .map(|group| (&group.title, &group.detail))
        .collect();
    match titles.len() <= most {
        true => by_name,
        false => by(&named, |hostgroup| hostgroup.role.to_owned()),
    }
}

/// `shop writer (hostgroup 1017)` in its parts.
fn named(id: u32, name: &str) -> Named<'_> {
    let (called, number) = match name.split_once(" (") {
        Some((called, number)) => (called, number.trim_end_matches(')')),
        None => (name, ""),
    };
    let (cluster, role) = match called.rsplit_once(' ') {
        Some((cluster, role)) if !number.is_empty() => (cluster, role),
        _ => (called, ""),
    };
    Named {
        id,
        cluster,
        role,
        number,
    }
}

fn by(named: &[Named<'_>], kind: impl Fn(&Named<'_>) -> String) -> BTreeMap<u32, Group> {
    let mut kinds: BTreeMap<String, Vec<&Named<'_>>> = BTreeMap::new();
    for hostgroup in named {
        kinds.entry(kind(hostgroup)).or_default().push(hostgroup);
    }
    let mut groups = BTreeMap::new();
    for mut of_kind in kinds.into_values() {
        of_kind.sort_by_key(|hostgroup| (hostgroup.cluster, hostgroup.id));
        let group = group(&of_kind);
        groups.extend(of_kind.iter().map(|hostgroup| (hostgroup.id, group.clone())));
    }
    groups
}

fn group(of_kind: &[&Named<'_>]) -> Group {
    let (title, detail) = match of_kind {
        [] => (String::new(), String::new()),
        [one] => (
            format!("{} {}", one.cluster, one.role).trim_end().to_owned(),
            one.number.to_owned(),
        ),
        [first, .., last] => (
            format!("{} … {}", first.cluster, last.cluster),
            match first.role {
                "" => format!("{} hostgroups", of_kind.len()),
                role => format!("{} {role}s", of_kind.len()),
            },
        ),
    };
    Group {
        title,
        detail,
        count: of_kind.len(),
    }
}

/// The name with `#` for each number in it.
fn without_numbers(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for letter in name.chars() {
        match letter.is_ascii_digit() {
            true if out.ends_with('#') => {}
            true => out.push('#'),
            false => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boxes(names: &[String], most: usize) -> Vec<(String, String)> {
        let hostgroups = (0..).zip(names.iter().map(String::as_str));
        let mut boxes: Vec<_> = grouped(hostgroups, most)
            .into_values()
            .map(|group| (group.title, group.detail))
            .collect();
        boxes.dedup();
        boxes
    }

    fn shown(boxes: &[(&str, &str)]) -> Vec<(String, String)> {
        let owned = |(title, detail): &(&str, &str)| ((*title).to_owned(), (*detail).to_owned());
        boxes.iter().map(owned).collect()
    }

    #[test]
    fn hostgroups_of_a_kind_are_one_box_where_there_are_many() {
        let names: Vec<String> = ["writer", "reader"]
            .into_iter()
            .flat_map(|role| (1..=200).map(move |n| format!("shard-{n:03} {role} (hostgroup {n})")))
            .chain(["billing writer (hostgroup 900)".to_owned()])
            .collect();
        assert_eq!(
            boxes(&names, 12),
            shown(&[
                ("shard-001 … shard-200", "200 writers"),
                ("shard-001 … shard-200", "200 readers"),
                ("billing writer", "hostgroup 900"),
            ])
        );
        // Few are drawn one by one.
        assert_eq!(boxes(&names[..3], 12).len(), 3);
        // Names without numbers have only their role in common.
        let towns: Vec<String> = ["oslo", "rome", "bonn"]
            .map(|town| format!("{town} writer (hostgroup 1)"))
            .to_vec();
        assert_eq!(boxes(&towns, 2), shown(&[("bonn … rome", "3 writers")]));
    }
}
