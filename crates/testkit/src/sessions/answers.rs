//! The answers of an honest server, which remembers what a connection has set and prepared.

use std::collections::HashMap;

use shardwright_wire::binary::{BinaryCell, put_row};
use shardwright_wire::{
    CapabilityFlags, ColumnDefinition, ColumnType, Command, EofPacket, MysqlError, OkPacket, PrepareOk,
    ResultSetWriter, SessionChange, StatusFlags, append_packet, errors,
};

use super::attributes;
use super::token::Token;

/// What a server says beside the answer itself. An honest one says nothing.
#[derive(Default)]
pub(super) struct Claims {
    /// Bits of the status that are wrong.
    pub(super) wrong_status: u16,
    pub(super) warnings: u16,
    /// A block of session tracking.
    pub(super) tracked: Vec<u8>,
    /// More parameters of a prepared statement than it has.
    pub(super) more_parameters: u16,
}

/// An answer, or the request that comes before it.
pub(super) enum Answer {
    Nothing,
    Packets(Vec<u8>),
    /// The client's file, and OK once it has arrived.
    AfterFile(Vec<u8>),
}

struct Prepared {
    text: Vec<u8>,
    is_fetched: bool,
}

/// One connection's session.
pub(super) struct ServerSession {
    capabilities: CapabilityFlags,
    status: StatusFlags,
    /// The user variable that statements set.
    variable: Option<String>,
    prepared: HashMap<u32, Prepared>,
    last_prepared: u32,
    /// In the attributes of the command.
    attributes: Vec<Token>,
}

/// Columns of every result.
fn columns() -> [ColumnDefinition; 1] {
    [ColumnDefinition::new("a", ColumnType::MYSQL_TYPE_VAR_STRING)]
}

/// The text without comments in front, in capitals.
fn words(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text).to_uppercase();
    let mut rest = text.trim_start();
    while let Some((_, behind)) = rest
        .strip_prefix("/*")
        .and_then(|comment| comment.split_once("*/"))
    {
        rest = behind.trim_start();
    }
    rest.to_owned()
}

impl ServerSession {
    pub(super) fn new(capabilities: CapabilityFlags) -> Self {
        Self {
            capabilities,
            status: StatusFlags::SERVER_STATUS_AUTOCOMMIT,
            variable: None,
            prepared: HashMap::new(),
            last_prepared: 0,
            attributes: Vec::new(),
        }
    }

