//! `proxysql-admin.cnf` of Percona's `proxysql-admin`: variables of a shell that describe one Percona XtraDB Cluster.
//!
//! The file names one server; the tool asks it for the others. So the cluster that is read here has that server, and a note
//! says that the others are missing. Since ProxySQL 2.0 the engine's monitor moves the servers. Before, a script in ProxySQL's
//! scheduler did; its files have names of their own for the hostgroups.

use std::collections::BTreeMap;

use shardwright_diagnostics::{Diagnostic, FileId, Problems, Span};
use shardwright_rules::{Failback, HostgroupId, WriterServesReads};

use super::fields::{Known, tell};
use super::{Said, Server, Tables};
use crate::codes::{IGNORED, REFUSED, SYNTAX};
use crate::scheduled::Scheduled;
use crate::store::Store;
use crate::{Layout, Ran};

/// The hostgroup of writers: of each of the two formats.
const WRITERS: [&str; 2] = ["WRITER_HOSTGROUP_ID", "WRITE_HOSTGROUP_ID"];
/// How many writers the tool allows where every server writes.
const EVERY_SERVER: &str = "1000000";
/// What the tool gives a server, and the writer that somebody has chosen.
const WEIGHT: u32 = 1_000;
const CHOSEN_WEIGHT: u32 = 1_000_000;

const REACHES: &str = "how proxysql-admin reaches ProxySQL; for applies, write a target in shardwright.yaml";
const ACCOUNT: &str = "the account of proxysql-admin itself, which is no user of the proxy";
const FILES: &str = "where ProxySQL keeps its files";
const ENCRYPTED: &str = "accounts are in a file that is encrypted and not read: add their passwords";
const PRIORITY: &str =
    "the order of the writers is in that file: write it as writer_preference of the cluster";
const ONE_RUN: &str = "it is about one run of proxysql-admin";

const KNOWN: [Known; 37] = [
    ("WRITER_HOSTGROUP_ID", None),
    ("READER_HOSTGROUP_ID", None),
    ("BACKUP_WRITER_HOSTGROUP_ID", None),
    ("OFFLINE_HOSTGROUP_ID", None),
    ("WRITE_HOSTGROUP_ID", None),
    ("READ_HOSTGROUP_ID", None),
    ("MODE", None),
    ("WRITERS_ARE_READERS", None),
    ("WRITER_IS_READER", None),
    ("MAX_TRANSACTIONS_BEHIND", None),
    ("MAX_CONNECTIONS", None),
    ("USE_SSL", None),
    ("NODE_CHECK_INTERVAL", None),
    ("WRITE_NODE", None),
    ("CLUSTER_HOSTNAME", None),
    ("CLUSTER_PORT", None),
    ("CLUSTER_APP_USERNAME", None),
    ("CLUSTER_APP_PASSWORD", None),
    ("WITH_CLUSTER_APP_USER", None),
    ("MONITOR_USERNAME", None),
    ("MONITOR_PASSWORD", None),
    ("CLUSTER_USERNAME", Some(ACCOUNT)),
    ("CLUSTER_PASSWORD", Some(ACCOUNT)),
    ("PROXYSQL_USERNAME", Some(REACHES)),
    ("PROXYSQL_PASSWORD", Some(REACHES)),
    ("PROXYSQL_HOSTNAME", Some(REACHES)),
    ("PROXYSQL_PORT", Some(REACHES)),
    ("PROXYSQL_DATADIR", Some(FILES)),
    ("LOGIN_FILE", Some(ENCRYPTED)),
    ("LOGIN_PASSWORD", Some(ENCRYPTED)),
    ("LOGIN_PASSWORD_FILE", Some(ENCRYPTED)),
    ("HOST_PRIORITY_FILE", Some(PRIORITY)),
    ("USE_EXISTING_MONITOR_PASSWORD", Some(ONE_RUN)),
    ("QUICK_DEMO", Some(ONE_RUN)),
    ("FORCE", Some(ONE_RUN)),
    ("DEBUG", Some(ONE_RUN)),
    ("USE_STDIN_FOR_CREDENTIALS", Some(ONE_RUN)),
];

