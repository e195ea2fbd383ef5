//! The commands about rule sets: where statements go, what differs, how rules lead to each other.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand, ValueEnum};
use shardwright_rules::is_client_address;

/// Shows where statements go, and why: the rules that matched, and those that did not
///
/// Needs no server. Several statements, separated by semicolons, form one session: transactions, USE, SET autocommit and
/// next_query_flagIN carry over. Without SQL, reads from standard input.
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  shardwright route --user app \"/* tenant=17 */ SELECT * FROM orders\"\n  \
    shardwright route --user geo --schema world --format json \"SELECT 1 FROM City WHERE Continent='Asia'\"\n  \
    shardwright route --user app \"BEGIN; SELECT 1 FROM t; COMMIT\"\n  \
    shardwright route --rules rules.sql --user app \"SELECT 1\"\n  \
    shardwright route --against git:HEAD --file session.sql --user app"
)]
pub(crate) struct Route {
    /// The statement, or a script
    #[arg(conflicts_with = "file")]
    pub(crate) sql: Option<String>,
    /// A file with a script
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// A rule set to use instead of the project: rules.sql, proxysql.cnf, git:REV, plan:FILE, live
    #[arg(long, value_name = "RULES")]
    pub(crate) rules: Option<String>,
    /// A second rule set to compare with: live, git:REV, plan:FILE, a file or a folder
    #[arg(long, value_name = "RULES")]
    pub(crate) against: Option<String>,
    /// The listener of the session: its name, its port, or ADDRESS:PORT
    #[arg(long, value_name = "NAME")]
    pub(crate) listener: Option<String>,
    /// The chain where the first statement starts, as if set by next_query_flagIN
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub(crate) flag: u32,
    /// How the client program changes statements
    #[arg(long, value_enum, default_value_t, value_name = "PROFILE")]
    pub(crate) client_profile: ClientProfile,
    /// The user of the session; optional if there is only one
    #[arg(long)]
    pub(crate) user: Option<String>,
    /// The session's schema; default: the user's schema
    #[arg(long)]
    pub(crate) schema: Option<String>,
    /// The client's address: an IP address, or localhost for a unix socket
    #[arg(long, value_name = "ADDRESS", value_parser = client_address)]
    pub(crate) client: Option<String>,
    /// Also says which servers take the statement if this holds: db1=down (or pay/db1=down), read-only, promoted, minority, lag:20s,
    /// lag:unknown, queue:500. Repeat it for several servers
    #[arg(long = "if", value_name = "SERVER=STATE")]
    pub(crate) suppose: Vec<String>,
    /// The engine to compile for; default: the first that the project lists
    #[arg(long, value_name = "ENGINE")]
    pub(crate) engine: Option<String>,
}

fn client_address(text: &str) -> Result<String, String> {
    if is_client_address(text) {
        Ok(text.to_owned())
    } else {
        Err("expected an IP address without a port, or localhost".to_owned())
    }
}

/// `--client-profile`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ClientProfile {
    /// Nothing: drivers send what they are given
    #[default]
    Plain,
    /// Removes comments, as the mysql and mariadb commands do without --comments
    MysqlCommand,
}

/// Proves claims about rule sets, or shows a statement that refutes them
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  shardwright prove equivalent git:HEAD .\n  shardwright prove refines . --of git:HEAD"
)]
pub(crate) struct Prove {
    #[command(subcommand)]
    pub(crate) what: ProveWhat,
}

/// A claim.
#[derive(Debug, Subcommand)]
pub(crate) enum ProveWhat {
    Equivalent(Equivalent),
    Refines(Refines),
}

/// Whether a rule set places no statement where another one does not; it may refuse
///
/// Exits 0 if this is proved, 3 if a statement refutes it, 8 if it is undecided. Lists what A refuses and B serves, by
/// reason. Hostgroups correspond by cluster and role. A may use the writer where B uses the readers of the same cluster.
/// Rule sets are named as for `prove equivalent`; env:NAME is the project of -C in that environment. If --of names an
/// engine, B is A compiled for that engine.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  shardwright prove refines . --of git:HEAD\n  \
    shardwright prove refines . --engine proxysql-2.7 --of bundled\n  \
    shardwright prove refines env:staging --of env:prod\n  \
    shardwright prove refines plan:change.plan --of live")]
pub(crate) struct Refines {
    /// The rule set that may be stricter
    pub(crate) a: String,
    /// The rule set that it is held against, or an engine
    #[arg(long, value_name = "B")]
    pub(crate) of: String,
    /// The engine of A, and of B unless --of names one
    #[arg(long, value_name = "ENGINE")]
    pub(crate) engine: Option<String>,
    /// How many times the usual work and memory the proof may take
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) budget: u32,
}

/// Whether two rule sets send every statement of every session the same way
///
/// Exits 0 if this is proved, 3 if a statement refutes it, 8 if it is undecided. A rule set is
/// rules.sql or proxysql.cnf, a folder with a project, git:REV (the project of -C as a revision has it), plan:FILE, live,
/// or live:TARGET. With one rule set and two engines, compares its meaning on the two engines.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  shardwright prove equivalent git:HEAD .\n  \
    shardwright prove equivalent old.sql new.sql --format json\n  \
    shardwright prove equivalent live plan:change.plan\n  \
    shardwright prove equivalent old.sql new.sql --log slow.log\n  \
    shardwright prove equivalent . --engine bundled --engine proxysql-2.7")]
