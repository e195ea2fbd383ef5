//! `rollback`: an apply taken back, on all of its targets.

mod part;

use shardwright_plan::{ApplyReport, Outcome, conclusion_of_rollback};

use self::part::{Preview, Way};
use crate::args::{Format, Global, Rollback};
use crate::commands::apply::{approve, present};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::live::{self, Part, side_by_side};
use crate::project;
use crate::refusals::{Subject, allowances, exit, refuse};
use crate::ui::Ui;

pub(crate) fn run(args: &Rollback, global: &Global, ui: &Ui) -> Result<Exit, CommandError> {
    let allowed = allowances(&args.allow, Subject::TakingBack)?;
    let opened = project::open(global, ui)?;
    let limits = live::limits(&opened);
    let mut parts = live::parts(&opened, &args.run)?;
    let is_whole = parts.len() > 1;
    let (environment, expiry) = (opened.environment.clone(), live::expiry(&opened));
    let of_plans = (environment.as_deref(), expiry);
    let previews = side_by_side(parts.iter_mut(), |part| part.preview(of_plans, is_whole));
    let mut chosen: Vec<(Part, Preview)> = Vec::new();
    let mut failed: Vec<ApplyReport> = Vec::new();
    for (part, preview) in parts.into_iter().zip(previews) {
        match preview {
            Ok(preview) if matches!(preview.way, Way::Nothing(_)) => {
                if let Way::Nothing(why) = preview.way {
                    ui.status(&format!("{}: nothing to take back: {why}", part.live.name()));
                }
            }
            Ok(preview) => chosen.push((part, preview)),
            Err(report) if args.leave_changed && report.outcome == Outcome::Stale => {
                ui.message(&format!(
                    "warning: {}; it is left as it is (--leave-changed)",
                    report.message
                ));
            }
            Err(report) => failed.push(*report),
        }
    }
    if !failed.is_empty() {
        return nothing_begun(failed, &chosen, args, ui);
    }
    if chosen.is_empty() {
        let message = format!("nothing of {} is left to take back", args.run);
        return Err(CommandError::new(Exit::Refused, message).hint("shardwright history lists what was done"));
    }
    let refusals: Vec<_> = chosen
        .iter()
        .flat_map(|(part, preview)| preview.refusals(part.live.name(), &limits, &allowed))
        .collect();
    if ui.format() != Format::Json {
        for (part, preview) in &chosen {
            if is_whole {
                ui.data(&format!("{}:\n", part.live.name()))?;
            }
            ui.data(&shardwright_plan::render::effects(preview.effects()))?;
        }
    }
    refuse(&refusals)?;
    // A target between two states does not wait for an answer.
    let asks = chosen.iter().any(|(_, preview)| preview.is_of_applied());
    if asks && !args.auto_approve {
        let question = if is_whole {
            "Take this apply back?"
        } else {
            "Take this run back?"
        };
        approve(ui, question, "this change needs approval")?;
    }
    end(&take_back(chosen, &allowed, ui), ui)
}

/// Takes the parts back one after the other. The first that fails is the last to which anything is sent.
fn take_back(chosen: Vec<(Part, Preview)>, allowed: &[String], ui: &Ui) -> Vec<ApplyReport> {
    let mut reports: Vec<ApplyReport> = Vec::new();
    let mut failed: Option<String> = None;
    for (mut part, preview) in chosen {
        let (run, target) = (part.run.head.identity.run.clone(), part.live.name().to_owned());
        if let Some(failed) = &failed {
            reports.push(ApplyReport::not_begun(
                &run,
                &target,
                &format!("{failed} has failed"),
            ));
            continue;
        }
        let unfinished = if part.run.is_open() {
            ", which has not ended"
        } else {
            ""
        };
        ui.status(&format!("taking back run {run} on {target}{unfinished}"));
        let report = part.take_back(&preview, allowed);
        if !report.outcome.is_success() {
            failed = Some(target);
        }
        reports.push(report);
    }
    reports
}

/// The end of a rollback that must not begin: an apply is taken back on all of its targets, or on none.
fn nothing_begun(
    failed: Vec<ApplyReport>,
    others: &[(Part, Preview)],
    args: &Rollback,
    ui: &Ui,
) -> Result<Exit, CommandError> {
    let names: Vec<&str> = failed.iter().map(|report| report.target.as_str()).collect();
    let why = format!("{} cannot be taken back", names.join(", "));
    let is_changed = failed.iter().all(|report| report.outcome == Outcome::Stale);
    let others = others
        .iter()
        .map(|(part, _)| ApplyReport::not_begun(&part.run.head.identity.run, part.live.name(), &why));
    let others: Vec<ApplyReport> = others.collect();
    if is_changed && !others.is_empty() {
        ui.message(&format!(
            "--leave-changed takes {} back on the other targets, and leaves {} as it is",
            args.run,
            names.join(", ")
        ));
    }
    end(&[failed, others].concat(), ui)
}

fn end(reports: &[ApplyReport], ui: &Ui) -> Result<Exit, CommandError> {
    present(reports, None, ui)?;
    if let Some(conclusion) = conclusion_of_rollback(reports).filter(|_| ui.format() != Format::Json) {
        ui.data(&format!("{conclusion}\n"))?;
    }
    Ok(exit(ApplyReport::exit_code_of_all(reports)))
}
