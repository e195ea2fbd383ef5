//! SW229: another form of a statement escapes a pattern; SW230: an unescaped `?`; SW231: two patterns negated;
//! SW240: a pattern that backtracks; SW249: a doubled backslash.

use std::collections::{BTreeMap, BTreeSet};

use shardwright_diagnostics::{Proof, Severity};
use shardwright_rules::{Outcome, RegexEngine};

use super::CheckContext;
use super::trials::Trial;
use crate::Finding;
use crate::codes::{BACKTRACKS, DOUBLED_BACKSLASH, ESCAPED_BY_FORM, QUANTIFIER_MEANT_LITERALLY, TWO_NEGATED};
use crate::finding::rules_named;
use shardwright_prover::Example;
use shardwright_prover::RuleSet;

pub(crate) fn escapes(context: &CheckContext<'_, '_>, findings: &mut Vec<Finding>) {
    let set = context.set;
    let mut said = BTreeSet::new();
    for trial in &context.trials {
        let Some(rule) = trial.hits().find(|&hit| is_about_writing(set, hit)) else {
            continue;
        };
        if !set.is_written(rule) || said.contains(&rule) {
            continue;
        }
        if let Some((what, example)) = escaping(set, rule, trial) {
            said.insert(rule);
            findings.push(escape(set, &[rule], what, &example));
        }
    }
    // The rules that meet no ordinary statement, by what passes them: one finding for each kind.
    let mut groups: BTreeMap<(bool, &'static str), Vec<(usize, Example)>> = BTreeMap::new();
    for family in &context.families {
        if said.contains(&family.rule) || !is_about_writing(set, family.rule) {
            continue;
        }
        let mut found = family.trials.iter();
        if let Some((what, example)) = found.find_map(|trial| escaping(set, family.rule, trial)) {
            let key = (!refuses(set, family.rule), what);
            groups.entry(key).or_default().push((family.rule, example));
        }
    }
    for ((_, what), rules) in groups {
        let positions: Vec<usize> = rules.iter().map(|(rule, _)| *rule).collect();
        findings.extend(
            rules
                .first()
                .map(|(_, example)| escape(set, &positions, what, example)),
        );
    }
}

/// Whether the rule is one that another way to write a statement should not pass.
fn is_about_writing(set: &RuleSet<'_>, rule: usize) -> bool {
    let reads_as_written = set
        .row(rule)
        .is_some_and(|row| row.match_pattern.is_some() && !row.negate_match_pattern && row.apply);
    reads_as_written || refuses(set, rule)
}

/// A way to write the statement that the rule does not match, and that goes elsewhere.
fn escaping(set: &RuleSet<'_>, rule: usize, trial: &Trial) -> Option<(&'static str, Example)> {
    let session = &trial.example.session;
    let mut variants = variants(set, rule, &trial.example.text).into_iter();
    let (what, text) = variants.find(|(_, text)| {
        let other = set.decide(session, text);
        !other.hits.contains(&(rule as u32)) && !same_destination(&other.outcome, &trial.decision.outcome)
    })?;
    Some((
        what,
        Example {
            session: session.clone(),
            text,
        },
    ))
}

fn refuses(set: &RuleSet<'_>, rule: usize) -> bool {
    set.row(rule)
        .is_some_and(|row| row.error_msg.is_some() && !row.negate_match_pattern)
}

fn escape(set: &RuleSet<'_>, rules: &[usize], what: &str, example: &Example) -> Finding {
    let verb = if rules.len() == 1 { "does" } else { "do" };
    let message = format!(
        "{} {verb} not match the same statement with {what}, which then goes elsewhere",
        rules_named(&set.ids(rules))
    );
    let by_text = rules
        .iter()
        .any(|&rule| set.row(rule).is_some_and(|row| row.match_pattern.is_some()));
    let (label, help) = if by_text {
        (
            "reads the statement as it is written",
            "use `match_digest`: a digest has no comments, one blank for several, and no `;` at its end; keep CASELESS in \
             re_modifiers",
        )
    } else {
        (
            "matches one way to write it",
            "keep CASELESS in re_modifiers, and make optional words optional in the pattern",
        )
    };
    Finding::new(ESCAPED_BY_FORM, Severity::Warning, Proof::Witnessed, message)
        .about(set, rules, label)
        .shown_by(set, example)
        .help(help)
}

/// The statement as other clients write it, as far as the rule can tell.
fn variants(set: &RuleSet<'_>, rule: usize, text: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let Some(row) = set.row(rule) else {
        return Vec::new();
    };
    let mut variants = Vec::new();
    let pattern = row.match_pattern.as_deref().unwrap_or_default();
    let behind = |prefix: &[u8]| [prefix, text].concat();
    let in_place_of_blank = |other: &[u8]| {
        let at = text.iter().position(|&byte| byte == b' ')?;
        Some([&text[..at], other, &text[at + 1..]].concat())
    };
    // A comment in front is what an application writes itself, always in the same way.
    if pattern.starts_with('^') && (row.error_msg.is_some() || !text.starts_with(b"/*")) {
        variants.push(("a blank before it", behind(b" ")));
        variants.push(("a comment before it", behind(b"/* a */ ")));
    }
    if pattern.contains('.') {
        variants.extend(in_place_of_blank(b"\n").map(|text| ("a line break in it", text)));
    }
    if pattern.ends_with('$') && !pattern.ends_with("\\$") {
        variants.push(("a semicolon after it", [text, b";"].concat()));
    }
    // Whoever refuses means every way to write a statement; whoever places may know how the application writes it.
    if row.error_msg.is_some() {
        if row.match_pattern.is_some() {
            variants.extend(in_place_of_blank(b"  ").map(|text| ("two blanks between its words", text)));
            variants.extend(in_place_of_blank(b"/**/").map(|text| ("a comment between its words", text)));
        }
        variants.push(("its first word in another case", other_case(text)));
        let optional: [(&[u8], &[u8]); 3] = [
            (b"TRUNCATE TABLE ", b"TRUNCATE "),
            (b"INSERT INTO ", b"INSERT "),
            (b"REPLACE INTO ", b"REPLACE "),
        ];
        for (long, short) in optional {
            if text
                .get(..long.len())
                .is_some_and(|begin| begin.eq_ignore_ascii_case(long))
            {
                variants.push(("an optional word left out", [short, &text[long.len()..]].concat()));
            }
        }
    }
    variants
}

