//! What clients learn of a refusal by hostgroup.

use shardwright_diagnostics::{Diagnostic, Severity};
use shardwright_rules::{Refuser, RefusingHostgroup};
use shardwright_topology::model::Topology;

use crate::report::{Report, UNHEARD};

/// Annotations are refused when they are prepared; only maps refuse what has passed then.
fn refuses_keys(hostgroup: &RefusingHostgroup) -> bool {
    hostgroup.address.as_str().starts_with("shard_maps.")
}

/// Says, once, that the admin port refuses without the reason.
pub(crate) fn unheard(topology: &Topology, refusing: &[RefusingHostgroup], report: &mut Report<'_>) {
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
    let diagnostic = Diagnostic::new(Severity::Info, UNHEARD, message)
        .note(format!("one of the reasons: {}", first.reason))
        .help(
            "run `shardwright refuse` beside ProxySQL and name it: \
             engine_settings: {proxysql: {refuser: {host: 127.0.0.1, port: 6100}}}",
        );
    report.problems.push(match topology.refuser().1 {
        Some(settings) => report.located(settings, "refuser", diagnostic),
        None => diagnostic,
    });
}
