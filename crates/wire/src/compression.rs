//! The compressed protocol (CLIENT_COMPRESS): a stream of packets inside frames, each frame perhaps deflated by zlib.
//!
//! A frame has seven bytes in front: the length of what follows (3), a sequence number (1), and the length before it was
//! deflated (3), or 0 where it was not. Frames and packets do not respect each other's bounds: a frame may hold many
//! packets or a piece of one.
//!
//! Invariants: a frame inflates to exactly the length that it announces, so nothing is inflated beyond 16 MiB − 1; and the
//! numbers of frames are consecutive, from 0 for each command, across both directions.
//!
//! ```text
//! COM_PING as a packet    01 00 00 00 0e
//! as a frame              05 00 00 00 00 00 00 │ 01 00 00 00 0e     too short to deflate: the second length is 0
//! ```

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
use thiserror::Error;

use crate::packet::{ByteStore, MAX_CHUNK};

/// Bytes in front of a frame.
const HEADER: usize = 7;
/// Below this length nothing is deflated (MySQL's MIN_COMPRESS_LENGTH).
const MIN_DEFLATED: usize = 50;
/// Bytes of room that inflating gets at a time: memory follows what is there, not what is announced.
const ROOM: usize = 16 * 1024;

/// The peer does not follow the protocol; the connection cannot be used any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum CompressionError {
    /// Sequence numbers are not consecutive.
    #[error("frame {found} came where frame {expected} belongs")]
    OutOfOrder {
        /// The number that follows.
        expected: u8,
        /// The number that came.
        found: u8,
    },
    /// The bytes are not deflated, or inflate to another length than was announced.
    #[error("a compressed frame is damaged")]
    Damaged,
}

/// Both directions of a connection, on the server's side.
#[derive(Debug, Default)]
pub struct FrameCodec<B = Vec<u8>> {
    next_seq: u8,
    /// The start of a frame, until it is there whole.
    partial: B,
}

/// What came of bytes that a [`FrameCodec`] was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Received {
    /// All were taken.
    All,
    /// A frame has ended behind so many of them; the rest was not looked at.
    Frame(usize),
    /// The frame that begins or goes on there would take more room than is allowed. So many of the bytes were taken.
    TooLarge {
        /// Bytes that were taken.
        taken: usize,
        /// Room that the frame needs: as it comes, and inflated.
        room: usize,
    },
}

impl<B: ByteStore> FrameCodec<B> {
    /// Takes bytes as they arrive, in pieces of any size, up to the end of the first frame that holds any; that is appended to `plain`.
    /// Of a frame that takes more than `room` bytes, as it comes and inflated, only the header is taken. Call it again with more room.
    ///
    /// # Errors
    /// [`CompressionError`]; what was appended before it must not be used.
    pub fn receive_within(
        &mut self,
        bytes: &[u8],
        room: usize,
        plain: &mut impl ByteStore,
    ) -> Result<Received, CompressionError> {
        let mut rest = bytes;
        loop {
            rest = self.fill(rest, HEADER);
            let Some(header) = self.partial.as_ref().first_chunk::<HEADER>() else {
                return Ok(Received::All);
            };
            let [l0, l1, l2, seq, p0, p1, p2] = *header;
            let len = u32::from_le_bytes([l0, l1, l2, 0]) as usize;
            let plain_len = u32::from_le_bytes([p0, p1, p2, 0]) as usize;
            let needed = len + plain_len.max(len);
            if needed > room {
                return Ok(Received::TooLarge {
                    taken: bytes.len() - rest.len(),
                    room: needed,
                });
            }
            if HEADER + len > self.partial.as_ref().len() + rest.len() {
                self.partial.reserve(HEADER + len - self.partial.as_ref().len());
            }
            rest = self.fill(rest, HEADER + len);
            let Some(body) = self.partial.as_ref().get(HEADER..HEADER + len) else {
                return Ok(Received::All);
            };
            // Each command begins with 0.
            if seq != 0 && seq != self.next_seq {
                return Err(CompressionError::OutOfOrder {
                    expected: self.next_seq,
                    found: seq,
                });
            }
            self.next_seq = seq.wrapping_add(1);
            match plain_len {
                0 => plain.append(body),
                _ => inflate(body, plain_len, plain)?,
            }
            self.partial.clear();
            if len > 0 {
                return Ok(Received::Frame(bytes.len() - rest.len()));
            }
        }
    }

