//! The command line: every command and flag, with its help.

mod ask;
mod bench;
mod drift;
mod import;
mod output;
mod runs;
mod serve;
mod simulate;
mod switchover;
mod sync_users;
mod targets;
mod test;
mod tools;
mod unchecked;

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use shardwright_plan::render::SHOWN_DIGEST;

pub(crate) use self::ask::{
    ClientProfile, Equivalent, Explain, Graph, GraphForm, LogKind, Prove, ProveWhat, Refines, Report, Route,
    Traffic, TrafficWhat,
};
pub(crate) use self::bench::{Bench, BenchFailover, BenchWhat, Encryption};
pub(crate) use self::drift::Drift;
pub(crate) use self::import::{Adoption, Import, SecretPlace};
pub(crate) use self::output::{Annotate, Color, Format, ReportFile, ReportKind};
pub(crate) use self::runs::{History, Lock, LockWhat, Rollback, Show, Status};
pub(crate) use self::serve::{Proxy, ProxyLimits, Refuse};
pub(crate) use self::simulate::{LagUnit, Simulate};
pub(crate) use self::switchover::Switchover;
pub(crate) use self::sync_users::SyncUsers;
pub(crate) use self::targets::{Foreign, Ownership, Selection, StagedRows};
pub(crate) use self::test::Test;
pub(crate) use self::tools::{Completions, Document, Lsp, Schema};
pub(crate) use self::unchecked::UncheckedWords;

/// Write MySQL routing as YAML, check it, and apply it.
///
/// shardwright compiles a topology (clusters, users, shard maps, read/write policies, throttles) to query rules and
/// hostgroups, proves what can be proved about them, shows what would change, and applies it to the bundled
/// proxy in one step, or to ProxySQL, where what fails is taken back. Commands about files never open a socket.
#[derive(Debug, Parser)]
#[command(
    name = "shardwright",
    version,
    propagate_version = true,
    arg_required_else_help = true
)]
#[command(
    after_help = "Start here:\n  shardwright demo                 see it work, nothing to install\n  \
    shardwright -C DIR validate      check the project in DIR\n  \
    shardwright -C DIR plan          what an apply would change\n\n\
    Exit codes: 0 done, 1 failed, 2 changes present, 3 findings, 4 refused by policy, 5 stale or contended,\n\
    6 apply failed and undone, 7 apply failed and mixed, 8 undecided, 9 lock not up to date,\n64 bad command line, 65 bad document, 78 bad project file."
)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Flags of every command.
#[derive(Clone, Debug, ClapArgs)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// The project's directory
    #[arg(
        short = 'C',
        long = "directory",
        global = true,
        default_value = ".",
        value_name = "DIR"
    )]
    pub(crate) directory: PathBuf,
    /// Uses an environment of the project: env/NAME.yaml
    #[arg(short = 'e', long = "env", global = true, value_name = "NAME")]
    pub(crate) environment: Option<String>,
    /// Sets a variable of the topology
    #[arg(long = "var", global = true, value_name = "NAME=VALUE")]
    pub(crate) variables: Vec<String>,
    /// The output format
    #[arg(long, global = true, value_enum, default_value_t)]
    pub(crate) format: Format,
    /// When to use colour
    #[arg(long, global = true, value_enum, default_value_t)]
    pub(crate) color: Color,
    /// Writes the findings to a file, also when the run fails; repeatable. Kinds: json, sarif, junit, markdown, html
    #[arg(long = "report", global = true, value_name = "KIND=FILE")]
    pub(crate) reports: Vec<ReportFile>,
    /// Annotates the lines of a change with the findings
    #[arg(long, global = true, value_enum, value_name = "SERVICE")]
    pub(crate) annotate: Option<Annotate>,
    /// Shows the text of notes about engines, not only their number
    #[arg(long, global = true)]
    pub(crate) notes: bool,
    /// Only results and errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Reports what is read, compiled and written
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Demo(Demo),
    Init(Init),
    Import(Import),
    SyncUsers(SyncUsers),
    Fmt(Fmt),
    Validate(Validate),
    Lint(Lint),
    Explain(Explain),
    Compile(Compile),
    Route(Route),
    Test(Test),
    Prove(Prove),
    Traffic(Traffic),
    Simulate(Simulate),
    Graph(Graph),
    Report(Report),
    Diff(Diff),
    Drift(Drift),
    Plan(Plan),
    Show(Show),
    Apply(Apply),
    Rollback(Rollback),
    Status(Status),
    History(History),
    Lock(Lock),
    Switchover(Switchover),
    Bench(Bench),
    Proxy(Proxy),
    Refuse(Refuse),
    Schema(Schema),
    Completions(Completions),
    Lsp(Lsp),
}

