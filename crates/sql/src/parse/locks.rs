//! What a query locks, and how long it waits for that. The tree's parser knows only a part of it, and none of it says which rows.

use super::Reading;
use crate::lex::TokenKind;

impl Reading<'_> {
    /// The index behind a lock clause, or a part of one, that the parser does not know: `LOCK IN SHARE MODE`, and a wait as MariaDB has it.
    pub(super) fn behind_lock(&self, at: usize) -> Option<usize> {
        if self.are_words(at, &["LOCK", "IN", "SHARE", "MODE"]) {
            let behind = at + 4;
            let passed = match () {
                () if self.are_words(behind, &["NOWAIT"]) => 1,
                () if self.are_words(behind, &["SKIP", "LOCKED"]) => 2,
                () => self.wait(behind),
            };
            return Some(behind + passed);
        }
        let is_update = at >= 2 && self.are_words(at - 2, &["FOR", "UPDATE"]);
        let wait = if is_update { self.wait(at) } else { 0 };
        (wait > 0).then_some(at + wait)
    }

    /// Tokens of `WAIT 5`.
    fn wait(&self, at: usize) -> usize {
        let is_wait = self.is_word(at, "WAIT") && self.is_kind(at + 1, TokenKind::Number);
        if is_wait { 2 } else { 0 }
    }

    fn are_words(&self, at: usize, words: &[&str]) -> bool {
        let mut words = words.iter().enumerate();
        words.all(|(index, word)| self.is_word(at + index, word))
    }
}
