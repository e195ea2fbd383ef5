//! What a response turned out to be.

use mysql_common::constants::StatusFlags;

use crate::errors::MysqlError;
use crate::response::PrepareOk;

/// What the response was. Values are those of the last result of the response.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outcome {
    /// What it was.
    pub kind: OutcomeKind,
    /// The session's status after it, when the response said.
    pub status: Option<StatusFlags>,
    /// Rows changed.
    pub affected_rows: u64,
    /// First generated `AUTO_INCREMENT` value, or 0.
    pub last_insert_id: u64,
    /// Number of warnings.
    pub warnings: u16,
    /// Results in the response, the last included.
    pub results: u32,
    /// Columns of the last result set; 65,535 stands for more, too.
    pub columns: u16,
    /// Rows of all result sets.
    pub rows: u64,
    /// An execution has opened the cursor that it asked for: its rows are to be fetched.
    pub has_cursor: bool,
    /// The error that ended the response.
    pub error: Option<MysqlError>,
    /// The answer to COM_STMT_PREPARE.
    pub prepared: Option<PrepareOk>,
    /// The file that the server asked the client for.
    pub infile: Option<Vec<u8>>,
    /// Session state changes of all OK packets, for [`crate::session_changes`].
    pub session_state: Vec<u8>,
    /// `session_state` is incomplete: it was longer than the limit.
    pub session_state_truncated: bool,
}

impl Outcome {
    /// Begins anew and keeps the buffer. Field by field: this is done for every statement.
    pub(crate) fn clear(&mut self) {
        self.kind = OutcomeKind::Pending;
        self.status = None;
        self.affected_rows = 0;
        self.last_insert_id = 0;
        self.warnings = 0;
        self.results = 0;
        self.columns = 0;
        self.rows = 0;
        self.has_cursor = false;
        self.error = None;
        self.prepared = None;
        self.infile = None;
        self.session_state.clear();
        self.session_state_truncated = false;
    }
}

/// What a response was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OutcomeKind {
    /// It has not ended.
    #[default]
    Pending,
    /// There is no response to this command.
    Nothing,
    /// OK (or the EOF that some commands are answered with).
    Ok,
    /// An error, perhaps after rows.
    Error,
    /// A result set, or rows of a cursor, or definitions of columns.
    ResultSet,
    /// A prepared statement.
    Prepared,
    /// A bare string.
    Text,
}