impl Command {
    /// The name of a command that runs until it is ended, or shows what it does as it goes on: it has no result.
    pub(crate) fn without_result(&self) -> Option<&'static str> {
        match self {
            Self::Demo(_) => Some("demo"),
            Self::Proxy(_) => Some("proxy"),
            Self::Refuse(_) => Some("refuse"),
            Self::Lsp(_) => Some("lsp"),
            _ => None,
        }
    }
}

/// Runs a demonstration: embedded servers, the bundled proxy, a plan, an apply, and a dozen statements
///
/// Starts three SQLite-backed servers that speak the MySQL protocol and the bundled proxy, plans and applies
/// examples/world, sends statements through the proxy, and shows for each the shard it reached, the text that was sent,
/// the rows, and the rule that decided. No database has to be installed.
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  shardwright demo\n  shardwright demo --keep     # then connect with the mysql command that it prints"
)]
pub(crate) struct Demo {
    /// Keeps everything running until interrupted, and prints how to connect
    #[arg(long)]
    pub(crate) keep: bool,
}

/// Writes a new project that validates and lints clean
///
/// The template `start` is the smallest useful project, with explanations in comments. The other templates are the
/// examples of the documentation. --from writes what a ProxySQL runs today, as `import` does. Existing files are never
/// overwritten.
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  shardwright init\n  shardwright init --list\n  shardwright init --template tenants shop\n  \
    shardwright init --from mysql://admin@px-a1.internal:6032 shop"
)]
pub(crate) struct Init {
    /// The directory of the new project; default: the directory of -C
    pub(crate) target: Option<PathBuf>,
    /// The template to use
    #[arg(long, default_value = "start", value_name = "NAME")]
    pub(crate) template: String,
    /// An existing rule set to begin with: rules.sql, proxysql.cnf, proxysql-admin.cnf, config.toml or
    /// mysql://admin@host:6032
    #[arg(long, value_name = "SOURCE", conflicts_with_all = ["template", "list"])]
    pub(crate) from: Option<String>,
    #[command(flatten)]
    pub(crate) adoption: Adoption,
    /// Lists the templates
    #[arg(long)]
    pub(crate) list: bool,
}

/// Formats the project's YAML files: indentation, spacing and quotes
///
/// Comments, blank lines and order stay, and the meaning of a file never changes. A file with syntax errors is not
/// changed.
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  shardwright fmt\n  shardwright fmt --check\n  shardwright fmt --diff topology/shop.yaml\n  \
    shardwright fmt - < topology/shop.yaml"
)]
pub(crate) struct Fmt {
    /// Files and directories, or - for standard input; default: the project's own files
    pub(crate) paths: Vec<PathBuf>,
    /// Writes nothing, lists the files that would change, and exits 2 if there are any
    #[arg(long)]
    pub(crate) check: bool,
    /// Writes nothing and shows the changes
    #[arg(long)]
    pub(crate) diff: bool,
}

/// Checks syntax, schema and references of the project's files
///
/// --show resolved prints the resolved topology: generators and variables are expanded, the environment is applied, and
/// defaults are filled in. Each value is followed by its origin. The output is a valid topology file.
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  shardwright validate\n  shardwright -C examples/world validate --format json\n  \
    shardwright validate -e prod --show resolved\n  shardwright validate --show resolved clusters.pay users"
)]
pub(crate) struct Validate {
    /// Prints the resolved values, each with its origin
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) show: Option<Resolved>,
    /// Addresses to print, with everything below them; default: all
    #[arg(value_name = "ADDRESS")]
    pub(crate) addresses: Vec<String>,
}

