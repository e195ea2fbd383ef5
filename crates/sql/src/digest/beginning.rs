//! How a digest begins, told without making it.

use super::scan::{is_space, is_word};

/// Bytes of a statement that are looked at; far fewer than any `max_query_length` in use.
const LOOKED_AT: usize = 1024;

/// The name or key word that the digest text of `statement` begins with under default settings, in the statement's own
/// letter case; what follows it in the digest is no byte of a word. `None` where a few bytes do not tell it: behind line
/// comments and executable ones, before a sign, a string or a number.
#[must_use]
pub fn first_word(statement: &[u8]) -> Option<&[u8]> {
    let mut rest = &statement[..statement.len().min(LOOKED_AT)];
    loop {
        let blanks = rest.iter().take_while(|&&byte| is_space(byte)).count();
        rest = &rest[blanks..];
        match rest {
            [b'/', b'*', b'!', ..] => return None,
            [b'/', b'*', body @ ..] => {
                // The first slash ends the comment or begins it anew.
                let slash = memchr::memchr(b'/', body)?;
                if !body[..slash].ends_with(b"*") {
                    return None;
                }
                rest = &body[slash + 1..];
            }
            _ => break,
        }
    }
    let length = rest.iter().take_while(|&&byte| is_word(byte)).count();
    // A comment can join two words to one.
    let ends = match rest.get(length) {
        Some(&next) => is_space(next) || next == b'(',
        None => statement.len() <= LOOKED_AT,
    };
    let is_name = rest.first().is_some_and(|byte| !byte.is_ascii_digit());
    (length > 0 && is_name && ends).then_some(&rest[..length])
}
