//! What a target runs under a number or a name that stands on a dashboard, who applied it, and where it is written.

use shardwright_plan::TargetError;
use shardwright_rules::{Address, Configuration, EngineId};
use shardwright_targets::ProxySqlTarget;
use shardwright_targets::proxysql::{KeyPart, LastApplied, Live, RowName};
use tempfile::TempDir;

use super::Asked;
use super::page::{Line, Page};
use crate::args::{Global, Selection};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::live::{self, Proxy, unreachable};
use crate::project::{self, Opened};
use crate::rule_set::revision;
use crate::ui::Ui;

/// How much of a commit is shown.
const SHORT_COMMIT: usize = 8;

/// A ProxySQL that was read.
pub(super) struct Running {
    name: String,
    target: Box<ProxySqlTarget>,
    live: Live,
    applied: Option<LastApplied>,
}

/// Reads a target of the project.
pub(super) fn read(opened: &Opened, target: &str) -> Result<Running, CommandError> {
    let selection = Selection {
        targets: vec![target.to_owned()],
    };
    let found = live::targets(opened, &selection)?.into_iter().next();
    let Some(Proxy::ProxySql(target)) = found.map(|live| live.proxy) else {
        return Err(CommandError::new(
            Exit::Refused,
            format!("target {target} is a bundled proxy: it has no rows"),
        )
        .hint("leave --target out: it runs what the files say, as of its generation"));
    };
    let live = target.read().map_err(|error| unreachable(&error))?;
    Ok(Running {
        name: selection.targets.concat(),
        applied: target.last_applied(&live),
        target,
        live,
    })
}

impl Running {
    /// Its engine.
    pub(super) fn engine(&self) -> EngineId {
        self.target.engine()
    }

    /// The page of the files with what is live; of what only the target knows, a page by itself.
    pub(super) fn page(
        &mut self,
        what: &str,
        of_files: Result<Page, CommandError>,
        asked: &Asked<'_>,
        global: &Global,
    ) -> Result<Page, CommandError> {
        let rows = self.rows(what);
        let page = match of_files {
            Ok(page) => page,
            Err(error) if rows.is_empty() => return Err(error),
            Err(_) => Page::new(
                what.replacen(':', " ", 1),
                format!("live on {}, and not in the files", self.name),
            ),
        };
        let desired = &asked.built.configuration;
        let lines = self.lines(&rows, desired).map_err(|error| unreachable(&error))?;
        let then = Then::of(self.applied.as_ref(), desired, global);
        let places = then.map_or_else(Vec::new, |then| then.places(&rows, &self.live));
        Ok(page
            .group_or("live", lines, "nothing of it is there")
            .group(
                "applied",
                self.applied.iter().map(|applied| Line::text(said(applied))),
            )
            .group("written, as it was applied", places))
    }

    /// The rows that a number or a name is about.
    fn rows(&self, what: &str) -> Vec<RowName> {
        let (kind, wanted) = what.split_once(':').unwrap_or_default();
        let number = |name: &RowName, at: usize| match name.key.get(at) {
            Some(KeyPart::Number(number)) => number.to_string(),
            Some(KeyPart::Text(text)) => text.clone(),
            None => String::new(),
        };
        let is_wanted = |name: &RowName| match (kind, name.table.as_str()) {
            ("rule", "mysql_query_rules") | ("hostgroup", "mysql_servers") => number(name, 0) == wanted,
            ("server", "mysql_servers") => {
                let (host, port) = (number(name, 1), number(name, 2));
                let address = self.live.address(name);
                let is_named = address.as_ref().is_some_and(|address| {
                    address.as_str() == wanted || address.as_str().rsplit('.').next() == Some(wanted)
                });
                wanted == host || wanted == format!("{host}:{port}") || is_named
            }
            _ => false,
        };
        let names = self.live.rows().map(|(name, _)| name);
        names.filter(|name| is_wanted(name)).cloned().collect()
    }

    fn lines(&mut self, rows: &[RowName], desired: &Configuration) -> Result<Vec<Line>, TargetError> {
        let differing = self.target.differing(&self.live, desired)?;
        let lines = rows.iter().map(|name| {
            let as_files = match differing.contains(name) {
                true => "another than the files say",
                false => "as the files say",
            };
            Line::text(format!(
                "{} on {}, {as_files}: {}",
                name,
                self.name,
                self.live.said(name)
            ))
        });
        Ok(lines.collect())
    }
}

/// `run 20261125-… of dba@host at 2026-11-25T15:30:12Z, commit 4be1c90a, generation 3 of shop`
fn said(applied: &LastApplied) -> String {
    let mut said = format!("run {}", applied.run);
    if let Some(by) = &applied.who.by {
        said.push_str(&format!(" of {by}"));
    }
    if let Some(at) = &applied.who.at {
        said.push_str(&format!(" at {at}"));
    }
    if let Some(commit) = &applied.who.commit {
        said.push_str(&format!(", commit {}", short(commit)));
    }
    said.push_str(&format!(", generation {}", applied.generation));
    if let Some(project) = &applied.project {
        said.push_str(&format!(" of {project}"));
    }
    said
}

fn short(commit: &str) -> &str {
    commit.get(..SHORT_COMMIT).unwrap_or(commit)
}

/// The files of the commit that was applied.
struct Then {
    commit: String,
    opened: Opened,
    _directory: TempDir,
}

impl Then {
    /// `None`: the files of today are what was applied, or those of then cannot be had.
    fn of(applied: Option<&LastApplied>, desired: &Configuration, global: &Global) -> Option<Self> {
        let applied = applied?;
        if applied.configuration == desired.fingerprint() {
            return None;
        }
        let commit = applied.who.commit.clone()?;
        let directory = revision::checkout(&global.directory, &commit).ok()?;
        let global = Global {
            directory: directory.path().to_owned(),
            quiet: true,
            ..global.clone()
        };
        let opened = project::open_quietly(&global, &Ui::new(&global))?;
        Some(Self {
            commit,
            opened,
            _directory: directory,
        })
    }

    fn places(&self, rows: &[RowName], live: &Live) -> Vec<Line> {
        let mut addresses: Vec<Address> = rows.iter().filter_map(|name| live.address(name)).collect();
        addresses.sort_unstable();
        addresses.dedup();
        let lines = addresses.iter().filter_map(|address| {
            let place = self.opened.placed_at(address)?;
            Some(Line::text(format!(
                "{}: {place} in commit {}",
                address.short(),
                short(&self.commit)
            )))
        });
        lines.collect()
    }
}
