//! Throttles: fixed delays on every engine; signals, ranges of delays and limits on the bundled one.

use std::sync::Arc;

use shardwright_diagnostics::Severity;
use shardwright_rules::throttle::{Signal, SignalSource, THREADS_RUNNING};
use shardwright_rules::{EngineId, Throttle};
use shardwright_topology::model::{self as model, Delay, OnUnsupported, RolesBy, Topology};

use super::{Effect, Section, scope};
use crate::diagnostics::{APPROXIMATED, Diagnostics, SupportedBy, Unsupported};

/// What an engine makes of a throttle; `None`: nothing.
pub(super) fn section(
    topology: &Topology,
    throttle: &model::Throttle,
    report: &mut Diagnostics<'_>,
) -> Option<Section<Effect>> {
    if throttle.ended {
        return None;
    }
    let effect = match report.engine {
        EngineId::Bundled => bundled(topology, throttle, report),
        EngineId::Proxysql27 | EngineId::Proxysql30 => proxysql(throttle, report),
    }?;
    let origin = throttle.origin;
    Some(Section {
        origin,
        address: report.address(origin),
        scope: scope::scope(&throttle.applies_to, origin, "applies_to", report),
        on_unsupported: throttle.on_unsupported,
        step: effect,
    })
}

fn bundled(topology: &Topology, throttle: &model::Throttle, report: &mut Diagnostics<'_>) -> Option<Effect> {
    let mut signal = None;
    if let Some(written) = &throttle.signal {
        let source = source(&written.source);
        match measurable(topology, throttle, &source, report) {
            Measured::Somewhere => {
                signal = Some(Signal {
                    source,
                    start_above: written.levels.start_above.into(),
                    stop_below: written.levels.stop_below.into(),
                });
            }
            Measured::Statically => {}
            Measured::Never => return None,
        }
    }
    let (from_ms, to_ms) = match (throttle.delay, &signal) {
        (Delay::Range { from_ms, to_ms }, Some(_)) => (from_ms, to_ms),
        (delay, _) => (least_ms(delay), least_ms(delay)),
    };
    let effect = Throttle {
        from_ms: bounded(from_ms),
        to_ms: bounded(to_ms),
        hold_ms: signal.as_ref().map_or(0, |_| bounded(throttle.hold_ms)),
        on_unknown: throttle.on_unknown,
        max_concurrent: throttle.max_concurrent,
        ends_at_s: throttle.ends_at_s,
        signal,
    };
    let is_fixed = effect.signal.is_none() && effect.max_concurrent.is_none() && effect.ends_at_s.is_none();
    match is_fixed {
        true => (effect.from_ms > 0).then_some(Effect::Delay(effect.from_ms)),
        false => Some(Effect::Throttle(Arc::new(effect))),
    }
}

/// What ProxySQL has: the least delay, always.
fn proxysql(throttle: &model::Throttle, report: &mut Diagnostics<'_>) -> Option<Effect> {
    let origin = throttle.origin;
    let mut keep = true;
    if let Some(signal) = &throttle.signal {
        let lost = lost_without(&source(&signal.source), throttle);
        keep &= report.on_unsupported(
            throttle.on_unsupported,
            Unsupported {
                origin,
                field: "signal",
                what: "regulate a delay by a signal",
                lost: &lost,
                who: SupportedBy::Bundled,
            },
        );
    }
    if throttle.max_concurrent.is_some() {
        report.on_unsupported(
            throttle.on_unsupported,
            Unsupported {
                origin,
                field: "max_concurrent",
                what: "limit how many statements run at once",
                lost: "any number of these statements run at once",
                who: SupportedBy::Bundled,
            },
        );
    }
    let delay_ms = bounded(least_ms(throttle.delay));
    (keep && delay_ms > 0).then_some(Effect::Delay(delay_ms))
}

fn least_ms(delay: Delay) -> u64 {
    match delay {
        Delay::Fixed { ms } => ms,
        Delay::Range { from_ms, .. } => from_ms,
    }
}

fn bounded(ms: u64) -> u32 {
    u32::try_from(ms).unwrap_or(u32::MAX)
}

