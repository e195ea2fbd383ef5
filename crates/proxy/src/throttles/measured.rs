//! What is measured of servers for throttles, and what it says of a signal.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use shardwright_rules::roles::{Roles, WatchedCluster};
use shardwright_rules::throttle::{Backlog, Pace, Reading, Signal, SignalSource, Speed};
use shardwright_rules::{Address, MemberStatus};

use super::positions::{Behind, History, Positions};

/// What is older says nothing.
const FRESH_FOR: Duration = Duration::from_secs(3);
/// Over what time the share of flow control is averaged.
const AVERAGED_OVER: Duration = Duration::from_secs(2);
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
    speed: Speed,
    /// What it had applied at the look that its speed was last worked out from.
    applied: Option<(Instant, u64)>,
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

    /// How far the replicas of a cluster are behind; the worst counts.
    pub(crate) fn lag(&self, watched: &WatchedCluster<'_>, roles: Option<&Roles>, now: Instant) -> Reading {
        let mut servers = self.servers();
        roles.map_or(Reading::Unknown, |roles| {
            lag(&mut servers, None, watched, roles, now)
        })
    }

    /// What is known of a signal of a cluster.
    pub(crate) fn reading(
        &self,
        signal: &Signal,
        watched: &WatchedCluster<'_>,
        roles: Option<&Roles>,
        now: Instant,
    ) -> Reading {
        let Some(roles) = roles else {
            return Reading::Unknown;
        };
        let mut servers = self.servers();
        let worst = |readings: &mut dyn Iterator<Item = Reading>| readings.reduce(Reading::worst);
        let writers = || roles.writers().map(|writer| servers.get(writer));
        let of_writers = |known: &dyn Fn(&MeasuredServer) -> Option<Reading>| {
            let reading = |server: Option<&MeasuredServer>| {
                let fresh = server.filter(|server| server.fresh(now).is_some());
                fresh.and_then(known).unwrap_or_default()
            };
            worst(&mut writers().map(reading)).unwrap_or_default()
        };
        match &signal.source {
            SignalSource::ReplicationLag => lag(&mut servers, Some(signal), watched, roles, now),
            SignalSource::Status(name) => of_writers(&|server| server.status(name).map(Reading::of)),
            SignalSource::FlowControl => of_writers(&|server| {
                // The average is on the way to what the last look has shown.
                let [value, last] = server.flow_control?;
                let outlook = Some(last);
                Some(Reading::Known {
                    value,
                    outlook,
                    pace: None,
                })
            }),
        }
    }
}

/// How far the replicas of a cluster are behind its writer, and how fast that may write for the levels of a signal; the worst counts.
fn lag(
    servers: &mut BTreeMap<Address, MeasuredServer>,
    signal: Option<&Signal>,
    watched: &WatchedCluster<'_>,
    roles: &Roles,
    now: Instant,
) -> Reading {
    // Without a writer, nobody says what there is to apply.
    let Some(writer) = roles.writers().next() else {
        return Reading::Unknown;
    };
    let is_replica = |server: &Address| roles.writers().all(|writer| writer != server);
    let replicas = watched
        .servers
        .iter()
        .filter(|(candidate, member)| member.status == MemberStatus::Online && is_replica(&candidate.server));
    let mut reading = |server: &Address| {
        let replica = servers.get(server)?;
        let behind = servers.get(writer).and_then(|writer| replica.behind(writer, now));
        Some(servers.get_mut(server)?.lag(behind, signal, now))
    };
    replicas
        .map(|(candidate, _)| reading(&candidate.server).unwrap_or_default())
        .reduce(Reading::worst)
        .unwrap_or_default()
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
            let weight = (step.as_secs_f64() / AVERAGED_OVER.as_secs_f64()).min(1.0);
            let share = share(before.flow_control, measures.flow_control, step);
            self.flow_control = share.map(|share| {
                let former = self.flow_control.map_or(share, |[average, _]| average);
                [former + weight * (share - former), share]
            });
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

    /// How far it was behind a writer at its last look; `None`: their positions say nothing.
    fn behind(&self, writer: &Self, now: Instant) -> Option<BehindWriter> {
        let (at, measures) = self.fresh(now)?;
        let (seen, of_writer) = writer.fresh(now)?;
        Some(BehindWriter {
            behind: writer.history.behind(measures.applied.as_ref()?, at)?,
            written: of_writer.written.as_ref()?.total() as f64,
            age: now.saturating_duration_since(seen),
        })
    }

    /// Takes up what it had applied at a look; the same look may come again, for another throttle.
    fn add_speed(&mut self, at: Instant, applied: u64, behind: Duration) {
        let Some((before_at, before)) = self.applied else {
            self.applied = Some((at, applied));
            return;
        };
        let step = at.saturating_duration_since(before_at);
        if step >= LEAST_STEP {
            self.applied = Some((at, applied));
            // Numbers that begin anew are no speed.
            if let Some(count) = applied.checked_sub(before) {
                self.speed.add(count as f64, step, behind);
            }
        }
    }

    /// How far it is behind, and what follows for writers. A replica that does not say is broken, whatever its positions are.
    fn lag(&mut self, of_writer: Option<BehindWriter>, signal: Option<&Signal>, now: Instant) -> Reading {
        let Some((at, measures)) = self.fresh(now) else {
            return Reading::Unknown;
        };
        let (Some(lag_ms), by_heartbeat) = (measures.lag_ms, measures.by_heartbeat) else {
            return Reading::Unknown;
        };
        let in_seconds = lag_ms as f64;
        let applied = measures.applied.as_ref().map(Positions::total);
        let (Some(BehindWriter { behind, written, age }), Some(applied)) = (of_writer, applied) else {
            return Reading::of(in_seconds);
        };
        self.add_speed(at, applied, behind.time);
        let by_positions = behind.time.as_secs_f64() * 1000.0;
        let backlog = self.speed.per_s().map(|applied_per_s| Backlog {
            transactions: behind.transactions as f64,
            applied_per_s,
        });
        Reading::Known {
            value: match (by_heartbeat, behind.or_more) {
                (true, _) => in_seconds,
                (false, false) => by_positions,
                // Further back than the looks reach, whole seconds are fine enough.
                (false, true) => in_seconds.max(by_positions),
            },
            outlook: backlog.and_then(|backlog| backlog.outlook_ms()),
            pace: backlog.zip(signal).map(|(backlog, signal)| Pace {
                written,
                age,
                may_per_s: backlog.may_per_s(signal),
            }),
        }
    }
}

