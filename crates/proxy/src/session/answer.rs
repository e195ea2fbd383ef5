//! Answers that the proxy gives by itself.

use shardwright_rules::Rejection;
use shardwright_wire::{MysqlError, SessionChange, StatusFlags, errors};

use super::statement_words::rejected;
use super::{End, Flow, Session};
use crate::stats::Reason;

impl Session {
    /// The status that goes with the proxy's own answers.
    pub(super) fn status(&self) -> StatusFlags {
        let mut status = StatusFlags::empty();
        status.set(StatusFlags::SERVER_STATUS_AUTOCOMMIT, self.settings.autocommit);
        status.set(StatusFlags::SERVER_STATUS_IN_TRANS, self.is_in_transaction());
        status | self.flags_of_transaction() | self.settings.mode_told
    }

    /// An OK to a statement.
    pub(super) async fn send_ok(&mut self, seq: u8, info: &[u8]) -> Flow {
        self.diagnostics.begins_list_here();
        self.send_done(seq, info).await
    }

    /// An OK to a command that is no statement.
    pub(super) async fn send_done(&mut self, seq: u8, info: &[u8]) -> Flow {
        self.diagnostics.answered_ok();
        let status = self.status();
        self.client.send_ok(seq, info, status, b"").await
    }

    /// An OK that tells of changes in the session.
    pub(super) async fn send_changed(&mut self, seq: u8, changes: &[SessionChange<'_>]) -> Flow {
        self.diagnostics.answered_ok();
        let mut block = Vec::new();
        if self.client.tracks_session() {
            changes.iter().for_each(|change| change.encode(&mut block));
        }
        let status = self.status();
        self.client.send_ok(seq, b"", status, &block).await
    }

    pub(super) async fn send_eof(&mut self, seq: u8) -> Flow {
        let status = self.status();
        self.client.send_eof(seq, status).await
    }

    /// An error of the proxy's own about a statement; it is counted.
    pub(super) async fn refuse(&mut self, seq: u8, error: MysqlError) -> Flow {
        self.worker.counters.refused(Reason::Error(error.code));
        self.diagnostics.failed_here(&error);
        self.client.send_error(seq, &error).await
    }

    /// What the rules say no to; it is counted by its reason.
    pub(super) async fn reject(&mut self, seq: u8, rejection: &Rejection) -> Flow {
        let by_number = Reason::Error(rejection.code);
        let reason = rejection.refusal.map_or(by_number, Reason::Refusal);
        self.worker.counters.refused(reason);
        let error = rejected(rejection);
        self.diagnostics.failed_here(&error);
        self.client.send_error(seq, &error).await
    }

    /// An error after which the connection is closed.
    pub(super) async fn refuse_and_close(&mut self, error: MysqlError, seq: u8) -> Flow {
        self.refuse(seq, error).await?;
        Err(End::Closed)
    }

    pub(super) async fn unsupported(&mut self, seq: u8, what: &str) -> Flow {
        self.refuse(seq, errors::UNKNOWN_COM.with(what)).await
    }

    /// COM_STATISTICS.
    pub(super) async fn statistics(&mut self, seq: u8) -> Flow {
        let shared = &self.worker.shared;
        let text = format!(
            "Uptime: {}  Threads: {}  Questions: {}",
            shared.started.elapsed().as_secs(),
            shared.sessions(),
            self.worker.counters.totals.questions.get()
        );
        self.client.send(seq, text.as_bytes()).await
    }
}
