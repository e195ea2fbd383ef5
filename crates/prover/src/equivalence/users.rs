//! Users compared: who can log in, and where their statements go when no rule says.

use std::collections::{BTreeMap, BTreeSet};

use shardwright_rules::{Configuration, FirewallMode, User};

use super::path::Users;
use super::relation::Relation;
use super::state::Field;
use super::{ComparedSession, Comparison, Pair};
use crate::example::ORDINARY;
use crate::session::Session;

/// Users who differ that are explored one by one.
const MOST_APART: usize = 16;

/// A variable that ProxySQL does not know, which it sends behind `multiplex` or without locks to the default hostgroup; and
/// a value that it does not read, which it always sends there.
const UNFOLLOWED: [&str; 2] = ["SET foo=1", "SET sql_select_limit=1+1"];

/// Users whose statements are compared together.
pub(super) struct Group {
    pub(super) users: Users,
    /// What is said of their statements before any rule.
    pub(super) initial: [BTreeMap<Field, u64>; 2],
}

/// The groups to explore.
pub(super) struct Groups {
    pub(super) groups: Vec<Group>,
}

pub(super) fn compare(pair: &Pair<'_, '_>, comparison: &mut Comparison) -> Groups {
    let configurations = [0, 1].map(|side| pair.configuration(side));
    firewalls(pair, comparison);
    let [left, right] = configurations.map(by_name);
    if left.is_empty() && right.is_empty() {
        return Groups {
            groups: vec![Group {
                users: Users::Anybody,
                initial: [BTreeMap::new(), BTreeMap::new()],
            }],
        };
    }
    let mut alike = BTreeSet::new();
    let mut groups = Vec::new();
    let names: BTreeSet<&str> = left.keys().chain(right.keys()).copied().collect();
    for name in names {
        match (left.get(name), right.get(name)) {
            (Some(one), Some(other)) => {
                schemas(pair, name, comparison);
                settings(pair, [one, other], comparison);
                if one.default_hostgroup == other.default_hostgroup {
                    alike.insert(name.to_owned());
                    continue;
                }
                sets(pair, name, comparison);
                if groups.len() < MOST_APART {
                    let initial =
                        |user: &User| BTreeMap::from([(Field::HOSTGROUP, user.default_hostgroup.0.into())]);
                    groups.push(Group {
                        users: Users::Among(BTreeSet::from([name.to_owned()])),
                        initial: [initial(one), initial(other)],
                    });
                } else {
                    comparison
                        .undecided
                        .insert("the number of users whose default hostgroups differ".to_owned());
                }
            }
            (one, _) if !comparison.is_full() => missing(pair, name, usize::from(one.is_some()), comparison),
            _ => {}
        }
    }
    if !alike.is_empty() {
        groups.push(Group {
            users: Users::Among(alike),
            initial: [BTreeMap::new(), BTreeMap::new()],
        });
    }
    Groups { groups }
}

fn by_name(configuration: &Configuration) -> BTreeMap<&str, &User> {
    let users = configuration.users.iter().rev();
    users.map(|user| (user.name.as_str(), user)).collect()
}

/// What the firewall lets through of a user's statements, but for the flags, which are part of the ends of chains.
#[derive(PartialEq, Eq)]
enum Passes<'c> {
    Everything,
    /// These digests in these schemas.
    Only(&'c [String], &'c [u64]),
}

impl<'c> Passes<'c> {
    fn of(configuration: &'c Configuration, user: &str) -> Self {
        let lists = &configuration.firewall;
        match lists.iter().find(|list| list.user == user) {
            None if lists.is_empty() => Self::Everything,
            None => Self::Only(&[], &[]),
            Some(list) if list.mode != FirewallMode::Protecting => Self::Everything,
            Some(list) if list.schemas.is_empty() || list.digests.is_empty() => Self::Only(&[], &[]),
            Some(list) => Self::Only(&list.schemas, &list.digests),
        }
    }
}

/// Users whose statements the firewall lets through on one side.
fn firewalls(pair: &Pair<'_, '_>, comparison: &mut Comparison) {
    let configurations = [0, 1].map(|side| pair.configuration(side));
    let known = configurations.map(|one| one.users.iter().map(|user| user.name.as_str()));
    let mut names: BTreeSet<&str> = known.into_iter().flatten().collect();
    if names.is_empty() {
        let listed = configurations.map(|one| one.firewall.iter().map(|list| list.user.as_str()));
        names.extend(listed.into_iter().flatten());
        // Anybody who is not listed.
        names.insert("");
    }
    for name in names {
        let [left, right] = configurations.map(|one| Passes::of(one, name));
        if left == right {
            continue;
        }
        let session = session(configurations[0], name);
        let construct = format!("the lists of the firewall, which differ for user {name}");
        show_or_leave_open(pair, &session, &ORDINARY, construct, comparison);
    }
}

