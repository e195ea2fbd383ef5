//! Any bytes as compressed frames, in pieces: they are taken or refused, however they are cut, and what is sent is read back.

#![no_main]

use libfuzzer_sys::fuzz_target;
use shardwright_wire::{CompressionError, FrameCodec};

fn received(bytes: &[u8], size: usize) -> Result<Vec<u8>, CompressionError> {
    let (mut codec, mut plain) = (FrameCodec::default(), Vec::new());
    for piece in bytes.chunks(size) {
        codec.receive(piece, &mut plain)?;
    }
    Ok(plain)
}

fuzz_target!(|bytes: &[u8]| {
    let whole = received(bytes, bytes.len().max(1));
    assert_eq!(whole, received(bytes, 1));
    assert_eq!(whole, received(bytes, 7));
    let mut frames = Vec::new();
    FrameCodec::default().send(bytes, &mut frames);
    assert_eq!(received(&frames, 5).as_deref(), Ok(bytes));
});
