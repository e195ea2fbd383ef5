//! The `bench` program: measures, prints a table, keeps every raw figure.

mod proxy_bench;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use shardwright_bench::{BenchError, Report};

/// Measurements of shardwright, run as `cargo xtask bench`. Raw figures go to docs/benchmarks/NAME.json.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    benchmark: Benchmark,
    /// Where raw figures are written.
    #[arg(long, global = true, default_value = "docs/benchmarks")]
    output: PathBuf,
}

#[derive(Subcommand)]
enum Benchmark {
    /// Time and processor time that a proxy adds to a point select, beside a raw TCP passthrough.
    Proxy(proxy_bench::Arguments),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let measured: Result<Report, BenchError> = match &arguments.benchmark {
        Benchmark::Proxy(options) => proxy_bench::run(options, progress),
    };
    let shown = measured.map_err(|error| error.to_string()).and_then(|report| {
        let path = report
            .save(&arguments.output)
            .map_err(|error| error.to_string())?;
        writeln!(io::stdout(), "{report}raw figures: {}", path.display()).map_err(|error| error.to_string())
    });
    match shown {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            progress(&format!("bench: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn progress(line: &str) {
    // Progress is for whoever watches; when nobody can, the figures still count.
    let _shown = writeln!(io::stderr(), "{line}");
}
