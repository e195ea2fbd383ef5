//! Packets in a buffer: headers, splitting and joining at 16 MiB − 1, and limits.

use std::borrow::Cow;

use thiserror::Error;

/// Bytes of a packet header: three of length, one of sequence.
pub const HEADER_LEN: usize = 4;

/// The largest payload of one packet; a packet of exactly this size is continued by the next one.
pub const MAX_CHUNK: usize = 0xFF_FFFF;

/// What a peer may send in one payload before it has proved who it is.
pub const PRE_AUTH_MAX_PAYLOAD: usize = 64 * 1024;

/// Why a stream is no sequence of packets that this side accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum PacketError {
    /// The payload announced is larger than the limit (MySQL error 1153).
    #[error("the packet is larger than the limit of {limit} bytes")]
    TooLarge {
        /// The limit in bytes.
        limit: usize,
        /// Sequence number of the packet that goes over it; an error is sent with the next.
        seq: u8,
    },
    /// Sequence numbers are not consecutive (MySQL error 1156).
    #[error("packet {found} came where packet {expected} belongs")]
    OutOfOrder {
        /// The sequence number that follows.
        expected: u8,
        /// The sequence number that came.
        found: u8,
    },
}

/// The four bytes in front of each payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketHeader {
    /// Payload bytes that follow, at most [`MAX_CHUNK`].
    pub len: u32,
    /// Sequence number; starts at 0 with each command and wraps.
    pub seq: u8,
}

impl PacketHeader {
    /// Reads a header.
    #[must_use]
    pub const fn parse(bytes: [u8; HEADER_LEN]) -> Self {
        let [a, b, c, seq] = bytes;
        Self {
            len: u32::from_le_bytes([a, b, c, 0]),
            seq,
        }
    }

    /// Writes a header; bits of `len` above 24 are lost, so `len` is at most [`MAX_CHUNK`].
    #[must_use]
    pub const fn to_bytes(self) -> [u8; HEADER_LEN] {
        let [a, b, c, _] = self.len.to_le_bytes();
        [a, b, c, self.seq]
    }
}

/// One logical packet at the front of a buffer: a payload and how it was framed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet<'a> {
    /// The payload; borrowed unless it was joined from several chunks.
    pub payload: Cow<'a, [u8]>,
    /// Sequence number of the first chunk.
    pub first_seq: u8,
    /// Sequence number of the last chunk; the answer goes on with the next.
    pub last_seq: u8,
    /// Bytes of the buffer that the packet takes, headers included.
    pub consumed: usize,
}

/// Where the logical packet at the front of a buffer ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PacketExtent {
    /// It is there whole.
    Whole {
        /// Sequence number of the first chunk.
        first_seq: u8,
        /// Sequence number of the last chunk; the answer goes on with the next.
        last_seq: u8,
        /// Bytes of the buffer that the packet takes, headers included.
        len: usize,
    },
    /// Some of it has not come.
    Begun {
        /// Bytes that the headers announce which have come, these headers included; 0 before the first one.
        announced: usize,
    },
}

/// Looks for the end of the logical packet at the front of `buffer`.
///
/// The limit is applied to what the headers announce, so a peer cannot make the caller collect more than
/// `max_payload` bytes plus headers.
///
/// # Errors
/// [`PacketError`] when the payload is larger than `max_payload`, or chunks are out of order.
pub fn packet_extent(buffer: &[u8], max_payload: usize) -> Result<PacketExtent, PacketError> {
    let mut at = 0;
    let mut total = 0;
    let mut seqs: Option<(u8, u8)> = None;
    loop {
        let Some(header) = buffer
            .get(at..)
            .and_then(|rest| rest.first_chunk::<HEADER_LEN>())
            .map(|bytes| PacketHeader::parse(*bytes))
        else {
            return Ok(PacketExtent::Begun { announced: at });
        };
        let first = match seqs {
            None => header.seq,
            Some((_, last)) if last.wrapping_add(1) != header.seq => {
                return Err(PacketError::OutOfOrder {
                    expected: last.wrapping_add(1),
                    found: header.seq,
                });
            }
            Some((first, _)) => first,
        };
        seqs = Some((first, header.seq));
        total += header.len as usize;
        if total > max_payload {
            return Err(PacketError::TooLarge {
                limit: max_payload,
                seq: header.seq,
            });
        }
        let end = at + HEADER_LEN + header.len as usize;
        if buffer.len() < end {
            return Ok(PacketExtent::Begun { announced: end });
        }
        if (header.len as usize) < MAX_CHUNK {
            return Ok(PacketExtent::Whole {
                first_seq: first,
                last_seq: header.seq,
                len: end,
            });
        }
        at = end;
    }
}

/// The payloads of the chunks of a logical packet that is whole.
pub fn chunk_payloads(packet: &[u8]) -> impl Iterator<Item = &[u8]> {
    packet
        .chunks(HEADER_LEN + MAX_CHUNK)
        .map(|chunk| chunk.get(HEADER_LEN..).unwrap_or_default())
}

