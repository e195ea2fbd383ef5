//! `drift --adopt`: what somebody changed on a proxy, written into the files as a change to review.
//!
//! An edit is tried on the texts of the files and kept only if the project then compiles to one difference less and to no
//! other one: what is written is what is live, and nothing else moves.

mod candidates;
mod text;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;
use shardwright_adopt::accounts::secret_path;
use shardwright_plan::{Facts, RowKey};
use shardwright_rules::{Configuration, EngineId};
use shardwright_secrets::Secret;
use shardwright_targets::ProxySqlTarget;
use shardwright_targets::proxysql::{Drift, Look, Side};
use shardwright_topology::{Options, TOPOLOGY_DIRECTORY, read_project_with};
use similar::TextDiff;

use super::fleet::Fleet;
use crate::args::{self, Format, Global};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::files::{keep_secret, replace_file};
use crate::live::{Proxy, unreachable};
use crate::project::{self, Opened};
use crate::ui::{Ui, counted, printable};
use candidates::{Row, candidates, secret_of};
use text::{Texts, edited};

/// Where what no file has a place for goes.
const NEW_FILE: &str = "topology/adopted.yaml";
/// Rows of a target that are tried; each costs a compilation.
const MOST_ROWS: usize = 500;

/// What became of the differences.
#[derive(Default)]
struct Outcome {
    adopted: Vec<String>,
    /// Hashes of users that came, by the path of their file.
    secrets: BTreeMap<String, Secret>,
    /// With the reason.
    left: Vec<(String, String)>,
}

pub(super) fn run(args: &args::Drift, global: &Global, ui: &Ui) -> Result<Exit, CommandError> {
    let mut fleet = Fleet::open(&args.selection, global, ui)?;
    let looks = fleet.looks();
    let options = project::options(global)?;
    let before = texts(&fleet.opened);
    let mut now = before.clone();
    let mut outcome = Outcome::default();
    let builds: Vec<_> = fleet
        .targets
        .iter()
        .map(|target| fleet.built(target.engine).configuration.clone())
        .collect();
    let mut looks = looks.into_iter();
    let Fleet { opened, targets, .. } = &mut fleet;
    for (target, desired) in targets.iter_mut().zip(builds) {
        let engine = target.engine;
        let Proxy::ProxySql(proxy) = &mut target.proxy else {
            continue;
        };
        let look = looks
            .next()
            .ok_or_else(|| CommandError::internal("a target was not looked at"))?;
        let look = look.map_err(|error| unreachable(&error))?;
        let mut adoption = Adoption {
            opened,
            options: &options,
            engine,
            proxy,
            look: &look,
            texts: now,
            outcome: &mut outcome,
        };
        adoption.adopt(&desired)?;
        now = adoption.texts;
    }
    let patch = patch(&before, &now);
    if !args.dry_run {
        let changed = now.iter().filter(|(path, text)| before.get(*path) != Some(text));
        for (path, text) in changed {
            replace_file(&fleet.opened.directory.join(path), text.as_bytes())?;
        }
        keep_secrets(&fleet.opened, &outcome.secrets)?;
    }
    print(&outcome, &patch, args.dry_run, ui)?;
    Ok(match outcome.left.is_empty() {
        true => Exit::Done,
        false => Exit::Changes,
    })
}

/// Writes the hashes of users that came where their files look for them, and git does not.
fn keep_secrets(opened: &Opened, secrets: &BTreeMap<String, Secret>) -> Result<(), CommandError> {
    for (path, hash) in secrets {
        keep_secret(&opened.directory.join(path), hash.expose().as_bytes())?;
    }
    let ignore = opened.directory.join("secrets/.gitignore");
    match secrets.is_empty() || ignore.exists() {
        true => Ok(()),
        false => keep_secret(&ignore, b"*\n"),
    }
}

/// The files of the topology as they are.
fn texts(opened: &Opened) -> Texts {
    let sources = &opened.sources;
    let prefix = format!("{TOPOLOGY_DIRECTORY}/");
    let files = sources
        .files()
        .map(|file| (sources.path(file), sources.text(file)));
    let yaml = files.filter(|(path, _)| path.starts_with(&prefix) && path.ends_with(".yaml"));
    yaml.map(|(path, text)| (path.to_owned(), text.to_owned()))
        .collect()
}

