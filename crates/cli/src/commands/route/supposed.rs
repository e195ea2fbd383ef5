//! `--if`: which servers take a statement when servers are in another state.

use std::time::Duration;

use serde::Serialize;
use shardwright_rules::roles::{Roles, Standing, Supposition, WatchedCluster};
use shardwright_rules::throttle::{Change, Reading, Regulator, SignalSource};
use shardwright_rules::{Address, Configuration, Decision, Outcome, Throttle};
use shardwright_topology::duration_ms;

use crate::error::CommandError;

/// The states that can be supposed, as they are written.
const STATES: &str = "down, read-only, promoted, minority, lag:20s, lag:unknown, queue:500";

/// What is supposed of servers.
pub(super) struct Supposed(Vec<(Address, Supposition)>);

/// The servers that take a statement.
#[derive(Serialize)]
pub(crate) struct Servers {
    /// Each with its share.
    served_by: Vec<Serving>,
    /// Each with the reason.
    not_served_by: Vec<Other>,
    /// Its throttles that depend on lag.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    throttles: Vec<Supposedly>,
}

/// What a throttle does.
#[derive(Serialize)]
struct Supposedly {
    throttle: String,
    /// `None`: the lag is not known, and it stays as it is.
    started: Option<bool>,
}

#[derive(Serialize)]
struct Serving {
    server: String,
    /// Of `of` statements, it takes so many.
    share: u64,
    of: u64,
}

#[derive(Serialize)]
struct Other {
    server: String,
    why: String,
}

impl Supposed {
    /// What the options say; `None` without any.
    pub(super) fn parse(
        options: &[String],
        configuration: &Configuration,
    ) -> Result<Option<Self>, CommandError> {
        let mut supposed = Vec::new();
        for option in options {
            let (name, state) = option.split_once('=').ok_or_else(|| {
                CommandError::usage(format!("--if {option}: write SERVER=STATE"))
                    .hint(format!("states: {STATES}"))
            })?;
            supposed.push((server(name, configuration)?, supposition(state)?));
        }
        Ok((!supposed.is_empty()).then_some(Self(supposed)))
    }

    /// The greatest lag of the replicas.
    fn lag(&self, watched: &WatchedCluster<'_>, roles: &Roles) -> Reading {
        let is_replica = |server: &Address| roles.writers().all(|writer| writer != server);
        let replicas = watched.servers.iter().filter(|(one, _)| is_replica(&one.server));
        let lags = replicas.map(|(one, _)| {
            let of_server = self.0.iter().filter(|(server, _)| *server == one.server);
            of_server.fold(Reading::of(0.0), |lag, (_, supposition)| match supposition {
                Supposition::Lags(lag_ms) => Reading::of(*lag_ms as f64),
                Supposition::LagUnknown | Supposition::Down => Reading::Unknown,
                _ => lag,
            })
        });
        lags.reduce(Reading::worst).unwrap_or_default()
    }

