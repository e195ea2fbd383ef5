//! One statement: understood, decided, sent, forwarded, and what it leaves behind.

use std::sync::Arc;
use std::time::{Duration, Instant};

use shardwright_rules::{Decision, Effects, HostgroupId, Outcome as Decided, Rejection, Route, Statement};
use shardwright_sql::lex::identifier;
use shardwright_sql::{LexMode, Lexer, SessionEffects, Shape, StatementClass};
use shardwright_wire::{Command, MysqlError, ResponseShape, StatusFlags, errors};

use super::forward::{Broken, Traffic, Transmission, forward};
use super::holds::{After, Ending, Holds, SetLeft, after};
use super::login::schema_name;
use super::place::{Target, Trouble, lost, note_autocommit};
use super::set::SetPlan;
use super::{End, Flow, Held, MAX_PENDING, Previous, Session};
use crate::backend::is_unreadable;
use crate::channel::Frame;
use crate::stats::{Sample, bump};

/// Words of questions about earlier statements. `CONNECTION_ID()` is none: it has an answer on any connection.
const QUESTIONS: [&[u8]; 6] = [
    b"LAST_INSERT_ID",
    b"FOUND_ROWS",
    b"ROW_COUNT",
    b"IDENTITY",
    b"WARNING_COUNT",
    b"ERROR_COUNT",
];

/// A statement on its way to a server.
pub(super) struct Run<'a> {
    pub(super) statement: &'a Statement<'a>,
    pub(super) target: Target,
    pub(super) effects: Effects,
    pub(super) set: Option<SetPlan>,
    pub(super) ending: Ending,
}

impl Session {
    /// COM_QUERY.
    pub(super) async fn query(&mut self, text: &[u8], frame: &Frame) -> Flow {
        let seq = frame.next_seq();
        let statement = Statement::new(text, LexMode::default());
        let shape = *statement.shape();
        if let Some(error) = unroutable(&shape) {
            return self.refuse(seq, &error).await;
        }
        let set = match self.plan_set(&statement) {
            Ok(set) => set,
            Err(error) => return self.refuse(seq, &error).await,
        };
        let decision = self.decide(&statement);
        match decision.outcome {
            Decided::Route(route) => self.routed(&statement, route, set, frame).await,
            Decided::Reject(rejection) => match self.place_of_question(&statement, &rejection) {
                Some(route) => self.routed(&statement, route, set, frame).await,
                None => self.refuse(seq, &rejected(&rejection)).await,
            },
            Decided::Answer { message } => {
                if let Err(error) = self.note_pending(&statement) {
                    return self.refuse(seq, &error).await;
                }
                self.send_ok(seq, message.as_bytes()).await
            }
            Decided::DeferBegin => {
                self.pending = vec![text.to_vec()];
                self.send_ok(seq, b"").await
            }
        }
    }

    /// Asks the router, and counts its answer.
    pub(super) fn decide(&mut self, statement: &Statement<'_>) -> Decision {
        let decision = self.snapshot.router.decide(&self.view(), statement);
        self.worker.counters.hits(&self.snapshot, &decision.hits);
        decision
    }

    fn plan_set(&self, statement: &Statement<'_>) -> Result<Option<SetPlan>, MysqlError> {
        if statement.shape().class != StatementClass::Set {
            return Ok(None);
        }
        let mut plan = SetPlan::of(statement.text(), statement.mode())?;
        if plan.names.is_some() && plan.left == SetLeft::Nothing && self.history.touches_charset() {
            // It takes back what an earlier SET did to a part of the character set; the order counts.
            plan.left = SetLeft::Replayable;
        }
        let limit = self.worker.shared.limits.max_set_history;
        if plan.left == SetLeft::Replayable && !self.history.has_room(&plan.variables, limit) {
            return Err(errors::UNKNOWN.with(format_args!(
                "the session has set more than {limit} different groups of variables; they could not be repeated on \
                 further connections"
            )));
        }
        Ok(Some(plan))
    }

    /// Transaction control that was answered while no server knows of the transaction.
    fn note_pending(&mut self, statement: &Statement<'_>) -> Result<(), MysqlError> {
        if self.pending.is_empty() || !statement.follows_transaction() {
            return Ok(());
        }
        let has =
            |word: &str| words(statement.text()).any(|found| found.eq_ignore_ascii_case(word.as_bytes()));
        match statement.shape().class {
            StatementClass::Commit | StatementClass::Rollback if !has("TO") => {
                if !has("CHAIN") || has("NO") {
                    self.pending.clear();
                } else {
                    self.pending.truncate(1);
                }
                Ok(())
            }
            StatementClass::Xa => {
                Err(errors::UNKNOWN.with("XA cannot follow a BEGIN whose transaction is not open yet"))
            }
            _ if self.pending.len() >= MAX_PENDING => Err(errors::UNKNOWN.with(format_args!(
                "more than {MAX_PENDING} savepoints before the first statement with a key"
            ))),
            _ => {
                self.pending.push(statement.text().to_vec());
                Ok(())
            }
        }
    }

