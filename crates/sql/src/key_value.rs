//! Values of the key column: literals of a statement, and what is bound to its `?`.

use shardwright_vocabulary::KeyValue as BoundKey;

/// What the `?` of a prepared statement stand for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Parameters<'v> {
    /// Nothing that could be a key.
    #[default]
    Unknown,
    /// The statement is prepared and nothing runs: whatever an execution will bind.
    Open,
    /// The values of an execution, in the order of the `?`; `None` for one that is no key. Another number of values than
    /// the text has `?` is as [`Parameters::Unknown`].
    Bound(&'v [Option<BoundKey>]),
}

/// The value of a key literal.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum KeyValue {
    /// A string, unescaped. Compare exactly with keys of type text. For an integer key accept it only if it is that
    /// integer in canonical decimal form.
    Text(String),
    /// An integer. It must not place a key of type text: to the server `name = 0` is true for most names.
    Integer(i128),
    /// What will be bound to a `?`: [`Parameters::Open`].
    Open,
}

impl From<&BoundKey> for KeyValue {
    fn from(key: &BoundKey) -> Self {
        match key {
            BoundKey::Integer(n) => Self::Integer((*n).into()),
            BoundKey::Text(text) => Self::Text((**text).to_owned()),
        }
    }
}

impl KeyValue {
    /// Whether the two are, or can turn out to be, the same key.
    pub(crate) fn may_be(&self, other: &Self) -> bool {
        self == other || *self == Self::Open || *other == Self::Open
    }
}
