//! The protocol by hand, for clients and servers that do what no driver does.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use shardwright_wire::{
    BackendCredentials, CapabilityFlags, ClientLogin, ClientSecret, ClientStep, Command, Greeting,
    MariadbCapabilities, Privacy, ResponseScanner, ResponseShape, write_packet,
};

use crate::support::{ADMIN_PASSWORD, PASSWORD, PATIENCE, USER};

/// The next packet's payload; `None` when the other side has closed.
pub(crate) fn packet(stream: &mut impl Read) -> Option<Vec<u8>> {
    let mut packet = whole_packet(stream)?;
    Some(packet.split_off(4))
}

/// The next packet, header included; `None` when the other side has closed.
pub(crate) fn whole_packet(stream: &mut impl Read) -> Option<Vec<u8>> {
    let mut bytes = vec![0; 4];
    stream.read_exact(&mut bytes).ok()?;
    let len = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], 0]) as usize;
    bytes.resize(4 + len, 0);
    stream.read_exact(&mut bytes[4..]).ok()?;
    Some(bytes)
}

/// A payload as a packet.
pub(crate) fn framed(mut seq: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_packet(&mut bytes, &mut seq, payload);
    bytes
}

/// Sends a payload.
pub(crate) fn send(stream: &mut impl Write, seq: u8, payload: &[u8]) {
    stream.write_all(&framed(seq, payload)).unwrap();
    stream.flush().unwrap();
}

/// The user that tests log in as.
pub(crate) fn credentials() -> BackendCredentials {
    BackendCredentials {
        user: USER.into(),
        secret: ClientSecret::password(PASSWORD.as_bytes()),
        database: None,
        capabilities: CapabilityFlags::CLIENT_PROTOCOL_41,
        mariadb_capabilities: MariadbCapabilities::empty(),
        collation: 45,
        attributes: Vec::new(),
        allow_public_key_retrieval: true,
    }
}

/// The administrator that tests log in as.
pub(crate) fn admin_credentials() -> BackendCredentials {
    BackendCredentials {
        user: "admin".into(),
        secret: ClientSecret::password(ADMIN_PASSWORD.as_bytes()),
        ..credentials()
    }
}

/// A client that has logged in and sends whatever it is told to.
pub(crate) struct RawClient {
    pub(crate) stream: TcpStream,
}

impl RawClient {
    pub(crate) fn log_in(address: SocketAddr) -> Self {
        Self::log_in_with(address, CapabilityFlags::empty())
    }

    /// With these capabilities beside those that are required.
    pub(crate) fn log_in_with(address: SocketAddr, capabilities: CapabilityFlags) -> Self {
        Self::log_in_to(address, capabilities, None).0
    }

    /// Into a schema; also the payload of the answer.
    pub(crate) fn log_in_to(
        address: SocketAddr,
        capabilities: CapabilityFlags,
        schema: Option<&str>,
    ) -> (Self, Vec<u8>) {
        let mut credentials = credentials();
        credentials.capabilities |= capabilities;
        credentials.database = schema.map(Into::into);
        let (client, answer, _) = Self::log_in_as(address, &credentials);
        (client, answer)
    }

    /// Also the payload of the answer, and the greeting.
    pub(crate) fn log_in_as(
        address: SocketAddr,
        credentials: &BackendCredentials,
    ) -> (Self, Vec<u8>, Greeting) {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut client = Self { stream };
        let greeting = ClientLogin::greeting(&client.packet().unwrap()).unwrap();
        let (mut login, answer) = ClientLogin::start(&greeting, credentials, Privacy::Plain).unwrap();
        client.send(1, &answer);
        loop {
            let packet = client.whole_packet().unwrap();
            match login.on_payload(&packet[4..]).unwrap() {
                ClientStep::Ready { .. } => return (client, packet[4..].to_vec(), greeting),
                ClientStep::Send(answer) => client.send(packet[3].wrapping_add(1), &answer),
                ClientStep::Wait => {}
            }
        }
    }

    pub(crate) fn send(&mut self, seq: u8, payload: &[u8]) {
        send(&mut self.stream, seq, payload);
    }

    /// The next packet's payload; `None` when the proxy has closed.
    pub(crate) fn packet(&mut self) -> Option<Vec<u8>> {
        packet(&mut self.stream)
    }

    /// The next packet, header included.
    pub(crate) fn whole_packet(&mut self) -> Option<Vec<u8>> {
        whole_packet(&mut self.stream)
    }

    /// The whole answer to a command that takes one packet.
    pub(crate) fn ask(&mut self, command: &Command<'_>) -> Vec<u8> {
        let mut payload = Vec::new();
        command.encode(&mut payload);
        self.send(0, &payload);
        self.answer(command.response_shape())
    }

    /// The whole answer to a command that was sent.
    pub(crate) fn answer(&mut self, shape: ResponseShape) -> Vec<u8> {
        let mut scanner = ResponseScanner::new(CapabilityFlags::empty());
        scanner.begin(shape, 1);
        let mut answer = Vec::new();
        while !scanner.is_complete() {
            let packet = self.whole_packet().unwrap();
            scanner.feed(&packet).unwrap();
            answer.extend(packet);
        }
        answer
    }

    /// The number of the error that a command is answered with; 0 for another answer.
    pub(crate) fn code(&mut self, payload: &[u8]) -> Option<u16> {
        self.send(0, payload);
        let answer = self.packet()?;
        match answer.as_slice() {
            [0xFF, low, high, ..] => Some(u16::from_le_bytes([*low, *high])),
            _ => Some(0),
        }
    }
}