    /// Notes the attributes of a command, which are not in what is left of it.
    pub(super) fn attributes_of<'a>(&mut self, command: Command<'a>) -> Command<'a> {
        self.attributes.clear();
        if !self
            .capabilities
            .contains(CapabilityFlags::CLIENT_QUERY_ATTRIBUTES)
        {
            return command;
        }
        let (command, tokens) = attributes::read(command);
        self.attributes = tokens;
        command
    }

    /// What is answered to a command.
    pub(super) fn answer(&mut self, command: &Command<'_>, claims: &Claims) -> Answer {
        let bytes = match *command {
            Command::Quit | Command::StmtSendLongData { .. } => return Answer::Nothing,
            Command::StmtClose(id) => {
                self.prepared.remove(&id);
                return Answer::Nothing;
            }
            Command::Query(text) => return self.query(text, claims),
            Command::StmtPrepare(text) => self.prepare(text, claims),
            Command::StmtExecute {
                statement_id, flags, ..
            } => self.execute(statement_id, flags, claims),
            Command::StmtFetch { statement_id, .. } => self.fetch(statement_id, claims),
            Command::StmtReset(id) if !self.prepared.contains_key(&id) => unknown_statement(),
            Command::ResetConnection => {
                *self = Self::new(self.capabilities);
                self.ok(b"", claims)
            }
            Command::FieldList { .. } => {
                let mut out = Vec::new();
                let blocks = [&columns()[..]];
                let capabilities = self.capabilities - CapabilityFlags::CLIENT_DEPRECATE_EOF;
                // The sequence number behind the answer is of no use.
                let _next = ResultSetWriter::prepared(&mut out, 1, capabilities, &blocks, self.said(claims));
                out
            }
            Command::Statistics => one_packet(b"Uptime: 1"),
            Command::SetOption { .. } => {
                let mut payload = Vec::new();
                EofPacket {
                    warnings: claims.warnings,
                    status: self.said(claims),
                }
                .encode(&mut payload);
                one_packet(&payload)
            }
            Command::Unknown(_) | Command::ProcessInfo => {
                failed(&errors::UNKNOWN_COM.with("Unknown command"))
            }
            Command::InitDb(_)
            | Command::Ping
            | Command::StmtReset(_)
            | Command::ChangeUser(_)
            | Command::ProcessKill(_)
            | Command::Refresh(_)
            | Command::Debug
            | Command::StmtBulkExecute { .. } => self.ok(b"", claims),
        };
        Answer::Packets(bytes)
    }

    fn query(&mut self, text: &[u8], claims: &Claims) -> Answer {
        let words = words(text);
        if words.starts_with("LOAD DATA LOCAL") {
            let name = words_in_quotes(text);
            return Answer::AfterFile(name);
        }
        Answer::Packets(match self.row(text, &words) {
            Some(row) if words.starts_with("CALL") => {
                let mut more = Claims {
                    wrong_status: claims.wrong_status,
                    ..Claims::default()
                };
                more.wrong_status ^= StatusFlags::SERVER_MORE_RESULTS_EXISTS.bits();
                let mut out = self.rows(&row, false, &more);
                let mut seq = out_seq(&out);
                append_packet(&mut out, &mut seq, |out| self.ok_packet(b"", claims, out));
                out
            }
            Some(row) => self.rows(&row, false, claims),
            None => {
                let info = self.run(text, &words);
                self.ok(&info, claims)
            }
        })
    }

    /// The rows of a statement that has some.
    fn row(&self, text: &[u8], words: &str) -> Option<Vec<Vec<u8>>> {
        if !["SELECT", "SHOW", "CALL"]
            .iter()
            .any(|word| words.starts_with(word))
        {
            return None;
        }
        if words.contains("LIMIT 0") || words.contains("FROM DUAL WHERE") {
            return Some(Vec::new());
        }
        let mut value: String = Token::all_in(text).map(|token| token.to_string()).collect();
        if words.contains("@V") {
            value.push_str(self.variable.as_deref().unwrap_or_default());
        }
        if words.contains("ATTRIBUTE") {
            value.extend(self.attributes.iter().map(ToString::to_string));
        }
        if value.is_empty() {
            value.push('1');
        }
        Some(vec![value.into_bytes()])
    }

    /// Runs a statement without rows; the text of its OK.
    fn run(&mut self, text: &[u8], words: &str) -> Vec<u8> {
        let token: String = Token::all_in(text).map(|token| token.to_string()).collect();
        let open = StatusFlags::SERVER_STATUS_IN_TRANS;
        match words {
            _ if words.starts_with("BEGIN") || words.starts_with("START TRANSACTION") => self.status |= open,
            _ if words.starts_with("ROLLBACK TO") => {}
            _ if words.starts_with("COMMIT") || words.starts_with("ROLLBACK") => self.status -= open,
            _ if words.starts_with("SET AUTOCOMMIT") => {
                self.status -= open;
                self.status
                    .set(StatusFlags::SERVER_STATUS_AUTOCOMMIT, !words.contains('0'));
            }
            _ if words.starts_with("SET @V") => self.variable = Some(token),
            _ if words.contains("SQL_MODE") => {
                let flag = StatusFlags::SERVER_STATUS_NO_BACKSLASH_ESCAPES;
                self.status.set(flag, words.contains("NO_BACKSLASH"));
            }
            _ if words.starts_with("INSERT") => {
                self.status |= match self.status.contains(StatusFlags::SERVER_STATUS_AUTOCOMMIT) {
                    true => StatusFlags::empty(),
                    false => open,
                };
                // As a trigger may do.
                self.variable = Some(token.clone());
                return token.into_bytes();
            }
            _ => {}
        }
        Vec::new()
    }

    fn prepare(&mut self, text: &[u8], claims: &Claims) -> Vec<u8> {
        self.last_prepared += 1;
        let parameters = text.iter().filter(|&&byte| byte == b'?').count() as u16 + claims.more_parameters;
        let has_rows = self.row(text, &words(text)).is_some();
        let head = PrepareOk {
            statement_id: self.last_prepared,
            columns: u16::from(has_rows),
            parameters,
            warnings: claims.warnings,
        };
        let (mut out, mut seq) = (Vec::new(), 1);
        append_packet(&mut out, &mut seq, |out| head.encode(out));
        let of_parameters = vec![columns()[0].clone(); usize::from(parameters)];
        let of_columns = columns();
        let blocks = [&of_parameters[..], &of_columns[..usize::from(has_rows)]];
        let _next = ResultSetWriter::prepared(&mut out, seq, self.capabilities, &blocks, self.said(claims));
        let prepared = Prepared {
            text: text.to_vec(),
            is_fetched: false,
        };
        self.prepared.insert(self.last_prepared, prepared);
        out
    }

    fn execute(&mut self, id: u32, flags: u8, claims: &Claims) -> Vec<u8> {
        let Some(prepared) = self.prepared.get_mut(&id) else {
            return unknown_statement();
        };
        prepared.is_fetched = false;
        let text = prepared.text.clone();
        let words = words(&text);
        match self.row(&text, &words) {
            Some(_) if flags & 1 != 0 => {
                let status = self.said(claims) | StatusFlags::SERVER_STATUS_CURSOR_EXISTS;
                let mut out = Vec::new();
                let writer = ResultSetWriter::begin(&mut out, 1, self.capabilities, &columns(), status);
                if self.capabilities.contains(CapabilityFlags::CLIENT_DEPRECATE_EOF) {
                    writer.end(&mut out, status, claims.warnings);
                }
                out
            }
            Some(row) => self.rows(&row, true, claims),
            None => {
                let info = self.run(&text, &words);
                self.ok(&info, claims)
            }
        }
    }

    /// The row of an open cursor, then its end.
    fn fetch(&mut self, id: u32, claims: &Claims) -> Vec<u8> {
        let Some(prepared) = self.prepared.get_mut(&id) else {
            return unknown_statement();
        };
        let is_over = std::mem::replace(&mut prepared.is_fetched, true);
        let text = prepared.text.clone();
        let row = self
            .row(&text, &words(&text))
            .filter(|_| !is_over)
            .unwrap_or_default();
        let (mut out, mut seq) = (Vec::new(), 1);
        for value in &row {
            append_packet(&mut out, &mut seq, |out| {
                put_row(out, &[BinaryCell::Bytes(value)])
            });
        }
        let status = self.said(claims)
            | match is_over {
                true => StatusFlags::SERVER_STATUS_LAST_ROW_SENT,
                false => StatusFlags::SERVER_STATUS_CURSOR_EXISTS,
            };
        append_packet(&mut out, &mut seq, |out| {
            if self.capabilities.contains(CapabilityFlags::CLIENT_DEPRECATE_EOF) {
                OkPacket {
                    status,
                    ..OkPacket::default()
                }
                .encode_end_of_rows(out, self.capabilities);
            } else {
                EofPacket {
                    warnings: claims.warnings,
                    status,
                }
                .encode(out);
            }
        });
        out
    }

    fn rows(&self, values: &[Vec<u8>], is_binary: bool, claims: &Claims) -> Vec<u8> {
        let status = self.said(claims);
        let mut out = Vec::new();
        let mut writer = ResultSetWriter::begin(&mut out, 1, self.capabilities, &columns(), status);
        for value in values {
            match is_binary {
                true => writer.row(&mut out, |out| put_row(out, &[BinaryCell::Bytes(value)])),
                false => writer.text_row(&mut out, [Some(&value[..])]),
            }
        }
        writer.end(&mut out, status, claims.warnings);
        out
    }

    fn said(&self, claims: &Claims) -> StatusFlags {
        StatusFlags::from_bits_retain(self.status.bits() ^ claims.wrong_status)
    }

    /// OK as the whole answer.
    pub(super) fn ok(&self, info: &[u8], claims: &Claims) -> Vec<u8> {
        let mut payload = Vec::new();
        self.ok_packet(info, claims, &mut payload);
        one_packet(&payload)
    }

    fn ok_packet(&self, info: &[u8], claims: &Claims, out: &mut Vec<u8>) {
        let ok = OkPacket {
            affected_rows: u64::from(!info.is_empty()),
            status: self.said(claims),
            warnings: claims.warnings,
            info,
            session_state: &claims.tracked,
            ..OkPacket::default()
        };
        ok.encode(out, self.capabilities);
    }
}

