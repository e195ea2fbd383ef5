//! Bytes of a connection or a statement: a few in a `Vec`, many in a mapping of their own.
//!
//! What allocators are given back they keep for a while, and for longer than that if nobody allocates. A mapping is the system's
//! again as soon as it is dropped. It takes memory for the pages that were written to and no others, so its size can be
//! what is announced, and bytes are not copied while it grows.

use std::ops::Deref;

use memmap2::{Advice, MmapMut, MmapOptions};
use shardwright_wire::ByteStore;

/// A buffer that has grown past this is given back once it is empty.
pub(crate) const KEPT_CAPACITY: usize = 4 * 1024;
/// More bytes than this have a mapping.
const MOST_IN_HEAP: usize = 128 * 1024;
/// Bytes of a page: a mapping takes whole ones.
const PAGE: usize = 4 * 1024;

/// Bytes that grow at their end.
#[derive(Debug)]
pub(crate) enum Buffer {
    Heap(Vec<u8>),
    Mapped(Box<Mapped>),
}

#[derive(Debug)]
pub(crate) struct Mapped {
    map: MmapMut,
    len: usize,
    /// Bytes at the front that were ever written to.
    touched: usize,
}

impl Buffer {
    pub(crate) const fn new() -> Self {
        Self::Heap(Vec::new())
    }

    /// Bytes of memory that it takes.
    #[inline]
    pub(crate) fn footprint(&self) -> usize {
        match self {
            Self::Heap(bytes) => bytes.capacity(),
            Self::Mapped(mapped) => mapped.touched.next_multiple_of(PAGE),
        }
    }

    /// Drops the first `len` bytes.
    pub(crate) fn discard(&mut self, len: usize) {
        match self {
            Self::Heap(bytes) => {
                bytes.drain(..len);
            }
            Self::Mapped(mapped) => {
                mapped.map.copy_within(len..mapped.len, 0);
                mapped.len -= len;
            }
        }
    }

    /// Takes the first `len` bytes out. The smaller part is copied.
    pub(crate) fn split_front(&mut self, len: usize) -> Self {
        let mut part = Self::new();
        if len > self.len() / 2 {
            part.append(&self[len..]);
            self.truncate(len);
            std::mem::swap(self, &mut part);
        } else {
            part.append(&self[..len]);
            self.discard(len);
        }
        part
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        match self {
            Self::Heap(bytes) => bytes,
            Self::Mapped(mapped) => &mut mapped.map[..mapped.len],
        }
    }

    fn truncate(&mut self, len: usize) {
        match self {
            Self::Heap(bytes) => bytes.truncate(len),
            Self::Mapped(mapped) => mapped.len = mapped.len.min(len),
        }
    }

    /// Room for `wanted` bytes in all, which are more than the heap is to have or than the mapping has. Where the system has no mapping to give, the
    /// heap has to do.
    fn move_to(&mut self, wanted: usize) {
        match Mapped::with_capacity(wanted) {
            Ok(mut mapped) => {
                mapped.append(self);
                *self = Self::Mapped(Box::new(mapped));
            }
            Err(error) => {
                tracing::debug!(%error, wanted, "a buffer could not be mapped");
                let mut bytes = Vec::with_capacity(wanted);
                bytes.extend_from_slice(self);
                *self = Self::Heap(bytes);
            }
        }
    }

    /// Whether so many bytes in all need another place.
    #[inline]
    fn is_too_small_for(&self, wanted: usize) -> bool {
        match self {
            Self::Heap(bytes) => wanted > MOST_IN_HEAP && wanted > bytes.capacity(),
            Self::Mapped(mapped) => wanted > mapped.map.len(),
        }
    }
}

impl Default for Buffer {
    fn default() -> Self {
        Self::new()
    }
}

impl Deref for Buffer {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            Self::Heap(bytes) => bytes,
            Self::Mapped(mapped) => &mapped.map[..mapped.len],
        }
    }
}

