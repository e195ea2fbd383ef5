//! The `bench` program: measures, prints a table, keeps every raw figure.

mod apply_bench;
mod crowd_bench;
mod failover_bench;
mod pattern_bench;
mod proxy_bench;
mod proxysql_bench;
mod scaling_bench;
mod throttle_bench;

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use shardwright_bench::{
    BenchError, Report, compile_time, decisions, instructions, lint_time, once, prove_time, test_time,
    traffic_rate, training, tree_costs, validate_time,
};

/// Measurements of shardwright, run as `cargo xtask bench`. Raw figures go to docs/benchmarks/NAME.json.
#[derive(Parser)]
#[command(name = "bench")]
struct Arguments {
    /// All of them, with their defaults, when none is named; all but apply, patterns and proxysql, which need a program of its own, and failover, scaling and throttle, which take a quarter of an hour or more.
    #[command(subcommand)]
    benchmark: Option<Benchmark>,
    /// Where raw figures are written.
    #[arg(long, global = true, default_value = "docs/benchmarks")]
    output: PathBuf,
}

#[derive(Subcommand)]
enum Benchmark {
    /// The bundled proxy beside a raw passthrough, HAProxy and ProxySQL: statements, connections, results, many clients.
    Proxy(proxy_bench::Arguments),
    /// Instructions of the proxy's own for a point select and for a connection, counted by callgrind: the same on a quiet machine
    /// and on a busy one.
    Instructions {
        /// Only loads whose name holds this: text, prepared, connect, result.
        #[arg(long, default_value = "")]
        only: String,
        /// Where the files of callgrind are kept, for `callgrind_annotate`; nowhere if it is not given.
        #[arg(long)]
        keep: Option<PathBuf>,
    },
    /// Statements per second, and what the server spends on them, with 2,000 clients of which 200 work: a thread for each
    /// connection, a pool of threads, and connections that a proxy shares.
    Crowd(crowd_bench::Arguments),
    /// Inserts while the writer of replicas and of Galera fails, behind the bundled proxy, HAProxy, and ProxySQL where there is one.
    Failover(failover_bench::Arguments),
    /// Reads and writes on a Galera cluster with 16 to 256 clients that connect anew for each, behind the same proxies.
    Scaling(scaling_bench::Arguments),
    /// How far replicas are behind that wait for their disks, and how many statements get through: a regulated throttle beside a
    /// loop that switches a delay.
    Throttle(throttle_bench::Arguments),
    /// Time and memory to compile 200 to 1,000,000 shards, whole process, how they grow, and what the trees cost.
    Compile {
        /// Larger projects are left out.
        #[arg(long, default_value_t = 1_000_000)]
        most: u32,
    },
    /// Time to validate 200 to 1,000,000 shards, generated and written out, whole process.
    Validate {
        /// Larger projects are left out.
        #[arg(long, default_value_t = 1_000_000)]
        most: u32,
    },
    /// Time to decide one statement at 10 to 1,000,000 shards.
    Decisions {
        /// Larger configurations are left out.
        #[arg(long, default_value_t = 100_000)]
        most: u32,
    },
    /// Time and memory of the analysis: compiled trees, lists written by hand, and 100,000 shards, whole process.
    Lint,
    /// Time and memory of comparisons: large rule sets, and those that use up the default budget.
    Prove {
        /// Only cases whose name holds this.
        #[arg(long, default_value = "")]
        only: String,
    },
    /// Time of 1,000 and 100,000 route tests, whole process.
    Test,
    /// Statements of a log that are compared in a second, and those that one table decides, on one core.
    Traffic {
        /// Only cases whose name holds this, such as `proxysql-2.7, 10000`.
        #[arg(long, default_value = "")]
        only: String,
    },
    /// Throughput and processor time of a ProxySQL without rules, with a flat list and with a compiled tree, and the prices
    /// that fit them.
    Proxysql(proxysql_bench::Arguments),
    /// Time of `plan` and `apply` on a real ProxySQL, whole process: all shards first, then one that moves; and what a client
    /// of that ProxySQL feels meanwhile.
    Apply(apply_bench::Arguments),
    /// What one evaluation of each kind of pattern costs a ProxySQL, by the length of the text; refreshes the prices of the
    /// cost model.
    Patterns(pattern_bench::Arguments),
    /// Puts the work of a proxy on a program that counts its steps; `cargo xtask profile` makes it.
    #[command(hide = true)]
    Train { shardwright: PathBuf },
    /// Runs one command and prints what it took.
    #[command(name = once::SUBCOMMAND, hide = true)]
    Once {
        #[arg(last = true, required = true)]
        command: Vec<OsString>,
    },
}

