//! `bench proxysql`: which ProxySQL is measured, for how long, and where prices go.

use std::fs;
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Args, CommandFactory};
use shardwright_bench::proxysql::costs::{self, CostPlan, Group};
use shardwright_bench::proxysql::{MOST_SHARDS, Measured, Plan, price_file, run};
use shardwright_bench::{BenchError, Report};
use shardwright_rules::{EngineId, RegexEngine};

#[derive(Args)]
pub(crate) struct Arguments {
    /// The ProxySQL to start, 2.7 or 3.0.
    #[arg(long, env = "PROXYSQL_BIN", value_name = "FILE", value_parser = program)]
    binary: Option<PathBuf>,
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
    /// The core for server, proxy and client.
    #[arg(long, default_value_t = 0)]
    core: u32,
    /// The library that matches patterns, whose price is found.
    #[arg(long, default_value = "pcre", value_parser = PossibleValuesParser::new(["pcre", "re2"]).map(regex))]
    regex: RegexEngine,
    /// Measures the rules of whole topologies instead, and finds no prices.
    #[arg(long, value_name = "WHICH", value_delimiter = ',', num_args = 1.., value_parser = groups(),
        conflicts_with_all = ["write_prices", "regex"])]
    rules: Vec<Group>,
    /// The directory of the examples, for --rules.
    #[arg(long, value_name = "DIR", default_value = "examples")]
    examples: PathBuf,
    /// Writes the prices that fit best to the source that the profiles are built with, or to FILE.
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = price_file::FILE)]
    write_prices: Option<PathBuf>,
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

impl Arguments {
    /// Measures, hands the report to `keep`, and writes prices when they are wanted.
    pub(crate) fn run(
        &self,
        keep: impl FnOnce(&Report) -> Result<(), BenchError>,
        progress: impl Fn(&str),
    ) -> Result<(), BenchError> {
        let Some(program) = self.binary.clone() else {
            let missing = "no ProxySQL to measure: say where one is with PROXYSQL_BIN or --binary";
            crate::Arguments::command()
                .error(ErrorKind::MissingRequiredArgument, missing)
                .exit();
        };
        if !self.rules.is_empty() {
            let plan = CostPlan {
                program,
                groups: self.rules.clone(),
                examples: self.examples.clone(),
                shards: self.shards.clone(),
                rounds: self.rounds,
                statements: self.statements,
                core: self.core,
            };
            return keep(&costs::run(&plan, &progress)?);
        }
        let plan = Plan {
            program,
            shards: self.shards.clone(),
            rounds: self.rounds,
            statements: self.statements,
            core: self.core,
            regex: self.regex,
        };
        let measured = run(&plan, &progress)?;
        keep(&measured.report)?;
        let Some(file) = &self.write_prices else {
            return Ok(());
        };
        fs::write(file, self.prices(&measured)?).map_err(BenchError::io(file.display().to_string()))?;
        progress(&format!(
            "wrote {}; a build compiles with these prices from now on",
            file.display()
        ));
        Ok(())
    }

    fn prices(&self, measured: &Measured) -> Result<String, BenchError> {
        let fitted = measured.prices.map_err(|error| BenchError::Output {
            what: "no prices were written".to_owned(),
            output: error.to_string(),
        })?;
        let current = EngineId::Proxysql27.profile().prices;
        let source = format!("{}, with client, proxy and server on one core.", measured.version);
        Ok(price_file::file(
            price_file::refreshed(current, self.regex, fitted),
            &source,
        ))
    }
}
