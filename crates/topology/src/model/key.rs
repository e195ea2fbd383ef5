//! Keys: what a shard is found by.

use std::fmt;
use std::sync::Arc;

use super::Words;

/// What a shard map's key is.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    /// The word in comments, and the default name of things.
    pub name: Arc<str>,
    /// How values compare.
    pub kind: KeyKind,
    /// All values that exist, for integers; gaps are errors.
    pub domain: Vec<KeyRange>,
    /// What the values of shards are compared with.
    pub placement: Placement,
}

/// How values of a key compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KeyKind {
    /// Exactly, as UTF-8.
    Text,
    /// As numbers: 017 is 17.
    Integer,
}

/// Largest divisor of a key: a shard of a configuration lists its remainders one by one.
pub const MAX_MODULO: i64 = 1 << 20;

/// What the values of shards are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// The key itself: shards have `keys` or `ranges`.
    Value,
    /// The key modulo this number (never negative): shards have `remainders`.
    Modulo(u64),
    /// A hash of the canonical key, modulo a number: shards have `remainders`.
    Hash {
        /// The function.
        function: HashFunction,
        /// The divisor.
        modulo: u64,
    },
}

/// A hash over the UTF-8 of the canonical decimal or text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HashFunction {
    /// XXH64 with seed 0.
    XxHash64,
}

/// A value of a key. Integers are canonical numbers. Ordered integers first, then texts by bytes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KeyValue {
    /// Of a key of type integer.
    Integer(i64),
    /// Of a key of type text.
    Text(Arc<str>),
}

impl fmt::Display for KeyValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(value) => value.fmt(f),
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// Integers from `first` to `last`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyRange {
    /// The least value.
    pub first: i64,
    /// The greatest value; never below `first`.
    pub last: i64,
}

impl KeyRange {
    /// Whether the value lies in it.
    #[must_use]
    pub const fn contains(self, value: i64) -> bool {
        self.first <= value && value <= self.last
    }
}

impl fmt::Display for KeyRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.first == self.last {
            self.first.fmt(f)
        } else {
            write!(f, "{}..{}", self.first, self.last)
        }
    }
}

/// Text around one key: `tenant_$(key:03)`. Strict when finding: a number matches only as it would be written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KeyTemplate {
    /// What stands before the key.
    pub prefix: Arc<str>,
    /// Digits that an integer is padded to with zeros; none for no padding.
    pub width: Option<u8>,
    /// What stands behind the key.
    pub suffix: Arc<str>,
}

/// The number that a decimal text means as a key of type integer: `017` is 17. None for anything else.
#[must_use]
pub fn parse_integer_key(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let decimal = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if decimal { text.parse().ok() } else { None }
}

impl Words for KeyKind {
    const WORDS: &'static [(&'static str, Self)] = &[("text", Self::Text), ("integer", Self::Integer)];
}

impl Words for HashFunction {
    const WORDS: &'static [(&'static str, Self)] = &[("xxhash64", Self::XxHash64)];
}
