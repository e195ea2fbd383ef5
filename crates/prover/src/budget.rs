//! What one comparison may cost, counted in steps and bytes so that the answer is the same on every machine.
//!
//! One step is about the work of a look-up in a hash table. Larger units of work are charged as several steps. Time is
//! never measured: a slow machine takes longer for the same answer.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

/// One part in so many is granted for the last search.
const LAST_PART: u64 = 8;

/// A bound on work and on memory. The last search for a difference may take an eighth of it in addition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Steps of work.
    pub steps: u64,
    /// Bytes of what is kept.
    pub bytes: u64,
}

impl Default for Budget {
    /// At most ten seconds and 1 GiB on the machine of `docs/prove.md`.
    fn default() -> Self {
        Self {
            steps: 150_000_000,
            bytes: 768 << 20,
        }
    }
}

impl Budget {
    /// The default so many times.
    #[must_use]
    pub fn times(factor: u32) -> Self {
        let Self { steps, bytes } = Self::default();
        Self {
            steps: steps.saturating_mul(factor.into()),
            bytes: bytes.saturating_mul(factor.into()),
        }
    }

    /// One of so many parts of the default.
    #[must_use]
    pub fn part(parts: u32) -> Self {
        let Self { steps, bytes } = Self::default();
        Self {
            steps: steps / u64::from(parts.max(1)),
            bytes,
        }
    }

    /// How often the default fits in, at least once.
    pub(crate) fn factor(&self) -> usize {
        let factor = (self.steps / Self::default().steps).clamp(1, 1 << 16);
        factor as usize
    }
}

/// What work is done for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cause {
    /// Nothing that can be named.
    Whole,
    /// The rule of a configuration, by its position.
    Rule {
        /// 0 for the first configuration, 1 for the second.
        side: usize,
        /// Among its rules.
        position: usize,
    },
    /// The pattern with this text.
    Pattern(String),
}

/// The budget is spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spent;

/// A budget and what has been spent of it, by cause.
#[derive(Debug)]
pub(crate) struct Spending {
    budget: Budget,
    /// What may be spent for now.
    limit: Cell<Budget>,
    steps: Cell<u64>,
    bytes: Cell<u64>,
    cause: RefCell<Cause>,
    /// When the work for the present cause began.
    since: Cell<u64>,
    by_cause: RefCell<BTreeMap<Cause, u64>>,
}

impl Spending {
    pub(crate) fn of(budget: Budget) -> Self {
        Self {
            budget,
            limit: Cell::new(budget),
            steps: Cell::new(0),
            bytes: Cell::new(0),
            cause: RefCell::new(Cause::Whole),
            since: Cell::new(0),
            by_cause: RefCell::default(),
        }
    }

    pub(crate) fn budget(&self) -> Budget {
        self.budget
    }

    /// What follows may take one of so many parts of the budget, as far as there is one left.
    pub(crate) fn allow_part(&self, parts: u64) {
        let Budget { steps, bytes } = self.budget;
        self.limit.set(Budget {
            steps: self.steps.get().saturating_add(steps / parts).min(steps),
            bytes: self.bytes.get().saturating_add(bytes / parts).min(bytes),
        });
    }

    /// What follows may take all that is left.
    pub(crate) fn allow_all(&self) {
        self.limit.set(self.budget);
    }

    /// Grants a part of the budget once more, for a last search when all of it is spent.
    pub(crate) fn grant_last(&self) {
        let Budget { steps, bytes } = self.budget;
        self.limit.set(Budget {
            steps: self.steps.get().max(steps).saturating_add(steps / LAST_PART),
            bytes: self.bytes.get().max(bytes).saturating_add(bytes / LAST_PART),
        });
    }

    /// Nothing is kept of what has been charged so far.
    pub(crate) fn release(&self) {
        self.bytes.set(0);
    }

    /// What has been spent so far does not count.
    pub(crate) fn forget(&self) {
        self.steps.set(0);
        self.bytes.set(0);
        self.since.set(0);
    }

    /// What has been spent.
    pub(crate) fn spent(&self) -> Budget {
        Budget {
            steps: self.steps.get(),
            bytes: self.bytes.get(),
        }
    }

    /// Charges what follows to a cause; gives the cause before it.
    pub(crate) fn charge_to(&self, cause: Cause) -> Cause {
        self.settle();
        self.cause.replace(cause)
    }

    fn settle(&self) {
        let steps = self.steps.get() - self.since.replace(self.steps.get());
        if steps > 0 {
            *self
                .by_cause
                .borrow_mut()
                .entry(self.cause.borrow().clone())
                .or_insert(0) += steps;
        }
    }

    /// # Errors
    /// When there is nothing left.
    pub(crate) fn steps(&self, steps: u64) -> Result<(), Spent> {
        self.steps.set(self.steps.get().saturating_add(steps));
        self.check()
    }

    /// # Errors
    /// When there is nothing left.
    pub(crate) fn bytes(&self, bytes: u64) -> Result<(), Spent> {
        self.bytes.set(self.bytes.get().saturating_add(bytes));
        self.check()
    }

    /// # Errors
    /// When there is nothing left.
    pub(crate) fn check(&self) -> Result<(), Spent> {
        let limit = self.limit.get();
        let within = self.steps.get() <= limit.steps && self.bytes.get() <= limit.bytes;
        if within { Ok(()) } else { Err(Spent) }
    }

    /// What the most was spent on.
    pub(crate) fn costliest(&self) -> Cause {
        self.settle();
        let by_cause = self.by_cause.borrow();
        let most = by_cause
            .iter()
            .filter(|(cause, _)| **cause != Cause::Whole)
            .max_by_key(|(_, steps)| **steps);
        most.map_or(Cause::Whole, |(cause, _)| cause.clone())
    }
}