    /// A question about an earlier statement goes where that ran, even where a key is missing.
    fn place_of_question(&self, statement: &Statement<'_>, rejection: &Rejection) -> Option<Route> {
        let is_missing_key = rejection.message.starts_with("SW351");
        let previous = self.previous.filter(|_| is_missing_key && asks(statement))?;
        Some(Route {
            hostgroup: previous.hostgroup,
            cluster: None,
            role: None,
            shard: None,
            rewritten: None,
            backend_schema: None,
            effects: Effects::default(),
        })
    }

    async fn routed(
        &mut self,
        statement: &Statement<'_>,
        route: Route,
        set: Option<SetPlan>,
        frame: &Frame,
    ) -> Flow {
        let seq = frame.next_seq();
        if statement.shape().class == StatementClass::Use {
            return self.use_schema(statement.text(), seq).await;
        }
        let is_open = self.transaction().is_some();
        if let Some(plan) = set
            .as_ref()
            .filter(|plan| plan.is_kept_here() && !(is_open && plan.next_transaction))
        {
            return self.keep_set(plan, statement.text(), seq).await;
        }
        let run = self.run_of(statement, &route, set);
        let own_frame;
        let frame = match &route.rewritten {
            Some(rewritten) => {
                own_frame = query_frame(rewritten);
                &own_frame
            }
            None => frame,
        };
        if frame.next_seq() != seq {
            return self.refuse(seq, &other_packets()).await;
        }
        self.pause(&run.effects).await;
        let mut held = match self.obtain(&run.target).await {
            Ok(held) => held,
            Err(trouble) => return self.trouble(trouble, seq).await,
        };
        let transmission = Transmission {
            bytes: frame.raw(),
            shape: ResponseShape::TextResults,
            next_seq: frame.next_seq(),
            statement_id: None,
        };
        let started = Instant::now();
        match forward(&mut self.client, &mut held.backend, &transmission).await {
            Ok(traffic) => {
                self.conclude(held, &run, frame.raw().len(), traffic, started)
                    .await
            }
            Err(broken) => self.broken(broken, &held, seq).await,
        }
    }

