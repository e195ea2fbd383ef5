//! `history`: the applies of this project, and what administrators did to its bundled proxies.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::{Value, json};
use shardwright_targets::Operation;
use shardwright_targets::proxysql::{End, PastRun};

use crate::args::{self, Format, Global};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::live;
use crate::project::{self, Opened};
use crate::state;
use crate::ui::{Ui, counted};

/// How much of a commit is shown.
const SHORT: usize = 8;

pub(crate) fn run(args: &args::History, global: &Global, ui: &Ui) -> Result<Exit, CommandError> {
    let opened = project::open(global, ui)?;
    let runs = state::journal(&opened)?.history();
    let runs = runs.map_err(|error| CommandError::failed(error.to_string()))?;
    let wanted = &args.selection.targets;
    let is_wanted = |run: &&PastRun| wanted.is_empty() || wanted.contains(&run.head.target);
    // A rollback leads to the run that it takes back.
    let names: BTreeSet<&str> = runs.iter().map(|run| &*run.head.identity.run).collect();
    let taken_back = |run: &PastRun| names.get(&*run.head.desired).copied();
    let runs = runs.iter().filter(is_wanted);
    let proxies = on_proxies(&opened, args)?;
    if ui.format() == Format::Json {
        let runs: Vec<Value> = runs.map(|run| value(run, taken_back(run))).collect();
        let proxies: Vec<Value> = proxies.iter().map(OnProxy::value).collect();
        ui.json(&json!({ "runs": runs, "proxies": proxies }))?;
        return Ok(Exit::Done);
    }
    let of_proxies = proxies.iter().flat_map(OnProxy::lines);
    let runs: Vec<&PastRun> = runs.collect();
    let lines = of_applies(&runs, taken_back).into_iter().chain(of_proxies);
    let lines: String = lines.map(|line| line + "\n").collect();
    match lines.is_empty() {
        true => ui.status("no runs"),
        false => ui.data(&lines)?,
    }
    Ok(Exit::Done)
}

