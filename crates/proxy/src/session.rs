//! A client's session: one task that reads commands, routes them, and forwards what servers answer.

mod answer;
mod assumed;
mod conclude;
mod database;
mod execute_parameters;
mod forward;
mod holds;
mod keep;
mod leave;
mod login;
mod pending;
mod place;
mod prepared;
mod questions;
mod schema;
mod set;
mod statement;
mod statements;
mod text;
mod wait;

use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use shardwright_rules::{HostgroupId, SessionView, Statement, Transaction};
use shardwright_sql::SessionEffects;
use shardwright_wire::{CapabilityFlags, Command, ConnectError, DecodeError, MysqlError, errors};

use self::holds::Holds;
use self::pending::Pending;
use self::set::SetHistory;
use self::statements::SessionStatements;
use self::wait::Woken;
use crate::backend::Backend;
use crate::channel::{Channel, Frame};
use crate::permit::Permit;
use crate::set_names::SetNames;
use crate::shared::Phase;
use crate::snapshot::{Snapshot, UserEntry};
use crate::stats::bump;
use crate::worker::{Slot, Worker};

/// Time that a connection is given to forget its session.
const RESET_TIMEOUT: Duration = Duration::from_secs(5);

/// The session is over.
#[derive(Debug)]
pub(crate) enum End {
    /// The client has gone, or its connection is broken.
    ClientGone,
    /// The client was told why, or there is nothing left to say.
    Closed,
}

type Flow<T = ()> = Result<T, End>;

/// A backend connection that stays with the session.
struct Held {
    hostgroup: HostgroupId,
    backend: Backend,
    holds: Holds,
    /// When brief holds end.
    until: Option<Instant>,
    /// The last entry of the session's SET history that the connection has.
    replayed: u64,
}

/// The connection that ran the session's last statement, if that is still how it left it.
#[derive(Clone, Copy)]
struct Previous {
    hostgroup: HostgroupId,
    member: u64,
    serial: u64,
    /// Exchanges of the proxy's own on that connection until then.
    exchanges: u64,
}

/// A serial number that no connection has.
const NO_CONNECTION: u64 = u64::MAX;

/// A session after its login.
struct Session {
    worker: Rc<Worker>,
    slot: Rc<Slot>,
    number: u64,
    connection_id: u32,
    client: Channel,
    capabilities: CapabilityFlags,
    collation: u8,
    client_ip: String,
    snapshot: Arc<Snapshot>,
    user: Arc<UserEntry>,
    /// The generation that is followed does not have the user any more.
    is_removed: bool,
    _user_permit: Permit,
    schema: Option<Arc<str>>,
    names: Option<SetNames>,
    autocommit: bool,
    /// BEGIN and savepoints that no server has seen yet.
    pending: Pending,
    /// `SET TRANSACTION …` for the next transaction.
    next_transaction: Option<Vec<u8>>,
    next_query_flag_in: Option<u32>,
    last_write: Option<Instant>,
    history: SetHistory,
    held: Vec<Held>,
    /// As in [`SessionView::state_on`], for the statement that is being decided.
    state_on: Vec<HostgroupId>,
    previous: Option<Previous>,
    /// The connection (its serial number) whose list of warnings is the session's. A statement that names no table and
    /// warns of nothing leaves the list of an earlier one, and only where it runs itself.
    warned_on: Option<u64>,
    /// The proxy answered the last statement by itself: no server knows its ROW_COUNT().
    is_answered_here: bool,
    statements: SessionStatements,
    frame: Frame,
}

/// Serves a client from its greeting to its end.
pub(crate) async fn serve(
    worker: Rc<Worker>,
    slot: Rc<Slot>,
    number: u64,
    mut channel: Channel,
    peer: SocketAddr,
    login_permit: Permit,
) {
    let timeout = worker.shared.limits.handshake_timeout;
    let login = login::log_in(&worker, &mut channel, peer);
    let accepted = match tokio::time::timeout(timeout, login).await {
        Ok(Some(accepted)) => accepted,
        Ok(None) => return,
        Err(_) => {
            tracing::debug!(%peer, "a client did not log in in time");
            return;
        }
    };
    drop(login_permit);
    let mut session = Session {
        client: channel,
        client_ip: client_ip(peer),
        snapshot: accepted.snapshot,
        user: accepted.user,
        is_removed: false,
        _user_permit: accepted.user_permit,
        schema: accepted.schema,
        capabilities: accepted.capabilities,
        collation: accepted.collation,
        connection_id: accepted.connection_id,
        worker,
        slot,
        number,
        names: None,
        autocommit: true,
        pending: Pending::default(),
        next_transaction: None,
        next_query_flag_in: None,
        last_write: None,
        history: SetHistory::default(),
        held: Vec::new(),
        state_on: Vec::new(),
        previous: None,
        warned_on: None,
        is_answered_here: false,
        statements: SessionStatements::default(),
        frame: Frame::default(),
    };
    session.run().await;
    session.release_everything();
}

/// The address that rules compare with; IPv4 in its own form.
fn client_ip(peer: SocketAddr) -> String {
    match peer.ip() {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => ip.to_canonical().to_string(),
    }
}

