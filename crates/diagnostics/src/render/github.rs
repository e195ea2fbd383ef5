//! Workflow commands of GitHub Actions: one annotation for each problem, at its line in the change.

use crate::{Finding, Report, Severity};

/// One line for each problem and one for a failure, errors before the others: GitHub shows the first ten of each kind. What one code says
/// of one place, such as on two engines, is one annotation.
#[must_use]
pub fn write(report: &Report) -> String {
    let mut findings: Vec<&Finding> = report.findings.iter().collect();
    findings.sort_by_key(|finding| finding.severity);
    let mut annotations: Vec<(String, String)> = Vec::new();
    for finding in findings {
        let (head, said) = (head(finding), data(&finding.text()));
        let same = annotations.iter_mut().find(|(known, _)| *known == head);
        match same.filter(|_| finding.location.is_some()) {
            Some((_, text)) => text.push_str(&format!("%0A%0A{said}")),
            None => annotations.push((head, said)),
        }
    }
    let lines = annotations.iter().map(|(head, said)| format!("{head}::{said}\n"));
    let mut text: String = lines.collect();
    if let Some(failure) = &report.failure {
        text.push_str(&format!("::error title=shardwright::{}\n", data(failure)));
    }
    text
}

/// The command with the place and the code.
fn head(finding: &Finding) -> String {
    let command = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "notice",
    };
    let mut properties = Vec::new();
    if let Some(location) = &finding.location {
        properties.push(format!("file={}", property(&location.path)));
        properties.push(format!("line={}", location.start.line));
        properties.push(format!("endLine={}", location.end.line));
        // Columns are for annotations of one line only.
        if location.start.line == location.end.line {
            properties.push(format!("col={}", location.start.column));
            properties.push(format!("endColumn={}", location.end.column));
        }
    }
    properties.push(format!("title={}", property(finding.code.as_str())));
    format!("::{command} {}", properties.join(","))
}

/// The runner undoes these escapes; other control characters could reach a terminal that shows the log.
fn data(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '%' => escaped.push_str("%25"),
            '\r' => escaped.push_str("%0D"),
            '\n' => escaped.push_str("%0A"),
            letter if letter.is_control() => escaped.push('\u{fffd}'),
            letter => escaped.push(letter),
        }
    }
    escaped
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