    /// What is needed to run a statement that was routed.
    pub(super) fn run_of<'a>(
        &self,
        statement: &'a Statement<'a>,
        route: &Route,
        set: Option<SetPlan>,
    ) -> Run<'a> {
        let shape = statement.shape();
        let asks = asks(statement);
        let own_schema = self
            .schema
            .as_ref()
            .filter(|schema| !self.snapshot.is_logical_schema(schema))
            .cloned();
        let schema = route.backend_schema.as_deref().map(Arc::from).or(own_schema);
        let is_work = route.shard.is_some() || !statement.is_session_setup();
        let mut hostgroup = route.hostgroup;
        if asks && route.shard.is_none() && statement.is_session_setup() {
            hostgroup = self.home_of_question(shape).unwrap_or(hostgroup);
        }
        Run {
            target: Target {
                hostgroup,
                any_schema: schema.is_none() && self.schema.is_some(),
                schema,
                user_variables: shape.effects.intersects(SessionEffects::USER_VARIABLE),
                asks,
                // What a driver asks on the way does not open the transaction; a statement does, placed or not.
                opens: !self.pending.is_empty() && is_work,
                begins: is_work,
            },
            effects: route.effects.clone(),
            ending: ending(statement, asks),
            statement,
            set,
        }
    }

    fn home_of_question(&self, shape: &Shape) -> Option<HostgroupId> {
        let left_id = self
            .held
            .iter()
            .find(|held| held.holds.intersects(Holds::INSERT_ID));
        let about_id = shape.effects.intersects(SessionEffects::INSERT_ID);
        match left_id.filter(|_| about_id) {
            Some(held) => Some(held.hostgroup),
            None => self.previous.map(|previous| previous.hostgroup),
        }
    }

    pub(super) async fn pause(&self, effects: &Effects) {
        if let Some(delay_ms) = effects.delay_ms.filter(|delay_ms| *delay_ms > 0) {
            tokio::time::sleep(Duration::from_millis(u64::from(delay_ms))).await;
        }
    }

    /// No connection: the client is told.
    pub(super) async fn trouble(&mut self, trouble: Trouble, seq: u8) -> Flow {
        match trouble {
            Trouble::Refused(error) => self.refuse(seq, &error).await,
            Trouble::Fatal(error) => self.refuse_and_close(&error, seq).await,
        }
    }

    /// The answer did not come whole. A statement is never sent twice: nobody knows whether it was executed.
    pub(super) async fn broken(&mut self, broken: Broken, held: &Held, seq: u8) -> Flow {
        match broken {
            Broken::Client => Err(End::ClientGone),
            Broken::Backend { error, is_partial } => {
                bump(&self.worker.counters.totals.backend_lost);
                tracing::warn!(session = self.connection_id, hostgroup = %held.hostgroup, %error, "a backend connection was lost");
                if is_partial {
                    return Err(End::Closed);
                }
                let error = lost(&error);
                if held.holds.is_empty() {
                    self.refuse(seq, &error).await
                } else {
                    self.refuse_and_close(&error, seq).await
                }
            }
        }
    }

    /// Counts an answered statement, learns what it left, and keeps the connection or gives it back.
    pub(super) async fn conclude(
        &mut self,
        mut held: Held,
        run: &Run<'_>,
        bytes_sent: usize,
        traffic: Traffic,
        started: Instant,
    ) -> Flow {
        let outcome = held.backend.scanner.outcome();
        let (failed, mut status) = (outcome.error.is_some(), outcome.status);
        let (insert_id, warnings) = (outcome.last_insert_id, outcome.warnings);
        self.worker.counters.statement(&Sample {
            member: held.backend.member.number,
            hostgroup: held.hostgroup,
            user: &self.user.name,
            schema: self.schema.as_deref(),
            statement: run.statement,
            time: started.elapsed(),
            bytes_sent: bytes_sent as u64,
            bytes_received: traffic.received,
            rows_affected: outcome.affected_rows,
            rows_sent: outcome.rows,
            failed,
        });
        if failed && may_have_changed_transaction(&held, run) {
            // An error does not say whether the transaction is still open; the answer to a ping does.
            match held.backend.exchange(Command::Ping).await {
                Ok(outcome) => status = outcome.status,
                Err(error) => return self.broken_after(&error),
            }
        }
        if status.is_some_and(is_unreadable) {
            tracing::error!(hostgroup = %held.hostgroup, "sql_mode has become one under which statements cannot be read");
            return Err(End::Closed);
        }
        note_autocommit(&mut held.backend, status);
        let set = if failed {
            SetLeft::Nothing
        } else {
            self.note_set(&mut held, run)
        };
        let shape = run.statement.shape();
        held.holds = after(
            held.holds,
            &After {
                shape,
                in_transaction: status.map(|status| status.contains(StatusFlags::SERVER_STATUS_IN_TRANS)),
                autocommit: self.autocommit && held.backend.autocommit,
                failed,
                insert_id,
                warnings,
                set,
                ending: run.ending,
                multiplex: run.effects.multiplex,
            },
        );
        if !shape.is_safe_read() && !run.statement.is_session_setup() && !statement_begins(shape) {
            self.last_write = Some(Instant::now());
        }
        self.next_query_flag_in = run.effects.next_query_flag_in.or(self.next_query_flag_in);
        self.previous = Some(Previous {
            hostgroup: held.hostgroup,
            member: held.backend.member.number,
            serial: held.backend.serial,
        });
        held.backend.last_session = self.number;
        held.until = held
            .holds
            .intersects(Holds::BRIEF)
            .then(|| Instant::now() + self.worker.shared.limits.brief_hold);
        self.keep_or_give(held);
        Ok(())
    }

    /// The answer was forwarded; the connection is gone, and with it what the session had there.
    fn broken_after(&self, error: &crate::backend::BackendError) -> Flow {
        bump(&self.worker.counters.totals.backend_lost);
        tracing::warn!(%error, "a backend connection was lost");
        Err(End::Closed)
    }

    /// A SET that a server has executed.
    fn note_set(&mut self, held: &mut Held, run: &Run<'_>) -> SetLeft {
        let Some(plan) = &run.set else {
            return SetLeft::Nothing;
        };
        if let Some(names) = &plan.names {
            self.names = Some(names.clone());
            held.backend.names = Some(names.clone());
        }
        if let Some(autocommit) = plan.autocommit {
            self.autocommit = autocommit;
        }
        if plan.left == SetLeft::Replayable {
            self.history.push(run.statement.text(), &plan.variables);
            held.replayed = self.history.last();
        }
        plan.left
    }

    /// A SET that the proxy keeps and hands on when a connection needs it.
    async fn keep_set(&mut self, plan: &SetPlan, text: &[u8], seq: u8) -> Flow {
        if let Some(names) = &plan.names {
            self.names = Some(names.clone());
        }
        if plan.next_transaction {
            self.next_transaction = Some(text.to_vec());
        }
        if let Some(autocommit) = plan.autocommit {
            self.autocommit = autocommit;
            if autocommit && let Err(error) = self.commit_by_autocommit().await {
                return self.refuse_and_close(&error, seq).await;
            }
        }
        self.send_ok(seq, b"").await
    }

    /// `SET autocommit=1` commits: connections that have it off, or a transaction, hear of it at once.
    async fn commit_by_autocommit(&mut self) -> Result<(), MysqlError> {
        self.pending.clear();
        for mut held in std::mem::take(&mut self.held) {
            if !held.backend.autocommit {
                let command = Command::Query(b"SET autocommit=1");
                let outcome = held
                    .backend
                    .exchange(command)
                    .await
                    .map_err(|error| lost(&error))?;
                if let Some(error) = outcome.error {
                    return Err(error);
                }
                held.backend.autocommit = true;
                held.holds = held.holds.without(Holds::AUTOCOMMIT);
                if outcome
                    .status
                    .is_some_and(|status| !status.contains(StatusFlags::SERVER_STATUS_IN_TRANS))
                {
                    held.holds = held.holds.without(Holds::TRANSACTION);
                }
            }
            held.backend.last_session = self.number;
            self.keep_or_give(held);
        }
        Ok(())
    }

    /// `USE name`
    async fn use_schema(&mut self, text: &[u8], seq: u8) -> Flow {
        let name = Lexer::new(text, LexMode::default())
            .significant()
            .nth(1)
            .and_then(|token| identifier(&token, text));
        match name.map(|name| schema_name(&name)) {
            Some(Ok(schema)) => {
                self.schema = Some(schema);
                self.send_ok(seq, b"").await
            }
            Some(Err(error)) => self.refuse(seq, &error).await,
            None => {
                let error = errors::PARSE
                    .with("You have an error in your SQL syntax: USE takes the name of a schema");
                self.refuse(seq, &error).await
            }
        }
    }

    /// COM_INIT_DB: decided like USE.
    pub(super) async fn init_db(&mut self, name: &[u8], seq: u8) -> Flow {
        let schema = match schema_name(name) {
            Ok(schema) => schema,
            Err(error) => return self.refuse(seq, &error).await,
        };
        let text = format!("USE `{}`", schema.replace('`', "``"));
        let statement = Statement::new(text.as_bytes(), LexMode::default());
        if let Decided::Reject(rejection) = self.decide(&statement).outcome {
            return self.refuse(seq, &rejected(&rejection)).await;
        }
        self.schema = Some(schema);
        self.send_ok(seq, b"").await
    }

    /// COM_FIELD_LIST: decided like SHOW FIELDS.
    pub(super) async fn field_list(&mut self, table: &[u8], frame: &Frame) -> Flow {
        let seq = frame.next_seq();
        let text = format!(
            "SHOW FIELDS FROM `{}`",
            String::from_utf8_lossy(table).replace('`', "``")
        );
        let statement = Statement::new(text.as_bytes(), LexMode::default());
        let route = match self.decide(&statement).outcome {
            Decided::Route(route) => route,
            Decided::Reject(rejection) => return self.refuse(seq, &rejected(&rejection)).await,
            Decided::Answer { .. } | Decided::DeferBegin => {
                return self.unsupported(seq, "Unknown command").await;
            }
        };
        let run = self.run_of(&statement, &route, None);
        let mut held = match self.obtain(&run.target).await {
            Ok(held) => held,
            Err(trouble) => return self.trouble(trouble, seq).await,
        };
        let transmission = Transmission {
            bytes: frame.raw(),
            shape: ResponseShape::Definitions,
            next_seq: seq,
            statement_id: None,
        };
        let started = Instant::now();
        match forward(&mut self.client, &mut held.backend, &transmission).await {
            Ok(traffic) => {
                self.conclude(held, &run, frame.raw().len(), traffic, started)
                    .await
            }
            Err(broken) => self.broken(broken, &held, seq).await,
        }
    }
}