/// Takes the logical packet at the front of `buffer`, or `None` while it is incomplete.
///
/// # Errors
/// As [`packet_extent`].
pub fn take_packet(buffer: &[u8], max_payload: usize) -> Result<Option<Packet<'_>>, PacketError> {
    let PacketExtent::Whole {
        first_seq,
        last_seq,
        len,
    } = packet_extent(buffer, max_payload)?
    else {
        return Ok(None);
    };
    let packet = &buffer[..len];
    let payload = if len < HEADER_LEN + MAX_CHUNK {
        Cow::Borrowed(&packet[HEADER_LEN..])
    } else {
        let mut payload = Vec::with_capacity(len);
        chunk_payloads(packet).for_each(|chunk| payload.extend_from_slice(chunk));
        Cow::Owned(payload)
    };
    Ok(Some(Packet {
        payload,
        first_seq,
        last_seq,
        consumed: len,
    }))
}

/// Numbers the chunks of the logical packet at the front of `buffer` from its first one on. Inside of compressed frames, which have
/// numbers of their own, libmariadb gives each chunk the same number, and servers do not look.
pub fn number_chunks(buffer: &mut [u8]) {
    let mut at = 0;
    let mut before: Option<u8> = None;
    while let Some(header) = buffer
        .get_mut(at..)
        .and_then(|rest| rest.first_chunk_mut::<HEADER_LEN>())
    {
        if let Some(before) = before {
            header[HEADER_LEN - 1] = before.wrapping_add(1);
        }
        let PacketHeader { len, seq } = PacketHeader::parse(*header);
        if (len as usize) < MAX_CHUNK {
            return;
        }
        before = Some(seq);
        at += HEADER_LEN + len as usize;
    }
}

/// Bytes that grow at their end: a `Vec`, or what a caller has in its place for many of them.
pub trait ByteStore: Default + AsRef<[u8]> {
    /// Appends these bytes.
    fn append(&mut self, bytes: &[u8]);
    /// Makes room for so many bytes more, and no more than that.
    fn reserve(&mut self, additional: usize);
    /// Drops the bytes, and the memory of many.
    fn clear(&mut self);
}

/// A buffer that has grown past this is given back once it is empty.
const KEPT: usize = 4 * 1024;

impl ByteStore for Vec<u8> {
    fn append(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }

    fn reserve(&mut self, additional: usize) {
        self.reserve_exact(additional);
    }

    fn clear(&mut self) {
        if self.capacity() > KEPT {
            *self = Vec::new();
        }
        self.truncate(0);
    }
}

/// Appends `payload` as one logical packet, split where it must be; `seq` is used and advanced.
pub fn write_packet(out: &mut impl ByteStore, seq: &mut u8, payload: &[u8]) {
    write_parts(out, seq, &[payload]);
}

/// The same for a payload that is in several parts.
pub fn write_parts(out: &mut impl ByteStore, seq: &mut u8, parts: &[&[u8]]) {
    let mut left: usize = parts.iter().map(|part| part.len()).sum();
    let mut parts = parts.iter().copied();
    let mut part: &[u8] = &[];
    loop {
        let len = left.min(MAX_CHUNK);
        let header = PacketHeader {
            len: len as u32,
            seq: *seq,
        };
        *seq = seq.wrapping_add(1);
        out.append(&header.to_bytes());
        let mut missing = len;
        while missing > 0 {
            if part.is_empty() {
                part = parts.next().unwrap_or_default();
                continue;
            }
            let (now, rest) = part.split_at(part.len().min(missing));
            out.append(now);
            part = rest;
            missing -= now.len();
        }
        left -= len;
        if len < MAX_CHUNK {
            return;
        }
    }
}

/// Appends one logical packet whose payload `build` writes in place, at the end of `out`.
///
/// `build` must only append.
pub fn append_packet(out: &mut Vec<u8>, seq: &mut u8, build: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; HEADER_LEN]);
    build(out);
    let len = out.len() - start - HEADER_LEN;
    if len < MAX_CHUNK {
        let header = PacketHeader {
            len: len as u32,
            seq: *seq,
        };
        out[start..start + HEADER_LEN].copy_from_slice(&header.to_bytes());
        *seq = seq.wrapping_add(1);
    } else {
        let payload = out.split_off(start + HEADER_LEN);
        out.truncate(start);
        write_packet(out, seq, &payload);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_numbered_from_the_first_on() {
        let chunk = |seq: u8, len: usize| {
            let [a, b, c, ..] = len.to_le_bytes();
            [&[a, b, c, seq][..], &vec![b'x'; len]].concat()
        };
        let mut whole = [chunk(7, MAX_CHUNK), chunk(7, MAX_CHUNK), chunk(7, 3)].concat();
        assert!(take_packet(&whole, usize::MAX).is_err());
        number_chunks(&mut whole);
        let packet = take_packet(&whole, usize::MAX).unwrap().unwrap();
        assert_eq!((packet.first_seq, packet.last_seq), (7, 9));
        // The header of the last chunk has not come whole.
        let mut half = [&chunk(0, MAX_CHUNK)[..], &[1, 0]].concat();
        number_chunks(&mut half);
        assert_eq!(take_packet(&half, usize::MAX).unwrap(), None);
        number_chunks(&mut []);
    }
}
