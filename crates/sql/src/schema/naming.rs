//! Comparing and writing names of schemas.

use crate::names::folded;

/// How a name in a statement relates to a wanted schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// Byte for byte the same.
    Same,
    /// The same but for case: one schema or two, as the server's `lower_case_table_names` has it.
    SameButForCase,
    /// Another name.
    Other,
}

impl Naming {
    /// Compares `name` with `wanted`.
    pub fn of(name: &[u8], wanted: &str) -> Self {
        if name == wanted.as_bytes() {
            Naming::Same
        } else if folded(name) == folded(wanted.as_bytes()) {
            Naming::SameButForCase
        } else {
            Naming::Other
        }
    }
}

/// `name` between backticks.
pub(crate) fn quoted(name: &str) -> Vec<u8> {
    format!("`{}`", name.replace('`', "``")).into_bytes()
}

/// True if `name` needs no quotes where a dot and a name follow directly: there the server looks for no keyword.
pub(crate) fn is_plain(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
}
