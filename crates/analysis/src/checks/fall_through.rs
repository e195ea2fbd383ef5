//! SW204: a statement leaves the rules without any rule having placed it, although rules are there to place it.
//!
//! The first chain and those that are entered without a look at the statement are the main line. Its end is only
//! reported, and as an information, where patterns spread a user's statements over two clusters or more beside the user's
//! own: there a statement that no rule places may have lost its key. A reader split, or one group of tables on another
//! cluster, leaves the rest to the default by design.

use std::collections::{BTreeMap, BTreeSet};

use shardwright_diagnostics::{Proof, Severity};
use shardwright_rules::HostgroupId;

use super::Known;
use crate::Finding;
use crate::codes::FALL_THROUGH;
use crate::example::{Example, ORDINARY, sessions};
use crate::question::Goal;
use crate::reach::decide_place;
use crate::rule_set::RuleSet;
use crate::session::given;
use crate::solver::{Answer, fallen_through};

pub(crate) fn check(known: &Known<'_, '_>, findings: &mut Vec<Finding>) {
    let set = known.set;
    let ordinary = ordinary(known);
    let main_line = main_line(set);
    for (&flag, chain) in &set.chains {
        let asked = chain.iter().any(|&position| !known.reach.is_dead(position));
        if !asked || ends_for_sure(known, chain) || (main_line.contains(&flag) && !spreads(known)) {
            continue;
        }
        let goal = Goal::FallThrough(flag);
        let example = match ordinary.get(&flag) {
            Some(example) => example.clone(),
            None => match decide_place(set, flag, set.len(), goal) {
                Answer::Witness(example) => example,
                Answer::Empty(_) | Answer::Undecided(_) => continue,
            },
        };
        let on_main_line = main_line.contains(&flag);
        if on_main_line && !is_spread_user(known, &example) {
            continue;
        }
        findings.push(finding(known, flag, on_main_line, &example));
    }
}

/// Ordinary statements that no rule places, by the flag that they end at.
fn ordinary(known: &Known<'_, '_>) -> BTreeMap<u32, Example> {
    let set = known.set;
    let mut found = BTreeMap::new();
    for session in sessions(set) {
        for text in ORDINARY {
            let decision = set.decide(&session, text.as_bytes());
            if let Some(flag) = fallen_through(set, &decision) {
                let example = || Example {
                    session: session.clone(),
                    text: text.as_bytes().to_vec(),
                };
                found.entry(flag).or_insert_with(example);
            }
        }
    }
    found
}

fn finding(known: &Known<'_, '_>, flag: u32, on_main_line: bool, example: &Example) -> Finding {
    let set = known.set;
    let default = set
        .configuration
        .user(&example.session.user)
        .map(|user| user.default_hostgroup);
    let goes = default.map_or_else(
        || "the user's default hostgroup".to_owned(),
        |hostgroup| {
            format!(
                "hostgroup {hostgroup}, the default of user {}",
                example.session.user
            )
        },
    );
    let message = if on_main_line {
        format!("a statement that no rule places goes to {goes}")
    } else {
        format!(
            "a statement that jumped to flag {flag} and matches no rule there goes to {goes}: it does not come back"
        )
    };
    let last = set.chain(flag).last().map_or(&[][..], std::slice::from_ref);
    let severity = if on_main_line {
        Severity::Info
    } else {
        Severity::Warning
    };
    Finding::new(FALL_THROUGH, severity, Proof::Witnessed, message)
        .about(set, last, "the chain ends here")
        .shown_by(set, example)
        .help("end the chain with a rule without a condition that places, refuses, or applies")
}

/// The flags that statements come to without a look at their text.
fn main_line(set: &RuleSet<'_>) -> BTreeSet<u32> {
    let mut flags = set.start_flags.clone();
    let mut open: Vec<u32> = flags.iter().copied().collect();
    while let Some(flag) = open.pop() {
        for &position in set.chain(flag) {
            let reads = set.conditions[position]
                .as_ref()
                .is_none_or(|condition| condition.row.digest.is_some() || !condition.terms.is_empty());
            for target in set.jumps(position) {
                if !reads && flags.insert(target) {
                    open.push(target);
                }
            }
        }
    }
    flags
}

/// The last rule of the chain takes what is left.
fn ends_for_sure(known: &Known<'_, '_>, chain: &[usize]) -> bool {
    chain.iter().any(|&position| {
        let everything = known.set.conditions[position]
            .as_ref()
            .is_some_and(|condition| condition.is_everything());
        everything && known.set.takes(position, false) && chain.last() == Some(&position)
    })
}

/// Whether patterns place on two clusters or more beside the default of any user.
fn spreads(known: &Known<'_, '_>) -> bool {
    let users = &known.set.configuration.users;
    users.is_empty() && spreads_beside(known, None, None)
        || users
            .iter()
            .any(|user| spreads_beside(known, Some(&user.name), Some(user.default_hostgroup)))
}

fn is_spread_user(known: &Known<'_, '_>, example: &Example) -> bool {
    let user = known.set.configuration.user(&example.session.user);
    match user {
        Some(user) => spreads_beside(known, Some(&user.name), Some(user.default_hostgroup)),
        None => known.set.configuration.users.is_empty() && spreads_beside(known, None, None),
    }
}

fn spreads_beside(known: &Known<'_, '_>, user: Option<&str>, default: Option<HostgroupId>) -> bool {
    let set = known.set;
    let cluster = |hostgroup: HostgroupId| {
        let owner = set.configuration.cluster_of(hostgroup);
        owner.map_or_else(|| hostgroup.to_string(), |cluster| cluster.name.to_string())
    };
    let own = default.map(cluster);
    let of_user = |wanted: Option<&str>| wanted.is_none() || user.is_none() || wanted == user;
    let rows = set.conditions.iter().flatten().map(|condition| condition.row);
    let placed: BTreeSet<String> = rows
        .filter(|row| of_user(given(&row.username)))
        .filter(|row| row.match_digest.is_some() || row.match_pattern.is_some())
        .filter_map(|row| row.destination_hostgroup)
        .map(|id| cluster(HostgroupId(id)))
        .filter(|name| Some(name) != own.as_ref())
        .collect();
    // Without a default, one of them may be it.
    placed.len() >= if default.is_some() { 2 } else { 3 }
}
