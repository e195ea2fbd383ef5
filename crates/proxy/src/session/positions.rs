//! Questions about positions: where the writer's log is, whether a replica has got there, and whether a write still runs whose
//! answer did not come.

use std::time::{Duration, Instant};

use shardwright_wire::TextRows;

use super::Session;
use super::causal_reads::CaughtUp;
use super::checkout_error::CheckoutError;
use super::held::Held;
use super::own_writes::Target;
use super::requirements::Requirements;
use crate::backend::{Backend, BackendError};
use crate::causal::{CausalCluster, Position};

/// What a MariaDB has in its log.
const MARIADB_POSITION: &[u8] = b"SELECT @@GLOBAL.log_bin AS logs, @@GLOBAL.gtid_binlog_pos AS position, \
    @@SESSION.last_gtid AS own, @@GLOBAL.server_id AS server";
/// What a MySQL has executed.
const MYSQL_POSITION: &[u8] = b"SELECT @@GLOBAL.gtid_mode AS mode, @@GLOBAL.gtid_executed AS position";
/// Beyond what a server was told to wait, this long its answer may take.
const ANSWER_WITHIN: Duration = Duration::from_secs(1);
impl Session {
    /// Replication: until the server has the position of the writer.
    pub(super) async fn reach_position(
        &mut self,
        cluster: &CausalCluster,
        backend: &mut Backend,
        patience: Duration,
    ) -> Result<CaughtUp, BackendError> {
        let Some(target) = self.target(cluster) else {
            return Ok(CaughtUp::NoTarget);
        };
        let (position, seconds) = (&target.position, patience.as_secs_f64());
        let question = match position {
            Position::MariaDb(_) => format!(
                "SELECT MASTER_GTID_WAIT('{position}', {seconds}) AS waited, @@GLOBAL.gtid_slave_pos AS position"
            ),
            Position::MySql(_) => {
                format!("SELECT WAIT_FOR_EXECUTED_GTID_SET('{position}', {seconds}) AS waited")
            }
        };
        let asked = Instant::now();
        let answer = backend
            .exchange_rows(question.as_bytes(), patience + ANSWER_WITHIN)
            .await?;
        let rows = answer.unwrap_or_else(|error| {
            tracing::debug!(server = backend.member.endpoint(), %error, "a server does not wait for a position");
            TextRows::default()
        });
        if rows.value(0, "waited") != Some(b"0") {
            return Ok(CaughtUp::No);
        }
        let reach = &backend.member.reach;
        if let Position::MariaDb(_) = position {
            let reached = rows.value(0, "position").and_then(Position::of_mariadb);
            let Some(reached) = reached.filter(|reached| position.is_in(reached, target.writer)) else {
                return Ok(CaughtUp::No);
            };
            reach.reached(asked, reached);
        }
        if let Some(asked_at) = target.asked_at {
            reach.synced(asked_at);
        }
        Ok(CaughtUp::Yes)
    }

    /// What servers are to catch up with, if it is known and the server that said it still writes.
    fn target(&mut self, cluster: &CausalCluster) -> Option<Target> {
        let target = self.own_writes.of(&cluster.address)?.target.clone()?;
        self.writes_now(cluster, &target.by).then_some(target)
    }

    /// Asks the writer what there is to catch up with; `false`: it does not say.
    pub(super) async fn find_target(&mut self, cluster: &CausalCluster) -> Result<bool, CheckoutError> {
        let asked_at = Instant::now();
        let mut held = self
            .check_out(&Requirements::settings_only(cluster.writer))
            .await?;
        let asked = self.ask_position(cluster, &mut held.backend, asked_at).await;
        self.return_asked(held, asked.is_err());
        let target = asked.unwrap_or_else(|error| {
            tracing::debug!(%error, "a connection was lost on which a writer was asked for its position");
            None
        });
        let is_found = target.is_some();
        if let Some(writes) = self.own_writes.of(&cluster.address) {
            writes.target = target;
        }
        Ok(is_found)
    }

    fn return_asked(&mut self, held: Held, is_lost: bool) {
        // What a lost connection held goes with it; the next statement that needs it is told.
        if !is_lost {
            self.held.keep_or_give(held, &self.worker.pool);
        }
    }

    async fn ask_position(
        &mut self,
        cluster: &CausalCluster,
        backend: &mut Backend,
        asked_at: Instant,
    ) -> Result<Option<Target>, BackendError> {
        let question = if backend.is_mariadb {
            MARIADB_POSITION
        } else {
            MYSQL_POSITION
        };
        let rows = match backend.exchange_rows(question, ANSWER_WITHIN).await? {
            Ok(rows) => rows,
            Err(error) => {
                tracing::debug!(server = backend.member.endpoint(), %error, "a writer does not say its position");
                return Ok(None);
            }
        };
        let by = backend.member.clone();
        if !backend.is_mariadb {
            let is_on = rows.value(0, "mode").is_some_and(|mode| mode.starts_with(b"ON"));
            let position = rows.value(0, "position").and_then(Position::of_mysql);
            return Ok(position.filter(|_| is_on).map(|position| Target {
                position,
                by,
                writer: None,
                asked_at: Some(asked_at),
            }));
        }
        let number = |column| {
            std::str::from_utf8(rows.value(0, column)?)
                .ok()?
                .parse::<u32>()
                .ok()
        };
        let position = rows.value(0, "position").and_then(Position::of_mariadb);
        let Some(position) = position.filter(|_| number("logs") == Some(1)) else {
            return Ok(None);
        };
        let writes = self.own_writes.of(&cluster.address);
        let own = writes.and_then(|writes| {
            let is_own = writes.connection == Some(backend.serial) && backend.wrote_for == self.number;
            let own = rows
                .value(0, "own")
                .and_then(Position::of_mariadb)
                .filter(|_| is_own)?;
            match &writes.base {
                Some(base) => own.joined(base),
                None => Some(own),
            }
        });
        Ok(Some(Target {
            asked_at: own.is_none().then_some(asked_at),
            position: own.unwrap_or(position),
            by,
            writer: number("server"),
        }))
    }

    /// Whether no write can be under way any more whose answer did not come. The server that had it is asked, as long as it
    /// takes the writes.
    pub(super) async fn settle_lost_writes(
        &mut self,
        cluster: &CausalCluster,
        waited: &mut bool,
    ) -> Result<bool, CheckoutError> {
        let lost = match self.own_writes.of(&cluster.address) {
            Some(writes) if !writes.lost.is_empty() => writes.lost.clone(),
            _ => return Ok(true),
        };
        *waited = true;
        let mut held = self
            .check_out(&Requirements::settings_only(cluster.writer))
            .await?;
        for (server, thread) in lost {
            if !server.endpoint_is(&held.backend.member) {
                continue;
            }
            let question =
                format!("SELECT COUNT(*) AS running FROM information_schema.PROCESSLIST WHERE ID = {thread}");
            let answer = held
                .backend
                .exchange_rows(question.as_bytes(), ANSWER_WITHIN)
                .await;
            let is_over = matches!(&answer, Ok(Ok(rows)) if rows.value(0, "running") == Some(b"0"));
            if !is_over {
                self.return_asked(held, answer.is_err());
                return Ok(false);
            }
        }
        self.return_asked(held, false);
        if let Some(writes) = self.own_writes.of(&cluster.address) {
            writes.settle();
        }
        Ok(true)
    }
}
