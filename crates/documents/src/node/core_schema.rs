//! What an unquoted word is by the YAML 1.2 core schema, and by YAML 1.1 where that differs.
//!
//! Sources: YAML 1.2.2 §10.3.2 (tag resolution); the YAML 1.1 type pages bool, int, float (yaml.org/type).

use crate::{Style, Value};

/// Resolves an unquoted word.
pub(crate) fn resolve(word: &str) -> Value {
    let raw = || Box::from(word);
    match word {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null { raw: raw() },
        "true" | "True" | "TRUE" => {
            return Value::Bool {
                value: true,
                raw: raw(),
            };
        }
        "false" | "False" | "FALSE" => {
            return Value::Bool {
                value: false,
                raw: raw(),
            };
        }
        _ => {}
    }
    if word.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '+' | '-' | '.')) {
        if let Some(value) = integer(word) {
            return Value::Integer { value, raw: raw() };
        }
        if let Some(value) = float(word) {
            return Value::Float { value, raw: raw() };
        }
    }
    Value::Text {
        text: raw(),
        style: Style::Plain,
    }
}

fn integer(word: &str) -> Option<i128> {
    if let Some(octal) = word.strip_prefix("0o") {
        return unsigned(octal, 8);
    }
    if let Some(hex) = word.strip_prefix("0x") {
        return unsigned(hex, 16);
    }
    let digits = word.strip_prefix(['+', '-']).unwrap_or(word);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    word.parse().ok()
}

/// `from_str_radix` takes a sign, the core schema does not.
fn unsigned(digits: &str, radix: u32) -> Option<i128> {
    if digits.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        i128::from_str_radix(digits, radix).ok()
    } else {
        None
    }
}

fn float(word: &str) -> Option<f64> {
    let (negative, magnitude) = match word.as_bytes().first()? {
        b'-' => (true, &word[1..]),
        b'+' => (false, &word[1..]),
        _ => (false, word),
    };
    match magnitude {
        ".inf" | ".Inf" | ".INF" => {
            return Some(if negative {
                f64::NEG_INFINITY
            } else {
                f64::INFINITY
            });
        }
        ".nan" | ".NaN" | ".NAN" if magnitude.len() == word.len() => return Some(f64::NAN),
        _ => {}
    }
    let mantissa = magnitude.split(['e', 'E']).next()?;
    let has_digit = mantissa.bytes().any(|byte| byte.is_ascii_digit());
    let allowed = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-');
    if has_digit && magnitude.bytes().all(allowed) {
        word.parse().ok()
    } else {
        None
    }
}

/// What a YAML 1.1 reader takes an unquoted word for, where YAML 1.2 reads something else.
pub(crate) fn yaml_1_1_reading(word: &str) -> Option<&'static str> {
    const BOOLEANS: [&str; 8] = ["y", "n", "yes", "no", "on", "off", "true", "false"];
    if BOOLEANS.iter().any(|boolean| word.eq_ignore_ascii_case(boolean)) {
        // `tRUE` is no boolean in either version; true and false themselves are one in both.
        let lower = word.bytes().all(|byte| byte.is_ascii_lowercase());
        let upper = word.bytes().all(|byte| byte.is_ascii_uppercase());
        let title = word[1..].bytes().all(|byte| byte.is_ascii_lowercase());
        let both = word.eq_ignore_ascii_case("true") || word.eq_ignore_ascii_case("false");
        return (!both && (lower || upper || title)).then_some("a boolean");
    }
    let digits = word.strip_prefix(['+', '-']).unwrap_or(word);
    let first = digits.bytes().next()?;
    if !first.is_ascii_digit() {
        return None;
    }
    if digits.len() > 1 && first == b'0' && digits.bytes().all(|byte| matches!(byte, b'0'..=b'7' | b'_')) {
        return Some("an octal number");
    }
    if let Some(binary) = digits.strip_prefix("0b") {
        let binary = !binary.is_empty() && binary.bytes().all(|byte| matches!(byte, b'0' | b'1' | b'_'));
        return binary.then_some("a binary number");
    }
    if let Some(hex) = digits.strip_prefix("0x") {
        let signed = digits.len() != word.len();
        let number = !hex.is_empty() && hex.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'_');
        return (number && (signed || hex.contains('_'))).then_some("a hexadecimal number");
    }
    if digits.contains('_')
        && digits
            .bytes()
            .all(|byte| byte.is_ascii_digit() || matches!(byte, b'_' | b'.'))
    {
        return Some("a number");
    }
    sexagesimal(digits).then_some("a number of base 60")
}

