//! Words about sessions in every clause of every kind of statement, under every kind of map, through the proxy and on one
//! unsharded server: the same rows, an error on both, or refused; and the same rows on all servers after each write.
//!
//! `SHARDWRIGHT_QUESTIONS=1000000` asks for so many statements, in the place of 2,000. `SHARDWRIGHT_QUESTIONS_SEED=7` begins
//! elsewhere.

mod script;
mod stage;

use std::collections::BTreeMap;

use mysql::prelude::Queryable;
use mysql::{Conn, LocalInfileHandler, Value};
use shardwright_testkit::{Flavour, text_rows};

use self::script::{Random, Script, Step};
use self::stage::{Auditor, Map, Stage, TENANTS, Tables};

const STATEMENTS: usize = 2_000;
/// Sessions that take turns on the same connections.
const TOGETHER: usize = 3;
/// Statements of such a group.
const GROUP: usize = 90;
/// A transaction ends after so many statements, so that the others go on.
const LONGEST: usize = 8;

/// Rows, and the counts that come with them.
#[derive(Debug, PartialEq)]
struct Answered {
    rows: Vec<String>,
    affected: u64,
    id: Option<u64>,
}

type Answer = Result<Answered, String>;

fn told(error: mysql::Error) -> String {
    match error {
        mysql::Error::MySqlError(error) => format!("{}: {}", error.code, error.message),
        other => format!("connection: {other}"),
    }
}

fn line(cells: Vec<Option<String>>) -> String {
    let cells = cells
        .into_iter()
        .map(|cell| cell.unwrap_or_else(|| "NULL".to_owned()));
    cells.collect::<Vec<_>>().join(" | ")
}

fn text(connection: &mut Conn, sql: &str) -> Answer {
    let rows = text_rows(connection, sql).map_err(told)?;
    Ok(answered(connection, rows.into_iter().map(line).collect()))
}

fn answered(connection: &Conn, rows: Vec<String>) -> Answered {
    let affected = connection.affected_rows();
    let id = Some(connection.last_insert_id()).filter(|id| *id != 0);
    Answered { rows, affected, id }
}

