//! `status`: what each target runs, and whether that is what was applied.

use serde_json::{Value, json};
use shardwright_plan::{Observed, Target, TargetError};
use shardwright_targets::SelfProblem;
use shardwright_targets::proxysql::Status;

use crate::args::{self, Format, Global};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::live::{self, Live, Proxy};
use crate::project;
use crate::ui::Ui;

pub(crate) fn run(args: &args::Status, global: &Global, ui: &Ui) -> Result<Exit, CommandError> {
    let opened = project::open(global, ui)?;
    let mut all: Vec<Value> = Vec::new();
    let mut text = String::new();
    let mut is_well = true;
    let mut away: Vec<TargetError> = Vec::new();
    let mut targets = live::targets(&opened, &args.selection)?;
    for live in &mut targets {
        live.keep_runs(&opened)?;
    }
    for asked in live::side_by_side(&mut targets, Known::of) {
        match asked {
            Ok(Known::Bundled(name, observed, problems)) => {
                is_well &= problems.is_empty();
                text.push_str(&format!(
                    "{name}  bundled  generation {}{}\n",
                    observed.generation,
                    of_project(observed.project.as_deref())
                ));
                for SelfProblem { address, problem } in &problems {
                    text.push_str(&format!("  {address}: {problem}\n"));
                }
                let problems = problems
                    .iter()
                    .map(|of| json!({ "address": of.address, "problem": of.problem }));
                all.push(json!({
                    "target": name,
                    "engine": "bundled",
                    "generation": observed.generation,
                    "project": observed.project,
                    "fingerprint": observed.fingerprint,
                    "problems": problems.collect::<Vec<_>>(),
                }));
            }
            Ok(Known::ProxySql(status)) => {
                is_well &= status.is_well();
                text.push_str(&said(&status));
                all.push(
                    serde_json::to_value(&status)
                        .map_err(|error| CommandError::internal(error.to_string()))?,
                );
            }
            Err(error) => away.push(error),
        }
    }
    for error in &away {
        text.push_str(&format!("{}  cannot be read: {}\n", error.target, error.reason));
        all.push(json!({ "target": error.target, "unreachable": error.reason }));
    }
    match ui.format() {
        Format::Json => ui.json(&json!({ "targets": all }))?,
        Format::Human | Format::Markdown => ui.data(&text)?,
    }
    // The others are shown in any case. Nobody knows whether these are well, whatever an apply does with them.
    if !away.is_empty() {
        let reasons: Vec<String> = away.iter().map(ToString::to_string).collect();
        return Err(CommandError::failed(reasons.join("; ")));
    }
    Ok(match args.detailed_exitcode && !is_well {
        true => Exit::Changes,
        false => Exit::Done,
    })
}

/// What is known of a target.
enum Known {
    /// A bundled proxy by its name, and what is wrong with it.
    Bundled(String, Box<Observed>, Vec<SelfProblem>),
    ProxySql(Box<Status>),
}

impl Known {
    fn of(live: &mut Live) -> Result<Self, TargetError> {
        match &mut live.proxy {
            Proxy::Bundled(target) => {
                let observed = target.observe()?;
                let problems = target.problems()?;
                Ok(Self::Bundled(
                    target.name().to_owned(),
                    Box::new(observed),
                    problems,
                ))
            }
            Proxy::ProxySql(target) => target.status().map(Box::new).map(Self::ProxySql),
        }
    }
}

fn of_project(project: Option<&str>) -> String {
    project.map_or_else(String::new, |project| format!("  of {project}"))
}

fn said(status: &Status) -> String {
    let mut lines = vec![format!(
        "{}  ProxySQL {}  generation {}{}",
        status.target,
        status.version,
        status.generation,
        of_project(status.project.as_deref())
    )];
    match (status.is_as_applied, &status.run) {
        (Some(true), Some(run)) => lines.push(format!("  rows are as run {run} left them")),
        (Some(false), Some(run)) => {
            lines.push(format!(
                "  rows have changed since run {run}: shardwright diff shows how"
            ));
        }
        _ => lines.push("  nothing of this project was applied".to_owned()),
    }
    lines.extend(
        status
            .unfinished
            .iter()
            .map(|unfinished| format!("  {unfinished}")),
    );
    for module in &status.modules {
        let rows = module.not_live.iter().chain(&module.not_saved);
        lines.extend(rows.map(|row| format!("  {}: {row}", module.module)));
    }
    for variable in &status.waits_for_start {
        lines.push(format!("  {variable} waits for the next start of ProxySQL"));
    }
    lines.join("\n") + "\n"
}
