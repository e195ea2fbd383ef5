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
        b'a'..=b'z' | b'A'..=b'Z' | b'$' | 0x80.. => Start::Name,
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
        in_names[byte] = matches!(start(byte as u8), Start::Name | Start::Prefix | Start::Digit);
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

/// Where the blanks end that begin at `from`.
#[inline]
pub(crate) fn blanks_end(text: &[u8], from: usize) -> usize {
    let mut at = from;
    while text.get(at).is_some_and(|&byte| is_blank(byte)) {
        at += 1;
    }
    at
}
