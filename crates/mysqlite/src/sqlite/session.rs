//! A session: a SQLite connection on which the schemas in use are attached, the current one first.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Statement};
use shardwright_wire::{ColumnDefinition, ColumnType, MysqlError, StatusFlags, errors};

use super::access::SharedAccess;
use super::catalog::{BUSY_TIMEOUT, Catalog, Schema};
use super::errors as sqlite_errors;
use super::functions::{self, Identity, SharedFacts};
use super::lexer::{self, Kind, Token};
use super::set::{Assignment, Setting, assignments};
use super::show::{self, Show};
use super::translate::{Translated, quote_name, translate, without_space};
use crate::answer::{Answer, Cell, Completion, RowSink, Table, Value};
use crate::backend::{Interrupt, Session, SessionContext, StatementShape};

/// Instructions of SQLite's machine between two looks at whether to stop.
const STOP_CHECK_INTERVAL: i32 = 10_000;

/// Schemas attached at a time; SQLite's own limit is 10.
const MAX_ATTACHED: usize = 9;

/// Columns of a result.
const MAX_COLUMNS: usize = 2_000;

/// A session on a [`super::SqliteBackend`].
pub struct SqliteSession {
    connection: Connection,
    catalog: Arc<Catalog>,
    access: SharedAccess,
    facts: SharedFacts,
    is_stopping: Arc<AtomicBool>,
    schema: Option<String>,
    /// Attached schemas, in the order in which SQLite looks for tables.
    attached: Vec<String>,
}

impl SqliteSession {
    pub(super) fn open(
        catalog: Arc<Catalog>,
        server_version: &str,
        context: &SessionContext,
    ) -> Result<Self, MysqlError> {
        let access = SharedAccess::default();
        let facts = SharedFacts::new(server_version);
        let is_stopping = Arc::new(AtomicBool::new(false));
        let identity = Identity {
            user: format!("{}@{}", context.user, context.peer.ip()),
            connection_id: context.connection_id,
            server_version,
        };
        let connection =
            connect(&access, &facts, &identity, &is_stopping).map_err(|error| sqlite_errors::open(&error))?;
        Ok(Self {
            connection,
            catalog,
            access,
            facts,
            is_stopping,
            schema: None,
            attached: Vec::new(),
        })
    }

