//! Errors that a target has already, before the plan: it does not bring them.
//!
//! What runs is analysed as the files are, and an error of the files is there already where it has the same code at the same
//! object. Rows that nobody has named after an object are known by their keys: the rule by its id, the user by its name, the
//! server by its hostgroup, host and port.

use std::collections::{HashMap, HashSet};

use shardwright_plan::{Hazard, Observed, Severity, TargetPlan};
use shardwright_rules::{Address, Configuration};
use shardwright_topology::model::ProjectFile;

use super::{Live, Proxy, unreachable};
use crate::analysed;
use crate::error::CommandError;
use crate::ownership::other_users;

/// Marks the errors among `hazards` that the target has already.
///
/// # Errors
/// The target cannot be read.
pub(super) fn mark(
    live: &Live,
    observed: &Observed,
    part: &TargetPlan,
    desired: &Configuration,
    file: &ProjectFile,
    hazards: &mut [Hazard],
) -> Result<(), CommandError> {
    if !hazards.iter().any(is_error) {
        return Ok(());
    }
    if part.effects.is_empty() {
        mark_where(hazards, |_| true);
        return Ok(());
    }
    let running = match &live.proxy {
        Proxy::Bundled(_) => observed.configuration.clone(),
        Proxy::ProxySql(target) => {
            let running = target.running_rule_set().map_err(|error| unreachable(&error))?;
            Some(running)
        }
    };
    let Some(running) = running else {
        return Ok(());
    };
    let found = analysed::hazards(&running, &other_users(running.engine, file));
    let names = names(&running, desired);
    let known: HashSet<(&str, Option<&Address>)> = found
        .iter()
        .filter(|hazard| is_error(hazard))
        .map(|hazard| {
            let address = hazard.address.as_ref();
            (
                hazard.code.as_str(),
                address.map(|address| names.get(address).copied().unwrap_or(address)),
            )
        })
        .collect();
    mark_where(hazards, |hazard| {
        known.contains(&(hazard.code.as_str(), hazard.address.as_ref()))
    });
    Ok(())
}

fn is_error(hazard: &Hazard) -> bool {
    hazard.severity == Severity::Error
}

fn mark_where(hazards: &mut [Hazard], is_live: impl Fn(&Hazard) -> bool) {
    for hazard in hazards.iter_mut().filter(|hazard| is_error(hazard)) {
        hazard.is_live = is_live(hazard);
    }
}

/// What the files call the objects that run.
fn names<'c>(running: &'c Configuration, desired: &'c Configuration) -> HashMap<&'c Address, &'c Address> {
    let mut names = HashMap::new();
    let rules: HashMap<u32, &Address> = desired
        .graph
        .rules
        .iter()
        .map(|rule| (rule.id, &rule.address))
        .collect();
    names.extend(
        running
            .graph
            .rules
            .iter()
            .filter_map(|rule| Some((&rule.address, *rules.get(&rule.id)?))),
    );
    let users: HashMap<&str, &Address> = desired
        .users
        .iter()
        .map(|user| (user.name.as_str(), &user.address))
        .collect();
    names.extend(
        running
            .users
            .iter()
            .filter_map(|user| Some((&user.address, *users.get(user.name.as_str())?))),
    );
    for hostgroup in &running.hostgroups {
        let Some(wanted) = desired.hostgroups.iter().find(|other| other.id == hostgroup.id) else {
            continue;
        };
        names.insert(&hostgroup.cluster, &wanted.cluster);
        for member in &hostgroup.members {
            let same = wanted
                .members
                .iter()
                .find(|other| other.host == member.host && other.port == member.port);
            names.extend(same.map(|same| (&member.server, &same.server)));
        }
    }
    names
}
