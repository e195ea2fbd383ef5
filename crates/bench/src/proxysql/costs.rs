//! What the rules of whole topologies take of a statement on the real engine.
//!
//! A [`Case`] is a topology, or shards of which there is a tree by hand too. Its rule sets take turns with the empty set, and
//! each set gets every workload of the case. All hostgroups of clusters become one, whose server answers every statement:
//! sets differ by their rules alone, whatever tables and schemas a topology speaks of.

mod cases;
mod estates;
mod examples;
mod groups;
mod hand_made;
mod measure;
mod scripts;
mod summary;
mod workloads;

use std::path::PathBuf;

use shardwright_testkit::NumberedServers;

use super::process::{self, ProxySql};
use crate::endpoint::pin_process;
use crate::{BenchError, Report};

pub use groups::Group;
use measure::Client;
pub(crate) use workloads::LONG_READ;

/// The hostgroup of every cluster.
const HOSTGROUP: u32 = 1;

/// What to measure.
#[derive(Clone, Debug)]
pub struct CostPlan {
    /// The ProxySQL.
    pub program: PathBuf,
    /// Which cases.
    pub groups: Vec<Group>,
    /// The directory of the examples.
    pub examples: PathBuf,
    /// Numbers of shards of [`Group::HandMade`].
    pub shards: Vec<u32>,
    /// How often each rule set has its turn.
    pub rounds: u32,
    /// Statements of each workload in each round.
    pub statements: u32,
    /// The core for proxy, servers and client.
    pub core: u32,
}

/// Measures; this process stays pinned to the core.
///
/// # Errors
/// Something does not start, a topology does not compile, or a statement is refused.
pub fn run(plan: &CostPlan, mut progress: impl FnMut(&str)) -> Result<Report, BenchError> {
    let version = process::version(&plan.program)?;
    let core = plan.core.to_string();
    let mut cases = Vec::new();
    for group in &plan.groups {
        cases.extend(group.cases(&plan.examples, &plan.shards)?);
    }
    let proxy = ProxySql::start(&plan.program, &core)?;
    pin_process(std::process::id(), &core, "pinning servers and client")?;
    let mut samples = Vec::new();
    for case in &cases {
        let users: Vec<&str> = case.users.iter().map(String::as_str).collect();
        let servers = NumberedServers::start([HOSTGROUP], &users)
            .map_err(BenchError::io("the server behind the proxy"))?;
        let mut client = Client {
            address: proxy.address(),
            group: proxy.group(),
            admin: proxy.admin()?,
            servers: &servers,
            statements: plan.statements,
        };
        client.prepare()?;
        for round in 1..=plan.rounds {
            progress(&format!("{}: round {round} of {}", case.name, plan.rounds));
            samples.extend(client.round(case, round)?);
        }
    }
    Ok(summary::report(plan, &version, &cases, &samples))
}
