//! Durations as they are written.

/// A duration in milliseconds: a whole number and `ms`, `s`, `m`, `h` or `d`.
pub fn duration_ms(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|unit: char| unit.is_ascii_lowercase());
    let factor = match &text[digits.len()..] {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    parse_unsigned(digits)?.checked_mul(factor)
}

/// A whole number of decimal digits: `parse` alone would take a sign.
pub fn parse_unsigned(digits: &str) -> Option<u64> {
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        digits.parse().ok()
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        for (text, expected) in [
            ("500ms", Some(500)),
            ("5s", Some(5_000)),
            ("10m", Some(600_000)),
            ("6h", Some(21_600_000)),
            ("5", None),
            ("ms", None),
            ("1.5s", None),
            ("-5s", None),
            ("+5s", None),
            ("5 s", None),
            ("99999999999999999999s", None),
            ("999999999999999999d", None),
        ] {
            assert_eq!(duration_ms(text), expected, "{text}");
        }
    }
}
