//! Commands: what a client asks for, read from and written to payloads.

use mysql_common::constants::CapabilityFlags;

use crate::bytes::{DecodeError, Reader, put_nul_bytes};
use crate::login::auth_response;

/// CURSOR_TYPE_READ_ONLY, CURSOR_TYPE_FOR_UPDATE and CURSOR_TYPE_SCROLLABLE among the flags of an execution.
const CURSORS: u8 = 1 | 2 | 4;

/// A client's command, borrowed from its payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command<'a> {
    /// COM_QUIT: the client goes; there is no answer.
    Quit,
    /// COM_INIT_DB: make this schema the current one.
    InitDb(&'a [u8]),
    /// COM_QUERY: statement text.
    Query(&'a [u8]),
    /// COM_FIELD_LIST: columns of a table whose names match a pattern.
    FieldList {
        /// Table name.
        table: &'a [u8],
        /// `LIKE` pattern; may be empty.
        wildcard: &'a [u8],
    },
    /// COM_REFRESH: empty caches and begin log files, by bits.
    Refresh(u8),
    /// COM_STATISTICS: one line of figures.
    Statistics,
    /// COM_PROCESS_INFO: the process list.
    ProcessInfo,
    /// COM_PROCESS_KILL: end this connection.
    ProcessKill(u32),
    /// COM_DEBUG: dump debug information to the server's log.
    Debug,
    /// COM_PING.
    Ping,
    /// COM_CHANGE_USER: everything after the command byte; see [`ChangeUser`].
    ChangeUser(&'a [u8]),
    /// COM_RESET_CONNECTION.
    ResetConnection,
    /// COM_SET_OPTION: several statements in one query on or off.
    SetOption {
        /// Switched on.
        multi_statements: bool,
    },
    /// COM_STMT_PREPARE: statement text.
    StmtPrepare(&'a [u8]),
    /// COM_STMT_EXECUTE.
    StmtExecute {
        /// Which statement.
        statement_id: u32,
        /// Cursor type.
        flags: u8,
        /// NULL bitmap, types and values; see [`crate::binary`].
        parameters: &'a [u8],
    },
    /// MariaDB's COM_STMT_BULK_EXECUTE: one execution for each row of parameters.
    StmtBulkExecute {
        /// Which statement.
        statement_id: u32,
        /// Whether types stand before the rows.
        flags: u16,
        /// Types and rows, in which an indicator stands before each value.
        rows: &'a [u8],
    },
    /// COM_STMT_SEND_LONG_DATA: a piece of a parameter; there is no answer.
    StmtSendLongData {
        /// Which statement.
        statement_id: u32,
        /// Which parameter, from 0.
        parameter: u16,
        /// The piece.
        data: &'a [u8],
    },
    /// COM_STMT_CLOSE; there is no answer.
    StmtClose(u32),
    /// COM_STMT_RESET.
    StmtReset(u32),
    /// COM_STMT_FETCH: rows of a cursor.
    StmtFetch {
        /// Which statement.
        statement_id: u32,
        /// How many rows.
        rows: u32,
    },
    /// A command that is not known here; the answer is error 1047.
    Unknown(u8),
}

/// How the answer to a command is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResponseShape {
    /// There is no answer.
    None,
    /// OK, EOF or ERR.
    Status,
    /// Results with text rows, OK or ERR; perhaps several.
    TextResults,
    /// Results with binary rows, OK or ERR; perhaps several.
    BinaryResults,
    /// The same, or the definitions of a cursor that was asked for.
    BinaryResultsOrCursor,
    /// Binary rows without definitions.
    Rows,
    /// The answer to COM_STMT_PREPARE.
    Prepare,
    /// Column definitions without a count.
    Definitions,
    /// A bare string.
    Text,
}

impl ResponseShape {
    /// Whether one result may follow another.
    #[must_use]
    pub const fn has_results(self) -> bool {
        matches!(
            self,
            Self::TextResults | Self::BinaryResults | Self::BinaryResultsOrCursor
        )
    }
}

impl<'a> Command<'a> {
    /// Reads a payload.
    ///
    /// # Errors
    /// [`DecodeError`] for an empty payload and for a known command with too few bytes.
    pub fn decode(payload: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(payload);
        let command = reader.u8()?;
        Ok(match command {
            1 => Self::Quit,
            2 => Self::InitDb(reader.take_rest()),
            3 => Self::Query(reader.take_rest()),
            4 => Self::FieldList {
                table: reader.nul_bytes()?,
                wildcard: reader.take_rest(),
            },
            7 => Self::Refresh(reader.u8()?),
            9 => Self::Statistics,
            10 => Self::ProcessInfo,
            12 => Self::ProcessKill(reader.u32()?),
            13 => Self::Debug,
            14 => Self::Ping,
            17 => Self::ChangeUser(reader.take_rest()),
            22 => Self::StmtPrepare(reader.take_rest()),
            23 => {
                let statement_id = reader.u32()?;
                let flags = reader.u8()?;
                reader.u32()?;
                Self::StmtExecute {
                    statement_id,
                    flags,
                    parameters: reader.take_rest(),
                }
            }
            24 => Self::StmtSendLongData {
                statement_id: reader.u32()?,
                parameter: reader.u16()?,
                data: reader.take_rest(),
            },
            25 => Self::StmtClose(reader.u32()?),
            26 => Self::StmtReset(reader.u32()?),
            27 => match reader.u16()? {
                0 => Self::SetOption {
                    multi_statements: true,
                },
                1 => Self::SetOption {
                    multi_statements: false,
                },
                _ => return Err(DecodeError::Malformed("an option that does not exist")),
            },
            28 => Self::StmtFetch {
                statement_id: reader.u32()?,
                rows: reader.u32()?,
            },
            31 => Self::ResetConnection,
            250 => Self::StmtBulkExecute {
                statement_id: reader.u32()?,
                flags: reader.u16()?,
                rows: reader.take_rest(),
            },
            unknown => Self::Unknown(unknown),
        })
    }

    /// Appends the payload.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(self.byte());
        match *self {
            Self::InitDb(text) | Self::Query(text) | Self::StmtPrepare(text) | Self::ChangeUser(text) => {
                out.extend_from_slice(text);
            }
            Self::FieldList { table, wildcard } => {
                put_nul_bytes(out, table);
                out.extend_from_slice(wildcard);
            }
            Self::Refresh(bits) => out.push(bits),
            Self::ProcessKill(id) | Self::StmtClose(id) | Self::StmtReset(id) => {
                out.extend_from_slice(&id.to_le_bytes());
            }
            Self::SetOption { multi_statements } => out.extend_from_slice(&[u8::from(!multi_statements), 0]),
            Self::StmtExecute {
                statement_id,
                flags,
                parameters,
            } => {
                out.extend_from_slice(&statement_id.to_le_bytes());
                out.push(flags);
                out.extend_from_slice(&1_u32.to_le_bytes());
                out.extend_from_slice(parameters);
            }
            Self::StmtBulkExecute {
                statement_id,
                flags,
                rows,
            } => {
                out.extend_from_slice(&statement_id.to_le_bytes());
                out.extend_from_slice(&flags.to_le_bytes());
                out.extend_from_slice(rows);
            }
            Self::StmtSendLongData {
                statement_id,
                parameter,
                data,
            } => {
                out.extend_from_slice(&statement_id.to_le_bytes());
                out.extend_from_slice(&parameter.to_le_bytes());
                out.extend_from_slice(data);
            }
            Self::StmtFetch { statement_id, rows } => {
                out.extend_from_slice(&statement_id.to_le_bytes());
                out.extend_from_slice(&rows.to_le_bytes());
            }
            Self::Quit
            | Self::Statistics
            | Self::ProcessInfo
            | Self::Debug
            | Self::Ping
            | Self::ResetConnection
            | Self::Unknown(_) => {}
        }
    }

    /// The command byte.
    #[must_use]
    pub const fn byte(&self) -> u8 {
        match self {
            Self::Quit => 1,
            Self::InitDb(_) => 2,
            Self::Query(_) => 3,
            Self::FieldList { .. } => 4,
            Self::Refresh(_) => 7,
            Self::Statistics => 9,
            Self::ProcessInfo => 10,
            Self::ProcessKill(_) => 12,
            Self::Debug => 13,
            Self::Ping => 14,
            Self::ChangeUser(_) => 17,
            Self::StmtPrepare(_) => 22,
            Self::StmtExecute { .. } => 23,
            Self::StmtSendLongData { .. } => 24,
            Self::StmtClose(_) => 25,
            Self::StmtReset(_) => 26,
            Self::SetOption { .. } => 27,
            Self::StmtFetch { .. } => 28,
            Self::ResetConnection => 31,
            Self::StmtBulkExecute { .. } => 250,
            Self::Unknown(byte) => *byte,
        }
    }

    /// How the server answers. `COM_CHANGE_USER` is answered by an authentication, whose last packet is a status.
    #[must_use]
    pub const fn response_shape(&self) -> ResponseShape {
        match self {
            Self::Quit | Self::StmtSendLongData { .. } | Self::StmtClose(_) => ResponseShape::None,
            Self::InitDb(_)
            | Self::Refresh(_)
            | Self::ProcessKill(_)
            | Self::Debug
            | Self::Ping
            | Self::ChangeUser(_)
            | Self::ResetConnection
            | Self::SetOption { .. }
            | Self::StmtReset(_)
            | Self::Unknown(_) => ResponseShape::Status,
            Self::Query(_) | Self::ProcessInfo => ResponseShape::TextResults,
            Self::StmtExecute { flags, .. } => match *flags & CURSORS {
                0 => ResponseShape::BinaryResults,
                _ => ResponseShape::BinaryResultsOrCursor,
            },
            Self::StmtBulkExecute { .. } => ResponseShape::BinaryResults,
            Self::StmtFetch { .. } => ResponseShape::Rows,
            Self::StmtPrepare(_) => ResponseShape::Prepare,
            Self::FieldList { .. } => ResponseShape::Definitions,
            Self::Statistics => ResponseShape::Text,
        }
    }
}

/// The contents of COM_CHANGE_USER.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangeUser<'a> {
    /// User name.
    pub user: &'a [u8],
    /// Answer to the challenge of the *greeting*, or to none of use: servers ask again by a switch.
    pub auth_response: &'a [u8],
    /// New schema; empty is none.
    pub database: &'a [u8],
    /// Collation id.
    pub collation: Option<u16>,
    /// The method of `auth_response`.
    pub plugin: Option<&'a [u8]>,
}

impl<'a> ChangeUser<'a> {
    /// Reads what [`Command::ChangeUser`] carries.
    ///
    /// # Errors
    /// [`DecodeError`].
    pub fn decode(body: &'a [u8], capabilities: CapabilityFlags) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(body);
        let user = reader.nul_bytes()?;
        // Here the length is one byte even under CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA.
        let layout = capabilities.difference(CapabilityFlags::CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA);
        let auth_response = auth_response(&mut reader, layout)?;
        let database = reader.nul_or_rest();
        let collation = if reader.remaining() >= 2 {
            Some(reader.u16()?)
        } else {
            None
        };
        let plugin = (capabilities.contains(CapabilityFlags::CLIENT_PLUGIN_AUTH) && !reader.is_empty())
            .then(|| reader.nul_or_rest());
        Ok(Self {
            user,
            auth_response,
            database,
            collation,
            plugin,
        })
    }
}
