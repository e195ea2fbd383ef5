//! Patterns for integers: single values and ranges, written the way a key is written.

/// How an integer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writing {
    /// With a sign and leading zeros, as a value of a `key=value` pair: 017 is 17.
    Free,
    /// Without leading zeros.
    Plain,
    /// Zero padded to this many digits.
    Padded(u8),
}

/// A pattern for the integers of `ranges` (both ends included, ascending), and no other text. Not anchored.
pub(crate) fn pattern(ranges: &[(i64, i64)], writing: Writing) -> String {
    let mut negative = Vec::new();
    let mut positive = Vec::new();
    let mut zero = false;
    for &(low, high) in ranges {
        if low < 0 {
            let end = high.min(-1);
            spans(end.unsigned_abs(), low.unsigned_abs(), &mut negative);
        }
        if high >= 0 {
            zero |= low <= 0;
            spans(low.max(0).unsigned_abs(), high.unsigned_abs(), &mut positive);
        }
    }
    let mut parts = Vec::new();
    match writing {
        Writing::Free => {
            if !positive.is_empty() {
                parts.push(format!("\\+?0*{}", any_of(&behind_zeros(&positive))));
            }
            if !negative.is_empty() {
                parts.push(format!("-0*{}", any_of(&texts(&negative))));
            }
            if zero {
                parts.push("-0+".to_owned());
            }
        }
        Writing::Plain => {
            parts.extend(texts(&positive));
            if !negative.is_empty() {
                parts.push(format!("-{}", any_of(&texts(&negative))));
            }
        }
        Writing::Padded(width) => parts.extend(positive.iter().map(|span| {
            let zeros = usize::from(width).saturating_sub(span.digits());
            format!("{}{}", "0".repeat(zeros), span.text())
        })),
    }
    any_of(&parts)
}

/// The roundest bounds of a range that may grow into the gaps beside it: above `below` and under `above`.
pub(crate) fn rounded(range: (i64, i64), below: Option<i64>, above: Option<i64>) -> (i64, i64) {
    let (low, high) = range;
    if low < 0 {
        return range;
    }
    let floor = below.map_or(0, |below| below.saturating_add(1).max(0));
    let ceiling = above.map_or_else(|| nines_from(high), |above| above - 1);
    (round_down(low, floor), round_up(high, ceiling))
}

fn nines_from(high: i64) -> i64 {
    let mut nines: i64 = 9;
    while nines < high {
        nines = nines.saturating_mul(10).saturating_add(9);
    }
    nines
}

fn round_down(value: i64, floor: i64) -> i64 {
    let mut best = value;
    let mut unit: i64 = 10;
    loop {
        let candidate = value - value % unit;
        if candidate < floor {
            return best;
        }
        best = candidate;
        let Some(next) = unit.checked_mul(10) else {
            return best;
        };
        if candidate == 0 {
            return best;
        }
        unit = next;
    }
}

fn round_up(value: i64, ceiling: i64) -> i64 {
    let mut best = value;
    let mut unit: i64 = 10;
    loop {
        let Some(candidate) = (value - value % unit).checked_add(unit - 1) else {
            return best;
        };
        if candidate > ceiling {
            return best;
        }
        best = candidate;
        if unit > value {
            return best;
        }
        let Some(next) = unit.checked_mul(10) else {
            return best;
        };
        unit = next;
    }
}

/// Numbers of one length that differ in a block of digits: `1`, `[2-4]`, then any digits.
struct Span {
    low: u64,
    high: u64,
}

impl Span {
    fn digits(&self) -> usize {
        self.low.to_string().len()
    }

    fn text(&self) -> String {
        let (low, high) = (self.low.to_string(), self.high.to_string());
        let mut text = String::new();
        let mut any = 0;
        for (a, b) in low.bytes().zip(high.bytes()) {
            match (a, b) {
                (b'0', b'9') => any += 1,
                (a, b) if a == b => text.push(char::from(a)),
                (a, b) if b == a + 1 => text.push_str(&format!("[{}{}]", char::from(a), char::from(b))),
                (a, b) => text.push_str(&format!("[{}-{}]", char::from(a), char::from(b))),
            }
        }
        text + &any_digits(any, any)
    }

    /// Whether these are all the numbers of one length.
    fn is_decade(&self) -> bool {
        let is_first = self.low.to_string().trim_end_matches('0') == "1";
        is_first && self.low.checked_mul(10).is_some_and(|next| next - 1 == self.high)
    }
}

/// At least `low` and at most `high` digits.
fn any_digits(low: usize, high: usize) -> String {
    match (low, high) {
        (0, 0) => String::new(),
        (1, 1) => "[0-9]".to_owned(),
        (2, 2) => "[0-9][0-9]".to_owned(),
        (low, high) if low == high => format!("[0-9]{{{low}}}"),
        (low, high) => format!("[0-9]{{{low},{high}}}"),
    }
}

/// Splits a range where its numbers stop sharing one block of digits.
fn spans(low: u64, high: u64, into: &mut Vec<Span>) {
    let mut from = low;
    loop {
        let mut to = from;
        let mut unit: u64 = 1;
        // Grow the block while `from` starts one of that size and the block stays inside the range.
        while let Some(bigger) = unit.checked_mul(10) {
            if !from.is_multiple_of(bigger) || from < bigger {
                break;
            }
            match (from - from % bigger).checked_add(bigger - 1) {
                Some(end) if end <= high => {
                    to = end;
                    unit = bigger;
                }
                _ => break,
            }
        }
        // Take further blocks of the same size while only one digit changes.
        while (to / unit) % 10 != 9 {
            match to.checked_add(unit) {
                Some(next) if next <= high => to = next,
                _ => break,
            }
        }
        into.push(Span { low: from, high: to });
        match to.checked_add(1) {
            Some(next) if to < high => from = next,
            _ => return,
        }
    }
}

