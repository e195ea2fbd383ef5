//! Why a connection was lost: whether its server still runs, and is the one that was connected to.

use std::io::ErrorKind;
use std::time::Duration;

use shardwright_wire::ConnectError;

use super::Session;
use super::search::PAUSE;
use crate::backend::{Backend, BackendError, ConnectFailure};
use crate::kill_target::Serving;

/// A question that every user may ask.
const UPTIME: &[u8] = b"SHOW GLOBAL STATUS LIKE 'Uptime'";

/// What has become of the server of a connection that was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It runs as before. Somebody has ended the connection: a KILL looks like this.
    Runs,
    /// Its process has ended; another may run by now.
    Ended,
    /// It cannot be reached.
    Unknown,
}

impl Session {
    /// What has become of the server behind a connection that was lost. A server that is about to end may take a moment to.
    pub(super) async fn fate_of(&self, backend: &Backend, error: &BackendError) -> Fate {
        let is_ended_there = match error {
            BackendError::Closed => true,
            BackendError::Io(error) => matches!(
                error.kind(),
                ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::UnexpectedEof
            ),
            // It says what is no answer, so it runs.
            BackendError::Scan(_) | BackendError::Splice(_) | BackendError::NotReset => return Fate::Runs,
            BackendError::Silent(_) | BackendError::TakenOver | BackendError::Ended => false,
        };
        if !is_ended_there {
            return Fate::Unknown;
        }
        let shared = &self.worker.shared;
        let looks = async {
            loop {
                if let Some(fate) = self.look_at(backend).await {
                    return fate;
                }
                shared.clock.sleep(PAUSE).await;
            }
        };
        tokio::select! {
            biased;
            () = self.handle.ordered() => Fate::Runs,
            fate = looks => fate,
            () = shared.clock.sleep(shared.limits.connect_timeout) => Fate::Unknown,
        }
    }

    /// Connects anew; `None`: it was not said.
    async fn look_at(&self, lost: &Backend) -> Option<Fate> {
        let target = Serving::by(lost).target();
        let opened = target.open(&self.worker, &self.login.user).await;
        let mut backend = match opened {
            Ok(backend) => backend,
            Err(None) => return Some(Fate::Unknown),
            Err(Some(failure)) => return fate_by(&failure),
        };
        let patience = self.worker.shared.limits.connect_timeout;
        let rows = backend.exchange_rows(UPTIME, patience).await.ok()?.ok()?;
        let uptime = std::str::from_utf8(rows.value(0, "Value")?).ok()?;
        let uptime: u64 = uptime.parse().ok()?;
        let is_older = Duration::from_secs(uptime) >= lost.opened.elapsed();
        // The server counts in whole seconds. One that was started within the same second counts its connections anew.
        let may_be_older = Duration::from_secs(uptime + 1) > lost.opened.elapsed();
        let is_same = is_older || (may_be_older && backend.thread_id > lost.thread_id);
        Some(if is_same { Fate::Runs } else { Fate::Ended })
    }
}

/// What a failure to connect says of the server; `None`: nothing yet.
fn fate_by(failure: &ConnectFailure) -> Option<Fate> {
    match failure {
        ConnectFailure::Io(error) => match error.kind() {
            // No process listens.
            ErrorKind::ConnectionRefused | ErrorKind::NotFound => Some(Fate::Ended),
            ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::UnexpectedEof => None,
            _ => Some(Fate::Unknown),
        },
        ConnectFailure::Closed => None,
        ConnectFailure::Timeout(_) => Some(Fate::Unknown),
        // It is about to end.
        ConnectFailure::Login(ConnectError::Refused(error)) if error.code == SERVER_SHUTDOWN => None,
        ConnectFailure::Login(_) | ConnectFailure::Tls(_) | ConnectFailure::Unfit(_) => Some(Fate::Runs),
    }
}

/// ER_SERVER_SHUTDOWN
const SERVER_SHUTDOWN: u16 = 1053;
