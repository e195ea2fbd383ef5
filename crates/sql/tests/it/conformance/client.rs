//! A client that sends any bytes as a statement, which those for UTF-8 cannot.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

const COM_INIT_DB: u8 = 2;
const COM_QUERY: u8 = 3;
/// CLIENT_PROTOCOL_41, CLIENT_SECURE_CONNECTION and CLIENT_PLUGIN_AUTH.
const CAPABILITIES: u32 = 0x0200 | 0x8000 | 0x0008_0000;
const ANSWER_WITHIN: Duration = Duration::from_secs(60);

pub(super) struct Client {
    stream: io::BufReader<TcpStream>,
}

impl Client {
    /// A session of a user with an empty password.
    pub(super) fn connect(address: SocketAddr, user: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(ANSWER_WITHIN))?;
        stream.set_nodelay(true)?;
        let mut client = Client {
            stream: io::BufReader::new(stream),
        };
        client.packet()?;
        let mut answer = CAPABILITIES.to_le_bytes().to_vec();
        answer.extend((1_u32 << 24).to_le_bytes());
        answer.push(45);
        answer.extend([0; 23]);
        answer.extend(user.as_bytes());
        answer.extend(b"\0\0mysql_native_password\0");
        client.send(1, &[&answer])?;
        client.expect_ok()?;
        Ok(client)
    }

    /// Changes to the schema and runs the statement there, whatever the answer.
    pub(super) fn run_in(&mut self, schema: &str, statement: &[u8]) -> io::Result<()> {
        self.send(0, &[&[COM_INIT_DB], schema.as_bytes()])?;
        self.expect_ok()?;
        self.send(0, &[&[COM_QUERY], statement])?;
        let first = self.packet()?;
        if matches!(first.first(), Some(0 | 0xff)) {
            return Ok(());
        }
        // Columns and rows, each ended by an EOF packet.
        for _ in 0..2 {
            while !matches!(self.packet()?.as_slice(), [0xfe, rest @ ..] if rest.len() < 8) {}
        }
        Ok(())
    }

    fn expect_ok(&mut self) -> io::Result<()> {
        let answer = self.packet()?;
        match answer.first() {
            Some(0) => Ok(()),
            _ => Err(io::Error::other(answer.escape_ascii().to_string())),
        }
    }

    fn send(&mut self, sequence: u8, parts: &[&[u8]]) -> io::Result<()> {
        let body = parts.concat();
        let length = u32::try_from(body.len()).map_err(io::Error::other)?.to_le_bytes();
        let header = [length[0], length[1], length[2], sequence];
        self.stream.get_mut().write_all(&[&header[..], &body].concat())
    }

    fn packet(&mut self) -> io::Result<Vec<u8>> {
        let mut header = [0; 4];
        self.stream.read_exact(&mut header)?;
        let length = u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize;
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        Ok(body)
    }
}
