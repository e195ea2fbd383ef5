//! `--if`: which servers take a statement when servers are in another state.

use shardwright_rules::roles::{ServerName, Supposition};
use shardwright_rules::{Address, Configuration};
use shardwright_simulation::supposed::{Servers, Supposed};

use crate::error::CommandError;

/// What the options say; `None` without any.
pub(super) fn parse(
    options: &[String],
    configuration: &Configuration,
) -> Result<Option<Supposed>, CommandError> {
    let wrong = |message| CommandError::usage(message).hint(format!("states: {}", Supposition::FORMS));
    let mut supposed = Vec::new();
    for option in options {
        let (name, state) = option
            .split_once('=')
            .ok_or_else(|| wrong(format!("--if {option}: write SERVER=STATE")))?;
        let supposition = Supposition::parse(state)
            .ok_or_else(|| wrong(format!("--if: {state} is no state of a server")))?;
        supposed.push((server(name, configuration)?, supposition));
    }
    Ok((!supposed.is_empty()).then_some(Supposed(supposed)))
}

/// The human-readable lines.
pub(super) fn lines(servers: &Servers) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    lines.extend(servers.throttles.iter().map(|supposedly| {
        let throttle = &supposedly.throttle;
        match supposedly.started {
            Some(true) => format!("  started   {throttle}"),
            Some(false) => format!("  stopped   {throttle}"),
            None => format!("  unchanged {throttle}: it stays started or stopped"),
        }
    }));
    if servers.served_by.is_empty() {
        lines.push("  waits     until a server serves, then error 9001".to_owned());
    }
    lines.extend(
        servers
            .served_by
            .iter()
            .map(|serving| match serving.share == serving.of {
                true => format!("  served by {}", serving.server),
                false => format!(
                    "  served by {} ({} of {})",
                    serving.server, serving.share, serving.of
                ),
            }),
    );
    lines.extend(
        servers
            .not_served_by
            .iter()
            .map(|other| format!("  not by    {}: {}", other.server, other.why)),
    );
    lines
}

/// The server of this name, `CLUSTER/NAME` or address.
fn server(name: &str, configuration: &Configuration) -> Result<Address, CommandError> {
    let candidates = || {
        configuration
            .clusters
            .iter()
            .flat_map(|cluster| &cluster.candidates)
    };
    let named = ServerName::parse(name);
    let addresses = candidates().map(|candidate| &candidate.server);
    let mut found = addresses.filter(|address| named.is_at(address.as_str()));
    match (found.next(), found.next()) {
        (Some(server), None) => Ok(server.clone()),
        (Some(one), Some(other)) => {
            Err(CommandError::usage(format!("--if: {name} is {one} and {other}"))
                .hint("write CLUSTER/SERVER"))
        }
        (None, _) if candidates().next().is_none() => Err(CommandError::usage(format!(
            "--if: {} watches no servers of this project",
            configuration.engine
        ))
        .hint("the bundled engine watches servers if the topology has a monitor section")),
        (None, _) => Err(CommandError::usage(format!(
            "--if: no server that is watched is named {name}"
        ))),
    }
}
