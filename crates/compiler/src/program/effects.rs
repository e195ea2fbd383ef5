//! Throttles, pooling exceptions, caches and mirrors: what happens to a statement besides where it goes.

mod throttle;

use std::sync::Arc;

use shardwright_rules::{EngineId, HostgroupId, NamePattern, Names, Role, Scope, Throttle};
use shardwright_topology::model::{self as model, ClusterId, Multiplex, OnUnsupported, OriginId, Topology};

use super::{Section, scope};
use crate::diagnostics::{Diagnostics, SupportedBy, Unsupported};

/// What an object does to the statements of its scope.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Effect {
    /// They wait so long, ms; the longest of several counts.
    Delay(u32),
    /// They wait as a signal or a limit asks for it.
    Throttle(Arc<Throttle>),
    /// They are killed after so long, ms.
    TimeLimit(u32),
    /// Their results are kept; the shortest time of several counts.
    Cache {
        /// ms
        ttl_ms: u32,
        /// Whether an empty result is kept.
        empty: bool,
    },
    /// Their connection is shared in another way; `never` counts most, then `ignore_sysvar_reads`.
    Multiplex(Multiplex),
    /// A copy is sent elsewhere; the last one written counts.
    Mirror {
        /// Where.
        hostgroup: HostgroupId,
        /// The share of statements, 1 to 100.
        percent: u32,
    },
}

/// Every effect that the engine can have, in the order in which later ones win over earlier ones.
pub(super) fn effects(
    topology: &Topology,
    hostgroup: &impl Fn(ClusterId, Role) -> HostgroupId,
    report: &mut Diagnostics<'_>,
) -> Vec<Section<Effect>> {
    let mut delays: Vec<_> = topology
        .throttles
        .iter()
        .filter_map(|throttle| throttle::section(topology, throttle, report))
        .collect();
    delays.sort_by_key(|delay| match delay.step {
        Effect::Delay(ms) => ms,
        _ => 0,
    });
    let mut caches: Vec<_> = topology
        .caches
        .iter()
        .filter_map(|one| cache(one, report))
        .collect();
    caches.sort_by_key(|cache| match cache.step {
        Effect::Cache { ttl_ms, .. } => std::cmp::Reverse(ttl_ms),
        _ => std::cmp::Reverse(0),
    });
    let mut exceptions: Vec<_> = topology
        .pooling_exceptions
        .iter()
        .filter_map(|exception| pooling(exception, report))
        .collect();
    exceptions.sort_by_key(|exception| match exception.step {
        Effect::Multiplex(Multiplex::Default) => 0,
        Effect::Multiplex(Multiplex::IgnoreSysvarReads) => 1,
        _ => 2,
    });
    let mirrors = topology
        .mirrors
        .iter()
        .filter_map(|one| mirror(one, hostgroup, report));
    let mirrors: Vec<_> = mirrors.collect();
    let limits: Vec<_> = topology
        .users
        .iter()
        .filter_map(|user| time_limit(user, report))
        .collect();
    [limits, delays, caches, exceptions, mirrors]
        .into_iter()
        .flatten()
        .collect()
}

/// How long statements of a user may take, for engines that know no such limit of users.
fn time_limit(user: &model::User, report: &Diagnostics<'_>) -> Option<Section<Effect>> {
    let limit_ms = user
        .statement_timeout_ms
        .filter(|_| report.engine != EngineId::Bundled)?;
    let users = Names {
        any_of: vec![NamePattern::new(user.name.clone())],
        ..Names::default()
    };
    Some(Section {
        origin: user.origin,
        address: report.address(user.origin),
        scope: Scope {
            users,
            ..Scope::default()
        },
        on_unsupported: OnUnsupported::Error,
        step: Effect::TimeLimit(limit_ms),
    })
}

fn only_proxysql<'u>(origin: OriginId, what: &'u str, lost: &'u str) -> Unsupported<'u> {
    Unsupported {
        origin,
        field: "",
        what,
        lost,
        who: SupportedBy::Proxysql,
    }
}

/// Whether the engine has what only ProxySQL has.
fn engine_has(choice: OnUnsupported, lacking: Unsupported<'_>, report: &mut Diagnostics<'_>) -> bool {
    if report.engine.is_proxysql() {
        return true;
    }
    report.on_unsupported(choice.without_approximation(), lacking)
}

fn cache(cache: &model::Cache, report: &mut Diagnostics<'_>) -> Option<Section<Effect>> {
    let lacking = only_proxysql(cache.origin, "keep results", "every statement goes to a server");
    engine_has(cache.on_unsupported, lacking, report).then(|| Section {
        origin: cache.origin,
        address: report.address(cache.origin),
        scope: scope::scope(&cache.matches, cache.origin, "match", report),
        on_unsupported: cache.on_unsupported,
        step: Effect::Cache {
            ttl_ms: cache.ttl_ms,
            empty: cache.cache_empty_result,
        },
    })
}

fn mirror(
    mirror: &model::Mirror,
    hostgroup: &impl Fn(ClusterId, Role) -> HostgroupId,
    report: &mut Diagnostics<'_>,
) -> Option<Section<Effect>> {
    let lacking = only_proxysql(
        mirror.origin,
        "send copies of statements to a second cluster",
        "no copy is sent",
    );
    if !engine_has(mirror.on_unsupported, lacking, report) {
        return None;
    }
    report.difference(
        mirror.origin,
        "",
        "executions of prepared statements are not copied, and a copy is dropped when the mirror queue is full",
    );
    Some(Section {
        origin: mirror.origin,
        address: report.address(mirror.origin),
        scope: scope::scope(&mirror.matches, mirror.origin, "match", report),
        on_unsupported: mirror.on_unsupported,
        step: Effect::Mirror {
            hostgroup: hostgroup(mirror.cluster, mirror.role),
            percent: mirror.percent,
        },
    })
}

fn pooling(exception: &model::PoolingException, report: &mut Diagnostics<'_>) -> Option<Section<Effect>> {
    let origin = exception.origin;
    match (report.engine, exception.multiplex) {
        (EngineId::Bundled, Multiplex::IgnoreSysvarReads) => {
            let what = "reading a system variable never keeps a connection, so this exception is not needed";
            report.difference(origin, "multiplex", what);
            return None;
        }
        (EngineId::Bundled, Multiplex::Default) => {
            let what = "after `never`, a connection stays with its session until the session ends";
            report.difference(origin, "multiplex", what);
            return None;
        }
        _ => {}
    }
    Some(Section {
        origin,
        address: report.address(origin),
        scope: scope::scope(&exception.matches, origin, "match", report),
        on_unsupported: exception.on_unsupported,
        step: Effect::Multiplex(exception.multiplex),
    })
}