/// How far a replica is behind, and what its writer has written.
struct BehindWriter {
    behind: Behind,
    /// Transactions in all.
    written: f64,
    /// How long ago the writer was seen.
    age: Duration,
}

/// The part of a time by which a duration has grown; `None`: it is not known, or has begun anew.
fn share(before: Option<Duration>, now: Option<Duration>, step: Duration) -> Option<f64> {
    let grown = now?.checked_sub(before?)?;
    Some((grown.as_secs_f64() / step.as_secs_f64()).min(1.0))
}

#[cfg(test)]
mod tests {
    use shardwright_rules::throttle::SignalSource;

    use super::*;

    fn at_transaction(number: u64) -> Option<Positions> {
        Positions::parse(&format!("0-1-{number}"))
    }

    /// A writer of 800 transactions a second and a replica that applies 400, seen every 100 ms for three seconds.
    fn writer_and_replica(begin: Instant, by_heartbeat: bool) -> (MeasuredServer, MeasuredServer) {
        let (mut writer, mut replica) = (MeasuredServer::default(), MeasuredServer::default());
        for look in 0..=30 {
            let at = begin + Duration::from_millis(100) * look;
            let number = u64::from(look) * 40 + 1;
            writer.saw(
                at,
                Measures {
                    written: at_transaction(2 * number),
                    ..Measures::default()
                },
            );
            replica.saw(
                at,
                Measures {
                    lag_ms: Some(7_000),
                    by_heartbeat,
                    applied: at_transaction(number),
                    ..Measures::default()
                },
            );
            // Two throttles ask for each look.
            for _ in 0..2 {
                let behind = replica.behind(&writer, at);
                replica.lag(behind, None, at);
            }
        }
        (writer, replica)
    }

    #[test]
    fn what_waits_on_a_replica_says_how_fast_writers_may_write() {
        let signal = Signal {
            source: SignalSource::ReplicationLag,
            start_above: 3000.0.into(),
            stop_below: 1000.0.into(),
        };
        for (by_heartbeat, lag_ms) in [(false, 1500.0), (true, 7000.0)] {
            let begin = Instant::now();
            let (writer, mut replica) = writer_and_replica(begin, by_heartbeat);
            let now = begin + Duration::from_millis(3020);
            let behind = replica.behind(&writer, now);
            let reading = replica.lag(behind, Some(&signal), now);
            let Reading::Known {
                value,
                outlook: Some(outlook),
                pace: Some(pace),
            } = reading
            else {
                panic!("{reading:?}");
            };
            assert!((value - lag_ms).abs() < 10.0, "{value}");
            assert!((outlook - 3000.0).abs() < 10.0, "{outlook}");
            // A quarter of its speed: twice as much waits as should.
            assert!((pace.may_per_s - 100.0).abs() < 1.0, "{pace:?}");
            assert_eq!((pace.written, pace.age), (2402.0, Duration::from_millis(20)));
        }
    }

    #[test]
    fn a_replica_that_says_no_lag_says_nothing() {
        let begin = Instant::now();
        let (writer, mut replica) = writer_and_replica(begin, false);
        let now = begin + Duration::from_millis(3100);
        let applied = at_transaction(1201);
        replica.saw(
            now,
            Measures {
                applied,
                ..Measures::default()
            },
        );
        let behind = replica.behind(&writer, now);
        assert_eq!(replica.lag(behind, None, now), Reading::Unknown);
        // Nobody has looked for some seconds.
        let (writer, mut replica) = writer_and_replica(begin, false);
        let late = begin + Duration::from_secs(3) + FRESH_FOR;
        let behind = replica.behind(&writer, late);
        assert_eq!(replica.lag(behind, None, late), Reading::Unknown);
    }
}
