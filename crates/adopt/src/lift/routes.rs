//! Rules that send what matches to a hostgroup, or refuse it, as routes in the same order.
//!
//! Rules that follow each other, end alike and ask for the same columns but one become one route with a list. The first route that
//! matches decides, as the first rule with `apply` does.

use std::collections::BTreeSet;

use shardwright_rules::{HostgroupId, Role, Words};

use super::matches::{conditions, name, only_does};
use super::{Edit, Group, Lift, Part};
use crate::draft::{Draft, ObjectDraft, RuleDraft};
use crate::names::Names;
use crate::yaml::{Field, Yaml};

pub(super) const SECTION: &[&str] = &["routes"];
/// Alternatives of one route: rules have at most 256.
const MOST_ALTERNATIVES: usize = 200;
/// Characters of a text that clients get.
const MOST_REFUSAL: usize = 300;

/// A route, and the rules that it says.
struct Route {
    conditions: Vec<Field>,
    end: Vec<Field>,
    rules: Vec<u32>,
    name: String,
}

/// One group: routes are in the order of their rules, all of them behind the rules that stay.
pub(super) fn all_apart(draft: &Draft) -> Vec<Group> {
    groups(candidates(draft), Place::Apart, Part::Whole)
}

/// One group: routes are in the order of their rules, and those that stay keep their places among them.
pub(super) fn in_order(draft: &Draft) -> Vec<Group> {
    let rules = candidates(draft);
    let ids: BTreeSet<u32> = rules.iter().flatten().copied().collect();
    let (Some(&first), Some(&last)) = (ids.first(), ids.last()) else {
        return Vec::new();
    };
    let stays = |rule: &RuleDraft| (first..=last).contains(&rule.id) && !ids.contains(&rule.id);
    if draft.behind.is_some() || !draft.rules.iter().any(stays) {
        return Vec::new();
    }
    groups(rules, Place::Among, Part::Any)
}

/// One group: routes are in the order of their rules, in front of or behind all rules that stay.
pub(super) fn apart(draft: &Draft) -> Vec<Group> {
    match draft.among.is_empty() {
        true => groups(candidates(draft), Place::Apart, Part::Any),
        false => Vec::new(),
    }
}

/// Where rules that stay are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Among the routes.
    Among,
    /// In front of all routes, or behind all.
    Apart,
}

/// The rules that a route could say, each by itself.
fn candidates(draft: &Draft) -> Vec<Vec<u32>> {
    let taken = draft
        .entry_rules()
        .filter(|rule| end(draft, rule).is_some() && asks(draft, rule).is_some());
    taken.map(|rule| vec![rule.id]).collect()
}

fn groups(rules: Vec<Vec<u32>>, place: Place, part: Part) -> Vec<Group> {
    if rules.is_empty() {
        return Vec::new();
    }
    vec![Group {
        part,
        address: SECTION[0].to_owned(),
        rules,
        edits: Box::new(move |draft, rules| {
            let routes = routes(draft, rules, place);
            let first = |route: &Route| (route.rules[0], route.name.clone());
            let among = (place == Place::Among).then(|| Edit::Among(routes.iter().map(first).collect()));
            let objects = routes.into_iter().map(object).collect();
            [Edit::Section(SECTION, objects)]
                .into_iter()
                .chain(among)
                .collect()
        }),
        lifts: Some(Box::new(move |draft, rules| {
            let routes = routes(draft, rules, place).into_iter();
            routes
                .map(|route| Lift {
                    address: format!("{}.{}", SECTION[0], route.name),
                    rules: BTreeSet::from_iter(route.rules),
                })
                .collect()
        })),
    }]
}

/// What a rule asks for, where it asks for something that a route can.
fn asks(draft: &Draft, rule: &RuleDraft) -> Option<Vec<Field>> {
    conditions(draft, &rule.row).filter(|fields| !fields.is_empty())
}