/// `validate --show`
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Resolved {
    /// The topology
    Resolved,
    /// The project file
    Project,
}

/// Analyses the compiled rules: loops, unreachable rules, dangling jumps, empty hostgroups
///
/// Exits 3 when there are findings at or above --fail-on.
#[derive(Debug, Default, ClapArgs)]
#[command(
    after_help = "Examples:\n  shardwright lint\n  shardwright lint --engine proxysql-2.7 --fail-on error\n  \
    shardwright lint --select SW2,SW7 --format json\n  shardwright lint rules.sql"
)]
pub(crate) struct Lint {
    /// A rule set to analyse instead of the project: rules.sql or proxysql.cnf
    pub(crate) rules: Option<String>,
    /// Engines to compile for; default: every engine that the project lists
    #[arg(long, value_name = "ENGINE")]
    pub(crate) engine: Vec<String>,
    /// Codes or ranges of codes to report, such as SW2 or SW201
    #[arg(long, value_delimiter = ',', value_name = "CODES")]
    pub(crate) select: Vec<String>,
    /// Codes or ranges of codes to hide
    #[arg(long, value_delimiter = ',', value_name = "CODES")]
    pub(crate) ignore: Vec<String>,
    /// The lowest severity that makes the command exit 3
    #[arg(long, value_enum, default_value_t, value_name = "SEVERITY")]
    pub(crate) fail_on: FailOn,
    /// Applies the fixes that are proved not to change routing
    #[arg(long, conflicts_with = "rules")]
    pub(crate) fix: bool,
    /// With --fix, also applies fixes that change routing, and reports the changes
    #[arg(long, requires = "fix")]
    pub(crate) unsafe_fixes: bool,
    /// Hides the findings that this file lists
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,
    /// Writes the findings to the file of --baseline
    #[arg(long, requires = "baseline")]
    pub(crate) update_baseline: bool,
    /// The date that `until` of allow comments is compared with; default: today
    #[arg(long, value_name = "DAY", value_parser = day)]
    pub(crate) today: Option<jiff::civil::Date>,
}

/// `--fail-on`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    /// Errors
    Error,
    /// Warnings and errors
    #[default]
    Warning,
    /// Everything
    Info,
}

/// Compiles the topology to rules and hostgroups
///
/// Writes shardwright.lock beside the project file (with -e NAME: env/NAME.lock), unless --locked or --check.
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  shardwright compile --engine proxysql-2.7 --emit sql -o rules.sql\n  \
    shardwright compile --engine proxysql-2.7 --emit cnf -o proxysql.cnf\n  shardwright compile --emit tree\n  shardwright compile --stats --format json\n  shardwright compile --check"
)]
pub(crate) struct Compile {
    /// The engine to compile for; default: the first that the project lists
    #[arg(long, value_name = "ENGINE")]
    pub(crate) engine: Option<String>,
    /// What to write
    #[arg(long, value_enum)]
    pub(crate) emit: Option<Emit>,
    /// The file to write instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Prints rules, chains and evaluations of each shard map
    #[arg(long)]
    pub(crate) stats: bool,
    /// Exits 2 when shardwright.lock or the output file is not up to date; writes nothing
    #[arg(long)]
    pub(crate) check: bool,
    /// Refuses to change shardwright.lock
    #[arg(long)]
    pub(crate) locked: bool,
    /// How often keys are used: key,count lines, hit counters (rule_id, hits), or an export of
    /// stats_mysql_query_digest; for the layout of new trees, with --reshape of all trees
    #[arg(long, value_name = "FILE")]
    pub(crate) traffic: Option<PathBuf>,
    /// Lays out the trees of shard maps again; by default existing trees stay as they are
    #[arg(long, conflicts_with_all = ["check", "locked"])]
    pub(crate) reshape: bool,
}

