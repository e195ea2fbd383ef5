//! What is measured of servers for throttles, and what it says of a signal.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use shardwright_rules::roles::{Roles, WatchedCluster};
use shardwright_rules::throttle::{Reading, SignalSource};
use shardwright_rules::{Address, MemberStatus};

use super::positions::{History, Positions};

/// What is older says nothing.
const FRESH_FOR: Duration = Duration::from_secs(3);
/// Over what time the speed of a replica and the share of flow control are averaged.
const AVERAGED_OVER: Duration = Duration::from_secs(2);
/// A replica that stands still for a moment does not stand still for good: it is taken for half as fast as it was over this time.
const LONG_AVERAGED_OVER: Duration = Duration::from_secs(10);
/// The least time between two looks that a share or a speed is worked out from.
const LEAST_STEP: Duration = Duration::from_millis(50);

/// What a look at a server has shown. What is missing was not asked, or the server does not say.
#[derive(Clone, Debug, Default)]
pub(crate) struct Measures {
    /// `Seconds_Behind_Source`, as long as replication runs; or what heartbeats say.
    pub(crate) lag_ms: Option<u64>,
    /// Whether heartbeats say it: then it is exact.
    pub(crate) by_heartbeat: bool,
    /// What is in its binary log.
    pub(crate) written: Option<Positions>,
    /// What it has applied as a replica.
    pub(crate) applied: Option<Positions>,
    /// Status variables that are numbers.
    pub(crate) status: BTreeMap<String, f64>,
    /// For how long flow control has stopped it so far.
    pub(crate) flow_control: Option<Duration>,
}

/// What is measured of the servers of all clusters.
#[derive(Debug, Default)]
pub(crate) struct Measured(Mutex<BTreeMap<Address, MeasuredServer>>);

/// What is measured of a server.
#[derive(Debug, Default)]
struct MeasuredServer {
    last: Option<(Instant, Measures)>,
    history: History,
    /// Transactions applied in a second, averaged over a short and over a long time; `None`: not known yet.
    speed: Option<[f64; 2]>,
    /// The share of the time in flow control: averaged over the last looks, and from the last one.
    flow_control: Option<[f64; 2]>,
}

impl Measured {
    fn servers(&self) -> MutexGuard<'_, BTreeMap<Address, MeasuredServer>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes up what a look at a server has shown; `None`: nothing, it does not answer.
    pub(crate) fn saw(&self, server: &Address, at: Instant, measures: Option<Measures>) {
        let mut servers = self.servers();
        match measures {
            Some(measures) => servers.entry(server.clone()).or_default().saw(at, measures),
            None => {
                servers.remove(server);
            }
        }
    }

    /// What is known of a signal of a cluster.
    pub(crate) fn reading(
        &self,
        source: &SignalSource,
        watched: &WatchedCluster<'_>,
        roles: Option<&Roles>,
        now: Instant,
    ) -> Reading {
        let Some(roles) = roles else {
            return Reading::Unknown;
        };
        let servers = self.servers();
        let worst = |readings: &mut dyn Iterator<Item = Reading>| readings.reduce(Reading::worst);
        let writers = || roles.writers().map(|writer| servers.get(writer));
        let of_writers = |known: &dyn Fn(&MeasuredServer) -> Option<Reading>| {
            let reading = |server: Option<&MeasuredServer>| {
                let fresh = server.filter(|server| server.fresh(now).is_some());
                fresh.and_then(known).unwrap_or_default()
            };
            worst(&mut writers().map(reading)).unwrap_or_default()
        };
        match source {
            SignalSource::Status(name) => of_writers(&|server| server.status(name).map(Reading::of)),
            SignalSource::FlowControl => of_writers(&|server| {
                // The average is on the way to what the last look has shown.
                let [value, last] = server.flow_control?;
                let outlook = Some(last);
                Some(Reading::Known { value, outlook })
            }),
            SignalSource::ReplicationLag => {
                // Without a writer, nobody says what there is to apply.
                let Some(writer) = writers().next() else {
                    return Reading::Unknown;
                };
                let is_replica = |server: &Address| roles.writers().all(|writer| writer != server);
                let replicas = watched.servers.iter().filter(|(candidate, member)| {
                    member.status == MemberStatus::Online && is_replica(&candidate.server)
                });
                let mut lags = replicas.map(|(candidate, _)| match servers.get(&candidate.server) {
                    Some(replica) => replica.lag(writer, now),
                    None => Reading::Unknown,
                });
                worst(&mut lags).unwrap_or_default()
            }
        }
    }
}

