//! What of a live ProxySQL the project owns: from `manage`, and from what the lock remembers of earlier scripts.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use shardwright_analysis::OtherUsers;
use shardwright_compiler::Lock;
use shardwright_rules::{Configuration, EngineId};
use shardwright_targets::emit::{Numbers, Ownership, written_variables};
use shardwright_topology::default_value;
use shardwright_topology::model::{Managed, NamePattern, ProjectFile, Unmanaged};

use crate::error::CommandError;
use crate::exit::Exit;

/// What the lock keeps of every script, below these names. Hostgroups, rules and users are kept only where neither a
/// range nor a list of the project file holds them: otherwise nothing would tell what became of them.
const VARIABLES: &str = "written.variables.";
const FIREWALL: &str = "written.modules.firewall";
const HOSTGROUPS: &str = "written.hostgroups.";
const RULES: &str = "written.rules.";
const USERS: &str = "written.users.";
/// Where the compiler keeps the numbers of the present clusters: `hostgroups.CLUSTER.ROLE`.
const PRESENT_HOSTGROUPS: &str = "hostgroups.";

/// Notes in the lock what a script for this configuration puts into a live system.
pub(crate) fn remember(file: &ProjectFile, configuration: &Configuration, lock: &mut Lock) {
    if configuration.engine == EngineId::Bundled {
        return;
    }
    for name in written_variables(configuration) {
        lock.set(format!("{VARIABLES}{name}"), 1);
    }
    if !configuration.firewall.is_empty() {
        lock.set(FIREWALL.to_owned(), 1);
    }
    let manage = &file.manage;
    if manage.clusters != Managed::All {
        let outside = hostgroups(lock, PRESENT_HOSTGROUPS)
            .filter(|(_, id)| !file.ids.hostgroups.contains(id))
            .filter(|(name, _)| is_ours(&manage.clusters, cluster_of(name)));
        let outside: Vec<(String, u32)> = outside.collect();
        for (name, id) in outside {
            // By number: a cluster whose pin changes leaves the old one behind.
            lock.set(format!("{HOSTGROUPS}{}.{id}", cluster_of(&name)), id);
        }
    }
    if manage.query_rules == Managed::Own {
        for rule in &configuration.graph.rules {
            if !file.ids.rules.contains(&rule.id) {
                lock.set(format!("{RULES}{}", rule.id), 1);
            }
        }
    }
    if manage.users == Managed::Own {
        for user in &configuration.users {
            lock.set(format!("{USERS}{}", user.name), 1);
        }
    }
}

/// What a script may change. The lock is the one that the configuration was compiled with.
///
/// # Errors
/// The lock names what there cannot be.
pub(crate) fn ownership(file: &ProjectFile, lock: &Lock) -> Result<Ownership, CommandError> {
    let mut resets = BTreeMap::new();
    for (name, _) in lock.below(VARIABLES) {
        let default = default_value(name).ok_or_else(|| {
            let message = format!("the lock file names {name}, which is not a variable of ProxySQL 2.7");
            CommandError::new(Exit::BadDocument, message).hint("delete the line")
        })?;
        resets.insert(name.to_owned(), default.to_owned());
    }
    let mut ownership = Ownership {
        resets,
        had_firewall: lock.get(FIREWALL).is_some(),
        ..Ownership::default()
    };
    if file.unmanaged == Unmanaged::Delete {
        return Ok(ownership);
    }
    let manage = &file.manage;
    ownership.users = match &manage.users {
        Managed::All => None,
        Managed::Listed(globs) => Some(globs.iter().map(|glob| glob.as_str().to_owned()).collect()),
        Managed::Own => Some(lock.below(USERS).map(|(name, _)| name.to_owned()).collect()),
    };
    ownership.rules = match &manage.query_rules {
        Managed::All => None,
        Managed::Listed(range) => Some(Numbers::new([range.clone()], &BTreeSet::new())),
        Managed::Own => Some(Numbers::new(own_rules(file, lock)?, &BTreeSet::new())),
    };
    ownership.hostgroups = match &manage.clusters {
        Managed::All => None,
        clusters => Some(own_hostgroups(file, clusters, lock)),
    };
    ownership.report = file.unmanaged == Unmanaged::Report;
    Ok(ownership)
}

/// Users whom a project leaves to others; a bundled proxy runs nothing of others.
pub(crate) fn other_users(engine: EngineId, file: &ProjectFile) -> OtherUsers {
    if engine == EngineId::Bundled {
        return OtherUsers::None;
    }
    match (&file.manage.users, file.unmanaged) {
        (Managed::All, _) | (_, Unmanaged::Delete) => OtherUsers::None,
        (Managed::Listed(own), _) => OtherUsers::AllBut(own.clone()),
        (Managed::Own, _) => OtherUsers::AllBut(Vec::new()),
    }
}

fn own_rules(file: &ProjectFile, lock: &Lock) -> Result<Vec<RangeInclusive<u32>>, CommandError> {
    let mut ranges = vec![file.ids.rules.clone()];
    for (id, _) in lock.below(RULES) {
        let id: u32 = id.parse().map_err(|_| {
            let message = format!("the lock file names a rule by {id}, which is not a number");
            CommandError::new(Exit::BadDocument, message).hint("delete the line")
        })?;
        ranges.push(id..=id);
    }
    Ok(ranges)
}

/// The project's range and the pinned numbers of its clusters, without those of clusters of others.
fn own_hostgroups(file: &ProjectFile, clusters: &Managed<Vec<NamePattern>>, lock: &Lock) -> Numbers {
    let (ours, of_others): (Vec<_>, Vec<_>) = hostgroups(lock, PRESENT_HOSTGROUPS)
        .chain(hostgroups(lock, HOSTGROUPS))
        .partition(|(name, _)| is_ours(clusters, cluster_of(name)));
    let except: BTreeSet<u32> = of_others.into_iter().map(|(_, id)| id).collect();
    let pinned = ours.into_iter().map(|(_, id)| id..=id);
    Numbers::new(pinned.chain([file.ids.hostgroups.clone()]), &except)
}

fn hostgroups(lock: &Lock, prefix: &str) -> impl Iterator<Item = (String, u32)> {
    lock.below(prefix).map(|(name, id)| (name.to_owned(), id))
}

/// The cluster of `CLUSTER.ROLE` or `CLUSTER.NUMBER`.
fn cluster_of(name: &str) -> &str {
    name.split_once('.').map_or(name, |(cluster, _)| cluster)
}

fn is_ours(managed: &Managed<Vec<NamePattern>>, name: &str) -> bool {
    match managed {
        Managed::All | Managed::Own => true,
        Managed::Listed(globs) => globs.iter().any(|glob| glob.matches(name)),
    }
}
