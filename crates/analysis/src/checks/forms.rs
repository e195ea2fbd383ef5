//! SW229: a statement written a little otherwise escapes a pattern; SW230: an unescaped `?`; SW231: two patterns negated;
//! SW240: a pattern that backtracks.

use std::collections::BTreeSet;

use shardwright_diagnostics::{Proof, Severity};
use shardwright_rules::decide::Index;
use shardwright_rules::{Outcome, RegexEngine};

use super::Known;
use crate::Finding;
use crate::codes::{BACKTRACKS, ESCAPED_BY_FORM, QUANTIFIER_MEANT_LITERALLY, TWO_NEGATED};
use crate::example::Example;

pub(crate) fn escapes(known: &Known<'_, '_>, findings: &mut Vec<Finding>) {
    let set = known.set;
    let mut said = BTreeSet::new();
    for trial in &known.trials {
        let Some(rule) = trial.hits().find(|&hit| {
            set.row(hit)
                .is_some_and(|row| row.match_pattern.is_some() && !row.negate_match_pattern && row.apply)
        }) else {
            continue;
        };
        let pattern = set
            .row(rule)
            .and_then(|row| row.match_pattern.as_deref())
            .unwrap_or_default();
        if !set.is_written(rule) || said.contains(&rule) {
            continue;
        }
        for (what, text) in variants(pattern, &trial.example.text) {
            let decision = set.decide(&trial.example.session, &text);
            if decision.hits.contains(&(rule as u32))
                || same_place(&decision.outcome, &trial.decision.outcome)
            {
                continue;
            }
            said.insert(rule);
            let message = format!(
                "rule {} does not match the same statement with {what}, which then goes elsewhere",
                set.id(rule)
            );
            let example = Example {
                session: trial.example.session.clone(),
                text,
            };
            let finding = Finding::new(ESCAPED_BY_FORM, Severity::Warning, Proof::Witnessed, message)
                .about(set, &[rule], "reads the statement as it is written")
                .shown_by(set, &example);
            findings.push(finding.help(
                "use `match_digest`: a digest has no comments, one blank for several, and no `;` at its end",
            ));
            break;
        }
    }
}

/// The statement as other clients write it, as far as the pattern can tell.
fn variants(pattern: &str, text: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let mut variants = Vec::new();
    let behind = |prefix: &[u8]| [prefix, text].concat();
    if pattern.starts_with('^') {
        variants.push(("a blank before it", behind(b" ")));
        variants.push(("a comment before it", behind(b"/* a */ ")));
    }
    if pattern.contains('.')
        && let Some(at) = text.iter().position(|&byte| byte == b' ')
    {
        let mut broken = text.to_vec();
        broken[at] = b'\n';
        variants.push(("a line break in it", broken));
    }
    if pattern.ends_with('$') && !pattern.ends_with("\\$") {
        variants.push(("a semicolon behind it", [text, b";"].concat()));
    }
    variants
}

fn same_place(one: &Outcome, other: &Outcome) -> bool {
    match (one, other) {
        (Outcome::Route(a), Outcome::Route(b)) => a.hostgroup == b.hostgroup,
        (Outcome::Reject(_), Outcome::Reject(_))
        | (Outcome::Answer { .. }, Outcome::Answer { .. })
        | (Outcome::Own { .. }, Outcome::Own { .. }) => true,
        _ => false,
    }
}

/// Whether an unescaped `?` stands where a digest has one for a literal: behind a comparison, a comma, or a blank that ends
/// a word. An optional blank, as in `COUNT ?\(`, is none: in a digest no name and no parenthesis follows on a literal.
fn has_placeholder(pattern: &str) -> bool {
    let bytes = pattern.as_bytes();
    bytes.windows(2).enumerate().any(|(at, two)| match two {
        b"=?" | b",?" | b"<?" | b">?" => true,
        b" ?" => {
            let behind = &bytes[at + 2..];
            !behind.starts_with(b"\\(")
                && !matches!(behind.first(), Some(b'(' | b'[' | b'_' | b'`'))
                && !behind.first().is_some_and(u8::is_ascii_alphanumeric)
        }
        _ => false,
    })
}

pub(crate) fn as_written(known: &Known<'_, '_>, findings: &mut Vec<Finding>) {
    let set = known.set;
    for (position, row) in set.written() {
        let id = set.id(position);
        let text = row.match_digest.as_deref().unwrap_or_default();
        if has_placeholder(text) {
            let message = format!(
                "match_digest of rule {id} has an unescaped `?`, which makes what stands before it optional and does not \
                 stand for a literal"
            );
            let finding = Finding::new(
                QUANTIFIER_MEANT_LITERALLY,
                Severity::Warning,
                Proof::Proved,
                message,
            )
            .about(set, &[position], "`?` is a quantifier");
            findings.push(finding.help("write `\\?`"));
        }
        if row.negate_match_pattern && row.match_digest.is_some() && row.match_pattern.is_some() {
            let message = format!(
                "rule {id} negates two patterns: it matches where neither of them matches, not where one of them fails"
            );
            let finding = Finding::new(TWO_NEGATED, Severity::Info, Proof::Proved, message).about(
                set,
                &[position],
                "negates each of them",
            );
            findings.push(finding.help("write two rules where one failing pattern is meant to be enough"));
        }
        if set.configuration.settings.regex == RegexEngine::Pcre {
            let patterns = set.lookup.patterns(position);
            let compiled = patterns.of_digest().iter().chain(patterns.of_text()).flatten();
            if let Some(shape) = compiled.filter_map(|pattern| pattern.backtracking()).next() {
                let message = format!(
                    "a pattern of rule {id} has {shape}: PCRE needs time or stack that grows quickly with the statement, \
                     and counts as no match when it gives up"
                );
                let finding = Finding::new(BACKTRACKS, Severity::Warning, Proof::Proved, message).about(
                    set,
                    &[position],
                    "backtracks",
                );
                findings.push(
                    finding
                        .help("write one class instead of alternatives, and no repetition of a repetition"),
                );
            }
        }
    }
}
