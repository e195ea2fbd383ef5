//! How keys and runs of keys are written in the lock file.

use std::fmt::Write as _;

use shardwright_rules::KeyKind;

/// A text key without what separates names: such characters are percent-encoded.
pub(crate) fn of_text(key: &str) -> String {
    let mut name = String::with_capacity(key.len());
    for character in key.chars() {
        if character.is_control()
            || character.is_whitespace()
            || matches!(character, '%' | '/' | '#' | '@' | '.' | '~')
        {
            for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                write!(name, "%{byte:02X}").expect("writing to a string cannot fail");
            }
        } else {
            name.push(character);
        }
    }
    name
}

/// What [`of_text`] was made from.
fn untext(name: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        if byte == b'%' {
            let digits = std::str::from_utf8(after.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &after[2..];
        } else {
            bytes.push(byte);
            rest = after;
        }
    }
    String::from_utf8(bytes).ok()
}

/// The bounds of a run of keys, both included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeyBounds {
    /// Of integers.
    Integers(i64, i64),
    /// Of texts.
    Texts(String, String),
}

impl KeyBounds {
    /// `17..32`, `Asia..Europe`
    pub(crate) fn name(&self) -> String {
        match self {
            KeyBounds::Integers(low, high) => format!("{low}..{high}"),
            KeyBounds::Texts(low, high) => format!("{}..{}", of_text(low), of_text(high)),
        }
    }

    /// What [`KeyBounds::name`] was made from.
    pub(crate) fn parse(kind: KeyKind, name: &str) -> Option<Self> {
        // A chain whose name was taken has a number behind it.
        let name = name.split_once('~').map_or(name, |(name, _)| name);
        let (low, high) = name.split_once("..")?;
        Some(match kind {
            KeyKind::Integer => KeyBounds::Integers(low.parse().ok()?, high.parse().ok()?),
            KeyKind::Text => KeyBounds::Texts(untext(low)?, untext(high)?),
        })
    }
}

/// A key as the lock file names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeyName {
    /// `17`
    Integer(i64),
    /// `Asia`
    Text(String),
}

impl KeyName {
    /// As the lock file writes it.
    pub(crate) fn name(&self) -> String {
        match self {
            KeyName::Integer(value) => value.to_string(),
            KeyName::Text(key) => of_text(key),
        }
    }

    /// Reads a name.
    pub(crate) fn parse(kind: KeyKind, name: &str) -> Option<Self> {
        match kind {
            KeyKind::Integer => name.parse().ok().map(KeyName::Integer),
            KeyKind::Text => untext(name).map(KeyName::Text),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn names_read_back(low in any::<String>(), high in any::<String>(), a in any::<i64>(), b in any::<i64>()) {
            let bounds = KeyBounds::Texts(low, high);
            let name = bounds.name();
            prop_assert!(!name.contains([' ', '/', '#', '@', '\n']), "{}", name);
            prop_assert_eq!(KeyBounds::parse(KeyKind::Text, &name), Some(bounds));
            let bounds = KeyBounds::Integers(a, b);
            prop_assert_eq!(KeyBounds::parse(KeyKind::Integer, &bounds.name()), Some(bounds));
        }
    }
}
