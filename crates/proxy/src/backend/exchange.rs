//! Commands of the proxy's own: their answers are for nobody else.
//!
//! Such a command has a limit of time: a server that falls silent within an answer would keep the session, and the connection,
//! for ever.

use std::task::{Context, Poll, ready};
use std::time::Duration;

use shardwright_wire::{
    Command, MysqlError, Outcome, ResponseShape, ScanError, ScanEvent, TextRows, errors, first_value,
    query_attributes,
};

use super::{Backend, BackendError};

/// Time for an answer that nothing holds up.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);
/// Time for an answer that other sessions may hold up: a table is altered, a commit waits for the cluster.
const LONG_PATIENCE: Duration = Duration::from_secs(3600);
/// Bytes of an answer of which the rows are wanted: they are states of a server.
const MAX_ROWS: usize = 1024 * 1024;
/// Bytes of an answer of which the value is wanted: it is a setting or an id.
const MAX_VALUE: usize = 64 * 1024;

impl Backend {
    /// Sends a command and reads its whole answer, which nobody else sees.
    pub(crate) async fn exchange(&mut self, command: Command<'_>) -> Result<Outcome, BackendError> {
        self.exchange_with(command, PATIENCE, |_| ()).await
    }

    /// The same, for a command that may wait for other sessions.
    pub(crate) async fn exchange_waiting(&mut self, command: Command<'_>) -> Result<Outcome, BackendError> {
        self.exchange_with(command, LONG_PATIENCE, |_| ()).await
    }

    /// The first value of the answer to a question of the proxy's own; `None` if it is an error, has no row, or is
    /// longer than a setting can be.
    pub(crate) async fn exchange_value(&mut self, question: &[u8]) -> Result<Option<Vec<u8>>, BackendError> {
        let mut answer = Vec::new();
        let outcome = self.exchange_with(Command::Query(question), PATIENCE, |bytes| {
            let space = MAX_VALUE - answer.len();
            answer.extend_from_slice(&bytes[..bytes.len().min(space)]);
        });
        let outcome = outcome.await?;
        Ok((outcome.rows > 0)
            .then(|| first_value(&answer, self.key.shaping))
            .flatten())
    }

    /// The rows of the answer to a question of the proxy's own, within a limit of time.
    pub(crate) async fn exchange_rows(
        &mut self,
        question: &[u8],
        patience: Duration,
    ) -> Result<Result<TextRows, MysqlError>, BackendError> {
        let mut answer = Vec::new();
        let outcome = self.exchange_with(Command::Query(question), patience, |bytes| {
            let space = MAX_ROWS - answer.len();
            answer.extend_from_slice(&bytes[..bytes.len().min(space)]);
        });
        if let Some(error) = outcome.await?.error {
            return Ok(Err(error));
        }
        let rows = TextRows::of_answer(&answer, self.key.shaping);
        Ok(rows.ok_or_else(|| errors::UNKNOWN.with("the answer has no rows, or is too long")))
    }

    async fn exchange_with(
        &mut self,
        command: Command<'_>,
        patience: Duration,
        take: impl FnMut(&[u8]),
    ) -> Result<Outcome, BackendError> {
        let seq = self.queue(command);
        let outcome = self
            .receive(command.response_shape(), seq, patience, take)
            .await?;
        self.own.note(&command, &outcome, self.is_mariadb);
        Ok(outcome)
    }

    /// Queues a command; the sequence number of its answer.
    pub(super) fn queue(&mut self, command: Command<'_>) -> u8 {
        let mut payload = Vec::new();
        match command {
            Command::Query(text) if self.takes_attributes => {
                Command::Query(&[query_attributes::NONE, text].concat()).encode(&mut payload);
            }
            _ => command.encode(&mut payload),
        }
        let mut seq = 0;
        self.channel.queue(&mut seq, &payload);
        seq
    }

    /// Sends what is queued and reads the answer to it.
    async fn receive(
        &mut self,
        shape: ResponseShape,
        next_seq: u8,
        patience: Duration,
        mut take: impl FnMut(&[u8]),
    ) -> Result<Outcome, BackendError> {
        self.finish_reset().await?;
        self.scanner.begin(shape, next_seq);
        self.read_answer(patience, &mut take).await?;
        self.note_answer();
        let outcome = self.scanner.outcome().clone();
        self.may_have_warnings |= outcome.warnings > 0 || outcome.error.is_some();
        Ok(outcome)
    }

