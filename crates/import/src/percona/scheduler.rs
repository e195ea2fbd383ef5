//! `config.toml` of `pxc_scheduler_handler`, a program that ProxySQL's scheduler starts: it moves the servers of one Percona
//! XtraDB Cluster between hostgroups.
//!
//! The file names hostgroups and no servers; the program finds them in ProxySQL, in hostgroups of templates. The section
//! `setup` belongs to `percona-scheduler-admin`, which writes the first rows: it has one server, and accounts.

mod known;
mod settings;

use shardwright_diagnostics::{Diagnostic, FileId, Problems, Span};
use shardwright_rules::{Failback, HostgroupId, WriterServesReads};

use self::known::KNOWN;
use self::settings::Settings;
use super::fields::tell;
use super::{Said, Server, Tables};
use crate::codes::{IGNORED, REFUSED, SYNTAX};
use crate::scheduled::{Kept, Scheduled};
use crate::store::Store;
use crate::{Layout, Ran};

/// What the program adds to the hostgroups of statements for those of templates, and for those of servers that are out.
const TEMPLATES: u32 = 8_000;
const OUT: u32 = 9_000;
/// The weight that `percona-scheduler-admin` gives a server.
const WEIGHT: u32 = 1_000;

/// A file that was read.
pub(crate) struct Parsed {
    /// `None`, with a problem: it is not one that the program takes.
    pub(crate) scheduled: Option<Scheduled>,
    settings: Settings,
}

/// Where the file holds passwords, also if it cannot be read.
pub(crate) fn secrets(text: &str, file: FileId) -> Vec<Span> {
    let mut secrets = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let content = line.trim_end();
        let name = content.split('=').next().unwrap_or_default();
        if name.to_ascii_lowercase().contains("password") {
            secrets.push(settings::span(file, start..start + content.len()));
        }
        start += line.len();
    }
    secrets
}

/// What a file says of the cluster whose servers the program moves.
pub(crate) fn parse(text: &str, file: FileId, problems: &mut Problems) -> Parsed {
    let settings = Settings::read(text, file, problems);
    tell(settings.in_order(), &KNOWN, str::to_ascii_lowercase, problems);
    Parsed {
        scheduled: scheduled(&settings, problems),
        settings,
    }
}

fn scheduled(settings: &Settings, problems: &mut Problems) -> Option<Scheduled> {
    let mut number = |name: &str, default: Option<u32>| settings.number(name, default, problems);
    let (writer, reader) = (number("pxccluster.hgW", None)?, number("pxccluster.hgR", None)?);
    let templates = number("pxccluster.configHgRange", Some(TEMPLATES))?;
    let out = number("pxccluster.maintenanceHgRange", Some(OUT))?;
    let writers = number("pxccluster.maxNumWriters", Some(1))?.max(1);
    let writer_reads = number("pxccluster.writerIsAlsoReader", Some(0))? == 1;
    let has_one = settings.flag("pxccluster.singlePrimary", problems)?;
    let comes_back = settings.flag("pxccluster.failBack", problems)?;
    let place = settings.place("pxccluster.hgW");
    let mut refused = |name: &str, why: &str| {
        let what = format!("pxc_scheduler_handler does not start with this: {why}");
        problems.push(Diagnostic::error(REFUSED, what).at(settings.place(name), ""));
    };
    let beyond = |range: u32, hostgroup: u32| range.checked_add(hostgroup).map(HostgroupId);
    let kept = || {
        Some(Kept {
            writer_templates: beyond(templates, writer)?,
            reader_templates: beyond(templates, reader)?,
            out_of_writers: beyond(out, writer)?,
            out_of_readers: beyond(out, reader)?,
        })
    };
    let Some(kept) = kept() else {
        refused(
            "pxccluster.configHgRange",
            "its hostgroups are past the largest number",
        );
        return None;
    };
    let mut ids = vec![HostgroupId(writer), HostgroupId(reader)];
    ids.extend([kept.writer_templates, kept.reader_templates]);
    ids.extend([kept.out_of_writers, kept.out_of_readers]);
    ids.sort_unstable();
    if ids.windows(2).any(|pair| pair[0] == pair[1]) {
        refused("pxccluster.hgW", "two of its six hostgroups have one number");
        return None;
    }
    if has_one && writers > 1 {
        refused("pxccluster.maxNumWriters", "singlePrimary allows one writer");
        return None;
    }
    if !has_one && !writer_reads {
        refused(
            "pxccluster.writerIsAlsoReader",
            "several writers are also readers, so it has to be 1 without singlePrimary",
        );
        return None;
    }
    Some(Scheduled {
        writer: HostgroupId(writer),
        reader: HostgroupId(reader),
        kept: Some(kept),
        writers,
        // The program lets the writer read when no reader is left, whatever is said here.
        writer_serves_reads: match writer_reads {
            true => WriterServesReads::Always,
            false => WriterServesReads::Never,
        },
        failback: match comes_back {
            true => Failback::Automatic,
            false => Failback::Manual,
        },
        place,
    })
}