/// The first word in capitals, or in small letters where it is in capitals.
fn other_case(text: &[u8]) -> Vec<u8> {
    let end = text.iter().position(|byte| !byte.is_ascii_alphabetic());
    let (word, rest) = text.split_at(end.unwrap_or(text.len()));
    let changed = if word.iter().any(u8::is_ascii_lowercase) {
        word.to_ascii_uppercase()
    } else {
        word.to_ascii_lowercase()
    };
    [&changed, rest].concat()
}

fn same_destination(one: &Outcome, other: &Outcome) -> bool {
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

pub(crate) fn as_written(context: &CheckContext<'_, '_>, findings: &mut Vec<Finding>) {
    let set = context.set;
    for (position, row) in set.written() {
        let id = set.id(position);
        let text = row.match_digest.as_deref().unwrap_or_default();
        if has_placeholder(text) {
            let message = format!(
                "match_digest of rule {id} has an unescaped `?`, which makes the item before it optional and does not match the `?` of a literal"
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
            let patterns = set.patterns(position);
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

/// `\\s` in a pattern is a backslash and an `s`. Shells, YAML and dumps double backslashes, and few statements have one.
pub(crate) fn doubled_backslashes(context: &CheckContext<'_, '_>, findings: &mut Vec<Finding>) {
    let set = context.set;
    for (position, row) in set.written() {
        let patterns = [&row.match_digest, &row.match_pattern].into_iter().flatten();
        let Some(letter) = patterns.filter_map(|pattern| doubled(pattern)).next() else {
            continue;
        };
        let message = format!(
            "rule {} asks for a backslash in the statement: `\\\\{letter}` in its pattern is a backslash, and then `{letter}`",
            set.id(position)
        );
        let finding = Finding::new(DOUBLED_BACKSLASH, Severity::Warning, Proof::Proved, message).about(
            set,
            &[position],
            "the backslashes are doubled",
        );
        findings.push(finding.help(format!("write one backslash: `\\{letter}`")));
    }
}

/// The letter behind a doubled backslash that would mean something behind a single one.
fn doubled(pattern: &str) -> Option<char> {
    let mut letters = pattern.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            continue;
        }
        let escaped = letters.next()?;
        let behind = letters.peek().copied();
        if escaped == '\\'
            && let Some(behind) = behind
            && matches!(
                behind,
                's' | 'S' | 'd' | 'D' | 'w' | 'W' | 'b' | 'B' | '.' | '*' | '(' | ')' | '?' | '+' | '$' | '|'
            )
        {
            return Some(behind);
        }
    }
    None
}