/// A COM_QUERY of our own.
fn query_frame(text: &[u8]) -> Frame {
    let mut payload = Vec::with_capacity(1 + text.len());
    payload.push(3);
    payload.extend_from_slice(text);
    let mut frame = Frame::default();
    frame.fill(&payload);
    frame
}

/// What is sent to the server takes another number of packets than what came: the numbers of the answer's packets
/// would not fit.
pub(super) fn other_packets() -> MysqlError {
    errors::NET_PACKET_TOO_LARGE.with("the statement comes too close to a multiple of 16 MiB to be rewritten")
}

/// Statements that no rule could make safe.
fn unroutable(shape: &Shape) -> Option<MysqlError> {
    match shape.class {
        StatementClass::Empty => Some(errors::EMPTY_QUERY.with("Query was empty")),
        StatementClass::Kill => Some(errors::UNKNOWN_COM.with("KILL is not supported through the proxy")),
        // The body of a procedure or trigger is one statement.
        class if shape.several && class != StatementClass::Ddl => Some(errors::PARSE.with(
            "several statements in one query are not supported by the proxy; send them one by one",
        )),
        StatementClass::Set if shape.executable_comment => Some(errors::PARSE.with(
            "SET in or with an executable comment is not supported by the proxy: it could not know what is set",
        )),
        _ => None,
    }
}

