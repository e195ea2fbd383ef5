//! `status`: what each target runs, and whether that is what was applied.

use serde_json::{Value, json};
use shardwright_plan::{Observed, Target, TargetError};
use shardwright_rules::EngineId;
use shardwright_targets::SelfProblem;
use shardwright_targets::proxysql::{Status, tell_behind};

use crate::args::{self, Format, Global};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::live::{self, Live, Proxy};
use crate::project::{self, Built, Opened};
use crate::ui::Ui;

pub(crate) fn run(args: &args::Status, global: &Global, ui: &Ui) -> Result<Exit, CommandError> {
    let opened = project::open(global, ui)?;
    let mut all: Vec<Value> = Vec::new();
    let mut text = String::new();
    let mut is_well = true;
    let mut away: Vec<TargetError> = Vec::new();
    let live::Reached {
        mut targets,
        unusable,
    } = live::reachable(&opened, &args.selection)?;
    away.extend(unusable);
    let no_history = live::keep_runs_if_known(&mut targets, &opened)?;
    is_well &= no_history.is_none();
    let mut asked = live::side_by_side(&mut targets, Known::of);
    tell_secrets(&mut targets, &mut asked, &opened);
    tell_sisters(&targets, &mut asked);
    for asked in asked {
        match asked {
            Ok(Known::Bundled(name, observed, older, problems)) => {
                is_well &= problems.is_empty() && older.is_none();
                text.push_str(&format!(
                    "{name}  bundled  generation {}{}\n",
                    observed.generation,
                    of_project(observed.project.as_deref())
                ));
                if let Some(older) = &older {
                    text.push_str(&format!("  {older}\n"));
                }
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
                    "behind": older.into_iter().collect::<Vec<_>>(),
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
    if let Some(reason) = &no_history {
        text.push_str(&format!("the history of runs cannot be read: {reason}\n"));
    }
    match ui.format() {
        Format::Json => ui.json(&json!({ "targets": all, "no_history": no_history }))?,
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
    /// A bundled proxy by its name, why it is older than what was applied, and what is wrong with it.
    Bundled(String, Box<Observed>, Option<String>, Vec<SelfProblem>),
    ProxySql(Box<Status>),
}

impl Known {
    fn of(live: &mut Live) -> Result<Self, TargetError> {
        match &mut live.proxy {
            Proxy::Bundled(target) => {
                let observed = target.observe()?;
                let problems = target.problems()?;
                let unknown = |error| {
                    Some(format!(
                        "whether it is older than what was applied is not known: {error}"
                    ))
                };
                let older = target.older(&observed).unwrap_or_else(unknown);
                let name = target.name().to_owned();
                Ok(Self::Bundled(name, Box::new(observed), older, problems))
            }
            Proxy::ProxySql(target) => target.status().map(Box::new).map(Self::ProxySql),
        }
    }
}

/// The secrets of the project that cannot be used from here, as an apply would.
fn tell_secrets(targets: &mut [Live], asked: &mut [Result<Known, TargetError>], opened: &Opened) {
    let mut builds: Vec<(EngineId, Built)> = Vec::new();
    for (live, known) in targets.iter_mut().zip(asked) {
        let (Proxy::ProxySql(target), Ok(Known::ProxySql(status))) = (&mut live.proxy, known) else {
            continue;
        };
        let engine = live.engine;
        if !builds.iter().any(|(built, _)| *built == engine) {
            builds.push((engine, opened.build_quietly(engine)));
        }
        let built = builds.iter().find(|(built, _)| *built == engine);
        let built = built.filter(|(_, built)| !built.compiled.problems.has_errors());
        match built {
            Some((_, built)) => status.unusable = target.unusable_secrets(&built.configuration),
            None => status.unusable = vec!["the files have errors: shardwright validate".to_owned()],
        }
    }
}

/// What other targets of the project run that was applied later.
fn tell_sisters(targets: &[Live], asked: &mut [Result<Known, TargetError>]) {
    let mut engines = Vec::new();
    let mut statuses: Vec<&mut Status> = Vec::new();
    for (live, known) in targets.iter().zip(asked) {
        if let Ok(Known::ProxySql(status)) = known {
            engines.push(live.engine);
            statuses.push(status);
        }
    }
    tell_behind(&mut statuses, &engines);
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
    let unusable = status.unusable.iter().map(|secret| format!("  {secret}"));
    lines.extend(status.behind.iter().map(|behind| format!("  {behind}")));
    lines.extend(unusable);
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
