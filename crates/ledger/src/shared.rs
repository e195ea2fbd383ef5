//! What clients and their owner share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::answers::{Answer, ErrorKind};
use crate::load::Load;
use crate::told::{Acknowledged, Told};

/// What clients and their owner share.
pub(crate) struct Shared {
    pub(crate) load: Load,
    pub(crate) began: Instant,
    pub(crate) is_over: AtomicBool,
    pub(crate) told: Mutex<Told>,
}

impl Shared {
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Waits, but not longer than the run.
    pub(crate) fn pause(&self, pause: Duration) {
        const STEP: Duration = Duration::from_millis(50);
        let until = Instant::now() + pause;
        while !self.is_over() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            std::thread::sleep(left.min(STEP));
        }
    }

    pub(crate) fn not_sent(&self, (code, message): (u16, String)) {
        let now = self.began.elapsed();
        self.told().error(ErrorKind::NotSent, code, message, now);
    }

    pub(crate) fn answered(&self, number: u64, sent: Instant, answer: Answer) {
        let now = self.began.elapsed();
        let mut told = self.told();
        match answer {
            Answer::Acknowledged => told.acknowledged.push(Acknowledged {
                number,
                sent,
                at: Instant::now(),
            }),
            Answer::Refused(code, message) => {
                told.refused.push(number);
                told.error(ErrorKind::Refused, code, message, now);
            }
            Answer::Unknown(code, message) => {
                told.unknown.push(number);
                told.error(ErrorKind::Unknown, code, message, now);
            }
        }
    }

    pub(crate) fn told(&self) -> MutexGuard<'_, Told> {
        // Nothing that holds it can fail half-way.
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
