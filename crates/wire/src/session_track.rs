//! Session state changes that OK packets carry under `CLIENT_SESSION_TRACK`.

use crate::bytes::{DecodeError, Reader, put_lenenc_bytes};

/// One change. Names and values are in the connection's character set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionChange<'a> {
    /// A tracked system variable has a new value.
    SystemVariable {
        /// Its name.
        name: &'a [u8],
        /// Its value.
        value: &'a [u8],
    },
    /// The current schema is another.
    Schema(&'a [u8]),
    /// Something of the session changed, whatever it was.
    State {
        /// `true` when it did.
        changed: bool,
    },
    /// Executed GTIDs, after one byte of encoding specification.
    Gtids(&'a [u8]),
    /// Statements that would start an equal transaction.
    TransactionCharacteristics(&'a [u8]),
    /// Eight characters that say what the transaction has done so far.
    TransactionState(&'a [u8]),
    /// A kind that came after this was written.
    Other {
        /// Its number.
        kind: u8,
        /// Its bytes.
        data: &'a [u8],
    },
}

/// Reads the changes of an OK packet one after another; the iterator ends after the first error.
pub fn session_changes(block: &[u8]) -> impl Iterator<Item = Result<SessionChange<'_>, DecodeError>> {
    let mut reader = Reader::new(block);
    std::iter::from_fn(move || {
        if reader.is_empty() {
            return None;
        }
        let change = read_change(&mut reader);
        if change.is_err() {
            reader.take_rest();
        }
        Some(change)
    })
}

/// The set of [`SessionChange::Gtids`]; `None`: it is written in a way that came after this was.
#[must_use]
pub fn gtid_set(gtids: &[u8]) -> Option<&[u8]> {
    let mut reader = Reader::new(gtids);
    match reader.u8() {
        Ok(0) => reader.lenenc_bytes().ok(),
        _ => None,
    }
}

impl SessionChange<'_> {
    /// Appends the change to a block for [`crate::OkPacket::session_state`].
    pub fn encode(&self, block: &mut Vec<u8>) {
        let mut data = Vec::new();
        let kind = match *self {
            Self::SystemVariable { name, value } => {
                put_lenenc_bytes(&mut data, name);
                put_lenenc_bytes(&mut data, value);
                0
            }
            Self::Schema(name) => {
                put_lenenc_bytes(&mut data, name);
                1
            }
            Self::State { changed } => {
                put_lenenc_bytes(&mut data, if changed { b"1" } else { b"0" });
                2
            }
            Self::Gtids(bytes) => {
                data.extend_from_slice(bytes);
                3
            }
            Self::TransactionCharacteristics(text) => {
                put_lenenc_bytes(&mut data, text);
                4
            }
            Self::TransactionState(text) => {
                put_lenenc_bytes(&mut data, text);
                5
            }
            Self::Other { kind, data: bytes } => {
                data.extend_from_slice(bytes);
                kind
            }
        };
        block.push(kind);
        put_lenenc_bytes(block, &data);
    }
}

fn read_change<'a>(reader: &mut Reader<'a>) -> Result<SessionChange<'a>, DecodeError> {
    let kind = reader.u8()?;
    let data = reader.lenenc_bytes()?;
    let mut inner = Reader::new(data);
    Ok(match kind {
        0 => SessionChange::SystemVariable {
            name: inner.lenenc_bytes()?,
            value: inner.lenenc_bytes()?,
        },
        1 => SessionChange::Schema(inner.lenenc_bytes()?),
        2 => SessionChange::State {
            changed: inner.lenenc_bytes()? == b"1",
        },
        3 => SessionChange::Gtids(data),
        4 => SessionChange::TransactionCharacteristics(inner.lenenc_bytes()?),
        5 => SessionChange::TransactionState(inner.lenenc_bytes()?),
        _ => SessionChange::Other { kind, data },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_of_the_manual_are_read() {
        // MySQL internals, "Session State Information": autocommit=OFF, schema test, state changed.
        let block = b"\x00\x0f\x0aautocommit\x03OFF\x01\x05\x04test\x02\x02\x011";
        let changes: Result<Vec<_>, _> = session_changes(block).collect();
        assert_eq!(
            changes.unwrap(),
            [
                SessionChange::SystemVariable {
                    name: b"autocommit",
                    value: b"OFF"
                },
                SessionChange::Schema(b"test"),
                SessionChange::State { changed: true },
            ]
        );
    }

    proptest::proptest! {
        #[test]
        fn changes_are_read_as_they_were_written(
            name in proptest::collection::vec(proptest::num::u8::ANY, 0..300),
            value in proptest::collection::vec(proptest::num::u8::ANY, 0..300),
            changed: bool,
            kind in 6_u8..,
        ) {
            let written = [
                SessionChange::SystemVariable { name: &name, value: &value },
                SessionChange::Schema(&name),
                SessionChange::State { changed },
                SessionChange::Gtids(&value),
                SessionChange::TransactionCharacteristics(&value),
                SessionChange::TransactionState(&name),
                SessionChange::Other { kind, data: &value },
            ];
            let mut block = Vec::new();
            for change in &written {
                change.encode(&mut block);
            }
            let read: Result<Vec<_>, _> = session_changes(&block).collect();
            proptest::prop_assert_eq!(read.unwrap(), written);
        }
    }

    #[test]
    fn executed_gtids_are_read() {
        assert_eq!(gtid_set(b"\x00\x03a:5"), Some(&b"a:5"[..]));
        for other in [&b""[..], b"\x01\x03a:5", b"\x00\x04a:5"] {
            assert_eq!(gtid_set(other), None);
        }
    }

    #[test]
    fn a_broken_block_ends_with_one_error() {
        let mut changes = session_changes(b"\x01\x05\x04te");
        assert!(changes.next().is_some_and(|change| change.is_err()));
        assert!(changes.next().is_none());
    }
}
