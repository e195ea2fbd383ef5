//! Findings as lines that tests compare.

use shardwright_analysis::{Finding, analyse};
use shardwright_testkit::configuration;

/// The findings as lines: `SW201 error proved 20: message`, and the witness where there is one.
pub(crate) fn lines(findings: &[Finding]) -> Vec<String> {
    let line = |finding: &Finding| {
        let ids: Vec<String> = finding.rule_ids.iter().map(u32::to_string).collect();
        let (severity, proof) = (format!("{:?}", finding.severity), format!("{:?}", finding.proof));
        format!(
            "{} {} {} {}",
            finding.code,
            severity.to_lowercase(),
            proof.to_lowercase(),
            ids.join(",")
        )
    };
    findings.iter().map(line).collect()
}

/// Checks the findings of some rules, each as `CODE severity proof ids`.
#[track_caller]
pub(crate) fn check(name: &str, yaml: &str, expected: &[&str]) {
    let findings = analyse(&configuration(yaml));
    let messages: Vec<&str> = findings.iter().map(|finding| finding.message.as_str()).collect();
    assert_eq!(lines(&findings), expected, "{name}: {messages:#?}");
}
