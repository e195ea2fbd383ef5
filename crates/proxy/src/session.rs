//! A client's session: one task that reads commands, routes them, and forwards what servers answer.
//!
//! A session is a few values with one job each:
//!
//! * [`Client`]: the connection to the client, and what is spoken on it.
//! * [`Login`]: who the client is, and the generation that the session follows.
//! * [`Settings`]: what the client has set; each connection gets it before a statement.
//! * [`PendingTransaction`]: BEGIN and savepoints that no server has seen yet.
//! * [`HeldConnections`]: backend connections that stay with the session, each with the reasons.
//! * [`Diagnostics`]: where questions about earlier statements can be answered.
//! * [`HiddenVariables`]: where variables can be read that triggers may have set.
//! * [`RoutingState`]: what earlier statements mean for the routing of the next one.
//! * [`OwnWrites`]: what a server must have before it answers this session's reads.
//! * [`SessionStatements`]: prepared statements.

/// Waits for a large future in the place where it was made. `.await` first moves it twice, each time with the room that it may need later.
macro_rules! wait_for {
    ($future:expr) => {{
        let future = std::pin::pin!($future);
        future.await
    }};
}

/// A future in a box, made there. `Box::pin` is given one that was made before, and copies it with the room that it may need later.
macro_rules! boxed {
    ($future:expr) => {{
        let room = Box::new_uninit();
        let made = Box::write(room, $future);
        Box::into_pin(made)
    }};
}

mod after_statement;
mod align;
mod answer;
mod asked;
mod assumed;
mod autocommit;
mod bodies;
mod bound_keys;
mod bound_kinds;
mod bound_text;
mod call_arguments;
mod causal_reads;
mod checkout;
mod checkout_error;
mod client;
mod commands;
mod connecting;
mod cursor;
mod cursors;
mod default_names;
mod defaults;
mod diagnostics;
mod earlier;
mod execute_parameters;
mod execution;
mod fate;
mod forward;
mod found_rows;
mod global_variables;
mod held;
mod hidden_mode;
mod hidden_variables;
mod holds;
mod kill;
mod kill_statement;
mod learn_writes;
mod local_file;
mod logical;
mod login;
mod login_refusal;
mod measured_reads;
mod memory;
mod named_locks;
mod next_transaction;
mod not_connected;
mod opened_comments;
mod own_error;
mod own_schema;
mod own_values;
mod own_writes;
mod pending_transaction;
mod place;
mod positions;
mod prepared;
mod prepared_errors;
mod prepared_here;
mod prepared_on_server;
mod proof;
mod proxied;
mod query;
mod questions;
mod repeat;
mod requirements;
mod reset;
mod routed;
mod routing_state;
mod saved_values;
mod schema;
mod search;
mod sent_text;
mod set_statement;
mod settings;
mod settle;
mod several;
mod statement;
mod statement_words;
mod statements;
mod system_variables;
mod throttled;
mod try_out;
mod variables;
mod wait;
mod watch;

#[cfg(feature = "in-process")]
pub use self::proxied::proxy_header;

use std::future::ready;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use shardwright_rules::SessionView;
use shardwright_sql::LexMode;
use shardwright_wire::{CapabilityFlags, Command, DecodeError, MysqlError, errors};

use self::client::Client;
use self::diagnostics::Diagnostics;
use self::execute_parameters::{ExecutionFlags, not_in_bulk};
use self::held::HeldConnections;
use self::hidden_variables::HiddenVariables;
use self::login::Login;
use self::memory::LONG_TEXT;
use self::own_writes::OwnWrites;
use self::pending_transaction::PendingTransaction;
use self::query::Query;
use self::routing_state::RoutingState;
use self::settings::Settings;
use self::statements::{LAST_PREPARED, SessionStatements};
use self::wait::Woken;
use crate::channel::{Channel, Frame};
use crate::half_open::LoginPermit;
use crate::insert_id::InsertId;
use crate::kill::KillScope;
use crate::listen_address::{ListenAddress, Peer};
use crate::session_handle::SessionHandle;
use crate::shared::Phase;
use crate::stats::bump;
use crate::worker::Worker;

/// The session is over.
#[derive(Debug)]
pub(crate) enum End {
    /// The client has gone, or its connection is broken.
    ClientGone,
    /// The client was told why, or there is nothing left to say.
    Closed,
}

type Flow<T = ()> = Result<T, End>;
/// A command that is being answered: as large as what it does, and gone once that is done.
type Answering<'a> = Pin<Box<dyn Future<Output = Flow> + 'a>>;

/// A session after its login.
struct Session {
    worker: Rc<Worker>,
    handle: Rc<SessionHandle>,
    /// Unique in its worker.
    number: u64,
    /// Where the client connected to.
    listener: Arc<ListenAddress>,
    client: Client,
    login: Login,
    settings: Settings,
    pending: PendingTransaction,
    held: HeldConnections,
    diagnostics: Diagnostics,
    /// Where the session's LAST_INSERT_ID() is, if a statement has left one.
    insert_id: Option<Rc<InsertId>>,
    hidden: HiddenVariables,
    /// The error by which the next command is answered; the session ends with it.
    doom: Option<Box<MysqlError>>,
    routing: RoutingState,
    own_writes: OwnWrites,
    statements: SessionStatements,
    /// When the last statement was answered, if a server has answered it.
    answered_at: Option<Instant>,
    /// Its last statement was lost with its connection.
    has_lost_connection: bool,
    /// COM_CHANGE_USERs that have failed.
    failed_changes: u8,
}

