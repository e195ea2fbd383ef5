//! What stands around rules and users and decides with them: listeners, variables of the engine, copies of mirrors.

use std::collections::BTreeSet;

use shardwright_rules::{Body, Configuration, EngineRule, FastRoute, HostgroupId};

use super::{Comparison, Pair};
use crate::session::given;

/// Variables of ProxySQL that change what becomes of statements, whatever the rules say. What they come to is not
/// compared: where they differ, nothing is proved.
const DECIDING: [&str; 14] = [
    "mysql-auto_increment_delay_multiplex",
    "mysql-auto_increment_delay_multiplex_timeout_ms",
    "mysql-autocommit_false_is_transaction",
    "mysql-autocommit_false_not_reusable",
    "mysql-connection_delay_multiplex_ms",
    "mysql-default_query_delay",
    "mysql-default_query_timeout",
    "mysql-default_tx_isolation",
    "mysql-enforce_autocommit_on_reads",
    "mysql-forward_autocommit",
    "mysql-keep_multiplexing_variables",
    "mysql-multiplexing",
    "mysql-query_retries_on_failure",
    "mysql-set_query_lock_on_hostgroup",
];

/// Settings and variables that decide with the rules, in a configuration's own fields.
const IN_RULES: [&str; 5] = [
    "query_processor_iterations",
    "regex",
    "mysql-query_processor_iterations",
    "mysql-query_processor_regex",
    "mysql-firewall_whitelist_enabled",
];
/// How the names of the variables begin that shape digests.
const DIGESTS: &str = "mysql-query_digests";

/// Whether a difference in this setting or variable of the engine is looked at. All others are outside of a proof.
pub fn compares(setting: &str) -> bool {
    IN_RULES.contains(&setting) || DECIDING.contains(&setting) || setting.starts_with(DIGESTS)
}

pub(super) fn compare(pair: &Pair<'_, '_>, comparison: &mut Comparison) {
    let both = [0, 1].map(|side| pair.configuration(side));
    let mut because = |construct: &str| {
        comparison.undecided.insert(construct.to_owned());
    };
    if listeners(both[0]) != listeners(both[1]) && both.iter().any(|one| asks_for_listener(one)) {
        because("rules that match the listener, while the listeners differ");
    }
    // A hostgroup that takes statements on one side and refuses them on the other is the same number in both states.
    if clash(both) || clash([both[1], both[0]]) {
        because("hostgroups that refuse on one side only");
    }
    if both[0].digests() != both[1].digests() && both.iter().any(|one| asks_for_digests(one)) {
        because("rules that match digests, while the variables that shape digests differ");
    }
    if both[0].engine.is_proxysql() && both[1].engine.is_proxysql() {
        for name in DECIDING {
            if both[0].variables.get(name) != both[1].variables.get(name) {
                because(&format!("the variable {name}, which differs"));
            }
        }
    }
    if fast_routes(both[0], both) != fast_routes(both[1], both) {
        because("copies of mirrors, which fast routing sends elsewhere, while fast routing differs");
    }
}

/// Whether a hostgroup that refuses on one side takes statements on the other, or refuses them with another error.
fn clash([one, other]: [&Configuration; 2]) -> bool {
    one.refusing
        .iter()
        .any(|hostgroup| match other.refusing(hostgroup.id) {
            Some(same) => same.rejection().code != hostgroup.rejection().code,
            None => takes_statements(other, hostgroup.id),
        })
}

fn takes_statements(configuration: &Configuration, hostgroup: HostgroupId) -> bool {
    let named = configuration.graph.rules.iter().any(|rule| match &rule.body {
        Body::Engine(row) => row.destination_hostgroup == Some(hostgroup.0),
        Body::Native { .. } => false,
    });
    let routed = configuration.graph.fast_routing.iter();
    named
        || configuration.hostgroup(hostgroup).is_some()
        || routed.map(|row| row.hostgroup).any(|own| own == hostgroup)
}

fn asks_for_digests(configuration: &Configuration) -> bool {
    configuration.graph.rules.iter().any(|rule| match &rule.body {
        Body::Engine(row) => row.digest.is_some() || row.match_digest.is_some(),
        Body::Native { scope, .. } => {
            let asked = [&scope.digests, &scope.except_digests];
            asked.iter().any(|hashes| !hashes.is_empty())
                || [&scope.match_digest, &scope.except_match_digest]
                    .iter()
                    .any(|patterns| !patterns.is_empty())
        }
    })
}

fn listeners(configuration: &Configuration) -> BTreeSet<(&str, u16)> {
    let listeners = configuration.listeners.iter();
    listeners
        .map(|listener| (listener.bind.as_str(), listener.port))
        .collect()
}

fn asks_for_listener(configuration: &Configuration) -> bool {
    configuration.graph.rules.iter().any(|rule| match &rule.body {
        Body::Engine(row) => row.proxy_port.is_some() || given(&row.proxy_addr).is_some(),
        Body::Native { scope, .. } => scope.asks_for_listener(),
    })
}

/// Rules whose copies go to a hostgroup, which fast routing replaces for the copy.
fn copying(configuration: &Configuration) -> impl Iterator<Item = &EngineRule> {
    super::engine_rows(configuration).filter(|row| row.mirror_hostgroup.is_some())
}

/// User, schema and hostgroup of the rows that copies are looked up in, of the sessions that a rule of either side copies.
fn fast_routes<'c>(
    configuration: &'c Configuration,
    both: [&Configuration; 2],
) -> BTreeSet<(&'c str, &'c str, u32)> {
    let is_copied = |row: &&FastRoute| {
        let meets = |rule: &EngineRule| {
            let is_of_user = |user: &str| row.username.is_empty() || row.username == user;
            given(&rule.username).is_none_or(is_of_user)
                && given(&rule.schemaname).is_none_or(|schema| row.schemaname == schema)
        };
        both.into_iter().any(|one| copying(one).any(meets))
    };
    let rows = configuration.graph.fast_routing.iter();
    rows.filter(|row| row.flag_in == 0)
        .filter(is_copied)
        .map(|row| (row.username.as_str(), row.schemaname.as_str(), row.hostgroup.0))
        .collect()
}
