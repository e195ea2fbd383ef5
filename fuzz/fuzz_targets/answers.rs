//! Any bytes as a server's answer, in pieces: the scanner ends at the same byte however they are cut, nothing that it counts grows
//! beyond the bytes, and what is joined into an answer to several statements has the same packets. Session tracking is read to its end,
//! and what is taken out of an answer or replaced in it lies inside it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use shardwright_wire::{
    AnswerSplice, CapabilityFlags, EofPacket, Feed, OkPacket, Outcome, PrepareOk, ResponseScanner, ResponseShape, ScanError,
    ScanEvent, first_value, session_changes, statement::set_prepared_id,
};

const SHAPES: [ResponseShape; 6] = [
    ResponseShape::Status,
    ResponseShape::TextResults,
    ResponseShape::BinaryResults,
    ResponseShape::Rows,
    ResponseShape::Prepare,
    ResponseShape::Definitions,
];

/// Where the answer ends, and what it was.
fn scanned(
    bytes: &[u8],
    capabilities: CapabilityFlags,
    shape: ResponseShape,
    size: usize,
) -> Result<(usize, ScanEvent, Outcome), ScanError> {
    let mut scanner = ResponseScanner::new(capabilities);
    scanner.begin(shape, 1);
    let mut at = 0;
    for piece in bytes.chunks(size) {
        let Feed { consumed, event } = scanner.feed(piece)?;
        at += consumed;
        if event != ScanEvent::More {
            return Ok((at, event, scanner.outcome().clone()));
        }
    }
    Ok((at, ScanEvent::More, scanner.outcome().clone()))
}

fuzz_target!(|input: &[u8]| {
    let Some((&choice, bytes)) = input.split_first() else { return };
    let mut capabilities = CapabilityFlags::empty();
    capabilities.set(CapabilityFlags::CLIENT_DEPRECATE_EOF, choice & 1 != 0);
    capabilities.set(CapabilityFlags::CLIENT_SESSION_TRACK, choice & 2 != 0);
    let shape = SHAPES[usize::from(choice >> 2) % SHAPES.len()];
    let whole = scanned(bytes, capabilities, shape, bytes.len().max(1));
    let by_bytes = scanned(bytes, capabilities, shape, 1);
    if let (Ok(whole), Ok(by_bytes)) = (&whole, &by_bytes) {
        assert_eq!(whole, by_bytes);
        assert!(whole.2.rows <= bytes.len() as u64);
    } else {
        assert_eq!(whole.is_err(), by_bytes.is_err());
    }
    packet(bytes, capabilities);
    let Ok((end, ScanEvent::Complete, outcome)) = whole else { return };
    tracked(&outcome.session_state);
    let value = first_value(&bytes[..end], capabilities);
    assert!(value.is_none_or(|value| value.len() < end));
    let mut numbered = bytes[..end].to_vec();
    if shape == ResponseShape::Prepare && set_prepared_id(&mut numbered, 7) {
        assert_eq!(PrepareOk::decode(&numbered[4..]).map(|prepared| prepared.statement_id), Ok(7));
    }
    let mut splice = AnswerSplice::new(1);
    splice.begin(choice & 0x80 != 0);
    let mut joined = Vec::new();
    if splice.take(&bytes[..end], true, &mut joined).is_ok() {
        assert_eq!(joined.len(), end);
        assert_eq!(splice.has_failed(), outcome.error.is_some());
    }
});

/// The bytes as one packet of an answer.
fn packet(bytes: &[u8], capabilities: CapabilityFlags) {
    if let Ok(ok) = OkPacket::decode(bytes, capabilities) {
        tracked(ok.session_state);
    }
    let _ = (EofPacket::decode(bytes), PrepareOk::decode(bytes));
    tracked(bytes);
}

/// A block of session tracking has an end, and what was read up to an error is written as it was read.
fn tracked(block: &[u8]) {
    let changes: Vec<_> = session_changes(block).collect();
    assert!(changes.len() <= block.len());
    let mut written = Vec::new();
    let read = || changes.iter().map_while(|change| change.as_ref().ok());
    read().for_each(|change| change.encode(&mut written));
    let again: Vec<_> = session_changes(&written).collect();
    assert!(read().eq(again.iter().flatten()), "{changes:?} is read as {again:?}");
}