    /// The same for all frames, whatever room they take.
    ///
    /// # Errors
    /// [`CompressionError`]; what was appended before it must not be used.
    pub fn receive(&mut self, mut bytes: &[u8], plain: &mut impl ByteStore) -> Result<(), CompressionError> {
        while let Received::Frame(taken) = self.receive_within(bytes, usize::MAX, plain)? {
            bytes = &bytes[taken..];
        }
        Ok(())
    }

    /// Bytes of a frame that has begun.
    #[must_use]
    pub fn partial_len(&self) -> usize {
        self.partial.as_ref().len()
    }

    /// A frame has begun and is not there whole.
    #[must_use]
    pub fn is_inside_frame(&self) -> bool {
        !self.partial.as_ref().is_empty()
    }

    /// Appends frames with these bytes to `frames`.
    pub fn send(&mut self, plain: &[u8], frames: &mut Vec<u8>) {
        for chunk in plain.chunks(MAX_CHUNK) {
            let header_at = frames.len();
            frames.extend_from_slice(&[0; HEADER]);
            let body_at = frames.len();
            let is_deflated = chunk.len() >= MIN_DEFLATED && deflate(chunk, frames);
            if !is_deflated {
                frames.truncate(body_at);
                frames.extend_from_slice(chunk);
            }
            let plain_len = if is_deflated { chunk.len() } else { 0 };
            let [l0, l1, l2, _] = ((frames.len() - body_at) as u32).to_le_bytes();
            let [p0, p1, p2, _] = (plain_len as u32).to_le_bytes();
            frames[header_at..body_at].copy_from_slice(&[l0, l1, l2, self.next_seq, p0, p1, p2]);
            self.next_seq = self.next_seq.wrapping_add(1);
        }
    }

    /// Takes what is missing of the first `wanted` bytes of a frame; gives the rest.
    fn fill<'a>(&mut self, bytes: &'a [u8], wanted: usize) -> &'a [u8] {
        let missing = wanted
            .saturating_sub(self.partial.as_ref().len())
            .min(bytes.len());
        let (taken, rest) = bytes.split_at(missing);
        self.partial.append(taken);
        rest
    }
}

/// Appends what `body` inflates to, which must be `len` bytes and nothing more.
fn inflate(body: &[u8], len: usize, plain: &mut impl ByteStore) -> Result<(), CompressionError> {
    let mut inflater = Decompress::new(true);
    let mut room = [0; ROOM];
    let mut left = len;
    if len > ROOM {
        plain.reserve(len);
    }
    loop {
        let (read, written) = (inflater.total_in() as usize, inflater.total_out());
        let space = &mut room[..left.clamp(1, ROOM)];
        let status = inflater
            .decompress(&body[read..], space, FlushDecompress::None)
            .map_err(|_| CompressionError::Damaged)?;
        let produced = (inflater.total_out() - written) as usize;
        // One byte of room beyond the announced length shows whether there is more.
        left = left.checked_sub(produced).ok_or(CompressionError::Damaged)?;
        plain.append(&space[..produced]);
        match status {
            Status::StreamEnd if left == 0 && inflater.total_in() as usize == body.len() => return Ok(()),
            Status::StreamEnd => return Err(CompressionError::Damaged),
            _ if produced == 0 && inflater.total_in() as usize == read => {
                return Err(CompressionError::Damaged);
            }
            _ => {}
        }
    }
}

/// Appends `chunk` deflated; `false` where that is not shorter: then what was appended is of no use.
fn deflate(chunk: &[u8], out: &mut Vec<u8>) -> bool {
    let body_at = out.len();
    out.resize(body_at + chunk.len() - 1, 0);
    let mut deflater = Compress::new(Compression::fast(), true);
    let status = deflater.compress(chunk, &mut out[body_at..], FlushCompress::Finish);
    out.truncate(body_at + deflater.total_out() as usize);
    matches!(status, Ok(Status::StreamEnd))
}

#[cfg(test)]
mod tests {
    use bytes::BytesMut;
    use mysql_common::proto::codec::PacketCodec;
    use proptest::prelude::*;

    use super::*;
    use crate::write_packet;

    fn received(bytes: &[u8], sizes: &[usize]) -> Result<Vec<u8>, CompressionError> {
        let mut codec: FrameCodec = FrameCodec::default();
        let (mut plain, mut rest) = (Vec::new(), bytes);
        for size in sizes.iter().cycle() {
            let (piece, tail) = rest.split_at((*size).min(rest.len()));
            rest = tail;
            codec.receive(piece, &mut plain)?;
            if rest.is_empty() {
                break;
            }
        }
        Ok(plain)
    }

