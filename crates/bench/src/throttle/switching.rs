//! The loop of a shell script, which switches a delay on and off.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::beats::Beats;
use super::proxy::Throttling;
use super::{DELAYS_MS, START_S, STOP_S};
use crate::BenchError;

/// From one look to the next.
const LOOPS_EVERY: Duration = Duration::from_secs(2);
/// How soon it ends when the turn is over.
const STEP: Duration = Duration::from_millis(50);

/// Looks until the turn is over; how often the delay was changed. It sees the lag as this program measures it, which is finer than
/// what a script reads of a replica.
pub(super) fn run(throttling: &Throttling, beats: &Beats, is_over: &AtomicBool) -> Result<u64, BenchError> {
    let [least, most] = DELAYS_MS;
    let (mut delay_ms, mut changes) = (least, 0);
    let mut next = Instant::now() + LOOPS_EVERY;
    while !is_over.load(Ordering::Relaxed) {
        if Instant::now() < next {
            std::thread::sleep(STEP);
            continue;
        }
        let wanted = match beats.worst_lag_s() {
            lag_s if lag_s > START_S => most,
            lag_s if lag_s < STOP_S => least,
            _ => delay_ms,
        };
        if wanted != delay_ms {
            throttling.delay(wanted)?;
            (delay_ms, changes) = (wanted, changes + 1);
        }
        next = Instant::now() + LOOPS_EVERY;
    }
    Ok(changes)
}
