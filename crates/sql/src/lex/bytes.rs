//! What each byte is to the lexer, by table.

/// What a token can be that begins with a byte.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Start {
    /// Blanks.
    Blank,
    /// A word.
    Name,
    /// A word, or a string that this letter says the kind of.
    Prefix,
    /// A number, or a word that begins with digits.
    Digit,
    /// `$`
    Dollar,
    /// `'` and `"`
    Quote,
    /// `` ` ``
    Backtick,
    /// `#`
    Hash,
    /// `-`
    Dash,
    /// `/`
    Slash,
    /// `@`
    At,
    /// `.`
    Dot,
    /// `?`
    Placeholder,
    /// `(`
    LeftParen,
    /// `)`
    RightParen,
    /// `,`
    Comma,
    /// `;`
    Semicolon,
    /// An operator of this one byte.
    Sign,
    /// An operator, or what begins no token.
    Other,
}

/// By byte: what begins with it.
pub(super) static STARTS: [Start; 256] = {
    let mut starts = [Start::Other; 256];
    let mut byte = 0;
    while byte < 256 {
        starts[byte] = start(byte as u8);
        byte += 1;
    }
    starts
};

const fn start(byte: u8) -> Start {
    match byte {
        b' ' | b'\t'..=b'\r' => Start::Blank,
        b'n' | b'N' | b'x' | b'X' | b'b' | b'B' | b'_' => Start::Prefix,
        b'a'..=b'z' | b'A'..=b'Z' | 0x80.. => Start::Name,
        b'$' => Start::Dollar,
        b'0'..=b'9' => Start::Digit,
        b'\'' | b'"' => Start::Quote,
        b'`' => Start::Backtick,
        b'#' => Start::Hash,
        b'-' => Start::Dash,
        b'/' => Start::Slash,
        b'@' => Start::At,
        b'.' => Start::Dot,
        b'?' => Start::Placeholder,
        b'(' => Start::LeftParen,
        b')' => Start::RightParen,
        b',' => Start::Comma,
        b';' => Start::Semicolon,
        b'=' | b'+' | b'*' | b'%' | b'^' | b'~' | b'{' | b'}' => Start::Sign,
        _ => Start::Other,
    }
}

/// By byte: it can stand in a word.
static IN_NAMES: [bool; 256] = {
    let mut in_names = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        in_names[byte] = matches!(
            start(byte as u8),
            Start::Name | Start::Prefix | Start::Digit | Start::Dollar
        );
        byte += 1;
    }
    in_names
};

/// Bytes of an unquoted identifier: letters, digits, `_`, `$` and everything from 0x80.
#[inline]
pub(crate) fn is_name_byte(byte: u8) -> bool {
    IN_NAMES[usize::from(byte)]
}

/// Blanks as `isspace` in the C locale has them; `u8::is_ascii_whitespace` leaves out VT.
#[inline]
pub(crate) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// Beyond this length a wide search is worth setting up.
const SHORT: usize = 96;

/// Whether one of two bytes stands somewhere. Sixteen are compared at once, whatever they are: that takes a few instructions.
#[inline]
pub(crate) fn holds(text: &[u8], one: u8, other: u8) -> bool {
    let is_in = |bytes: &[u8; 16]| {
        let is_one = |found: bool, &byte: &u8| found | (byte == one) | (byte == other);
        bytes.iter().fold(false, is_one)
    };
    let (sixteens, rest) = text.as_chunks::<16>();
    if sixteens.iter().any(is_in) {
        return true;
    }
    match text.last_chunk::<16>() {
        // The bytes before the rest are looked at twice.
        Some(last) => is_in(last),
        None => rest.iter().any(|&byte| byte == one || byte == other),
    }
}

/// Where one of two bytes stands first. Statements are short: of those, eight bytes are looked at at a time.
#[inline]
pub(crate) fn first_of(text: &[u8], one: u8, other: u8) -> Option<usize> {
    match text.len() <= SHORT {
        true => first_of_short(text, one, other),
        false => memchr::memchr2(one, other, text),
    }
}

#[inline]
fn first_of_short(text: &[u8], one: u8, other: u8) -> Option<usize> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = ONES << 7;
    let (one_8, other_8) = (ONES * u64::from(one), ONES * u64::from(other));
    // The lowest bit that is set stands at a zero byte; those above it may not.
    let zeros = |word: u64| word.wrapping_sub(ONES) & !word & HIGH;
    let found = |eight: &[u8; 8]| {
        let word = u64::from_le_bytes(*eight);
        zeros(word ^ one_8) | zeros(word ^ other_8)
    };
    let (eights, rest) = text.as_chunks::<8>();
    for (at, eight) in eights.iter().enumerate() {
        let found = found(eight);
        if found != 0 {
            return Some(at * 8 + found.trailing_zeros() as usize / 8);
        }
    }
    match text.last_chunk::<8>() {
        // What it has before the rest holds neither.
        Some(last) if !rest.is_empty() => {
            let found = found(last);
            (found != 0).then(|| text.len() - 8 + found.trailing_zeros() as usize / 8)
        }
        Some(_) => None,
        None => rest.iter().position(|&byte| byte == one || byte == other),
    }
}

/// Where the blanks end that begin at `from`.
#[inline]
pub(crate) fn blanks_end(text: &[u8], from: usize) -> usize {
    let mut at = from;
    while text.get(at).is_some_and(|&byte| is_blank(byte)) {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_first_of_two_bytes_is_found(
            text in proptest::collection::vec(prop_oneof![Just(b'/'), Just(b';'), Just(b'.'), Just(b'0'), any::<u8>()], 0..200),
            from in 0_usize..200,
        ) {
            let text = &text[from.min(text.len())..];
            let expected = text.iter().position(|&byte| byte == b'/' || byte == b';');
            prop_assert_eq!(first_of(text, b'/', b';'), expected);
            prop_assert_eq!(holds(text, b'/', b';'), expected.is_some());
            prop_assert_eq!(first_of_short(text, b'/', b';'), expected);
            prop_assert_eq!(first_of(text, b'/', b'/'), text.iter().position(|&byte| byte == b'/'));
        }
    }
}
