//! The time, for all workers: one timer tells them to look at it.
//!
//! A worker that had a timer of its own would give every wait for its sockets a limit, several times for each statement: the
//! system sets an alarm then, and takes it away again. Timers of sessions lie with the same thread; see
//! [`crate::clock`].

use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};

use crate::shared::Shared;
use crate::worker_handle::WorkerHandle;

/// How exact idle timeouts are.
const SWEEP: Duration = Duration::from_millis(250);

/// Has workers look at the time, also while the proxy stops.
pub(crate) async fn run(shared: &Shared) {
    let mut ticks = interval(SWEEP);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        shared.workers().iter().for_each(WorkerHandle::sweep);
    }
}
