//! Configurations of which rules name other hostgroups, and that are alike otherwise.
//!
//! # Idea
//!
//! Somebody who moves a tenant changes the hostgroup of a rule. Recorded statements are then decided under both
//! configurations, and nearly all of them meet only rules that are the same in both.
//!
//! # Invariant
//!
//! A decision depends on the rules that match, and on what else the configuration holds. Which rules match does not
//! depend on a hostgroup that a rule names. So where nothing but hostgroups of rules differs, a statement that matches
//! none of these rules under one configuration is decided alike under the other.
//!
//! # Example
//!
//! Rules 1 to 9 have a hostgroup each, and the right side has another one in rule 4. A statement that matches rules 1 and
//! 7 on the left matches these on the right too, and goes to the hostgroup of rule 7.

use shardwright_rules::{Body, Configuration, EngineRule, Rule, RuleGraph};

/// Whether nothing differs but rules.
pub fn alike_beside_rules(left: &Configuration, right: &Configuration) -> bool {
    let Configuration {
        format,
        engine,
        settings,
        variables,
        listeners,
        monitor,
        clusters,
        hostgroups,
        refusing,
        users,
        graph: RuleGraph {
            rules: _,
            fast_routing,
        },
        firewall,
    } = left;
    *format == right.format
        && *engine == right.engine
        && *settings == right.settings
        && *variables == right.variables
        && *listeners == right.listeners
        && *monitor == right.monitor
        && *clusters == right.clusters
        && *hostgroups == right.hostgroups
        && *refusing == right.refusing
        && *users == right.users
        && *fast_routing == right.graph.fast_routing
        && *firewall == right.firewall
}

/// The positions of the rules that name other hostgroups, ascending; `None` where more than that differs.
pub fn moved(left: &Configuration, right: &Configuration) -> Option<Vec<u32>> {
    let rules = &left.graph.rules;
    if rules.len() != right.graph.rules.len() || !alike_beside_rules(left, right) {
        return None;
    }
    let pairs = rules.iter().zip(&right.graph.rules).enumerate();
    let mut moved = Vec::new();
    for (position, (one, other)) in pairs {
        if one != other {
            if !names_another_hostgroup(one, other) {
                return None;
            }
            moved.push(u32::try_from(position).ok()?);
        }
    }
    Some(moved)
}

fn names_another_hostgroup(one: &Rule, other: &Rule) -> bool {
    let (Body::Engine(row), Body::Engine(wanted)) = (&one.body, &other.body) else {
        return false;
    };
    let row = EngineRule {
        destination_hostgroup: wanted.destination_hostgroup,
        ..(**row).clone()
    };
    let one = Rule {
        body: Body::Engine(Box::new(row)),
        ..one.clone()
    };
    one == *other
}
