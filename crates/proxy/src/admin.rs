//! The admin port: applying and observing, and SQL over tables named like ProxySQL's.

mod grammar;
mod operations;
mod pausing;
mod permissions;
mod problems;
mod refusing;
mod rows;
mod servers;
mod sessions;
mod tables;
mod throttles;
mod withheld;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use shardwright_mysqlite::sqlite::{SqliteBackend, SqliteSession, StatementLimits};
use shardwright_mysqlite::{
    Answer, Backend, Config, Interrupt, IsGone, Limits, RowSink, Session, SessionContext, StatusFlags, Table,
    Value,
};
use shardwright_rules::{SessionView, Statement};
use shardwright_sql::{LexMode, StatementClass, classify};
use shardwright_wire::auth::Verifier;
use shardwright_wire::{MysqlError, errors};

use self::grammar::{AdminStatement, Explain};
use self::servers::server_limits;
use crate::admin_accounts::Role;
use crate::control::{ApplyError, ApplyRequest, listed};
use crate::failpoint::{FailPoint, FailPoints};
use crate::shared::Shared;

/// Whether a text is one of the admin port's own statements.
///
/// # Errors
/// It begins like one and is none.
#[cfg(feature = "in-process")]
pub fn is_admin_statement(text: &str) -> Result<bool, MysqlError> {
    Ok(grammar::parse(text)?.is_some())
}

const VERSION: &str = concat!("8.0.30-shardwright-admin-", env!("CARGO_PKG_VERSION"));
/// Largest statement: a whole configuration.
const MAX_PACKET: usize = 320 << 20;
/// Wrong passwords from an address before logins from there wait.
const FREE_FAILURES: u32 = 3;

/// What a SELECT on the admin tables may take.
const STATEMENT_LIMITS: StatementLimits = StatementLimits {
    time: Duration::from_secs(30),
    value_bytes: 64 << 20,
    heap_bytes: 512 << 20,
};

/// How the admin port presents itself.
pub(crate) fn config(connections: usize, shared: Arc<Shared>) -> Config {
    let denied = shared.denied_admins.clone();
    Config {
        server_version: VERSION.to_owned(),
        limits: Limits {
            connections,
            max_packet: MAX_PACKET,
            free_failures: Some(FREE_FAILURES),
            ..Limits::default()
        },
        tls: Some(Arc::new(move || shared.tls.loaded().clients.clone())),
        on_denied: Some(Arc::new(move |login| denied.count(login))),
        ..Config::default()
    }
}

/// Answers administrators.
pub(crate) struct AdminBackend {
    shared: Arc<Shared>,
}

impl AdminBackend {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }
}

impl Backend for AdminBackend {
    fn verifier(&self, user: &str) -> Option<Verifier> {
        self.shared.admin_accounts.verifier(user)
    }

    fn open_session(&self, context: &SessionContext) -> Result<Box<dyn Session>, MysqlError> {
        let unavailable =
            |error: std::io::Error| errors::UNKNOWN.with(format_args!("no admin tables: {error}"));
        let tables = SqliteBackend::new(VERSION).map_err(unavailable)?;
        for schema in tables::SCHEMAS {
            tables.add_schema(schema)?;
        }
        tables::create(&tables)?;
        let mut sqlite = tables.session(context)?;
        sqlite.use_schema(tables::SCHEMAS[0])?;
        sqlite.limit(STATEMENT_LIMITS)?;
        Ok(Box::new(AdminSession {
            shared: self.shared.clone(),
            account: context.user.clone(),
            address: context.peer,
            left_undone: None,
            sqlite,
            answered: Answered(None),
            _tables: tables,
        }))
    }
}

struct AdminSession {
    shared: Arc<Shared>,
    account: String,
    address: SocketAddr,
    /// The parts of the operation under way that failed, though it was answered.
    left_undone: Option<String>,
    sqlite: SqliteSession,
    answered: Answered,
    _tables: SqliteBackend,
}

