//! The answers to several statements, joined into the answer to one text that holds them all.
//!
//! A client that sends `INSERT …; SELECT …` in one COM_QUERY expects one sequence of packets: numbers that go on from one
//! result to the next, and SERVER_MORE_RESULTS_EXISTS in the status of each result but the last. The statements were sent
//! one by one, so each answer begins with number 1 and says that nothing follows.
//!
//! The idea: every packet gets the next number, and the last packet of an answer gets the flag. Which packet is the last
//! is known once it has ended, so the packet that is being received is held back. A packet longer than [`HELD`] cannot
//! carry a status (it is a row, or a part of one) and passes as it comes. The EOF behind definitions gets the flag as
//! well, as servers do it: among the packets of an answer, only EOF packets are five bytes that start with `0xFE`.
//!
//! Flags that the proxy knows of and the server does not, such as that of a transaction which has not been opened yet, are set
//! in the same packets.
//!
//! Invariant: what goes out has the same packets with the same payloads, but for these flags.
//!
//! ```text
//! in   1:OK(status 2)        1:count 2:definition 3:EOF(status 2) 4:row 5:EOF(status 2)
//! out  1:OK(status 2, more)  2:count 3:definition 4:EOF(status 2) 5:row 6:EOF(status 2)
//! ```

use mysql_common::constants::StatusFlags;
use thiserror::Error;

use crate::bytes::{DecodeError, Reader};
use crate::packet::{HEADER_LEN, PacketHeader};
use crate::response::EofPacket;

/// Bytes of a packet that are held back at most. A status is in front of everything that can be long.
const HELD: usize = 64 * 1024;

/// An answer that cannot be joined to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum SpliceError {
    /// The last packet is none that ends an answer.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The answer ends inside a packet, or with one that is too long for a status.
    #[error("the answer ends with no packet that ends one")]
    NoEnd,
}

/// Joins answers; one for each text.
#[derive(Debug)]
pub struct AnswerSplice {
    next_seq: u8,
    /// The answer that is being taken is followed by another.
    more_follow: bool,
    /// Flags of the session that the answer's server does not know of.
    session: StatusFlags,
    /// The header of the packet that is being taken, and its payload where it is short.
    held: Vec<u8>,
    /// Bytes of a long packet that are still to come.
    passing: usize,
    failed: bool,
}

impl AnswerSplice {
    /// `next_seq` is one more than the last sequence number of the text.
    #[must_use]
    pub fn new(next_seq: u8) -> Self {
        Self {
            next_seq,
            more_follow: false,
            session: StatusFlags::empty(),
            held: Vec::new(),
            passing: 0,
            failed: false,
        }
    }

    /// The next answer begins.
    pub fn begin(&mut self, more_follow: bool) {
        self.more_follow = more_follow;
        self.held.clear();
        self.passing = 0;
    }

    /// Sets these flags in the answers from here on.
    pub fn set_flags(&mut self, flags: StatusFlags) {
        self.session = flags;
    }

    /// The flags for the answer that is being taken.
    fn flags(&self) -> StatusFlags {
        let mut flags = self.session;
        flags.set(StatusFlags::SERVER_MORE_RESULTS_EXISTS, self.more_follow);
        flags
    }

