//! `bench proxysql`: which ProxySQL is measured, and for how long.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Args, CommandFactory};
use shardwright_bench::proxysql::costs::{self, CostPlan, Group};
use shardwright_bench::proxysql::{MOST_SHARDS, Plan, run};
use shardwright_bench::{BenchError, Report};
use shardwright_rules::RegexEngine;

/// Which ProxySQL is measured.
#[derive(Args)]
pub(crate) struct Program {
    /// The ProxySQL to start, 2.7 or 3.0.
    #[arg(long, env = "PROXYSQL_BIN", value_name = "FILE", value_parser = program)]
    binary: Option<PathBuf>,
}

/// Which ProxySQL is measured, and how.
#[derive(Args)]
pub(crate) struct Engine {
    #[command(flatten)]
    program: Program,
    /// The core for server, proxy and client.
    #[arg(long, default_value_t = 0)]
    pub(crate) core: u32,
    /// The library that matches patterns.
    #[arg(long, default_value = "pcre", value_parser = PossibleValuesParser::new(["pcre", "re2"]).map(regex))]
    pub(crate) regex: RegexEngine,
}

#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    engine: Engine,
    /// Numbers of shards.
    #[arg(long, value_delimiter = ',', default_values_t = [200, 1_000, 5_000],
        value_parser = clap::value_parser!(u32).range(2..=i64::from(MOST_SHARDS)))]
    shards: Vec<u32>,
    /// How many rounds.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Statements of each rule set in each round, made up to a multiple of its shards.
    #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    statements: u32,
    /// Measures the rules of whole topologies instead.
    #[arg(long, value_name = "WHICH", value_delimiter = ',', num_args = 1.., value_parser = groups())]
    rules: Vec<Group>,
    /// The directory of the examples, for --rules.
    #[arg(long, value_name = "DIR", default_value = "examples")]
    examples: PathBuf,
}

fn program(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    if path.is_file() {
        Ok(path)
    } else {
        Err("no such file".to_owned())
    }
}

/// The topologies by their names.
fn groups() -> impl TypedValueParser<Value = Group> {
    let named = |name: String| {
        Group::ALL
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, group)| *group)
    };
    PossibleValuesParser::new(Group::ALL.map(|(name, _)| name))
        .try_map(move |name| named(name).ok_or("no such topology"))
}

fn regex(name: String) -> RegexEngine {
    if name == "re2" {
        RegexEngine::Re2
    } else {
        RegexEngine::Pcre
    }
}

impl Engine {
    /// The program; the process ends with exit code 2 where there is none.
    pub(crate) fn program(&self) -> PathBuf {
        self.program.file()
    }
}

impl Program {
    /// Its path; the process ends with exit code 2 where there is none.
    pub(crate) fn file(&self) -> PathBuf {
        self.binary.clone().unwrap_or_else(|| {
            let missing = "no ProxySQL to measure: say where one is with PROXYSQL_BIN or --binary";
            crate::Arguments::command()
                .error(ErrorKind::MissingRequiredArgument, missing)
                .exit()
        })
    }
}

impl Arguments {
    /// Measures, and hands the report to `keep`.
    pub(crate) fn run(
        &self,
        keep: impl FnOnce(&Report) -> Result<(), BenchError>,
        progress: impl Fn(&str),
    ) -> Result<(), BenchError> {
        if !self.rules.is_empty() {
            let plan = CostPlan {
                program: self.engine.program(),
                groups: self.rules.clone(),
                examples: self.examples.clone(),
                shards: self.shards.clone(),
                rounds: self.rounds,
                statements: self.statements,
                core: self.engine.core,
            };
            return keep(&costs::run(&plan, &progress)?);
        }
        let plan = Plan {
            program: self.engine.program(),
            shards: self.shards.clone(),
            rounds: self.rounds,
            statements: self.statements,
            core: self.engine.core,
            regex: self.engine.regex,
        };
        keep(&run(&plan, &progress)?.report)
    }
}
