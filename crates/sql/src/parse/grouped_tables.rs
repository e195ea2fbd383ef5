//! Tables in parentheses: `FROM (t a)`, `LEFT JOIN (t a, u b) ON …`. The parser knows parentheses around joins only.
//!
//! Parentheses around one table say nothing. A comma between tables in parentheses is a CROSS JOIN; beside another join in the same
//! parentheses it binds looser, so such a list is left as it is, and the parser refuses it.

use std::ops::Range;

use super::Reading;
use crate::lex::TokenKind;

/// Parentheses inside each other.
const MAX_NESTED: usize = 20;

/// Tables in parentheses, by the indices of their tokens.
pub(super) struct GroupedTables {
    pub(super) tables: Vec<Range<usize>>,
    /// The index behind the last parenthesis.
    pub(super) end: usize,
}

impl Reading<'_> {
    /// The tables of the parentheses that open at `index`, if nothing but tables stands in them.
    pub(super) fn grouped_tables(&self, index: usize) -> Option<GroupedTables> {
        let before = index.checked_sub(1)?;
        let is_behind_join = ["FROM", "JOIN", "STRAIGHT_JOIN"]
            .iter()
            .any(|word| self.is_word(before, word));
        if !is_behind_join || !self.is_kind(index, TokenKind::LeftParen) {
            return None;
        }
        let mut tables = Vec::new();
        let end = self.read_group(index, &mut tables, MAX_NESTED)?;
        Some(GroupedTables { tables, end })
    }

    /// Takes in the tables of a group; the index behind it.
    fn read_group(&self, open: usize, tables: &mut Vec<Range<usize>>, depth: usize) -> Option<usize> {
        let depth = depth.checked_sub(1)?;
        let mut at = open + 1;
        loop {
            at = match self.is_kind(at, TokenKind::LeftParen) {
                true => self.read_group(at, tables, depth)?,
                false => {
                    let end = self.end_of_table(at)?;
                    tables.push(at..end);
                    end
                }
            };
            match self.tokens.get(at)?.kind {
                TokenKind::Comma => at += 1,
                TokenKind::RightParen => return Some(at + 1),
                _ => return None,
            }
        }
    }

    /// The index behind `t`, `s.t`, `t a`, `t AS a`.
    fn end_of_table(&self, start: usize) -> Option<usize> {
        let opens_query = ["SELECT", "TABLE", "VALUES", "WITH"]
            .iter()
            .any(|word| self.is_word(start, word));
        let is_name = |index: usize| self.tokens.get(index).is_some_and(|token| token.is_name());
        if opens_query || !is_name(start) {
            return None;
        }
        let mut end = start + 1;
        if self.is_kind(end, TokenKind::Dot) {
            end += 2;
        }
        end += usize::from(self.is_word(end, "AS"));
        end += usize::from(is_name(end));
        Some(end)
    }
}
