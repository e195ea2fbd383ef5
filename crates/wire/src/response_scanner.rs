//! Following a server's response as it streams by: where it ends and what it was.
//!
//! Row packets are passed over by length; only packets that decide something (OK, ERR, EOF, counts) are copied, up to
//! a limit. Memory does not grow with the response.

mod class;

use mysql_common::constants::{CapabilityFlags, StatusFlags};
use thiserror::Error;

use self::class::Class;
use crate::bytes::{DecodeError, Reader};
use crate::command::ResponseShape;
use crate::errors::MysqlError;
use crate::outcome::{Outcome, OutcomeKind};
use crate::packet::MAX_CHUNK;
use crate::response::{EofPacket, OkPacket, PrepareOk};
use crate::scan::{PacketHead, PacketScanner, Piece};

/// Bytes kept of a packet that decides something. Longer session state is cut off and said to be.
const CAPTURE_LIMIT: usize = 64 * 1024;
/// A table has 4096 columns at most. The select list of a result has no limit but the length of the statement.
const MAX_COLUMNS: u32 = 0xFF_FFFF;
/// From this first byte on, a packet among rows can be something else than a row.
const FIRST_OF_NO_ROW: u8 = 0xFE;
/// Below this length a packet that starts with `0xFE` among rows is an EOF packet; a row has an eight-byte length after it.
const OLD_EOF_LIMIT: u32 = 9;

/// What [`ResponseScanner::feed`] has to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScanEvent {
    /// The response goes on: forward the bytes and bring more.
    More,
    /// The server waits for a file of the client; afterwards call [`ResponseScanner::resume_after_infile`].
    LocalInfile,
    /// The response is complete.
    Complete,
}

/// The result of feeding bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Feed {
    /// Bytes that belong to the response; bytes after them came too early.
    pub consumed: usize,
    /// What happened with the last of them.
    pub event: ScanEvent,
}

/// The server does not follow the protocol; the connection cannot be used any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ScanError {
    /// Sequence numbers are not consecutive.
    #[error("packet {found} came where packet {expected} belongs")]
    OutOfOrder {
        /// The sequence number that follows.
        expected: u8,
        /// The sequence number that came.
        found: u8,
    },
    /// A packet that cannot stand here.
    #[error("a packet that starts with {first:#04x} cannot stand here (length {len})")]
    Unexpected {
        /// First payload byte.
        first: u8,
        /// Payload length.
        len: u32,
    },
    /// A packet that decides something is malformed.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// Bytes came after the response was complete.
    #[error("bytes came when none were due")]
    NotExpected,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Complete,
    First,
    Definitions { left: u32, then: Then },
    DefinitionsEof { then: Then },
    Rows,
    FieldList,
    AfterInfile,
}

/// What follows a block of definitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    Rows,
    Columns(u32),
    Complete,
}

/// Follows one response after another on a connection to a server.
#[derive(Debug)]
pub struct ResponseScanner {
    deprecates_eof: bool,
    tracks_session: bool,
    packets: PacketScanner,
    shape: ResponseShape,
    phase: Phase,
    class: Class,
    next_seq: u8,
    is_continued: bool,
    /// The result has OUT parameters: an OK follows, though MySQL leaves that out of its last EOF.
    has_out_parameters: bool,
    captured: Vec<u8>,
    is_cut: bool,
    outcome: Outcome,
}

impl ResponseScanner {
    /// A scanner for a connection that speaks `capabilities`.
    #[must_use]
    pub fn new(capabilities: CapabilityFlags) -> Self {
        Self {
            deprecates_eof: capabilities.contains(CapabilityFlags::CLIENT_DEPRECATE_EOF),
            tracks_session: capabilities.contains(CapabilityFlags::CLIENT_SESSION_TRACK),
            packets: PacketScanner::new(),
            shape: ResponseShape::None,
            phase: Phase::Complete,
            class: Class::Row,
            next_seq: 0,
            is_continued: false,
            has_out_parameters: false,
            captured: Vec::new(),
            is_cut: false,
            outcome: Outcome::default(),
        }
    }

