//! Values of a key, and the text around them in names.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::words::words;

words! {
    /// How values of a key compare.
    pub enum KeyKind {
        /// Exactly, as UTF-8.
        Text = "text",
        /// As numbers: 017 is 17.
        Integer = "integer",
    }
}

/// A value of a key. Ordered integers first, then texts by bytes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum KeyValue {
    /// Of an integer key.
    Integer(i64),
    /// Of a text key.
    Text(Arc<str>),
}

impl KeyValue {
    /// Reads a value of a key of this kind from the text that a finder found; `None` when it is not one.
    /// Integers are an optional sign and decimal digits within 64 bits, leading zeros allowed.
    pub fn parse(kind: KeyKind, text: &str) -> Option<Self> {
        KeyRef::parse(kind, Cow::Borrowed(text)).map(KeyRef::into_value)
    }
}

/// A value of a key that is looked up: where it is text, it is borrowed from where it was found.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum KeyRef<'a> {
    /// Of an integer key.
    Integer(i64),
    /// Of a text key.
    Text(Cow<'a, str>),
}

impl<'a> KeyRef<'a> {
    /// As [`KeyValue::parse`].
    pub fn parse(kind: KeyKind, text: Cow<'a, str>) -> Option<Self> {
        match kind {
            KeyKind::Text => Some(KeyRef::Text(text)),
            KeyKind::Integer => parse_integer(&text).map(KeyRef::Integer),
        }
    }

    /// As [`KeyRef::parse`], of bytes that need not be UTF-8.
    #[inline]
    pub fn parse_bytes(kind: KeyKind, bytes: &'a [u8]) -> Option<Self> {
        if kind == KeyKind::Integer
            && let Some(n) = short_integer(bytes)
        {
            return Some(KeyRef::Integer(n));
        }
        KeyRef::parse(kind, Cow::Borrowed(std::str::from_utf8(bytes).ok()?))
    }

    /// To look up this value.
    pub fn of(value: &'a KeyValue) -> Self {
        match value {
            KeyValue::Integer(n) => KeyRef::Integer(*n),
            KeyValue::Text(text) => KeyRef::Text(Cow::Borrowed(text)),
        }
    }

    /// The same value, borrowed from this one.
    pub fn borrowed(&self) -> KeyRef<'_> {
        match self {
            KeyRef::Integer(n) => KeyRef::Integer(*n),
            KeyRef::Text(text) => KeyRef::Text(Cow::Borrowed(text)),
        }
    }

    /// Whether it is this value.
    pub fn is(&self, value: &KeyValue) -> bool {
        match (self, value) {
            (KeyRef::Integer(a), KeyValue::Integer(b)) => a == b,
            (KeyRef::Text(a), KeyValue::Text(b)) => **a == **b,
            (KeyRef::Integer(_), KeyValue::Text(_)) | (KeyRef::Text(_), KeyValue::Integer(_)) => false,
        }
    }

    fn into_value(self) -> KeyValue {
        match self {
            KeyRef::Integer(n) => KeyValue::Integer(n),
            KeyRef::Text(text) => KeyValue::Text(text.into()),
        }
    }
}

/// The number that a decimal text is as a key: `017` is 17. None for anything else.
#[must_use]
pub fn parse_integer(text: &str) -> Option<i64> {
    // The standard library reads just this form: one sign at most, decimal ASCII digits, nothing else.
    text.parse().ok()
}

/// The value of 1 to 18 digits without a sign: no such number overflows.
fn short_integer(digits: &[u8]) -> Option<i64> {
    if !(1..=18).contains(&digits.len()) {
        return None;
    }
    digits.iter().try_fold(0, |n, &byte| {
        let digit = byte.wrapping_sub(b'0');
        (digit <= 9).then(|| n * 10 + i64::from(digit))
    })
}

impl fmt::Display for KeyRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyRef::Integer(value) => value.fmt(f),
            KeyRef::Text(value) => f.write_str(value),
        }
    }
}

impl fmt::Display for KeyValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyValue::Integer(value) => value.fmt(f),
            KeyValue::Text(value) => f.write_str(value),
        }
    }
}

/// Text around a key: `tenant_$(key:03)`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyTemplate {
    /// Text before the key.
    pub prefix: Arc<str>,
    /// Digits of an integer key, zero padded; a value in another width is not of this form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub width: Option<u8>,
    /// Text after the key.
    pub suffix: Arc<str>,
}