/// The adoption of one target.
struct Adoption<'a> {
    opened: &'a Opened,
    options: &'a Options,
    engine: EngineId,
    proxy: &'a mut ProxySqlTarget,
    look: &'a Look,
    texts: Texts,
    outcome: &'a mut Outcome,
}

/// A row that differs: its key, its columns live, its columns in the files.
type Difference = (RowKey, Option<Facts>, Option<Facts>);

impl Adoption<'_> {
    fn adopt(&mut self, desired: &Configuration) -> Result<(), CommandError> {
        let name = self.look_at(desired)?.target;
        // Edits of a target before this one count.
        let (mut configuration, mut drift) = match self.compiled(&self.texts.clone()) {
            Ok(both) => both,
            Err(reason) => return Err(CommandError::internal(reason)),
        };
        let mut given_up: BTreeSet<RowKey> = BTreeSet::new();
        for _ in 0..MOST_ROWS {
            let Some((address, row)) = next(&drift, &given_up) else {
                return Ok(());
            };
            let what = format!("{name}: {}", row_text(&row.0));
            let hash = secret_of(&row.0).and_then(|user| Some((user, self.look.hash_of(user)?)));
            let asked = Row {
                address: &address,
                key: &row.0,
                live: row.1.as_ref(),
                files: row.2.as_ref(),
                has_hash: hash.is_some(),
            };
            let ways = match self.opened.instance(&address) {
                Some(_) => Err(format!("{address} is made by a generator")),
                None => candidates(&asked, &configuration),
            };
            let tried = ways.and_then(|ways| self.first_that_fits(ways, &drift, &row.0));
            match tried {
                Ok((texts, compiled)) => {
                    self.texts = texts;
                    (configuration, drift) = compiled;
                    self.outcome.adopted.push(what);
                    if let (Some((user, hash)), None) = (hash, &row.2) {
                        self.outcome.secrets.insert(secret_path(user), hash.clone());
                    }
                    // It may differ in its comment still.
                    given_up.insert(row.0);
                }
                Err(reason) => {
                    self.outcome.left.push((what, reason));
                    given_up.insert(row.0);
                }
            }
        }
        let message = format!("more than {MOST_ROWS} rows: run it again for the rest");
        self.outcome.left.push((name, message));
        Ok(())
    }

    /// Makes the edits of the first way after which the row is as it is live and no other row is another.
    fn first_that_fits(
        &mut self,
        ways: Vec<Vec<text::Edit>>,
        drift: &Drift,
        row: &RowKey,
    ) -> Result<(Texts, (Configuration, Drift)), String> {
        let mut reason = "no field of the files says it".to_owned();
        let before = differences(drift);
        for way in ways {
            let mut texts = self.texts.clone();
            let mut made = Ok(());
            for edit in &way {
                match edited(&texts, edit, NEW_FILE) {
                    Ok(after) => texts = after,
                    Err(why) => made = Err(why),
                }
            }
            let compiled = made.and_then(|()| self.compiled(&texts));
            match compiled {
                Err(why) => reason = why,
                Ok((configuration, drift)) => {
                    let after = differences(&drift);
                    let is_new = |one: &&Difference| one.0 != *row && !before.contains(one);
                    match after.iter().find(is_new) {
                        _ if after.iter().any(|one| one.0 == *row && !is_only_comment(one)) => {
                            reason = "the files would say something else again".to_owned();
                        }
                        Some((key, ..)) => {
                            reason = format!("{} would be another too", row_text(key));
                        }
                        None => return Ok((texts, (configuration, drift))),
                    }
                }
            }
        }
        Err(reason)
    }

    /// What texts compile to, and how that differs from what is live.
    fn compiled(&mut self, texts: &Texts) -> Result<(Configuration, Drift), String> {
        let loaded = read_project_with(&self.opened.directory, self.options, texts);
        let first = |problems: &shardwright_diagnostics::Problems| {
            let sorted = problems.sorted();
            let grave = sorted
                .iter()
                .find(|problem| problem.severity == shardwright_diagnostics::Severity::Error);
            grave.map_or(String::new(), |problem| format!(": {}", problem.message))
        };
        let Some(project) = loaded.project else {
            return Err(format!("the files could not be read{}", first(&loaded.problems)));
        };
        let compiled = self.opened.build_of(&project, self.engine);
        if compiled.problems.has_errors() {
            return Err(format!(
                "the project would not compile{}",
                first(&compiled.problems)
            ));
        }
        let configuration = (*compiled.configuration).clone();
        let drift = self
            .proxy
            .drift(self.look, &configuration, &mut |_| None)
            .map_err(|error| error.to_string())?;
        Ok((configuration, drift))
    }

    fn look_at(&mut self, desired: &Configuration) -> Result<Drift, CommandError> {
        let drift = self.proxy.drift(self.look, desired, &mut |_| None);
        drift.map_err(|error| unreachable(&error))
    }
}

