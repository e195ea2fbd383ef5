//! How far a replica is behind, while it does not say so, or cannot know.
//!
//! A server says nothing while its replication is stopped or does not reach its source, and as soon as that goes on it says 0: it
//! counts from the transactions that it has received, and has received none yet. So what it last said is remembered, and grows with
//! the time. After replication goes on, a 0 counts when the server has waited for its source in two looks.

use std::time::{Duration, Instant};

use shardwright_rules::roles::{LastLag, ServerSight, Source};

/// Looks in which a server that goes on replicating must say that it has received everything.
const LOOKS: u8 = 2;

/// What is remembered of a replica's lag.
#[derive(Clone, Debug, Default)]
pub(super) struct LagMemory {
    last: Option<(u64, Instant)>,
    /// Looks that are needed until a lag of 0 counts.
    doubts: u8,
}

impl LagMemory {
    /// Takes up what a server says of its lag, and adds what it does not say.
    pub(super) fn follow(&mut self, sight: &mut ServerSight, now: Instant) {
        if sight.source == Source::None {
            *self = Self::default();
            return;
        }
        let ago = |at: Instant| millis(now.saturating_duration_since(at));
        if sight.source == Source::Running && sight.lag_ms.is_none() && !sight.is_lag_rounded {
            // A heartbeat that cannot be read says nothing.
            return;
        }
        if sight.source != Source::Running || sight.lag_ms.is_none() {
            self.doubts = LOOKS;
            sight.last_lag = self.last.map(|(lag_ms, at)| LastLag {
                lag_ms,
                ago_ms: ago(at),
            });
            return;
        }
        if sight.lag_ms == Some(0) && sight.is_lag_rounded && self.doubts > 0 {
            self.doubts -= u8::from(sight.has_received_all);
        }
        match (sight.lag_ms, self.last) {
            (Some(0), Some((lag_ms, at))) if sight.is_lag_rounded && self.doubts > 0 => {
                sight.lag_ms = Some(lag_ms.saturating_add(ago(at)));
            }
            (Some(lag_ms), _) => self.last = Some((lag_ms, now)),
            (None, _) => {}
        }
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(source: Source, lag_ms: Option<u64>, has_received_all: bool) -> ServerSight {
        ServerSight {
            source,
            lag_ms,
            has_received_all,
            is_lag_rounded: true,
            ..ServerSight::default()
        }
    }

    /// The lag, and what it was last with the time since then, after looks one second apart.
    fn after(looks: &[(Source, Option<u64>, bool)]) -> (Option<u64>, Option<(u64, u64)>) {
        let (mut memory, begin) = (LagMemory::default(), Instant::now());
        let mut sight = ServerSight::default();
        for (second, &(source, lag_ms, has_received_all)) in (0..).zip(looks) {
            sight = says(source, lag_ms, has_received_all);
            memory.follow(&mut sight, begin + Duration::from_secs(second));
        }
        (
            sight.lag_ms,
            sight.last_lag.map(|last| (last.lag_ms, last.ago_ms)),
        )
    }

    #[test]
    fn a_lag_that_nobody_knows_grows_from_where_it_was() {
        let running = (Source::Running, Some(2000), true);
        let stopped = (Source::Stopped, None, false);
        assert_eq!(after(&[running, stopped]), (None, Some((2000, 1000))));
        assert_eq!(
            after(&[running, stopped, stopped, stopped]),
            (None, Some((2000, 3000)))
        );
        assert_eq!(after(&[stopped]), (None, None));
        // It follows nobody any more.
        assert_eq!(
            after(&[running, (Source::None, None, false), stopped]),
            (None, None)
        );
    }

    #[test]
    fn a_server_that_goes_on_is_as_far_behind_as_it_was() {
        let running = |lag, all| (Source::Running, Some(lag), all);
        let stopped = (Source::Stopped, None, false);
        let before = [running(0, true), stopped, stopped];
        let then = |looks: &[(Source, Option<u64>, bool)]| after(&[&before[..], looks].concat()).0;
        assert_eq!(then(&[running(0, false)]), Some(3000));
        assert_eq!(then(&[running(0, false), running(0, true)]), Some(4000));
        assert_eq!(then(&[running(0, true), running(0, true)]), Some(0));
        // Of what it has received it says how old that is.
        assert_eq!(then(&[running(7000, false)]), Some(7000));
        assert_eq!(then(&[running(7000, false), running(0, false)]), Some(8000));
    }
}