impl AsRef<[u8]> for Buffer {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl ByteStore for Buffer {
    #[inline]
    fn append(&mut self, bytes: &[u8]) {
        let wanted = self.len() + bytes.len();
        if self.is_too_small_for(wanted) {
            self.move_to(wanted.max(2 * self.len()));
        }
        match self {
            Self::Heap(own) => own.extend_from_slice(bytes),
            Self::Mapped(mapped) => mapped.append(bytes),
        }
    }

    fn reserve(&mut self, additional: usize) {
        let wanted = self.len() + additional;
        if self.is_too_small_for(wanted) {
            self.move_to(wanted);
        } else if let Self::Heap(bytes) = self {
            bytes.reserve_exact(additional);
        }
    }

    #[inline]
    fn clear(&mut self) {
        match self {
            Self::Heap(bytes) if bytes.capacity() <= KEPT_CAPACITY => bytes.clear(),
            _ => *self = Self::new(),
        }
    }
}

impl Mapped {
    fn with_capacity(wanted: usize) -> std::io::Result<Self> {
        let map = MmapOptions::new()
            .len(wanted.next_multiple_of(PAGE))
            .no_reserve_swap()
            .map_anon()?;
        // A page of 2 MiB for a few bytes would not be counted. Kernels without huge pages do not know the advice.
        if let Err(error) = map.advise(Advice::NoHugePage) {
            tracing::trace!(%error, "huge pages cannot be declined");
        }
        Ok(Self {
            map,
            len: 0,
            touched: 0,
        })
    }

    /// Appends bytes for which there is room.
    fn append(&mut self, bytes: &[u8]) {
        let end = self.len + bytes.len();
        self.map[self.len..end].copy_from_slice(bytes);
        self.len = end;
        self.touched = self.touched.max(end);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn many_bytes_are_mapped_and_take_what_was_written() {
        let mut buffer = Buffer::new();
        buffer.append(&[1; 1000]);
        buffer.reserve(64 << 20);
        assert_eq!(buffer.footprint(), PAGE);
        buffer.append(&[2; 10_000]);
        assert_eq!(buffer.footprint(), 3 * PAGE);
        buffer.discard(10_500);
        assert_eq!((buffer.len(), buffer.footprint()), (500, 3 * PAGE));
        buffer.clear();
        assert_eq!(buffer.footprint(), 0);
    }

    #[derive(Clone, Debug)]
    enum Step {
        Append(usize),
        Reserve(usize),
        Discard(usize),
        SplitFront(usize),
        Clear,
    }

    fn step() -> impl Strategy<Value = Step> {
        let len = prop_oneof![0..200_usize, 0..300_000_usize];
        prop_oneof![
            4 => len.clone().prop_map(Step::Append),
            1 => len.clone().prop_map(Step::Reserve),
            2 => len.clone().prop_map(Step::Discard),
            2 => len.prop_map(Step::SplitFront),
            1 => Just(Step::Clear),
        ]
    }

    proptest! {
        #[test]
        fn it_has_the_bytes_that_a_vec_has(steps in prop::collection::vec(step(), 1..20)) {
            let (mut buffer, mut expected, mut next) = (Buffer::new(), Vec::new(), 0_u8);
            for step in steps {
                match step {
                    Step::Append(len) => {
                        let bytes: Vec<u8> = (0..len).map(|at| next.wrapping_add(at as u8)).collect();
                        next = next.wrapping_add(101);
                        buffer.append(&bytes);
                        expected.extend_from_slice(&bytes);
                    }
                    Step::Reserve(len) => buffer.reserve(len),
                    Step::Discard(len) => {
                        let len = len.min(expected.len());
                        buffer.discard(len);
                        expected.drain(..len);
                    }
                    Step::SplitFront(len) => {
                        let len = len.min(expected.len());
                        let front = buffer.split_front(len);
                        let rest = expected.split_off(len);
                        prop_assert_eq!(&front[..], &expected[..]);
                        expected = rest;
                    }
                    Step::Clear => {
                        buffer.clear();
                        expected.clear();
                    }
                }
                prop_assert_eq!(&buffer[..], &expected[..]);
                prop_assert!(buffer.footprint() >= buffer.len());
            }
        }
    }
}
