//! `explain server:HOST:PORT` or `server:NAME`: the hostgroups that a server is in.

use std::collections::BTreeSet;

use shardwright_diagnostics::did_you_mean;
use shardwright_rules::{Hostgroup, Member};

use super::page::{Line, Page};
use super::{Asked, hostgroup};
use crate::error::CommandError;

pub(super) fn find(asked: &Asked<'_>, wanted: &str) -> Result<Page, CommandError> {
    let memberships: Vec<(&Hostgroup, &Member)> = asked
        .built
        .configuration
        .hostgroups
        .iter()
        .flat_map(|hostgroup| hostgroup.members.iter().map(move |member| (hostgroup, member)))
        .collect();
    let found: Vec<_> = memberships
        .iter()
        .filter(|(_, member)| is_called(member, wanted))
        .collect();
    let Some((_, first)) = found.first() else {
        return Err(unknown(wanted, memberships.iter().map(|(_, member)| *member)));
    };
    let servers: BTreeSet<_> = found.iter().map(|(_, member)| &member.server).collect();
    let clusters: BTreeSet<_> = found
        .iter()
        .map(|(hostgroup, _)| hostgroup.cluster.as_str())
        .collect();
    let about = match servers.len() {
        1 => format!(
            "a server of {}",
            found
                .first()
                .map_or("", |(hostgroup, _)| hostgroup.cluster.as_str())
        ),
        several => format!("{several} servers of {} clusters have this name", clusters.len()),
    };
    let lines = found.iter().map(|(hostgroup, member)| {
        let text = format!(
            "hostgroup {} ({}): {}",
            hostgroup.id,
            hostgroup.role,
            hostgroup::server(member)
        );
        Line::at(asked.opened, &member.server, text)
    });
    let page = Page::new(format!("server {wanted}"), about);
    let page = if servers.len() == 1 {
        page.at(asked.opened, &first.server)
    } else {
        page
    };
    Ok(page.group("member of", lines))
}

/// By address, by name or host, and by either with the port.
fn is_called(member: &Member, wanted: &str) -> bool {
    let address = member.server.as_str();
    let name = address.rsplit('.').next().unwrap_or(address);
    let is = |wanted: &str| {
        let bare = wanted.trim_start_matches('[').trim_end_matches(']');
        wanted == name || wanted == address || bare == member.host
    };
    let with_port = wanted
        .rsplit_once(':')
        .is_some_and(|(host, port)| is(host) && port.parse() == Ok(member.port));
    is(wanted) || with_port
}

fn unknown<'a>(wanted: &str, members: impl Iterator<Item = &'a Member>) -> CommandError {
    let known: BTreeSet<String> = members
        .map(|member| format!("{}:{}", member.host, member.port))
        .collect();
    let error = CommandError::usage(format!("there is no server {wanted}"));
    match did_you_mean(wanted, known.iter().map(String::as_str)) {
        Some(near) => error.hint(format!("did you mean {near}?")),
        None if known.len() <= 10 => {
            let known: Vec<String> = known.into_iter().collect();
            error.hint(format!("servers: {}", known.join(", ")))
        }
        None => error.hint("write HOST:PORT, or the server's name or address in the topology"),
    }
}