impl Benchmark {
    fn all() -> Vec<Self> {
        vec![
            Self::Compile { most: 1_000_000 },
            Self::Validate { most: 10_000 },
            Self::Decisions { most: 100_000 },
            Self::Lint,
            Self::Prove { only: String::new() },
            Self::Test,
            Self::Traffic { only: String::new() },
            Self::Proxy(proxy_bench::Arguments::default()),
            Self::Crowd(crowd_bench::Arguments::default()),
        ]
    }

    /// Measures; `keep` gets each report as soon as there is one.
    fn run(&self, keep: impl Fn(&Report) -> Result<(), BenchError>) -> Result<(), BenchError> {
        let report = match self {
            Self::Proxy(options) => return proxy_bench::run(options, keep, progress),
            Self::Instructions { only, keep } => {
                let plan = instructions::Plan {
                    shardwright: shardwright()?,
                    only: only.clone(),
                    keep: keep.clone(),
                };
                instructions::run(&plan, progress)?
            }
            Self::Crowd(options) => crowd_bench::run(options, progress)?,
            Self::Failover(options) => failover_bench::run(options, progress)?,
            Self::Scaling(options) => scaling_bench::run(options, progress)?,
            Self::Throttle(options) => throttle_bench::run(options, progress)?,
            Self::Compile { most } => {
                let times = compile_time::run(&shardwright()?, *most, progress)?;
                keep(&times)?;
                tree_costs::run(*most, progress)
            }
            Self::Validate { most } => validate_time::run(&shardwright()?, *most, progress)?,
            Self::Decisions { most } => decisions::run(*most, progress),
            Self::Lint => lint_time::run(&shardwright()?, progress)?,
            Self::Prove { only } => prove_time::run(only, progress)?,
            Self::Test => test_time::run(&shardwright()?, progress)?,
            Self::Traffic { only } => traffic_rate::run(only, progress)?,
            Self::Train { shardwright } => return training::run(shardwright, progress),
            Self::Once { command } => {
                let took = serde_json::to_string(&once::here(command)?).expect("numbers have a text");
                writeln!(io::stdout(), "{took}").map_err(BenchError::io("writing what a run took"))?;
                return Ok(());
            }
            Self::Apply(options) => options.run(shardwright()?, progress)?,
            Self::Patterns(options) => return options.run(keep, progress),
            Self::Proxysql(options) => return options.run(keep, progress),
        };
        keep(&report)
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let benchmarks = arguments
        .benchmark
        .map_or_else(Benchmark::all, |named| vec![named]);
    for benchmark in benchmarks {
        if let Err(error) = benchmark.run(|report| show(report, &arguments.output)) {
            progress(&format!("bench: {error}"));
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn show(report: &Report, output: &Path) -> Result<(), BenchError> {
    let failed = || BenchError::io(format!("writing the figures of {}", report.name));
    let path = report.save(output).map_err(failed())?;
    writeln!(io::stdout(), "{report}raw figures: {}\n", path.display()).map_err(failed())
}

/// The program that is measured: the one that `cargo xtask bench` names, or else that beside this one.
fn shardwright() -> Result<PathBuf, BenchError> {
    std::env::var_os("SHARDWRIGHT_BIN").map_or_else(|| beside("shardwright"), |named| Ok(named.into()))
}

/// A program that is built beside this one.
fn beside(program: &str) -> Result<PathBuf, BenchError> {
    let here = std::env::current_exe().map_err(|source| BenchError::Io {
        what: "the path of this program".to_owned(),
        source,
    })?;
    Ok(here.with_file_name(program))
}

fn progress(line: &str) {
    // Progress is for whoever watches; when nobody can, the figures still count.
    let _shown = writeln!(io::stderr(), "{line}");
}
