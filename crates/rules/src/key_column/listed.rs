//! Whether the keys that a map lists are different keys in a column too.

use std::fmt::Write;

use rustc_hash::FxHashMap;

use super::{ColumnKind, Equality, KeyColumn};
use crate::{KeyKind, KeyValue, MapStep, UnknownKey};

/// Keys of one question; a map with more must have keys that are told apart without one.
const MOST_ASKED: usize = 1000;

/// A map's keys as far as a column matters to them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeysOfMap {
    /// How the map compares them.
    pub kind: KeyKind,
    /// Every value has a shard or a cluster, so that values that nobody has listed are keys too.
    pub is_open: bool,
    /// Of a map that lists its keys.
    pub distinction: Distinction,
}

/// Whether keys of different shards are different in the column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distinction {
    /// They are.
    Clear,
    /// The column takes two of them for one.
    Blurred,
    /// Nobody can tell.
    Unknown,
}

/// What a server is asked: the answer is one value, 1 if the keys are different.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuestionOfKeys {
    /// The statement.
    pub sql: String,
}

impl QuestionOfKeys {
    /// What the answer says.
    pub fn distinction(&self, answer: Option<&[u8]>) -> Distinction {
        match answer {
            Some(b"1") => Distinction::Clear,
            Some(_) => Distinction::Blurred,
            None => Distinction::Unknown,
        }
    }
}

impl KeysOfMap {
    /// Of a map of which nothing is known: no value of it is read.
    pub const UNKNOWN: Self = Self {
        kind: KeyKind::Text,
        is_open: false,
        distinction: Distinction::Unknown,
    };

    /// The keys of a map beside a column; where only the server knows, the question whose answer completes it.
    pub fn beside(step: &MapStep, column: &KeyColumn) -> (Self, Option<QuestionOfKeys>) {
        let is_open = step.remainder.is_some() || matches!(step.unknown, UnknownKey::Cluster(_));
        let (distinction, question) = if step.kind == KeyKind::Integer || is_open {
            (Distinction::Clear, None)
        } else {
            distinguish(step, column)
        };
        let keys = Self {
            kind: step.kind,
            is_open,
            distinction,
        };
        (keys, question)
    }
}

fn distinguish(step: &MapStep, column: &KeyColumn) -> (Distinction, Option<QuestionOfKeys>) {
    let keys: Vec<(usize, &str)> = step
        .shards
        .iter()
        .enumerate()
        .flat_map(|(shard, own)| own.keys.iter().map(move |key| (shard, key)))
        .filter_map(|(shard, key)| match key {
            KeyValue::Text(text) => Some((shard, &**text)),
            KeyValue::Integer(_) => None,
        })
        .collect();
    let certain = |is_clear| {
        if is_clear {
            Distinction::Clear
        } else {
            Distinction::Blurred
        }
    };
    match &column.kind {
        // A text that is no number is read in no column of numbers.
        ColumnKind::Integer { .. } | ColumnKind::Decimal { .. } => {
            let numbers = keys
                .iter()
                .map(|(shard, text)| (*shard, text.parse::<i128>().ok()));
            let numbers = numbers.filter_map(|(shard, number)| Some((shard, number?)));
            (certain(are_apart(numbers)), None)
        }
        ColumnKind::Uuid => {
            let folded = keys
                .iter()
                .map(|(shard, text)| (*shard, text.to_ascii_lowercase()));
            (certain(are_apart(folded)), None)
        }
        ColumnKind::Text {
            charset, equality, ..
        } => among_texts(&keys, Some(charset), equality),
        ColumnKind::Enum { equality, .. } => among_texts(&keys, None, equality),
        ColumnKind::Bytes { .. } | ColumnKind::Float { .. } | ColumnKind::Other => (Distinction::Clear, None),
    }
}

fn are_apart<K: Eq + std::hash::Hash>(keys: impl Iterator<Item = (usize, K)>) -> bool {
    let mut shards = FxHashMap::default();
    let mut keys = keys;
    keys.all(|(shard, key)| *shards.entry(key).or_insert(shard) == shard)
}

fn among_texts(
    keys: &[(usize, &str)],
    charset: Option<&str>,
    equality: &Equality,
) -> (Distinction, Option<QuestionOfKeys>) {
    let folded = keys
        .iter()
        .map(|(shard, text)| Some((*shard, equality.folded(text)?)));
    if folded
        .collect::<Option<Vec<_>>>()
        .is_some_and(|folded| are_apart(folded.into_iter()))
    {
        return (Distinction::Clear, None);
    }
    // The collation's name begins with its character set.
    let own = equality.collation.split('_').next().unwrap_or_default();
    let charset = charset.unwrap_or(own);
    let is_name = |name: &str| {
        name.bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    if keys.len() > MOST_ASKED || !is_name(charset) || !is_name(&equality.collation) {
        return (Distinction::Unknown, None);
    }
    (
        Distinction::Unknown,
        Some(question(keys, charset, &equality.collation)),
    )
}

/// Asks whether no key of one shard is equal to one of another. A key that the character set does not have is equal to nothing.
///
/// The keys are compared in pairs, and not grouped: sorts of MariaDB 10.11 leave the ends of keys undefined in the NOPAD collations of
/// 8-bit character sets, so that equal texts are in one group or in two, by chance. STRCMP keeps MySQL from joining by a hash.
fn question(keys: &[(usize, &str)], charset: &str, collation: &str) -> QuestionOfKeys {
    let mut listed = String::new();
    for (at, (shard, text)) in keys.iter().enumerate() {
        let and = if at == 0 { "" } else { " UNION ALL " };
        let hex = text.bytes().fold(String::new(), |mut hex, byte| {
            let _: std::fmt::Result = write!(hex, "{byte:02X}");
            hex
        });
        let _: std::fmt::Result = write!(listed, "{and}SELECT {shard} AS s, _utf8mb4 X'{hex}' AS k");
    }
    let side = format!(
        "(SELECT s, CONVERT(k USING {charset}) COLLATE {collation} AS k FROM ({listed}) AS listed \
         WHERE CONVERT(CONVERT(k USING {charset}) USING utf8mb4) COLLATE utf8mb4_bin = k)"
    );
    QuestionOfKeys {
        sql: format!(
            "SELECT CAST(NOT EXISTS (SELECT 1 FROM {side} AS a, {side} AS b WHERE a.s < b.s AND STRCMP(a.k, b.k) = 0) AS BINARY) \
             LIMIT 1"
        ),
    }
}
