//! Unix sockets in the place of TCP: to the clients, to the server, or both.

use super::checks::Check;
use super::samples::by_round;
use super::stage::{Cores, Stage};
use super::targets::DIRECT;
use super::turns::sysbench;
use super::{Outcome, Row};
use crate::BenchError;
use crate::sysbench::Load;

pub(super) const CELLS: Row = Row {
    name: "sockets",
    about: "point select, 1 connection on one core, by TCP and by unix sockets on either side of the bundled proxy",
    unit: "statement",
    measure,
};

const DIRECT_BY_SOCKET: &str = "direct, unix";
/// Names, and which sides are unix sockets: that of the clients, that of the server.
const SIDES: [(&str, bool, bool); 4] = [
    ("TCP, TCP", false, false),
    ("unix, TCP", true, false),
    ("TCP, unix", false, true),
    ("unix, unix", true, true),
];

fn measure(stage: &Stage<'_>) -> Result<Outcome, BenchError> {
    let server = stage.server(Cores::One, 1, 1_000)?;
    let direct = stage.direct(&server).named(DIRECT_BY_SOCKET);
    let mut targets = vec![stage.direct(&server), direct.by_socket(server.maria.socket())];
    for (name, of_clients, of_server) in SIDES {
        let target = stage.shardwright_by_sockets(&server, of_clients, of_server)?;
        targets.push(target.named(name));
    }
    let samples = stage.turns(&server, &targets, sysbench(&server.client, &Load::text()))?;
    let checks = SIDES.map(|(name, of_clients, _)| {
        let base = if of_clients { DIRECT_BY_SOCKET } else { DIRECT };
        let added = by_round(&samples, |round| round.added_us(name, base));
        Check::of(format!("{name}: added to {base}, µs"), added)
    });
    Ok(Outcome {
        samples,
        checks: checks.into(),
    })
}
