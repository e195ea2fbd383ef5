//! What is wrong with this proxy now, and what to do.

use shardwright_rules::Role;

use super::rows::{Rows, text};
use crate::checks::lacks_writer;
use crate::control::WAITING;
use crate::shared::Shared;
use crate::stats::WorkerFigures;

/// An object of the topology or `data_dir`, and what is wrong with it.
pub(super) const COLUMNS: &[&str] = &["address VARCHAR", "problem VARCHAR"];

pub(super) fn rows(shared: &Shared, _: &[WorkerFigures]) -> Rows {
    let control = &shared.control;
    let mut problems = Vec::new();
    if control.is_waiting() {
        problems.push((
            "data_dir".to_owned(),
            format!("{WAITING}; clients are not served"),
        ));
    }
    let damage = control.damage().into_iter();
    problems.extend(damage.map(|damage| ("data_dir".to_owned(), damage)));
    let snapshot = control.snapshot().load_full();
    for cluster in &snapshot.configuration.clusters {
        // Until every server was looked at, nothing is wrong.
        let Some(roles) = control.knowledge.roles(&cluster.address) else {
            continue;
        };
        if lacks_writer(shared, &snapshot, cluster) {
            let whys = roles.whys(Role::Writer);
            problems.push((
                cluster.address.to_string(),
                format!("no server takes writes: {whys}"),
            ));
        }
    }
    let row = |(address, problem): (String, String)| vec![text(address), text(problem)];
    problems.into_iter().map(row).collect()
}
