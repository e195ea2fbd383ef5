//! SW501 to SW508: rewrites that change what they should not, or change nothing.

use shardwright_diagnostics::{Proof, Severity};
use shardwright_patterns::Pattern;
use shardwright_rules::{EngineRule, Outcome, RegexEngine, SentAs};

use super::CheckContext;
use crate::Finding;
use crate::codes::{
    CAPTURE_AS_IDENTIFIER, LITERAL_REWRITTEN, NOT_IDEMPOTENT, PREDICATE_LOST, PREPARED_ELSEWHERE,
    REPLACE_NEGATED, REWRITE_IN_CASE, REWRITE_WITHOUT_EFFECT,
};
use shardwright_prover::Example;
use shardwright_prover::without_literals;

pub(crate) fn check(context: &CheckContext<'_, '_>, findings: &mut Vec<Finding>) {
    let set = context.set;
    for (position, row) in set.written().filter(|(position, _)| !set.is_mark(*position)) {
        let Some(replacement) = &row.replace_pattern else {
            continue;
        };
        if row.negate_match_pattern {
            let message = format!(
                "rule {} replaces what its pattern matches, and matches only where the pattern does not: nothing is \
                 ever replaced",
                set.id(position)
            );
            let finding = Finding::new(REPLACE_NEGATED, Severity::Error, Proof::Proved, message).about(
                set,
                &[position],
                "never replaces",
            );
            findings.push(finding.help("remove `negate_match_pattern`, or `replace_pattern`"));
            continue;
        }
        let patterns = set.patterns(position);
        let Some(Ok(pattern)) = patterns.of_text().first() else {
            continue;
        };
        let rewrite = Rewrite {
            context,
            position,
            row,
            pattern,
            replacement,
        };
        findings.extend(rewrite.identifier());
        findings.extend(rewrite.lost());
        findings.extend(rewrite.in_case());
        let example = context.reach.example(position);
        findings.extend(example.and_then(|example| rewrite.without_effect(example)));
        findings.extend(rewrite.literal());
        findings.extend(example.and_then(|example| rewrite.again(example)));
    }
}

struct Rewrite<'r, 'k, 'c> {
    context: &'r CheckContext<'k, 'c>,
    position: usize,
    row: &'r EngineRule,
    pattern: &'r Pattern,
    replacement: &'r str,
}