/// `--emit`
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Emit {
    /// Statements for the ProxySQL admin port
    Sql,
    /// The configuration file of ProxySQL, proxysql.cnf
    Cnf,
    /// The configuration as data
    Json,
    /// Chains and rules, human-readable
    Tree,
}

/// Shows the differences between the project and its targets; exits 2 if there are any
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  shardwright diff\n  shardwright diff --target local --format json")]
pub(crate) struct Diff {
    #[command(flatten)]
    pub(crate) selection: Selection,
}

/// Shows what an apply would change, and can save it
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  shardwright plan\n  shardwright plan -o change.plan && shardwright apply change.plan\n  \
    shardwright plan --detailed-exitcode --format json"
)]
pub(crate) struct Plan {
    #[command(flatten)]
    pub(crate) selection: Selection,
    #[command(flatten)]
    pub(crate) ownership: Ownership,
    /// Saves the plan to a file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Exits 2 when there are changes
    #[arg(long)]
    pub(crate) detailed_exitcode: bool,
    /// Lifts one error, by the code of its finding, with the reason; `apply` asks for it again
    #[arg(long, value_name = "CODE=REASON")]
    pub(crate) allow: Vec<String>,
    /// Refuses to change shardwright.lock
    #[arg(long)]
    pub(crate) locked: bool,
    #[command(flatten)]
    pub(crate) staged: StagedRows,
}

/// Applies a saved plan, or plans, asks and applies
///
/// A saved plan is applied exactly, or refused with exit 5 if the target has changed since. Without a plan and without
/// a terminal, --auto-approve is needed.
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  shardwright apply\n  shardwright plan -o change.plan && shardwright apply change.plan\n  \
    shardwright apply --auto-approve --target local\n  \
    shardwright apply --expect-effects 3f0c4a1785d2b9e6"
)]
pub(crate) struct Apply {
    /// A plan saved by `shardwright plan -o`
    #[arg(conflicts_with = "staged")]
    pub(crate) plan: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) selection: Selection,
    #[command(flatten)]
    pub(crate) ownership: Ownership,
    /// Applies without asking
    #[arg(long)]
    pub(crate) auto_approve: bool,
    /// Lifts one safety limit, or one error by the code of its finding, with the reason
    #[arg(long, value_name = "CODE=REASON")]
    pub(crate) allow: Vec<String>,
    /// Waits up to this long until clients of ProxySQL no longer hold prepared statements that the new rules refuse (SW838)
    #[arg(long, value_name = "SECONDS", default_value_t = 0, hide_default_value = true, value_parser = clap::value_parser!(u64).range(0..=86_400))]
    pub(crate) drain: u64,
    /// Applies without asking if the plan has exactly these effects, and exits 5 otherwise
    ///
    /// The digest of a plan's effects is what was reviewed: it stays the same when a plan is made again and says the same.
    /// `plan` shows its first digits, which are enough; `plan --format json` has all of it (effect_digest).
    #[arg(long, value_name = "DIGEST", value_parser = digest)]
    pub(crate) expect_effects: Option<String>,
    #[command(flatten)]
    pub(crate) staged: StagedRows,
    /// Finishes a run that was cut off, exactly as it was planned
    #[arg(long, value_name = "RUN", conflicts_with_all = ["plan", "targets", "take_over", "allow", "expect_effects", "staged"])]
    pub(crate) resume: Option<String>,
}

/// The digest of `--expect-effects`, or enough of it.
fn digest(text: &str) -> Result<String, String> {
    let text = text.to_ascii_lowercase();
    let is_digest = text.bytes().all(|byte| byte.is_ascii_hexdigit());
    match is_digest && (SHOWN_DIGEST..=64).contains(&text.len()) {
        true => Ok(text),
        false => Err(format!(
            "at least {SHOWN_DIGEST} hexadecimal digits, as `plan` shows them"
        )),
    }
}

/// The day of `--today`.
fn day(text: &str) -> Result<jiff::civil::Date, String> {
    text.parse::<jiff::civil::Date>()
        .map_err(|_| "a day such as 2027-03-31".to_owned())
}
