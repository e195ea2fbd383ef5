//! Values with units and ranges, as texts: `500ms`, `2%`, `1..200`, `1000-2999`.

use shardwright_vocabulary::{is_host, parse_integer, parse_unsigned};
use std::ops::RangeInclusive;

use crate::model::KeyRange;

/// A range of keys: `1..200`, both ends included.
pub(crate) fn key_range(text: &str) -> Option<KeyRange> {
    let (first, last) = text.split_once("..")?;
    let range = KeyRange {
        first: parse_integer(first.trim())?,
        last: parse_integer(last.trim())?,
    };
    (range.first <= range.last).then_some(range)
}

/// Whether a text has the form of a range, whatever its ends.
pub(crate) fn looks_like_range(text: &str) -> bool {
    let integer = |end: &str| parse_integer(end.trim()).is_some();
    text.split_once("..")
        .is_some_and(|(first, last)| integer(first) && integer(last))
}

/// Whether a text is an integer or a range of integers, of which one has no room in 64 bits with a sign.
pub(crate) fn is_beyond_keys(text: &str) -> bool {
    let mut ends = text.split("..").map(str::trim);
    let is_number = |end: &str| {
        let digits = end.strip_prefix('-').unwrap_or(end);
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    ends.clone().all(is_number) && ends.any(|end| parse_integer(end).is_none())
}

/// A range of ids: `1000-2999`, both ends included.
pub(crate) fn id_range(text: &str) -> Option<RangeInclusive<u32>> {
    let (first, last) = text.split_once('-')?;
    let id = |end: &str| parse_unsigned(end.trim()).and_then(|id| u32::try_from(id).ok());
    let (first, last) = (id(first)?, id(last)?);
    (first <= last).then_some(first..=last)
}

/// A digest hash: `0x` and up to 16 hexadecimal digits, neither 0 nor all ones, which the engine cannot hold.
pub(crate) fn digest(text: &str) -> Option<u64> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"))?;
    let hexadecimal = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let value = if hexadecimal {
        u64::from_str_radix(digits, 16).ok()?
    } else {
        return None;
    };
    (value != 0 && value != u64::MAX).then_some(value)
}

/// `host:port`; a host with colons stands in brackets.
pub(crate) fn is_host_and_port(text: &str) -> bool {
    let Some((host, port)) = text.rsplit_once(':') else {
        return false;
    };
    let bracketed = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let host_is_plain = is_host(bracketed.unwrap_or(host)) && (bracketed.is_some() || !host.contains(':'));
    host_is_plain && parse_unsigned(port).is_some_and(|port| (1..=65_535).contains(&port))
}

/// Whether a name is made of letters, digits, `_` and `-`.
pub fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_read() {
        assert_eq!(key_range("1..200"), Some(KeyRange { first: 1, last: 200 }));
        assert_eq!(key_range("-5..-5"), Some(KeyRange { first: -5, last: -5 }));
        assert_eq!(key_range("5..1"), None);
        assert_eq!(id_range("1000-2999"), Some(1000..=2999));
        assert_eq!(id_range("2-1"), None);
        assert_eq!(digest("0x4D7DCFF87DD1A927"), Some(0x4D7D_CFF8_7DD1_A927));
        assert_eq!(digest("0x0"), None);
        assert_eq!(digest("12"), None);
        assert!(is_host_and_port("127.0.0.1:6032"));
        assert!(is_host_and_port("[::1]:6032"));
        assert!(!is_host_and_port("::1:6032"));
        assert!(!is_host_and_port("db:0"));
        assert!(!is_host_and_port("d b:6032"));
        assert!(!is_host_and_port("db\n:6032"));
    }
}
