//! Defaults of a server that decide how its sessions begin, as far as the proxy depends on them.

use std::sync::atomic::{AtomicU8, Ordering};

bitflags::bitflags! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct Bits: u8 {
        const KNOWN = 1;
        const AUTOCOMMIT = 1 << 1;
        const READ_ONLY = 1 << 2;
        const CHAINS = 1 << 3;
        const INIT_CONNECT = 1 << 4;
        const UNTRACKED_SCHEMA = 1 << 5;
        const UNTRACKED_AUTOCOMMIT = 1 << 6;
    }
}

/// Global values, which new sessions take over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ServerDefaults {
    pub(crate) autocommit: bool,
    /// Transactions are read only unless they say otherwise.
    pub(crate) read_only: bool,
    /// COMMIT and ROLLBACK do more than end a transaction: `completion_type`.
    pub(crate) chains: bool,
    /// The server runs an `init_connect` for those whom no privilege spares it.
    pub(crate) has_init_connect: bool,
    /// Clients that can be told of changes are told of that of their schema.
    pub(crate) tracks_schema: bool,
    /// And of that of autocommit.
    pub(crate) tracks_autocommit: bool,
}

impl Default for ServerDefaults {
    /// Those of a server that nobody has configured.
    fn default() -> Self {
        Self {
            autocommit: true,
            read_only: false,
            chains: false,
            has_init_connect: false,
            tracks_schema: true,
            tracks_autocommit: true,
        }
    }
}

/// The defaults of a server as they were seen last, by any worker.
#[derive(Debug, Default)]
pub(crate) struct KnownDefaults(AtomicU8);

impl KnownDefaults {
    /// `None`: nobody has asked the server yet.
    pub(crate) fn get(&self) -> Option<ServerDefaults> {
        let bits = Bits::from_bits_retain(self.0.load(Ordering::Relaxed));
        bits.contains(Bits::KNOWN).then(|| ServerDefaults {
            autocommit: bits.contains(Bits::AUTOCOMMIT),
            read_only: bits.contains(Bits::READ_ONLY),
            chains: bits.contains(Bits::CHAINS),
            has_init_connect: bits.contains(Bits::INIT_CONNECT),
            tracks_schema: !bits.contains(Bits::UNTRACKED_SCHEMA),
            tracks_autocommit: !bits.contains(Bits::UNTRACKED_AUTOCOMMIT),
        })
    }

    pub(crate) fn note(&self, defaults: ServerDefaults) {
        let mut bits = Bits::KNOWN;
        bits.set(Bits::AUTOCOMMIT, defaults.autocommit);
        bits.set(Bits::READ_ONLY, defaults.read_only);
        bits.set(Bits::CHAINS, defaults.chains);
        bits.set(Bits::INIT_CONNECT, defaults.has_init_connect);
        bits.set(Bits::UNTRACKED_SCHEMA, !defaults.tracks_schema);
        bits.set(Bits::UNTRACKED_AUTOCOMMIT, !defaults.tracks_autocommit);
        self.0.store(bits.bits(), Ordering::Relaxed);
    }

    /// A connection that was reset has told of the autocommit of now.
    pub(crate) fn note_autocommit(&self, autocommit: bool) {
        if let Some(known) = self.get() {
            self.note(ServerDefaults { autocommit, ..known });
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
        let defaults = ServerDefaults {
            read_only: true,
            ..ServerDefaults::default()
        };
        known.note(defaults);
        known.note_autocommit(false);
        let expected = ServerDefaults {
            autocommit: false,
            ..defaults
        };
        assert_eq!(known.get(), Some(expected));
    }
}
