//! The values of a set of keys, read byte by byte.

use std::collections::BTreeSet;
use std::sync::Arc;

use shardwright_rules::{KeyKind, KeyValue};

/// Values of ranges that are written out.
const MOST_VALUES: u64 = 20_000;

/// The texts of the values, sorted: of integers, the digits without leading zeros, behind `-` if negative.
pub(super) struct Values {
    kind: KeyKind,
    texts: Vec<Vec<u8>>,
}

impl Values {
    /// The values of keys and ranges; `None` if there are too many.
    pub(super) fn of(kind: KeyKind, keys: &[KeyValue], ranges: &[(i64, i64)]) -> Option<Self> {
        let mut texts: BTreeSet<Vec<u8>> = keys.iter().map(|key| key.to_string().into_bytes()).collect();
        for &(first, last) in ranges {
            if last.abs_diff(first) > MOST_VALUES || texts.len() as u64 > MOST_VALUES {
                return None;
            }
            texts.extend((first..=last).map(|value| value.to_string().into_bytes()));
        }
        Some(Self {
            kind,
            texts: texts.into_iter().collect(),
        })
    }

    /// Whether a value begins so.
    fn begins(&self, text: &[u8]) -> bool {
        let at = self.texts.partition_point(|known| known.as_slice() < text);
        self.texts.get(at).is_some_and(|known| known.starts_with(text))
    }

    /// Whether what was read is a value of the set.
    pub(super) fn holds(&self, read: &Read) -> bool {
        match read {
            Read::Text(text) => self
                .texts
                .binary_search_by(|known| known.as_slice().cmp(text))
                .is_ok(),
            Read::Zeros { .. } => {
                let has_zero = |zero: &[u8]| self.texts.iter().any(|known| known == zero);
                has_zero(b"0")
            }
            Read::Sign { .. } | Read::Other => false,
        }
    }

    /// What has been read of a value, with one byte more.
    pub(super) fn read(&self, read: &Read, byte: u8) -> Read {
        let kept = |text: Vec<u8>| match self.begins(&text) {
            true => Read::Text(text.into()),
            false => Read::Other,
        };
        let digits = |negative: bool, byte: u8| match byte {
            b'0' => Read::Zeros { negative },
            b'1'..=b'9' if negative => kept(vec![b'-', byte]),
            b'1'..=b'9' => kept(vec![byte]),
            _ => Read::Other,
        };
        match (self.kind, read) {
            (_, Read::Other) => Read::Other,
            (KeyKind::Text, Read::Text(text)) => kept([text, &[byte][..]].concat()),
            (KeyKind::Integer, Read::Text(text)) if text.is_empty() => match byte {
                b'+' => Read::Sign { negative: false },
                b'-' => Read::Sign { negative: true },
                _ => digits(false, byte),
            },
            (KeyKind::Integer, Read::Text(text)) if byte.is_ascii_digit() => {
                kept([text, &[byte][..]].concat())
            }
            (KeyKind::Integer, &(Read::Sign { negative } | Read::Zeros { negative })) => {
                digits(negative, byte)
            }
            _ => Read::Other,
        }
    }
}

/// What has been read of a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Read {
    /// The beginning of a value of the set.
    Text(Arc<[u8]>),
    /// A sign.
    Sign { negative: bool },
    /// A sign or none, and zeros.
    Zeros { negative: bool },
    /// Nothing that a value of the set begins with.
    Other,
}
