//! A client that does as little as a client can: it logs in, asks, and reads to the end of the answer.
//!
//! It is for what sysbench cannot do: TLS by both ways of beginning it, with and without resumption, results of any size
//! without keeping rows, and logins that may be refused.

mod stream;

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;
use shardwright_wire::{
    BackendCredentials, CapabilityFlags, ClientLogin, ClientSecret, ClientStep, ConnectError, HEADER_LEN,
    MariadbCapabilities, PacketHeader, Privacy, write_packet,
};

use crate::bundled::{PASSWORD, SCHEMA, USER};
use stream::Stream;

/// Where an answer that does not come ends a measurement.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);

/// What this client reads at once.
const BUFFER: usize = 64 << 10;

/// How a connection is kept from being read.
#[derive(Clone, Debug, Default)]
pub(crate) enum Security {
    /// Not at all.
    #[default]
    Plain,
    /// TLS after the server's greeting, as MySQL does it.
    Upgrade(Arc<ClientConfig>),
    /// TLS from the first byte on, as load balancers do it.
    FromTheFirstByte(Arc<ClientConfig>),
}

/// Why a client got no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClientError {
    /// The connection failed.
    #[error("the connection: {0}")]
    Io(#[from] io::Error),
    /// The login failed.
    #[error(transparent)]
    Login(#[from] ConnectError),
    /// A statement was answered with an error.
    #[error("error {0}")]
    Refused(u16),
}

impl ClientError {
    /// The number of the error that the other side sent; `None` where it sent none.
    pub(crate) fn code(&self) -> Option<u16> {
        match self {
            Self::Refused(code) => Some(*code),
            Self::Login(ConnectError::Refused(error)) => Some(error.code),
            Self::Login(_) | Self::Io(_) => None,
        }
    }
}

/// A connection that is logged in.
#[derive(Debug)]
pub(crate) struct WireClient {
    stream: Stream,
    buffer: Vec<u8>,
    /// The bytes of the buffer that have been received and not been taken.
    from: usize,
    to: usize,
}

/// Ids of rows of sysbench's table, without an end and in no order.
pub(crate) fn ids() -> impl Iterator<Item = u32> {
    std::iter::successors(Some(31), |id| Some(id * 31 % 10_007))
}

/// A connection that is made when it is first used.
#[derive(Debug, Default)]
pub(crate) struct Connected(Option<WireClient>);

impl Connected {
    pub(crate) fn or_connect(
        &mut self,
        address: SocketAddr,
        security: &Security,
    ) -> Result<&mut WireClient, ClientError> {
        match &mut self.0 {
            Some(client) => Ok(client),
            none => Ok(none.insert(WireClient::connect(address, security)?)),
        }
    }
}

impl WireClient {
    /// Logs in as the user of benchmarks.
    pub(crate) fn connect(address: SocketAddr, security: &Security) -> Result<Self, ClientError> {
        let mut client = Self {
            stream: Stream::connect(address, ANSWER_WITHIN)?,
            buffer: Vec::new(),
            from: 0,
            to: 0,
        };
        let mut privacy = Privacy::Plain;
        if let Security::FromTheFirstByte(config) = security {
            client.stream.encrypt(config)?;
        }
        let credentials = credentials();
        let (_, greeting) = client.packet()?;
        let greeting = ClientLogin::greeting(&greeting)?;
        let mut seq = 1;
        if let Security::Upgrade(config) = security {
            client.send(&mut seq, &ClientLogin::tls_request(&greeting, &credentials))?;
            client.stream.encrypt(config)?;
            privacy = Privacy::Tls;
        }
        let (mut login, answer) = ClientLogin::start(&greeting, &credentials, privacy)?;
        client.send(&mut seq, &answer)?;
        loop {
            let (received, payload) = client.packet()?;
            seq = received.wrapping_add(1);
            match login.on_payload(&payload)? {
                ClientStep::Ready { .. } => return Ok(client),
                ClientStep::Send(answer) => client.send(&mut seq, &answer)?,
                ClientStep::Wait => {}
            }
        }
    }

    /// Asks and reads the answer; its number of rows.
    pub(crate) fn ask(&mut self, sql: &str) -> Result<u64, ClientError> {
        self.send(&mut 0, &[&[0x03], sql.as_bytes()].concat())?;
        if self.begins_end()? {
            return Ok(0);
        }
        // Columns, and their end.
        while !self.begins_end()? {}
        let mut rows = 0;
        while !self.begins_end()? {
            rows += 1;
        }
        Ok(rows)
    }

    /// A point select of sysbench's table.
    pub(crate) fn select(&mut self, id: u32) -> Result<u64, ClientError> {
        self.ask(&format!("SELECT c FROM sbtest1 WHERE id={id}"))
    }

    /// Whether its TLS goes on where another connection's was.
    pub(crate) fn is_resumed(&self) -> bool {
        self.stream.is_resumed()
    }

    /// Gives back the memory that reading takes, until the next answer.
    pub(crate) fn rest(&mut self) {
        if self.from == self.to {
            self.buffer = Vec::new();
            (self.from, self.to) = (0, 0);
        }
    }

    /// Says good-bye and closes.
    pub(crate) fn close(mut self) -> Result<(), ClientError> {
        self.send(&mut 0, &[0x01])?;
        self.stream.close();
        Ok(())
    }

    /// Skips a packet; whether it was an OK or the end of rows or of columns.
    fn begins_end(&mut self) -> Result<bool, ClientError> {
        let (header, first) = self.start_of_packet()?;
        let len = header.len as usize;
        match first {
            0xFF => {
                let payload = self.payload(len)?;
                let code = payload
                    .get(1..3)
                    .map_or(0, |code| u16::from_le_bytes([code[0], code[1]]));
                Err(ClientError::Refused(code))
            }
            0xFE if len < 9 => self.skip(len).map(|()| true),
            0x00 if len >= 7 && header.seq == 1 => self.skip(len).map(|()| true),
            _ => self.skip(len).map(|()| false),
        }
    }

    /// A header, and the first byte behind it, which stays.
    fn start_of_packet(&mut self) -> Result<(PacketHeader, u8), ClientError> {
        self.need(HEADER_LEN + 1)?;
        let bytes = &self.buffer[self.from..self.to];
        let header = PacketHeader::parse([bytes[0], bytes[1], bytes[2], bytes[3]]);
        let first = bytes[HEADER_LEN];
        self.from += HEADER_LEN;
        Ok((header, first))
    }

    fn packet(&mut self) -> Result<(u8, Vec<u8>), ClientError> {
        let (header, _) = self.start_of_packet()?;
        Ok((header.seq, self.payload(header.len as usize)?))
    }

    fn payload(&mut self, len: usize) -> Result<Vec<u8>, ClientError> {
        self.need(len)?;
        let payload = self.buffer[self.from..self.from + len].to_vec();
        self.from += len;
        Ok(payload)
    }

    fn skip(&mut self, mut len: usize) -> Result<(), ClientError> {
        loop {
            let here = len.min(self.to - self.from);
            self.from += here;
            len -= here;
            if len == 0 {
                return Ok(());
            }
            self.need(1)?;
        }
    }

    /// Receives until so many bytes are there.
    fn need(&mut self, bytes: usize) -> Result<(), ClientError> {
        if self.buffer.len() < bytes.max(BUFFER) {
            self.buffer.resize(bytes.max(BUFFER), 0);
        }
        if self.to - self.from < bytes && self.from > 0 {
            self.buffer.copy_within(self.from..self.to, 0);
            (self.from, self.to) = (0, self.to - self.from);
        }
        while self.to - self.from < bytes {
            match self.stream.read(&mut self.buffer[self.to..])? {
                0 => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
                received => self.to += received,
            }
        }
        Ok(())
    }

    fn send(&mut self, seq: &mut u8, payload: &[u8]) -> Result<(), ClientError> {
        let mut bytes = Vec::new();
        write_packet(&mut bytes, seq, payload);
        self.stream.write_all(&bytes)?;
        self.stream.flush()?;
        Ok(())
    }
}

fn credentials() -> BackendCredentials {
    BackendCredentials {
        user: USER.into(),
        secret: ClientSecret::password(PASSWORD.as_bytes()),
        database: Some(SCHEMA.into()),
        capabilities: CapabilityFlags::CLIENT_PROTOCOL_41,
        mariadb_capabilities: MariadbCapabilities::empty(),
        collation: 45,
        attributes: Vec::new(),
        allow_public_key_retrieval: true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardwright_testkit::{MariaDb, Options};

    #[test]
    fn rows_are_counted_and_errors_told() {
        let server = MariaDb::start(Options::default()).unwrap();
        server.run(format!("CREATE DATABASE {SCHEMA}")).unwrap();
        let refused = WireClient::connect(server.address(), &Security::Plain).unwrap_err();
        assert_eq!(refused.code(), Some(1045), "{refused}");
        server
            .create_user(USER, PASSWORD, Some(&format!("ALL ON {SCHEMA}.*")))
            .unwrap();
        let mut client = WireClient::connect(server.address(), &Security::Plain).unwrap();
        assert_eq!(client.ask("DO 1").unwrap(), 0);
        assert_eq!(
            client.ask("SELECT REPEAT('x', 200) FROM seq_1_to_5000").unwrap(),
            5_000
        );
        // An empty string begins with the byte of an OK, and a value of 70,000 bytes does not fit the buffer.
        assert_eq!(
            client
                .ask("SELECT '' UNION ALL SELECT REPEAT('y', 70000)")
                .unwrap(),
            2
        );
        let wrong = client.ask("SELECT nothing").unwrap_err();
        assert_eq!(wrong.code(), Some(1054), "{wrong}");
        assert_eq!(client.ask("SELECT 1").unwrap(), 1);
        client.close().unwrap();
    }
}