    fn frame(seq: u8, body: &[u8], plain_len: usize) -> Vec<u8> {
        let (len, plain) = (
            (body.len() as u32).to_le_bytes(),
            (plain_len as u32).to_le_bytes(),
        );
        let mut bytes = vec![len[0], len[1], len[2], seq, plain[0], plain[1], plain[2]];
        bytes.extend_from_slice(body);
        bytes
    }

    #[test]
    fn what_is_announced_wrongly_is_damage() {
        let text = vec![b'a'; 100_000];
        let mut body = Vec::new();
        assert!(deflate(&text, &mut body));
        assert_eq!(received(&frame(0, &body, text.len()), &[1000]), Ok(text.clone()));
        for (what, bytes) in [
            ("announces less", frame(0, &body, text.len() - 1)),
            ("announces one", frame(0, &body, 1)),
            ("announces more", frame(0, &body, text.len() + 1)),
            ("announces the most", frame(0, &body, MAX_CHUNK)),
            ("is cut", frame(0, &body[..body.len() - 1], text.len())),
            ("goes on", frame(0, &[&body[..], b"x"].concat(), text.len())),
            ("is not deflated", frame(0, b"SELECT 1", 8)),
            ("is empty", frame(0, b"", 8)),
        ] {
            assert_eq!(
                received(&bytes, &[bytes.len()]),
                Err(CompressionError::Damaged),
                "{what}"
            );
        }
    }

    #[test]
    fn frames_are_numbered_across_both_directions() {
        let mut codec: FrameCodec = FrameCodec::default();
        let mut plain = Vec::new();
        codec.receive(&frame(0, b"a", 0), &mut plain).unwrap();
        codec.receive(&frame(1, b"b", 0), &mut plain).unwrap();
        let mut frames = Vec::new();
        codec.send(b"answer", &mut frames);
        assert_eq!(frames, frame(2, b"answer", 0));
        codec.receive(&frame(3, b"c", 0), &mut plain).unwrap();
        codec.receive(&frame(0, b"d", 0), &mut plain).unwrap();
        assert_eq!(plain, b"abcd");
        let expected = CompressionError::OutOfOrder {
            expected: 1,
            found: 2,
        };
        assert_eq!(codec.receive(&frame(2, b"e", 0), &mut plain), Err(expected));
    }

    proptest! {
        #[test]
        fn mysql_common_reads_what_is_sent(
            payloads in prop::collection::vec((any::<u8>(), 0_usize..5000, any::<bool>()), 1..6),
        ) {
            let payloads: Vec<Vec<u8>> = payloads.iter().map(|(byte, len, same)| {
                (0..*len).map(|at| if *same { *byte } else { byte.wrapping_mul(at as u8).wrapping_add((at >> 3) as u8) }).collect()
            }).collect();
            let (mut packets, mut seq) = (Vec::new(), 0);
            for payload in &payloads {
                write_packet(&mut packets, &mut seq, payload);
            }
            let mut codec: FrameCodec = FrameCodec::default();
            let mut frames = Vec::new();
            for piece in packets.chunks(777) {
                codec.send(piece, &mut frames);
            }
            prop_assert_eq!(&received(&frames, &[1]).unwrap(), &packets);
            let mut theirs = PacketCodec::default();
            theirs.compress(Compression::fast());
            let mut src = BytesMut::from(frames.as_slice());
            for payload in &payloads {
                let mut read = Vec::new();
                prop_assert!(theirs.decode(&mut src, &mut read).unwrap());
                prop_assert_eq!(&read, payload);
            }
        }

        #[test]
        fn what_mysql_common_sends_is_read(payload in prop::collection::vec(0_u8..4, 0..20_000), sizes in prop::collection::vec(1_usize..3000, 1..5)) {
            let mut theirs = PacketCodec::default();
            theirs.compress(Compression::fast());
            let mut frames = BytesMut::new();
            theirs.encode(&mut payload.as_slice(), &mut frames).unwrap();
            let mut packet = Vec::new();
            write_packet(&mut packet, &mut 0, &payload);
            prop_assert_eq!(received(&frames, &sizes).unwrap(), packet);
        }

        #[test]
        fn any_bytes_are_received_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = received(&bytes, &[7]);
        }
    }
}