impl MeasuredServer {
    fn saw(&mut self, at: Instant, measures: Measures) {
        if let Some(written) = &measures.written {
            self.history.add(at, written);
        }
        let Some((before_at, before)) = &self.last else {
            self.last = Some((at, measures));
            return;
        };
        let step = at.saturating_duration_since(*before_at);
        if step >= LEAST_STEP {
            let averaged = |former: Option<f64>, now: f64, over: Duration| {
                let weight = (step.as_secs_f64() / over.as_secs_f64()).min(1.0);
                let former = former.unwrap_or(now);
                former + weight * (now - former)
            };
            let share = share(before.flow_control, measures.flow_control, step);
            self.flow_control = share.map(|share| {
                let former = self.flow_control.map(|[average, _]| average);
                [averaged(former, share, AVERAGED_OVER), share]
            });
            if let (Some(before), Some(now)) = (&before.applied, &measures.applied) {
                let applied = now.total().saturating_sub(before.total()) as f64 / step.as_secs_f64();
                self.speed = Some([
                    averaged(self.speed.map(|[short, _]| short), applied, AVERAGED_OVER),
                    averaged(self.speed.map(|[_, long]| long), applied, LONG_AVERAGED_OVER),
                ]);
            }
        }
        self.last = Some((at, measures));
    }

    /// What the last look has shown, if it is not old.
    fn fresh(&self, now: Instant) -> Option<(Instant, &Measures)> {
        let (at, measures) = self.last.as_ref()?;
        (now.saturating_duration_since(*at) < FRESH_FOR).then_some((*at, measures))
    }

    fn status(&self, name: &str) -> Option<f64> {
        let (_, measures) = self.last.as_ref()?;
        let mut found = measures.status.iter();
        found
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| *value)
    }

    /// How far it is behind a writer. A replica that does not say is broken, whatever its positions are.
    fn lag(&self, writer: Option<&Self>, now: Instant) -> Reading {
        let Some((at, measures)) = self.fresh(now) else {
            return Reading::Unknown;
        };
        let Some(lag_ms) = measures.lag_ms else {
            return Reading::Unknown;
        };
        let in_seconds = Reading::of(lag_ms as f64);
        let behind = writer
            .filter(|writer| writer.fresh(now).is_some())
            .zip(measures.applied.as_ref())
            .and_then(|(writer, applied)| writer.history.behind(applied, at));
        let Some(behind) = behind else {
            return in_seconds;
        };
        let value = match measures.by_heartbeat {
            true => lag_ms as f64,
            false => behind.time.as_secs_f64() * 1000.0,
        };
        if behind.or_more {
            // Further back than the looks reach, whole seconds are fine enough.
            return Reading::of(value.max(lag_ms as f64));
        }
        let outlook = self.speed.and_then(|[short, long]| match behind.transactions {
            0 => Some(0.0),
            waiting => {
                let speed = short.max(long / 2.0);
                (speed > 0.0).then(|| waiting as f64 / speed * 1000.0)
            }
        });
        Reading::Known { value, outlook }
    }
}

/// The part of a time by which a duration has grown; `None`: it is not known, or has begun anew.
fn share(before: Option<Duration>, now: Option<Duration>, step: Duration) -> Option<f64> {
    let grown = now?.checked_sub(before?)?;
    Some((grown.as_secs_f64() / step.as_secs_f64()).min(1.0))
}