impl KeyTemplate {
    /// The key's text in `name`, when `name` is of this form. Strict: with a width, exactly that many digits, or more
    /// without a leading zero; without one, no leading zeros of an integer.
    pub fn extract<'a>(&self, kind: KeyKind, name: &'a str) -> Option<&'a str> {
        let text = name.strip_prefix(&*self.prefix)?.strip_suffix(&*self.suffix)?;
        let canonical = match kind {
            KeyKind::Text => true,
            KeyKind::Integer => {
                KeyRef::parse(kind, Cow::Borrowed(text)).is_some() && is_canonical(text, self.width)
            }
        };
        canonical.then_some(text)
    }

    /// Whether `name` is not of this form, and would be if letter case around the key did not count.
    pub fn fits_in_other_case(&self, kind: KeyKind, name: &str) -> bool {
        let same = |part: &str, wanted: &str| {
            part.eq_ignore_ascii_case(wanted)
                || (!part.is_ascii() && part.to_lowercase() == wanted.to_lowercase())
        };
        let Some((prefix, rest)) = name.split_at_checked(self.prefix.len()) else {
            return false;
        };
        let Some((key, suffix)) = rest
            .len()
            .checked_sub(self.suffix.len())
            .and_then(|key| rest.split_at_checked(key))
        else {
            return false;
        };
        let in_case = (prefix, suffix) == (&*self.prefix, &*self.suffix);
        let bare = KeyTemplate {
            prefix: Arc::default(),
            width: self.width,
            suffix: Arc::default(),
        };
        !in_case
            && same(prefix, &self.prefix)
            && same(suffix, &self.suffix)
            && bare.extract(kind, key).is_some()
    }

    /// The text with `value` in the key's place; `None` for a negative value in a padded form.
    pub fn render(&self, value: &KeyValue) -> Option<String> {
        let text = match (value, self.width) {
            (KeyValue::Integer(n), Some(_)) if *n < 0 => return None,
            (KeyValue::Integer(n), Some(width)) => format!("{n:0width$}", width = usize::from(width)),
            (value, _) => value.to_string(),
        };
        Some(format!("{}{text}{}", self.prefix, self.suffix))
    }
}

/// Whether a decimal integer is written as [`KeyTemplate::render`] writes it.
fn is_canonical(text: &str, width: Option<u8>) -> bool {
    let leading_zero = |digits: &str| digits.len() > 1 && digits.starts_with('0');
    match width {
        Some(width) => {
            let digits = text.bytes().all(|byte| byte.is_ascii_digit());
            digits
                && (text.len() == usize::from(width)
                    || (text.len() > usize::from(width) && !leading_zero(text)))
        }
        None => match text.strip_prefix('-') {
            Some(digits) => !digits.starts_with('0'),
            None => !text.starts_with('+') && !leading_zero(text),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_compare_as_numbers() {
        for (text, expected) in [
            ("17", Some(17)),
            ("017", Some(17)),
            ("-3", Some(-3)),
            ("+3", Some(3)),
            ("9223372036854775807", Some(i64::MAX)),
            ("9223372036854775808", None),
            ("-9223372036854775808", Some(i64::MIN)),
            ("999999999999999999", Some(999_999_999_999_999_999)),
            ("000000000000000000000000000000000017", Some(17)),
            ("+-3", None),
            ("17a", None),
            ("", None),
            ("-", None),
            ("1_0", None),
            ("１７", None),
        ] {
            assert_eq!(
                KeyValue::parse(KeyKind::Integer, text),
                expected.map(KeyValue::Integer),
                "{text}"
            );
            assert_eq!(
                KeyRef::parse_bytes(KeyKind::Integer, text.as_bytes()),
                expected.map(KeyRef::Integer),
                "{text}"
            );
        }
        assert_eq!(KeyRef::parse_bytes(KeyKind::Integer, b"1\xff"), None);
        assert_eq!(KeyRef::parse_bytes(KeyKind::Text, b"1\xff"), None);
    }

    #[test]
    fn a_template_finds_what_it_renders() {
        let texts = [
            "0",
            "00",
            "000",
            "-0",
            "+0",
            "-00",
            "7",
            "07",
            "007",
            "0007",
            "-7",
            "-07",
            "+7",
            "17",
            "017",
            "1000",
            "01000",
            "",
            "-",
            "x",
            "9223372036854775807",
            "9223372036854775808",
            "-9223372036854775808",
        ];
        for kind in [KeyKind::Integer, KeyKind::Text] {
            for width in [None, Some(0), Some(1), Some(3)] {
                let template = KeyTemplate {
                    prefix: "t".into(),
                    width,
                    suffix: "0".into(),
                };
                for text in texts {
                    let name = format!("t{text}0");
                    let rendered = KeyValue::parse(kind, text).and_then(|value| template.render(&value));
                    let fits = kind == KeyKind::Text || rendered.as_ref() == Some(&name);
                    let expected = fits.then_some(text);
                    assert_eq!(
                        template.extract(kind, &name),
                        expected,
                        "{name} {kind:?} {width:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn templates_are_strict_when_finding() {
        let padded = KeyTemplate {
            prefix: "tenant_".into(),
            width: Some(3),
            suffix: Arc::default(),
        };
        for (name, expected) in [
            ("tenant_017", Some("017")),
            ("tenant_17", None),
            ("tenant_0017", None),
            ("tenant_1234", Some("1234")),
            ("tenant_", None),
            ("xtenant_017", None),
        ] {
            assert_eq!(padded.extract(KeyKind::Integer, name), expected, "{name}");
        }
        let bare = KeyTemplate {
            prefix: "s".into(),
            width: None,
            suffix: "_db".into(),
        };
        assert_eq!(bare.extract(KeyKind::Integer, "s17_db"), Some("17"));
        assert_eq!(bare.extract(KeyKind::Integer, "s017_db"), None);
        assert_eq!(bare.extract(KeyKind::Text, "sEurope_db"), Some("Europe"));
        for (name, expected) in [
            ("s17_db", false),
            ("S17_db", true),
            ("s17_DB", true),
            ("S17x_db", false),
            ("S017_db", false),
            ("S_db", false),
        ] {
            assert_eq!(
                bare.fits_in_other_case(KeyKind::Integer, name),
                expected,
                "{name}"
            );
        }
    }
}
