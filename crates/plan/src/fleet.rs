//! An apply to several targets: everything is checked before anything is changed, and the first failure stops what has not begun.

use crate::outcome::{BACK, MIXED};
use crate::{ApplyReport, Outcome, Plan, Target, Trace, apply_allowing};

/// Applies a plan to targets in their order. The first that fails is the last to which anything is sent. `begin` is told the name
/// of each before.
pub fn apply_all<'t>(
    plan: &Plan,
    targets: impl IntoIterator<Item = &'t mut dyn Target>,
    allowed: &[String],
    begin: &mut dyn FnMut(&str),
) -> Vec<ApplyReport> {
    let mut reports: Vec<ApplyReport> = Vec::new();
    let mut failed: Option<String> = None;
    for target in targets {
        if let Some(failed) = &failed {
            reports.push(not_begun(plan, target.name(), &format!("{failed} has failed")));
            continue;
        }
        begin(target.name());
        let report = apply_allowing(plan, target, allowed);
        if !report.outcome.is_success() {
            failed = Some(report.target.clone());
        }
        reports.push(report);
    }
    reports
}

/// The reports of an apply that nothing was begun of: those of the checks that failed, and the other targets.
pub fn nothing_begun(plan: &Plan, checks: Vec<(String, Option<ApplyReport>)>) -> Vec<ApplyReport> {
    let failed: Vec<String> = checks
        .iter()
        .filter(|(_, report)| report.is_some())
        .map(|(name, _)| name.clone())
        .collect();
    let why = format!("{} cannot be applied to", failed.join(", "));
    let reports = checks.into_iter().map(|(name, report)| match report {
        Some(report) => report,
        None => not_begun(plan, &name, &why),
    });
    reports.collect()
}

fn not_begun(plan: &Plan, target: &str, why: &str) -> ApplyReport {
    ApplyReport::not_begun(&plan.id, target, why)
}

impl ApplyReport {
    /// Of a target to which nothing is sent because of another one. `of` is the id of the plan, or the run that is taken back.
    pub fn not_begun(of: &str, target: &str, why: &str) -> Self {
        Self {
            target: target.to_owned(),
            plan: of.to_owned(),
            outcome: Outcome::NotBegun,
            before: None,
            after: None,
            message: format!("not begun: {why}"),
            problems: Vec::new(),
        }
    }
}

/// The last line of an apply to several targets that has failed: what each of them runs now. `None` of one target, and where
/// all went well.
pub fn conclusion(reports: &[ApplyReport]) -> Option<String> {
    concluded(
        reports,
        ["running the plan", "changed, and not seen to run the plan"],
    )
}

/// The same of a rollback.
pub fn conclusion_of_rollback(reports: &[ApplyReport]) -> Option<String> {
    concluded(reports, ["taken back", "changed, and not seen to be taken back"])
}

fn concluded(reports: &[ApplyReport], [done, doubtful]: [&'static str; 2]) -> Option<String> {
    if reports.len() < 2 || reports.iter().all(|report| report.outcome.is_success()) {
        return None;
    }
    let named = |is_one: &dyn Fn(&ApplyReport) -> bool| {
        let names: Vec<&str> = reports
            .iter()
            .filter(|report| is_one(report))
            .map(|report| report.target.as_str())
            .collect();
        (!names.is_empty()).then(|| names.join(", "))
    };
    let is_new = |report: &ApplyReport| report.outcome.is_success();
    let is_untouched = |report: &ApplyReport| {
        !is_new(report) && report.trace() == Trace::Untouched && report.outcome != Outcome::NotBegun
    };
    let parts = [
        (done, named(&is_new)),
        (
            doubtful,
            named(&|report| !is_new(report) && report.trace() == Trace::Changed),
        ),
        ("not known", named(&|report| report.trace() == Trace::Unknown)),
        ("set back", named(&|report| report.trace() == Trace::Back)),
        ("not changed", named(&is_untouched)),
        ("not begun", named(&|report| report.outcome == Outcome::NotBegun)),
    ];
    let parts: Vec<String> = parts
        .into_iter()
        .filter_map(|(what, names)| Some(format!("{what}: {}", names?)))
        .collect();
    let state = match ApplyReport::exit_code_of_all(reports) {
        MIXED => "the state is mixed",
        BACK => "every target that was changed is back",
        _ => "nothing was changed",
    };
    Some(format!("{state}; {}", parts.join("; ")))
}
