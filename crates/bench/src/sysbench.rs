//! `sysbench` as the client of measurements.

mod histogram;
mod scripts;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::BenchError;

pub use histogram::Histogram;
pub use scripts::Scripts;

/// Rows of the table that statements read.
pub(crate) const TABLE_SIZE: u32 = 10_000;

/// Who asks.
#[derive(Debug, Clone)]
pub struct Sysbench {
    /// User name.
    pub user: String,
    /// Password.
    pub password: String,
    /// Schema of the table.
    pub schema: String,
    /// Connections, each with its thread.
    pub threads: u32,
    /// Processors the client may use, as `taskset -c` takes them.
    pub cores: String,
}

/// What every connection asks, again and again.
#[derive(Debug, Clone)]
pub struct Load {
    /// A script of sysbench's own, or the path of one.
    script: String,
    arguments: Vec<String>,
}

/// Where a client connects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// By TCP.
    Tcp(SocketAddr),
    /// By a unix socket.
    Unix(PathBuf),
}

impl From<SocketAddr> for Place {
    fn from(address: SocketAddr) -> Self {
        Self::Tcp(address)
    }
}

/// What one run did.
#[derive(Debug, Clone, PartialEq)]
pub struct SysbenchRun {
    /// Statements.
    pub queries: u64,
    /// Seconds from the first statement to the last.
    pub seconds: f64,
    /// Statements and connections that failed.
    pub errors: u64,
    /// How long events took; with a rate, from the moment at which they were due.
    pub latencies: Histogram,
}

impl Load {
    /// Point selects by primary key as texts.
    #[must_use]
    pub fn text() -> Self {
        Self::point_select("disable")
    }

    /// The same as executions of a prepared statement.
    #[must_use]
    pub fn prepared() -> Self {
        Self::point_select("auto")
    }

    /// Transactions with reads and writes, as texts.
    #[must_use]
    pub fn transactions() -> Self {
        let size = format!("--table-size={TABLE_SIZE}");
        Self::of("oltp_read_write", ["--db-ps-mode=disable", "--tables=1", &size])
    }

    fn point_select(prepares: &str) -> Self {
        let prepares = format!("--db-ps-mode={prepares}");
        let size = format!("--table-size={TABLE_SIZE}");
        Self::of("oltp_point_select", [&*prepares, "--tables=1", &size])
    }

    /// A script with its own options; statements are texts.
    #[must_use]
    pub fn script<'a>(path: &Path, arguments: impl IntoIterator<Item = &'a str>) -> Self {
        let arguments = ["--db-ps-mode=disable"].into_iter().chain(arguments);
        Self::of(&path.to_string_lossy(), arguments)
    }

    /// The same load with so many events in a second, of all connections together, whether or not the ones before are over.
    #[must_use]
    pub fn at_rate(mut self, events_per_second: f64) -> Self {
        self.arguments.push(format!("--rate={events_per_second:.0}"));
        self
    }

    fn of<'a>(script: &str, arguments: impl IntoIterator<Item = &'a str>) -> Self {
        Self {
            script: script.to_owned(),
            arguments: arguments.into_iter().map(str::to_owned).collect(),
        }
    }
}

impl Sysbench {
    /// Creates and fills the table of point selects.
    ///
    /// # Errors
    /// What `sysbench` printed when it failed.
    pub fn prepare(&self, server: SocketAddr) -> Result<(), BenchError> {
        self.sysbench(&server.into(), &Load::text(), &["prepare"])
            .map(|_| ())
    }

    /// Asks for `duration`, in whole seconds.
    ///
    /// # Errors
    /// What `sysbench` printed when it failed or a statement did.
    pub fn run(
        &self,
        server: impl Into<Place>,
        duration: Duration,
        load: &Load,
    ) -> Result<SysbenchRun, BenchError> {
        let time = format!("--time={}", duration.as_secs().max(1));
        self.measured(&server.into(), load, &[&time, "--histogram", "run"])
    }

    /// Asks so many times, always the same.
    ///
    /// # Errors
    /// What `sysbench` printed when it failed or a statement did.
    pub fn run_events(
        &self,
        server: impl Into<Place>,
        events: u32,
        load: &Load,
    ) -> Result<SysbenchRun, BenchError> {
        let events = format!("--events={events}");
        let same = ["--rand-seed=7", "--rand-type=uniform"];
        self.measured(
            &server.into(),
            load,
            &["--time=0", &events, same[0], same[1], "run"],
        )
    }

    fn measured(&self, place: &Place, load: &Load, arguments: &[&str]) -> Result<SysbenchRun, BenchError> {
        let output = self.sysbench(place, load, arguments)?;
        match parse(&output) {
            Some(run) if run.queries > 0 && run.errors == 0 => Ok(run),
            _ => Err(BenchError::Output {
                what: "sysbench: not only successful statements".to_owned(),
                output,
            }),
        }
    }

    fn sysbench(&self, place: &Place, load: &Load, arguments: &[&str]) -> Result<String, BenchError> {
        let place = match place {
            Place::Tcp(address) => vec![
                format!("--mysql-host={}", address.ip()),
                format!("--mysql-port={}", address.port()),
            ],
            Place::Unix(socket) => vec![format!("--mysql-socket={}", socket.display())],
        };
        let output = Command::new("taskset")
            .args(["-c", &self.cores, "sysbench", &load.script, "--db-driver=mysql"])
            .args(place)
            .arg(format!("--mysql-user={}", self.user))
            .arg(format!("--mysql-password={}", self.password))
            .arg(format!("--mysql-db={}", self.schema))
            .arg(format!("--threads={}", self.threads))
            .args(&load.arguments)
            .args(arguments)
            .output()
            .map_err(BenchError::io(
                "taskset, sysbench (Debian: apt-get install util-linux sysbench)",
            ))?;
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        if output.status.success() {
            Ok(text)
        } else {
            Err(BenchError::Output {
                what: format!("sysbench failed ({})", output.status),
                output: text,
            })
        }
    }
}

/// Reads the report of sysbench 1.0.
fn parse(output: &str) -> Option<SysbenchRun> {
    let after = |name: &str| {
        let line = output.lines().find_map(|line| line.trim().strip_prefix(name))?;
        line.split_whitespace().next()
    };
    Some(SysbenchRun {
        queries: after("queries:")?.parse().ok()?,
        seconds: after("total time:")?.strip_suffix('s')?.parse().ok()?,
        errors: after("ignored errors:")?.parse::<u64>().ok()? + after("reconnects:")?.parse::<u64>().ok()?,
        latencies: Histogram::parse(output),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_of_a_run_is_read() {
        let output = "Latency histogram (values are in milliseconds)\n       0.250 |****  271832\n\nSQL statistics:\n    \
                      transactions:                        271832 (67938.90 per sec.)\n    \
                      queries:                             271832 (67938.90 per sec.)\n    \
                      ignored errors:                      1      (0.00 per sec.)\n    \
                      reconnects:                          2      (0.00 per sec.)\n\n\
                      General statistics:\n    total time:                          4.0002s\n";
        let run = parse(output).unwrap();
        assert_eq!((run.queries, run.seconds, run.errors), (271_832, 4.0002, 3));
        assert_eq!(run.latencies.percentile(0.99), Some(0.25));
        assert_eq!(parse("FATAL: unable to connect"), None);
    }
}
