//! Sending a statement once more, where it provably was not executed, or is a read.
//!
//! Only outside of transactions, on connections that hold nothing of the session's, and where a monitor watches who takes writes:
//! there, a server that takes none is about to be replaced.
//!
//! A read goes to one further server at most, and from a reader to no writer: it may be what ended the first. Where the server
//! still runs, somebody has ended the read, and it ends. Where the server itself has ended, no server gets the read for a while.

use std::pin::Pin;
use std::time::Instant;

use shardwright_rules::{HostgroupId, Role};
use shardwright_sql::{SessionEffects, Shape, StatementClass};

use super::fate::Fate;
use super::forward::{Broken, Traffic};
use super::held::Held;
use super::requirements::NotOn;
use super::routed::RoutedStatement;
use super::search::PAUSE;
use super::{Flow, Session};
use crate::backend::{Backend, BackendError};
use crate::stats::bump;

/// What has become of a statement.
pub(super) enum Relayed {
    /// The client has its answer.
    Done,
    /// It was not executed, or is a read, and is sent again.
    Again(Box<NotOn>),
}

impl Repeats {
    pub(super) const NONE: Self = Self {
        writes: false,
        reads: false,
    };
}

/// What is left to do with a statement that was sent, where something must be waited for.
pub(super) type Rest<'a> = Pin<Box<dyn Future<Output = Flow<Relayed>> + 'a>>;

/// What may be sent again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Repeats {
    /// What the server says that it has not executed.
    pub(super) writes: bool,
    /// A read whose answer did not come.
    pub(super) reads: bool,
}

/// How often and until when a statement may be sent again.
#[derive(Debug, Default)]
pub(super) struct Patience {
    /// It begins when the statement was sent once.
    until: Option<Instant>,
    /// A read has been sent twice.
    is_read_again: bool,
}

impl Session {
    /// What of a statement on this connection may be sent again. Not where it opens a transaction: the BEGIN that waited for it was
    /// sent before it.
    pub(super) fn repeats(&self, held: &Held, routed: &RoutedStatement<'_>, patience: &Patience) -> Repeats {
        let group = self.login.snapshot.hostgroups.get(&held.hostgroup);
        let shape = routed.statement.shape();
        let is_alone = held.holds.is_empty() && self.settings.autocommit && !routed.requirements.opens;
        let is_free = is_alone && patience.until.is_none_or(|until| Instant::now() < until);
        Repeats {
            writes: is_free && is_whole(shape) && group.is_some_and(|group| group.is_watched_writer()),
            reads: is_free && !patience.is_read_again && group.is_some_and(|group| group.is_watched()),
        }
    }

