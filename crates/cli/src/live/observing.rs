//! Targets asked side by side: one after the other, a fleet would take minutes.

use std::panic::resume_unwind;
use std::thread::{self, JoinHandle};

use shardwright_plan::{Observed, TargetError};

use super::Live;

/// Targets that are asked at a time.
const AT_A_TIME: usize = 16;

/// What was observed of a target, or why nothing was.
pub(super) type Observation = Result<Observed, TargetError>;

/// Asks each of them, some at a time; the answers in their order.
pub(crate) fn side_by_side<T: Send, R: Send>(
    asked: impl IntoIterator<Item = T>,
    ask: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    let mut answers = Vec::new();
    let mut asked = asked.into_iter().peekable();
    while asked.peek().is_some() {
        thread::scope(|scope| {
            let some = asked.by_ref().take(AT_A_TIME);
            let threads: Vec<_> = some.map(|one| scope.spawn(|| ask(one))).collect();
            let joined = threads.into_iter().map(thread::ScopedJoinHandle::join);
            answers.extend(joined.map(|answer| answer.unwrap_or_else(|panic| resume_unwind(panic))));
        });
    }
    answers
}

/// Targets that are being observed, while the project is compiled.
pub(super) struct Observing(JoinHandle<(Vec<Live>, Vec<Observation>)>);

impl Observing {
    /// Begins to observe them.
    pub(super) fn begin(mut live: Vec<Live>) -> Self {
        Self(thread::spawn(move || {
            let observations = side_by_side(&mut live, |live| live.target().observe());
            (live, observations)
        }))
    }

    /// The targets, and what was observed of each.
    pub(super) fn end(self) -> (Vec<Live>, Vec<Observation>) {
        self.0.join().unwrap_or_else(|panic| resume_unwind(panic))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_come_in_the_order_of_what_was_asked() {
        let numbers = 0..3 * AT_A_TIME + 1;
        let answers = side_by_side(numbers.clone(), |number| number * 2);
        assert_eq!(answers, numbers.map(|number| number * 2).collect::<Vec<_>>());
    }
}
