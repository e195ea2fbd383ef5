//! LOAD DATA LOCAL: the server asks for a file, and the client sends it.
//!
//! A server that asks can name any file of the client's machine. It is passed on only if the client's own statement is a LOAD
//! DATA LOCAL, the client takes such requests, and the file is the one that the statement names. Anything else is a
//! server that lies: its connection is closed, and the client gets an error.
//!
//! ```text
//! client            proxy             server
//!   │ LOAD … 'a.csv' │ LOAD … 'a.csv' │
//!   │───────────────▶│───────────────▶│
//!   │ 0xFB a.csv     │ 0xFB a.csv     │   the names are compared
//!   │◀───────────────│◀───────────────│
//!   │ bytes, …, end  │ bytes, …, end  │   packet by packet; an empty one is the end
//!   │───────────────▶│───────────────▶│
//!   │ OK             │ OK             │
//!   │◀───────────────│◀───────────────│
//! ```

use std::borrow::Cow;
use std::task::{Context, Poll, ready};

use shardwright_rules::Statement;
use shardwright_sql::lex::string_value;
use shardwright_sql::{Lexer, StatementClass, TokenKind};
use shardwright_wire::{CapabilityFlags, MysqlError, errors};

use super::Session;
use super::client::Client;
use crate::backend::BackendError;
use crate::channel::{Channel, Frame, ReadError};

/// The file that a LOAD DATA LOCAL names.
pub(super) fn local_file<'a>(statement: &Statement<'a>) -> Option<Cow<'a, [u8]>> {
    if statement.shape().class != StatementClass::Load {
        return None;
    }
    let text = statement.text();
    let mut tokens = Lexer::new(text, statement.mode()).significant();
    let mut is_local = false;
    let infile = tokens.find(|token| {
        let word = token.span.of(text);
        is_local |= word.eq_ignore_ascii_case(b"LOCAL");
        token.kind == TokenKind::Word && word.eq_ignore_ascii_case(b"INFILE")
    });
    infile.filter(|_| is_local)?;
    string_value(&tokens.next()?, text, statement.mode())
}

impl Session {
    /// The error for a client that takes no requests for files: that of the server which it was greeted by.
    pub(super) fn file_not_taken(&self, statement: &Statement<'_>) -> Option<MysqlError> {
        let is_taken = self
            .client
            .capabilities
            .contains(CapabilityFlags::CLIENT_LOCAL_FILES);
        if is_taken || local_file(statement).is_none() {
            return None;
        }
        Some(match self.is_mariadb() {
            true => errors::LOAD_INFILE_CAPABILITY_DISABLED.with(
                "The used command is not allowed because the MariaDB server or client has disabled the local infile capability",
            ),
            false => errors::CLIENT_LOCAL_FILES_DISABLED.with(
                "Loading local data is disabled; this must be enabled on both the client and server sides",
            ),
        })
    }
}

/// A file on its way to a server.
pub(super) struct FileTransfer {
    piece: Frame,
    limit: usize,
}

/// Why it does not arrive.
pub(super) enum FileError {
    /// The client has gone, or sends what is no packet.
    Client,
    Backend(BackendError),
}

impl FileTransfer {
    /// `limit`: bytes of one packet of the client's.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            piece: Frame::default(),
            limit,
        }
    }

    /// Passes on what the client sends. At most one of its packets is kept when the server is slow. Ready: the sequence
    /// number of the server's answer.
    pub(super) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        client: &mut Client,
        backend: &mut Channel,
    ) -> Poll<Result<u8, FileError>> {
        loop {
            ready!(backend.poll_flush(cx)).map_err(|error| FileError::Backend(error.into()))?;
            let received = ready!(client.channel.poll_packet(cx, &mut self.piece, self.limit));
            received.map_err(|error: ReadError| {
                tracing::debug!(%error, "a client's file has not come whole");
                FileError::Client
            })?;
            let sent = backend.send_or_queue(cx, self.piece.raw());
            sent.map_err(|error| FileError::Backend(error.into()))?;
            if self.piece.payload().is_empty() {
                return Poll::Ready(Ok(self.piece.next_seq()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use shardwright_sql::LexMode;

    use super::*;

    #[test]
    fn the_file_is_that_of_the_statement() {
        for (text, expected) in [
            ("LOAD DATA LOCAL INFILE 'a.csv' INTO TABLE t", Some("a.csv")),
            (
                "load data concurrent local infile \"a\\\\b\" replace into table t",
                Some("a\\b"),
            ),
            (
                "/* k=1 */ LOAD XML LOCAL INFILE 'it''s' INTO TABLE t",
                Some("it's"),
            ),
            ("LOAD DATA INFILE 'a.csv' INTO TABLE t", None),
            ("LOAD DATA INFILE 'local' INTO TABLE local", None),
            ("SELECT 'LOAD DATA LOCAL INFILE'", None),
        ] {
            let statement = Statement::new(text.as_bytes(), LexMode::default());
            let found = local_file(&statement);
            assert_eq!(found.as_deref(), expected.map(str::as_bytes), "{text}");
        }
    }
}
