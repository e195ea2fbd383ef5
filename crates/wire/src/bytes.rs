//! Reading and writing the protocol's basic types: fixed integers, length-encoded integers and strings.

use thiserror::Error;

/// Why a payload could not be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum DecodeError {
    /// A field runs past the end of the payload.
    #[error("the packet ends early")]
    Truncated,
    /// A field holds what the protocol does not allow there.
    #[error("malformed packet: {0}")]
    Malformed(&'static str),
    /// The peer speaks a variant of the protocol that is not spoken here.
    #[error("unsupported: {0}")]
    Unsupported(&'static str),
}

/// A cursor over a payload; every read is bounds-checked.
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(payload: &'a [u8]) -> Self {
        Self { rest: payload }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(crate) fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// Takes a byte if it is the next.
    pub(crate) fn skip_if(&mut self, byte: u8) -> bool {
        let is_next = self.rest.first() == Some(&byte);
        if is_next {
            self.rest = &self.rest[1..];
        }
        is_next
    }

    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8], DecodeError> {
        let (head, tail) = self.rest.split_at_checked(len).ok_or(DecodeError::Truncated)?;
        self.rest = tail;
        Ok(head)
    }

    pub(crate) fn take_rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (head, tail) = self.rest.split_first_chunk::<N>().ok_or(DecodeError::Truncated)?;
        self.rest = tail;
        Ok(*head)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, DecodeError> {
        Ok(u8::from_le_bytes(self.array()?))
    }

    pub(crate) fn u16(&mut self) -> Result<u16, DecodeError> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    pub(crate) fn u32(&mut self) -> Result<u32, DecodeError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(crate) fn u64(&mut self) -> Result<u64, DecodeError> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    pub(crate) fn lenenc_int(&mut self) -> Result<u64, DecodeError> {
        match self.u8()? {
            small @ 0..=0xFA => Ok(u64::from(small)),
            0xFC => Ok(u64::from(self.u16()?)),
            0xFD => {
                let [a, b, c] = self.array()?;
                Ok(u64::from(u32::from_le_bytes([a, b, c, 0])))
            }
            0xFE => self.u64(),
            _ => Err(DecodeError::Malformed(
                "a length-encoded integer starts with 0xFB or 0xFF",
            )),
        }
    }

    pub(crate) fn lenenc_bytes(&mut self) -> Result<&'a [u8], DecodeError> {
        let len = self.lenenc_int()?;
        self.take(usize::try_from(len).map_err(|_| DecodeError::Truncated)?)
    }

    /// Bytes up to a NUL, which is consumed.
    pub(crate) fn nul_bytes(&mut self) -> Result<&'a [u8], DecodeError> {
        let end = self
            .rest
            .iter()
            .position(|&byte| byte == 0)
            .ok_or(DecodeError::Truncated)?;
        let value = self.take(end)?;
        self.take(1)?;
        Ok(value)
    }

    /// Bytes up to a NUL or to the end: several clients leave the final NUL out.
    pub(crate) fn nul_or_rest(&mut self) -> &'a [u8] {
        self.nul_bytes().unwrap_or_else(|_| self.take_rest())
    }

    pub(crate) fn finish(&self) -> Result<(), DecodeError> {
        if self.is_empty() {
            Ok(())
        } else {
            Err(DecodeError::Malformed("bytes are left over"))
        }
    }
}

/// Appends `value` as a length-encoded integer.
pub(crate) fn put_lenenc_int(out: &mut Vec<u8>, value: u64) {
    let bytes = value.to_le_bytes();
    match value {
        0..=0xFA => out.push(bytes[0]),
        0xFB..=0xFFFF => {
            out.push(0xFC);
            out.extend_from_slice(&bytes[..2]);
        }
        0x1_0000..=0xFF_FFFF => {
            out.push(0xFD);
            out.extend_from_slice(&bytes[..3]);
        }
        _ => {
            out.push(0xFE);
            out.extend_from_slice(&bytes);
        }
    }
}

/// Appends `value` with its length in front.
pub(crate) fn put_lenenc_bytes(out: &mut Vec<u8>, value: &[u8]) {
    put_lenenc_int(out, value.len() as u64);
    out.extend_from_slice(value);
}

pub(crate) fn put_nul_bytes(out: &mut Vec<u8>, value: &[u8]) {
    out.extend_from_slice(value);
    out.push(0);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn encoded(encode: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut out = Vec::new();
        encode(&mut out);
        out
    }

    #[test]
    fn integers_take_as_few_bytes_as_the_protocol_has() {
        for (value, len) in [
            (0, 1),
            (250, 1),
            (251, 3),
            (0xFFFF, 3),
            (0x1_0000, 4),
            (0xFF_FFFF, 4),
            (0x100_0000, 9),
        ] {
            assert_eq!(encoded(|out| put_lenenc_int(out, value)).len(), len, "{value}");
        }
    }

    proptest! {
        #[test]
        fn integers_and_strings(value in any::<u64>(), shift in 0_u32..64, text in prop::collection::vec(any::<u8>(), 0..300)) {
            let value = value >> shift;
            let written = encoded(|out| { put_lenenc_int(out, value); put_lenenc_bytes(out, &text); });
            let mut reader = Reader::new(&written);
            prop_assert_eq!(reader.lenenc_int().unwrap(), value);
            prop_assert_eq!(reader.lenenc_bytes().unwrap(), text.as_slice());
            prop_assert!(reader.is_empty());
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let mut reader = Reader::new(&bytes);
            while !reader.is_empty() && reader.lenenc_bytes().is_ok() {}
        }
    }
}