    /// The servers that take what was decided; `None` where it goes to no cluster that is watched.
    pub(super) fn servers(&self, configuration: &Configuration, decision: &Decision) -> Option<Servers> {
        let Outcome::Route(route) = &decision.outcome else {
            return None;
        };
        let hostgroup = configuration.hostgroup(route.hostgroup)?;
        let watched = WatchedCluster::of(configuration, configuration.cluster_of(route.hostgroup)?)?;
        let roles = watched.suppose(&self.0)?;
        let places = watched.places(hostgroup.role, Some(&roles));
        let serves = |at: &usize| places[*at].serves();
        let tier = (0..places.len()).filter(serves).map(|at| places[at].tier).min();
        let serving: Vec<usize> = (0..places.len())
            .filter(|at| serves(at) && Some(places[*at].tier) == tier)
            .collect();
        let of = serving.iter().map(|at| u64::from(places[*at].weight)).sum();
        let other = |at: usize| {
            let roles = &roles.0[at];
            let why = match roles.standing(hostgroup.role) {
                Standing::Out(why) => why.to_string(),
                Standing::StandsBy => "it could write, and another server does".to_owned(),
                Standing::LastResort => "it serves when nobody else can".to_owned(),
                Standing::Serves => "its weight is 0".to_owned(),
            };
            Other {
                server: roles.server.to_string(),
                why,
            }
        };
        let lag = self.lag(&watched, &roles);
        let throttles = route.effects.throttles.iter();
        let throttles = throttles.filter_map(|throttled| {
            Some(Supposedly {
                throttle: throttled.address.to_string(),
                started: is_started(&throttled.throttle, lag)?,
            })
        });
        Some(Servers {
            throttles: throttles.collect(),
            not_served_by: (0..places.len())
                .filter(|at| !serving.contains(at))
                .map(other)
                .collect(),
            served_by: serving
                .iter()
                .map(|&at| Serving {
                    server: roles.0[at].server.to_string(),
                    share: u64::from(places[at].weight),
                    of,
                })
                .collect(),
        })
    }
}

/// Whether a throttle is started when replicas are so far behind: `None` where it does not depend on that; inside, where it
/// stays as it is.
fn is_started(throttle: &Throttle, lag: Reading) -> Option<Option<bool>> {
    let signal = throttle.signal.as_ref()?;
    if signal.source != SignalSource::ReplicationLag {
        return None;
    }
    let changed = Regulator::default().look(throttle, Duration::ZERO, lag);
    let is_below = matches!(lag, Reading::Known { value, .. } if value < signal.stop_below.get());
    Some(match changed {
        Some(Change::Started) => Some(true),
        _ if is_below => Some(false),
        _ => None,
    })
}

impl Servers {
    /// The human-readable lines.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        lines.extend(self.throttles.iter().map(|supposedly| {
            let throttle = &supposedly.throttle;
            match supposedly.started {
                Some(true) => format!("  started   {throttle}"),
                Some(false) => format!("  stopped   {throttle}"),
                None => format!("  unchanged {throttle}: it stays started or stopped"),
            }
        }));
        if self.served_by.is_empty() {
            lines.push("  waits     until a server serves, then error 9001".to_owned());
        }
        lines.extend(
            self.served_by
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
            self.not_served_by
                .iter()
                .map(|other| format!("  not by    {}: {}", other.server, other.why)),
        );
        lines
    }
}

/// The server of this name or address.
fn server(name: &str, configuration: &Configuration) -> Result<Address, CommandError> {
    let candidates = || {
        configuration
            .clusters
            .iter()
            .flat_map(|cluster| &cluster.candidates)
    };
    let is_it = |address: &&Address| {
        let address = address.as_str();
        address == name || address.strip_suffix(name).is_some_and(|rest| rest.ends_with('.'))
    };
    let mut found = candidates().map(|candidate| &candidate.server).filter(is_it);
    match (found.next(), found.next()) {
        (Some(server), None) => Ok(server.clone()),
        (Some(one), Some(other)) => {
            Err(CommandError::usage(format!("--if: {name} is {one} and {other}"))
                .hint("write the whole address"))
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

fn supposition(state: &str) -> Result<Supposition, CommandError> {
    let wrong = || {
        CommandError::usage(format!("--if: {state} is no state of a server"))
            .hint(format!("states: {STATES}"))
    };
    Ok(match state.split_once(':').unwrap_or((state, "")) {
        ("down", "") => Supposition::Down,
        ("read-only", "") => Supposition::ReadOnly,
        ("promoted", "") => Supposition::Promoted,
        ("minority", "") => Supposition::Minority,
        ("lag", "unknown") => Supposition::LagUnknown,
        ("lag", lag) => Supposition::Lags(duration_ms(lag).ok_or_else(wrong)?),
        ("queue", queue) => Supposition::Queue(queue.parse().map_err(|_| wrong())?),
        _ => return Err(wrong()),
    })
}