/// A block that says that the schema is another.
pub(super) fn tracked_schema(name: &[u8]) -> Vec<u8> {
    let mut block = Vec::new();
    SessionChange::Schema(name).encode(&mut block);
    block
}

fn unknown_statement() -> Vec<u8> {
    failed(&errors::UNKNOWN.with("Unknown prepared statement handler"))
}

/// The first name in single quotes.
fn words_in_quotes(text: &[u8]) -> Vec<u8> {
    text.split(|&byte| byte == b'\'')
        .nth(1)
        .unwrap_or_default()
        .to_vec()
}

/// ERR as the whole answer.
pub(super) fn failed(error: &MysqlError) -> Vec<u8> {
    let mut payload = Vec::new();
    error.encode(&mut payload);
    one_packet(&payload)
}

/// A payload as the first packet of an answer.
pub(super) fn one_packet(payload: &[u8]) -> Vec<u8> {
    let (mut out, mut seq) = (Vec::new(), 1);
    append_packet(&mut out, &mut seq, |out| out.extend_from_slice(payload));
    out
}

/// The sequence number behind an answer of small packets.
fn out_seq(answer: &[u8]) -> u8 {
    1 + packets(answer).len() as u8
}

/// Where each packet of an answer begins.
pub(super) fn packets(answer: &[u8]) -> Vec<usize> {
    let mut starts = Vec::new();
    let mut at = 0;
    while let Some(&[low, middle, high, _]) = answer.get(at..at + 4).and_then(|header| header.first_chunk()) {
        starts.push(at);
        at += 4 + u32::from_le_bytes([low, middle, high, 0]) as usize;
    }
    starts
}
