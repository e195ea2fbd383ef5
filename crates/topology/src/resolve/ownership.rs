//! SW340: what `manage` leaves to others must be known by the numbers that others gave it.

use shardwright_diagnostics::Diagnostic;

use crate::codes::OF_OTHERS;
use crate::model::{Cluster, EngineName, Managed, ProjectFile, Topology};
use crate::tree::context::Context;

/// Clusters of others need pinned hostgroups: rules lead there, and nothing of ours fills a number that we would choose.
pub(crate) fn check(file: &ProjectFile, topology: &Topology, context: &mut Context<'_>) {
    let Managed::Listed(ours) = &file.manage.clusters else {
        return;
    };
    if file
        .engines
        .iter()
        .all(|engine| engine.name == EngineName::Bundled)
    {
        return;
    }
    let of_others = |cluster: &&Cluster| ours.iter().all(|pattern| !pattern.matches(&cluster.name));
    for cluster in topology.clusters.iter().filter(of_others) {
        let missing = missing(cluster);
        if missing.is_empty() {
            continue;
        }
        let message = format!(
            "`manage.clusters` leaves {} to others, but its {} hostgroup{} not given",
            cluster.name,
            missing.join(", "),
            if missing.len() == 1 { " is" } else { "s are" }
        );
        let pins: Vec<String> = missing.iter().map(|role| format!("{role}: NUMBER")).collect();
        let diagnostic = Diagnostic::error(OF_OTHERS, message)
            .at(context.origins.span(cluster.origin), "")
            .help(format!(
                "write the numbers that the proxy uses: `hostgroups: {{{}}}`, or add {} to `manage.clusters`",
                pins.join(", "),
                cluster.name
            ));
        context.report.push(diagnostic);
    }
}

/// The hostgroups that rules can lead to and that have no pin.
fn missing(cluster: &Cluster) -> Vec<&'static str> {
    let pins = &cluster.hostgroups;
    let reads = cluster.kind.has_roles();
    let needed = [("writer", pins.writer, true), ("reader", pins.reader, reads)];
    let missing = needed
        .into_iter()
        .filter(|(_, pin, needed)| *needed && pin.is_none());
    missing.map(|(role, ..)| role).collect()
}
