//! The keys that literals of a column are.

use std::borrow::Cow;

use shardwright_sql::columns::{self, KeyUse};
use smallvec::SmallVec;

use super::{FoundKey, Unread};
use crate::{Encoding, KeyKind, KeyRef};

pub(super) fn literals<'a>(kind: KeyKind, using: &KeyUse, encoding: Encoding) -> SmallVec<[FoundKey<'a>; 1]> {
    using
        .values
        .iter()
        .filter_map(|literal| literal_value(kind, &literal.value, encoding))
        .collect()
}

/// `None` for one that an execution will tell. A number never places a text key: to the server `name = 0` is true of most names. A string places an integer key
/// only in canonical form.
pub(super) fn literal_value<'a>(
    kind: KeyKind,
    value: &columns::KeyValue,
    encoding: Encoding,
) -> Option<FoundKey<'a>> {
    Some(match value {
        columns::KeyValue::Open => return None,
        columns::KeyValue::Integer(n) => {
            let value = match kind {
                KeyKind::Integer => i64::try_from(*n).ok().map(KeyRef::Integer),
                KeyKind::Text => None,
            };
            FoundKey {
                text: Cow::Owned(n.to_string()),
                value,
                // An integer beyond 64 bits is equal to no other key.
                unread: (kind == KeyKind::Text).then_some(Unread::Ambiguous),
            }
        }
        columns::KeyValue::Text(text) if !encoding.reads(text) => FoundKey {
            text: Cow::Owned(text.clone()),
            value: None,
            unread: Some(Unread::Encoding),
        },
        columns::KeyValue::Text(text) => {
            let text: Cow<'a, str> = Cow::Owned(text.clone());
            let value = KeyRef::parse(kind, text.clone()).filter(|value| value.to_string() == *text);
            FoundKey {
                text,
                unread: value.is_none().then_some(Unread::Ambiguous),
                value,
            }
        }
    })
}