/// Reaches the last fail point once an acknowledgement has been handed over: with the next statement, or when the
/// session ends.
struct Answered(Option<FailPoints>);

impl Answered {
    fn reach(&mut self) {
        if let Some(fail_points) = self.0.take() {
            fail_points.reach(FailPoint::Answered);
        }
    }
}

impl Drop for Answered {
    fn drop(&mut self) {
        self.reach();
    }
}

impl Session for AdminSession {
    fn use_schema(&mut self, schema: &str) -> Result<(), MysqlError> {
        self.sqlite.use_schema(tables::inner_schema(schema))
    }

    fn schema(&self) -> Option<&str> {
        self.sqlite.schema()
    }

    fn status(&self) -> StatusFlags {
        self.sqlite.status()
    }

    fn query(&mut self, sql: &[u8], rows: &mut dyn RowSink) -> Result<Answer, MysqlError> {
        self.answered.reach();
        let text = std::str::from_utf8(sql).map_err(|_| errors::PARSE.with("the statement is not UTF-8"))?;
        let Some(statement) = grammar::parse(text)? else {
            return self.sql(text, rows);
        };
        self.permit(statement.needs())?;
        match statement.operation() {
            Some(operation) => self.operate(&operation, |session| session.answer(statement, rows)),
            None => self.answer(statement, rows),
        }
    }

    fn kill(&mut self, connection_id: u32) -> Result<(), MysqlError> {
        self.permit(Role::Operator)?;
        let operation = format!("KILL {connection_id}");
        self.operate(&operation, |_| {
            tracing::info!(connection_id, "an admin connection is to end");
            Ok(Answer::ok())
        })?;
        Ok(())
    }

    fn watch(&mut self, is_gone: IsGone) {
        self.sqlite.watch(is_gone);
    }

    fn interrupt(&self) -> Option<Interrupt> {
        self.sqlite.interrupt()
    }
}

impl AdminSession {
    fn answer(&mut self, statement: AdminStatement, rows: &mut dyn RowSink) -> Result<Answer, MysqlError> {
        match statement {
            AdminStatement::Observe => self.observe(rows),
            AdminStatement::Apply(request) => self.apply(&request, rows),
            AdminStatement::Check(request) => self.check(&request, rows),
            AdminStatement::Explain(explain) => self.explain(&explain, rows),
            AdminStatement::Reload => self.reload(rows),
            AdminStatement::Pause { cluster, time } => self.pause(&cluster, time, rows),
            AdminStatement::Resume(cluster) => self.resume(&cluster, rows),
            AdminStatement::Prefer(server) => self.prefer(&server, rows),
            AdminStatement::RefuseApp { app, time } => self.refuse_app(&app, time, rows),
            AdminStatement::AllowApp(app) => self.allow_app(&app, rows),
            AdminStatement::AllowDigest(digest) => self.allow_digest(&digest, rows),
            AdminStatement::Kill { scope, id } => self.kill_session(scope, id, rows),
        }
    }

    fn observe(&self, rows: &mut dyn RowSink) -> Result<Answer, MysqlError> {
        let snapshot = self.shared.control.snapshot().load_full();
        one_row(
            &[
                "generation",
                "fingerprint",
                "configuration",
                "project",
                "server_limits",
            ],
            vec![
                Value::Int(snapshot.generation),
                snapshot.fingerprint.clone().into(),
                snapshot.json.clone().into(),
                snapshot.project.clone().map_or(Value::Null, Value::from),
                server_limits(&snapshot).into(),
            ],
        )
        .send(rows)
    }

    /// Statements that wait were routed by what is served now.
    fn refuse_while_moving(&self) -> Result<(), MysqlError> {
        match self.shared.pauses.all().first() {
            Some((cluster, _)) => Err(refusal(&ApplyError::Moving(cluster.clone()))),
            None => Ok(()),
        }
    }

