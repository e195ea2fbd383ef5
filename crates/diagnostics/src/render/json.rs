//! The JSON of `lint --format json`: `{"findings": […], "summary": {…}}`; keys are only ever added.

use serde::Serialize;

use crate::{
    Applicability, Code, Counts, Diagnostic, Edit, Position, Problems, Proof, Severity, Sources, Witness,
};

#[derive(Serialize)]
struct Report<'a> {
    findings: Vec<Finding<'a>>,
    summary: Counts,
}

#[derive(Serialize)]
struct Finding<'a> {
    code: Code,
    severity: Severity,
    proof: Option<Proof>,
    message: &'a str,
    address: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    instance: Option<&'a str>,
    rule_ids: &'a [u32],
    file: Option<&'a str>,
    line: Option<u32>,
    column: Option<u32>,
    witness: Option<&'a Witness>,
    fix: Option<FixShape<'a>>,
}

#[derive(Serialize)]
struct FixShape<'a> {
    applicability: Applicability,
    edits: Vec<EditShape<'a>>,
}

#[derive(Serialize)]
struct EditShape<'a> {
    file: &'a str,
    line: u32,
    column: u32,
    end_line: u32,
    end_column: u32,
    text: &'a str,
}

/// The kept problems in file order, indented, with a final line end; the summary counts those not kept too.
#[must_use]
pub fn render(problems: &Problems, sources: &Sources) -> String {
    let findings = problems
        .sorted()
        .into_iter()
        .map(|diagnostic| finding(diagnostic, sources))
        .collect();
    let report = Report {
        findings,
        summary: problems.counts(),
    };
    let mut json =
        serde_json::to_string_pretty(&report).expect("a report holds only strings, numbers and lists");
    json.push('\n');
    json
}

fn finding<'a>(diagnostic: &'a Diagnostic, sources: &'a Sources) -> Finding<'a> {
    let span = diagnostic.primary.as_ref().map(|label| label.span);
    let position = span.map(|span| sources.position(span));
    Finding {
        code: diagnostic.code,
        severity: diagnostic.severity,
        proof: diagnostic.proof,
        message: &diagnostic.message,
        address: diagnostic.address.as_deref(),
        instance: diagnostic.instance.as_deref(),
        rule_ids: &diagnostic.rule_ids,
        file: span.map(|span| sources.path(span.file)),
        line: position.map(|position| position.line),
        column: position.map(|position| position.column),
        witness: diagnostic.witness.as_ref(),
        fix: diagnostic.fix.as_ref().map(|fix| FixShape {
            applicability: fix.applicability,
            edits: fix.edits.iter().map(|edit| edit_shape(edit, sources)).collect(),
        }),
    }
}

fn edit_shape<'a>(edit: &'a Edit, sources: &'a Sources) -> EditShape<'a> {
    let Position { line, column } = sources.position(edit.span);
    let end = sources.end_position(edit.span);
    let file = sources.path(edit.span.file);
    EditShape {
        file,
        line,
        column,
        end_line: end.line,
        end_column: end.column,
        text: &edit.text,
    }
}