/// Whether a file sets variables of a shell, and the writers' hostgroup among them.
pub(crate) fn is_one(text: &str) -> bool {
    let sets = |line| assignment(line).is_some_and(|(name, _)| WRITERS.contains(&name));
    text.lines().any(sets)
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

    fn said(&self, setting: &'t str) -> Option<Said<'t>> {
        let (value, place) = *self.values.get(setting)?;
        let said = Said {
            setting,
            value,
            place,
        };
        (!value.is_empty()).then_some(said)
    }

    /// What a variable says, or what the tool takes it to be.
    fn value(&self, setting: &str, default: &'static str) -> &'t str {
        let value = self.values.get(setting).map(|(value, _)| *value);
        value.filter(|value| !value.is_empty()).unwrap_or(default)
    }

    fn in_order(&self) -> Vec<(&'t str, Span)> {
        let mut all: Vec<_> = self
            .values
            .iter()
            .map(|(name, (_, place))| (*name, *place))
            .collect();
        all.sort_by_key(|(_, place)| place.start);
        all
    }

    /// Whether one server writes, and reads go to the others.
    fn has_one_writer(&self) -> bool {
        self.value("MODE", "singlewrite") != "loadbal"
    }

    fn is_on(&self, setting: &str, default: &'static str) -> bool {
        matches!(self.value(setting, default), "yes" | "1")
    }
}

/// Fills the tables as the tool does when it is first run, as far as the file says.
pub(crate) fn run(text: &str, file: FileId, store: &mut Store, problems: &mut Problems) -> Ran {
    let variables = Variables::of(text, file);
    let mut ran = Ran {
        layout: Layout {
            parts: variables.in_order().into_iter().map(|(_, place)| place).collect(),
            ..Layout::default()
        },
        ..Ran::default()
    };
    let is_secret = |(name, (_, place)): (&&str, &(&str, Span))| name.contains("PASSWORD").then_some(*place);
    ran.secrets = variables.values.iter().filter_map(is_secret).collect();
    let hostgroups = match WRITERS.map(|name| variables.said(name)) {
        [Some(writer), _] => Hostgroups {
            writer,
            reader: variables.value("READER_HOSTGROUP_ID", "11"),
            others: variables.value("BACKUP_WRITER_HOSTGROUP_ID", "12"),
        },
        [None, Some(writer)] => {
            let reader = variables.value("READ_HOSTGROUP_ID", "11");
            ran.scheduled
                .extend(by_script(&variables, writer, reader, problems));
            Hostgroups {
                writer,
                reader,
                others: reader,
            }
        }
        [None, None] => {
            let what = "WRITER_HOSTGROUP_ID has no value: there are no hostgroups";
            problems.push(Diagnostic::error(SYNTAX, what).at(variables.whole, ""));
            return ran;
        }
    };
    let mut tables = Tables { store, problems };
    if ran.scheduled.is_empty() {
        by_monitor(&variables, &hostgroups, &mut tables);
    }
    servers(&variables, &hostgroups, &mut tables);
    accounts(&variables, &hostgroups, &mut tables);
    told(&variables, problems);
    ran
}

/// Hostgroups, in the words of the file.
struct Hostgroups<'t> {
    writer: Said<'t>,
    reader: &'t str,
    /// Where servers begin that do not write.
    others: &'t str,
}

/// Moves by ProxySQL's monitor.
fn by_monitor(variables: &Variables<'_>, hostgroups: &Hostgroups<'_>, tables: &mut Tables<'_>) {
    let also_reads = match variables.value("WRITERS_ARE_READERS", "backup") {
        _ if !variables.has_one_writer() => "0",
        "yes" => "1",
        "no" => "0",
        _ => "2",
    };
    let writers = match variables.has_one_writer() {
        true => "1",
        false => EVERY_SERVER,
    };
    tables.insert(
        hostgroups.writer,
        "INSERT INTO mysql_galera_hostgroups (writer_hostgroup, backup_writer_hostgroup, reader_hostgroup, offline_hostgroup, \
         active, max_writers, writer_is_also_reader, max_transactions_behind) VALUES (?1, ?2, ?3, ?4, 1, ?5, ?6, ?7)",
        &[
            &hostgroups.writer.value,
            &hostgroups.others,
            &hostgroups.reader,
            &variables.value("OFFLINE_HOSTGROUP_ID", "13"),
            &writers,
            &also_reads,
            &variables.value("MAX_TRANSACTIONS_BEHIND", "100"),
        ],
    );
    if let Some(interval) = variables
        .said("NODE_CHECK_INTERVAL")
        .filter(|said| said.value != "-1")
    {
        tables.variable("mysql-monitor_galera_healthcheck_interval", interval);
    }
}

/// Moves by the script of ProxySQL 1.4. `None`, with a problem: a hostgroup is no number.
fn by_script(
    variables: &Variables<'_>,
    writer: Said<'_>,
    reader: &str,
    problems: &mut Problems,
) -> Option<Scheduled> {
    let number = |text: &str| text.parse().ok().map(HostgroupId);
    let (Some(writers_hostgroup), Some(readers)) = (number(writer.value), number(reader)) else {
        let what = "the hostgroups of writers and readers are numbers";
        problems.push(Diagnostic::error(REFUSED, what).at(writer.place, ""));
        return None;
    };
    Some(Scheduled {
        writer: writers_hostgroup,
        reader: readers,
        kept: None,
        writers: 1,
        writer_serves_reads: match variables.value("WRITER_IS_READER", "ondemand") {
            "always" => WriterServesReads::Always,
            _ => WriterServesReads::Never,
        },
        failback: Failback::Manual,
        place: writer.place,
    })
}

/// The server that the file names, and the writer where it is another one.
fn servers(variables: &Variables<'_>, hostgroups: &Hostgroups<'_>, tables: &mut Tables<'_>) {
    let Some(host) = variables.said("CLUSTER_HOSTNAME") else {
        return;
    };
    let named = |host: Said<'_>, port: &'_ str, hostgroup: &str, weight: u32, tables: &mut Tables<'_>| {
        let server = Server {
            host,
            port,
            weight,
            max_connections: variables.value("MAX_CONNECTIONS", "1000"),
            uses_tls: variables.is_on("USE_SSL", "no"),
        };
        tables.server(hostgroup, &server);
    };
    let port = variables.value("CLUSTER_PORT", "3306");
    let writer = hostgroups.writer.value;
    let chosen = variables
        .said("WRITE_NODE")
        .filter(|_| variables.has_one_writer());
    let Some(chosen) = chosen else {
        named(host, port, writer, WEIGHT, tables);
        return;
    };
    let (chosen_host, chosen_port) = chosen.value.rsplit_once(':').unwrap_or((chosen.value, "3306"));
    if (chosen_host, chosen_port) != (host.value, port) {
        named(host, port, hostgroups.others, WEIGHT, tables);
    }
    let chosen = Said {
        value: chosen_host,
        ..chosen
    };
    named(chosen, chosen_port, writer, CHOSEN_WEIGHT, tables);
}

