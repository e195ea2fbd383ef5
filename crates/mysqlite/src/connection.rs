//! One client: login, then commands until it goes.

use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use shardwright_wire::{
    CapabilityFlags, ChangeUser, Command, EofPacket, MysqlError, OkPacket, PrepareOk, ResultSetWriter,
    append_packet, errors,
};

use crate::answer::Answer;
use crate::backend::{Session, SessionContext};
use crate::login::{Dialogue, Login};
use crate::prepared::{Execution, Statements};
use crate::responder::{Layout, Responder};
use crate::shared::Shared;
use crate::transport::{Ended, Transport};

/// Both ends of a connection.
#[derive(Clone, Copy)]
struct Endpoints {
    peer: SocketAddr,
    local: SocketAddr,
}

/// Serves a client to its end.
pub(crate) fn run(shared: &Shared, id: u32, stream: TcpStream, peer: SocketAddr) {
    // A connection without an address of its own has ended.
    let Ok(local) = stream.local_addr() else {
        return;
    };
    let endpoints = Endpoints { peer, local };
    // Without these the connection works, only slower or less guarded.
    let _ = stream.set_nodelay(true);
    let _ = stream.set_write_timeout(Some(
        shared.config.limits.idle_timeout.max(Duration::from_millis(1)),
    ));
    let mut transport = Transport::new(stream);
    if let Err(Ended::With(error)) = serve(shared, id, endpoints, &mut transport) {
        transport.queue_error(&error);
        // The client may be gone; the connection ends either way.
        let _ = transport.flush();
    }
    transport.close();
}

fn serve(shared: &Shared, id: u32, endpoints: Endpoints, transport: &mut Transport) -> Result<(), Ended> {
    let Login { user, attempt } = Dialogue::new(shared, endpoints.peer.ip(), transport).greet(id)?;
    let capabilities = attempt.capabilities;
    let schema = attempt.request.database.clone().unwrap_or_default();
    let session = session(shared, id, endpoints, transport, &user, &schema)?;
    shared.logged_in(id);
    if let Some(payload) = attempt.acknowledgement() {
        transport.queue(payload);
    }
    let mut connection = Connection {
        shared,
        id,
        endpoints,
        user,
        transport,
        capabilities,
        session,
        statements: Statements::default(),
    };
    connection.ok()?;
    connection.commands()
}

fn session(
    shared: &Shared,
    id: u32,
    endpoints: Endpoints,
    transport: &Transport,
    user: &str,
    schema: &[u8],
) -> Result<Box<dyn Session>, MysqlError> {
    let context = SessionContext {
        connection_id: id,
        user: user.to_owned(),
        peer: endpoints.peer,
        local: endpoints.local,
    };
    let mut session = shared.backend.open_session(&context)?;
    if let Some(is_gone) = transport.is_gone() {
        session.watch(is_gone);
    }
    if !schema.is_empty() {
        session.use_schema(text(schema)?)?;
    }
    shared.set_interrupt(id, session.interrupt());
    Ok(session)
}

fn text(bytes: &[u8]) -> Result<&str, MysqlError> {
    std::str::from_utf8(bytes)
        .map_err(|_| errors::INVALID_CHARACTER_STRING.with("Invalid utf8mb4 character string"))
}

struct Connection<'s> {
    shared: &'s Shared,
    id: u32,
    endpoints: Endpoints,
    user: String,
    transport: &'s mut Transport,
    capabilities: CapabilityFlags,
    session: Box<dyn Session>,
    statements: Statements,
}