fn source(source: &model::SignalSource) -> SignalSource {
    match source {
        model::SignalSource::ReplicationLag => SignalSource::ReplicationLag,
        model::SignalSource::ThreadsRunning => SignalSource::Status(THREADS_RUNNING.to_owned()),
        model::SignalSource::Status(name) => SignalSource::Status(name.to_string()),
        model::SignalSource::FlowControl => SignalSource::FlowControl,
    }
}

/// Where the signal of a throttle is measured.
enum Measured {
    /// In a cluster of the throttle.
    Somewhere,
    /// Nowhere, and the least delay stands for it.
    Statically,
    /// Nowhere, so there is no throttle.
    Never,
}

/// Whether the bundled engine measures the signal in the clusters that a throttle is about.
fn measurable(
    topology: &Topology,
    throttle: &model::Throttle,
    source: &SignalSource,
    report: &mut Diagnostics<'_>,
) -> Measured {
    let clusters = || {
        let clusters = topology.clusters.iter();
        clusters.filter(|cluster| throttle.applies_to.clusters.contains(&cluster.name))
    };
    let is_watched =
        |cluster: &model::Cluster| topology.monitor.is_some() && cluster.roles_by == RolesBy::Engine;
    let without: Vec<&str> = clusters()
        .filter(|cluster| !is_watched(cluster) || !has(cluster, source))
        .map(|cluster| &*cluster.name)
        .collect();
    let origin = throttle.origin;
    if without.len() < clusters().count() {
        if !without.is_empty() {
            let message = format!(
                "bundled does not measure {} of {}: the throttle never starts there",
                source.name(),
                listed(&without)
            );
            report.add(Severity::Info, APPROXIMATED, origin, "signal", message);
        }
        return Measured::Somewhere;
    }
    let remedy = match (&topology.monitor, source) {
        (None, _) => "write a `monitor` section, whose account measures it",
        _ if !clusters().any(is_watched) => "write `roles_by: engine` for the cluster, so that it is watched",
        (_, SignalSource::FlowControl) => "only clusters of type galera have flow control",
        _ => "the cluster has no replicas that say how far they are behind",
    };
    let what = format!("measure {}", source.name());
    let lost = lost_without(source, throttle);
    let is_static = report.on_unsupported(
        throttle.on_unsupported,
        Unsupported {
            origin,
            field: "signal",
            what: &what,
            lost: &lost,
            who: SupportedBy::When(remedy),
        },
    );
    match is_static {
        true => Measured::Statically,
        false => Measured::Never,
    }
}

/// Whether servers of such a cluster have the signal.
fn has(cluster: &model::Cluster, source: &SignalSource) -> bool {
    match source {
        SignalSource::Status(_) => true,
        SignalSource::ReplicationLag => {
            matches!(cluster.kind, model::ClusterKind::Replication { .. }) && cluster.servers.len() > 1
        }
        SignalSource::FlowControl => cluster.kind == model::ClusterKind::Galera,
    }
}

/// Some names; more are counted.
fn listed(names: &[&str]) -> String {
    const SHOWN: usize = 3;
    match names.len() {
        0..=SHOWN => names.join(", "),
        count => format!(
            "{} and {} more clusters",
            names[..SHOWN].join(", "),
            count - SHOWN
        ),
    }
}

/// What the static form of a regulated throttle does not do.
fn lost_without(source: &SignalSource, throttle: &model::Throttle) -> String {
    if throttle.on_unsupported == OnUnsupported::Skip {
        return "statements are not slowed".to_owned();
    }
    let name = source.name();
    match throttle.delay {
        Delay::Fixed { ms } => format!("statements always wait {ms} ms, whatever {name} says"),
        Delay::Range { from_ms: 0, to_ms } => {
            format!(
                "statements are not slowed, whatever {name} says: the least delay is 0 ms, and {to_ms} ms is never reached"
            )
        }
        Delay::Range { from_ms, to_ms } => {
            format!(
                "statements always wait {from_ms} ms, whatever {name} says, and {to_ms} ms is never reached"
            )
        }
    }
}