pub(super) fn rejected(rejection: &Rejection) -> MysqlError {
    let mut sqlstate = *b"HY000";
    if let Ok(state) = rejection.sqlstate.as_bytes().try_into() {
        sqlstate = state;
    }
    MysqlError {
        code: rejection.code,
        sqlstate,
        message: rejection.message.clone(),
    }
}

fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    Lexer::new(text, LexMode::default())
        .significant()
        .map(|token| token.span.of(text))
}

/// Whether the statement asks about the session's earlier statements.
fn asks(statement: &Statement<'_>) -> bool {
    if asks_for_diagnostics(statement) {
        return true;
    }
    if !statement
        .shape()
        .effects
        .intersects(SessionEffects::READS_SESSION)
    {
        return false;
    }
    let text = statement.text();
    QUESTIONS.iter().any(|question| {
        text.windows(question.len())
            .any(|window| window.eq_ignore_ascii_case(question))
    })
}

/// `SHOW WARNINGS`, `SHOW ERRORS`, `SHOW COUNT(*) WARNINGS`, `GET DIAGNOSTICS`.
fn asks_for_diagnostics(statement: &Statement<'_>) -> bool {
    let is = |word: Option<&[u8]>, expected: &[&str]| {
        word.is_some_and(|word| {
            expected
                .iter()
                .any(|expected| word.eq_ignore_ascii_case(expected.as_bytes()))
        })
    };
    match statement.shape().class {
        StatementClass::Show => is(words(statement.text()).nth(1), &["WARNINGS", "ERRORS", "COUNT"]),
        StatementClass::Other => {
            is(words(statement.text()).next(), &["GET"])
                && words(statement.text())
                    .take(3)
                    .any(|word| is(Some(word), &["DIAGNOSTICS"]))
        }
        _ => false,
    }
}

/// What the statement puts an end to.
fn ending(statement: &Statement<'_>, asks: bool) -> Ending {
    let starts = |expected: [&str; 2]| {
        let mut found = words(statement.text());
        expected.iter().all(|word| {
            found
                .next()
                .is_some_and(|found| found.eq_ignore_ascii_case(word.as_bytes()))
        })
    };
    match statement.shape().class {
        StatementClass::Lock if starts(["UNLOCK", "TABLES"]) => Ending::TableLocks,
        StatementClass::Xa if starts(["XA", "COMMIT"]) || starts(["XA", "ROLLBACK"]) => Ending::Xa,
        StatementClass::Select | StatementClass::Show | StatementClass::Other if asks => Ending::Asks,
        _ => Ending::None,
    }
}

fn statement_begins(shape: &Shape) -> bool {
    matches!(
        shape.class,
        StatementClass::Begin | StatementClass::Savepoint | StatementClass::Rollback
    )
}

/// Whether a failed statement may have opened or ended a transaction.
fn may_have_changed_transaction(held: &Held, run: &Run<'_>) -> bool {
    let shape = run.statement.shape();
    !held.backend.autocommit
        || held.holds.intersects(Holds::IN_TRANSACTION)
        || shape
            .effects
            .intersects(SessionEffects::UNKNOWN | SessionEffects::TRANSACTION)
}