impl Rewrite<'_, '_, '_> {
    fn id(&self) -> u32 {
        self.context.set.id(self.position)
    }

    fn finding(
        &self,
        code: shardwright_diagnostics::Code,
        severity: Severity,
        proof: Proof,
        what: &str,
    ) -> Finding {
        Finding::new(code, severity, proof, format!("rule {} {what}", self.id())).about(
            self.context.set,
            &[self.position],
            "rewrites",
        )
    }

    /// Group numbers that the replacement names.
    fn named(&self) -> Vec<usize> {
        let bytes = self.replacement.as_bytes();
        let mut groups = Vec::new();
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            if byte == b'\\' {
                if let Some(digit) = bytes.get(at + 1).filter(|byte| byte.is_ascii_digit()) {
                    groups.push(usize::from(digit - b'0'));
                }
                at += 1;
            }
            at += 1;
        }
        groups
    }

    fn identifier(&self) -> Option<Finding> {
        let bytes = self.replacement.as_bytes();
        let is_reference = |at: usize| {
            bytes.get(at) == Some(&b'\\')
                && bytes.get(at + 1).is_some_and(|byte| (b'1'..=b'9').contains(byte))
        };
        let qualifies = (0..bytes.len()).any(|at| {
            is_reference(at)
                && (bytes.get(at + 2) == Some(&b'.')
                    || at.checked_sub(1).and_then(|before| bytes.get(before)) == Some(&b'.'))
        });
        qualifies.then(|| {
            let what =
                "uses captured text as the name of a schema or table: the client chooses which one is read";
            self.finding(CAPTURE_AS_IDENTIFIER, Severity::Warning, Proof::Proved, what)
                .help("write one rule for each value that is allowed, or place by a shard map")
        })
    }

    fn lost(&self) -> Option<Finding> {
        let named = self.named();
        if named.contains(&0) || named.is_empty() {
            return None;
        }
        let open = self.pattern.open_groups();
        let lost = open.into_iter().find(|group| !named.contains(group))?;
        let what = format!("drops what group {lost} of its pattern matched: conditions in it are lost");
        Some(
            self.finding(PREDICATE_LOST, Severity::Error, Proof::Proved, &what)
                .help(format!("write `\\{lost}` in the replacement, or match less")),
        )
    }

    fn in_case(&self) -> Option<Finding> {
        let re2 = self.context.set.configuration.settings.regex == RegexEngine::Re2;
        (re2 && self.row.re_modifiers.caseless).then(|| {
            let what = "matches without regard to case, and RE2 rewrites with regard to it: some of its statements stay \
                        as they are";
            self.finding(REWRITE_IN_CASE, Severity::Warning, Proof::Proved, what)
                .help("write both cases into the pattern, or set the engine's regex to pcre")
        })
    }

    fn without_effect(&self, example: &Example) -> Option<Finding> {
        let dollars = self.replacement.contains("$1") || self.replacement.contains("\\g<");
        let matched = self.pattern.is_match(&example.text);
        let nothing = matched
            && self
                .pattern
                .rewrite(&example.text, self.replacement.as_bytes())
                .is_none();
        let beyond = self
            .named()
            .into_iter()
            .any(|group| group > self.pattern.groups());
        if !(dollars || nothing || beyond) {
            return None;
        }
        let (severity, what) = if nothing || beyond {
            (
                Severity::Error,
                "names a group that its pattern does not have or that took no part: the engine rewrites nothing, or \
                 loses text",
            )
        } else {
            (
                Severity::Warning,
                "has `$1` or `\\g<…>` in its replacement, which engines write unchanged",
            )
        };
        let proof = if nothing { Proof::Witnessed } else { Proof::Proved };
        let finding = self.finding(REWRITE_WITHOUT_EFFECT, severity, proof, what);
        Some(
            finding
                .shown_by(self.context.set, example)
                .help("groups are `\\1` to `\\9`"),
        )
    }

    /// The pattern's own text inside a literal.
    fn literal(&self) -> Option<Finding> {
        let set = self.context.set;
        let sample = self.pattern.sample()?;
        if sample.is_empty() || sample.iter().any(|byte| b"'\"\\\n".contains(byte)) {
            return None;
        }
        let text = [b"SELECT '", sample.as_slice(), b" x' FROM t"].concat();
        let session = match self.context.reach.example(self.position) {
            Some(example) => example.session.clone(),
            None => return None,
        };
        let decision = set.decide(&session, &text);
        let Outcome::Route(route) = &decision.outcome else {
            return None;
        };
        let engine = &set.configuration.engine.profile().prepared;
        let rewritten = engine.kept(route.rewritten.as_deref())?;
        let by_this = decision.hits.contains(&(self.position as u32));
        if !by_this || without_literals(&text) != without_literals(rewritten) {
            return None;
        }
        let what = "rewrites inside string literals: data that looks like its pattern is changed";
        Some(
            self.finding(LITERAL_REWRITTEN, Severity::Warning, Proof::Witnessed, what)
                .shown_by(set, &Example { session, text })
                .help("also match what comes before and after the name, or use a shard map, which rewrites only names"),
        )
    }

    /// The rewritten text once more: executed, where the engine keeps it of a preparation, and sent as text.
    fn again(&self, example: &Example) -> Option<Finding> {
        if let Some(finding) = self.executed(example) {
            return Some(finding);
        }
        let set = self.context.set;
        let first = set.decide(&example.session, &example.text);
        let Outcome::Route(route) = &first.outcome else {
            return None;
        };
        let engine = &set.configuration.engine.profile().prepared;
        let rewritten = engine.kept(route.rewritten.as_deref())?;
        let second = set.decide(&example.session, rewritten);
        let Outcome::Route(again) = &second.outcome else {
            return None;
        };
        again.rewritten.as_ref()?;
        let what = "rewrites its own result again: after a restart, or in a second proxy with the same rules, the text changes again";
        Some(
            self.finding(NOT_IDEMPOTENT, Severity::Warning, Proof::Witnessed, what)
                .shown_by(set, example)
                .help("change the pattern so that it does not match what the replacement writes"),
        )
    }

    fn executed(&self, example: &Example) -> Option<Finding> {
        let set = self.context.set;
        let prepared = set.decide_as(SentAs::Prepare, &example.session, &example.text);
        let Outcome::Route(route) = &prepared.outcome else {
            return None;
        };
        let engine = &set.configuration.engine.profile().prepared;
        let rewritten = engine.kept(route.rewritten.as_deref())?;
        let executed = set.decide_as(SentAs::Execute, &example.session, rewritten);
        let elsewhere = match &executed.outcome {
            Outcome::Route(again) if again.hostgroup != route.hostgroup => {
                format!("goes to hostgroup {}", again.hostgroup)
            }
            Outcome::Reject(_) => "is refused".to_owned(),
            Outcome::Route(_) | Outcome::Answer { .. } | Outcome::Own { .. } | Outcome::DeferBegin => {
                return None;
            }
        };
        let what = format!(
            "rewrites what places the statement: prepared, it goes to hostgroup {}, and executed, evaluated as \
             rewritten, it {elsewhere}",
            route.hostgroup
        );
        Some(
            self.finding(PREPARED_ELSEWHERE, Severity::Warning, Proof::Witnessed, &what)
                .shown_by(set, example)
                .note(format!("executed as {}", String::from_utf8_lossy(rewritten)))
                .help("place by something that the rewrite keeps"),
        )
    }
}