/// A client whose connection was accepted.
pub(crate) struct Arrival {
    pub(crate) connection_id: u32,
    pub(crate) handle: Rc<SessionHandle>,
    pub(crate) channel: Channel,
    pub(crate) peer: Peer,
    pub(crate) listener: Arc<ListenAddress>,
    pub(crate) login_permit: LoginPermit,
}

/// Serves a client from its greeting to its end.
///
/// A future is as large as the largest thing that it may wait for, also while it waits for nothing but the next command. So
/// what a session seldom does is kept behind pointers, here and below, and the whole of a command as long as that takes.
pub(crate) async fn serve(worker: Rc<Worker>, arrival: Arrival) {
    let Some(mut session) = Box::pin(begin(worker, arrival)).await else {
        return;
    };
    session.run().await;
    session.held.release_all(&session.worker);
}

/// Logs a client in; `None`: it is not served.
async fn begin(worker: Rc<Worker>, arrival: Arrival) -> Option<Session> {
    let Arrival {
        connection_id,
        handle,
        mut channel,
        peer,
        listener,
        mut login_permit,
    } = arrival;
    let accepted = login::arrive(
        &worker,
        &mut channel,
        connection_id,
        peer,
        &listener,
        &mut login_permit,
    )
    .await?;
    drop(login_permit);
    handle.log_in(accepted.login.as_logged_in());
    let encoding = login::encoding_of(accepted.login.collation);
    let mut settings = Settings::new(accepted.schema, encoding);
    if accepted
        .dialect
        .capabilities
        .contains(CapabilityFlags::CLIENT_IGNORE_SPACE)
    {
        settings.ignore_space();
    }
    let mut session = Session {
        number: worker.next_number(),
        worker,
        handle,
        listener,
        client: Client::new(channel, accepted.dialect),
        login: accepted.login,
        settings,
        pending: PendingTransaction::default(),
        held: HeldConnections::default(),
        diagnostics: Diagnostics::default(),
        insert_id: None,
        hidden: HiddenVariables::default(),
        routing: RoutingState::default(),
        own_writes: OwnWrites::default(),
        statements: SessionStatements::default(),
        answered_at: None,
        has_lost_connection: false,
        failed_changes: 0,
        doom: None,
    };
    let welcomed = session.welcome(accepted.names_schema, accepted.seq).await;
    if welcomed.is_err() {
        session.held.release_all(&session.worker);
        return None;
    }
    // Once, behind the OK of the login; that of COM_CHANGE_USER is compressed already.
    session.client.begin_compression();
    Some(session)
}

impl Session {
    async fn run(&mut self) {
        loop {
            let flow = match self.next_command().await {
                Woken::Command if self.doom.is_some() => Box::pin(self.meet_doom()).await,
                Woken::Command => {
                    bump(&self.worker.counters.totals.questions);
                    let mut frame = std::mem::take(&mut self.client.frame);
                    self.client.begin_command();
                    let flow = self.command(&frame).await;
                    frame.clear();
                    self.client.frame = frame;
                    self.client.end_command();
                    flow
                }
                Woken::LeftOut { error, seq } => Box::pin(self.refuse(seq, error.error())).await,
                Woken::Refused { error, seq } => self.refuse_and_close(error, seq).await,
                Woken::Gone => return,
            };
            if flow.is_err() {
                return;
            }
        }
    }