/// What becomes of the statements of a rule, where it does nothing else.
fn end(draft: &Draft, rule: &RuleDraft) -> Option<Vec<Field>> {
    let row = &rule.row;
    if !row.apply {
        return None;
    }
    if let Some(text) = row.error_msg.as_deref() {
        let is_text = !text.is_empty()
            && text.chars().count() <= MOST_REFUSAL
            && !text.chars().any(char::is_control)
            && only_does(row, &["error_msg", "apply"]);
        return is_text.then(|| vec![Field::new("refuse", Yaml::text(text))]);
    }
    let (cluster, role) = draft.place(HostgroupId(row.destination_hostgroup?))?;
    only_does(row, &["destination_hostgroup", "apply"]).then(|| {
        let mut fields = vec![Field::new("cluster", Yaml::text(&cluster.name))];
        if role == Role::Reader {
            fields.push(Field::new("role", Yaml::word(role.word())));
        }
        fields
    })
}

fn routes(draft: &Draft, rules: &[&RuleDraft], place: Place) -> Vec<Route> {
    let lifted: BTreeSet<u32> = rules.iter().map(|rule| rule.id).collect();
    let stays = |rule: &&RuleDraft| place == Place::Among && rule.is_active && !lifted.contains(&rule.id);
    let stay: BTreeSet<u32> = draft.rules.iter().filter(stays).map(|rule| rule.id).collect();
    let mut routes: Vec<Route> = Vec::new();
    for rule in rules {
        let (Some(end), Some(conditions)) = (end(draft, rule), asks(draft, rule)) else {
            continue;
        };
        let joined = routes
            .last()
            .filter(|last| last.end == end && last.rules.len() < MOST_ALTERNATIVES)
            .filter(|last| stay.range(last.rules[0]..rule.id).next().is_none())
            .and_then(|last| joined(&last.conditions, &conditions));
        match (joined, routes.last_mut()) {
            (Some(conditions), Some(last)) => {
                last.conditions = conditions;
                last.rules.push(rule.id);
            }
            _ => routes.push(Route {
                conditions,
                end,
                rules: vec![rule.id],
                name: String::new(),
            }),
        }
    }
    let mut names = Names::default();
    for route in &mut routes {
        route.name = match (&route.rules[..], route.end.first()) {
            ([id], _) => {
                let rule = rules.iter().find(|rule| rule.id == *id);
                rule.map_or_else(String::new, |rule| name(rule, &mut names))
            }
            (_, Some(field)) if field.key == "cluster" => match &field.value {
                Yaml::Text(cluster) => names.take(&[format!("to-{cluster}")]),
                _ => unreachable!("a cluster is a text"),
            },
            _ => names.take(&["refused".to_owned()]),
        };
    }
    routes
}

/// The conditions of two rules that differ in the value of one column, as alternatives.
fn joined(one: &[Field], other: &[Field]) -> Option<Vec<Field>> {
    let same_keys = one.len() == other.len() && one.iter().zip(other).all(|(a, b)| a.key == b.key);
    let differ = |(a, b): &(&Field, &Field)| a.value != b.value;
    if !same_keys || one.iter().zip(other).filter(differ).count() > 1 {
        return None;
    }
    let both = one.iter().zip(other).map(|(a, b)| match a.value == b.value {
        true => a.clone(),
        false => Field::new(&a.key, Yaml::List([items(&a.value), items(&b.value)].concat())),
    });
    Some(both.collect())
}

fn items(value: &Yaml) -> Vec<Yaml> {
    match value {
        Yaml::List(items) => items.clone(),
        one => vec![one.clone()],
    }
}

fn object(route: Route) -> ObjectDraft {
    let mut fields = vec![Field::new("match", Yaml::Map(route.conditions))];
    fields.extend(route.end);
    ObjectDraft {
        section: SECTION,
        field: Field::new(route.name, Yaml::Map(fields)),
    }
}
