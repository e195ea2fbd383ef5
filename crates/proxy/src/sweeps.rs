//! The time, for all workers: one timer tells them to look at it.
//!
//! A worker that had a timer of its own would give every wait for its sockets a limit, several times for each statement: the
//! system sets an alarm then, and takes it away again. Now a worker has timers only while a session waits for one.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};

use crate::shared::{Phase, Shared};
use crate::worker_handle::WorkerHandle;

/// How exact idle timeouts are.
const SWEEP: Duration = Duration::from_millis(250);

/// Has workers look at the time until the proxy stops.
pub(crate) async fn run(shared: Arc<Shared>) {
    let mut ticks = interval(SWEEP);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while shared.phase() != Phase::Stopping {
        ticks.tick().await;
        shared.workers().iter().for_each(WorkerHandle::sweep);
    }
}
