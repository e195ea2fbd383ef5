//! `history`: the applies to ProxySQL of this project, and what administrators did to its bundled proxies.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::{Value, json};
use shardwright_targets::Operation;
use shardwright_targets::proxysql::PastRun;

use crate::args::{self, Format, Global};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::live;
use crate::project::{self, Opened};
use crate::state;
use crate::ui::Ui;

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
    let lines = runs.map(|run| line(run, taken_back(run))).chain(of_proxies);
    let lines: String = lines.map(|line| line + "\n").collect();
    match lines.is_empty() {
        true => ui.status("no runs"),
        false => ui.data(&lines)?,
    }
    Ok(Exit::Done)
}

fn line(run: &PastRun, taken_back: Option<&str>) -> String {
    let record = &run.head;
    let taken_back = taken_back.map_or_else(String::new, |run| format!("takes back {run}: "));
    let commit = record.identity.commit.as_deref().unwrap_or("-");
    format!(
        "{}  {}  generation {}  {}  {}  {taken_back}{}",
        record.identity.run,
        record.target,
        record.generation,
        record.identity.by,
        commit.get(..SHORT).unwrap_or(commit),
        run.end().map_or("has not ended", |(_, message)| message)
    )
}

fn value(run: &PastRun, taken_back: Option<&str>) -> Value {
    let record = &run.head;
    json!({
        "run": record.identity.run,
        "target": record.target,
        "admin": record.admin,
        "by": record.identity.by,
        "at": record.identity.at,
        "commit": record.identity.commit,
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
