//! The client's answer to a greeting: HandshakeResponse41, or the short request to change to TLS first.
//!
//! It is not mysql_common's `HandshakeResponse`, which chooses the collation by itself, while the proxy passes on its
//! client's, and refuses logins without the attributes that they announce, which drivers send.

use mysql_common::constants::{CapabilityFlags, MariadbCapabilities};

use crate::bytes::{DecodeError, Reader, put_lenenc_bytes, put_nul_bytes};

/// Payload bytes of a TLS request, which is the fixed start of a login.
const FIXED_LEN: usize = 32;

/// Names and values that a client tells about itself.
pub type Attributes = Vec<(Vec<u8>, Vec<u8>)>;

/// What a client can answer to a greeting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientHello {
    /// The client wants TLS; its login follows inside.
    TlsRequest,
    /// The client logs in.
    Login(LoginRequest),
}

/// A client's login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginRequest {
    /// What the client claims to be able to do; the connection speaks what both sides can.
    pub capabilities: CapabilityFlags,
    /// The same of MariaDB's further capabilities; none beside `CLIENT_LONG_PASSWORD`, which takes their place in the packet.
    pub mariadb_capabilities: MariadbCapabilities,
    /// The largest packet that the client takes.
    pub max_packet: u32,
    /// Collation of the client's character set, the low byte of its id.
    pub collation: u8,
    /// User name, in the client's character set.
    pub user: Vec<u8>,
    /// Answer to the challenge, meant for `plugin`.
    pub auth_response: Vec<u8>,
    /// Initial schema; empty is none.
    pub database: Option<Vec<u8>>,
    /// The method of `auth_response`, when the client says so.
    pub plugin: Option<Vec<u8>>,
    /// What the client tells about itself (`_client_name`, `program_name`, …).
    pub attributes: Attributes,
}

impl ClientHello {
    /// Reads the first payload of a client. The capabilities *in it* decide how it is laid out.
    ///
    /// # Errors
    /// [`DecodeError`]; clients older than 4.1 are unsupported.
    pub fn decode(payload: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(payload);
        // A client from before 4.1 sends its 16 capability bits first; the flag is in the same place.
        if u32::from(reader.u16()?) & CapabilityFlags::CLIENT_PROTOCOL_41.bits() == 0 {
            return Err(DecodeError::Unsupported("a client older than protocol 4.1"));
        }
        let mut reader = Reader::new(payload);
        let capabilities = CapabilityFlags::from_bits_retain(reader.u32()?);
        if payload.len() == FIXED_LEN && capabilities.contains(CapabilityFlags::CLIENT_SSL) {
            return Ok(Self::TlsRequest);
        }
        let max_packet = reader.u32()?;
        let collation = reader.u8()?;
        reader.take(19)?;
        let further = reader.u32()?;
        let is_mariadb = !capabilities.contains(CapabilityFlags::CLIENT_LONG_PASSWORD);
        let user = reader.nul_bytes()?.to_vec();
        let auth_response = auth_response(&mut reader, capabilities)?.to_vec();
        let database = if capabilities.contains(CapabilityFlags::CLIENT_CONNECT_WITH_DB) {
            Some(reader.nul_bytes()?.to_vec()).filter(|name| !name.is_empty())
        } else {
            None
        };
        let plugin = (capabilities.contains(CapabilityFlags::CLIENT_PLUGIN_AUTH) && !reader.is_empty())
            .then(|| reader.nul_or_rest().to_vec());
        let attributes = if capabilities.contains(CapabilityFlags::CLIENT_CONNECT_ATTRS) && !reader.is_empty()
        {
            attributes(reader.lenenc_bytes()?)?
        } else {
            Vec::new()
        };
        Ok(Self::Login(LoginRequest {
            capabilities,
            mariadb_capabilities: MariadbCapabilities::from_bits_retain(if is_mariadb { further } else { 0 }),
            max_packet,
            collation,
            user,
            auth_response,
            database,
            plugin,
            attributes,
        }))
    }
}

pub(crate) fn auth_response<'a>(
    reader: &mut Reader<'a>,
    capabilities: CapabilityFlags,
) -> Result<&'a [u8], DecodeError> {
    if capabilities.contains(CapabilityFlags::CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA) {
        reader.lenenc_bytes()
    } else if capabilities.contains(CapabilityFlags::CLIENT_SECURE_CONNECTION) {
        let len = reader.u8()?;
        reader.take(usize::from(len))
    } else {
        reader.nul_bytes()
    }
}

fn attributes(block: &[u8]) -> Result<Attributes, DecodeError> {
    let mut reader = Reader::new(block);
    let mut found = Vec::new();
    while !reader.is_empty() {
        let name = reader.lenenc_bytes()?.to_vec();
        found.push((name, reader.lenenc_bytes()?.to_vec()));
    }
    Ok(found)
}

/// The payload that asks for TLS: the start of a login, which is repeated whole inside.
pub(crate) fn tls_request(
    (capabilities, of_mariadb): (CapabilityFlags, MariadbCapabilities),
    max_packet: u32,
    collation: u8,
) -> Vec<u8> {
    let mut out = Vec::with_capacity(FIXED_LEN);
    out.extend_from_slice(&capabilities.bits().to_le_bytes());
    out.extend_from_slice(&max_packet.to_le_bytes());
    out.push(collation);
    out.extend_from_slice(&[0; 19]);
    out.extend_from_slice(&of_mariadb.bits().to_le_bytes());
    out
}

impl LoginRequest {
    /// The payload. `capabilities` decides the layout: flags for absent fields are taken out, flags for present
    /// ones must be set by the caller. NULs inside names end them.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut capabilities = self.capabilities;
        if self.database.is_none() {
            capabilities.remove(CapabilityFlags::CLIENT_CONNECT_WITH_DB);
        }
        if self.attributes.is_empty() {
            capabilities.remove(CapabilityFlags::CLIENT_CONNECT_ATTRS);
        }
        let of_mariadb = self.mariadb_capabilities;
        if !of_mariadb.is_empty() {
            capabilities.remove(CapabilityFlags::CLIENT_LONG_PASSWORD);
        }
        let mut out = tls_request((capabilities, of_mariadb), self.max_packet, self.collation);
        put_nul_bytes(&mut out, until_nul(&self.user));
        if capabilities.contains(CapabilityFlags::CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA) {
            put_lenenc_bytes(&mut out, &self.auth_response);
        } else {
            let answer = &self.auth_response[..self.auth_response.len().min(255)];
            out.push(answer.len() as u8);
            out.extend_from_slice(answer);
        }
        if let (Some(database), true) = (
            &self.database,
            capabilities.contains(CapabilityFlags::CLIENT_CONNECT_WITH_DB),
        ) {
            put_nul_bytes(&mut out, until_nul(database));
        }
        if capabilities.contains(CapabilityFlags::CLIENT_PLUGIN_AUTH) {
            put_nul_bytes(&mut out, until_nul(self.plugin.as_deref().unwrap_or_default()));
        }
        if capabilities.contains(CapabilityFlags::CLIENT_CONNECT_ATTRS) {
            let mut block = Vec::new();
            for (name, value) in &self.attributes {
                put_lenenc_bytes(&mut block, name);
                put_lenenc_bytes(&mut block, value);
            }
            put_lenenc_bytes(&mut out, &block);
        }
        out
    }
}

fn until_nul(name: &[u8]) -> &[u8] {
    name.split(|&byte| byte == 0).next().unwrap_or_default()
}