/// The same behind any number of zeros: one text for 0 to 9 and the decades that follow.
fn behind_zeros(spans: &[Span]) -> Vec<String> {
    let longer = spans[1..].iter().zip(2..);
    let decades = 1 + longer
        .take_while(|(span, digits)| span.is_decade() && span.digits() == *digits)
        .count();
    match &spans[0] {
        Span { low: 0, high: 9 } if decades > 1 => {
            let mut all = vec![any_digits(1, decades)];
            all.extend(texts(&spans[decades..]));
            all
        }
        _ => texts(spans),
    }
}

/// One text a span, and one for decades that follow each other.
fn texts(spans: &[Span]) -> Vec<String> {
    spans
        .chunk_by(|one, next| {
            one.is_decade() && next.is_decade() && one.high.checked_add(1) == Some(next.low)
        })
        .map(|chunk| match chunk {
            [first, .., last] => format!("[1-9]{}", any_digits(first.digits() - 1, last.digits() - 1)),
            [one] => one.text(),
            [] => String::new(),
        })
        .collect()
}

fn any_of(parts: &[String]) -> String {
    match parts {
        [one] => one.clone(),
        many => format!("(?:{})", many.join("|")),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn whole(pattern: &str) -> regex::Regex {
        regex::Regex::new(&format!(r"\A(?:{pattern})\z")).expect("a valid pattern")
    }

    #[test]
    fn forms() {
        for (ranges, writing, expected) in [
            (&[(17, 17)][..], Writing::Free, r"\+?0*17"),
            (&[(100, 149)], Writing::Free, r"\+?0*1[0-4][0-9]"),
            (&[(0, 999)], Writing::Plain, "(?:[0-9]|[1-9][0-9]{1,2})"),
            (&[(0, 999)], Writing::Free, r"(?:\+?0*[0-9]{1,3}|-0+)"),
            (
                &[(0, 9), (100, 999)],
                Writing::Free,
                r"(?:\+?0*(?:[0-9]|[1-9][0-9][0-9])|-0+)",
            ),
            (
                &[(0, 140)],
                Writing::Free,
                r"(?:\+?0*(?:[0-9]{1,2}|1[0-3][0-9]|140)|-0+)",
            ),
            (&[(1, 99_999)], Writing::Plain, "[1-9][0-9]{0,4}"),
            (
                &[(5, 1_234)],
                Writing::Plain,
                "(?:[5-9]|[1-9][0-9]{1,2}|1[01][0-9][0-9]|12[0-2][0-9]|123[0-4])",
            ),
            (&[(7, 12)], Writing::Padded(3), "(?:00[7-9]|01[0-2])"),
            (&[(-3, 0)], Writing::Free, r"(?:\+?0*0|-0*[1-3]|-0+)"),
        ] {
            assert_eq!(pattern(ranges, writing), expected);
        }
    }

    #[test]
    fn bounds_round_into_gaps() {
        for (range, below, above, expected) in [
            ((17, 32), Some(16), Some(33), (17, 32)),
            ((17, 32), Some(3), Some(51), (10, 39)),
            ((1, 50), None, Some(51), (0, 50)),
            ((151, 200), Some(150), None, (151, 999)),
        ] {
            assert_eq!(rounded(range, below, above), expected, "{range:?}");
        }
    }

    proptest! {
        #[test]
        fn a_range_takes_its_numbers_and_no_others(low in -2_000i64..20_000, size in 0i64..5_000, probe in -30_000i64..30_000) {
            let high = low + size;
            let pattern = whole(&pattern(&[(low, high)], Writing::Free));
            for number in [probe, low, high, low - 1, high + 1, low * 10, high / 10] {
                let inside = (low..=high).contains(&number);
                prop_assert_eq!(pattern.is_match(&number.to_string()), inside, "{}", number);
                if number >= 0 {
                    prop_assert_eq!(pattern.is_match(&format!("00{number}")), inside, "00{}", number);
                }
            }
        }

        #[test]
        fn extremes(low in any::<i64>(), high in any::<i64>(), probe in any::<i64>()) {
            let (low, high) = (low.min(high), low.max(high));
            let pattern = whole(&pattern(&[(low, high)], Writing::Plain));
            for number in [probe, low, high] {
                prop_assert_eq!(pattern.is_match(&number.to_string()), (low..=high).contains(&number));
            }
        }

        #[test]
        fn padded(low in 0i64..2_000, size in 0i64..2_000, probe in 0i64..5_000) {
            let pattern = whole(&pattern(&[(low, low + size)], Writing::Padded(3)));
            let inside = (low..=low + size).contains(&probe);
            let strict = format!("{probe:03}");
            prop_assert_eq!(pattern.is_match(&strict), inside);
            let longer = format!("0{strict}");
            prop_assert!(!pattern.is_match(&longer));
        }

        #[test]
        fn rounding_stays_in_the_gaps(low in 0i64..5_000, size in 0i64..500, below in 0i64..100, above in 1i64..100) {
            let high = low + size;
            let (below, above) = (low - 1 - below, high + above);
            let (down, up) = rounded((low, high), Some(below), Some(above));
            prop_assert!(below < down && down <= low && high <= up && up < above);
        }
    }
}
