//! Defaults of a server that decide how its sessions begin, as far as the proxy depends on them.

use std::sync::atomic::{AtomicU8, Ordering};

bitflags::bitflags! {
    /// Global values, which new sessions take over.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) struct ServerDefaults: u8 {
        const AUTOCOMMIT = 1;
        /// Transactions are read only unless they say otherwise.
        const READ_ONLY = 1 << 1;
        /// COMMIT and ROLLBACK do more than end a transaction: `completion_type`.
        const CHAINS = 1 << 2;
        /// The server runs an `init_connect` for those whom no privilege spares it.
        const INIT_CONNECT = 1 << 3;
        /// Clients that can be told of changes are told of that of their schema.
        const TRACKS_SCHEMA = 1 << 4;
        /// And of that of autocommit.
        const TRACKS_AUTOCOMMIT = 1 << 5;
    }
}

impl ServerDefaults {
    pub(crate) fn autocommit(self) -> bool {
        self.contains(Self::AUTOCOMMIT)
    }
}

impl Default for ServerDefaults {
    /// Those of a server that nobody has configured.
    fn default() -> Self {
        Self::AUTOCOMMIT | Self::TRACKS_SCHEMA | Self::TRACKS_AUTOCOMMIT
    }
}

/// The defaults of a server as they were seen last, by any worker.
#[derive(Debug, Default)]
pub(crate) struct KnownDefaults(AtomicU8);

/// Nobody has asked the server without this bit.
const KNOWN: u8 = 1 << 7;

impl KnownDefaults {
    /// `None`: nobody has asked the server yet.
    pub(crate) fn get(&self) -> Option<ServerDefaults> {
        let bits = self.0.load(Ordering::Relaxed);
        (bits & KNOWN != 0).then(|| ServerDefaults::from_bits_truncate(bits))
    }

    pub(crate) fn note(&self, defaults: ServerDefaults) {
        self.0.store(defaults.bits() | KNOWN, Ordering::Relaxed);
    }

    /// A connection that was reset has told of the autocommit of now.
    pub(crate) fn note_autocommit(&self, autocommit: bool) {
        if let Some(mut known) = self.get() {
            known.set(ServerDefaults::AUTOCOMMIT, autocommit);
            self.note(known);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_last_is_known() {
        let known = KnownDefaults::default();
        known.note_autocommit(false);
        assert_eq!(known.get(), None, "the rest was not asked for");
        let defaults = ServerDefaults::default() | ServerDefaults::READ_ONLY;
        known.note(defaults);
        known.note_autocommit(false);
        assert_eq!(known.get(), Some(defaults - ServerDefaults::AUTOCOMMIT));
    }
}
