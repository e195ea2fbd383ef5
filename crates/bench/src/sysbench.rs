//! `sysbench` as the client of measurements.

use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use serde::Serialize;

use crate::BenchError;

/// Rows of the table that statements read.
const TABLE_SIZE: u32 = 10_000;

/// Point selects by primary key, one table, text protocol.
#[derive(Debug, Clone)]
pub struct PointSelect {
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

/// What one run did.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SysbenchRun {
    /// Statements.
    pub queries: u64,
    /// Seconds from the first statement to the last.
    pub seconds: f64,
    /// Statements and connections that failed.
    pub errors: u64,
}

impl PointSelect {
    /// Creates and fills the table.
    ///
    /// # Errors
    /// What `sysbench` printed when it failed.
    pub fn prepare(&self, server: SocketAddr) -> Result<(), BenchError> {
        self.sysbench(server, &["prepare"]).map(|_| ())
    }

    /// Selects for `duration`.
    ///
    /// # Errors
    /// What `sysbench` printed when it failed or a statement did.
    pub fn run(&self, server: SocketAddr, duration: Duration) -> Result<SysbenchRun, BenchError> {
        let time = format!("--time={}", duration.as_secs().max(1));
        let output = self.sysbench(server, &[&time, "--db-ps-mode=disable", "run"])?;
        let run = parse(&output);
        match run {
            Some(run) if run.queries > 0 && run.errors == 0 => Ok(run),
            _ => Err(BenchError::Output {
                what: "sysbench: not only successful statements".to_owned(),
                output,
            }),
        }
    }

    fn sysbench(&self, server: SocketAddr, arguments: &[&str]) -> Result<String, BenchError> {
        let output = Command::new("taskset")
            .args([
                "-c",
                &self.cores,
                "sysbench",
                "oltp_point_select",
                "--db-driver=mysql",
            ])
            .arg(format!("--mysql-host={}", server.ip()))
            .arg(format!("--mysql-port={}", server.port()))
            .arg(format!("--mysql-user={}", self.user))
            .arg(format!("--mysql-password={}", self.password))
            .arg(format!("--mysql-db={}", self.schema))
            .arg(format!("--threads={}", self.threads))
            .args(["--tables=1", &format!("--table-size={TABLE_SIZE}")])
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
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_of_a_run_is_read() {
        let output = "SQL statistics:\n    transactions:                        271832 (67938.90 per sec.)\n    \
                      queries:                             271832 (67938.90 per sec.)\n    \
                      ignored errors:                      1      (0.00 per sec.)\n    \
                      reconnects:                          2      (0.00 per sec.)\n\n\
                      General statistics:\n    total time:                          4.0002s\n";
        assert_eq!(
            parse(output),
            Some(SysbenchRun {
                queries: 271_832,
                seconds: 4.0002,
                errors: 3
            })
        );
        assert_eq!(parse("FATAL: unable to connect"), None);
    }
}
