//! Lists in parentheses, read from tokens.

use std::ops::Range;

use crate::lex::TokenKind;
use crate::parse::Reading;

/// The tokens of each element.
pub(super) type List = Vec<Range<usize>>;

/// The elements of the parenthesised list at token `open`, and the index behind its `)`.
pub(super) fn list_at(reading: &Reading<'_>, open: usize) -> Option<(List, usize)> {
    if !reading.is_kind(open, TokenKind::LeftParen) {
        return None;
    }
    let mut elements = List::new();
    let (mut depth, mut start) = (0, open + 1);
    for index in open + 1..reading.tokens.len() {
        match reading.tokens[index].kind {
            TokenKind::LeftParen => depth += 1,
            TokenKind::RightParen if depth > 0 => depth -= 1,
            TokenKind::Comma if depth == 0 => {
                elements.push(start..index);
                start = index + 1;
            }
            TokenKind::RightParen => {
                elements.push(start..index);
                return Some((elements, index + 1));
            }
            _ => {}
        }
    }
    None
}

/// The tokens between the commas of a part that has no parentheses around it.
pub(super) fn elements(reading: &Reading<'_>, part: Range<usize>) -> List {
    let mut elements = List::new();
    let (mut depth, mut start) = (0_usize, part.start);
    for index in part.clone() {
        match reading.tokens[index].kind {
            TokenKind::LeftParen => depth += 1,
            TokenKind::RightParen => depth = depth.saturating_sub(1),
            TokenKind::Comma if depth == 0 => {
                elements.push(start..index);
                start = index + 1;
            }
            _ => {}
        }
    }
    elements.push(start..part.end);
    elements
}