    /// What follows when a statement was sent; most leave nothing to wait for, and the client has its answer.
    ///
    /// # Errors
    /// The session ends.
    pub(super) fn after_sending<'a>(
        &'a mut self,
        sent: Result<Traffic, Broken>,
        held: Held,
        routed: &'a RoutedStatement<'_>,
        may_repeat: (Repeats, &'a mut Patience),
        seq: u8,
    ) -> Flow<Option<Rest<'a>>> {
        match sent {
            Ok(traffic) => self.after_statement(held, routed, traffic),
            Err(broken) => Ok(Some(Box::pin(
                self.not_relayed(broken, held, routed, may_repeat, seq),
            ))),
        }
    }

    /// What becomes of a statement whose answer is not for the client, or did not come whole. Where it may be sent again, this waits
    /// until the servers may have other roles, or a little.
    pub(super) async fn not_relayed(
        &mut self,
        broken: Broken,
        mut held: Held,
        routed: &RoutedStatement<'_>,
        (repeats, patience): (Repeats, &mut Patience),
        seq: u8,
    ) -> Flow<Relayed> {
        let shape = routed.statement.shape();
        let broken = match broken {
            Broken::NotRun => {
                // The error is in the list of warnings there.
                held.backend.may_have_warnings = true;
                held.backend.own.note_all();
                self.held.keep_or_give(held, &self.worker.pool);
                return Ok(self.again(routed, patience, NotOn::default()).await);
            }
            Broken::Backend { error, is_partial } if shape.is_safe_read() => {
                let fate = self.fate_of(&held.backend, &error).await;
                // Nothing that a read does is done twice.
                if fate == Fate::Unknown && repeats.reads && !is_partial {
                    bump(&self.worker.counters.totals.reads_repeated);
                    tracing::debug!(hostgroup = %held.hostgroup, %error, "a backend connection was lost, and its read is sent again");
                    patience.is_read_again = true;
                    let not_on = self.other_servers(held.hostgroup, &held.backend);
                    return Ok(self.again(routed, patience, not_on).await);
                }
                let is_withheld = fate == Fate::Ended && self.withhold(&held.backend, routed);
                let error = if is_withheld { BackendError::Ended } else { error };
                Broken::Backend { error, is_partial }
            }
            Broken::GivenUp => {
                self.measure_given_up(&held, routed);
                broken
            }
            broken => broken,
        };
        self.broken(broken, held, shape, seq).await?;
        Ok(Relayed::Done)
    }

    /// The server ended while it ran a read: no server gets the read for a while. Whether it is withheld.
    fn withhold(&self, backend: &Backend, routed: &RoutedStatement<'_>) -> bool {
        let (shared, read) = (&self.worker.shared, routed.read());
        let answered = self.worker.counters.answered(read.statement.digest_hash());
        let (server, time) = (backend.member.endpoint(), shared.limits.withhold_for);
        shared.withheld.withhold(read, answered, &server, time)
    }

    /// Where a read must not go that this connection has lost.
    fn other_servers(&self, hostgroup: HostgroupId, lost: &Backend) -> NotOn {
        let snapshot = &self.login.snapshot;
        let is_reader = snapshot
            .configuration
            .hostgroup(hostgroup)
            .is_some_and(|hostgroup| hostgroup.role == Role::Reader);
        let mut writers = snapshot.writers_beside(hostgroup);
        let avoided = is_reader.then_some(lost.member.number);
        NotOn {
            members: avoided.into_iter().collect(),
            writer: is_reader && !writers.any(|writer| writer.endpoint_is(&lost.member)),
        }
    }

    /// Waits until the servers of a hostgroup may have other roles, or a little, before a statement is sent again.
    async fn again(&self, routed: &RoutedStatement<'_>, patience: &mut Patience, not_on: NotOn) -> Relayed {
        let limit = self.worker.shared.limits.checkout_timeout;
        patience.until.get_or_insert_with(|| Instant::now() + limit);
        if let Some(group) = self.login.snapshot.hostgroups.get(&routed.requirements.hostgroup) {
            group.suspect();
            tokio::select! {
                () = group.changed() => {}
                () = self.worker.shared.clock.sleep(PAUSE) => {}
                () = self.handle.ordered() => {}
            }
        }
        Relayed::Again(Box::new(not_on))
    }
}

/// Whether a statement is executed whole or not at all. A CALL that meets a server becoming read-only has done a part of its work.
fn is_whole(shape: &Shape) -> bool {
    let is_one = matches!(
        shape.class,
        StatementClass::Select
            | StatementClass::Insert
            | StatementClass::Update
            | StatementClass::Delete
            | StatementClass::Replace
            | StatementClass::Load
            | StatementClass::Ddl
    );
    let runs_unknown = SessionEffects::UNKNOWN | SessionEffects::TEXT_PREPARE;
    is_one && !shape.effects.intersects(runs_unknown)
}

#[cfg(test)]
mod tests {
    use shardwright_rules::Statement;
    use shardwright_sql::LexMode;

    use super::*;

    #[test]
    fn what_may_have_done_a_part_of_its_work_is_not_whole() {
        for (text, expected) in [
            ("INSERT INTO t VALUES (1)", true),
            ("UPDATE t SET a = 1", true),
            ("SELECT a FROM t FOR UPDATE", true),
            ("DROP TABLE t", true),
            ("CALL p()", false),
            (
                "BEGIN NOT ATOMIC INSERT INTO t VALUES (1); INSERT INTO t VALUES (2); END",
                false,
            ),
            ("EXECUTE IMMEDIATE 'INSERT INTO t VALUES (1)'", false),
            ("EXECUTE s", false),
            ("DO f()", false),
            ("COMMIT", false),
        ] {
            let statement = Statement::new(text.as_bytes(), LexMode::default());
            assert_eq!(is_whole(statement.shape()), expected, "{text}");
        }
    }
}
