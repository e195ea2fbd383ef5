//! Rule sets in turn, each with every workload of its case.

use std::net::SocketAddr;
use std::time::Instant;

use mysql::Conn;
use mysql::prelude::Queryable;
use serde::Serialize;
use shardwright_testkit::{ClientOptions, NumberedServers, connect, text_rows};

use super::cases::{Case, Made, RuleSet};
use super::workloads::Workload;
use crate::{BenchError, cpu_time_of_group};

/// Statements before each measurement, at least: the proxy copies new rules into its thread and finds its connections.
const WARM_UP: usize = 200;

/// One rule set under one workload in one round.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Sample {
    pub(super) case: String,
    pub(super) workload: String,
    pub(super) made: Made,
    pub(super) round: u32,
    pub(super) statements: u64,
    pub(super) seconds: f64,
    /// Of the proxy's process group.
    pub(super) cpu_ns: u64,
}

impl Sample {
    /// Processor time of the proxy for a statement.
    pub(super) fn ns(&self) -> f64 {
        self.cpu_ns as f64 / self.statements as f64
    }
}

/// What sends statements and loads rules.
pub(super) struct Client<'s> {
    pub(super) address: SocketAddr,
    /// The process group whose processor time is counted.
    pub(super) group: u32,
    pub(super) admin: Conn,
    pub(super) servers: &'s NumberedServers,
    pub(super) statements: u32,
}

impl Client<'_> {
    /// Puts the server behind the proxy.
    pub(super) fn prepare(&mut self) -> Result<(), BenchError> {
        self.run("DELETE FROM mysql_servers")?;
        for row in self.servers.rows() {
            self.run(&row)?;
        }
        self.run("LOAD MYSQL SERVERS TO RUNTIME")
    }

    /// Every set of a case with every workload.
    pub(super) fn round(&mut self, case: &Case, round: u32) -> Result<Vec<Sample>, BenchError> {
        let mut samples = Vec::new();
        for set in &case.sets {
            self.load(set)?;
            for workload in &case.workloads {
                let (statements, seconds, cpu_ns) = self.measure(workload)?;
                samples.push(Sample {
                    case: case.name.clone(),
                    workload: workload.name.clone(),
                    made: set.made,
                    round,
                    statements,
                    seconds,
                    cpu_ns,
                });
                // What has arrived is of no interest, and millions of texts are much memory.
                drop(self.servers.take_arrivals());
            }
        }
        Ok(samples)
    }

    fn run(&mut self, statement: &str) -> Result<(), BenchError> {
        let refused = |error: mysql::Error| BenchError::Output {
            what: format!("the admin port refused {statement}"),
            output: error.to_string(),
        };
        self.admin.query_drop(statement).map_err(refused)
    }

    /// Replaces users and rules. ProxySQL drops rules that it cannot use without an error.
    fn load(&mut self, set: &RuleSet) -> Result<(), BenchError> {
        for table in [
            "mysql_query_rules",
            "mysql_query_rules_fast_routing",
            "mysql_users",
        ] {
            self.run(&format!("DELETE FROM {table}"))?;
        }
        for statement in &set.statements {
            self.run(statement)?;
        }
        for what in ["VARIABLES", "USERS", "QUERY RULES"] {
            self.run(&format!("LOAD MYSQL {what} TO RUNTIME"))?;
        }
        let count = "SELECT COUNT(*) FROM runtime_mysql_query_rules";
        let rows = text_rows(&mut self.admin, count)?;
        let live = rows.into_iter().flatten().flatten().next().unwrap_or_default();
        if live == set.rules.to_string() {
            return Ok(());
        }
        Err(BenchError::Output {
            what: "rules that were loaded are not live".to_owned(),
            output: format!("{} loaded, {live} live", set.rules),
        })
    }

    /// Statements, seconds and nanoseconds of the proxy.
    fn measure(&self, workload: &Workload) -> Result<(u64, f64, u64), BenchError> {
        let mut sessions = Vec::new();
        for (user, schema) in &workload.sessions {
            let options = ClientOptions {
                user,
                password: "",
                schema: schema.as_deref(),
            };
            sessions.push((connect(self.address, options)?, schema));
        }
        let mut run = |statements: usize| -> Result<(), BenchError> {
            for asked in workload.asked.iter().cycle().take(statements) {
                let (connection, schema) = &mut sessions[asked.session];
                if let (true, Some(name)) = (**schema != asked.schema, &asked.schema) {
                    connection.select_db(name)?;
                    *schema = &asked.schema;
                }
                let refused = |error: mysql::Error| BenchError::Output {
                    what: format!("{} refused {}", workload.name, asked.text),
                    output: error.to_string(),
                };
                connection.query_drop(&asked.text).map_err(refused)?;
            }
            Ok(())
        };
        let turn = workload.asked.len();
        run(WARM_UP.max(turn.min(1_000)))?;
        let statements = (self.statements as usize).div_ceil(turn) * turn;
        let cpu = || cpu_time_of_group(self.group).map_err(BenchError::io("processor time of the proxy"));
        let (before, start) = (cpu()?, Instant::now());
        run(statements)?;
        let (seconds, after) = (start.elapsed().as_secs_f64(), cpu()?);
        let cpu_ns = u64::try_from(after.saturating_sub(before).as_nanos()).unwrap_or(u64::MAX);
        Ok((statements as u64, seconds, cpu_ns))
    }
}