fn cell(value: Value) -> Option<String> {
    match value {
        Value::NULL => None,
        Value::Bytes(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
        other => Some(other.as_sql(true)),
    }
}

fn execute(connection: &mut Conn, statement: &mysql::Statement) -> Answer {
    let rows: Vec<mysql::Row> = connection.exec(statement, ()).map_err(told)?;
    let rows = rows
        .into_iter()
        .map(|row| line(row.unwrap().into_iter().map(cell).collect()));
    let rows = rows.collect();
    Ok(answered(connection, rows))
}

/// Whether the proxy said no by itself.
fn is_refusal(message: &str) -> bool {
    ["1148: SW", "9006: "]
        .iter()
        .any(|start| message.starts_with(start))
        || [
            "the proxy",
            "is not held any more",
            "needs to be re-prepared: the session",
        ]
        .iter()
        .any(|part| message.contains(part))
}

const REFUSED: &str = "refused";

/// Calls the refusal that a list of warnings tells as the oracle does.
fn name_refusal(row: &mut String) {
    if let Some((code, message)) = row
        .strip_prefix("Error | ")
        .and_then(|rest| rest.split_once(" | "))
        && is_refusal(&format!("{code}: {message}"))
    {
        *row = format!("Error | {code} | {REFUSED}");
    }
}

#[derive(Debug, Default)]
struct Tally {
    statements: usize,
    identical: usize,
    failed_alike: usize,
    refused: BTreeMap<String, usize>,
}

impl Tally {
    fn refused(&self) -> usize {
        self.refused.values().sum()
    }
}

/// A session on both sides.
struct Session {
    script: Script,
    sharded: Conn,
    unsharded: Conn,
    /// Statements since BEGIN.
    begun: Option<usize>,
    log: Vec<String>,
}

impl Session {
    fn new(stage: &Stage, map: Map, tenant: usize) -> Self {
        let (mut sharded, mut unsharded) = stage.session(map, tenant);
        // A new connection of MariaDB may have the FOUND_ROWS() of one that was closed.
        unsharded.query_drop("SELECT 1 LIMIT 0").unwrap();
        unsharded.ping().unwrap();
        for connection in [&mut sharded, &mut unsharded] {
            connection.set_local_infile_handler(Some(LocalInfileHandler::new(|_, file| {
                std::io::Write::write_all(file, b"1\n2\n")
            })));
        }
        Self {
            script: Script::new(map, tenant),
            sharded,
            unsharded,
            begun: None,
            log: vec![format!("{map:?} of {tenant}")],
        }
    }

    /// Sends a step to both sides.
    ///
    /// # Errors
    /// What differs.
    fn step(&mut self, step: &Step, tally: &mut Tally) -> Result<(), String> {
        match step {
            Step::Text(sql) | Step::File(sql) => self.both(sql, tally, |side| text(side, sql)).map(drop),
            Step::Ping => self
                .both("ping", tally, |side| {
                    side.ping().map_err(told)?;
                    Ok(answered(side, Vec::new()))
                })
                .map(drop),
            Step::InitDb(name) => self
                .both(&format!("COM_INIT_DB {name}"), tally, |side| {
                    side.select_db(name).map_err(told)?;
                    Ok(answered(side, Vec::new()))
                })
                .map(drop),
            Step::Binary(sql, between) => self.binary(sql, between, tally),
        }
    }

    fn binary(&mut self, sql: &str, between: &[String], tally: &mut Tally) -> Result<(), String> {
        let mut prepared = Vec::new();
        let what = format!("COM_STMT_PREPARE {sql}");
        let is_prepared = self.both(&what, tally, |side| {
            let statement = side.prep(sql).map_err(told)?;
            prepared.push(statement);
            Ok(Answered {
                rows: Vec::new(),
                affected: 0,
                id: None,
            })
        })?;
        for sql in between {
            self.both(sql, tally, |side| text(side, sql))?;
        }
        if is_prepared {
            let mut statements = prepared.iter();
            let what = format!("COM_STMT_EXECUTE {sql}");
            let resolves_late = sql.contains('@') && Flavour::default().is_mysql();
            self.both(&what, tally, |side| {
                let statement = statements.next().unwrap();
                let mut answer = execute(side, statement);
                if let (Ok(answered), true) = (&mut answer, resolves_late) {
                    answered.rows.iter_mut().for_each(forget_scale);
                }
                answer
            })?;
            let [sharded, unsharded] = <[mysql::Statement; 2]>::try_from(prepared).unwrap();
            self.sharded.close(sharded).map_err(told)?;
            self.unsharded.close(unsharded).map_err(told)?;
        }
        Ok(())
    }

    /// The proxy first. Where it refuses, the unsharded server gets an error of the same number. Whether both did it.
    fn both(
        &mut self,
        what: &str,
        tally: &mut Tally,
        mut send: impl FnMut(&mut Conn) -> Answer,
    ) -> Result<bool, String> {
        tally.statements += 1;
        let mut sharded = send(&mut self.sharded);
        if let Err(message) = &sharded
            && is_refusal(message)
        {
            let code = message.split(':').next().unwrap_or_default();
            let kind = match code {
                "1148" => message[6..11].to_owned(),
                code => code.to_owned(),
            };
            *tally.refused.entry(kind).or_default() += 1;
            let error =
                format!("SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = {code}, MESSAGE_TEXT = '{REFUSED}'");
            text(&mut self.unsharded, &error).unwrap_err();
            self.log.push(format!("{what}\n      refused: {message}"));
            return Ok(false);
        }
        if let Ok(answered) = &mut sharded {
            answered.rows.iter_mut().for_each(name_refusal);
        }
        let expected = send(&mut self.unsharded);
        self.log.push(format!("{what}\n      {sharded:?}"));
        let code = |message: &String| message.split(':').next().map(str::to_owned);
        match (&sharded, &expected) {
            (Ok(rows), Ok(expected)) if rows == expected => tally.identical += 1,
            (Err(message), Err(expected)) if code(message) == code(expected) => tally.failed_alike += 1,
            _ => {
                return Err(format!(
                    "{}\n=> {what}\n  proxy:  {sharded:?}\n  oracle: {expected:?}",
                    self.log.join("\n")
                ));
            }
        }
        let is_done = sharded.is_ok();
        match what.trim_start_matches("COM_STMT_EXECUTE ") {
            "BEGIN" if is_done => self.begun = Some(0),
            "COMMIT" if is_done => self.begun = None,
            _ => {}
        }
        Ok(is_done)
    }
}

/// MySQL resolves the type of a user variable when a statement is prepared, and a proxy may prepare it on a server behind a SET that came
/// behind the client's PREPARE: 66 is 66.000 then.
fn forget_scale(row: &mut String) {
    let cells = row.split(" | ").map(|cell| match cell.split_once('.') {
        Some((whole, scale)) if scale.bytes().all(|digit| digit == b'0') => whole,
        _ => cell,
    });
    *row = cells.collect::<Vec<_>>().join(" | ");
}

/// Whether a step can have written.
fn may_write(step: &Step) -> bool {
    let is_write = |sql: &String| !sql.contains("SELECT") || sql.contains("INSERT INTO");
    match step {
        Step::Text(sql) => is_write(sql),
        Step::Binary(sql, between) => is_write(sql) || between.iter().any(is_write),
        Step::File(_) => true,
        Step::InitDb(_) | Step::Ping => false,
    }
}

/// A group of sessions that take turns.
fn group(
    stage: &Stage,
    auditor: &mut Auditor,
    random: &mut Random,
    map: Map,
    tally: &mut Tally,
) -> Result<(), String> {
    let mut sessions: Vec<Session> = (0..TOGETHER)
        .map(|_| Session::new(stage, map, random.of(&TENANTS)))
        .collect();
    for _ in 0..GROUP {
        // Others would wait for its locks.
        let begun = sessions.iter().position(|session| session.begun.is_some());
        let at = begun.unwrap_or_else(|| random.below(TOGETHER));
        let session = &mut sessions[at];
        let mut step = session.script.step(random);
        if let Some(count) = &mut session.begun {
            *count += 1;
            if *count > LONGEST {
                step = Step::Text("COMMIT".to_owned());
            }
        }
        session.step(&step, tally)?;
        if may_write(&step)
            && let Some(difference) = auditor.difference(Tables::Of(map))
        {
            return Err(format!("{}\n{difference}", session.log.join("\n")));
        }
    }
    drop(sessions);
    auditor.difference(Tables::All).map_or(Ok(()), Err)
}

fn number(variable: &str, otherwise: usize) -> usize {
    std::env::var(variable).map_or(otherwise, |number| number.parse().unwrap())
}

#[test]
fn answers_about_earlier_statements_are_one_servers_or_refused() {
    let statements = number("SHARDWRIGHT_QUESTIONS", STATEMENTS);
    let seed = number("SHARDWRIGHT_QUESTIONS_SEED", 0x5EED_0003);
    let is_counted_only = std::env::var_os("SHARDWRIGHT_QUESTIONS_COUNT").is_some();
    let stage = Stage::start();
    let mut auditor = Auditor::new(&stage);
    let mut random = Random::new(seed as u64);
    let mut tally = Tally::default();
    let mut different = Vec::new();
    for number in 0.. {
        if tally.statements >= statements {
            break;
        }
        let map = Map::ALL[number % Map::ALL.len()];
        auditor.empty(map);
        if let Err(difference) = group(&stage, &mut auditor, &mut random, map, &mut tally) {
            println!("group {number}: {difference}");
            different.push(number);
            if !is_counted_only {
                break;
            }
            auditor.reload();
        }
    }
    println!(
        "{} statements: {} identical, {} errors on both, {} refused, {} groups different; refused: {:?}",
        tally.statements,
        tally.identical,
        tally.failed_alike,
        tally.refused(),
        different.len(),
        tally.refused
    );
    assert!(different.is_empty(), "groups that differ: {different:?}");
    assert!(tally.identical * 3 > tally.statements, "{tally:?}");
}

/// The read before may have been on a server that nobody may write to.
#[test]
fn a_question_behind_begin_does_not_open_the_transaction_where_the_answer_is() {
    let stage = Stage::start();
    let mut auditor = Auditor::new(&stage);
    for map in Map::ALL {
        let read = if map == Map::Table { "f_1" } else { "f" };
        for question in [
            "DO FOUND_ROWS()",
            "DO @@warning_count",
            "DO ROW_COUNT(), LAST_INSERT_ID(3)",
            "/* tenant=1 */ DO FOUND_ROWS()",
            "/* tenant=1 */ SELECT FOUND_ROWS()",
            "SELECT FOUND_ROWS() INTO @n",
            "/* tenant=1 */ SHOW WARNINGS",
            "SHOW COUNT(*) ERRORS",
            "/* tenant=1 */ SET @n = FOUND_ROWS()",
        ] {
            let session = stage.session(map, 1);
            for mut connection in [session.0, session.1] {
                for sql in [
                    &format!("/* tenant=1 */ SELECT id FROM {read} WHERE tenant = 1"),
                    "BEGIN",
                    question,
                    "/* tenant=1 */ INSERT INTO q_1 (tenant, p) VALUES (1, 5)",
                    "COMMIT",
                ] {
                    let answer = text(&mut connection, sql);
                    let is_known = sql == question && answer.as_ref().is_err_and(|error| is_refusal(error));
                    assert!(
                        answer.is_ok() || is_known,
                        "{map:?} {question}, {sql}: {answer:?}"
                    );
                }
            }
            assert_eq!(auditor.difference(Tables::All), None, "{map:?} {question}");
        }
    }
}

/// MySQL warns of what is deprecated when it prepares a SET, and the proxy runs the text of one.
#[test]
fn warnings_behind_a_prepared_set_are_one_servers_or_refused() {
    let stage = Stage::start();
    for sql in [
        "SET @a = FOUND_ROWS()",
        "SET @a = 1/0",
        "SET @a = 'a' || 'b'",
        "SET @a = 1, @b := 2",
        "SET @a = (@b := 2)",
        "SET SESSION sql_mode = 'NO_ZERO_DATE'",
        "SET @a = 1",
    ] {
        for question in ["SHOW WARNINGS", "SELECT @@warning_count"] {
            let (mut sharded, mut unsharded) = stage.session(Map::User, 1);
            let [here, expected] = [&mut sharded, &mut unsharded].map(|connection| {
                connection.exec_drop(sql, ()).unwrap();
                text(connection, question)
            });
            match &here {
                Err(error) if is_refusal(error) => assert_ne!(sql, "SET @a = 1", "{error}"),
                _ => assert_eq!(here, expected, "{sql}; {question}"),
            }
        }
    }
}
