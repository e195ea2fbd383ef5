//! `explain hostgroup:N`: its servers, and everything that leads there.

use shardwright_diagnostics::did_you_mean;
use shardwright_rules::{
    Body, Configuration, Hostgroup, HostgroupId, Member, NativeStep, Refuser, RefusingHostgroup, Role, Rule,
};

use super::Asked;
use super::page::{Line, Page};
use crate::error::CommandError;

pub(super) fn find(asked: &Asked<'_>, number: &str) -> Result<Page, CommandError> {
    let configuration = &asked.built.configuration;
    let wanted = number.parse().ok().map(HostgroupId);
    if let Some(refusing) = wanted.and_then(|id| configuration.refusing(id)) {
        return Ok(refuses(asked, refusing));
    }
    let Some(hostgroup) = wanted.and_then(|id| configuration.hostgroup(id)) else {
        return Err(unknown(number, configuration));
    };
    let other = configuration
        .hostgroups
        .iter()
        .filter(|other| other.cluster == hostgroup.cluster && other.id != hostgroup.id)
        .map(|other| Line::text(format!("hostgroup {}, {}", other.id, other.role)));
    let servers = hostgroup.members.iter().map(|member| {
        let text = format!("{}  {}", member.server, server(member));
        Line::at(asked.opened, &member.server, text)
    });
    let about = format!("{} of {}", hostgroup.role, hostgroup.cluster);
    Ok(Page::new(format!("hostgroup {}", hostgroup.id), about)
        .at(asked.opened, &hostgroup.cluster)
        .group_or(
            "servers",
            servers,
            "none in the topology: the role is assigned at run time",
        )
        .group_or(
            "what goes there",
            sources(asked, hostgroup),
            "nothing: no user, rule or shard leads there",
        )
        .group("the cluster's other hostgroups", other))
}

fn refuses(asked: &Asked<'_>, hostgroup: &RefusingHostgroup) -> Page {
    let (by, answer) = match hostgroup.refuser {
        Refuser::Admin => ("ProxySQL's own admin port", "error 1045, without the reason"),
        Refuser::Service => ("shardwright refuse", "error 1226 with the reason"),
    };
    let server = format!("{}:{}, {by}", hostgroup.host, hostgroup.port);
    let rules = asked.built.configuration.graph.rules.iter();
    let sources = rules
        .filter(|rule| matches!(&rule.body, Body::Engine(engine) if engine.destination_hostgroup == Some(hostgroup.id.0)))
        .map(|rule| {
            let text = format!("rule {} of {}", rule.id, rule.address.short());
            Line::at(asked.opened, &rule.address, text)
        });
    Page::new(
        format!("hostgroup {}", hostgroup.id),
        format!("refuses executions of prepared statements: {}", hostgroup.reason),
    )
    .at(asked.opened, &hostgroup.address)
    .group("who refuses", [Line::text(server)])
    .group("what the client gets", [Line::text(answer)])
    .group_or("what goes there", sources, "nothing: no rule leads there")
}

/// A member in one line.
pub(super) fn server(member: &Member) -> String {
    let state = match member.status {
        shardwright_rules::MemberStatus::Online => "",
        shardwright_rules::MemberStatus::Draining => ", draining",
        shardwright_rules::MemberStatus::Offline => ", offline",
    };
    let last = if member.tier > 0 { ", last resort" } else { "" };
    format!(
        "{}:{}, weight {}, at most {} connections{last}{state}",
        member.host, member.port, member.weight, member.max_connections
    )
}

fn sources(asked: &Asked<'_>, hostgroup: &Hostgroup) -> Vec<Line> {
    let configuration = &asked.built.configuration;
    let users = configuration
        .users
        .iter()
        .filter(|user| user.default_hostgroup == hostgroup.id)
        .map(|user| {
            let text = format!("{}: statements that no rule routes", user.address);
            Line::at(asked.opened, &user.address, text)
        });
    let rules = configuration
        .graph
        .rules
        .iter()
        .flat_map(|rule| by_rule(asked, rule, hostgroup));
    let routes = configuration
        .graph
        .fast_routing
        .iter()
        .filter(|route| route.hostgroup == hostgroup.id)
        .map(|route| {
            let text = format!(
                "{}: sessions in schema {}",
                route.address.short(),
                route.schemaname
            );
            Line::at(asked.opened, &route.address, text)
        });
    users.chain(rules).chain(routes).collect()
}

fn by_rule(asked: &Asked<'_>, rule: &Rule, hostgroup: &Hostgroup) -> Vec<Line> {
    let cluster = hostgroup.cluster.as_str().trim_start_matches("clusters.");
    match &rule.body {
        Body::Engine(engine) if engine.destination_hostgroup == Some(hostgroup.id.0) => {
            let text = format!("rule {} of {}", rule.id, rule.address.short());
            vec![Line::at(asked.opened, &rule.address, text)]
        }
        Body::Native {
            step: NativeStep::Map(map),
            ..
        } if hostgroup.role == Role::Writer => {
            let here = map
                .shards
                .iter()
                .filter(|shard| shard.cluster.as_deref() == Some(cluster));
            here.map(|shard| {
                let text = format!("{}: shard of rule {}", shard.address.short(), rule.id);
                Line::at(asked.opened, &shard.address, text)
            })
            .collect()
        }
        Body::Native {
            step: NativeStep::Role(_),
            scope,
        } if hostgroup.role == Role::Reader && scope.clusters.contains(cluster) => {
            let text = format!(
                "rule {} of {}: provable reads of this cluster",
                rule.id, rule.address
            );
            vec![Line::at(asked.opened, &rule.address, text)]
        }
        Body::Engine(_) | Body::Native { .. } => Vec::new(),
    }
}

fn unknown(number: &str, configuration: &Configuration) -> CommandError {
    let hostgroups = configuration.hostgroups.iter().map(|hostgroup| hostgroup.id);
    let refusing = configuration.refusing.iter().map(|hostgroup| hostgroup.id);
    let mut ids: Vec<HostgroupId> = hostgroups.chain(refusing).collect();
    ids.sort_unstable();
    let known: Vec<String> = ids.iter().map(HostgroupId::to_string).collect();
    let error = CommandError::usage(format!("there is no hostgroup {number}"));
    match (
        did_you_mean(number, known.iter().map(String::as_str)),
        known.as_slice(),
    ) {
        (_, []) => error,
        (None, [first, .., last]) if known.len() > 10 => {
            error.hint(format!("{} hostgroups, {first} to {last}", known.len()))
        }
        (None, known) => error.hint(format!("hostgroups: {}", known.join(", "))),
        (Some(near), _) => error.hint(format!("did you mean {near}?")),
    }
}