pub(crate) struct Equivalent {
    /// A rule set
    pub(crate) a: String,
    /// Another rule set; default: the same one, for two engines
    pub(crate) b: Option<String>,
    /// The engine of both, or of each
    #[arg(long, value_name = "ENGINE")]
    pub(crate) engine: Vec<String>,
    /// A file of recorded traffic whose statements are tried first; repeatable
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Vec<PathBuf>,
    /// The format of the log
    #[arg(long, value_enum, default_value_t, value_name = "KIND")]
    pub(crate) log_format: LogKind,
    /// How many times the usual work and memory the proof may take
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) budget: u32,
}

/// Runs recorded traffic through two rule sets
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  shardwright traffic diff git:HEAD . --log digests.csv")]
pub(crate) struct Traffic {
    #[command(subcommand)]
    pub(crate) what: TrafficWhat,
}

/// What is asked of the traffic.
#[derive(Debug, Subcommand)]
pub(crate) enum TrafficWhat {
    Diff(TrafficDiff),
}

/// Shows which part of recorded traffic a second rule set would send elsewhere
///
/// Exits 2 when something moves. Logs are exports of stats_mysql_query_digest (CSV, TSV or SQL), MySQL's general or slow
/// log, or one statement on each line. Digests have neither comments nor literals: what depends on them is undecided.
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  shardwright traffic diff git:HEAD . --log digests.csv\n  \
    shardwright traffic diff old.sql new.sql --log slow.log --format json\n  \
    shardwright traffic diff live . --log queries.txt --user app"
)]
pub(crate) struct TrafficDiff {
    /// The rule set that the traffic went through
    pub(crate) a: String,
    /// The rule set that it would go through
    pub(crate) b: String,
    /// A file of recorded traffic; repeatable
    #[arg(long, required = true, value_name = "FILE")]
    pub(crate) log: Vec<PathBuf>,
    /// The format of the log
    #[arg(long, value_enum, default_value_t, value_name = "KIND")]
    pub(crate) log_format: LogKind,
    /// The user of statements whose user is not in the log
    #[arg(long)]
    pub(crate) user: Option<String>,
    /// The schema of statements whose schema is not in the log; default: the user's schema
    #[arg(long)]
    pub(crate) schema: Option<String>,
    /// The engine of both
    #[arg(long, value_name = "ENGINE")]
    pub(crate) engine: Option<String>,
}

/// `--log-format`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogKind {
    /// Detected from the beginning of the log
    #[default]
    Auto,
    /// Rows of stats_mysql_query_digest as CSV or TSV, with a line of column names
    Digests,
    /// The same as INSERT statements
    DigestDump,
    /// MySQL's general log
    General,
    /// MySQL's slow log
    Slow,
    /// One statement on each line
    Queries,
}

/// Draws the rules: chains, jumps, and where statements go
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  shardwright graph\n  shardwright graph --emit dot | dot -Tsvg > rules.svg\n  \
    shardwright graph rules.sql --emit mermaid"
)]
pub(crate) struct Graph {
    /// A rule set instead of the project: rules.sql, proxysql.cnf, git:REV, plan:FILE, live
    pub(crate) rules: Option<String>,
    /// The form of the graph; --format json means --emit json
    #[arg(long, value_enum, default_value_t)]
    pub(crate) emit: GraphForm,
    /// The engine to compile for; default: the first that the project lists
    #[arg(long, value_name = "ENGINE")]
    pub(crate) engine: Option<String>,
}

/// `graph --emit`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum GraphForm {
    /// Human-readable text
    #[default]
    Tree,
    /// Graphviz
    Dot,
    /// Mermaid, for Markdown
    Mermaid,
    /// Data
    Json,
}

/// Writes one HTML page about a rule set: graph, costs, findings
///
/// The page needs no network and no other file: it can be sent and opened anywhere.
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  shardwright report -o report.html\n  shardwright report rules.sql -o report.html\n  \
    shardwright report git:HEAD --engine proxysql-2.7 > report.html"
)]
pub(crate) struct Report {
    /// A rule set instead of the project: rules.sql, proxysql.cnf, git:REV, plan:FILE, live
    pub(crate) rules: Option<String>,
    /// The file to write instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// The engine to compile for; default: the first that the project lists
    #[arg(long, value_name = "ENGINE")]
    pub(crate) engine: Option<String>,
}

/// Explains a code, an address, a hostgroup, a rule, a server, a digest, an error
///
/// A code such as SW201 shows its page. An address such as shard_maps.tenants or tenants/t137 shows where it is
/// written, the rules that it compiles to, and the layouts that were compared. hostgroup:, rule: and server: show what a
/// number or host on a proxy is, its file and line, and which statements go there. digest: shows the rules for one
/// digest. error: shows the causes of an error of the proxy.
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  shardwright explain SW201\n  shardwright explain shard_maps.tenants\n  \
    shardwright explain tenants/t137 --engine proxysql-2.7\n  shardwright explain hostgroup:1034\n  \
    shardwright explain rule:100412\n  shardwright explain rule:100412 --target px-a1\n  shardwright explain server:db1.internal:3306\n  \
    shardwright explain digest:0x4D7DCFF87DD1A927\n  shardwright explain error:9001"
)]
pub(crate) struct Explain {
    /// What to explain
    pub(crate) what: String,
    /// The engine to compile for; default: the first that the project lists, for numbers the first that has them
    #[arg(long, value_name = "ENGINE")]
    pub(crate) engine: Option<String>,
    /// Also shows what this ProxySQL has under the number or name: its row, whether the files say the same, who applied it,
    /// when, and from which commit
    #[arg(long, value_name = "NAME", conflicts_with = "engine")]
    pub(crate) target: Option<String>,
}
