//! Flat lists and compiled trees in a ProxySQL, and the prices of the cost model that follow.

mod admin;
pub mod costs;
pub mod patterns;
pub mod price_file;
pub mod prices;
mod process;
mod rounds;
mod rule_sets;
mod summary;

pub(crate) use costs::LONG_READ;
use std::net::SocketAddr;
use std::path::PathBuf;

use mysql::Conn;
use shardwright_rules::RegexEngine;
use shardwright_testkit::{MariaDb, Options};

use crate::endpoint::pin_process;
use crate::{BenchError, Report};
use prices::{FitError, Fitted};
use process::ProxySql;
use rounds::Client;
pub(crate) use rule_sets::Layout;
use rule_sets::{PASSWORD, RuleSet, USER};

/// Most shards of a measurement.
pub const MOST_SHARDS: u32 = rounds::MOST_SHARDS;

/// What to measure.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The ProxySQL.
    pub program: PathBuf,
    /// Numbers of shards, each from 2 to [`MOST_SHARDS`].
    pub shards: Vec<u32>,
    /// How often each rule set has its turn.
    pub rounds: u32,
    /// At least so many statements of each rule set in each round.
    pub statements: u32,
    /// The core for server, proxy and client.
    pub core: u32,
    /// The library that matches patterns.
    pub regex: RegexEngine,
}

/// What was measured.
#[derive(Clone, Debug)]
pub struct Measured {
    /// All figures.
    pub report: Report,
    /// What ProxySQL says of its version.
    pub version: String,
    /// The prices that fit them.
    pub prices: Result<Fitted, FitError>,
}

/// Starts a server and the proxy, and measures. This process stays pinned to the core.
///
/// # Errors
/// Something does not start, or a statement fails.
pub fn run(plan: &Plan, progress: impl FnMut(&str)) -> Result<Measured, BenchError> {
    let version = process::version(&plan.program)?;
    let core = plan.core.to_string();
    let server = MariaDb::start(Options {
        wrapper: ["taskset", "-c", &core].map(str::to_owned).to_vec(),
        ..Options::default()
    })?;
    server.run(format!("CREATE DATABASE {USER}"))?;
    server.create_user(USER, PASSWORD, Some(&format!("ALL ON {USER}.*")))?;
    let mut sets = Vec::new();
    for &shards in &plan.shards {
        for layout in Layout::ALL {
            sets.push(rule_sets::rule_set(layout, shards, server.address(), plan.regex)?);
        }
    }
    let proxy = ProxySql::start(&plan.program, &core)?;
    pin_process(std::process::id(), &core, "pinning the client")?;
    let client = Client {
        address: proxy.address(),
        group: proxy.group(),
        statements: plan.statements,
    };
    let mut connection = proxy.admin()?;
    let load = |set: &RuleSet| admin::load(&mut connection, &set.script, set.rules);
    let samples = rounds::run(&sets, plan.rounds, &client, load, progress)?;
    Ok(summary::measured(plan, version, &sets, &samples))
}

/// Loads the rules of that layout by an admin port, with their user and the server at `backend`.
///
/// # Errors
/// A statement is refused, or not every rule is live.
pub(crate) fn load_rule_set(
    admin: &mut Conn,
    layout: Layout,
    shards: u32,
    backend: SocketAddr,
) -> Result<(), BenchError> {
    let set = rule_sets::rule_set(layout, shards, backend, RegexEngine::Pcre)?;
    admin::load(admin, &set.script, set.rules)
}
