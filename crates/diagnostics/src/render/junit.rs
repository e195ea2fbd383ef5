//! JUnit XML as CI systems read it (the schema of the Jenkins xUnit plug-in, `junit-10.xsd`).

use std::io;

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};

use crate::{CaseOutcome, Finding, Report, Severity, Tool};

/// A test case as it is written.
struct TestCase {
    class: String,
    name: String,
    verdict: Verdict,
}

enum Verdict {
    Passed,
    /// Passed, and something is to be read.
    Noted(String),
    Failed {
        kind: &'static str,
        message: String,
        details: String,
    },
    /// The run could not do its job.
    Broken(String),
}

/// One suite for the command. Each error and warning of a run that did not succeed is a failed case; notes, and warnings that
/// did not fail the run, are passed cases with output. A run without problems is one passed case, since systems take an
/// empty file for a mistake. A case fails if and only if the run did not succeed.
#[must_use]
pub fn write(report: &Report, tool: Tool<'_>) -> String {
    // A case that failed has a finding, which says more.
    let passed = report
        .cases
        .iter()
        .filter(|case| case.outcome == CaseOutcome::Passed);
    let mut cases: Vec<TestCase> = passed
        .map(|case| TestCase {
            class: case.suite.clone(),
            name: case.name.clone(),
            verdict: Verdict::Passed,
        })
        .collect();
    let is_success = report.is_success();
    cases.extend(report.findings.iter().map(|found| finding(found, is_success)));
    if let Some(failure) = &report.failure {
        cases.push(TestCase {
            class: tool.command.to_owned(),
            name: "run".to_owned(),
            verdict: Verdict::Broken(failure.clone()),
        });
    }
    if let Some(ending) = report.unexplained_ending() {
        cases.push(TestCase {
            class: tool.command.to_owned(),
            name: "run".to_owned(),
            verdict: Verdict::Failed {
                kind: "exit code",
                message: ending.clone(),
                details: ending,
            },
        });
    }
    if cases.is_empty() {
        cases.push(TestCase {
            class: tool.command.to_owned(),
            name: "no problems".to_owned(),
            verdict: Verdict::Passed,
        });
    }
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    suites(&mut writer, tool, &cases).expect("writing to memory cannot fail");
    let mut text = String::from_utf8(writer.into_inner()).expect("names and texts are strings");
    text.push('\n');
    text
}

fn finding(finding: &Finding, is_success: bool) -> TestCase {
    let location = finding.location.as_ref();
    let position = location.map(|location| format!(" {}:{}", location.start.line, location.start.column));
    let failed = |kind| Verdict::Failed {
        kind,
        message: finding.message.clone(),
        details: finding.rendered.clone(),
    };
    TestCase {
        class: location.map_or_else(|| "project".to_owned(), |location| location.path.clone()),
        name: format!(
            "{}{} {}",
            finding.code,
            position.unwrap_or_default(),
            finding.message
        ),
        verdict: match finding.severity {
            _ if is_success => Verdict::Noted(finding.rendered.clone()),
            Severity::Error => failed("error"),
            Severity::Warning => failed("warning"),
            Severity::Info => Verdict::Noted(finding.rendered.clone()),
        },
    }
}

fn suites(writer: &mut Writer<Vec<u8>>, tool: Tool<'_>, cases: &[TestCase]) -> io::Result<()> {
    let count = |wanted: fn(&Verdict) -> bool| {
        cases
            .iter()
            .filter(|case| wanted(&case.verdict))
            .count()
            .to_string()
    };
    let name = format!("shardwright {}", tool.command);
    let failures = count(|verdict| matches!(verdict, Verdict::Failed { .. }));
    let errors = count(|verdict| matches!(verdict, Verdict::Broken(_)));
    let tests = cases.len().to_string();
    let counts = [
        ("name", name.as_str()),
        ("tests", &tests),
        ("failures", &failures),
        ("errors", &errors),
    ];
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    writer
        .create_element("testsuites")
        .with_attributes(counts)
        .write_inner_content(|writer| {
            writer
                .create_element("testsuite")
                .with_attributes(counts)
                .with_attribute(("skipped", "0"))
                .write_inner_content(|writer| cases.iter().try_for_each(|case| test_case(writer, case)))?;
            Ok(())
        })?;
    Ok(())
}

fn test_case(writer: &mut Writer<Vec<u8>>, case: &TestCase) -> io::Result<()> {
    let element = writer
        .create_element("testcase")
        .with_attribute(("classname", clean(&case.class).as_str()))
        .with_attribute(("name", clean(&case.name).as_str()));
    let said = |writer: &mut Writer<Vec<u8>>, name: &str, attributes: &[(&str, &str)], text: &str| {
        let mut element = writer.create_element(name);
        for attribute in attributes {
            element = element.with_attribute(*attribute);
        }
        element.write_text_content(BytesText::new(&clean(text)))?;
        io::Result::Ok(())
    };
    match &case.verdict {
        Verdict::Passed => element.write_empty()?,
        Verdict::Noted(text) => {
            element.write_inner_content(|writer| said(writer, "system-out", &[], text))?
        }
        Verdict::Failed {
            kind,
            message,
            details,
        } => element.write_inner_content(|writer| {
            let attributes = [("type", *kind), ("message", &clean(message))];
            said(writer, "failure", &attributes, details)
        })?,
        Verdict::Broken(why) => element.write_inner_content(|writer| {
            said(writer, "error", &[("type", "run"), ("message", &clean(why))], why)
        })?,
    };
    Ok(())
}

/// The characters that XML 1.0 cannot hold, not even escaped, become replacement characters.
fn clean(text: &str) -> String {
    let allowed = |letter: char| match letter {
        '\t' | '\n' => true,
        '\u{fffe}' | '\u{ffff}' => false,
        letter => letter >= ' ',
    };
    text.chars()
        .map(|letter| if allowed(letter) { letter } else { '\u{fffd}' })
        .collect()
}
