//! Markdown for a comment on a change: a line of counts, then each problem as a terminal would show it.

use crate::{CaseOutcome, Finding, Report, Severity};

/// All problems; text of the user's files stands in fences only, where it is not read as Markdown.
#[must_use]
pub fn write(report: &Report) -> String {
    let failed = report
        .cases
        .iter()
        .filter(|case| case.outcome == CaseOutcome::Failed)
        .count();
    let summary = match report.unexplained_ending() {
        Some(ending) if report.counts.total() == 0 => ending,
        Some(ending) => format!("{}; {ending}", report.counts.summary()),
        None if report.failure.is_some() && report.counts.total() == 0 => "failed".to_owned(),
        None => report.counts.summary(),
    };
    let mut text = format!("### shardwright: {summary}");
    if !report.cases.is_empty() {
        text.push_str(&format!("; {failed} of {} tests failed", report.cases.len()));
    }
    text.push('\n');
    if let Some(failure) = &report.failure {
        text.push_str(&format!("\n**failed**\n\n{}", fenced(failure)));
    }
    for finding in &report.findings {
        text.push_str(&format!(
            "\n**{}**\n\n{}",
            title(finding),
            fenced(&finding.rendered)
        ));
    }
    let unkept = report.counts.total().saturating_sub(report.findings.len());
    if unkept > 0 {
        text.push_str(&format!("\nand {unkept} more, not shown\n"));
    }
    text
}

fn title(finding: &Finding) -> String {
    let severity = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    };
    format!("{severity} {}", finding.code)
}

/// A fence that nothing in the text can end.
fn fenced(text: &str) -> String {
    let longest = text
        .split(|letter| letter != '`')
        .map(str::len)
        .max()
        .unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}text\n{}\n{fence}\n", text.trim_end())
}
