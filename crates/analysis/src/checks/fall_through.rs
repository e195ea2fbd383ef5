//! SW204: a statement leaves the rules without any rule having placed it, although rules are there to place it.
//!
//! The first chain and those that are entered without a look at the statement are the main line. Its end is only
//! reported, and as an information, where patterns spread a user's statements over two clusters or more beside the user's
//! own: there a statement that no rule places may have lost its key. A reader split, or one group of tables on another
//! cluster, leaves the rest to the default by design.

use std::collections::{BTreeMap, BTreeSet};

use shardwright_diagnostics::{Proof, Severity};
use shardwright_rules::{HostgroupId, User};

use super::CheckContext;
use crate::Finding;
use crate::codes::FALL_THROUGH;
use shardwright_prover::Goal;
use shardwright_prover::RuleSet;
use shardwright_prover::decide_position;
use shardwright_prover::given;
use shardwright_prover::{Answer, fallen_through};
use shardwright_prover::{Example, ORDINARY, sessions};

/// Clusters of one user that are counted: three different names are enough to know.
const MOST_CLUSTERS: usize = 16;

pub(crate) fn check(context: &CheckContext<'_, '_>, findings: &mut Vec<Finding>) {
    let set = context.set;
    let ordinary = ordinary(context);
    let main_line = main_line(set);
    let unplaced = unplaced(set);
    let placements = Placements::of(set);
    let spread = placements.spread();
    for (flag, chain) in set.chains() {
        let asked = chain.iter().any(|&position| !context.reach.is_dead(position));
        if !asked
            || !unplaced.contains(&flag)
            || ends_for_sure(context, chain)
            || (main_line.contains(&flag) && !spread)
        {
            continue;
        }
        let goal = Goal::FallThrough(flag);
        let example = match ordinary.get(&flag) {
            Some(example) => example.clone(),
            None => match decide_position(set, flag, set.rule_count(), goal) {
                Answer::Witness(example) => example,
                Answer::Empty(_) => continue,
                Answer::Undecided(reason) => {
                    findings.push(undecided(set, flag, &reason));
                    continue;
                }
            },
        };
        let on_main_line = main_line.contains(&flag);
        if on_main_line && !placements.spread_of(&example) {
            continue;
        }
        findings.push(finding(context, flag, on_main_line, &example));
    }
}

/// Ordinary statements that no rule places, by the flag that they end at.
fn ordinary(context: &CheckContext<'_, '_>) -> BTreeMap<u32, Example> {
    let set = context.set;
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

fn finding(context: &CheckContext<'_, '_>, flag: u32, on_main_line: bool, example: &Example) -> Finding {
    let set = context.set;
    let default = set.user(&example.session.user).map(|user| user.default_hostgroup);
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
            "a statement that jumped to flag {flag} and matches no rule there goes to {goes}: it does not return to the earlier chain"
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

fn undecided(set: &RuleSet<'_>, flag: u32, reason: &str) -> Finding {
    let message = format!("it is undecided whether a statement can leave flag {flag} without being placed");
    let last = set.chain(flag).last().map_or(&[][..], std::slice::from_ref);
    Finding::new(FALL_THROUGH, Severity::Info, Proof::Possible, message)
        .about(set, last, "the chain ends here")
        .note(reason)
        .help("end the chain with a rule without a condition that places, refuses, or applies")
}

/// The flags that statements come to without a look at their text.
fn main_line(set: &RuleSet<'_>) -> BTreeSet<u32> {
    reached(set, |position| {
        set.conditions[position]
            .as_ref()
            .is_some_and(|condition| condition.hash.is_none() && condition.terms.is_empty())
    })
}

/// The flags that a statement may come to without having been placed; nothing takes a placement away again.
fn unplaced(set: &RuleSet<'_>) -> BTreeSet<u32> {
    reached(set, |position| {
        let row = set.row(position);
        row.is_none_or(|row| row.destination_hostgroup.is_none())
    })
}

/// The flags that the jumps of such rules lead to from where statements start.
fn reached(set: &RuleSet<'_>, follows: impl Fn(usize) -> bool) -> BTreeSet<u32> {
    let mut flags = set.start_flags.clone();
    let mut open: Vec<u32> = flags.iter().copied().collect();
    while let Some(flag) = open.pop() {
        for &position in set.chain(flag).iter().filter(|&&position| follows(position)) {
            open.extend(
                set.jumps(position)
                    .into_iter()
                    .filter(|&target| flags.insert(target)),
            );
        }
    }
    flags
}

/// The last rule of the chain takes what is left.
fn ends_for_sure(context: &CheckContext<'_, '_>, chain: &[usize]) -> bool {
    chain.iter().any(|&position| {
        context.set.matches_everything(position)
            && context.set.takes(position, false)
            && chain.last() == Some(&position)
    })
}

/// The clusters that patterns place the statements of each user on.
struct Placements<'k, 'c> {
    set: &'k RuleSet<'c>,
    anybody: BTreeSet<String>,
    by_user: BTreeMap<&'k str, BTreeSet<String>>,
}

impl<'k, 'c> Placements<'k, 'c> {
    fn of(set: &'k RuleSet<'c>) -> Self {
        let mut placements = Self {
            set,
            anybody: BTreeSet::new(),
            by_user: BTreeMap::new(),
        };
        for row in set.conditions.iter().flatten().map(|condition| condition.row) {
            let reads = row.match_digest.is_some() || row.match_pattern.is_some();
            if let Some(hostgroup) = row.destination_hostgroup.filter(|_| reads) {
                let cluster = placements.cluster(HostgroupId(hostgroup));
                match given(&row.username) {
                    None => placements.anybody.insert(cluster),
                    Some(user) => placements.by_user.entry(user).or_default().insert(cluster),
                };
            }
        }
        placements
    }

    fn cluster(&self, hostgroup: HostgroupId) -> String {
        let owner = self.set.cluster_of(hostgroup);
        owner.map_or_else(|| hostgroup.to_string(), |cluster| cluster.name.to_string())
    }

    /// Whether patterns place on two clusters or more beside the default of any user.
    fn spread(&self) -> bool {
        let users = &self.set.configuration.users;
        users.is_empty() && self.spread_anybody() || users.iter().any(|user| self.spread_user(user))
    }

    fn spread_of(&self, example: &Example) -> bool {
        match self.set.user(&example.session.user) {
            Some(user) => self.spread_user(user),
            None => self.set.configuration.users.is_empty() && self.spread_anybody(),
        }
    }

    fn spread_user(&self, user: &User) -> bool {
        let default = self.cluster(user.default_hostgroup);
        let own = self.by_user.get(user.name.as_str()).into_iter().flatten();
        let placed: BTreeSet<&String> = self.anybody.iter().chain(own).take(MOST_CLUSTERS).collect();
        placed.into_iter().filter(|name| **name != default).count() >= 2
    }

    /// Without a default, one of them may be it.
    fn spread_anybody(&self) -> bool {
        let all = self.anybody.iter().chain(self.by_user.values().flatten());
        all.collect::<BTreeSet<_>>().len() >= 3
    }
}