impl Connection<'_> {
    fn commands(&mut self) -> Result<(), Ended> {
        loop {
            self.transport.flush()?;
            if self.shared.is_stopping() {
                return Err(errors::SERVER_SHUTDOWN.with("Server shutdown in progress").into());
            }
            let limits = &self.shared.config.limits;
            self.transport.seq = 0;
            let payload = self.transport.read(limits.max_packet, limits.idle_timeout)?;
            let Ok(command) = Command::decode(&payload) else {
                self.transport
                    .queue_error(&errors::MALFORMED_PACKET.with("Malformed communication packet."));
                continue;
            };
            if command == Command::Quit {
                return Ok(());
            }
            self.command(command)?;
        }
    }

    fn command(&mut self, command: Command<'_>) -> Result<(), Ended> {
        match command {
            Command::Query(sql) => {
                self.log(sql);
                self.answer(Layout::Text, |session, rows| session.query(sql, rows))
            }
            Command::InitDb(schema) => self.answer(Layout::Text, |session, _| {
                session.use_schema(text(schema)?)?;
                Ok(Answer::ok())
            }),
            Command::Ping => self.ok(),
            Command::FieldList { table, wildcard: _ } => self.field_list(table),
            Command::StmtPrepare(sql) => self.prepare(sql),
            Command::StmtExecute {
                statement_id,
                flags: _,
                parameters,
            } => self.execute(statement_id, parameters),
            Command::StmtSendLongData {
                statement_id,
                parameter,
                data,
            } => {
                self.statements.send_long_data(statement_id, parameter, data);
                Ok(())
            }
            Command::StmtClose(id) => {
                self.statements.remove(id);
                Ok(())
            }
            Command::StmtReset(id) => match self.statements.reset(id) {
                Ok(()) => self.ok(),
                Err(error) => self.error(&error),
            },
            Command::StmtFetch { statement_id, .. } => {
                let message = format!("The statement ({statement_id}) has no open cursor.");
                self.error(&errors::STMT_HAS_NO_OPEN_CURSOR.with(message))
            }
            Command::ResetConnection => {
                let user = self.user.clone();
                let schema = self.session.schema().unwrap_or_default().to_owned();
                self.replace_session(&user, schema.as_bytes())
            }
            Command::ChangeUser(body) => self.change_user(body),
            Command::SetOption {
                multi_statements: false,
            } => {
                let status = self.session.status();
                self.append(|out| EofPacket { warnings: 0, status }.encode(out));
                Ok(())
            }
            Command::Statistics => {
                let line = format!("Uptime: {}", self.shared.started.elapsed().as_secs());
                self.append(|out| out.extend_from_slice(line.as_bytes()));
                Ok(())
            }
            Command::ProcessKill(id) => match self.session.kill(id) {
                Err(error) => self.error(&error),
                Ok(()) if self.shared.kill(id) => self.ok(),
                Ok(()) => self.error(&errors::NO_SUCH_THREAD.with(format_args!("Unknown thread id: {id}"))),
            },
            Command::Quit
            | Command::Debug
            | Command::ProcessInfo
            | Command::Refresh(_)
            | Command::StmtBulkExecute { .. }
            | Command::SetOption {
                multi_statements: true,
            }
            | Command::Unknown(_) => self.error(&errors::UNKNOWN_COM.with("Unknown command")),
        }
    }

    fn answer(
        &mut self,
        layout: Layout,
        run: impl FnOnce(&mut dyn Session, &mut Responder<'_>) -> Result<Answer, MysqlError>,
    ) -> Result<(), Ended> {
        let status = self.session.status();
        let mut responder = Responder::new(self.transport, self.capabilities, status, layout);
        let answer = run(self.session.as_mut(), &mut responder);
        Ok(responder.finish(answer, self.session.status())?)
    }

    fn execute(&mut self, statement_id: u32, parameters: &[u8]) -> Result<(), Ended> {
        match self.statements.bind(statement_id, parameters) {
            Ok(Execution { sql, values }) => {
                self.log(&sql);
                self.answer(Layout::Binary, |session, rows| {
                    session.execute(&sql, &values, rows)
                })
            }
            Err(error) => self.error(&error),
        }
    }

    fn prepare(&mut self, sql: &[u8]) -> Result<(), Ended> {
        let added = self
            .session
            .prepare(sql)
            .and_then(|shape| Ok((self.statements.add(sql, shape.parameters)?, shape)));
        let (statement_id, shape) = match added {
            Ok(added) => added,
            Err(error) => return self.error(&error),
        };
        let Ok(columns) = u16::try_from(shape.columns.len()) else {
            return self.error(&errors::UNKNOWN.with("too many columns"));
        };
        let reply = PrepareOk {
            statement_id,
            columns,
            parameters: shape.parameters,
            warnings: 0,
        };
        self.append(|out| reply.encode(out));
        let parameter =
            shardwright_wire::ColumnDefinition::new("?", shardwright_wire::ColumnType::MYSQL_TYPE_VAR_STRING);
        let parameters = vec![parameter; usize::from(shape.parameters)];
        let status = self.session.status();
        self.transport.seq = ResultSetWriter::prepared(
            &mut self.transport.outbound,
            self.transport.seq,
            self.capabilities,
            &[&parameters, &shape.columns],
            status,
        );
        Ok(())
    }

    fn field_list(&mut self, table: &[u8]) -> Result<(), Ended> {
        let columns = match text(table).and_then(|table| self.session.field_list(table)) {
            Ok(columns) => columns,
            Err(error) => return self.error(&error),
        };
        for column in columns {
            self.append(|out| {
                column.encode(out);
                // The default value, which this command has behind each definition: NULL.
                out.push(0xFB);
            });
        }
        let status = self.session.status();
        self.append(|out| EofPacket { warnings: 0, status }.encode(out));
        Ok(())
    }

    fn change_user(&mut self, body: &[u8]) -> Result<(), Ended> {
        let change = ChangeUser::decode(body, self.capabilities)
            .map_err(|_| errors::MALFORMED_PACKET.with("Malformed communication packet."))?;
        let peer = self.endpoints.peer.ip();
        let Login { user, attempt } =
            Dialogue::new(self.shared, peer, self.transport).change_user(&change, self.capabilities)?;
        if let Some(payload) = attempt.acknowledgement() {
            self.transport.queue(payload);
        }
        self.replace_session(&user, change.database)
    }

    fn replace_session(&mut self, user: &str, schema: &[u8]) -> Result<(), Ended> {
        self.statements.clear();
        self.session.close()?;
        self.session = session(self.shared, self.id, self.endpoints, self.transport, user, schema)?;
        user.clone_into(&mut self.user);
        self.ok()
    }

    fn log(&self, sql: &[u8]) {
        if let Some(on_query) = &self.shared.config.on_query {
            on_query(self.id, self.session.schema(), sql);
        }
    }

    fn ok(&mut self) -> Result<(), Ended> {
        let ok = OkPacket {
            status: self.session.status(),
            ..OkPacket::default()
        };
        let capabilities = self.capabilities;
        self.append(|out| ok.encode(out, capabilities));
        Ok(self.transport.flush()?)
    }

    fn error(&mut self, error: &MysqlError) -> Result<(), Ended> {
        self.transport.queue_error(error);
        Ok(())
    }

    fn append(&mut self, build: impl FnOnce(&mut Vec<u8>)) {
        append_packet(&mut self.transport.outbound, &mut self.transport.seq, build);
    }
}