/// Fills the tables as `percona-scheduler-admin` does when it is first run, as far as the file says.
pub(crate) fn run(text: &str, file: FileId, store: &mut Store, problems: &mut Problems) -> Ran {
    let Parsed { scheduled, settings } = parse(text, file, problems);
    let ran = Ran {
        layout: Layout {
            parts: settings.in_order().map(|(_, place)| place).collect(),
            ..Layout::default()
        },
        ..Ran::default()
    };
    let Some(scheduled) = scheduled else {
        return ran;
    };
    let Some(host) = settings.said("setup.clusterHost") else {
        let admin = ["host", "port"].map(|name| settings.said(&format!("proxysql.{name}")));
        let [host, port] = [(admin[0], "HOST"), (admin[1], "6032")]
            .map(|(said, default)| said.map_or(default, |said| said.value));
        let what = format!(
            "the file names no server: pxc_scheduler_handler finds them in ProxySQL, in hostgroup {}",
            scheduled
                .kept
                .map_or(scheduled.writer, |kept| kept.writer_templates)
        );
        let help =
            format!("import that ProxySQL, and give this file with --scheduler: mysql://USER@{host}:{port}");
        problems.push(Diagnostic::error(SYNTAX, what).at(scheduled.place, "").help(help));
        return ran;
    };
    let what = format!(
        "the file names one server, {}: add the others of the cluster",
        host.value
    );
    problems.push(Diagnostic::info(IGNORED, what).at(host.place, ""));
    let mut tables = Tables { store, problems };
    servers(&settings, host, &scheduled, &mut tables);
    accounts(&settings, &scheduled, &mut tables);
    Ran {
        scheduled: vec![scheduled],
        ..ran
    }
}

/// The server that the file names, in each role and as each template.
fn servers(settings: &Settings, host: Said<'_>, scheduled: &Scheduled, tables: &mut Tables<'_>) {
    let value = |name: &str, default| settings.said(name).map_or(default, |said| said.value);
    let server = Server {
        host,
        port: value("setup.clusterPort", "3306"),
        weight: WEIGHT,
        max_connections: value("setup.maxConnections", "1000"),
        uses_tls: value("setup.useSSL", "0") == "1",
    };
    let templates = scheduled
        .kept
        .map(|kept| [kept.writer_templates, kept.reader_templates]);
    for hostgroup in [scheduled.writer, scheduled.reader]
        .into_iter()
        .chain(templates.into_iter().flatten())
    {
        tables.server(&hostgroup.to_string(), &server);
    }
}

/// The application's user with its rules, and the account of the monitor.
fn accounts(settings: &Settings, scheduled: &Scheduled, tables: &mut Tables<'_>) {
    if let Some(user) = settings.said("setup.clusterAppUser") {
        let password = settings.said("setup.clusterAppUserPassword");
        let (writer, reader) = (scheduled.writer.to_string(), scheduled.reader.to_string());
        tables.user(user, password.map_or("", |said| said.value), &writer);
        if scheduled.writers == 1 {
            tables.split(user, &writer, &reader);
        }
    }
    for (setting, variable) in [
        ("setup.monitorUser", "mysql-monitor_username"),
        ("setup.monitorUserPassword", "mysql-monitor_password"),
    ] {
        if let Some(value) = settings.said(setting) {
            tables.variable(variable, value);
        }
    }
}