    /// An answer has ended with an error: nothing follows it, whatever was said.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.failed
    }

    /// Takes bytes of an answer in pieces of any size; `is_end` with the last of them. What can be sent is appended to `out`.
    ///
    /// # Errors
    /// [`SpliceError`]; the client must not be told that more follows then, so the connection ends.
    pub fn take(&mut self, mut bytes: &[u8], is_end: bool, out: &mut Vec<u8>) -> Result<(), SpliceError> {
        while !bytes.is_empty() {
            if self.passing > 0 {
                let (passed, rest) = bytes.split_at(self.passing.min(bytes.len()));
                out.extend_from_slice(passed);
                self.passing -= passed.len();
                bytes = rest;
                if self.passing == 0 && bytes.is_empty() && is_end {
                    return Err(SpliceError::NoEnd);
                }
                continue;
            }
            bytes = self.hold(bytes, HEADER_LEN);
            let Some(len) = self.len() else { break };
            if len > HELD {
                self.number();
                out.extend_from_slice(&self.held);
                self.held.clear();
                self.passing = len;
                continue;
            }
            bytes = self.hold(bytes, HEADER_LEN + len);
            if self.held.len() < HEADER_LEN + len {
                break;
            }
            let payload = self.held.get_mut(HEADER_LEN..).unwrap_or_default();
            if is_end && bytes.is_empty() {
                self.end()?;
            } else if payload.len() == EofPacket::LEN && payload[0] == 0xFE {
                self.flag()?;
            }
            self.number();
            out.extend_from_slice(&self.held);
            self.held.clear();
        }
        if is_end && (!self.held.is_empty() || self.passing > 0) {
            return Err(SpliceError::NoEnd);
        }
        Ok(())
    }

    /// Holds bytes back until there are `wanted`; gives the others.
    fn hold<'a>(&mut self, bytes: &'a [u8], wanted: usize) -> &'a [u8] {
        let missing = wanted.saturating_sub(self.held.len()).min(bytes.len());
        let (held, rest) = bytes.split_at(missing);
        self.held.extend_from_slice(held);
        rest
    }

    /// The length of the payload of the packet that is held.
    fn len(&self) -> Option<usize> {
        let header = self.held.first_chunk::<HEADER_LEN>()?;
        Some(PacketHeader::parse(*header).len as usize)
    }

    /// Numbers the packet that is held.
    fn number(&mut self) {
        if let Some(seq) = self.held.get_mut(HEADER_LEN - 1) {
            *seq = self.next_seq;
            self.next_seq = self.next_seq.wrapping_add(1);
        }
    }

    /// The packet that is held ends the answer.
    fn end(&mut self) -> Result<(), SpliceError> {
        let payload = self.held.get_mut(HEADER_LEN..).unwrap_or_default();
        match payload.first() {
            Some(0xFF) => {
                self.failed = true;
                Ok(())
            }
            Some(0x00 | 0xFE) => self.flag(),
            Some(_) if !self.more_follow => Ok(()),
            _ => Err(SpliceError::NoEnd),
        }
    }

    /// Sets the flags in the packet that is held, an OK or EOF packet.
    fn flag(&mut self) -> Result<(), SpliceError> {
        let flags = self.flags();
        match self.held.get_mut(HEADER_LEN..) {
            Some(payload) if !flags.is_empty() => set_flags(payload, flags),
            _ => Ok(()),
        }
    }
}

