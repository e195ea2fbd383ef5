//! SW224: digests are switched off; SW225: digests are made otherwise; SW226: a pattern asks a digest for a literal; SW227:
//! a pattern asks the digest for rewritten text; SW247: a limit that ends the engine.

use shardwright_diagnostics::{Proof, Severity};
use shardwright_rules::{GROUPING_LIMITS, RefusedExecution, changes_digests};

use super::CheckContext;
use crate::Finding;
use crate::codes::{
    DIGEST_LIMIT_ENDS_ENGINE, DIGEST_OF_ORIGINAL, DIGEST_OPTIONS, DIGESTS_OFF, LITERAL_IN_DIGEST,
};
use shardwright_prover::Verdict;

pub(crate) fn settings(context: &CheckContext<'_, '_>, findings: &mut Vec<Finding>) {
    let set = context.set;
    let variables = &set.configuration.variables;
    let off = variables
        .get("mysql-query_digests")
        .is_some_and(|value| matches!(value.to_ascii_lowercase().as_str(), "false" | "0" | "off"));
    let reading = |hash_only: bool| -> Vec<usize> {
        let rules = (0..set.rule_count()).filter(|&position| {
            set.row(position)
                .is_some_and(|row| row.digest.is_some() || (!hash_only && row.match_digest.is_some()))
        });
        rules.collect()
    };
    let rules = reading(false);
    if off && !rules.is_empty() {
        let message = format!(
            "mysql-query_digests is off, so conditions on digests are skipped and rule {} matches every statement",
            set.id(rules[0])
        );
        let finding = Finding::new(DIGESTS_OFF, Severity::Error, Proof::Proved, message).about(
            set,
            &rules,
            "its condition is skipped",
        );
        findings.push(finding.help("leave mysql-query_digests on"));
    }
    let changed = variables
        .iter()
        .find(|(name, value)| changes_digests(name, value));
    let rules = reading(true);
    if let Some((name, value)) = changed.filter(|_| !rules.is_empty()) {
        let message = format!(
            "{name} is {value}, so digests can have other hashes than rule {} was written for",
            set.id(rules[0])
        );
        let finding = Finding::new(DIGEST_OPTIONS, Severity::Warning, Proof::Possible, message).about(
            set,
            &rules,
            "matches a hash",
        );
        findings.push(
            finding.help("copy the hashes from an engine with the same settings, or use `match_digest`"),
        );
    }
}

/// SW247
pub(crate) fn limits(context: &CheckContext<'_, '_>, findings: &mut Vec<Finding>) {
    let configuration = context.set.configuration;
    if configuration.engine.profile().prepared.refused_execution != RefusedExecution::EndsEngine {
        return;
    }
    for name in GROUPING_LIMITS {
        let limit = configuration.variables.get(name);
        let Some(limit) = limit.and_then(|value| value.parse::<u32>().ok()) else {
            continue;
        };
        let read_as = limit as u8 as i8;
        if read_as >= 0 {
            continue;
        }
        let message = format!(
            "{name} is {limit}, which the engine reads as {read_as}: a list of literals in a statement can crash the engine for every client (signal 11)"
        );
        let finding = Finding::new(
            DIGEST_LIMIT_ENDS_ENGINE,
            Severity::Error,
            Proof::Possible,
            message,
        );
        findings.push(finding.help("set a value from 1 to 127, or 0 to shorten no list"));
    }
}

pub(crate) fn literals(context: &CheckContext<'_, '_>, findings: &mut Vec<Finding>) {
    let set = context.set;
    for (position, row) in set.written() {
        let by_no_usual_statement = match context.reach.verdict(position) {
            Verdict::Undecided(_) => true,
            Verdict::Never(takers) => takers.is_empty(),
            Verdict::Reached(example) => holds_executable_comment(&example.text),
            Verdict::NotAsked | Verdict::SafetyNet => false,
        };
        if !by_no_usual_statement || row.negate_match_pattern {
            continue;
        }
        let patterns = set.patterns(position);
        let Some(Ok(pattern)) = patterns.of_digest().first() else {
            continue;
        };
        let Some(sample) = pattern.sample().filter(|sample| pattern.is_match(sample)) else {
            continue;
        };
        let digest = set.digest_text(&sample);
        if pattern.is_match(&digest) {
            continue;
        }
        let message = format!(
            "rule {} searches digests for `{}`, but a digest contains `{}`: literals become `?`, and comments are removed, except executable ones (`/*! … */`)",
            set.id(position),
            String::from_utf8_lossy(&sample),
            String::from_utf8_lossy(&digest)
        );
        let finding = Finding::new(LITERAL_IN_DIGEST, Severity::Warning, Proof::Possible, message).about(
            set,
            &[position],
            "no usual digest contains this",
        );
        findings.push(finding.help("use `match_pattern` to search the statement"));
    }
}

fn holds_executable_comment(text: &[u8]) -> bool {
    text.windows(3).any(|part| part == b"/*!")
}

pub(crate) fn original(context: &CheckContext<'_, '_>, findings: &mut Vec<Finding>) {
    let set = context.set;
    let later: Vec<usize> = set
        .written()
        .filter(|(_, row)| row.match_digest.is_some() && !row.negate_match_pattern)
        .map(|(position, _)| position)
        .collect();
    for (position, row) in set.written() {
        let (Some(replacement), Some(example)) = (&row.replace_pattern, context.reach.example(position))
        else {
            continue;
        };
        let patterns = set.patterns(position);
        let Some(Ok(pattern)) = patterns.of_text().first() else {
            continue;
        };
        let Some(rewritten) = pattern.rewrite(&example.text, replacement.as_bytes()) else {
            continue;
        };
        let (before, after) = (set.digest_text(&example.text), set.digest_text(&rewritten));
        let waiting = later.iter().copied().find(|&other| {
            let of_digest = set.patterns(other).of_digest().first();
            let asks = |text: &[u8]| matches!(of_digest, Some(Ok(pattern)) if pattern.is_match(text));
            other > position && asks(&after) && !asks(&before)
        });
        if let Some(other) = waiting {
            let message = format!(
                "rule {} searches the digest for what rule {} writes, but the digest is made from the client's text: it does not match the rewritten text",
                set.id(other),
                set.id(position)
            );
            let finding = Finding::new(DIGEST_OF_ORIGINAL, Severity::Warning, Proof::Witnessed, message)
                .about(set, &[other, position], "the digest is not rewritten")
                .shown_by(set, example);
            findings.push(finding.help("use `match_pattern`, which reads the rewritten text"));
        }
    }
}
