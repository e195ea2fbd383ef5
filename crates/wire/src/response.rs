//! OK, ERR, EOF and the answer to COM_STMT_PREPARE: reading and writing.

use mysql_common::constants::{CapabilityFlags, StatusFlags};

use crate::bytes::{DecodeError, Reader, put_lenenc_bytes, put_lenenc_int};
use crate::errors::MysqlError;

/// The longest error message that is kept of what a server sends; MySQL's own limit is 512.
const MAX_MESSAGE_LEN: usize = 4096;

/// An OK packet, or the OK packet that ends rows under `CLIENT_DEPRECATE_EOF`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OkPacket<'a> {
    /// Rows changed.
    pub affected_rows: u64,
    /// First generated `AUTO_INCREMENT` value, or 0.
    pub last_insert_id: u64,
    /// The session's status.
    pub status: StatusFlags,
    /// Number of warnings.
    pub warnings: u16,
    /// Human-readable text.
    pub info: &'a [u8],
    /// Session state changes, for [`crate::session_changes`]; empty unless `CLIENT_SESSION_TRACK` is spoken.
    pub session_state: &'a [u8],
}

impl<'a> OkPacket<'a> {
    /// Reads a payload whose first byte is `0x00`, or `0xFE` at the end of rows.
    ///
    /// # Errors
    /// [`DecodeError`].
    pub fn decode(payload: &'a [u8], capabilities: CapabilityFlags) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(payload);
        if !matches!(reader.u8()?, 0x00 | 0xFE) {
            return Err(DecodeError::Malformed("not an OK packet"));
        }
        let mut ok = Self {
            affected_rows: reader.lenenc_int()?,
            last_insert_id: reader.lenenc_int()?,
            status: StatusFlags::from_bits_retain(reader.u16()?),
            warnings: reader.u16()?,
            ..Self::default()
        };
        // The text has its length in front with and without tracking: what MySQL and MariaDB send (`net_send_ok`), and
        // what their client libraries read, whatever the manual says of a text up to the end.
        if !reader.is_empty() {
            ok.info = reader.lenenc_bytes()?;
            let tracks = capabilities.contains(CapabilityFlags::CLIENT_SESSION_TRACK);
            if tracks && ok.status.contains(StatusFlags::SERVER_SESSION_STATE_CHANGED) {
                ok.session_state = reader.lenenc_bytes()?;
            }
        }
        Ok(ok)
    }

    /// Appends the payload with `0x00` in front.
    pub fn encode(&self, out: &mut Vec<u8>, capabilities: CapabilityFlags) {
        self.encode_as(0x00, out, capabilities);
    }

    /// Appends the payload with `0xFE` in front: the end of rows under `CLIENT_DEPRECATE_EOF`.
    pub fn encode_end_of_rows(&self, out: &mut Vec<u8>, capabilities: CapabilityFlags) {
        self.encode_as(0xFE, out, capabilities);
    }

    fn encode_as(&self, header: u8, out: &mut Vec<u8>, capabilities: CapabilityFlags) {
        let tracks = capabilities.contains(CapabilityFlags::CLIENT_SESSION_TRACK);
        let changed = tracks && !self.session_state.is_empty();
        let mut status = self.status;
        status.set(StatusFlags::SERVER_SESSION_STATE_CHANGED, changed);
        out.push(header);
        put_lenenc_int(out, self.affected_rows);
        put_lenenc_int(out, self.last_insert_id);
        out.extend_from_slice(&status.bits().to_le_bytes());
        out.extend_from_slice(&self.warnings.to_le_bytes());
        if changed || !self.info.is_empty() {
            put_lenenc_bytes(out, self.info);
            if changed {
                put_lenenc_bytes(out, self.session_state);
            }
        }
    }
}

impl MysqlError {
    /// Reads a payload whose first byte is `0xFF`. Before the handshake servers leave the SQLSTATE out.
    ///
    /// # Errors
    /// [`DecodeError`].
    pub fn decode(payload: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(payload);
        if reader.u8()? != 0xFF {
            return Err(DecodeError::Malformed("not an ERR packet"));
        }
        let code = reader.u16()?;
        let rest = reader.take_rest();
        let (sqlstate, message) = match rest.split_first() {
            Some((b'#', marked)) => match marked.split_first_chunk::<5>() {
                Some((state, message)) => (*state, message),
                None => return Err(DecodeError::Truncated),
            },
            _ => (*b"HY000", rest),
        };
        let message = String::from_utf8_lossy(&message[..message.len().min(MAX_MESSAGE_LEN)]).into_owned();
        Ok(Self {
            code,
            sqlstate,
            message,
        })
    }

    /// Appends the payload.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(0xFF);
        out.extend_from_slice(&self.code.to_le_bytes());
        out.push(b'#');
        out.extend_from_slice(&self.sqlstate);
        out.extend_from_slice(self.message.as_bytes());
    }

    /// Appends the payload as a server sends it in place of a greeting: without SQLSTATE.
    pub fn encode_before_greeting(&self, out: &mut Vec<u8>) {
        out.push(0xFF);
        out.extend_from_slice(&self.code.to_le_bytes());
        out.extend_from_slice(self.message.as_bytes());
    }
}

/// An EOF packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EofPacket {
    /// Number of warnings.
    pub warnings: u16,
    /// The session's status.
    pub status: StatusFlags,
}

impl EofPacket {
    /// Payload bytes of an EOF packet of protocol 4.1.
    pub const LEN: usize = 5;

    /// Reads a payload.
    ///
    /// # Errors
    /// [`DecodeError`].
    pub fn decode(payload: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(payload);
        if reader.u8()? != 0xFE {
            return Err(DecodeError::Malformed("not an EOF packet"));
        }
        let eof = Self {
            warnings: reader.u16()?,
            status: StatusFlags::from_bits_retain(reader.u16()?),
        };
        reader.finish()?;
        Ok(eof)
    }

    /// Appends the payload.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(0xFE);
        out.extend_from_slice(&self.warnings.to_le_bytes());
        out.extend_from_slice(&self.status.bits().to_le_bytes());
    }
}

/// The first packet of the answer to COM_STMT_PREPARE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PrepareOk {
    /// The server's number for the statement, valid on this connection only.
    pub statement_id: u32,
    /// Columns of its result; their definitions follow the parameters'.
    pub columns: u16,
    /// Its parameters; their definitions follow.
    pub parameters: u16,
    /// Number of warnings.
    pub warnings: u16,
}

impl PrepareOk {
    /// Where the statement id stands in the payload.
    pub const STATEMENT_ID_AT: usize = 1;

    /// Reads a payload whose first byte is `0x00`.
    ///
    /// # Errors
    /// [`DecodeError`].
    pub fn decode(payload: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(payload);
        if reader.u8()? != 0 {
            return Err(DecodeError::Malformed("not an answer to a prepare"));
        }
        let statement_id = reader.u32()?;
        let columns = reader.u16()?;
        let parameters = reader.u16()?;
        // The filler and the warnings are missing from servers older than 5.0.
        let warnings = if reader.remaining() >= 3 {
            reader.u8()?;
            reader.u16()?
        } else {
            0
        };
        Ok(Self {
            statement_id,
            columns,
            parameters,
            warnings,
        })
    }

    /// Appends the payload.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(0);
        out.extend_from_slice(&self.statement_id.to_le_bytes());
        out.extend_from_slice(&self.columns.to_le_bytes());
        out.extend_from_slice(&self.parameters.to_le_bytes());
        out.push(0);
        out.extend_from_slice(&self.warnings.to_le_bytes());
    }
}
