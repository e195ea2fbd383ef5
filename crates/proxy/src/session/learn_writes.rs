//! What a statement that was answered may have written, and up to which position.

use shardwright_sql::{SessionEffects, StatementClass};
use shardwright_wire::{Outcome, SessionChange, StatusFlags, gtid_set, session_changes};

use super::Session;
use super::held::Held;
use super::holds::Holds;
use super::own_writes::Wrote;
use super::routed::RoutedStatement;
use crate::backend::Backend;
use crate::causal::Position;

/// Variables with which writes are in no log: they stay on their server.
const UNLOGGED: [&str; 3] = ["sql_log_bin", "wsrep_on", "gtid_next"];

impl Session {
    /// Learns what a statement that was answered may have written, and up to which position.
    pub(super) fn learn_own_writes(
        &mut self,
        held: &mut Held,
        routed: &RoutedStatement<'_>,
        status: Option<StatusFlags>,
    ) {
        let statement = routed.statement;
        let shape = statement.shape();
        let is_control = matches!(
            shape.class,
            StatementClass::Begin
                | StatementClass::Commit
                | StatementClass::Rollback
                | StatementClass::Savepoint
        );
        // The status does not tell of every transaction then.
        let is_hidden = held.holds.intersects(Holds::AUTOCOMMIT_BY_CODE);
        let may_write =
            !statement.is_safe_read(true) && !statement.is_session_setup() && (!is_control || is_hidden);
        let snapshot = &self.login.snapshot;
        let Some(cluster) = snapshot.causal.of_hostgroup(held.hostgroup) else {
            if may_write || is_control {
                self.own_writes.wrote_somewhere();
            }
            return;
        };
        let runs_code = shape
            .effects
            .intersects(SessionEffects::UNKNOWN | SessionEffects::TEXT_PREPARE);
        let wrote = self.written(&held.backend, held.backend.scanner.outcome(), status, runs_code);
        let (address, backend) = (&cluster.address, &mut held.backend);
        match may_write {
            true => self.own_writes.wrote(address, backend, self.number, wrote),
            false => self
                .own_writes
                .passed(address, backend, self.number, Some(shape.class), wrote),
        }
    }

    /// A statement of the proxy's own may have committed what the session has written.
    pub(super) fn learn_commit(&mut self, held: &mut Held, outcome: &Outcome) {
        let snapshot = &self.login.snapshot;
        let Some(cluster) = snapshot.causal.of_hostgroup(held.hostgroup) else {
            self.own_writes.wrote_somewhere();
            return;
        };
        let wrote = self.written(&held.backend, outcome, outcome.status, false);
        self.own_writes
            .passed(&cluster.address, &mut held.backend, self.number, None, wrote);
    }

    /// The answer to a statement did not come that may have written.
    pub(super) fn note_lost_write(&mut self, held: &Held) {
        match self.login.snapshot.causal.of_hostgroup(held.hostgroup) {
            Some(cluster) => self.own_writes.lost(&cluster.address, &held.backend),
            None => self.own_writes.wrote_somewhere(),
        }
    }

    fn written(
        &self,
        backend: &Backend,
        outcome: &Outcome,
        status: Option<StatusFlags>,
        runs_code: bool,
    ) -> Wrote {
        let history = &self.settings.history;
        Wrote {
            said: said(backend.is_mariadb, outcome),
            is_obscure: runs_code || history.has_set("gtid_domain_id"),
            is_unlogged: UNLOGGED.iter().any(|variable| history.has_set(variable)),
            in_transaction: status.is_some_and(|status| status.contains(StatusFlags::SERVER_STATUS_IN_TRANS)),
        }
    }
}

/// The position that a server has said with its answer: it does, if the session tracks `last_gtid` (MariaDB) or
/// `session_track_gtids` is on (MySQL).
fn said(is_mariadb: bool, outcome: &Outcome) -> Option<Position> {
    if outcome.session_state.is_empty() || outcome.session_state_truncated {
        return None;
    }
    let mut said: Option<Position> = None;
    for change in session_changes(&outcome.session_state) {
        let position = match change {
            Ok(SessionChange::SystemVariable { name, value }) if is_mariadb && name == b"last_gtid" => {
                Position::of_mariadb(value)?
            }
            Ok(SessionChange::Gtids(gtids)) if !is_mariadb => Position::of_mysql(gtid_set(gtids)?)?,
            Ok(_) => continue,
            Err(_) => return None,
        };
        said = match said {
            Some(said) => Some(said.joined(&position)?),
            None => Some(position),
        };
    }
    said
}
