//! `bench patterns`: which ProxySQL is measured, for how long, and where prices go.

use std::fs;
use std::path::PathBuf;

use clap::Args;
use shardwright_bench::proxysql::patterns::{PatternPlan, run};
use shardwright_bench::proxysql::price_file;
use shardwright_bench::{BenchError, Report};
use shardwright_rules::EngineId;

use crate::proxysql_bench::Engine;

#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    engine: Engine,
    /// How many rounds.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Writes the prices of patterns and of a visit to the source that the profiles are built with, or to FILE.
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = price_file::FILE)]
    write_prices: Option<PathBuf>,
}

impl Arguments {
    /// Measures, hands the report to `keep`, and writes prices when they are wanted.
    pub(crate) fn run(
        &self,
        keep: impl FnOnce(&Report) -> Result<(), BenchError>,
        progress: impl Fn(&str),
    ) -> Result<(), BenchError> {
        let regex = self.engine.regex;
        let plan = PatternPlan {
            program: self.engine.program(),
            rounds: self.rounds,
            core: self.engine.core,
            regex,
        };
        let measured = run(&plan, &progress)?;
        keep(&measured.report)?;
        let Some(file) = &self.write_prices else {
            return Ok(());
        };
        let current = EngineId::Proxysql27.profile().prices;
        let prices = price_file::refreshed(current, regex, measured.prices, measured.visit_ns);
        let source = format!("{}, with client and proxy on one core.", measured.version);
        fs::write(file, price_file::file(prices, &source))
            .map_err(BenchError::io(file.display().to_string()))?;
        progress(&format!(
            "wrote {}; a build compiles with these prices from now on",
            file.display()
        ));
        Ok(())
    }
}
