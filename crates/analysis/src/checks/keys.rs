//! SW311: a hint that a literal can give as well; SW312: a key that prepared statements do not show; SW313: two keys in one
//! statement; SW330: a key whose end is open.

use shardwright_diagnostics::{Proof, Severity};
use shardwright_patterns::Pattern;
use shardwright_rules::{Decision, EngineRule, Outcome, SentAs};

use super::CheckContext;
use crate::Finding;
use crate::codes::{KEY_IN_LITERAL, KEY_NOT_PREPARED, OPEN_KEY, TWO_KEYS};
use shardwright_prover::Example;
use shardwright_prover::Session;
use shardwright_prover::without_literals;

/// Rules with a key that are put beside each other.
const MOST_BESIDE: usize = 8;

/// A written rule that places statements by a text in them.
struct Keyed<'k> {
    position: usize,
    row: &'k EngineRule,
    pattern: &'k Pattern,
    session: Session,
    sample: Vec<u8>,
}

impl Keyed<'_> {
    fn is_hint(&self) -> bool {
        self.sample.starts_with(b"/*")
    }

    /// The sample as a comment of its own.
    fn hint(&self) -> Vec<u8> {
        let closed = self.sample.ends_with(b"*/");
        [&self.sample[..], if closed { b"" } else { b" */" }].concat()
    }
}

fn keyed<'k>(context: &'k CheckContext<'_, '_>) -> Vec<Keyed<'k>> {
    let set = context.set;
    let rules = set.written().filter_map(|(position, row)| {
        row.destination_hostgroup?;
        let plain = row.replace_pattern.is_none() && !row.negate_match_pattern && row.match_digest.is_none();
        let pattern = set.patterns(position).of_text().first().filter(|_| plain)?;
        let pattern = pattern.as_ref().ok()?;
        let sample = pattern
            .sample()
            .filter(|sample| pattern.is_match(sample) && !sample.is_empty())?;
        let session = context.reach.example(position)?.session.clone();
        Some(Keyed {
            position,
            row,
            pattern,
            session,
            sample,
        })
    });
    rules.collect()
}

/// Whether a statement is placed by the rule.
fn placed(context: &CheckContext<'_, '_>, key: &Keyed<'_>, text: &[u8]) -> bool {
    is_placed(key, &context.set.decide(&key.session, text))
}

fn is_placed(key: &Keyed<'_>, decision: &Decision) -> bool {
    let there = matches!(&decision.outcome, Outcome::Route(route) if Some(route.hostgroup.0) == key.row.destination_hostgroup);
    there && decision.hits.contains(&(key.position as u32))
}

pub(crate) fn check(context: &CheckContext<'_, '_>, findings: &mut Vec<Finding>) {
    let keys = keyed(context);
    for key in &keys {
        findings.extend(in_literal(context, key));
        findings.extend(open(context, key));
    }
    findings.extend(not_prepared(context, &keys));
    two(context, &keys, findings);
}

fn shown(context: &CheckContext<'_, '_>, key: &Keyed<'_>, finding: Finding, text: Vec<u8>) -> Finding {
    let example = Example {
        session: key.session.clone(),
        text,
    };
    finding
        .about(context.set, &[key.position], "places by this text")
        .shown_by(context.set, &example)
}

fn in_literal(context: &CheckContext<'_, '_>, key: &Keyed<'_>) -> Option<Finding> {
    if !key.is_hint() || key.sample.iter().any(|byte| b"'\\\n".contains(byte)) {
        return None;
    }
    let text = [b"SELECT '", key.hint().as_slice(), b"' FROM t"].concat();
    placed(context, key, &text).then(|| {
        let message = format!(
            "rule {} also finds its hint in string literals: a client's data can decide where its statement goes",
            context.set.id(key.position)
        );
        let finding = Finding::new(KEY_IN_LITERAL, Severity::Warning, Proof::Witnessed, message);
        shown(context, key, finding, text).help("anchor the hint at the start of the statement, or use a shard map")
    })
}