    /// Sends what is queued and reads an answer.
    async fn read_answer(
        &mut self,
        patience: Duration,
        take: &mut impl FnMut(&[u8]),
    ) -> Result<(), BackendError> {
        let clock = self.clock.clone();
        let answer = std::future::poll_fn(|cx| self.poll_answer(cx, false, take));
        match clock.timeout(patience, answer).await {
            Ok(read) => read,
            Err(_) => Err(BackendError::Silent(patience)),
        }
    }

    /// Reads the rest of an answer. `is_followed`: that of the next command may come with it.
    pub(super) fn poll_answer(
        &mut self,
        cx: &mut Context<'_>,
        is_followed: bool,
        take: &mut impl FnMut(&[u8]),
    ) -> Poll<Result<(), BackendError>> {
        loop {
            let _is_sent = self.channel.poll_flush(cx)?.is_ready();
            let scanner = &mut self.scanner;
            let arrived = self.channel.poll_arrived(cx, |channel, _, bytes| {
                if bytes.is_empty() {
                    return Err(BackendError::Closed);
                }
                let feed = scanner.feed(bytes)?;
                take(&bytes[..feed.consumed]);
                if feed.consumed < bytes.len() {
                    if !is_followed {
                        return Err(ScanError::NotExpected.into());
                    }
                    channel.keep(&bytes[feed.consumed..]);
                }
                Ok(feed.event)
            });
            if arrived.is_pending() && self.member.is_cut_off() {
                return Poll::Ready(Err(BackendError::TakenOver));
            }
            match ready!(arrived)?? {
                ScanEvent::More => {}
                ScanEvent::Complete => return Poll::Ready(Ok(())),
                ScanEvent::LocalInfile => return Poll::Ready(Err(ScanError::NotExpected.into())),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use shardwright_rules::{HostgroupId, Member};
    use shardwright_wire::{CapabilityFlags, ColumnDefinition, ColumnType, ResultSetWriter, StatusFlags};
    use tokio::io::AsyncWriteExt;
    use tokio::net::UnixStream;

    use super::*;
    use crate::backend::BASE;
    use crate::channel::Scratch;
    use crate::event_loop::{self, hosting};
    use crate::members::{MemberRegistry, member_of_tests};
    use crate::pool_key::PoolKey;
    use crate::slot::Slot;

    /// A connection, and the server's end of it.
    fn connected() -> (Backend, UnixStream) {
        let member = Member {
            max_connections: 1,
            ..member_of_tests("h")
        };
        let member = MemberRegistry::default().get(HostgroupId(1), &member);
        let key = PoolKey {
            user: "app".into(),
            shaping: CapabilityFlags::empty(),
            has_extended_metadata: false,
            collation: 45,
            has_schema: false,
        };
        let (ours, theirs) = event_loop::Stream::pair_of_tests();
        (
            Backend::for_tests(ours, member, Slot::own(None), key, Scratch::of_tests()),
            UnixStream::from_std(theirs).unwrap(),
        )
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_falls_silent_is_given_up() {
        hosting(falls_silent()).await;
    }

    async fn falls_silent() {
        let (mut backend, mut server) = connected();
        server.write_all(&[7, 0, 0, 1, 0, 0]).await.unwrap();
        let silent = backend.exchange(Command::Ping).await;
        assert!(
            matches!(silent, Err(BackendError::Silent(PATIENCE))),
            "{silent:?}"
        );
        let (mut backend, _server) = connected();
        backend.reset_ahead();
        let silent = backend.finish_reset().await;
        assert!(
            matches!(silent, Err(BackendError::Silent(PATIENCE))),
            "{silent:?}"
        );
    }

    #[tokio::test]
    async fn a_value_that_is_no_setting_is_not_kept() {
        hosting(values()).await;
    }

    async fn values() {
        let columns = [ColumnDefinition::new("a", ColumnType::MYSQL_TYPE_BLOB)];
        for (len, is_kept) in [(1000, true), (MAX_VALUE, false)] {
            let (mut backend, mut server) = connected();
            let status = StatusFlags::SERVER_STATUS_AUTOCOMMIT;
            let mut answer = Vec::new();
            let mut writer = ResultSetWriter::begin(&mut answer, 1, BASE, &columns, status);
            writer.text_row(&mut answer, [Some(&vec![b'x'; len][..])]);
            writer.end(&mut answer, status, 0);
            let (sent, value) = tokio::join!(server.write_all(&answer), backend.exchange_value(b"SELECT 1"));
            sent.unwrap();
            assert_eq!(value.unwrap().is_some(), is_kept, "{len}");
        }
    }
}