    fn check(&self, request: &ApplyRequest, rows: &mut dyn RowSink) -> Result<Answer, MysqlError> {
        self.refuse_while_moving()?;
        let checked = self.shared.control.check(request);
        checked.map_err(|error| refusal(&error))?;
        let serves = self.shared.control.snapshot().load().generation;
        one_row(&["generation"], vec![Value::Int(serves)]).send(rows)
    }

    fn apply(&mut self, request: &ApplyRequest, rows: &mut dyn RowSink) -> Result<Answer, MysqlError> {
        self.refuse_while_moving()?;
        let applied = self
            .shared
            .control
            .apply(request)
            .map_err(|error| refusal(&error))?;
        self.shared.wake_all();
        tracing::info!(
            generation = applied.generation,
            fingerprint = applied.fingerprint,
            project = request.project,
            "applied"
        );
        self.answered = Answered(Some(self.shared.control.fail_points));
        one_row(
            &["generation", "fingerprint"],
            vec![Value::Int(applied.generation), applied.fingerprint.into()],
        )
        .send(rows)
    }

    fn reload(&mut self, rows: &mut dyn RowSink) -> Result<Answer, MysqlError> {
        let mut table = Table::of_text(&["address", "problem"]);
        let problems = self.shared.reload();
        self.left_undone = (!problems.is_empty()).then(|| listed(&problems));
        tracing::info!(
            problems = problems.len(),
            "certificates, secrets and accounts were read again"
        );
        for problem in problems {
            tracing::warn!(address = problem.address, reason = problem.reason, "not reloaded");
            table = table.with_row(vec![problem.address.into(), problem.reason.into()]);
        }
        table.send(rows)
    }

    fn explain(&self, explain: &Explain, rows: &mut dyn RowSink) -> Result<Answer, MysqlError> {
        let snapshot = self.shared.control.snapshot().load_full();
        let user = match &explain.user {
            Some(user) => user.clone(),
            None => snapshot
                .configuration
                .users
                .first()
                .map(|user| user.name.clone())
                .unwrap_or_default(),
        };
        let configured = snapshot.configuration.user(&user);
        if configured.is_none() {
            return Err(errors::UNKNOWN.with(format_args!("there is no user {user:?}")));
        }
        let default_schema = configured.and_then(|user| user.default_schema.as_deref());
        let listener = self.shared.control.listeners.first();
        let view = SessionView {
            user: &user,
            schema: explain.schema.as_deref().or(default_schema),
            listener: listener
                .as_ref()
                .map(|listener| (listener.host.as_str(), listener.port)),
            ..SessionView::default()
        };
        let statement = Statement::new(explain.sql.as_bytes(), LexMode::default());
        let decision = snapshot.router.explain(&view, &statement);
        rows::decision(&decision).send(rows)
    }

    fn sql(&mut self, text: &str, rows: &mut dyn RowSink) -> Result<Answer, MysqlError> {
        self.permit(tables::needs(text))?;
        let class = classify(text.as_bytes(), LexMode::default());
        if !matches!(
            class,
            StatementClass::Select
                | StatementClass::Show
                | StatementClass::Explain
                | StatementClass::Set
                | StatementClass::Use
                | StatementClass::Begin
                | StatementClass::Commit
                | StatementClass::Rollback
                | StatementClass::Empty
        ) {
            return Err(errors::OPTION_PREVENTS_STATEMENT
                .with("the admin tables are read only: change the topology and run `shardwright apply`"));
        }
        tables::fill(&self.shared, &mut self.sqlite, text)?;
        self.sqlite
            .query(tables::with_inner_schema(text).as_bytes(), rows)
    }
}

fn refusal(error: &ApplyError) -> MysqlError {
    errors::UNKNOWN.with(error)
}

fn one_row(columns: &[&str], row: Vec<Value>) -> Table {
    Table::of_text(columns).with_row(row)
}