    /// Answers one command.
    fn command<'a>(&'a mut self, frame: &'a Frame) -> Answering<'a> {
        let seq = frame.next_seq();
        let command = match Command::decode(frame.payload()) {
            Ok(command) => command,
            Err(error) => return Box::pin(self.answer_malformed(seq, error)),
        };
        match command {
            Command::Quit => Box::pin(ready(Err(End::ClientGone))),
            Command::Ping => Box::pin(self.send_done(seq, b"")),
            Command::Query(body) => match Query::split(frame, body, self.client.has_attributes()) {
                Ok((query, text)) if text.len() > LONG_TEXT => Box::pin(self.long_query(text, query)),
                Ok((query, text)) => boxed!(self.query(text, query)),
                Err(error) => Box::pin(self.answer_malformed(seq, error)),
            },
            Command::InitDb(name) => Box::pin(self.init_db(name, seq)),
            Command::FieldList { table, .. } => Box::pin(self.field_list(table, frame)),
            Command::StmtPrepare(text) => Box::pin(self.prepare(text, seq)),
            Command::StmtExecute {
                statement_id,
                flags,
                parameters,
            } => self.execution(statement_id, ExecutionFlags::Once(flags), parameters, seq),
            Command::StmtBulkExecute {
                statement_id,
                flags,
                rows,
            } if self.client.takes_bulk => {
                self.execution(statement_id, ExecutionFlags::Bulk(flags), rows, seq)
            }
            Command::StmtBulkExecute { .. } => Box::pin(self.refuse(seq, not_in_bulk())),
            Command::StmtSendLongData {
                statement_id,
                parameter,
                data,
            } => Box::pin(self.long_data(self.statement_meant(statement_id), parameter, data)),
            Command::StmtClose(id) => Box::pin(self.close_statement(self.statement_meant(id))),
            Command::StmtReset(id) => Box::pin(self.reset_statement(self.statement_meant(id), seq)),
            Command::StmtFetch { statement_id, rows } => {
                Box::pin(self.fetch(self.statement_meant(statement_id), rows, seq))
            }
            Command::ResetConnection => Box::pin(self.reset_connection(seq)),
            Command::ChangeUser(body) => Box::pin(self.change_user(body, seq)),
            Command::Statistics => Box::pin(self.statistics(seq)),
            Command::SetOption { multi_statements } => {
                self.client.takes_several = multi_statements;
                Box::pin(self.send_eof(seq))
            }
            Command::ProcessKill(id) => Box::pin(self.kill(id, KillScope::Connection, seq)),
            Command::Refresh(bits) => Box::pin(self.refresh(bits, frame)),
            Command::Debug => Box::pin(self.debug(frame)),
            Command::ProcessInfo => Box::pin(self.process_info(frame)),
            Command::Unknown(_) => Box::pin(self.unsupported(seq, "Unknown command")),
        }
    }

    fn execution<'a>(
        &'a mut self,
        id: u32,
        flags: ExecutionFlags,
        block: &'a [u8],
        seq: u8,
    ) -> Answering<'a> {
        let id = self.statement_meant(id);
        match self.statements.is_plain(id) {
            true => boxed!(self.execute(id, flags, block, seq)),
            false => Box::pin(self.execute_anew(id, flags, block, seq)),
        }
    }

    /// The number of a prepared statement, which clients of MariaDB may not know yet.
    fn statement_meant(&self, id: u32) -> u32 {
        let last = self.statements.last_prepared().filter(|_| id == LAST_PREPARED);
        last.filter(|_| self.is_mariadb()).unwrap_or(id)
    }

    async fn answer_malformed(&mut self, seq: u8, error: DecodeError) -> Flow {
        self.client.send_error(seq, &malformed(error)).await
    }

    /// What routing may know of this session.
    fn view(&self) -> SessionView<'_> {
        let listener = &self.listener;
        SessionView {
            user: &self.login.user.name,
            user_position: Some(self.login.user.position),
            schema: self.settings.schema.as_deref(),
            client_addr: Some(&self.login.client_ip),
            listener: Some((listener.host.as_str(), listener.port)),
            transaction: self.held.transaction(),
            transaction_pending: self.pending.kind(),
            autocommit_off: !self.settings.autocommit,
            next_query_flag_in: self.routing.next_query_flag_in,
            locked_on: None,
            since_write_ms: self.routing.since_write_ms(),
            state_on: &self.routing.state_on,
        }
    }

    /// How a text of now is read.
    fn mode(&self) -> LexMode {
        self.settings.mode.on(self.worker.servers())
    }

    /// Whether the client takes its servers for MariaDBs.
    fn is_mariadb(&self) -> bool {
        self.worker.shared.server_version.is_mariadb(&self.login.snapshot)
    }

    fn is_in_transaction(&self) -> bool {
        self.held.transaction().is_some() || !self.pending.is_empty()
    }

    /// Takes the generation that is served now, unless a transaction is open: that one ends as it began.
    fn renew_snapshot(&mut self) {
        if !self.worker.is_current(&self.login.snapshot) && !self.is_in_transaction() {
            self.login.follow(self.worker.snapshot());
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

#[cfg(test)]
mod tests {
    use super::execute_parameters::ExecutionFlags;
    use super::query::Query;
    use super::{Session, serve};

    /// What mimalloc has room for at hand; more than that takes it 200 instructions (`MI_SMALL_SIZE_MAX`).
    const AT_HAND: usize = 1024;

    fn size_of_future<A, B, F: Future>(_: impl FnOnce(A, B) -> F) -> usize {
        size_of::<F>()
    }

    /// Each statement has one of these.
    #[test]
    fn a_statement_on_its_way_is_small() {
        type Text = &'static [u8];
        let query =
            |session: &'static mut Session, (text, query): (Text, Query<'static>)| session.query(text, query);
        let execute = |session: &'static mut Session, block: Text| {
            session.execute(1, ExecutionFlags::Once(0), block, 1)
        };
        for (size, what) in [
            (size_of_future(query), "a text"),
            (size_of_future(execute), "an execution"),
        ] {
            assert!(
                size <= AT_HAND,
                "{what}: {size} bytes; `-Zprint-type-sizes` says of what, and what is seldom there goes behind a pointer"
            );
        }
    }

    /// Thousands of clients wait at once, and each has a future of this size.
    #[test]
    fn a_session_that_waits_is_small() {
        let size = size_of_future(serve);
        assert!(
            size <= 1536,
            "{size} bytes: keep what is seldom done behind a pointer"
        );
    }
}
