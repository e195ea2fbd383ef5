//! The server's greeting (initial handshake packet, protocol version 10).
//!
//! It is not mysql_common's `HandshakePacket`, which panics where a server announces a challenge of 128 to 135 bytes.

use mysql_common::constants::{CapabilityFlags, MariadbCapabilities, StatusFlags};

use crate::auth::{Method, SCRAMBLE_LEN, Scramble};
use crate::bytes::{DecodeError, Reader, put_nul_bytes};

const PROTOCOL_VERSION: u8 = 10;

/// The longest server version text that is read; real ones stay below 100 bytes.
const MAX_VERSION_LEN: usize = 512;

/// What a server says first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Greeting {
    /// For example `8.4.3` or `5.5.5-10.11.6-MariaDB`.
    pub server_version: String,
    /// The server's number for this connection; `KILL` takes it.
    pub connection_id: u32,
    /// The challenge.
    pub scramble: Scramble,
    /// What the server can do.
    pub capabilities: CapabilityFlags,
    /// MariaDB's further capabilities; none from a MySQL server. With any, a greeting has no `CLIENT_LONG_PASSWORD`.
    pub mariadb_capabilities: MariadbCapabilities,
    /// Default collation, the low byte of its id.
    pub collation: u8,
    /// Status at the start.
    pub status: StatusFlags,
    /// The method that the challenge is meant for.
    pub auth_plugin: String,
}

impl Greeting {
    /// A greeting that offers `capabilities` and `mysql_native_password`.
    #[must_use]
    pub fn native(
        server_version: impl Into<String>,
        connection_id: u32,
        scramble: Scramble,
        capabilities: CapabilityFlags,
        collation: u8,
    ) -> Self {
        Self {
            server_version: server_version.into(),
            connection_id,
            scramble,
            capabilities,
            mariadb_capabilities: MariadbCapabilities::empty(),
            collation,
            status: StatusFlags::SERVER_STATUS_AUTOCOMMIT,
            auth_plugin: Method::Native.name().to_owned(),
        }
    }

    /// The server is a MariaDB server.
    #[must_use]
    pub fn is_mariadb(&self) -> bool {
        !self.capabilities.contains(CapabilityFlags::CLIENT_LONG_PASSWORD)
            || self.server_version.contains("MariaDB")
    }

    /// The payload.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![PROTOCOL_VERSION];
        put_nul_bytes(&mut out, self.server_version.replace('\0', "").as_bytes());
        out.extend_from_slice(&self.connection_id.to_le_bytes());
        put_nul_bytes(&mut out, &self.scramble.0[..8]);
        let mut capabilities = self.capabilities;
        if !self.mariadb_capabilities.is_empty() {
            capabilities.remove(CapabilityFlags::CLIENT_LONG_PASSWORD);
        }
        let [low0, low1, high0, high1] = capabilities.bits().to_le_bytes();
        out.extend_from_slice(&[low0, low1, self.collation]);
        out.extend_from_slice(&self.status.bits().to_le_bytes());
        out.extend_from_slice(&[high0, high1, SCRAMBLE_LEN as u8 + 1]);
        out.extend_from_slice(&[0; 6]);
        out.extend_from_slice(&self.mariadb_capabilities.bits().to_le_bytes());
        put_nul_bytes(&mut out, &self.scramble.0[8..]);
        put_nul_bytes(&mut out, self.auth_plugin.as_bytes());
        out
    }

    /// Reads a payload. An ERR packet can come instead of a greeting; look for `0xFF` first.
    ///
    /// # Errors
    /// [`DecodeError`] for everything that is not protocol 10 with 4.1 capabilities.
    pub fn decode(payload: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(payload);
        if reader.u8()? != PROTOCOL_VERSION {
            return Err(DecodeError::Unsupported(
                "a handshake of another protocol version than 10",
            ));
        }
        let server_version = reader.nul_bytes()?;
        if server_version.len() > MAX_VERSION_LEN {
            return Err(DecodeError::Malformed("the server version is too long"));
        }
        let connection_id = reader.u32()?;
        let first_part: [u8; 8] = reader.array()?;
        reader.take(1)?;
        let low = reader.u16()?;
        let collation = reader.u8()?;
        let status = StatusFlags::from_bits_retain(reader.u16()?);
        let capabilities = CapabilityFlags::from_bits_retain(u32::from(low) | u32::from(reader.u16()?) << 16);
        if !capabilities.contains(crate::capability::REQUIRED) {
            return Err(DecodeError::Unsupported(
                "a server without protocol 4.1 authentication",
            ));
        }
        let scramble_len = usize::from(reader.u8()?);
        reader.take(6)?;
        let extended = reader.u32()?;
        let is_mysql = capabilities.contains(CapabilityFlags::CLIENT_LONG_PASSWORD);
        // The second part is at least 13 bytes whatever the announced length (MySQL internals, HandshakeV10).
        let second_part = reader.take(scramble_len.saturating_sub(8).max(13))?;
        let scramble = Scramble::from_wire(&[first_part.as_slice(), second_part].concat())?;
        let auth_plugin = if capabilities.contains(CapabilityFlags::CLIENT_PLUGIN_AUTH) {
            String::from_utf8_lossy(reader.nul_or_rest()).into_owned()
        } else {
            Method::Native.name().to_owned()
        };
        Ok(Self {
            server_version: String::from_utf8_lossy(server_version).into_owned(),
            connection_id,
            scramble,
            capabilities,
            mariadb_capabilities: MariadbCapabilities::from_bits_retain(if is_mysql { 0 } else { extended }),
            collation,
            status,
            auth_plugin,
        })
    }
}