/// Sets flags in an OK or EOF packet.
fn set_flags(payload: &mut [u8], flags: StatusFlags) -> Result<(), SpliceError> {
    let status_at = if payload[0] == 0xFE && payload.len() == EofPacket::LEN {
        3
    } else {
        let mut reader = Reader::new(&payload[1..]);
        reader.lenenc_int()?;
        reader.lenenc_int()?;
        payload.len() - reader.remaining()
    };
    let flags = flags.bits().to_le_bytes();
    let status = payload.get_mut(status_at..status_at + flags.len());
    for (byte, flags) in status.ok_or(DecodeError::Truncated)?.iter_mut().zip(flags) {
        *byte |= flags;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use mysql_common::constants::{CapabilityFlags, ColumnType};
    use proptest::prelude::*;

    use super::*;
    use crate::{
        ColumnDefinition, MysqlError, OkPacket, ResponseScanner, ResponseShape, ResultSetWriter, ScanEvent,
        errors, write_packet,
    };

    const STATUS: StatusFlags = StatusFlags::SERVER_STATUS_AUTOCOMMIT;

    fn ok(capabilities: CapabilityFlags, affected_rows: u64) -> Vec<u8> {
        let packet = OkPacket {
            affected_rows,
            status: STATUS,
            info: b"Rows matched",
            ..OkPacket::default()
        };
        let mut payload = Vec::new();
        packet.encode(&mut payload, capabilities);
        let mut bytes = Vec::new();
        write_packet(&mut bytes, &mut 1, &payload);
        bytes
    }

    fn error(error: &MysqlError) -> Vec<u8> {
        let mut payload = Vec::new();
        error.encode(&mut payload);
        let mut bytes = Vec::new();
        write_packet(&mut bytes, &mut 1, &payload);
        bytes
    }

    /// An answer with these rows; an empty one starts with the byte of an OK packet.
    fn rows(capabilities: CapabilityFlags, rows: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let columns = [ColumnDefinition::new("a", ColumnType::MYSQL_TYPE_VAR_STRING)];
        let mut writer = ResultSetWriter::begin(&mut bytes, 1, capabilities, &columns, STATUS);
        for row in rows {
            writer.text_row(&mut bytes, [Some(row.as_slice())]);
        }
        writer.end(&mut bytes, STATUS, 0);
        bytes
    }

    /// The answers joined, each brought in pieces of these sizes.
    fn joined(answers: &[Vec<u8>], sizes: &[usize]) -> (Vec<u8>, bool) {
        let mut splice = AnswerSplice::new(1);
        let mut out = Vec::new();
        let mut sizes = sizes.iter().copied().cycle();
        for (at, answer) in answers.iter().enumerate() {
            splice.begin(at + 1 < answers.len());
            let mut rest = answer.as_slice();
            while !rest.is_empty() {
                let size = sizes.next().unwrap().min(rest.len());
                let (piece, tail) = rest.split_at(size);
                rest = tail;
                splice.take(piece, rest.is_empty(), &mut out).unwrap();
            }
        }
        (out, splice.has_failed())
    }

    /// What a client reads: results and rows, and the code of an error.
    fn read(capabilities: CapabilityFlags, bytes: &[u8]) -> (u32, u64, Option<u16>) {
        let mut scanner = ResponseScanner::new(capabilities);
        scanner.begin(ResponseShape::TextResults, 1);
        let feed = scanner.feed(bytes).unwrap();
        assert_eq!((feed.consumed, feed.event), (bytes.len(), ScanEvent::Complete));
        let outcome = scanner.outcome();
        (
            outcome.results,
            outcome.rows,
            outcome.error.as_ref().map(|error| error.code),
        )
    }

    #[test]
    fn an_error_ends_the_text() {
        let none = CapabilityFlags::empty();
        let answers = [ok(none, 1), error(&errors::PARSE.with("no"))];
        let (bytes, failed) = joined(&answers, &[7]);
        assert!(failed);
        assert_eq!(read(none, &bytes), (1, 0, Some(1064)));
    }

    #[test]
    fn flags_of_the_session_are_in_every_status() {
        for capabilities in [CapabilityFlags::empty(), CapabilityFlags::CLIENT_DEPRECATE_EOF] {
            for answer in [ok(capabilities, 1), rows(capabilities, &[vec![0; 3]])] {
                let mut splice = AnswerSplice::new(1);
                splice.set_flags(StatusFlags::SERVER_STATUS_IN_TRANS);
                splice.begin(false);
                let mut out = Vec::new();
                splice.take(&answer, true, &mut out).unwrap();
                let mut scanner = ResponseScanner::new(capabilities);
                scanner.begin(ResponseShape::TextResults, 1);
                assert_eq!(scanner.feed(&out).unwrap().event, ScanEvent::Complete);
                let expected = STATUS | StatusFlags::SERVER_STATUS_IN_TRANS;
                assert_eq!(scanner.outcome().status, Some(expected));
                assert_eq!(out.len(), answer.len());
            }
        }
    }

    #[test]
    fn a_row_ends_no_answer() {
        let mut splice = AnswerSplice::new(1);
        splice.begin(true);
        let mut bytes = Vec::new();
        write_packet(&mut bytes, &mut 1, b"\x01a");
        assert_eq!(
            splice.take(&bytes, true, &mut Vec::new()),
            Err(SpliceError::NoEnd)
        );
    }

    proptest! {
        #[test]
        fn a_client_reads_every_result_and_every_row(
            texts in prop::collection::vec(
                prop::option::of(prop::collection::vec((any::<u8>(), 0_usize..300), 0..6)), 1..6),
            long in prop::bool::weighted(0.1),
            deprecates_eof: bool,
            sizes in prop::collection::vec(1_usize..5000, 1..6),
        ) {
            let mut capabilities = CapabilityFlags::empty();
            capabilities.set(CapabilityFlags::CLIENT_DEPRECATE_EOF, deprecates_eof);
            let factor = if long { 400 } else { 1 };
            let answers: Vec<Vec<u8>> = texts.iter().map(|text| match text {
                None => ok(capabilities, 300),
                Some(made) => {
                    let made: Vec<Vec<u8>> =
                        made.iter().map(|(byte, len)| vec![*byte; len * factor]).collect();
                    rows(capabilities, &made)
                }
            }).collect();
            let expected: usize = texts.iter().flatten().map(Vec::len).sum();
            let (bytes, failed) = joined(&answers, &sizes);
            prop_assert!(!failed);
            prop_assert_eq!(bytes.len(), answers.iter().map(Vec::len).sum::<usize>());
            prop_assert_eq!(read(capabilities, &bytes), (texts.len() as u32, expected as u64, None));
        }

        #[test]
        fn any_bytes_are_joined_or_refused(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            more_follow: bool,
            is_end: bool,
        ) {
            let mut splice = AnswerSplice::new(0);
            splice.begin(more_follow);
            let mut out = Vec::new();
            let _ = splice.take(&bytes, is_end, &mut out);
            prop_assert!(out.len() <= bytes.len());
        }
    }
}
