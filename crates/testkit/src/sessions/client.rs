//! A client that does what its script says, and holds every answer to what it has asked.

use std::rc::Rc;
use std::time::{Duration, Instant};

use shardwright_wire::{
    BackendCredentials, CapabilityFlags, ClientLogin, ClientSecret, ClientStep, Command, FrameCodec,
    Greeting, MariadbCapabilities, Outcome, PrepareOk, Privacy, ResponseScanner, ResponseShape, ScanEvent,
    StatusFlags, capability, take_packet, write_packet,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

use super::COPIES_END;
use super::attributes::with_attributes;
use super::case::Case;
use super::commands::{Deed, Shows, deed, shown_by};
use super::script::Script;
use super::token::Token;

/// Commands of a client at most.
const MOST_DEEDS: u32 = 40;
/// Longer than anything that the proxy or a server waits for.
const PATIENCE: Duration = Duration::from_secs(300);
const PIECE: usize = 3;
/// What a client waits for after a command.
const ANSWER: &str = "an answer";

/// The client's session is over.
pub(super) struct Left;

type Flow<T = ()> = Result<T, Left>;

pub(super) struct Client {
    stream: UnixStream,
    received: Vec<u8>,
    /// Frames are spoken.
    codec: Option<FrameCodec>,
    case: Rc<Case>,
    script: Script,
    /// What all clients of the case lack of the capabilities that change answers.
    shaping: u8,
    capabilities: CapabilityFlags,
    owner: u32,
    statements: u32,
    prepared: Vec<(u32, Shows)>,
    /// BEGIN was answered with OK, and nothing that may have ended the transaction was sent since.
    in_transaction: bool,
    /// It has done what may end its session.
    is_rude: bool,
}

impl Client {
    pub(super) fn new(stream: UnixStream, case: Rc<Case>, script: Script, shaping: u8) -> Self {
        Self {
            stream,
            received: Vec::new(),
            codec: None,
            owner: case.owner(),
            case,
            script,
            shaping,
            capabilities: CapabilityFlags::empty(),
            statements: 0,
            prepared: Vec::new(),
            in_transaction: false,
            is_rude: false,
        }
    }

    /// Lives until the script is over, or the session.
    pub(super) async fn run(mut self, is_behind_balancer: bool) {
        let Err(Left) = self.live(is_behind_balancer).await else {
            return;
        };
    }

    async fn live(&mut self, is_behind_balancer: bool) -> Flow {
        if is_behind_balancer {
            self.introduce().await?;
        }
        let greeting = self.log_in().await?;
        while !self.script.is_over() && self.statements < MOST_DEEDS {
            self.statements += 1;
            let token = Token {
                owner: self.owner,
                statement: self.statements,
            };
            match deed(&self.script, token, &self.prepared) {
                Deed::Ask { payload, shows } => {
                    let said = self.as_said(payload.clone(), token);
                    self.ask(&payload, &said, token, shows).await?;
                }
                Deed::Rude(payload) => {
                    self.is_rude = true;
                    self.ask(&payload, &payload, token, Shows::Own).await?;
                }
                Deed::ChangeUser => self.change_user(&greeting).await?,
                Deed::LeaveWithin(payload) => {
                    let packet = framed(0, &self.as_said(payload, token));
                    self.deliver(&packet[..self.script.below(packet.len())]).await?;
                    return Err(Left);
                }
                Deed::LeaveBehind(payload) => {
                    self.deliver(&framed(0, &self.as_said(payload, token))).await?;
                    return Err(Left);
                }
            }
        }
        self.deliver(&framed(0, &[1])).await
    }

    /// The header of a load balancer, or what is none.
    async fn introduce(&mut self) -> Flow {
        match self.script.byte() {
            0..=199 => self.deliver(b"PROXY TCP4 10.0.0.7 10.0.0.1 12345 3306\r\n").await,
            _ => {
                self.is_rude = true;
                let bytes = self.script.raw();
                self.deliver(&bytes).await
            }
        }
    }

    async fn log_in(&mut self) -> Flow<Greeting> {
        let (payload, seq) = self.packet().await?;
        let greeting = ClientLogin::greeting(&payload).map_err(|_| Left)?;
        if self.script.byte() >= 230 {
            // Not a login. Whether the proxy answers or not, the connection ends in time.
            self.is_rude = true;
            let bytes = self.script.raw();
            self.deliver(&bytes).await?;
            loop {
                self.read("the end of a login that is none").await?;
            }
        }
        let mut credentials = credentials(self.shaping, self.script.byte());
        credentials.database = (self.script.byte() & 3 == 3).then(|| b"elsewhere".to_vec());
        let (mut login, answer) = ClientLogin::start(&greeting, &credentials, Privacy::Tls)
            .expect("the proxy's greeting can be answered");
        self.deliver(&framed(seq, &answer)).await?;
        self.capabilities = self.prove(&mut login).await?;
        let compresses = self.capabilities.contains(CapabilityFlags::CLIENT_COMPRESS);
        self.codec = compresses.then(FrameCodec::default);
        Ok(greeting)
    }

    /// Goes on with a login until the proxy is content.
    async fn prove(&mut self, login: &mut ClientLogin) -> Flow<CapabilityFlags> {
        loop {
            let (payload, seq) = self.packet().await?;
            match login.on_payload(&payload) {
                Ok(ClientStep::Send(answer)) => self.deliver(&framed(seq, &answer)).await?,
                Ok(ClientStep::Wait) => {}
                Ok(ClientStep::Ready { capabilities, .. }) => return Ok(capabilities),
                Err(refused) => {
                    assert!(
                        self.case.has_lied() || self.is_rude,
                        "a login was refused: {refused}"
                    );
                    return Err(Left);
                }
            }
        }
    }

    async fn change_user(&mut self, greeting: &Greeting) -> Flow {
        let credentials = credentials(self.shaping, 0);
        let start = ClientLogin::start(greeting, &credentials, Privacy::Tls);
        let (mut login, _) = start.expect("it could be answered before");
        let body = [&b"geo\0\0\0"[..], &[45, 0], b"mysql_native_password\0"].concat();
        let mut payload = Vec::new();
        Command::ChangeUser(&body).encode(&mut payload);
        self.deliver(&framed(0, &payload)).await?;
        self.prove(&mut login).await?;
        self.begin_anew();
        Ok(())
    }

    fn begin_anew(&mut self) {
        self.owner = self.case.owner();
        self.prepared.clear();
        self.in_transaction = false;
    }

    /// A command with what this client adds to it.
    fn as_said(&self, payload: Vec<u8>, token: Token) -> Vec<u8> {
        match self
            .capabilities
            .contains(CapabilityFlags::CLIENT_QUERY_ATTRIBUTES)
        {
            true => with_attributes(payload, token),
            false => payload,
        }
    }

    /// Sends a command as it is said, and reads its answer if it has one.
    async fn ask(&mut self, payload: &[u8], said: &[u8], token: Token, shows: Shows) -> Flow {
        self.deliver(&framed(0, said)).await?;
        let command = Command::decode(payload);
        let shape = match &command {
            Ok(Command::Quit | Command::ChangeUser(_)) => return Err(Left),
            Ok(command) => command.response_shape(),
            Err(_malformed) => ResponseShape::Status,
        };
        if shape == ResponseShape::None {
            return Ok(());
        }
        let (answer, outcome) = self.answer(shape, token).await?;
        let found: Vec<Token> = Token::all_in(&answer).collect();
        let is_allowed = |found: &Token| match shows {
            Shows::Own => *found == token,
            Shows::Session => found.owner == self.owner,
            Shows::Prepared(of) => *found == of || *found == token,
        };
        let said = || String::from_utf8_lossy(payload).into_owned();
        assert!(
            found.iter().all(is_allowed),
            "{} ({token:?}) was answered with {found:?}",
            said()
        );
        self.case.answered(!found.is_empty(), outcome.error.is_some());
        self.check_transaction(payload, &outcome);
        if outcome.error.is_some() {
            return Ok(());
        }
        match command {
            Ok(Command::Query(text)) if text.starts_with(b"SELECT 'token") && !self.case.has_lied() => {
                assert!(!found.is_empty(), "{} was answered without its token", said());
            }
            Ok(Command::ResetConnection) => self.begin_anew(),
            Ok(Command::StmtPrepare(text)) => {
                let head = PrepareOk::decode(&answer[4..]).expect("an answer that was followed to its end");
                let shows = shown_by(text).unwrap_or(Shows::Prepared(token));
                self.prepared.push((head.statement_id, shows));
            }
            _ => {}
        }
        Ok(())
    }

    /// A statement in a transaction that the client has begun does not run outside of it.
    fn check_transaction(&mut self, payload: &[u8], outcome: &Outcome) {
        let Ok(Command::Query(text)) = Command::decode(payload) else {
            self.in_transaction = false;
            return;
        };
        let said = String::from_utf8_lossy(text);
        match &*said {
            _ if outcome.error.is_some() => self.in_transaction = false,
            text if text.starts_with("BEGIN") || text.starts_with("START") => self.in_transaction = true,
            text if text.starts_with("INSERT") && !text.contains(';') => {
                let is_inside = outcome
                    .status
                    .is_some_and(|status| status.contains(StatusFlags::SERVER_STATUS_IN_TRANS));
                let may_be_outside = !self.in_transaction || self.case.has_claimed();
                assert!(
                    is_inside || may_be_outside,
                    "{said} ran outside of its transaction"
                );
            }
            text if text.starts_with("SELECT 'token") && !text.contains(';') => {}
            _ => self.in_transaction = false,
        }
    }

    /// Reads a whole answer.
    async fn answer(&mut self, shape: ResponseShape, token: Token) -> Flow<(Vec<u8>, Outcome)> {
        let mut scanner = ResponseScanner::new(self.capabilities);
        scanner.begin(shape, 1);
        let mut answer = Vec::new();
        loop {
            if self.received.is_empty() {
                self.read(ANSWER).await?;
            }
            let fed = scanner.feed(&self.received);
            let feed =
                fed.unwrap_or_else(|error| panic!("no answer: {error}: {:?}, {answer:?}", self.received));
            answer.extend(self.received.drain(..feed.consumed));
            match feed.event {
                ScanEvent::More => {}
                ScanEvent::LocalInfile => {
                    let asked = scanner.outcome().infile.clone().unwrap_or_default();
                    let takes = self.capabilities.contains(CapabilityFlags::CLIENT_LOCAL_FILES);
                    assert!(takes, "a client that gives no files is asked for one");
                    assert_eq!(
                        asked,
                        token.to_string().into_bytes(),
                        "a file that the statement does not name"
                    );
                    let mut file = framed(2, b"a,b");
                    file.extend(framed(3, b""));
                    self.deliver(&file).await?;
                    scanner.resume_after_infile(4);
                }
                ScanEvent::Complete => {
                    assert!(
                        self.received.is_empty(),
                        "there is more behind an answer: {:?}",
                        self.received
                    );
                    return Ok((answer, scanner.outcome().clone()));
                }
            }
        }
    }

    /// The next payload, and the sequence number behind it.
    async fn packet(&mut self) -> Flow<(Vec<u8>, u8)> {
        loop {
            let packet = take_packet(&self.received, 1 << 20).expect("a packet of the proxy's");
            if let Some(packet) = packet {
                let (payload, next) = (packet.payload.to_vec(), packet.last_seq.wrapping_add(1));
                let consumed = packet.consumed;
                self.received.drain(..consumed);
                return Ok((payload, next));
            }
            self.read("a packet of the login").await?;
        }
    }

    /// Reads what comes, which is not always a plain byte where frames are spoken. The proxy closes only where a server has lied, or
    /// the client was rude.
    async fn read(&mut self, what: &str) -> Flow {
        let mut bytes = Vec::new();
        let began = Instant::now();
        let read = loop {
            let read = tokio::time::timeout(PATIENCE, self.stream.read_buf(&mut bytes)).await;
            if let Ok(read) = read {
                break read;
            }
            // What the proxy forwards may be cut off by a server that says no more. Everything else ends in time.
            if what == ANSWER && self.case.has_lied() {
                return Err(Left);
            }
            assert!(began.elapsed() < COPIES_END, "{what} does not come");
        };
        if !matches!(read, Ok(1..)) {
            let may_close = self.case.has_lied() || self.is_rude;
            assert!(may_close, "the proxy closes in place of {what}");
            return Err(Left);
        }
        match &mut self.codec {
            None => self.received.extend(bytes),
            Some(codec) => codec
                .receive(&bytes, &mut self.received)
                .expect("frames of the proxy's"),
        }
        Ok(())
    }

    /// Sends bytes as the network may deliver them.
    async fn deliver(&mut self, bytes: &[u8]) -> Flow {
        let pieces = match self.script.byte() {
            0..=199 => bytes.len().max(1),
            _ => PIECE,
        };
        let mut frames = Vec::new();
        let bytes = match &mut self.codec {
            None => bytes,
            Some(codec) => {
                codec.send(bytes, &mut frames);
                &frames
            }
        };
        for piece in bytes.chunks(pieces) {
            // The proxy may have closed.
            self.stream.write_all(piece).await.map_err(|_| Left)?;
            if piece.len() < bytes.len() {
                tokio::task::yield_now().await;
            }
        }
        Ok(())
    }
}

/// Capabilities that change answers: only clients with the same ones share server connections.
const SHAPING: [CapabilityFlags; 5] = [
    CapabilityFlags::CLIENT_DEPRECATE_EOF,
    CapabilityFlags::CLIENT_SESSION_TRACK,
    CapabilityFlags::CLIENT_MULTI_RESULTS,
    CapabilityFlags::CLIENT_FOUND_ROWS,
    CapabilityFlags::CLIENT_QUERY_ATTRIBUTES,
];
/// Others that a client may have.
const OTHERS: [CapabilityFlags; 3] = [
    CapabilityFlags::CLIENT_LOCAL_FILES,
    CapabilityFlags::CLIENT_MULTI_STATEMENTS,
    CapabilityFlags::CLIENT_IGNORE_SPACE,
];

/// Those of a user without a password. A bit takes a capability away.
fn credentials(shaping: u8, choice: u8) -> BackendCredentials {
    let mut capabilities = capability::UNDERSTOOD;
    for (all, choice) in [(&SHAPING[..], shaping), (&OTHERS, choice)] {
        for (bit, capability) in all.iter().enumerate() {
            capabilities.set(*capability, choice >> bit & 1 == 0);
        }
    }
    capabilities.set(CapabilityFlags::CLIENT_COMPRESS, choice >> 6 == 3);
    BackendCredentials {
        user: match choice >> 6 {
            1 => b"geo".to_vec(),
            _ => b"app".to_vec(),
        },
        secret: ClientSecret::password(b""),
        database: None,
        capabilities,
        mariadb_capabilities: MariadbCapabilities::empty(),
        collation: 45,
        attributes: Vec::new(),
        allow_public_key_retrieval: false,
    }
}

fn framed(mut seq: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_packet(&mut bytes, &mut seq, payload);
    bytes
}
