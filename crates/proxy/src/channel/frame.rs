//! A packet that was taken out of a connection, or is sent in the place of one.

use shardwright_wire::{ByteStore, HEADER_LEN, MAX_CHUNK, chunk_payloads, write_parts};

use crate::memory::Buffer;

/// A logical packet: the bytes as they came, and their payload.
#[derive(Default)]
pub(crate) struct Frame {
    pub(super) raw: Buffer,
    /// The payload, where it came in several packets.
    joined: Option<Box<Buffer>>,
    pub(super) first_seq: u8,
    pub(super) last_seq: u8,
}

impl Frame {
    /// Headers and payload as they came.
    pub(crate) fn raw(&self) -> &[u8] {
        &self.raw
    }

    pub(crate) fn payload(&self) -> &[u8] {
        match &self.joined {
            Some(joined) => joined,
            None => self.raw.get(HEADER_LEN..).unwrap_or_default(),
        }
    }

    pub(crate) fn first_seq(&self) -> u8 {
        self.first_seq
    }

    /// The sequence number that an answer starts with.
    pub(crate) fn next_seq(&self) -> u8 {
        self.last_seq.wrapping_add(1)
    }

    /// Makes this the frame of a payload of our own, which is in several parts.
    pub(crate) fn fill(&mut self, parts: &[&[u8]]) {
        self.clear();
        let len = parts.iter().map(|part| part.len()).sum::<usize>();
        self.raw.reserve(len + HEADER_LEN * (1 + len / MAX_CHUNK));
        let mut seq = 0;
        write_parts(&mut self.raw, &mut seq, parts);
        self.last_seq = seq.wrapping_sub(1);
        self.join();
    }

    pub(crate) fn clear(&mut self) {
        self.joined = None;
        self.first_seq = 0;
        self.last_seq = 0;
        self.raw.clear();
    }

    /// Joins what is in several packets.
    pub(super) fn join(&mut self) {
        if self.raw.len() < HEADER_LEN + MAX_CHUNK {
            return;
        }
        let mut joined = Box::new(Buffer::new());
        joined.reserve(self.raw.len());
        chunk_payloads(&self.raw).for_each(|payload| joined.append(payload));
        self.joined = Some(joined);
    }
}
