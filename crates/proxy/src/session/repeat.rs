//! Sending a statement once more, where it provably was not executed, or is a read.
//!
//! Only outside of transactions, on connections that hold nothing of the session's, and where a monitor watches who takes writes:
//! there, a server that takes none is about to be replaced.

use std::pin::Pin;
use std::time::Instant;

use shardwright_rules::HostgroupId;
use shardwright_sql::{SessionEffects, Shape, StatementClass};

use super::forward::{Broken, Traffic};
use super::held::Held;
use super::routed::RoutedStatement;
use super::search::PAUSE;
use super::{Flow, Session};

/// What has become of a statement.
pub(super) enum Relayed {
    /// The client has its answer.
    Done,
    /// It was not executed, or is a read, and may be sent again.
    NotRun,
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

/// Until when a statement may be sent again; it begins when the statement was sent once.
#[derive(Debug, Default)]
pub(super) struct Patience(Option<Instant>);

impl Session {
    /// What of a statement on this connection may be sent again. Not where it opens a transaction: the BEGIN that waited for it was
    /// sent before it.
    pub(super) fn repeats(&self, held: &Held, routed: &RoutedStatement<'_>, patience: &Patience) -> Repeats {
        let group = self.login.snapshot.hostgroups.get(&held.hostgroup);
        let shape = routed.statement.shape();
        let is_alone = held.holds.is_empty() && self.settings.autocommit && !routed.requirements.opens;
        let is_free = is_alone && patience.0.is_none_or(|until| Instant::now() < until);
        Repeats {
            writes: is_free && is_whole(shape) && group.is_some_and(|group| group.is_watched_writer()),
            reads: is_free && group.is_some_and(|group| group.is_watched()),
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
    async fn not_relayed(
        &mut self,
        broken: Broken,
        held: Held,
        routed: &RoutedStatement<'_>,
        (repeats, patience): (Repeats, &mut Patience),
        seq: u8,
    ) -> Flow<Relayed> {
        let shape = routed.statement.shape();
        let relayed = self.is_relayed(broken, held, repeats, shape, seq).await?;
        if let Relayed::NotRun = relayed {
            let hostgroup = routed.requirements.hostgroup;
            self.wait_for_change(hostgroup, patience).await;
        }
        Ok(relayed)
    }

    async fn is_relayed(
        &mut self,
        broken: Broken,
        mut held: Held,
        repeats: Repeats,
        shape: &Shape,
        seq: u8,
    ) -> Flow<Relayed> {
        match broken {
            Broken::NotRun => {
                // The error is in the list of warnings there.
                held.backend.may_have_warnings = true;
                held.backend.exchanges += 1;
                self.held.keep_or_give(held, &self.worker.pool);
                Ok(Relayed::NotRun)
            }
            // Nothing that a read does is done twice.
            Broken::Backend {
                error,
                is_partial: false,
            } if repeats.reads && shape.is_safe_read() => {
                tracing::debug!(hostgroup = %held.hostgroup, %error, "a backend connection was lost, and its read is sent again");
                Ok(Relayed::NotRun)
            }
            broken => {
                self.broken(broken, held, shape, seq).await?;
                Ok(Relayed::Done)
            }
        }
    }

    /// Waits until the servers of a hostgroup may have other roles, or a little.
    async fn wait_for_change(&self, hostgroup: HostgroupId, patience: &mut Patience) {
        let limit = self.worker.shared.limits.checkout_timeout;
        patience.0.get_or_insert_with(|| Instant::now() + limit);
        let Some(group) = self.login.snapshot.hostgroups.get(&hostgroup) else {
            return;
        };
        group.suspect();
        tokio::select! {
            () = group.changed() => {}
            () = self.worker.shared.clock.sleep(PAUSE) => {}
            () = self.handle.ordered() => {}
        }
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
