//! `apply`: a saved plan exactly as it was saved, or plan, ask and apply.

use std::fs::File;
use std::io::{self, BufRead, IsTerminal, Write};
use std::path::Path;
use std::time::Duration;

use shardwright_plan::render::SHOWN_DIGEST;
use shardwright_plan::safety;
use shardwright_plan::{
    ApplyReport, LoadError, Outcome, Plan, TargetError, Trace, apply_all, conclusion, nothing_begun,
};
use shardwright_targets::proxysql::{End, Way};

use crate::args::{Apply, Format, Global};
use crate::clock;
use crate::commands::plan;
use crate::error::{CommandError, unreadable};
use crate::exit::Exit;
use crate::live::{self, Away, Live, LockUse, Making, Part, Proxy, Reached, side_by_side};
use crate::meaning;
use crate::project::{self, Opened};
use crate::refusals::{Subject, allowances, exit, refuse};
use crate::ui::Ui;

pub(crate) fn run(args: &Apply, global: &Global, ui: &Ui) -> Result<Exit, CommandError> {
    if let Some(run) = &args.resume {
        return resume(run, global, ui);
    }
    let allowed = allowances(&args.allow, Subject::Plan)?;
    let saved = args.plan.as_deref().map(saved).transpose()?;
    let opened = match &saved {
        Some(plan) => project::open(&in_environment_of(plan, global)?, ui)?,
        None => project::open(global, ui)?,
    };
    let mut reached = live::reachable(&opened, &args.selection)?;
    if saved.is_none() {
        for live in &mut reached.targets {
            live.take_staged(args.staged.way());
        }
    }
    let making = Making {
        lock: LockUse::Write,
        foreign: args.ownership.foreign(),
        away: Away::AsTheProjectSays,
    };
    let plan = match saved {
        Some(plan) => {
            leave_out_unusable(&plan, &reached, &opened, ui)?;
            plan
        }
        None => meaning::plan(&opened, &mut reached, ui, making)?,
    };
    let mut live = reached.targets;
    if args.plan.is_none() && ui.format() != Format::Json {
        plan::present(&plan, Some(&opened), &opened.directory, &allowed, ui)?;
    }
    if !plan.moves.is_empty() {
        let message = format!("{}; nothing was changed", shardwright_plan::cannot_move(&plan));
        return Err(CommandError::new(Exit::Refused, message));
    }
    if let Some(expected) = &args.expect_effects {
        expect(&plan, expected)?;
    }
    refuse_unsafe(&plan, &opened, &lifted_by(args, &allowed))?;
    // Whoever names the effects has seen them.
    let is_approved = args.auto_approve || args.expect_effects.is_some();
    if args.plan.is_none() && plan.has_changes() && !is_approved {
        approve(ui, "Apply this plan?", "this change needs approval").map_err(|error| {
            error.hint(
                "--auto-approve applies without asking; or save a plan, have it reviewed, and apply that",
            )
        })?;
    }
    live.retain(|live| plan.change(live.name()).is_some());
    for live in &mut live {
        live.drain(Duration::from_secs(args.drain));
    }
    let name = live::keep_runs(&mut live, &opened, changing(&plan))?;
    let reports = match check(&plan, &mut live, &opened, &allowed, ui)? {
        Some(refused) => refused,
        None => {
            live::tell_writers(&plan, &mut live, &opened, ui);
            apply(&plan, &mut live, &allowed, ui)
        }
    };
    let was_begun = reports.iter().any(|report| report.trace() != Trace::Untouched);
    let name = was_begun.then_some(name.as_str());
    present(&reports, name, ui)?;
    if let Some(conclusion) = conclusion(&reports).filter(|_| ui.format() != Format::Json) {
        ui.data(&format!("{conclusion}\n"))?;
    }
    if let Some(name) = name.filter(|_| reports.len() > 1) {
        ui.status(&format!(
            "shardwright rollback {name} takes this apply back on all of its targets"
        ));
    }
    Ok(exit(ApplyReport::exit_code_of_all(&reports)))
}

/// Targets of a saved plan that cannot be asked for want of a secret: left out if the project says so.
fn leave_out_unusable(plan: &Plan, reached: &Reached, opened: &Opened, ui: &Ui) -> Result<(), CommandError> {
    let of_plan = reached
        .unusable
        .iter()
        .filter(|error| plan.change(&error.target).is_some());
    let unusable: Vec<TargetError> = of_plan.cloned().collect();
    let is_any_left = reached
        .targets
        .iter()
        .any(|live| plan.change(live.name()).is_some());
    let goes_on = live::skips_unreachable(opened) && is_any_left;
    if !unusable.is_empty() && !goes_on {
        let error = live::all_unreachable(&unusable);
        return Err(CommandError::failed(format!(
            "{}; nothing was changed",
            error.message
        )));
    }
    for error in &unusable {
        live::warn_left_out(&error.to_string(), ui);
    }
    Ok(())
}

