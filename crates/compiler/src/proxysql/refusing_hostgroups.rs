//! Hostgroups that refuse executions of prepared statements: their numbers, their servers, and what clients learn of them.

use std::collections::BTreeSet;

use shardwright_diagnostics::{Diagnostic, Severity};
use shardwright_ids::{Lock, Probe};
use shardwright_rules::{HostgroupId, Refuser, RefusingHostgroup};
use shardwright_topology::model::{self as model, IdRanges, Topology};

use crate::diagnostics::{Diagnostics, NUMBERS, SILENT_REFUSAL};
use crate::engine_rules::Reason;
use crate::program::Program;

/// Annotations are refused when they are prepared; only maps refuse what has passed then.
fn refuses_keys(hostgroup: &RefusingHostgroup) -> bool {
    hostgroup.address.as_str().starts_with("shard_maps.")
}

/// Says, once, that the admin port refuses without the reason.
pub(crate) fn report_silent_refusals(
    topology: &Topology,
    refusing: &[RefusingHostgroup],
    report: &mut Diagnostics<'_>,
) {
    let Some(first) = refusing
        .iter()
        .find(|hostgroup| hostgroup.refuser == Refuser::Admin && refuses_keys(hostgroup))
    else {
        return;
    };
    let message = format!(
        "on {}, a client whose prepared statement is refused when it runs gets error 1045 without the reason",
        report.engine
    );
    let diagnostic = Diagnostic::new(Severity::Info, SILENT_REFUSAL, message)
        .note(format!("one of the reasons: {}", first.reason))
        .help(
            "run `shardwright refuse` beside ProxySQL and configure it: engine_settings: {proxysql: {refuser: {host: 127.0.0.1, port: 6100}}}",
        );
    report.problems.push(match topology.refuser().1 {
        Some(settings) => report.located(settings, "refuser", diagnostic),
        None => diagnostic,
    });
}

/// Those that raw blocks write. A number is one hostgroup's.
pub(crate) fn written(program: &Program, report: &mut Diagnostics<'_>) -> Vec<RefusingHostgroup> {
    let mut taken: BTreeSet<HostgroupId> = program.hostgroups.iter().map(|hostgroup| hostgroup.id).collect();
    let mut written = Vec::new();
    for (origin, hostgroup) in program.blocks.iter().flat_map(|block| &block.refusing) {
        if taken.insert(hostgroup.id) {
            written.push(hostgroup.clone());
        } else {
            let message = format!(
                "hostgroup number {} is also the number of another hostgroup",
                hostgroup.id
            );
            report.error(NUMBERS, *origin, "hostgroup", message);
        }
    }
    written
}

/// Gives every reason a hostgroup, and the servers of `shardwright refuse` a port each.
pub(crate) fn hostgroups(
    reasons: &[Reason],
    topology: &Topology,
    ids: &IdRanges,
    taken: impl Iterator<Item = HostgroupId>,
    lock: &mut Lock,
    report: &mut Diagnostics<'_>,
) -> Vec<RefusingHostgroup> {
    let prefix = format!("refusals.{}.", report.engine);
    let before = lock.clone();
    lock.forget(&prefix);
    let mut numbers = Probe::new((&ids.hostgroups).into());
    for id in taken {
        numbers.take(id.0);
    }
    let mut ports = BTreeSet::new();
    let name = |reason: &Reason, what: &str| format!("{prefix}{}.{what}", reason.name);
    // All pinned numbers are taken before a new one is given.
    let pinned: Vec<(Option<u32>, Option<u32>)> = reasons
        .iter()
        .map(|reason| {
            let id = before
                .get(&name(reason, "hostgroup"))
                .filter(|&id| numbers.is_free(id));
            if let Some(id) = id {
                numbers.take(id);
            }
            let port = before
                .get(&name(reason, "port"))
                .filter(|&port| ports.insert(port));
            (id, port)
        })
        .collect();
    let mut refusing = Vec::with_capacity(reasons.len());
    for (reason, (id, port)) in reasons.iter().zip(pinned) {
        // Where none is left, 0 stands in for it: the error below ends the compilation.
        let id = id.or_else(|| numbers.give(&reason.name)).unwrap_or(0);
        let offset = port.unwrap_or_else(|| first_free(&mut ports));
        lock.set(name(reason, "hostgroup"), id);
        lock.set(name(reason, "port"), offset);
        let refuser = match topology.refuser().0 {
            model::Refuser::Admin => Refuser::Admin,
            model::Refuser::Service { .. } => Refuser::Service,
        };
        let server = u16::try_from(offset)
            .ok()
            .and_then(|nth| topology.refusing_server(nth));
        let (host, port) = server.unwrap_or_else(|| {
            let message = format!(
                "engine_settings.proxysql.refuser.port: {} ports are needed from it on, and the last port is 65535",
                offset + 1
            );
            report.exhausted(message);
            Default::default()
        });
        refusing.push(RefusingHostgroup {
            id: HostgroupId(id),
            address: reason.address.clone(),
            reason: reason.text.clone(),
            refuser,
            host: host.to_string(),
            port,
        });
    }
    if numbers.missing() > 0 {
        let message = format!(
            "ids.hostgroups {}-{} has {} numbers, {} too few for the hostgroups that refuse executions on {}",
            ids.hostgroups.start(),
            ids.hostgroups.end(),
            numbers.size(),
            numbers.missing(),
            report.engine
        );
        report.exhausted(message);
    }
    refusing
}

/// The lowest number that is not taken, which then is.
fn first_free(taken: &mut BTreeSet<u32>) -> u32 {
    let free = (0..).find(|number| taken.insert(*number));
    free.expect("a set of a few numbers leaves others")
}
