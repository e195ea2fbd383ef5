//! `bench failover`: inserts while servers fail, and what became of the rows.

use std::time::{Duration, Instant};

use mysql::Conn;
use shardwright_ledger::{Audit, Ledger, Load, Running, Table, reason};
use url::Url;

use super::fault::Fault;
use super::login::{self, Logins};
use super::report::Report;
use crate::args::{BenchFailover, Format};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::signals::Signals;
use crate::ui::Ui;

/// How often the run is looked at.
const LOOK: Duration = Duration::from_millis(20);
/// How long the first commit may take.
const BEGINS_WITHIN: Duration = Duration::from_secs(30);

pub(super) fn run(args: &BenchFailover, ui: &Ui) -> Result<Exit, CommandError> {
    let logins = Logins::read(args)?;
    let schema = login::schema(&args.target).ok_or_else(|| {
        CommandError::usage("--target names no schema").hint(format!("--target {}/test", args.target))
    })?;
    let table = Table::new(&schema, &args.table);
    Conn::new(logins.target())
        .and_then(|mut connection| table.create(&mut connection))
        .map_err(|error| CommandError::failed(format!("{}: {}", args.target, reason(&error))))?;
    let signals = Signals::install()?;
    let load = Load {
        targets: vec![logins.target()],
        table,
        run: unique()?,
        clients: args.clients,
        rate: (args.rate > 0).then(|| f64::from(args.rate)),
        transaction_every: args.transactions,
    };
    let running = load
        .start()
        .map_err(|error| CommandError::failed(format!("clients cannot be started: {error}")))?;
    begin(&running, args, &signals)?;
    ui.status(&format!(
        "clients insert into {} through {}",
        args.table, args.target
    ));
    let fault = insert(&running, args, &signals, ui)?;
    let ended = fault.ended().map(|ended| (ended, running.first_after(ended.at)));
    let ledger = running.stop();
    let mut report = Report::new(args.target.to_string(), &ledger, ended);
    let asked = ask(args, &logins, &ledger, &mut report, ui);
    match ui.format() {
        Format::Json => ui.json(&report)?,
        _ => ui.data(&report.to_text())?,
    }
    let exit = verdict(args, &report, &asked)?;
    if args.drop && exit == Exit::Done {
        drop_table(&logins, &ledger)?;
    } else {
        let (table, run) = (&ledger.load().table, ledger.load().run);
        ui.status(&format!("the rows stay in {table}, run {run}"));
    }
    let failed = ended.filter(|(ended, _)| !ended.status.success());
    match failed {
        Some((ended, _)) if exit == Exit::Done => Err(CommandError::failed(format!(
            "--on-ready ended with {}",
            ended.status
        ))),
        _ => Ok(exit),
    }
}

/// Waits for the first commit: a target that takes none has no failover to measure.
fn begin(running: &Running, args: &BenchFailover, signals: &Signals) -> Result<(), CommandError> {
    let until = running.began() + BEGINS_WITHIN;
    while running.acknowledged() == 0 {
        if signals.wait_for(LOOK) || Instant::now() > until {
            let ledger = running.so_far();
            let errors = ledger.errors().iter();
            let told: Vec<String> = errors
                .map(|((_, code), errors)| format!("error {code}: {}", errors.message))
                .collect();
            let message = format!("{} has taken no insert\n  {}", args.target, told.join("\n  "));
            return Err(CommandError::failed(message));
        }
    }
    Ok(())
}

/// Lets clients insert, and has the command do what it does.
fn insert(
    running: &Running,
    args: &BenchFailover,
    signals: &Signals,
    ui: &Ui,
) -> Result<Fault, CommandError> {
    let began = Instant::now();
    let mut fault = args.on_ready.clone().map_or(Fault::None, |command| {
        Fault::Due(command, began + Duration::from_secs(args.after))
    });
    let until = began + Duration::from_secs(args.seconds);
    while Instant::now() < until || fault.is_open() {
        if signals.wait_for(LOOK) {
            ui.status("ended early");
            break;
        }
        if fault.go_on()? {
            let at = running.began().elapsed().as_secs_f64();
            let what = if fault.is_open() { "begins" } else { "has ended" };
            ui.status(&format!("--on-ready {what} at {at:.1} s"));
        }
    }
    Ok(fault)
}

/// What each server has.
fn ask(
    args: &BenchFailover,
    logins: &Logins<'_>,
    ledger: &Ledger,
    report: &mut Report,
    ui: &Ui,
) -> Vec<Option<Audit>> {
    let servers: Vec<&Url> = match args.check.is_empty() {
        true => vec![&args.target],
        false => args.check.iter().collect(),
    };
    let patience = Duration::from_secs(args.settle);
    let mut audits = Vec::new();
    for server in servers {
        ui.detail(|| format!("asking {server}"));
        let login = if args.check.is_empty() {
            logins.target()
        } else {
            logins.check(server)
        };
        let audit = Conn::new(login).and_then(|mut connection| ledger.audit_on(&mut connection, patience));
        audits.push(audit.as_ref().ok().cloned());
        report.add(server.to_string(), audit.map_err(|error| reason(&error)));
    }
    audits
}

fn verdict(args: &BenchFailover, report: &Report, asked: &[Option<Audit>]) -> Result<Exit, CommandError> {
    if asked.iter().flatten().any(|audit| !audit.is_clean()) {
        return Ok(Exit::Findings);
    }
    if args.max_gap_ms.is_some_and(|most| report.gap_ms() > most) {
        return Ok(Exit::Findings);
    }
    match asked.iter().all(Option::is_some) {
        true => Ok(Exit::Done),
        false => Err(CommandError::failed(
            "not every server could be asked for its rows",
        )),
    }
}

fn drop_table(logins: &Logins<'_>, ledger: &Ledger) -> Result<(), CommandError> {
    Conn::new(logins.target())
        .and_then(|mut connection| {
            let table = &ledger.load().table;
            mysql::prelude::Queryable::query_drop(&mut connection, format!("DROP TABLE {table}"))
        })
        .map_err(|error| CommandError::failed(format!("the table was not dropped: {}", reason(&error))))
}

/// A number for the rows of this run.
fn unique() -> Result<u64, CommandError> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes)
        .map_err(|error| CommandError::failed(format!("no random number: {error}")))?;
    // Smaller than what JSON readers take for a whole number.
    Ok(u64::from_le_bytes(bytes) >> 12)
}