/// Rules that place by a value that no comment can carry for them.
fn not_prepared(context: &CheckContext<'_, '_>, keys: &[Keyed<'_>]) -> Option<Finding> {
    let marks = |text: &[u8]| text.iter().filter(|&&byte| byte == b'?').count();
    let lost = |key: &&Keyed<'_>| {
        let digest = without_literals(&key.sample);
        let literal = !key.is_hint() && marks(&digest) > marks(&key.sample) && !key.pattern.is_match(&digest);
        let commented = [b"/* ", key.sample.as_slice(), b" */ SELECT a FROM t WHERE id=1"].concat();
        let executed = || context.set.decide_as(SentAs::Execute, &key.session, &digest);
        literal
            && !placed(context, key, &commented)
            && placed(context, key, &key.sample)
            && !is_placed(key, &executed())
    };
    let lost: Vec<&Keyed<'_>> = keys.iter().filter(lost).collect();
    let first = lost.first()?;
    let positions: Vec<usize> = lost.iter().map(|key| key.position).collect();
    let message = format!(
        "rule {} places by a literal, and a prepared statement has `?` there: it goes elsewhere",
        context.set.id(first.position)
    );
    let example = Example {
        session: first.session.clone(),
        text: first.sample.clone(),
    };
    let finding = Finding::new(KEY_NOT_PREPARED, Severity::Info, Proof::Witnessed, message)
        .about(context.set, &positions, "places by a literal")
        .shown_by(context.set, &example)
        .note(format!(
            "prepared, it is {}",
            String::from_utf8_lossy(&without_literals(&first.sample))
        ));
    Some(finding.help("put the key in a comment, or in the session's schema or user"))
}

fn open(context: &CheckContext<'_, '_>, key: &Keyed<'_>) -> Option<Finding> {
    let written = key.row.match_pattern.as_deref().unwrap_or_default();
    let ends_in_digit =
        written.ends_with(|last: char| last.is_ascii_digit()) && key.sample.last()?.is_ascii_digit();
    let longer = [key.sample.as_slice(), b"0"].concat();
    let text = if key.is_hint() {
        [&longer, b" */ SELECT 1".as_slice()].concat()
    } else {
        longer
    };
    (ends_in_digit && placed(context, key, &text)).then(|| {
        let message = format!(
            "the pattern of rule {} does not end its key: a longer number that begins with it goes to the same place",
            context.set.id(key.position)
        );
        let finding = Finding::new(OPEN_KEY, Severity::Warning, Proof::Witnessed, message);
        shown(context, key, finding, text)
            .help("end the pattern with `\\b`, or with what comes after the key")
    })
}

fn two(context: &CheckContext<'_, '_>, keys: &[Keyed<'_>], findings: &mut Vec<Finding>) {
    let hints: Vec<&Keyed<'_>> = keys
        .iter()
        .filter(|key| key.is_hint())
        .take(MOST_BESIDE)
        .collect();
    for (at, first) in hints.iter().enumerate() {
        for second in &hints[at + 1..] {
            if first.row.destination_hostgroup == second.row.destination_hostgroup
                || first.session != second.session
            {
                continue;
            }
            let text = [second.hint().as_slice(), b" ", &first.hint(), b" SELECT 1"].concat();
            let taker = [first, second]
                .into_iter()
                .find(|key| placed(context, key, &text));
            let Some(taker) =
                taker.filter(|_| first.pattern.is_match(&text) && second.pattern.is_match(&text))
            else {
                continue;
            };
            let message = format!(
                "a statement with the keys of rules {} and {} goes where rule {} sends it: nothing reports that it belongs to two shards",
                context.set.id(first.position),
                context.set.id(second.position),
                context.set.id(taker.position)
            );
            let finding = Finding::new(TWO_KEYS, Severity::Info, Proof::Witnessed, message);
            findings.push(
                shown(context, taker, finding, text)
                    .help("refuse statements with two keys in an earlier rule, as compiled shard maps do"),
            );
            return;
        }
    }
}
