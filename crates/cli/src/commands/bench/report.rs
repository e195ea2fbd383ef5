//! What a measurement has found: as data, and as a page to read.

use std::fmt::Write;
use std::time::{Duration, Instant};

use serde::Serialize;
use shardwright_ledger::{Audit, Ledger};

use super::fault::Ended;

/// The numbers of commits that are listed.
const MOST_LISTED: usize = 20;

/// `bench failover --format json`; keys are only ever added. Times are milliseconds, and moments are counted from the beginning
/// of the inserts.
#[derive(Serialize)]
pub(super) struct Report {
    target: String,
    table: String,
    /// The value of `run` in the rows.
    run: u64,
    clients: u32,
    /// Commits in a second that were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    rate: Option<f64>,
    elapsed_ms: u64,
    /// Commits that were acknowledged.
    commits: usize,
    /// Their rows.
    rows: u64,
    gap: Gap,
    /// The longest wait for one commit that was acknowledged.
    slowest_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    on_ready: Option<OnReady>,
    errors: Vec<Errors>,
    /// Commits that were refused: nobody has executed them.
    refused: usize,
    /// Commits of which clients do not know whether they were executed.
    unknown: usize,
    servers: Vec<Server>,
}

/// The longest time without an acknowledged commit.
#[derive(Serialize)]
struct Gap {
    ms: u64,
    from_ms: u64,
    /// It lasted to the end: writes have not come back.
    is_open: bool,
}

/// The command that failed or moved the writer.
#[derive(Serialize)]
struct OnReady {
    from_ms: u64,
    to_ms: u64,
    /// The code that it ended with; none: a signal ended it.
    code: Option<i32>,
    /// From its end to the next acknowledged commit; none: there was none.
    back_ms: Option<u64>,
}

#[derive(Serialize)]
struct Errors {
    code: u16,
    /// `not sent`, `refused` or `unknown`.
    kind: &'static str,
    count: u64,
    message: String,
    first_ms: u64,
    last_ms: u64,
}

/// What a server has.
#[derive(Serialize)]
struct Server {
    server: String,
    #[serde(flatten)]
    answer: Answer,
}

impl Server {
    /// One line.
    fn write(&self, text: &mut String) -> std::fmt::Result {
        write!(text, "{}  ", self.server)?;
        match &self.answer {
            Answer::Failed { error } => writeln!(text, "was not asked: {error}")?,
            Answer::Asked {
                rows,
                lost,
                doubled,
                torn,
                refused_and_there,
                unknown_and_there,
            } => writeln!(
                text,
                "{rows} rows; commits lost {}, doubled {}, torn {}, refused and there {}, unknown and there {}",
                lost.count, doubled.count, torn.count, refused_and_there.count, unknown_and_there.count
            )?,
        }
        Ok(())
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum Answer {
    Asked {
        rows: u64,
        lost: Commits,
        doubled: Commits,
        torn: Commits,
        refused_and_there: Commits,
        unknown_and_there: Commits,
    },
    Failed {
        error: String,
    },
}

/// Commits, and the value of `number` of some of them.
#[derive(Serialize)]
struct Commits {
    count: usize,
    some: Vec<u64>,
}

impl Commits {
    fn of(numbers: &[u64]) -> Self {
        Self {
            count: numbers.len(),
            some: numbers.iter().copied().take(MOST_LISTED).collect(),
        }
    }
}

fn ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

impl Report {
    /// `back`: when the first commit after the command was acknowledged.
    pub(super) fn new(target: String, ledger: &Ledger, ended: Option<(Ended, Option<Instant>)>) -> Self {
        let load = ledger.load();
        let began = ledger.began();
        let gap = ledger.longest_gap(ledger.first().unwrap_or(began));
        let errors = ledger.errors().iter().map(|((kind, code), errors)| Errors {
            code: *code,
            kind: kind.as_str(),
            count: errors.count,
            message: errors.message.clone(),
            first_ms: ms(errors.first),
            last_ms: ms(errors.last),
        });
        Self {
            target,
            table: load.table.to_string(),
            run: load.run,
            clients: load.clients.get(),
            rate: load.rate,
            elapsed_ms: ms(ledger.elapsed()),
            commits: ledger.acknowledged().len(),
            rows: ledger.rows(),
            gap: Gap {
                ms: ms(gap.length),
                from_ms: ms(gap.from),
                is_open: gap.is_open,
            },
            slowest_ms: ms(ledger.slowest()),
            on_ready: ended.map(|(ended, back)| OnReady {
                from_ms: ms(ended.began - began),
                to_ms: ms(ended.at - began),
                code: ended.status.code(),
                back_ms: back.map(|back| ms(back - ended.at)),
            }),
            errors: errors.collect(),
            refused: ledger.refused().len(),
            unknown: ledger.unknown().len(),
            servers: Vec::new(),
        }
    }

    pub(super) fn gap_ms(&self) -> u64 {
        self.gap.ms
    }

    /// Adds what a server has.
    pub(super) fn add(&mut self, server: String, audit: Result<Audit, String>) {
        let answer = match audit {
            Err(error) => Answer::Failed { error },
            Ok(audit) => Answer::Asked {
                rows: audit.rows,
                lost: Commits::of(&audit.lost),
                doubled: Commits::of(&audit.doubled),
                torn: Commits::of(&audit.torn),
                refused_and_there: Commits::of(&audit.refused_and_there),
                unknown_and_there: Commits::of(&audit.unknown_and_there),
            },
        };
        self.servers.push(Server { server, answer });
    }

    /// For people.
    pub(super) fn to_text(&self) -> String {
        self.written().expect("writing to a string cannot fail")
    }

    fn written(&self) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        let rate = self
            .rate
            .map_or_else(String::new, |rate| format!(", {rate} commits/s asked for"));
        writeln!(
            text,
            "{}: {} clients{rate}, {} of inserts, {} commits ({} rows) acknowledged\n",
            self.target,
            self.clients,
            seconds(self.elapsed_ms),
            self.commits,
            self.rows
        )?;
        let gap = &self.gap;
        let end = if gap.is_open {
            "; writes did not come back"
        } else {
            ""
        };
        writeln!(
            text,
            "longest time without a commit  {} ms, from {}{end}",
            gap.ms,
            seconds(gap.from_ms)
        )?;
        writeln!(text, "slowest commit                 {} ms", self.slowest_ms)?;
        if let Some(on_ready) = &self.on_ready {
            let code = on_ready
                .code
                .map_or_else(|| "a signal".to_owned(), |code| format!("code {code}"));
            let back = on_ready.back_ms.map_or_else(
                || "no commit since".to_owned(),
                |back| format!("a commit {back} ms later"),
            );
            writeln!(
                text,
                "--on-ready                     from {} to {}, ended with {code}; {back}",
                seconds(on_ready.from_ms),
                seconds(on_ready.to_ms)
            )?;
        }
        writeln!(
            text,
            "refused, unknown               {}, {}",
            self.refused, self.unknown
        )?;
        for errors in &self.errors {
            writeln!(
                text,
                "  {} × error {} ({}), {} to {}: {}",
                errors.count,
                errors.code,
                errors.kind,
                seconds(errors.first_ms),
                seconds(errors.last_ms),
                errors.message
            )?;
        }
        writeln!(text)?;
        for server in &self.servers {
            server.write(&mut text)?;
        }
        Ok(text)
    }
}

fn seconds(ms: u64) -> String {
    format!("{:.1} s", ms as f64 / 1000.0)
}
