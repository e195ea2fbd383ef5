//! What each kind of read usually takes, whichever server answers it.
//!
//! A table of fixed size, without keys: kinds that fall into one place share what is usual for them. That makes distances larger, for
//! all servers alike. A place takes 2 bytes: 13 bits of the mean in steps of [`super::evidence`], and 3 bits that count the
//! first reads, over which the mean is plain; then it follows the latest ones.

use std::cell::Cell;
use std::time::Duration;

use super::evidence::{STEPS, steps};

/// Places; a power of 2.
const PLACES: usize = 1024;
/// Reads until a mean counts.
const LEAST_READS: u16 = 2;
/// Of these, the last few make the mean.
const MOST_READS: u16 = 7;
/// The longest time of the scale, in steps.
const LONGEST: i32 = (1 << 13) - 1;
/// The farthest a read may be from the mean, in steps: one that takes for ever is no stronger evidence than one that takes 64 times
/// as long.
const FARTHEST: i32 = 6 * STEPS;

/// What each kind of read usually takes, as one worker sees it.
pub(crate) struct UsualTimes([Cell<u16>; PLACES]);

impl Default for UsualTimes {
    fn default() -> Self {
        Self([const { Cell::new(0) }; PLACES])
    }
}

impl UsualTimes {
    /// How far a read of this kind is from the usual, in steps; `None` where nothing is usual yet. It counts among the usual from
    /// now on.
    pub(crate) fn distance(&self, kind: u64, time: Duration) -> Option<i32> {
        let place = &self.0[kind as usize % PLACES];
        let known = place.get();
        let (mean, reads) = (i32::from(known >> 3), known & MOST_READS);
        let time = steps(time).min(LONGEST);
        let distance = (time - mean).clamp(-FARTHEST, FARTHEST);
        let moved = match reads {
            0 => time,
            _ => mean + distance / (i32::from(reads) + 1),
        };
        place.set(((moved as u16) << 3) | (reads + 1).min(MOST_READS));
        (reads >= LEAST_READS).then_some(distance)
    }

    /// How far a read of this kind is beyond the usual that has taken longer than `time`; `None` if it may not be. It says nothing of
    /// what is usual.
    pub(crate) fn beyond(&self, kind: u64, time: Duration) -> Option<i32> {
        let known = self.0[kind as usize % PLACES].get();
        let distance = steps(time) - i32::from(known >> 3);
        (known & MOST_READS >= LEAST_READS && distance > 0).then_some(distance.min(FARTHEST))
    }
}
