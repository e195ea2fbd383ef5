//! Lists in parentheses, read from tokens.

use std::ops::Range;

use crate::lex::TokenKind;
use crate::parse::Reading;
use crate::work;

/// The tokens of each element.
pub(super) type List = Vec<Range<usize>>;

/// The elements of the parenthesised list at token `open`, and the index behind its `)`.
pub(super) fn list_at(reading: &Reading<'_>, open: usize) -> Option<(List, usize)> {
    let close = reading.partner(open)?;
    let is_list = reading.is_kind(open, TokenKind::LeftParen);
    is_list.then(|| (elements(reading, open + 1..close), close + 1))
}

/// The tokens between the commas of a part that has no parentheses around it.
pub(super) fn elements(reading: &Reading<'_>, part: Range<usize>) -> List {
    let mut elements = List::new();
    let (mut start, mut index) = (part.start, part.start);
    while index < part.end {
        work::count(1);
        match reading.tokens[index].kind {
            TokenKind::LeftParen => index = reading.partner(index).unwrap_or(index),
            TokenKind::Comma => {
                elements.push(start..index);
                start = index + 1;
            }
            _ => {}
        }
        index += 1;
    }
    elements.push(start..part.end);
    elements
}
