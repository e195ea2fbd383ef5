//! How the texts of a session are read: its sql_mode, and its character sets.

use std::rc::Rc;

use shardwright_sql::LexMode;
use shardwright_wire::StatusFlags;

/// Flag of MariaDB's status for ANSI_QUOTES (`include/mysql_com.h`, SERVER_STATUS_ANSI_QUOTES); MySQL has none.
const ANSI_QUOTES: StatusFlags = StatusFlags::from_bits_retain(0x8000);

/// What the meaning of a text depends on, besides its schema and SET NAMES. Prepared, it keeps the meaning of that time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Reading {
    pub(crate) mode: LexMode,
    /// The SETs of sql_mode and character sets, joined.
    pub(crate) settings: Rc<[u8]>,
}

/// The flags of a status that tell of the mode.
pub(crate) const TOLD: StatusFlags = StatusFlags::SERVER_STATUS_NO_BACKSLASH_ESCAPES.union(ANSI_QUOTES);

fn status_of(mode: LexMode, is_mariadb: bool) -> StatusFlags {
    let mut status = StatusFlags::empty();
    status.set(
        StatusFlags::SERVER_STATUS_NO_BACKSLASH_ESCAPES,
        mode.no_backslash_escapes,
    );
    status.set(ANSI_QUOTES, mode.ansi_quotes && is_mariadb);
    status
}

/// Whether a server with this status reads texts in this mode, as far as the status tells.
pub(crate) fn is_read_in(mode: LexMode, status: StatusFlags, is_mariadb: bool) -> bool {
    status.intersection(TOLD) == status_of(mode, is_mariadb)
}