/// Checks every target before one is changed: the reports of an apply that must not begin. Targets that cannot be reached are left
/// out if the project says so.
fn check(
    plan: &Plan,
    live: &mut Vec<Live>,
    opened: &Opened,
    allowed: &[String],
    ui: &Ui,
) -> Result<Option<Vec<ApplyReport>>, CommandError> {
    // One target is checked as it is applied to.
    if live.len() < 2 {
        return Ok(None);
    }
    let mut checks = side_by_side(live.iter_mut(), |live| {
        let report = shardwright_plan::check(plan, live.target(), allowed);
        (live.name().to_owned(), report)
    });
    let is_away = |report: &ApplyReport| report.outcome == Outcome::NotSent && report.before.is_none();
    let reports = checks.iter().filter_map(|(_, report)| report.as_ref());
    let away: Vec<ApplyReport> = reports.filter(|report| is_away(report)).cloned().collect();
    let skips = live::skips_unreachable(opened) && away.len() < live.len();
    if !away.is_empty() && !skips {
        let reasons: Vec<&str> = away.iter().map(|report| report.message.as_str()).collect();
        let message = format!("{}; nothing was changed", reasons.join("; "));
        return Err(CommandError::failed(message)
            .hint("safety.unreachable: skip in shardwright.yaml leaves out targets that cannot be reached"));
    }
    for report in &away {
        live::warn_left_out(&report.message, ui);
    }
    let is_left_out = |name: &str| away.iter().any(|report| report.target == name);
    live.retain(|live| !is_left_out(live.name()));
    checks.retain(|(name, _)| !is_left_out(name));
    let is_ready = checks.iter().all(|(_, report)| report.is_none());
    Ok((!is_ready).then(|| nothing_begun(plan, checks)))
}

/// The targets that a plan changes, by name.
fn changing(plan: &Plan) -> Vec<String> {
    let changing = plan.targets.iter().filter(|target| !target.effects.is_empty());
    changing.map(|target| target.name.clone()).collect()
}

/// Finishes what was cut off: a run, or the runs of an apply that have not ended. What is told is about all targets of the apply.
fn resume(name: &str, global: &Global, ui: &Ui) -> Result<Exit, CommandError> {
    let opened = project::open(global, ui)?;
    let mut parts = live::parts(&opened, name)?;
    let missing = not_begun(name, &parts);
    // In the order in which they were begun.
    parts.reverse();
    let mut reports = Vec::new();
    for part in &mut parts {
        reports.push(match &part.run.end() {
            Some((end, _)) => ended(part, *end),
            None => finish(part, ui)?,
        });
    }
    reports.extend(missing);
    present(&reports, None, ui)?;
    if let Some(conclusion) = conclusion(&reports).filter(|_| ui.format() != Format::Json) {
        ui.data(&format!("{conclusion}\n"))?;
    }
    Ok(exit(ApplyReport::exit_code_of_all(&reports)))
}

/// Finishes a run that has not ended.
fn finish(part: &mut Part, ui: &Ui) -> Result<ApplyReport, CommandError> {
    let run = part.run.head.identity.run.clone();
    let target = part.live.name().to_owned();
    let Proxy::ProxySql(proxy) = &mut part.live.proxy else {
        let message = format!("target {target} is a bundled proxy: it took run {run} whole, or not at all");
        return Err(CommandError::new(Exit::Refused, message)
            .hint("apply again: shardwright plan shows what is missing"));
    };
    ui.status(&format!("finishing run {run} on {target}"));
    Ok(proxy.finish(&run, Way::Forward))
}

/// What became of a run that has ended.
fn ended(part: &Part, end: End) -> ApplyReport {
    let (outcome, said) = match (&part.taken_back_by, end) {
        (Some(by), _) => (Outcome::Restored, format!("was taken back by {by}")),
        (None, End::Applied) => (Outcome::Applied, "was applied".to_owned()),
        (None, End::Restored) => (Outcome::Restored, "was set back".to_owned()),
        (None, End::Refused) => (Outcome::Refused, "changed nothing".to_owned()),
        (None, End::Mixed) => (Outcome::Mixed, "left a mixture, or nobody knows what".to_owned()),
    };
    let run = &part.run.head.identity.run;
    ApplyReport {
        target: part.run.head.target.clone(),
        plan: run.clone(),
        outcome,
        before: None,
        after: None,
        message: format!("run {run} {said}"),
        problems: Vec::new(),
    }
}

