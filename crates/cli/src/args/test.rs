//! Flags of `test`.

use clap::Args as ClapArgs;

/// Runs the route tests and properties of tests/**/*.yaml, without a server
///
/// Compiles for every engine that the project lists, and compares where statements go with what the tests expect.
/// Properties are proved over the compiled rules, refuted by a statement, or reported as undecided. Exits 3 when a
/// statement does not go where a test expects, or a property is refuted.
#[derive(Debug, ClapArgs)]
#[command(
    group = clap::ArgGroup::new("measured").args(["coverage", "mutants"]).multiple(true),
    after_help = "Examples:\n  shardwright test\n  shardwright test \"every hint\" --engine proxysql-2.7\n  \
    shardwright test --format json\n  shardwright test --coverage --fail-under 90\n  shardwright test --mutants --most 100"
)]
pub(crate) struct Test {
    /// Only tests whose name contains this
    pub(crate) name: Option<String>,
    /// Engines to compile for; default: every engine that the project lists
    #[arg(long, value_name = "ENGINE")]
    pub(crate) engine: Vec<String>,
    /// Reports which rules, shards and branches no test reaches
    #[arg(long)]
    pub(crate) coverage: bool,
    /// Makes many small changes to the compiled configuration, and reports those that no test notices
    #[arg(long)]
    pub(crate) mutants: bool,
    /// The lowest accepted coverage, and share of noticed mutants, in percent
    #[arg(long, value_name = "PERCENT", value_parser = percent, requires = "measured")]
    pub(crate) fail_under: Option<f64>,
    /// The largest number of mutants for each engine
    #[arg(long, value_name = "N", default_value_t = 500, requires = "mutants", value_parser = at_least_one)]
    pub(crate) most: usize,
}

/// A number of mutants: none is no measurement.
fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err("a number from 1 on".to_owned()),
    }
}

/// A share of 0 to 100 percent.
fn percent(text: &str) -> Result<f64, String> {
    match text.trim_end_matches('%').parse::<f64>() {
        Ok(share) if (0.0..=100.0).contains(&share) => Ok(share),
        _ => Err("a percentage from 0 to 100".to_owned()),
    }
}
