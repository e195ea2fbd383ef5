//! SW220 and SW222: patterns that the engine's library refuses.

use shardwright_diagnostics::{Proof, Severity};
use shardwright_patterns::{Dialect, ErrorKind, Flags, Pattern};
use shardwright_rules::{Body, BrokenPattern, PatternColumn, RegexEngine};

use super::CheckContext;
use crate::Finding;
use crate::codes::{BROKEN_PATTERN, NOT_IN_RE2};
use shardwright_prover::shortened;

pub(crate) fn check(context: &CheckContext<'_, '_>, findings: &mut Vec<Finding>) {
    let set = context.set;
    for (position, rule) in set.configuration.graph.rules.iter().enumerate() {
        let broken = set.patterns(position).broken(rule);
        findings.extend(broken.map(|broken| finding(context, &broken)));
    }
}

fn finding(context: &CheckContext<'_, '_>, broken: &BrokenPattern<'_>) -> Finding {
    let (id, error) = (broken.rule_id, broken.error);
    let configuration = context.set.configuration;
    let re2 = configuration.settings.regex == RegexEngine::Re2;
    let body = configuration
        .graph
        .rules
        .iter()
        .find(|rule| rule.id == id)
        .map(|rule| &rule.body);
    let row = match body {
        Some(Body::Engine(row)) => Some(row),
        _ => None,
    };
    let column = broken.column.name();
    let text = row.and_then(|row| match broken.column {
        PatternColumn::MatchDigest => row.match_digest.as_deref(),
        PatternColumn::MatchPattern => row.match_pattern.as_deref(),
        PatternColumn::Reads => None,
    });
    let written = text.map_or_else(String::new, |text| format!(" `{}`", shortened(text)));
    let negated = row.is_some_and(|row| row.negate_match_pattern);
    let in_pcre =
        re2 && text.is_some_and(|text| Pattern::compile(text, Flags::default(), Dialect::Pcre).is_ok());
    let code = if in_pcre { NOT_IN_RE2 } else { BROKEN_PATTERN };
    let new = |severity, proof, message| {
        let mut finding =
            Finding::new(code, severity, proof, message).at(broken.address, error.message.clone());
        finding.rule_ids = vec![id];
        finding.note(format!(
            "at byte {} of the pattern: {}",
            error.offset, error.message
        ))
    };
    if error.kind != ErrorKind::Invalid {
        let message = format!(
            "what {column}{written} of rule {id} matches cannot be computed here: {}",
            error.message
        );
        return new(Severity::Warning, Proof::Possible, message)
            .help("remove that part of the pattern, so that the rule can be analysed and run");
    }
    let engine = if re2 { "RE2" } else { "PCRE" };
    let effect = if negated {
        "so negated it is true for every statement"
    } else {
        "so the rule never matches"
    };
    let message = format!(
        "{column}{written} of rule {id} does not compile with {engine}: the engine accepts it silently, {effect}"
    );
    let help = if in_pcre {
        "remove what only PCRE supports, or set the engine's regex to pcre"
    } else {
        "correct the pattern; a literal `(`, `[`, `*`, `+` or `?` needs a backslash"
    };
    new(Severity::Error, Proof::Proved, message).help(help)
}
