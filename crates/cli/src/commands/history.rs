//! `history`: the applies to ProxySQL of this project.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use shardwright_targets::proxysql::PastRun;

use crate::args::{self, Format, Global};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::project;
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
    if ui.format() == Format::Json {
        let runs: Vec<Value> = runs.map(|run| value(run, taken_back(run))).collect();
        ui.json(&json!({ "runs": runs }))?;
        return Ok(Exit::Done);
    }
    let lines: String = runs.map(|run| line(run, taken_back(run)) + "\n").collect();
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
