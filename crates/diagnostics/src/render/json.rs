//! The JSON of `lint --format json`: `{"findings": […], "summary": {…}}`; keys are only ever added.

use serde::Serialize;

use crate::{
    Applicability, Code, Counts, Decided, Finding, Location, Problems, Proof, Report, Severity, Sources,
    Witness,
};

#[derive(Serialize)]
struct Shape<'a> {
    findings: Vec<FindingShape<'a>>,
    summary: SummaryShape<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<u8>,
}

#[derive(Serialize)]
struct SummaryShape<'a> {
    #[serde(flatten)]
    counts: Counts,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    decided: Vec<DecidedShape<'a>>,
}

/// How many rules of a rule set it is known of whether a statement can match them.
#[derive(Serialize)]
struct DecidedShape<'a> {
    rule_set: &'a str,
    asked: usize,
    decided: usize,
    /// From 0 to 1.
    share: f64,
    undecided: Vec<UndecidedShape<'a>>,
}

#[derive(Serialize)]
struct UndecidedShape<'a> {
    construct: &'a str,
    rule_ids: &'a [u32],
}

#[derive(Serialize)]
struct FindingShape<'a> {
    code: Code,
    severity: Severity,
    proof: Option<Proof>,
    message: &'a str,
    address: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    instance: Option<&'a str>,
    /// Further instances with the same problem.
    #[serde(skip_serializing_if = "is_zero")]
    more_instances: u32,
    rule_ids: &'a [u32],
    file: Option<&'a str>,
    line: Option<u32>,
    column: Option<u32>,
    end_line: Option<u32>,
    end_column: Option<u32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    related: Vec<RelatedShape<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<NoteShape<'a>>,
    witness: Option<&'a Witness>,
    fix: Option<FixShape<'a>>,
}

#[derive(Serialize)]
struct RelatedShape<'a> {
    #[serde(flatten)]
    range: Range<'a>,
    text: &'a str,
}

#[derive(Serialize)]
struct NoteShape<'a> {
    kind: &'static str,
    text: &'a str,
}

#[derive(Serialize)]
struct FixShape<'a> {
    applicability: Applicability,
    edits: Vec<EditShape<'a>>,
}

#[derive(Serialize)]
struct EditShape<'a> {
    #[serde(flatten)]
    range: Range<'a>,
    text: &'a str,
}

#[derive(Serialize)]
struct Range<'a> {
    file: &'a str,
    line: u32,
    column: u32,
    end_line: u32,
    end_column: u32,
}

/// The kept problems in file order, indented, with a final line end; the summary counts those not kept too.
#[must_use]
pub fn render(problems: &Problems, sources: &Sources) -> String {
    write(&Report::new(problems, sources, ""))
}

/// The same from a report, with the exit code, and the reason where the run could not do its job.
#[must_use]
pub fn write(report: &Report) -> String {
    let shape = Shape {
        findings: report.findings.iter().map(finding).collect(),
        summary: SummaryShape {
            counts: report.counts,
            decided: report.decided.iter().map(decided).collect(),
        },
        failure: report.failure.as_deref(),
        exit_code: report.ending.map(|ending| ending.code),
    };
    let mut json =
        serde_json::to_string_pretty(&shape).expect("a report holds only strings, numbers and lists");
    json.push('\n');
    json
}

fn decided(decided: &Decided) -> DecidedShape<'_> {
    let undecided = decided.undecided.iter().map(|undecided| UndecidedShape {
        construct: &undecided.construct,
        rule_ids: &undecided.rule_ids,
    });
    DecidedShape {
        rule_set: &decided.rule_set,
        asked: decided.asked,
        decided: decided.decided,
        share: decided.share(),
        undecided: undecided.collect(),
    }
}

fn finding(finding: &Finding) -> FindingShape<'_> {
    let location = finding.location.as_ref();
    FindingShape {
        code: finding.code,
        severity: finding.severity,
        proof: finding.proof,
        message: &finding.message,
        address: finding.address.as_deref(),
        instance: finding.instance.as_deref(),
        more_instances: finding.more_instances,
        rule_ids: &finding.rule_ids,
        file: location.map(|location| location.path.as_str()),
        line: location.map(|location| location.start.line),
        column: location.map(|location| location.start.column),
        end_line: location.map(|location| location.end.line),
        end_column: location.map(|location| location.end.column),
        related: finding
            .related
            .iter()
            .map(|(location, text)| RelatedShape {
                range: range(location),
                text,
            })
            .collect(),
        notes: finding
            .notes
            .iter()
            .map(|note| NoteShape {
                kind: note.kind.name(),
                text: &note.text,
            })
            .collect(),
        witness: finding.witness.as_ref(),
        fix: finding.fix.as_ref().map(|fix| FixShape {
            applicability: fix.applicability,
            edits: fix
                .edits
                .iter()
                .map(|(location, text)| EditShape {
                    range: range(location),
                    text,
                })
                .collect(),
        }),
    }
}

fn range(location: &Location) -> Range<'_> {
    Range {
        file: &location.path,
        line: location.start.line,
        column: location.start.column,
        end_line: location.end.line,
        end_column: location.end.column,
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
const fn is_zero(count: &u32) -> bool {
    *count == 0
}
