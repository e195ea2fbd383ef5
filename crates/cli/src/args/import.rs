//! The flags of `import`, and those that `init --from` shares.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};

/// Writes an existing rule set as a project
///
/// SOURCE is a dump or script for ProxySQL's admin port, a proxysql.cnf, a running ProxySQL, or the file of proxysql-admin
/// or pxc_scheduler_handler. Clusters, users, settings and rules are written so that compiling the project gives the rows of
/// the source; what would be different is listed with the reason. Passwords go into files of the project that git ignores.
/// Nothing of a running ProxySQL is changed.
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  shardwright import rules.sql -o shop\n  shardwright import /etc/proxysql.cnf -o shop\n  \
    PX_ADMIN=… shardwright import mysql://admin@px-a1.internal:6032 --password-env PX_ADMIN -o shop\n  \
    shardwright import mysql://admin@px-a1.internal:6032 --scheduler /etc/config.toml -o shop"
)]
pub(crate) struct Import {
    /// rules.sql, proxysql.cnf, proxysql-admin.cnf, config.toml or mysql://USER@HOST:PORT
    pub(crate) source: String,
    /// The directory of the new project
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) adoption: Adoption,
}

/// How an existing rule set becomes a project.
#[derive(Debug, ClapArgs)]
pub(crate) struct Adoption {
    /// The environment variable with the password of the admin account of mysql://…
    #[arg(long, value_name = "NAME", default_value = "SHARDWRIGHT_ADMIN_PASSWORD")]
    pub(crate) password_env: String,
    /// Where passwords of users go: files that git ignores, or variables that you set
    #[arg(long, value_enum, default_value_t, value_name = "WHERE")]
    pub(crate) secrets: SecretPlace,
    /// The config.toml of a pxc_scheduler_handler that moves servers of the source; may be repeated
    #[arg(long, value_name = "FILE")]
    pub(crate) scheduler: Vec<String>,
    /// Keeps every rule in the engine's own columns, instead of lifting rules to policies, maps and throttles
    #[arg(long)]
    pub(crate) only_exact: bool,
}

/// `--secrets`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum SecretPlace {
    /// Files below secrets/, readable by you only
    #[default]
    Files,
    /// Environment variables, which are listed
    Env,
}
