//! Which servers take a statement when servers are in another state.

use std::time::Duration;

use serde::Serialize;
use shardwright_rules::roles::{Roles, Standing, Supposition, WatchedCluster};
use shardwright_rules::throttle::{Change, Reading, Regulator, SignalSource};
use shardwright_rules::{Address, Configuration, Decision, Outcome, Throttle};

/// What is supposed of servers; nothing of those that are as they are meant to be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Supposed(pub Vec<(Address, Supposition)>);

/// The servers that take a statement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Servers {
    /// Each with its share.
    pub served_by: Vec<Serving>,
    /// Each with the reason.
    pub not_served_by: Vec<Other>,
    /// Its throttles that depend on lag.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub throttles: Vec<Supposedly>,
}

/// What a throttle does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Supposedly {
    /// Its address.
    pub throttle: String,
    /// `None`: the lag is not known, and it stays as it is.
    pub started: Option<bool>,
}

/// A server that takes a statement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Serving {
    /// Its address.
    pub server: String,
    /// Of `of` statements, it takes so many.
    pub share: u64,
    /// The shares of all servers.
    pub of: u64,
}

/// A server that does not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Other {
    /// Its address.
    pub server: String,
    /// Why not.
    pub why: String,
}

impl Supposed {
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
    #[must_use]
    pub fn servers(&self, configuration: &Configuration, decision: &Decision) -> Option<Servers> {
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