/// The targets that an apply was to change and never began with.
fn not_begun(name: &str, parts: &[Part]) -> Vec<ApplyReport> {
    let Some(identity) = parts.first().map(|part| &part.run.head.identity) else {
        return Vec::new();
    };
    // A run by its own name is finished alone.
    if identity.of_apply() != name {
        return Vec::new();
    }
    let has_begun = |target: &String| parts.iter().any(|part| part.run.head.target == **target);
    let missing = identity.targets.iter().filter(|target| !has_begun(target));
    let why = "the apply was cut off before; shardwright plan shows what the target lacks";
    missing
        .map(|target| ApplyReport::not_begun(name, target, why))
        .collect()
}

/// A plan with other effects than those that were reviewed is not applied.
fn expect(plan: &Plan, expected: &str) -> Result<(), CommandError> {
    if plan.effect_digest.starts_with(expected) {
        return Ok(());
    }
    let message = format!(
        "the plan has the effects {}, and {expected} was expected; nothing was changed",
        plan.effect_digest
            .get(..SHOWN_DIGEST)
            .unwrap_or(&plan.effect_digest)
    );
    Err(CommandError::new(Exit::Stale, message).hint("review the new plan: shardwright plan"))
}

/// The codes that do not refuse the plan: prepared statements are waited for where there is time to.
fn lifted_by(args: &Apply, allowed: &[String]) -> Vec<String> {
    let waited_for = (args.drain > 0).then(|| shardwright_plan::codes::PREPARED.to_owned());
    allowed.iter().cloned().chain(waited_for).collect()
}

fn saved(path: &Path) -> Result<Plan, CommandError> {
    let file = File::open(path).map_err(|error| unreadable(path, &error))?;
    Plan::load(file, clock::now()).map_err(|error| {
        let exit = match &error {
            LoadError::Expired { .. } => Exit::Stale,
            LoadError::Read(_) => Exit::Failed,
            LoadError::Oversize { .. }
            | LoadError::NotAPlan(_)
            | LoadError::UnknownVersion { .. }
            | LoadError::UnknownFormat { .. }
            | LoadError::Tampered { .. } => Exit::BadDocument,
        };
        CommandError::new(exit, format!("{}: {error}", path.display()))
    })
}

/// The flags, in the environment that the plan was made for; another one that was asked for is refused.
fn in_environment_of(plan: &Plan, global: &Global) -> Result<Global, CommandError> {
    let said = |name: Option<&str>| {
        name.map_or("no environment".to_owned(), |name| {
            format!("the environment {name}")
        })
    };
    let (wanted, planned) = (global.environment.as_deref(), plan.environment.as_deref());
    if wanted.is_some() && wanted != planned {
        let message = format!("the plan is for {}, not for {}", said(planned), said(wanted));
        return Err(CommandError::usage(message).hint("omit -e: the saved plan contains its environment"));
    }
    Ok(Global {
        environment: plan.environment.clone(),
        ..global.clone()
    })
}

fn refuse_unsafe(plan: &Plan, opened: &Opened, allowed: &[String]) -> Result<(), CommandError> {
    refuse(&safety::check(plan, &live::limits(opened), clock::now(), allowed))
}

/// Asks the user; without an answer nothing is done. `needs` says why it is asked, where nobody can be.
pub(crate) fn approve(ui: &Ui, question: &str, needs: &str) -> Result<(), CommandError> {
    let refused = |message: &str| {
        CommandError::new(Exit::Refused, format!("{message}; nothing was changed"))
            .hint("--auto-approve does it without asking")
    };
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Err(refused(&format!("{needs}, but there is no terminal to ask on")));
    }
    let mut err = io::stderr().lock();
    write!(err, "{question} Type 'yes' to confirm: ")
        .and_then(|()| err.flush())
        .map_err(CommandError::output)?;
    let mut answer = String::new();
    io::stdin()
        .lock()
        .read_line(&mut answer)
        .map_err(|error| CommandError::failed(format!("cannot read the answer: {error}")))?;
    if answer.trim() == "yes" {
        return Ok(());
    }
    ui.status("");
    Err(refused("not approved"))
}

fn apply(plan: &Plan, live: &mut [Live], allowed: &[String], ui: &Ui) -> Vec<ApplyReport> {
    let targets = live.iter_mut().map(Live::target);
    apply_all(plan, targets, allowed, &mut |target| {
        ui.status(&format!("applying {} to {target}", plan.short_id()));
    })
}

/// Writes how an apply ended on each target; `apply` is its name, where it began.
pub(crate) fn present(reports: &[ApplyReport], apply: Option<&str>, ui: &Ui) -> Result<(), CommandError> {
    if ui.format() == Format::Json {
        return ui.json(&serde_json::json!({ "apply": apply, "reports": reports }));
    }
    for report in reports {
        ui.data(&format!("{}: {}\n", report.target, report.message))?;
        for problem in &report.problems {
            let address = problem
                .address
                .as_ref()
                .map(|address| format!("{address}: "))
                .unwrap_or_default();
            ui.data(&format!("  {address}{}\n", problem.reason))?;
        }
    }
    Ok(())
}
