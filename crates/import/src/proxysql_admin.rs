//! `proxysql-admin.cnf` of Percona's `proxysql-admin`: variables of a shell that describe one Percona XtraDB Cluster.
//!
//! The file names one server; the tool asks it for the others. So the cluster that is read here has that server, and a note
//! says that the others are missing.

use std::collections::BTreeMap;

use rusqlite::ToSql;
use shardwright_diagnostics::{Diagnostic, FileId, Problems, Span};

use crate::Ran;
use crate::codes::{IGNORED, REFUSED, SYNTAX};
use crate::store::Store;

/// The variable that tells such a file from ProxySQL's own.
const MARK: &str = "WRITER_HOSTGROUP_ID";
/// How many writers the tool allows where every server writes.
const EVERY_SERVER: &str = "1000000";

/// Whether a file sets variables of a shell, and the writers' hostgroup among them.
pub(crate) fn is_one(text: &str) -> bool {
    text.lines()
        .any(|line| assignment(line).is_some_and(|(name, _)| name == MARK))
}

/// `export NAME='value'`
fn assignment(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    let (name, value) = line
        .strip_prefix("export ")
        .unwrap_or(line)
        .trim_start()
        .split_once('=')?;
    let is_name = !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
    let quote = value.chars().next().filter(|quote| matches!(quote, '\'' | '"'));
    let value = match quote {
        Some(quote) => value[1..].split(quote).next()?,
        None => value.split([' ', '\t', '#', ';']).next()?,
    };
    is_name.then_some((name, value))
}

/// The variables of a file, each with its line.
struct Variables<'t> {
    values: BTreeMap<&'t str, (&'t str, Span)>,
    whole: Span,
}

impl<'t> Variables<'t> {
    fn of(text: &'t str, file: FileId) -> Self {
        let offset = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        let mut values = BTreeMap::new();
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            let content = line.trim_end();
            let span = Span::new(file, offset(start), offset(start + content.len()));
            start += line.len();
            if let Some((name, value)) = assignment(content) {
                values.insert(name, (value, span));
            }
        }
        Self {
            values,
            whole: Span::new(file, 0, 0),
        }
    }

    fn value(&self, name: &str) -> Option<&'t str> {
        let value = self.values.get(name).map(|(value, _)| *value);
        value.filter(|value| !value.is_empty())
    }

    fn place(&self, name: &str) -> Span {
        self.values.get(name).map_or(self.whole, |(_, span)| *span)
    }
}

/// Fills the tables as the tool does when it is first run, as far as the file says.
pub(crate) fn run(text: &str, file: FileId, store: &mut Store, problems: &mut Problems) -> Ran {
    let variables = Variables::of(text, file);
    let mut ran = Ran::default();
    for (name, (_, span)) in &variables.values {
        ran.layout.parts.push(*span);
        if name.contains("PASSWORD") {
            ran.secrets.push(*span);
        }
    }
    let mut insert = |sql: &str, place: &str, values: &[&dyn ToSql]| {
        let span = variables.place(place);
        if let Err(refused) = store.run(sql, values, span, &[span]) {
            let what = format!("the engine refuses what {place} leads to: {refused}");
            problems.push(Diagnostic::error(REFUSED, what).at(span, ""));
        }
    };
    let or = |name: &str, default: &'static str| variables.value(name).unwrap_or(default);
    let writer = or(MARK, "10");
    insert(
        "INSERT INTO mysql_galera_hostgroups (writer_hostgroup, backup_writer_hostgroup, reader_hostgroup, offline_hostgroup, \
         active, max_writers, writer_is_also_reader, max_transactions_behind) VALUES (?1, ?2, ?3, ?4, 1, ?5, ?6, ?7)",
        MARK,
        &[
            &writer,
            &or("BACKUP_WRITER_HOSTGROUP_ID", "12"),
            &or("READER_HOSTGROUP_ID", "11"),
            &or("OFFLINE_HOSTGROUP_ID", "13"),
            &if or("MODE", "singlewrite") == "loadbal" {
                EVERY_SERVER
            } else {
                "1"
            },
            &match or("WRITERS_ARE_READERS", "backup") {
                "yes" => "1",
                "no" => "0",
                _ => "2",
            },
            &or("MAX_TRANSACTIONS_BEHIND", "100"),
        ],
    );
    if let Some(host) = variables.value("CLUSTER_HOSTNAME") {
        let tls = if or("USE_SSL", "no") == "yes" { "1" } else { "0" };
        insert(
            "INSERT INTO mysql_servers (hostgroup_id, hostname, port, max_connections, use_ssl) VALUES (?1, ?2, ?3, ?4, ?5)",
            "CLUSTER_HOSTNAME",
            &[
                &writer,
                &host,
                &or("CLUSTER_PORT", "3306"),
                &or("MAX_CONNECTIONS", "1000"),
                &tls,
            ],
        );
    }
    if let Some(user) = variables.value("CLUSTER_APP_USERNAME") {
        insert(
            "INSERT INTO mysql_users (username, password, default_hostgroup) VALUES (?1, ?2, ?3)",
            "CLUSTER_APP_USERNAME",
            &[&user, &or("CLUSTER_APP_PASSWORD", ""), &writer],
        );
    }
    for (name, variable) in [
        ("MONITOR_USERNAME", "mysql-monitor_username"),
        ("MONITOR_PASSWORD", "mysql-monitor_password"),
    ] {
        if let Some(value) = variables.value(name) {
            insert(
                "INSERT OR REPLACE INTO global_variables VALUES (?1, ?2)",
                name,
                &[&variable, &value],
            );
        }
    }
    told(&variables, problems);
    ran
}

/// What the file leaves to the tool.
fn told(variables: &Variables<'_>, problems: &mut Problems) {
    match variables.value("CLUSTER_HOSTNAME") {
        Some(host) => {
            let what = format!("the file names one server, {host}: add the others of the cluster");
            problems.push(Diagnostic::info(IGNORED, what).at(variables.place("CLUSTER_HOSTNAME"), ""));
        }
        None => {
            let what = "CLUSTER_HOSTNAME is missing: the cluster has no server";
            problems.push(Diagnostic::error(SYNTAX, what).at(variables.whole, ""));
        }
    }
    if let Some(login) = variables.value("LOGIN_FILE") {
        let what = format!("accounts are in {login}, which is encrypted and not read: add their passwords");
        problems.push(Diagnostic::info(IGNORED, what).at(variables.place("LOGIN_FILE"), ""));
    }
    if let Some(user) = variables.value("CLUSTER_USERNAME") {
        let what = format!("the account {user} is for proxysql-admin, and is no user of the proxy");
        problems.push(Diagnostic::info(IGNORED, what).at(variables.place("CLUSTER_USERNAME"), ""));
    }
}
