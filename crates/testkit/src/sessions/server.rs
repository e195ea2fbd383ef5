//! A server that speaks the protocol as its script tells it.

use std::io;
use std::rc::Rc;
use std::time::Duration;

use shardwright_wire::auth::Scramble;
use shardwright_wire::{
    CapabilityFlags, ClientHello, Command, Greeting, MysqlError, append_packet, capability, take_packet,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;

use super::answers::{Answer, Claims, ServerSession, failed, one_packet};
use super::case::Case;
use super::lies::{Act, claims, lie};
use super::script::Script;

/// Largest command that is read.
const MAX_COMMAND: usize = 1 << 20;
const COLLATION: u8 = 45;

/// Takes on connections as long as it is polled.
pub(super) async fn serve(listener: UnixListener, case: Rc<Case>, script: Script) -> io::Result<()> {
    let mut connections = JoinSet::new();
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => accepted?.0,
            Some(ended) = connections.join_next() => {
                // That the proxy closes is what servers live with; a panic is a mistake of theirs.
                let _closed: io::Result<()> = ended.map_err(io::Error::other)?;
                continue;
            }
        };
        let connection = Connection {
            stream,
            received: Vec::new(),
            case: case.clone(),
            script: script.clone(),
        };
        connections.spawn_local(connection.run());
    }
}

struct Connection {
    stream: UnixStream,
    received: Vec<u8>,
    case: Rc<Case>,
    script: Script,
}

/// How a server answers one command.
enum Mood {
    Honest,
    /// Honest, a byte at a time.
    Slow,
    /// Honest, after a while.
    Late,
    /// Honest, with claims that are wrong.
    Boastful,
    Lying,
}

impl Connection {
    fn mood(&self) -> Mood {
        match self.script.byte() {
            0..=159 => Mood::Honest,
            160..=175 => Mood::Slow,
            176..=187 => Mood::Late,
            188..=215 => Mood::Boastful,
            _ => Mood::Lying,
        }
    }