/// Whether a row differs only in its comment, which the next apply writes: the address of its object.
fn is_only_comment((_, live, files): &Difference) -> bool {
    let is_comment = |facts: &Option<Facts>| {
        let facts = facts.as_ref();
        facts.is_some_and(|facts| facts.keys().all(|column| column == "comment"))
    };
    is_comment(live) && is_comment(files)
}

/// Every row that differs.
fn differences(drift: &Drift) -> Vec<Difference> {
    let all = drift.differences.iter().flat_map(|one| {
        one.rows()
            .map(|(key, live, files)| (key.clone(), live.cloned(), files.cloned()))
    });
    all.collect()
}

/// The first row that somebody has changed on the proxy and that was not given up.
fn next(drift: &Drift, given_up: &BTreeSet<RowKey>) -> Option<(shardwright_rules::Address, Difference)> {
    let of_proxy = drift
        .differences
        .iter()
        .filter(|one| one.side != Side::RepoAhead && !one.staged);
    of_proxy
        .flat_map(|one| one.rows().map(move |row| (one.effect.address.clone(), row)))
        .find(|(_, (key, ..))| !given_up.contains(*key))
        .map(|(address, (key, live, files))| (address, (key.clone(), live.cloned(), files.cloned())))
}

fn row_text(key: &RowKey) -> String {
    match key {
        RowKey::Rule(id) => format!("rule {id}"),
        RowKey::FastRoute {
            username,
            schemaname,
            flag_in,
        } => format!("fast route ({username}, {schemaname}, {flag_in})"),
        RowKey::Row { table, key } => format!("{table} ({})", key.join(", ")),
    }
}

/// The changes as a patch that `git apply` takes.
fn patch(before: &Texts, now: &Texts) -> String {
    let mut out = String::new();
    for (path, text) in now.iter().filter(|(path, text)| before.get(*path) != Some(text)) {
        let old = before.get(path).map_or("", String::as_str);
        let from = match before.contains_key(path) {
            true => format!("a/{path}"),
            false => "/dev/null".to_owned(),
        };
        let diff = TextDiff::from_lines(old, text);
        let mut unified = diff.unified_diff();
        out.push_str(&unified.header(&from, &format!("b/{path}")).to_string());
    }
    out
}

fn print(outcome: &Outcome, patch: &str, is_dry: bool, ui: &Ui) -> Result<(), CommandError> {
    let left: Vec<_> = outcome
        .left
        .iter()
        .map(|(what, reason)| json!({"what": what, "reason": reason}))
        .collect();
    if ui.format() == Format::Json {
        return ui
            .json(&json!({"adopted": outcome.adopted, "left": left, "patch": patch, "written": !is_dry}));
    }
    ui.data(patch)?;
    for (what, reason) in &outcome.left {
        ui.message(&printable(&format!("not adopted: {what}: {reason}")));
    }
    let done = if is_dry { "would be adopted" } else { "adopted" };
    ui.status(&format!(
        "{} {done}; review the change, commit it, and apply it: the rows are live already",
        counted(outcome.adopted.len(), "row")
    ));
    Ok(())
}
