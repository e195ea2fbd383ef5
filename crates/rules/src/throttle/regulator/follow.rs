//! The delay at which writers keep a pace.
//!
//! # Idea
//!
//! Clients that wait for nothing else write half as much when the delay doubles. Others write more than half: what they wait by
//! themselves stays. So the delay that they had in a time is multiplied by how much more they have written in that time than they
//! may, to a power above 1. The step is taken anew at each look from the delay that writers had, not from the last
//! step: what they write now answers earlier delays, and steps that are added up would answer it twice.
//!
//! The time is long enough for some transactions, and for statements that were delayed by what was the delay before.
//!
//! # Example
//!
//! Writers have written 800 a second at a delay of 4 ms, and may write 400: 4 ms × 2^1.5 = 11 ms.

use std::collections::VecDeque;
use std::time::Duration;

use crate::throttle::Pace;

/// The shortest and the longest time over which writing is measured.
const WINDOW_S: [f64; 2] = [0.5, 3.0];
/// Transactions that are enough to say how fast writers write.
const ENOUGH: f64 = 10.0;
/// The time is so many delays at least.
const DELAYS: f64 = 1.5;
/// How strongly the delay answers.
const POWER: f64 = 1.5;
/// Writers that write nothing in a time write less than this, transactions in a second.
const LEAST_PER_S: f64 = 0.5;

/// What was written under which delays.
#[derive(Clone, Debug, Default)]
pub(super) struct Follow {
    steps: VecDeque<Step>,
}

#[derive(Clone, Copy, Debug)]
struct Step {
    at_s: f64,
    /// When the writer was seen.
    seen_s: f64,
    written: f64,
    /// The logarithm of the delay until then, ms.
    delay: f64,
}

/// Where the delay should be.
pub(super) struct Target {
    /// The logarithm of the delay, ms.
    pub(super) delay: f64,
    /// The time since the last look.
    pub(super) step_s: f64,
}

impl Follow {
    /// Takes up how fast writers write. `delay`: the logarithm of the one that they have had since the last look, ms. `None`: they
    /// have not been seen for long enough.
    pub(super) fn target(&mut self, at: Duration, pace: &Pace, delay: f64) -> Option<Target> {
        let at_s = at.as_secs_f64();
        let now = Step {
            at_s,
            seen_s: at_s - pace.age.as_secs_f64(),
            written: pace.written,
            delay,
        };
        if self.steps.back().is_some_and(|last| last.written > now.written) {
            // Another server writes, or its numbers begin anew.
            self.steps.clear();
        }
        let before_s = self.steps.back().map(|last| last.at_s);
        self.steps.push_back(now);
        while self
            .steps
            .get(1)
            .is_some_and(|second| now.seen_s - second.seen_s >= WINDOW_S[1])
        {
            self.steps.pop_front();
        }
        let first = self.first(&now)?;
        let written = now.written - self.steps[first].written;
        let written_per_s = written / (now.seen_s - self.steps[first].seen_s);
        let excess = written_per_s.max(LEAST_PER_S) / pace.may_per_s.max(LEAST_PER_S);
        Some(Target {
            delay: self.mean_delay(first) + POWER * excess.ln(),
            step_s: (at_s - before_s?).min(WINDOW_S[0]),
        })
    }

    /// The step since which writing is measured: the last that is long enough ago. As long as there is none, the first one is, if
    /// enough was written since or some time has passed.
    fn first(&self, now: &Step) -> Option<usize> {
        let shortest_s = WINDOW_S[0].max(DELAYS * now.delay.exp() / 1000.0);
        let passed_s = |step: &Step| now.seen_s - step.seen_s;
        let is_enough = |step: &Step| now.written - step.written >= ENOUGH;
        let steps = self.steps.iter().enumerate().rev();
        let long = steps
            .filter(|(_, step)| passed_s(step) >= shortest_s && is_enough(step))
            .map(|(at, _)| at)
            .next();
        long.or_else(|| {
            let first = self.steps.front()?;
            let is_seen = passed_s(first) >= WINDOW_S[0] || (passed_s(first) > 0.0 && is_enough(first));
            is_seen.then_some(0)
        })
    }

    /// The mean of the delays since a step.
    fn mean_delay(&self, first: usize) -> f64 {
        let (mut sum, mut time_s) = (0.0, 0.0);
        for at in first + 1..self.steps.len() {
            let step_s = self.steps[at].at_s - self.steps[at - 1].at_s;
            sum += self.steps[at].delay * step_s;
            time_s += step_s;
        }
        if time_s > 0.0 {
            sum / time_s
        } else {
            self.steps[self.steps.len() - 1].delay
        }
    }
}
