//! Sessions of clients: shown, and ended for people on call.

use std::sync::mpsc;
use std::time::Instant;

use shardwright_mysqlite::{Answer, RowSink, Value};
use shardwright_wire::MysqlError;

use super::rows::{Rows, int, text};
use super::{AdminSession, one_row};
use crate::kill::{KillOrder, KillRequest, KillScope, Killed, not_told, unknown_thread};
use crate::session_handle::SessionFigures;
use crate::shared::Shared;
use crate::stats::WorkerFigures;

/// Each session that is logged in. The hostgroups are those where its statement runs, or where it has begun something and not
/// ended it; `running_ms` is NULL unless a server has a statement of it.
pub(super) const COLUMNS: &[&str] = &[
    "connection_id INT",
    "user VARCHAR",
    "client VARCHAR",
    "worker INT",
    "logged_in_s INT",
    "hostgroups VARCHAR",
    "running_ms INT",
];

pub(super) fn rows(shared: &Shared, _: &[WorkerFigures]) -> Rows {
    let now = Instant::now();
    let workers = shared.workers().iter().enumerate();
    let sessions = workers.flat_map(|(worker, handle)| {
        // A worker that has ended has no sessions.
        let sessions = handle.sessions().unwrap_or_default().into_iter();
        sessions.map(move |session| row(worker, &session, now))
    });
    sessions.collect()
}

fn row(worker: usize, session: &SessionFigures, now: Instant) -> Vec<Value> {
    let hostgroups: Vec<String> = session.hostgroups.iter().map(|id| id.to_string()).collect();
    let running = session
        .started
        .map(|started| now.saturating_duration_since(started));
    vec![
        int(session.id),
        text(&*session.login.user),
        text(&*session.login.client_ip),
        int(worker),
        int(now.saturating_duration_since(session.login.since).as_secs()),
        text(hostgroups.join(" ")),
        running.map_or(Value::Null, |running| int(running.as_millis())),
    ]
}

impl AdminSession {
    /// Ends the session of a client, or its statement, and waits until its server has been told.
    pub(super) fn kill_session(
        &self,
        scope: KillScope,
        id: u32,
        rows: &mut dyn RowSink,
    ) -> Result<Answer, MysqlError> {
        let (answer, answered) = mpsc::channel();
        let request = KillRequest {
            id,
            owner: None,
            order: KillOrder {
                scope,
                // It may come when nobody waits any more.
                answer: Some(Box::new(move |killed| {
                    let _gone = answer.send(killed);
                })),
            },
        };
        self.shared.kill(request);
        match answered.recv_timeout(2 * self.shared.limits.connect_timeout) {
            Ok(Killed::Done) => {}
            // The session has ended before it saw the order.
            Err(mpsc::RecvTimeoutError::Disconnected) => {}
            Ok(Killed::Unknown | Killed::Denied) => return Err(unknown_thread(id)),
            Ok(Killed::Failed(why)) => return Err(not_told(&why)),
            Err(mpsc::RecvTimeoutError::Timeout) => return Err(not_told("it has not answered yet")),
        }
        tracing::info!(
            connection_id = id,
            scope = scope.keyword(),
            "a client's session was told to end"
        );
        one_row(&["connection_id"], vec![int(id)]).send(rows)
    }
}