impl Session {
    async fn run(&mut self) {
        loop {
            let woken = self.next_command().await;
            let flow = match woken {
                Woken::Command => {
                    bump(&self.worker.counters.totals.questions);
                    let mut frame = std::mem::take(&mut self.frame);
                    let flow = self.command(&frame).await;
                    frame.clear();
                    self.frame = frame;
                    flow
                }
                Woken::Refused(error, seq) => self.refuse_and_close(&error, seq).await,
                Woken::Gone => return,
            };
            if flow.is_err() {
                return;
            }
        }
    }

    /// Answers one command.
    async fn command(&mut self, frame: &Frame) -> Flow {
        let seq = frame.next_seq();
        let command = match Command::decode(frame.payload()) {
            Ok(command) => command,
            Err(error) => return self.send_error(seq, &malformed(error)).await,
        };
        match command {
            Command::Quit => Err(End::ClientGone),
            Command::Ping => self.send_ok(seq, b"").await,
            Command::Query(text) => self.query(text, frame).await,
            Command::InitDb(name) => self.init_db(name, seq).await,
            Command::FieldList { table, .. } => self.field_list(table, frame).await,
            Command::StmtPrepare(text) => self.prepare(text, seq).await,
            Command::StmtExecute {
                statement_id,
                parameters,
                ..
            } => self.execute(statement_id, parameters, seq).await,
            Command::StmtSendLongData {
                statement_id,
                parameter,
                data,
            } => self.long_data(statement_id, parameter, data).await,
            Command::StmtClose(id) => {
                self.statements.close(id);
                Ok(())
            }
            Command::StmtReset(id) => self.reset_statement(id, seq).await,
            Command::StmtFetch { statement_id, .. } => self.fetch(statement_id, seq).await,
            Command::ResetConnection => self.reset_connection(seq).await,
            Command::ChangeUser(body) => self.change_user(body, seq).await,
            Command::Statistics => self.statistics(seq).await,
            Command::SetOption {
                multi_statements: false,
            } => self.send_eof(seq).await,
            Command::SetOption {
                multi_statements: true,
            } => {
                self.unsupported(seq, "several statements in one query are not supported")
                    .await
            }
            Command::ProcessKill(_) => {
                self.unsupported(seq, "KILL is not supported through the proxy")
                    .await
            }
            Command::ProcessInfo | Command::Debug | Command::Unknown(_) => {
                self.unsupported(seq, "Unknown command").await
            }
        }
    }

    /// What routing may know of this session.
    fn view(&self) -> SessionView<'_> {
        SessionView {
            user: &self.user.name,
            schema: self.schema.as_deref(),
            client_addr: Some(&self.client_ip),
            listener: Some((
                self.worker.shared.listener.0.as_str(),
                self.worker.shared.listener.1,
            )),
            transaction: self.transaction(),
            transaction_pending: !self.pending.is_empty(),
            autocommit_off: !self.autocommit,
            next_query_flag_in: self.next_query_flag_in,
            locked_on: None,
            since_write_ms: self.last_write.map(|write| write.elapsed().as_millis() as u64),
            state_on: &self.state_on,
        }
    }

    /// Notes where the session keeps what the statement's answer may depend on.
    fn note_state(&mut self, statement: &Statement<'_>) {
        self.state_on.clear();
        if self.held.is_empty() {
            return;
        }
        let mut state = Holds::NOT_ON_READERS;
        let effects = statement.shape().effects;
        if effects.intersects(SessionEffects::USER_VARIABLE) {
            state = state.with(Holds::USER_VARIABLES);
        }
        let keeping = self.held.iter().filter(|held| held.holds.intersects(state));
        self.state_on.extend(keeping.map(|held| held.hostgroup));
    }

    /// The open transaction.
    fn transaction(&self) -> Option<Transaction> {
        let open = self
            .held
            .iter()
            .find(|held| held.holds.intersects(Holds::IN_TRANSACTION))?;
        Some(Transaction {
            hostgroup: open.hostgroup,
        })
    }

    fn is_in_transaction(&self) -> bool {
        self.transaction().is_some() || !self.pending.is_empty()
    }

    /// Takes the generation that is served now, unless a transaction is open: that one ends as it began.
    fn renew_snapshot(&mut self) {
        if self.worker.is_current(&self.snapshot) || self.is_in_transaction() {
            return;
        }
        self.snapshot = self.worker.snapshot();
        match self.snapshot.users.get(&self.user.name) {
            Some(user) => {
                self.user = user.clone();
                self.is_removed = false;
            }
            None => self.is_removed = true,
        }
    }

    fn is_draining(&self) -> bool {
        self.worker.phase() != Phase::Serving && !self.is_in_transaction()
    }
}

/// The error for a command that is too short.
fn malformed(error: DecodeError) -> MysqlError {
    errors::MALFORMED_PACKET.with(format_args!("Malformed communication packet: {error}"))
}

/// Whether a server's refusal is about this login and not about the server.
fn is_about_login(error: &ConnectError) -> Option<&MysqlError> {
    match error {
        ConnectError::Refused(error) if matches!(error.code, 1044 | 1045 | 1049 | 1698) => Some(error),
        _ => None,
    }
}