    async fn run(mut self) -> io::Result<()> {
        let Some(capabilities) = self.log_in().await? else {
            return Ok(());
        };
        let mut session = ServerSession::new(capabilities);
        while let Some(payload) = self.packet().await? {
            let Ok(command) = Command::decode(&payload) else {
                let malformed = failed(&MysqlError::general(1835, "Malformed communication packet"));
                self.stream.write_all(&malformed).await?;
                continue;
            };
            if command == Command::Quit {
                return Ok(());
            }
            let command = session.attributes_of(command);
            if !self.answer(&mut session, &command).await? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// `false`: the server closes.
    async fn answer(&mut self, session: &mut ServerSession, command: &Command<'_>) -> io::Result<bool> {
        let mood = self.mood();
        let claims = match mood {
            Mood::Boastful => claims(&self.case, &self.script),
            _ => Claims::default(),
        };
        let answer = match session.answer(command, &claims) {
            Answer::Nothing => return Ok(true),
            Answer::Packets(answer) => answer,
            Answer::AfterFile(name) if matches!(mood, Mood::Lying) => {
                one_packet(&[&[0xFB], &name[..]].concat())
            }
            Answer::AfterFile(name) => {
                self.stream
                    .write_all(&one_packet(&[&[0xFB], &name[..]].concat()))
                    .await?;
                let Some(next) = self.file().await? else {
                    return Ok(false);
                };
                let mut ok = session.ok(b"", &claims);
                ok[3] = next;
                ok
            }
        };
        let acts = match mood {
            Mood::Honest | Mood::Boastful => vec![Act::Send(answer)],
            Mood::Slow => vec![Act::SendSlowly(answer)],
            Mood::Late => vec![Act::Pause(Duration::from_secs(3)), Act::Send(answer)],
            Mood::Lying => {
                let is_awaited = self.received.is_empty();
                lie(&self.case, &self.script, answer, is_awaited)
            }
        };
        self.act(acts).await
    }

    async fn act(&mut self, acts: Vec<Act>) -> io::Result<bool> {
        for act in acts {
            match act {
                Act::Send(bytes) => self.stream.write_all(&bytes).await?,
                Act::SendSlowly(bytes) => {
                    for byte in bytes {
                        self.stream.write_all(&[byte]).await?;
                        tokio::task::yield_now().await;
                    }
                }
                Act::Pause(time) => tokio::time::sleep(time).await,
                Act::Close => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Greets and lets in whoever comes; `None`: the connection is over.
    async fn log_in(&mut self) -> io::Result<Option<CapabilityFlags>> {
        let mut offered = capability::UNDERSTOOD - CapabilityFlags::CLIENT_COMPRESS;
        let setting = self.script.byte();
        if setting & 0x0F == 0x0F {
            self.case.claim();
            offered ^= CapabilityFlags::from_bits_retain(u32::from(self.script.word()) << 8);
        }
        offered.set(CapabilityFlags::CLIENT_QUERY_ATTRIBUTES, setting & 0x20 == 0);
        let version = match setting & 0x10 {
            0 => "8.4.3",
            _ => "10.11.6-MariaDB",
        };
        let scramble = Scramble(*b"a scramble of twenty");
        let greeting = Greeting::native(version, self.case.connection(), scramble, offered, COLLATION);
        if !self.say(0, &greeting.encode()).await? {
            return Ok(None);
        }
        let Some(payload) = self.packet().await? else {
            return Ok(None);
        };
        let Ok(ClientHello::Login(login)) = ClientHello::decode(&payload) else {
            return Ok(None);
        };
        if self.script.byte() >= 240 {
            // A method that nobody speaks, another challenge, or more of what was not asked for.
            self.case.claim();
            let (head, rest) = (
                [0xFE_u8, 0x01][usize::from(self.script.byte() & 1)],
                self.script.raw(),
            );
            if !self.say(2, &[&[head], &rest[..]].concat()).await? || self.packet().await?.is_none() {
                return Ok(None);
            }
            let ok = ServerSession::new(login.capabilities).ok(b"", &Claims::default());
            return Ok(self
                .say(4, &ok[4..])
                .await?
                .then_some(login.capabilities & offered));
        }
        let ok = ServerSession::new(login.capabilities).ok(b"", &Claims::default());
        Ok(self
            .say(2, &ok[4..])
            .await?
            .then_some(login.capabilities & offered))
    }

    /// Sends a packet of the login, or what a lie makes of it.
    async fn say(&mut self, mut seq: u8, payload: &[u8]) -> io::Result<bool> {
        let mut packet = Vec::new();
        append_packet(&mut packet, &mut seq, |out| out.extend_from_slice(payload));
        let acts = match self.script.byte() {
            0..=239 => vec![Act::Send(packet)],
            240..=243 => vec![Act::SendSlowly(packet)],
            _ => lie(&self.case, &self.script, packet, true),
        };
        self.act(acts).await
    }

    /// Reads the client's file; the sequence number behind it.
    async fn file(&mut self) -> io::Result<Option<u8>> {
        loop {
            match self.whole_packet().await? {
                None => return Ok(None),
                Some((payload, next)) if payload.is_empty() => return Ok(Some(next)),
                Some(_) => {}
            }
        }
    }

    async fn packet(&mut self) -> io::Result<Option<Vec<u8>>> {
        Ok(self.whole_packet().await?.map(|(payload, _)| payload))
    }

    /// The next payload, and the sequence number behind it; `None` when the proxy has closed.
    async fn whole_packet(&mut self) -> io::Result<Option<(Vec<u8>, u8)>> {
        loop {
            if let Some(packet) = take_packet(&self.received, MAX_COMMAND).map_err(io::Error::other)? {
                let found = (packet.payload.to_vec(), packet.last_seq.wrapping_add(1));
                let consumed = packet.consumed;
                self.received.drain(..consumed);
                return Ok(Some(found));
            }
            if self.stream.read_buf(&mut self.received).await? == 0 {
                return Ok(None);
            }
        }
    }
}
