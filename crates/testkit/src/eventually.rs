//! Waiting for a condition with a deadline, in place of waiting for a time.

use std::thread;
use std::time::{Duration, Instant};

/// The condition did not come true in time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("nothing after {waited:?} and {polls} polls")]
pub struct DeadlineExceeded {
    /// Time from the first poll to the last.
    pub waited: Duration,
    /// How often the condition was asked.
    pub polls: u32,
}

/// Polls `condition` until it gives a value or `deadline` has passed; asks at least once.
///
/// The pause between polls grows from 1 ms to 20 ms, so that what is ready at once costs nothing and a long wait
/// leaves the processor to what is waited for.
///
/// # Errors
/// [`DeadlineExceeded`] when the condition gave nothing in time.
pub fn poll_until<T>(
    deadline: Duration,
    mut condition: impl FnMut() -> Option<T>,
) -> Result<T, DeadlineExceeded> {
    let start = Instant::now();
    let mut pause = Duration::from_millis(1);
    let mut polls = 0;
    loop {
        polls += 1;
        if let Some(value) = condition() {
            return Ok(value);
        }
        let waited = start.elapsed();
        if waited >= deadline {
            return Err(DeadlineExceeded { waited, polls });
        }
        thread::sleep(pause.min(deadline - waited));
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

/// Polls `condition` until it is true.
///
/// # Panics
/// When `deadline` passes first; the message says where it was called.
#[track_caller]
pub fn eventually(deadline: Duration, mut condition: impl FnMut() -> bool) {
    if let Err(exceeded) = poll_until(deadline, || condition().then_some(())) {
        panic!("condition stayed false: {exceeded}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_that_is_true_at_once_is_asked_once() {
        let mut asked = 0;
        eventually(Duration::ZERO, || {
            asked += 1;
            true
        });
        assert_eq!(asked, 1);
    }

    #[test]
    fn the_value_of_the_first_poll_that_has_one_is_given() {
        let mut polls = 0;
        let value = poll_until(Duration::from_secs(60), || {
            polls += 1;
            (polls == 4).then_some(polls * 10)
        });
        assert_eq!(value, Ok(40));
    }

    #[test]
    fn a_deadline_ends_the_wait() {
        let exceeded = poll_until(Duration::from_millis(5), || None::<()>).unwrap_err();
        assert!(exceeded.waited >= Duration::from_millis(5));
        assert!(exceeded.polls >= 2);
    }
}
