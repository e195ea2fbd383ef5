//! What is wrong with this proxy now, and what to do.

use shardwright_rules::Role;

use super::rows::{Rows, text};
use crate::checks::lacks_writer;
use crate::control::WAITING;
use crate::read_speed::WHOLE_SHARE;
use crate::shared::Shared;
use crate::snapshot::Snapshot;
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
    problems.extend(memory(shared));
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
    problems.extend(slow_readers(&snapshot));
    let row = |(address, problem): (String, String)| vec![text(address), text(problem)];
    problems.into_iter().map(row).collect()
}

/// Readers that get less than their share because they are slow.
fn slow_readers(snapshot: &Snapshot) -> impl Iterator<Item = (String, String)> {
    let hostgroups = snapshot.configuration.hostgroups.iter();
    let members = hostgroups.flat_map(|hostgroup| {
        let running = snapshot.hostgroups.get(&hostgroup.id);
        let running = running.into_iter().flat_map(|running| &running.members);
        hostgroup.members.iter().zip(running)
    });
    members.filter_map(|(member, running)| {
        let share = running.runtime.speed.share();
        let times = running.runtime.speed.times_slower()?;
        (share < WHOLE_SHARE).then(|| {
            let percent = share * 100 / WHOLE_SHARE;
            let problem = format!(
                "it gets {percent} % of its share of reads: it is {times:.0} times as slow as the other readers"
            );
            (member.server.to_string(), problem)
        })
    })
}

/// Clients wait because of what others hold.
fn memory(shared: &Shared) -> Option<(String, String)> {
    let figures = shared.budget.figures();
    let (used, limit) = (figures.used >> 20, figures.limit >> 20);
    (figures.waiting > 0).then(|| {
        let waiting = figures.waiting;
        let problem = format!(
            "clients hold {used} of {limit} MiB, and {waiting} wait for room: raise --max-memory, or see who sends large statements"
        );
        ("memory".to_owned(), problem)
    })
}