    /// Begins a response of this shape; `next_seq` is one more than the last sequence number of the command.
    pub fn begin(&mut self, shape: ResponseShape, next_seq: u8) {
        self.outcome.clear();
        self.packets = PacketScanner::new();
        self.shape = shape;
        self.next_seq = next_seq;
        self.is_continued = false;
        self.has_out_parameters = false;
        self.captured.clear();
        self.is_cut = false;
        self.phase = match shape {
            ResponseShape::None => {
                self.outcome.kind = OutcomeKind::Nothing;
                Phase::Complete
            }
            ResponseShape::Rows => Phase::Rows,
            ResponseShape::Definitions => Phase::FieldList,
            _ => Phase::First,
        };
    }

    /// The client has sent its file, the last packet of which had the sequence number before `next_seq`.
    pub fn resume_after_infile(&mut self, next_seq: u8) {
        self.next_seq = next_seq;
    }

    /// The response is complete, or there is none.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.phase == Phase::Complete
    }

    /// What is known of the response; final when it is complete.
    #[must_use]
    pub fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    /// Takes bytes as they arrive, in pieces of any size.
    ///
    /// # Errors
    /// [`ScanError`] when the bytes are no response of the expected shape. Never panics, whatever comes.
    pub fn feed(&mut self, input: &[u8]) -> Result<Feed, ScanError> {
        if self.phase == Phase::Complete && !input.is_empty() {
            return Err(ScanError::NotExpected);
        }
        let mut rest = input;
        let event = loop {
            self.pass_over(&mut rest);
            if self.phase == Phase::Complete {
                break ScanEvent::Complete;
            }
            let event = match self.packets.take_whole(&mut rest) {
                Some((head, payload)) => {
                    self.on_head(head)?;
                    self.on_whole(payload)?
                }
                None => match self.packets.next(&mut rest) {
                    Some(piece) => self.on_piece(piece)?,
                    None => break ScanEvent::More,
                },
            };
            if event != ScanEvent::More {
                break event;
            }
        };
        Ok(Feed {
            consumed: input.len() - rest.len(),
            event,
        })
    }

    /// Passes over definitions and rows that have come whole: nothing of them is looked at.
    #[inline]
    fn pass_over(&mut self, rest: &mut &[u8]) {
        if let Phase::Definitions { left, then } = self.phase {
            let packets = &mut self.packets;
            let passed = packets.skip_whole_up_to(left, rest, &mut self.next_seq, FIRST_OF_NO_ROW);
            if passed > 0 {
                self.phase = self.after_definition(left - passed, then);
            }
        }
        if self.phase == Phase::Rows {
            let packets = &mut self.packets;
            self.outcome.rows += packets.skip_whole(rest, &mut self.next_seq, FIRST_OF_NO_ROW);
        }
    }

    /// A part of a packet that comes in several.
    fn on_piece(&mut self, piece: Piece<'_>) -> Result<ScanEvent, ScanError> {
        match piece {
            Piece::Head(head) => self.on_head(head)?,
            Piece::Body { bytes, end } => {
                if self.class.is_captured() {
                    self.capture(bytes);
                }
                if end && !self.is_continued && self.class != Class::Row {
                    return self.on_packet();
                }
            }
        }
        Ok(ScanEvent::More)
    }

    #[inline]
    fn on_head(&mut self, head: PacketHead) -> Result<(), ScanError> {
        self.is_continued = head.is_continued();
        let expected = std::mem::replace(&mut self.next_seq, head.seq.wrapping_add(1));
        let is_error = head.first == 0xFF && !head.continuation;
        // A server that ends a connection (shutdown, kill, idle) numbers its last error as it likes.
        if head.seq != expected && !is_error {
            return Err(ScanError::OutOfOrder {
                expected,
                found: head.seq,
            });
        }
        if head.continuation {
            return Ok(());
        }
        if self.phase == Phase::Rows && head.first < FIRST_OF_NO_ROW {
            self.class = Class::Row;
            self.outcome.rows += 1;
            return Ok(());
        }
        self.class = self.classify(head)?;
        Ok(())
    }

    fn classify(&mut self, head: PacketHead) -> Result<Class, ScanError> {
        let PacketHead { len, first, .. } = head;
        let unexpected = Err(ScanError::Unexpected { first, len });
        if len == 0 {
            return unexpected;
        }
        if first == 0xFF {
            return Ok(Class::Error);
        }
        let is_end = first == 0xFE
            && match self.deprecates_eof {
                true => len < MAX_CHUNK as u32,
                false => len < OLD_EOF_LIMIT,
            };
        let end = match len == EofPacket::LEN as u32 {
            true => Class::Eof,
            false => Class::Ok,
        };
        match self.phase {
            Phase::Rows if is_end => Ok(end),
            Phase::Rows => {
                self.outcome.rows += 1;
                Ok(Class::Row)
            }
            Phase::FieldList if is_end => Ok(end),
            Phase::FieldList => Ok(Class::Definition),
            Phase::Definitions { .. } if first != 0xFE => Ok(Class::Definition),
            Phase::DefinitionsEof { .. } if is_end && end == Class::Eof => Ok(Class::Eof),
            Phase::AfterInfile if first == 0x00 => Ok(Class::Ok),
            Phase::First => match (self.shape, first) {
                (ResponseShape::Text, _) => Ok(Class::Text),
                (ResponseShape::Prepare, 0x00) => Ok(Class::Prepared),
                (ResponseShape::Prepare, _) => unexpected,
                (_, 0x00) => Ok(Class::Ok),
                (ResponseShape::Status, 0xFE) if is_end => Ok(end),
                (shape, 0xFB) if shape.has_results() => Ok(Class::Infile),
                (shape, 0x01..=0xFD) if shape.has_results() => Ok(Class::Count),
                _ => unexpected,
            },
            _ => unexpected,
        }
    }

    fn capture(&mut self, bytes: &[u8]) {
        let space = CAPTURE_LIMIT - self.captured.len();
        self.is_cut |= bytes.len() > space;
        self.captured.extend_from_slice(&bytes[..bytes.len().min(space)]);
    }

    /// A packet has come at once; nothing of it is kept.
    fn on_whole(&mut self, payload: &[u8]) -> Result<ScanEvent, ScanError> {
        let limit = CAPTURE_LIMIT * usize::from(self.class.is_captured());
        self.is_cut = limit > 0 && payload.len() > limit;
        let event = self.decide(&payload[..payload.len().min(limit)]);
        self.is_cut = false;
        event
    }

    /// A packet other than a row is complete.
    fn on_packet(&mut self) -> Result<ScanEvent, ScanError> {
        let captured = std::mem::take(&mut self.captured);
        let event = self.decide(&captured);
        self.captured = captured;
        self.captured.clear();
        self.is_cut = false;
        event
    }

    fn decide(&mut self, packet: &[u8]) -> Result<ScanEvent, ScanError> {
        match self.class {
            Class::Row => Ok(ScanEvent::More),
            Class::Definition => {
                if let Phase::Definitions { left, then } = self.phase {
                    self.phase = self.after_definition(left - 1, then);
                }
                Ok(self.progress())
            }
            Class::Text => {
                self.outcome.kind = OutcomeKind::Text;
                Ok(self.complete())
            }
            Class::Error => {
                self.outcome.error = Some(MysqlError::decode(packet)?);
                self.outcome.kind = OutcomeKind::Error;
                Ok(self.complete())
            }
            Class::Ok => {
                let status = self.take_ok(packet)?;
                Ok(self.end_of_result(status))
            }
            Class::Eof => {
                let eof = EofPacket::decode(packet)?;
                self.outcome.status = Some(eof.status);
                self.outcome.warnings = eof.warnings;
                if let Phase::DefinitionsEof { then } = self.phase {
                    return Ok(self.after_definitions_eof(then, eof.status));
                }
                Ok(self.end_of_result(eof.status))
            }
            Class::Prepared => {
                let prepared = PrepareOk::decode(packet)?;
                self.outcome.prepared = Some(prepared);
                self.outcome.kind = OutcomeKind::Prepared;
                self.outcome.columns = prepared.columns;
                self.outcome.warnings = prepared.warnings;
                let columns = Then::Columns(prepared.columns.into());
                self.phase = self.block(prepared.parameters.into(), columns);
                Ok(self.progress())
            }
            Class::Infile => {
                self.outcome.infile = Some(packet[1..].to_vec());
                self.phase = Phase::AfterInfile;
                Ok(ScanEvent::LocalInfile)
            }
            Class::Count => {
                let mut reader = Reader::new(packet);
                let count = reader.lenenc_int()?;
                reader.finish()?;
                let is_possible = |count: &u32| (1..=MAX_COLUMNS).contains(count);
                let Some(count) = u32::try_from(count).ok().filter(is_possible) else {
                    return Err(
                        DecodeError::Malformed("a result set without columns, or with too many").into(),
                    );
                };
                self.outcome.columns = u16::try_from(count).unwrap_or(u16::MAX);
                self.phase = Phase::Definitions {
                    left: count,
                    then: Then::Rows,
                };
                Ok(ScanEvent::More)
            }
        }
    }

    /// The phase for a block of `count` definitions, which is left out when there are none.
    fn block(&self, count: u32, then: Then) -> Phase {
        match (count, then) {
            (0, Then::Columns(columns)) => self.block(columns, Then::Complete),
            (0, _) => Phase::Complete,
            (left, then) => Phase::Definitions { left, then },
        }
    }

    fn after_definition(&self, left: u32, then: Then) -> Phase {
        match (left, then) {
            (0, then) if !self.deprecates_eof => Phase::DefinitionsEof { then },
            (0, Then::Rows) => Phase::Rows,
            (0, Then::Columns(columns)) => self.block(columns, Then::Complete),
            (0, Then::Complete) => Phase::Complete,
            (left, then) => Phase::Definitions { left, then },
        }
    }

    fn after_definitions_eof(&mut self, then: Then, status: StatusFlags) -> ScanEvent {
        self.has_out_parameters = status.contains(StatusFlags::SERVER_PS_OUT_PARAMS);
        self.phase = match then {
            // An execution that opened a cursor has no rows: they are fetched (MySQL internals, COM_STMT_EXECUTE).
            Then::Rows if self.opens_cursor(status) => return self.end_of_rows(status),
            Then::Rows => Phase::Rows,
            Then::Columns(columns) => self.block(columns, Then::Complete),
            Then::Complete => Phase::Complete,
        };
        self.progress()
    }

    fn take_ok(&mut self, packet: &[u8]) -> Result<StatusFlags, ScanError> {
        let capabilities = match self.tracks_session && !self.is_cut {
            true => CapabilityFlags::CLIENT_SESSION_TRACK,
            false => CapabilityFlags::empty(),
        };
        let ok = OkPacket::decode(packet, capabilities)?;
        self.outcome.affected_rows = ok.affected_rows;
        self.outcome.last_insert_id = ok.last_insert_id;
        self.outcome.status = Some(ok.status);
        self.outcome.warnings = ok.warnings;
        let space = CAPTURE_LIMIT - self.outcome.session_state.len().min(CAPTURE_LIMIT);
        if self.is_cut || ok.session_state.len() > space {
            self.outcome.session_state_truncated = true;
        } else {
            self.outcome.session_state.extend_from_slice(ok.session_state);
        }
        Ok(ok.status)
    }

    fn end_of_result(&mut self, status: StatusFlags) -> ScanEvent {
        match self.phase {
            Phase::Rows | Phase::FieldList => self.end_of_rows(status),
            _ => {
                self.outcome.kind = OutcomeKind::Ok;
                self.next_result(status)
            }
        }
    }

    /// A CALL has the flag of a cursor too, and rows, while its routine has one open: an OK follows those in any case.
    fn opens_cursor(&self, status: StatusFlags) -> bool {
        self.shape == ResponseShape::BinaryResultsOrCursor
            && status.contains(StatusFlags::SERVER_STATUS_CURSOR_EXISTS)
            && !status.contains(StatusFlags::SERVER_MORE_RESULTS_EXISTS)
            && (self.outcome.results, self.outcome.rows) == (0, 0)
    }

    fn end_of_rows(&mut self, status: StatusFlags) -> ScanEvent {
        self.outcome.kind = OutcomeKind::ResultSet;
        self.outcome.has_cursor = self.opens_cursor(status);
        self.next_result(status)
    }

    fn next_result(&mut self, status: StatusFlags) -> ScanEvent {
        self.outcome.results += 1;
        let is_followed = std::mem::take(&mut self.has_out_parameters)
            || status.contains(StatusFlags::SERVER_MORE_RESULTS_EXISTS);
        if self.shape.has_results() && is_followed {
            self.outcome.kind = OutcomeKind::Pending;
            self.phase = Phase::First;
            return ScanEvent::More;
        }
        self.complete()
    }

    fn complete(&mut self) -> ScanEvent {
        self.phase = Phase::Complete;
        ScanEvent::Complete
    }

    fn progress(&self) -> ScanEvent {
        match self.phase {
            Phase::Complete => ScanEvent::Complete,
            _ => ScanEvent::More,
        }
    }
}