    fn dispatch(
        &mut self,
        tokens: &[Token<'_>],
        values: &[Value],
        rows: &mut dyn RowSink,
    ) -> Result<Answer, MysqlError> {
        let words = without_space(tokens);
        let Some(first) = words.first() else {
            return Err(errors::EMPTY_QUERY.with("Query was empty"));
        };
        let keyword = if first.kind == Kind::Word {
            first.text.to_ascii_uppercase()
        } else {
            String::new()
        };
        let is_second = |word: &str| words.get(1).is_some_and(|token| token.is_word(word));
        match keyword.as_str() {
            "USE" => {
                let schema = words
                    .get(1)
                    .and_then(Token::name)
                    .ok_or_else(|| sqlite_errors::syntax("USE without a name"))?;
                self.use_schema(&schema)?;
                Ok(Answer::ok())
            }
            "SET" => self.set(&words[1..]),
            "SHOW" | "DESCRIBE" | "DESC" => self.show(&words, rows),
            "BEGIN" | "START" => self.begin(),
            "COMMIT" => self.end("COMMIT"),
            "ROLLBACK" if !words.iter().any(|token| token.is_word("TO")) => self.end("ROLLBACK"),
            "CREATE" | "DROP" if is_second("DATABASE") || is_second("SCHEMA") => {
                self.schemas(&keyword, &words[2..])
            }
            "TRUNCATE" => {
                let name = if is_second("TABLE") {
                    &words[2..]
                } else {
                    &words[1..]
                };
                self.truncate(name, rows)
            }
            "UNLOCK" => Ok(Answer::ok()),
            "DO" => {
                self.run(
                    "SELECT",
                    &with_keyword("SELECT", &words[1..]),
                    values,
                    &mut Table::default(),
                )?;
                Ok(Answer::ok())
            }
            _ => self.run(&keyword, tokens, values, rows),
        }
    }

    /// Runs a statement on SQLite.
    fn run(
        &mut self,
        keyword: &str,
        tokens: &[Token<'_>],
        values: &[Value],
        rows: &mut dyn RowSink,
    ) -> Result<Answer, MysqlError> {
        // Statements that define things end the transaction (MySQL Reference Manual 15.3.3, implicit commit).
        let defines = matches!(keyword, "CREATE" | "DROP" | "ALTER")
            && !tokens.iter().any(|token| token.is_word("TEMPORARY"));
        if defines {
            self.end("COMMIT")?;
        } else if !self.facts.lock().variables.autocommit() {
            self.begin_if_none()?;
        }
        let translated = self.translate(tokens)?;
        let mut statement = self.statement(&translated)?;
        if statement.parameter_count() != values.len() {
            return Err(sqlite_errors::syntax("a parameter without a value"));
        }
        for (at, value) in values.iter().enumerate() {
            statement
                .raw_bind_parameter(at + 1, value)
                .map_err(|error| self.failure(&error))?;
        }
        if statement.column_count() > 0 {
            let answer = send(&mut statement, &translated, rows, |error| self.failure(error));
            self.facts.lock().row_count = -1;
            return answer;
        }
        let changed = statement.raw_execute().map_err(|error| self.failure(&error))?;
        let changes_rows = matches!(keyword, "INSERT" | "REPLACE" | "UPDATE" | "DELETE" | "WITH");
        let affected_rows = if changes_rows { changed as u64 } else { 0 };
        let last_insert_id = if matches!(keyword, "INSERT" | "REPLACE") && affected_rows > 0 {
            // MySQL tells the first key of several.
            self.connection
                .last_insert_rowid()
                .saturating_sub(changed as i64 - 1)
        } else {
            0
        };
        let mut facts = self.facts.lock();
        facts.row_count = affected_rows as i64;
        if last_insert_id != 0 {
            facts.last_insert_id = last_insert_id;
        }
        let last_insert_id = u64::try_from(last_insert_id).unwrap_or(0);
        Ok(Answer::Ok(Completion {
            affected_rows,
            last_insert_id,
            ..Completion::default()
        }))
    }

    /// Translates a statement, attaches the schemas that it names and holds it to them.
    fn translate(&mut self, tokens: &[Token<'_>]) -> Result<Translated, MysqlError> {
        let translated = translate(tokens, self.schema.as_deref())?;
        let mut databases: Vec<String> = self.schema.clone().into_iter().collect();
        for qualifier in &translated.qualifiers {
            if let Some(schema) = self.catalog.get(qualifier)
                && !databases.contains(&schema.name)
            {
                databases.push(schema.name);
            }
        }
        for name in &databases {
            self.attach(name, &databases)?;
        }
        let mut access = self.access.lock();
        access.databases = databases;
        access.refused = None;
        Ok(translated)
    }

    fn statement(&self, translated: &Translated) -> Result<Statement<'_>, MysqlError> {
        let statement = self
            .connection
            .prepare(&translated.sql)
            .map_err(|error| self.failure(&error))?;
        if statement.column_count() > MAX_COLUMNS {
            return Err(MysqlError {
                code: 1117,
                sqlstate: *b"HY000",
                message: "Too many columns".to_owned(),
            });
        }
        Ok(statement)
    }

    fn failure(&self, error: &rusqlite::Error) -> MysqlError {
        let refused = self.access.lock().refused.take();
        sqlite_errors::statement(error, refused.as_ref(), self.schema.as_deref())
    }

    /// Attaches a schema unless it is; `needed` are not detached to make room.
    fn attach(&mut self, name: &str, needed: &[String]) -> Result<(), MysqlError> {
        if self.attached.iter().any(|attached| attached == name) {
            return Ok(());
        }
        let schema = self.catalog.get(name).ok_or_else(|| unknown_schema(name))?;
        if self.attached.len() >= MAX_ATTACHED
            && let Some(other) = self
                .attached
                .iter()
                .find(|other| !needed.contains(other))
                .cloned()
        {
            self.detach(&other)?;
        }
        let sql = format!("ATTACH ? AS {}", quote_name(name));
        let attached = self.access.internally(|| {
            self.connection.execute(&sql, [schema.uri])?;
            if schema.is_temporary {
                self.connection.pragma_update(Some(name), "synchronous", "off")?;
            }
            Ok(())
        });
        attached.map_err(|error: rusqlite::Error| sqlite_errors::statement(&error, None, None))?;
        self.attached.push(name.to_owned());
        Ok(())
    }

    fn detach(&mut self, name: &str) -> Result<(), MysqlError> {
        let sql = format!("DETACH {}", quote_name(name));
        self.access
            .internally(|| self.connection.execute(&sql, []))
            .map_err(|_| {
                errors::UNKNOWN
                    .with("the current schema cannot change inside a transaction that has used another one")
            })?;
        self.attached.retain(|attached| attached != name);
        Ok(())
    }

    fn begin(&mut self) -> Result<Answer, MysqlError> {
        self.end("COMMIT")?;
        self.begin_if_none()?;
        Ok(Answer::ok())
    }

    fn begin_if_none(&self) -> Result<(), MysqlError> {
        if self.connection.is_autocommit() {
            self.control("BEGIN")
        } else {
            Ok(())
        }
    }

    /// COMMIT or ROLLBACK; without a transaction nothing happens.
    fn end(&mut self, statement: &str) -> Result<Answer, MysqlError> {
        if !self.connection.is_autocommit() {
            self.control(statement)?;
        }
        Ok(Answer::ok())
    }

    fn control(&self, statement: &str) -> Result<(), MysqlError> {
        self.access
            .internally(|| self.connection.execute_batch(statement))
            .map_err(|error| self.failure(&error))
    }

    fn schemas(&mut self, keyword: &str, rest: &[Token<'_>]) -> Result<Answer, MysqlError> {
        self.end("COMMIT")?;
        let is_conditional = rest.first().is_some_and(|token| token.is_word("IF"));
        let name = match (keyword, is_conditional) {
            (_, false) => rest.first(),
            ("CREATE", true) => rest.get(3),
            (_, true) => rest.get(2),
        };
        let name = name
            .and_then(Token::name)
            .ok_or_else(|| sqlite_errors::syntax("a schema without a name"))?;
        let exists = self.catalog.get(&name).is_some();
        let done = || {
            Ok(Answer::Ok(Completion {
                affected_rows: 1,
                ..Completion::default()
            }))
        };
        match (keyword, exists) {
            ("CREATE", true) if !is_conditional => Err(MysqlError::general(
                1007,
                format!("Can't create database '{name}'; database exists"),
            )),
            ("CREATE", _) => {
                self.catalog.add_temporary(&name)?;
                done()
            }
            (_, false) if is_conditional => Ok(Answer::ok()),
            (_, false) => Err(MysqlError::general(
                1008,
                format!("Can't drop database '{name}'; database doesn't exist"),
            )),
            (_, true) => {
                if self
                    .schema
                    .as_ref()
                    .is_some_and(|schema| schema.eq_ignore_ascii_case(&name))
                {
                    self.set_schema(None);
                }
                if let Some(attached) = self
                    .attached
                    .iter()
                    .find(|known| known.eq_ignore_ascii_case(&name))
                    .cloned()
                {
                    self.detach(&attached)?;
                }
                self.catalog.remove(&name);
                done()
            }
        }
    }

    fn truncate(&mut self, name: &[Token<'_>], rows: &mut dyn RowSink) -> Result<Answer, MysqlError> {
        self.end("COMMIT")?;
        let delete = [
            Token {
                kind: Kind::Word,
                text: "DELETE",
            },
            Token {
                kind: Kind::Word,
                text: "FROM",
            },
        ];
        self.run("TRUNCATE", &[&delete, name].concat(), &[], rows)
    }

    fn set(&mut self, tokens: &[Token<'_>]) -> Result<Answer, MysqlError> {
        for assignment in assignments(tokens)? {
            match assignment {
                Assignment::Ignored => {}
                Assignment::CharacterSet(name) => {
                    let mut facts = self.facts.lock();
                    for variable in ["client", "connection", "results"] {
                        let value = Value::Text(name.to_ascii_lowercase());
                        facts
                            .variables
                            .set_system(&format!("character_set_{variable}"), Some(value))?;
                    }
                }
                Assignment::User { name, expression } => {
                    let value = self.evaluate(expression)?;
                    self.facts.lock().variables.set_user(&name, value)?;
                }
                Assignment::System { name, value } => {
                    let value = match value {
                        Setting::Default => None,
                        Setting::Value(value) => Some(value),
                        Setting::Expression(expression) => Some(self.evaluate(expression)?),
                    };
                    self.facts.lock().variables.set_system(&name, value)?;
                    // Switching autocommit on commits (MySQL Reference Manual 15.3.1).
                    if name.to_ascii_lowercase().ends_with("autocommit")
                        && self.facts.lock().variables.autocommit()
                    {
                        self.end("COMMIT")?;
                    }
                }
            }
        }
        Ok(Answer::ok())
    }

    fn evaluate(&mut self, expression: &[Token<'_>]) -> Result<Value, MysqlError> {
        let mut table = Table::default();
        self.run("SELECT", &with_keyword("SELECT", expression), &[], &mut table)?;
        Ok(table
            .rows
            .into_iter()
            .next()
            .and_then(|row| row.into_iter().next())
            .unwrap_or(Value::Null))
    }

    fn show(&mut self, words: &[Token<'_>], rows: &mut dyn RowSink) -> Result<Answer, MysqlError> {
        let show = show::parse(words).ok_or_else(|| sqlite_errors::syntax("this SHOW is not supported"))?;
        match show {
            Show::Databases { like } => {
                let mut table = Table::of_text(&["Database"]);
                for name in self
                    .catalog
                    .names()
                    .into_iter()
                    .filter(|name| show::is_like(name, like.as_deref()))
                {
                    table = table.with_row([name.into()]);
                }
                table.send(rows)
            }
            Show::Tables {
                schema,
                like,
                is_full,
            } => {
                let schema = self.known_schema(schema)?;
                self.internal(&show::tables(&schema, like.as_deref(), is_full), rows)
            }
            Show::Columns { schema, table } => {
                let schema = self.known_schema(schema)?;
                let found = self.internal_table(&show::columns(&schema, &table))?;
                if found.rows.is_empty() {
                    Err(no_such_table(&schema, &table))
                } else {
                    found.send(rows)
                }
            }
            Show::CreateTable { schema, table } => {
                let schema = self.known_schema(schema)?;
                let found = self.internal_table(&show::create_table(&schema, &table))?;
                if found.rows.is_empty() {
                    Err(no_such_table(&schema, &table))
                } else {
                    found.send(rows)
                }
            }
            Show::Variables { like } => {
                let mut table = Table::of_text(&["Variable_name", "Value"]);
                let facts = self.facts.lock();
                let shown = facts
                    .variables
                    .all()
                    .filter(|(name, _)| show::is_like(name, like.as_deref()));
                for (name, value) in shown {
                    table = table.with_row([name.into(), value.clone()]);
                }
                drop(facts);
                table.send(rows)
            }
            Show::Empty(columns) => Table::of_text(columns).send(rows),
        }
    }

    /// The schema that is meant, attached.
    fn known_schema(&mut self, schema: Option<String>) -> Result<String, MysqlError> {
        let name = schema
            .or_else(|| self.schema.clone())
            .ok_or_else(|| errors::NO_DB.with("No database selected"))?;
        let Schema { name, .. } = self.catalog.get(&name).ok_or_else(|| unknown_schema(&name))?;
        let needed: Vec<String> = self.schema.iter().chain([&name]).cloned().collect();
        self.attach(&name, &needed)?;
        Ok(name)
    }

    fn internal(&self, sql: &str, rows: &mut dyn RowSink) -> Result<Answer, MysqlError> {
        // Table-valued pragmas run statements of their own while they are stepped through.
        self.access.internally(|| {
            let mut statement = self
                .connection
                .prepare(sql)
                .map_err(|error| self.failure(&error))?;
            send(&mut statement, &Translated::default(), rows, |error| {
                self.failure(error)
            })
        })
    }

    fn internal_table(&self, sql: &str) -> Result<Table, MysqlError> {
        let mut table = Table::default();
        self.internal(sql, &mut table)?;
        Ok(table)
    }

    fn set_schema(&mut self, schema: Option<String>) {
        self.facts.lock().schema.clone_from(&schema);
        self.schema = schema;
    }
}

impl Session for SqliteSession {
    fn use_schema(&mut self, schema: &str) -> Result<(), MysqlError> {
        let Schema { name, .. } = self.catalog.get(schema).ok_or_else(|| unknown_schema(schema))?;
        if self.attached.first() != Some(&name) {
            // SQLite looks in the order of attachment: the current schema must come first.
            for attached in self.attached.clone() {
                self.detach(&attached)?;
            }
            self.attach(&name, &[])?;
        }
        self.set_schema(Some(name));
        Ok(())
    }

    fn schema(&self) -> Option<&str> {
        self.schema.as_deref()
    }

    fn status(&self) -> StatusFlags {
        let mut status = StatusFlags::empty();
        status.set(
            StatusFlags::SERVER_STATUS_AUTOCOMMIT,
            self.facts.lock().variables.autocommit(),
        );
        status.set(
            StatusFlags::SERVER_STATUS_IN_TRANS,
            !self.connection.is_autocommit(),
        );
        status
    }

    fn query(&mut self, sql: &[u8], rows: &mut dyn RowSink) -> Result<Answer, MysqlError> {
        self.execute(sql, &[], rows)
    }

    fn prepare(&mut self, sql: &[u8]) -> Result<StatementShape, MysqlError> {
        let tokens = lexer::tokens(utf8(sql)?)?;
        let words = without_space(&tokens);
        let parameters = words.iter().filter(|token| token.is_symbol("?")).count();
        let parameters = u16::try_from(parameters).map_err(|_| MysqlError {
            code: 1390,
            sqlstate: *b"HY000",
            message: "Prepared statement contains too many placeholders".to_owned(),
        })?;
        let is_query = words.first().is_some_and(|word| {
            [
                "SELECT", "INSERT", "REPLACE", "UPDATE", "DELETE", "WITH", "VALUES",
            ]
            .iter()
            .any(|known| word.is_word(known))
        });
        if !is_query {
            return Ok(StatementShape {
                parameters,
                columns: Vec::new(),
            });
        }
        let translated = self.translate(&tokens)?;
        let statement = self.statement(&translated)?;
        Ok(StatementShape {
            parameters,
            columns: definitions(&statement, &translated, None),
        })
    }

    fn execute(
        &mut self,
        sql: &[u8],
        values: &[Value],
        rows: &mut dyn RowSink,
    ) -> Result<Answer, MysqlError> {
        let tokens = lexer::tokens(utf8(sql)?)?;
        let answer = self.dispatch(&tokens, values, rows);
        if answer
            .as_ref()
            .is_err_and(|error| error.code == errors::LOCK_DEADLOCK.code)
        {
            // The victim of a deadlock has lost its transaction.
            self.end("ROLLBACK")?;
        }
        answer
    }

    fn field_list(&mut self, table: &str) -> Result<Vec<ColumnDefinition>, MysqlError> {
        let schema = self.known_schema(None)?;
        let found = self.internal_table(&show::columns(&schema, table))?;
        if found.rows.is_empty() {
            return Err(no_such_table(&schema, table));
        }
        let column = |row: &Vec<Value>| match (row.first(), row.get(1)) {
            (Some(Value::Text(name)), Some(Value::Text(kind))) => {
                let mut column = ColumnDefinition::new(name.as_str(), declared(kind));
                column.table = table.as_bytes().to_vec();
                column.schema = schema.clone().into_bytes();
                Some(column)
            }
            _ => None,
        };
        Ok(found.rows.iter().filter_map(column).collect())
    }

    fn close(&mut self) -> Result<(), MysqlError> {
        self.end("ROLLBACK")?;
        Ok(())
    }

    fn interrupt(&self) -> Option<Interrupt> {
        let is_stopping = Arc::clone(&self.is_stopping);
        Some(Box::new(move || is_stopping.store(true, Ordering::Relaxed)))
    }
}

fn connect(
    access: &SharedAccess,
    facts: &SharedFacts,
    identity: &Identity<'_>,
    is_stopping: &Arc<AtomicBool>,
) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::default() | OpenFlags::SQLITE_OPEN_URI;
    let mut connection = Connection::open_in_memory_with_flags(flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "foreign_keys", "on")?;
    functions::register(&connection, facts, identity, is_stopping)?;
    let authorizer = access.clone();
    connection.authorizer(Some(move |context: rusqlite::hooks::AuthContext<'_>| {
        authorizer.authorize(&context)
    }))?;
    let is_stopping = Arc::clone(is_stopping);
    connection.progress_handler(
        STOP_CHECK_INTERVAL,
        Some(move || is_stopping.load(Ordering::Relaxed)),
    )?;
    Ok(connection)
}

/// Steps through a statement and puts its rows into the sink.
fn send(
    statement: &mut Statement<'_>,
    translated: &Translated,
    sink: &mut dyn RowSink,
    failure: impl Fn(&rusqlite::Error) -> MysqlError,
) -> Result<Answer, MysqlError> {
    let without_rows = definitions(statement, translated, None);
    let width = without_rows.len();
    let mut rows = statement.raw_query();
    let mut has_begun = false;
    while let Some(row) = rows.next().map_err(|error| failure(&error))? {
        let cells: Vec<Cell<'_>> = (0..width)
            .map(|at| row.get_ref(at).map(cell))
            .collect::<rusqlite::Result<_>>()
            .map_err(|error| failure(&error))?;
        if !has_begun {
            sink.columns(&definitions(row.as_ref(), translated, Some(&cells)))?;
            has_begun = true;
        }
        sink.row(&cells)?;
    }
    if !has_begun {
        sink.columns(&without_rows)?;
    }
    Ok(Answer::Rows { warnings: 0 })
}

/// Columns by what they are declared as, or else by the values of the first row.
fn definitions(
    statement: &Statement<'_>,
    translated: &Translated,
    first: Option<&[Cell<'_>]>,
) -> Vec<ColumnDefinition> {
    let columns = statement.columns();
    columns
        .enumerate()
        .map(|(at, column)| {
            let kind = match (column.decl_type(), first.and_then(|cells| cells.get(at))) {
                (Some(kind), _) => declared(kind),
                (None, Some(Cell::Int(_))) => ColumnType::MYSQL_TYPE_LONGLONG,
                (None, Some(Cell::Real(_))) => ColumnType::MYSQL_TYPE_DOUBLE,
                (None, Some(Cell::Bytes(_))) => ColumnType::MYSQL_TYPE_BLOB,
                (None, _) => ColumnType::MYSQL_TYPE_VAR_STRING,
            };
            ColumnDefinition::new(translated.column_name(column.name()), kind)
        })
        .collect()
}

/// MySQL's type for a declared one, by SQLite's rules of affinity (sqlite.org/datatype3.html §3.1).
fn declared(kind: &str) -> ColumnType {
    let kind = kind.to_ascii_uppercase();
    let has = |part: &str| kind.contains(part);
    if has("INT") && !has("POINT") {
        ColumnType::MYSQL_TYPE_LONGLONG
    } else if has("BLOB") || has("BINARY") {
        ColumnType::MYSQL_TYPE_BLOB
    } else if has("REAL") || has("FLOA") || has("DOUB") {
        ColumnType::MYSQL_TYPE_DOUBLE
    } else {
        ColumnType::MYSQL_TYPE_VAR_STRING
    }
}

fn cell(value: ValueRef<'_>) -> Cell<'_> {
    match value {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(value) => Cell::Int(value),
        ValueRef::Real(value) => Cell::Real(value),
        ValueRef::Text(bytes) => Cell::Text(bytes),
        ValueRef::Blob(bytes) => Cell::Bytes(bytes),
    }
}

fn with_keyword<'a>(keyword: &'static str, rest: &[Token<'a>]) -> Vec<Token<'a>> {
    let mut tokens = vec![Token {
        kind: Kind::Word,
        text: keyword,
    }];
    tokens.extend_from_slice(rest);
    tokens
}

fn utf8(sql: &[u8]) -> Result<&str, MysqlError> {
    std::str::from_utf8(sql).map_err(|_| MysqlError::general(1300, "Invalid utf8mb4 character string"))
}

fn unknown_schema(name: &str) -> MysqlError {
    errors::BAD_DB.with(format_args!("Unknown database '{name}'"))
}

fn no_such_table(schema: &str, table: &str) -> MysqlError {
    errors::NO_SUCH_TABLE.with(format_args!("Table '{schema}.{table}' doesn't exist"))
}
