//! `--report html=FILE`: what a run found, as one page that loads nothing.

use shardwright_diagnostics::{CaseOutcome, Finding, Report, Severity, Tool};

use crate::page::{Frame, escaped, section};

/// Problems that are shown; the rest are counted.
const MAX_FINDINGS: usize = 1_000;

pub(super) fn write(report: &Report, tool: Tool<'_>) -> String {
    let failed = report
        .cases
        .iter()
        .filter(|case| case.outcome == CaseOutcome::Failed)
        .count();
    let mut body = tiles(report, failed);
    if let Some(failure) = &report.failure {
        body += &section(
            "failure",
            "Not done",
            &format!("<pre>{}</pre>\n", escaped(failure)),
        );
    }
    if let Some(ending) = report.unexplained_ending() {
        body += &section("ending", "Ended with", &format!("<p>{}</p>\n", escaped(&ending)));
    }
    body += &section("findings", "Findings", &findings(report));
    if !report.cases.is_empty() {
        body += &section("cases", "Tests", &cases(report));
    }
    let cases = if report.cases.is_empty() {
        ""
    } else {
        "<a href=\"#cases\">Tests</a>"
    };
    Frame {
        title: &format!("shardwright {}", tool.command),
        about: format!("version {}", escaped(tool.version)),
        links: format!("<a href=\"#findings\">Findings</a>{cases}"),
        body,
    }
    .page()
}

fn tiles(report: &Report, failed: usize) -> String {
    let counts = &report.counts;
    let tone = |count: usize, bad: &'static str| if count == 0 { "good" } else { bad };
    let tile = |count: usize, name: &str, tone: &str| {
        format!("<div class=\"tile {tone}\"><b>{count}</b><span>{name}</span></div>")
    };
    let mut tiles = [
        tile(counts.error, "errors", tone(counts.error, "bad")),
        tile(counts.warning, "warnings", tone(counts.warning, "fair")),
        tile(counts.info, "notes", ""),
    ]
    .concat();
    if !report.cases.is_empty() {
        tiles += &tile(report.cases.len(), "tests", "");
        tiles += &tile(failed, "tests failed", tone(failed, "bad"));
    }
    format!("<div class=\"tiles\">{tiles}</div>\n")
}

fn findings(report: &Report) -> String {
    if report.findings.is_empty() {
        return "<p class=\"empty\">Nothing was found.</p>\n".to_owned();
    }
    let mut out: String = report.findings.iter().take(MAX_FINDINGS).map(finding).collect();
    let hidden = report
        .counts
        .total()
        .saturating_sub(report.findings.len().min(MAX_FINDINGS));
    if hidden > 0 {
        out += &format!("<p class=\"quiet\">and {hidden} more</p>\n");
    }
    out
}

fn finding(finding: &Finding) -> String {
    let (level, word) = match finding.severity {
        Severity::Error => ("error", "error"),
        Severity::Warning => ("warning", "warning"),
        Severity::Info => ("info", "note"),
    };
    let place = finding.location.as_ref().map_or_else(String::new, |place| {
        format!(
            " · {}:{}:{}",
            escaped(&place.path),
            place.start.line,
            place.start.column
        )
    });
    format!(
        "<article class=\"finding {level}\" data-level=\"{level}\"><h3><code>{}</code> {}</h3>\
         <p class=\"quiet\">{word}{place}</p><pre class=\"shown\">{}</pre></article>\n",
        finding.code,
        escaped(&finding.message),
        // Browsers have no glyph for what stands in front of another file's excerpt.
        escaped(finding.rendered.trim_end()).replace('⸬', "▸")
    )
}

fn cases(report: &Report) -> String {
    let mut out = String::from(
        "<div class=\"wide\"><table class=\"sortable\"><thead><tr><th>test</th><th>of</th><th>ended</th></tr></thead><tbody>\n",
    );
    for case in &report.cases {
        let (tone, ended) = match &case.outcome {
            CaseOutcome::Passed => ("online", "as expected"),
            CaseOutcome::Failed => ("offline", "failed"),
        };
        out += &format!(
            "<tr><td>{}</td><td class=\"quiet\">{}</td><td><span class=\"dot {tone}\"></span>{}</td></tr>\n",
            escaped(&case.name),
            escaped(&case.suite),
            ended
        );
    }
    out + "</tbody></table></div>\n"
}