/// `12:30` or `1:20:30.5`: `[1-9][0-9_]*(:[0-5]?[0-9])+`, with a fraction `[0-9][0-9_]*(:[0-5]?[0-9])+\.[0-9_]*`.
fn sexagesimal(word: &str) -> bool {
    let (whole, fraction) = word
        .split_once('.')
        .map_or((word, None), |(whole, rest)| (whole, Some(rest)));
    let mut parts = whole.split(':');
    let first = parts.next().unwrap_or_default();
    let mut further = 0;
    for part in parts {
        further += 1;
        let digit_pair = match part.as_bytes() {
            [unit] => unit.is_ascii_digit(),
            [ten, unit] => matches!(ten, b'0'..=b'5') && unit.is_ascii_digit(),
            _ => false,
        };
        if !digit_pair {
            return false;
        }
    }
    let number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
    further > 0 && number(first) && fraction.map_or(!first.starts_with('0'), number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_resolved_by_the_core_schema() {
        for (word, expected) in [
            ("", "nothing"),
            ("~", "nothing"),
            ("NULL", "nothing"),
            ("nULL", "text"),
            ("true", "a boolean"),
            ("False", "a boolean"),
            ("yes", "text"),
            ("NO", "text"),
            ("0", "an integer"),
            ("-12", "an integer"),
            ("+12", "an integer"),
            ("017", "an integer"),
            ("0o17", "an integer"),
            ("0o8", "text"),
            ("0o", "text"),
            ("0x1F", "an integer"),
            ("-0x1F", "text"),
            ("0x+1", "text"),
            ("1_000", "text"),
            ("1..200", "text"),
            ("1-2", "text"),
            ("-", "text"),
            ("+", "text"),
            ("--1", "text"),
            (".", "text"),
            ("...", "text"),
            (".5", "a number"),
            ("5.", "a number"),
            ("1e3", "a number"),
            ("1.5e-3", "a number"),
            (".e3", "text"),
            ("1e", "text"),
            (".inf", "a number"),
            ("-.INF", "a number"),
            (".nan", "a number"),
            ("-.nan", "text"),
            ("inf", "text"),
            ("infinity", "text"),
            ("340282366920938463463374607431768211456", "a number"),
            ("10.0.0.7", "text"),
            ("12:30", "text"),
        ] {
            assert_eq!(resolve(word).type_name(), expected, "{word}");
        }
        assert_eq!(integer("017"), Some(17));
        assert_eq!(integer("0o17"), Some(15));
        assert_eq!(integer("0x1f"), Some(31));
    }

    #[test]
    fn words_that_yaml_1_1_reads_differently_are_known() {
        for (word, expected) in [
            ("NO", Some("a boolean")),
            ("off", Some("a boolean")),
            ("Yes", Some("a boolean")),
            ("nO", None),
            ("true", None),
            ("017", Some("an octal number")),
            ("018", None),
            ("0", None),
            ("00", Some("an octal number")),
            ("0o17", None),
            ("0b11", Some("a binary number")),
            ("0x1f", None),
            ("0x1_f", Some("a hexadecimal number")),
            ("1_000", Some("a number")),
            ("1_000.5", Some("a number")),
            ("12:30", Some("a number of base 60")),
            ("12:60", None),
            ("1:20:30", Some("a number of base 60")),
            ("127.0.0.1:6032", None),
            ("t137", None),
            ("", None),
            ("ü", None),
        ] {
            assert_eq!(yaml_1_1_reading(word), expected, "{word}");
        }
    }
}
