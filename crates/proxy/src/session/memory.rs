//! The memory that a session keeps between statements, and what of it a statement needs besides.

use std::future::poll_fn;
use std::task::Poll;

use shardwright_sql::Lexer;
use shardwright_wire::MysqlError;

use super::query::Query;
use super::{Flow, Session};
use crate::memory::KEPT_CAPACITY;

/// Bytes of a text from which on it is reserved what its reading takes.
pub(super) const LONG_TEXT: usize = 64 * 1024;
/// Bytes of memory for a word while a statement is read: in a list that grows, and in a tree.
const OF_WORD: usize = 48;
const OF_WORD_IN_TREE: usize = 400;
/// Words of the longest list and of the largest tree.
const MOST_WORDS: usize = 8_000_000;
const MOST_WORDS_IN_TREE: usize = 1_000_000;

impl Session {
    /// Bytes of memory that the session keeps from one statement to the next.
    fn kept_bytes(&self) -> usize {
        self.statements.footprint() + self.settings.history.footprint()
    }

    /// Waits for room to keep so many bytes more.
    ///
    /// # Errors
    /// The error for the client.
    pub(super) async fn reserve_kept(&mut self, additional: usize) -> Result<(), MysqlError> {
        let kept = self.kept_bytes() + additional;
        let granted = poll_fn(|cx| match self.client.channel.account() {
            Some(account) => account.poll_keep(cx, kept),
            None => Poll::Ready(Ok(())),
        });
        granted.await.map_err(|refused| refused.error())
    }

    /// Whether there is room to keep a text of so many bytes, if it is no short one.
    ///
    /// # Errors
    /// The error for the client.
    pub(super) fn can_keep_text(&self, bytes: usize) -> Result<(), MysqlError> {
        let budget = &self.worker.shared.budget;
        if bytes > KEPT_CAPACITY && !budget.has_room(2 * bytes) {
            return Err(budget.no_room(2 * bytes).error());
        }
        Ok(())
    }

    /// Counts what the session keeps.
    pub(super) fn count_kept(&mut self) {
        let kept = self.kept_bytes();
        if let Some(account) = self.client.channel.account() {
            account.keep(kept);
        }
    }

    /// COM_QUERY with a long text: there must be room to read it, too.
    pub(super) async fn long_query(&mut self, text: &[u8], query: Query<'_>) -> Flow {
        let bytes = self.reading_bytes(text);
        if let Err(error) = self.reserve_besides(bytes).await {
            return self.refuse(query.frame.next_seq(), error).await;
        }
        self.query(text, query).await
    }

    /// Waits for room for an execution, beside what has come with it: to read its text, and for copies of the parameters that came in
    /// pieces.
    ///
    /// # Errors
    /// The error for the client.
    pub(super) async fn reserve_execution(&mut self, id: u32) -> Result<(), MysqlError> {
        let Some(statement) = self.statements.get(id) else {
            return Ok(());
        };
        // In the packets, and as far as the server has not taken them. As a text, they are there as literals, too.
        let pieces = 4 * self.statements.long_data_len(id);
        let bytes = self.reading_bytes(&statement.text) + pieces;
        if bytes <= KEPT_CAPACITY {
            return Ok(());
        }
        self.reserve_besides(bytes).await
    }

    /// Bytes of memory that it takes at most to look into a text; nothing where no rule does, or the text is not long.
    pub(super) fn reading_bytes(&self, text: &[u8]) -> usize {
        if text.len() <= LONG_TEXT || !self.login.snapshot.has_maps() {
            return 0;
        }
        let words = Lexer::new(text, self.mode())
            .significant()
            .take(MOST_WORDS)
            .count();
        OF_WORD * words + OF_WORD_IN_TREE * words.min(MOST_WORDS_IN_TREE)
    }

    /// Waits for room until the statement is answered.
    async fn reserve_besides(&mut self, bytes: usize) -> Result<(), MysqlError> {
        let granted = poll_fn(|cx| match self.client.channel.account() {
            Some(account) => account.poll_besides(cx, bytes),
            None => Poll::Ready(Ok(())),
        });
        granted.await.map_err(|refused| refused.error())
    }
}