fn session(configuration: &Configuration, user: &str) -> ComparedSession {
    Session::of_user(configuration, user).into()
}

/// A user of one side only.
fn missing(pair: &Pair<'_, '_>, name: &str, absent: usize, comparison: &mut Comparison) {
    let session = session(pair.configuration(1 - absent), name);
    let mut shown = pair.decided(&session, b"SELECT 1");
    match absent {
        0 => shown.left = None,
        _ => shown.right = None,
    }
    if absent == 0 && pair.relation == Relation::Refines {
        // Who cannot log in sends nothing.
        comparison.stricter.add(shown);
        return;
    }
    comparison.add(shown);
}

/// Sessions that name no schema, where that of the user is another: their statements find other tables wherever they go.
fn schemas(pair: &Pair<'_, '_>, name: &str, comparison: &mut Comparison) {
    let schemas = [0, 1].map(|side| pair.configuration(side).default_schema(name).map(str::to_owned));
    let own = [0, 1].map(|side| {
        let user = pair.configuration(side).user(name);
        user.and_then(|user| user.default_schema.as_deref())
    });
    let engines = [0, 1].map(|side| pair.configuration(side).engine.profile().default_schema);
    // Then the engines differ, whatever the configurations say; a refinement tells that once.
    let by_engine = pair.relation == Relation::Refines && own[0] == own[1] && engines[0] != engines[1];
    if schemas[0] == schemas[1] || by_engine || comparison.is_full() {
        return;
    }
    let session = ComparedSession {
        schemas,
        ..session(pair.configuration(0), name)
    };
    let elsewhere = ORDINARY
        .iter()
        .find_map(|text| pair.difference(&session, text.as_bytes()));
    comparison.add(elsewhere.unwrap_or_else(|| pair.decided(&session, b"SELECT 1")));
}

/// A user whose default hostgroup differs. What ProxySQL cannot follow of a SET goes there, whatever rules say.
fn sets(pair: &Pair<'_, '_>, name: &str, comparison: &mut Comparison) {
    if ![0, 1]
        .iter()
        .any(|&side| pair.configuration(side).engine.is_proxysql())
    {
        return;
    }
    let session = session(pair.configuration(0), name);
    let construct = "a SET that the engine cannot follow goes to the user's default hostgroup, which differs";
    show_or_leave_open(pair, &session, &UNFOLLOWED, construct.to_owned(), comparison);
}

/// Adds the first of some statements that differs; where none does, the construct stays open.
fn show_or_leave_open(
    pair: &Pair<'_, '_>,
    session: &ComparedSession,
    texts: &[&str],
    construct: String,
    comparison: &mut Comparison,
) {
    let mut texts = texts.iter();
    match texts.find_map(|text| pair.difference(session, text.as_bytes())) {
        Some(_) if comparison.is_full() => {}
        Some(difference) => comparison.add(difference),
        None => comparison.leave_open(construct),
    }
}

/// What else of a user decides where statements go.
fn settings(pair: &Pair<'_, '_>, [one, other]: [&User; 2], comparison: &mut Comparison) {
    let session = session(pair.configuration(0), &one.name);
    if one.transaction_persistent != other.transaction_persistent {
        let mut shown = pair.configuration(0).hostgroups.iter().flat_map(|hostgroup| {
            ORDINARY.iter().filter_map(|text| {
                let open = ComparedSession {
                    transaction: Some(hostgroup.id.0),
                    ..session.clone()
                };
                pair.difference(&open, text.as_bytes())
            })
        });
        match shown.next() {
            Some(difference) => comparison.add(difference),
            None => {
                comparison
                    .undecided
                    .insert("`transaction_persistent` of a user".to_owned());
            }
        }
    }
    if one.reads_only != other.reads_only {
        match pair.difference(&session, b"UPDATE t SET a=1 WHERE id=5") {
            Some(difference) => comparison.add(difference),
            None => {
                let construct = "a user who only reads, on one side";
                comparison.undecided.insert(construct.to_owned());
            }
        }
    }
    if one.annotations_allowed != other.annotations_allowed {
        match pair.difference(&session, b"/* hostgroup=4294967295 */ SELECT 1") {
            Some(difference) => comparison.add(difference),
            None if pair.configuration(0).engine == pair.configuration(1).engine
                && pair.configuration(0).engine.profile().annotations
                    == shardwright_rules::Annotations::AfterRules => {}
            None => {
                comparison.undecided.insert("annotations of a user".to_owned());
            }
        }
    }
}