/// The application's user with its rules, and the account of the monitor.
fn accounts(variables: &Variables<'_>, hostgroups: &Hostgroups<'_>, tables: &mut Tables<'_>) {
    let user = variables.said("CLUSTER_APP_USERNAME");
    if let Some(user) = user.filter(|_| variables.is_on("WITH_CLUSTER_APP_USER", "1")) {
        let writer = hostgroups.writer.value;
        tables.user(user, variables.value("CLUSTER_APP_PASSWORD", ""), writer);
        if variables.has_one_writer() {
            tables.split(user, writer, hostgroups.reader);
        }
    }
    for (setting, variable) in [
        ("MONITOR_USERNAME", "mysql-monitor_username"),
        ("MONITOR_PASSWORD", "mysql-monitor_password"),
    ] {
        if let Some(value) = variables.said(setting) {
            tables.variable(variable, value);
        }
    }
}

/// What the file leaves to the tool.
fn told(variables: &Variables<'_>, problems: &mut Problems) {
    match variables.said("CLUSTER_HOSTNAME") {
        Some(host) => {
            let what = format!(
                "the file names one server, {}: add the others of the cluster",
                host.value
            );
            problems.push(Diagnostic::info(IGNORED, what).at(host.place, ""));
        }
        None => {
            let what = "CLUSTER_HOSTNAME is missing: the cluster has no server";
            problems.push(Diagnostic::error(SYNTAX, what).at(variables.whole, ""));
        }
    }
    let settings = variables.in_order();
    tell(settings.into_iter(), &KNOWN, str::to_owned, problems);
}
