//! Galera: every server can write, so the proxies alone change who does.

use std::time::Instant;

use shardwright_rules::Address;
use shardwright_targets::Server;

use super::fleet::Fleet;
use super::way::{Failed, Way};

/// The new writer, and the one before.
pub(super) struct Galera {
    pub(super) to: Server,
    pub(super) from: Address,
}

impl Way for Galera {
    fn hand_over(&mut self, fleet: &mut Fleet, _: Instant) -> Result<(), Failed> {
        // It may have received what others have committed, and not applied it.
        self.to
            .wait_for_group()
            .map_err(|error| Failed::Undone(error.to_string()))?;
        let Err(refused) = fleet.prefer(self.to.server()) else {
            return Ok(());
        };
        // Whoever has not changed refuses this as well, and need not change.
        match fleet.writer() {
            Ok(Some(writer)) if writer == self.from => Err(Failed::Undone(refused)),
            _ => match fleet.prefer(&self.from) {
                Ok(()) => Err(Failed::Undone(refused)),
                Err(not_undone) => Err(Failed::Mixed(format!(
                    "{refused}; and {} does not write again in every proxy: {not_undone}",
                    self.from
                ))),
            },
        }
    }

    fn finish(&mut self) -> Vec<String> {
        Vec::new()
    }
}
