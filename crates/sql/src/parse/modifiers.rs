//! Words between the verb of a statement and what it is about: `UPDATE LOW_PRIORITY IGNORE t`.
//!
//! The servers take such a word for a modifier wherever one may stand, also the few that could be names (`DELETE QUICK FROM
//! quick`; seen on MariaDB 10.11 and MySQL 9.7). In other places, and in quotes, it is a name.

use super::Reading;
use crate::class::StatementClass;

const OF_INSERT: [&str; 4] = ["LOW_PRIORITY", "DELAYED", "HIGH_PRIORITY", "IGNORE"];
const OF_REPLACE: [&str; 2] = ["LOW_PRIORITY", "DELAYED"];
const OF_UPDATE: [&str; 2] = ["LOW_PRIORITY", "IGNORE"];
const OF_DELETE: [&str; 3] = ["LOW_PRIORITY", "QUICK", "IGNORE"];
/// SQL_CACHE is a name to MySQL 8.
const OF_SELECT: [&str; 7] = [
    "STRAIGHT_JOIN",
    "HIGH_PRIORITY",
    "SQL_SMALL_RESULT",
    "SQL_BIG_RESULT",
    "SQL_BUFFER_RESULT",
    "SQL_NO_CACHE",
    "SQL_CALC_FOUND_ROWS",
];
/// Those of a SELECT that change its answer.
const WHICH_ROWS: [&str; 3] = ["ALL", "DISTINCT", "DISTINCTROW"];

impl Reading<'_> {
    /// The index of the verb: the first token, or what stands behind the common table expressions.
    pub(super) fn verb(&self) -> Option<usize> {
        let word = match self.class {
            StatementClass::Insert | StatementClass::Replace => return Some(0),
            StatementClass::Update => "UPDATE",
            StatementClass::Delete => "DELETE",
            _ => return None,
        };
        // Both are reserved, and neither stands in a query.
        (0..self.tokens.len()).find(|&index| self.is_word(index, word))
    }

    /// The index of the token behind the modifiers of the verb at `verb`.
    pub(crate) fn behind_modifiers(&self, verb: usize) -> usize {
        let modifiers: &[&str] = match () {
            () if self.is_word(verb, "SELECT") => &OF_SELECT,
            () if self.is_word(verb, "INSERT") => &OF_INSERT,
            () if self.is_word(verb, "REPLACE") => &OF_REPLACE,
            () if self.is_word(verb, "UPDATE") => &OF_UPDATE,
            () if self.is_word(verb, "DELETE") => &OF_DELETE,
            () => &[],
        };
        let is_one = |index| {
            modifiers.iter().any(|word| self.is_word(index, word))
                || (self.is_word(verb, "SELECT") && self.says_which_rows(index))
        };
        let mut behind = verb + 1;
        while is_one(behind) {
            behind += 1;
        }
        behind
    }

    /// Whether the token is a modifier that the tree must have.
    pub(super) fn says_which_rows(&self, index: usize) -> bool {
        WHICH_ROWS.iter().any(|word| self.is_word(index, word))
    }
}
