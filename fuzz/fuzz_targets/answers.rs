//! Any bytes as a server's answer, in pieces: the scanner ends at the same byte however they are cut, nothing that it counts grows
//! beyond the bytes, and what is joined into an answer to several statements has the same packets.

#![no_main]

use libfuzzer_sys::fuzz_target;
use shardwright_wire::{
    AnswerSplice, CapabilityFlags, Feed, Outcome, ResponseScanner, ResponseShape, ScanError, ScanEvent,
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
    let Ok((end, ScanEvent::Complete, outcome)) = whole else { return };
    let mut splice = AnswerSplice::new(1);
    splice.begin(choice & 0x80 != 0);
    let mut joined = Vec::new();
    if splice.take(&bytes[..end], true, &mut joined).is_ok() {
        assert_eq!(joined.len(), end);
        assert_eq!(splice.has_failed(), outcome.error.is_some());
    }
});