/// A line for each apply; of one with several targets, and one below it for the run of each.
fn of_applies<'r>(runs: &[&'r PastRun], taken_back: impl Fn(&'r PastRun) -> Option<&'r str>) -> Vec<String> {
    let mut applies: Vec<(&str, Vec<&'r PastRun>)> = Vec::new();
    for run in runs {
        let name = run.head.identity.of_apply();
        match applies.iter_mut().find(|(known, _)| *known == name) {
            Some((_, of_apply)) => of_apply.push(run),
            None => applies.push((name, vec![run])),
        }
    }
    let mut lines = Vec::new();
    for (name, runs) in applies {
        let is_whole = runs[0].head.identity.apply.is_some();
        if is_whole {
            lines.push(whole(name, &runs));
        }
        for run in runs {
            let line = line(run, taken_back(run), is_whole);
            lines.push(if is_whole { format!("  {line}") } else { line });
        }
    }
    lines
}

/// `20261125-…  3 targets  dba@host  4be1c90a  applied on 2: p1, p2; has not ended on p3`
fn whole(name: &str, runs: &[&PastRun]) -> String {
    let said = [
        (Some(End::Applied), "applied"),
        (Some(End::Restored), "set back"),
        (Some(End::Refused), "nothing changed"),
        (Some(End::Mixed), "mixed"),
        (None, "has not ended"),
    ];
    let said = said.into_iter().filter_map(|(end, what)| {
        let of_end = runs.iter().filter(|run| run.end().map(|(end, _)| end) == end);
        let names: Vec<&str> = of_end.map(|run| run.head.target.as_str()).collect();
        (!names.is_empty()).then(|| format!("{what}: {}", names.join(", ")))
    });
    let said: Vec<String> = said.collect();
    let of_all = runs[0];
    format!(
        "{name}  {}  {}  {}  {}",
        counted(runs.len(), "target"),
        of_all.head.identity.by,
        commit(of_all),
        said.join("; ")
    )
}

/// The commit, and whether files were not as they are in it.
fn commit(run: &PastRun) -> String {
    let identity = &run.head.identity;
    let commit = identity.commit.as_deref().unwrap_or("-");
    let more = if identity.is_uncommitted {
        " with uncommitted files"
    } else {
        ""
    };
    format!("{}{more}", commit.get(..SHORT).unwrap_or(commit))
}

fn line(run: &PastRun, taken_back: Option<&str>, is_part: bool) -> String {
    let record = &run.head;
    let taken_back = taken_back.map_or_else(String::new, |run| format!("takes back {run}: "));
    let who = if is_part {
        String::new()
    } else {
        format!("{}  {}  ", record.identity.by, commit(run))
    };
    format!(
        "{}  {}  generation {}  {who}{taken_back}{}",
        record.identity.run,
        record.target,
        record.generation,
        run.end().map_or("has not ended", |(_, message)| message)
    )
}

fn value(run: &PastRun, taken_back: Option<&str>) -> Value {
    let record = &run.head;
    json!({
        "run": record.identity.run,
        "apply": record.identity.of_apply(),
        "target": record.target,
        "admin": record.admin,
        "by": record.identity.by,
        "at": record.identity.at,
        "commit": record.identity.commit,
        "uncommitted": record.identity.is_uncommitted,
        "project": record.project,
        "base": record.base,
        "generation": record.generation,
        "desired": record.desired,
        "takes_back": taken_back,
        "end": run.end().map(|(end, _)| end),
        "message": run.end().map(|(_, message)| message),
    })
}

/// What administrators did to a bundled proxy since it was started, or why that is not known.
struct OnProxy {
    target: String,
    known: Result<Vec<Operation>, String>,
}

fn on_proxies(opened: &Opened, args: &args::History) -> Result<Vec<OnProxy>, CommandError> {
    let proxies = live::bundled_among(opened, &args.selection)?;
    Ok(live::side_by_side(proxies, |(name, target)| OnProxy {
        target: name.to_owned(),
        known: match target {
            Ok(target) => match target.operations() {
                Ok(Some(operations)) => Ok(operations),
                Ok(None) => Err("it runs an earlier version, which keeps none".to_owned()),
                Err(error) => Err(error.reason),
            },
            Err(error) => Err(error.message),
        },
    }))
}

impl OnProxy {
    fn lines(&self) -> Vec<String> {
        match &self.known {
            Ok(operations) => operations.iter().map(|operation| self.line(operation)).collect(),
            Err(reason) => vec![format!(
                "{}  what was done to it is not known: {reason}",
                self.target
            )],
        }
    }

    fn line(&self, of: &Operation) -> String {
        let by = of.by.as_deref().unwrap_or("signal");
        let error = of.error.as_ref();
        let error = error.map_or_else(String::new, |error| format!("  failed: {error}"));
        let (at, target, generation) = (at(of), &self.target, of.generation);
        format!(
            "{at}  {target}  generation {generation}  {by}  {}{error}",
            of.operation
        )
    }

    fn value(&self) -> Value {
        match &self.known {
            Ok(operations) => {
                let operations = operations.iter().map(|of| {
                    json!({
                        "at": at(of),
                        "by": of.by,
                        "operation": of.operation,
                        "generation": of.generation,
                        "error": of.error,
                    })
                });
                json!({ "target": self.target, "operations": operations.collect::<Vec<_>>() })
            }
            Err(reason) => json!({ "target": self.target, "unknown": reason }),
        }
    }
}

/// When it was done, in UTC.
fn at(operation: &Operation) -> String {
    let seconds = i64::try_from(operation.at_s).ok();
    let at = seconds.and_then(|seconds| Timestamp::from_second(seconds).ok());
    at.map_or_else(|| operation.at_s.to_string(), |at| at.to_string())
}
