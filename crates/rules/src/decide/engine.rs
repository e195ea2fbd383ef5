//! One row of `mysql_query_rules`, as ProxySQL 2.7.1 evaluates it.

use shardwright_tables::{Cell, RULE_COLUMNS};

use crate::decide::evaluation::{Evaluation, Next};
use crate::decide::patterns::{RulePatterns, finds};
use crate::decide::{Detail, Index, KnownAction, PatternColumn, Subject};
use crate::{Body, EngineRule, Rule, Step};

/// `matched`: as in [`super::NextRule`].
pub(super) fn run(
    index: &impl Index,
    rule: &Rule,
    row: &EngineRule,
    evaluation: &mut Evaluation<'_>,
    matched: Option<u32>,
) -> Next {
    let position = evaluation.position;
    if let Some(patterns) = matched {
        evaluation.evaluations += patterns;
    } else if !session_matches(row, evaluation)
        || !statement_matches(index, row, index.patterns(position), evaluation)
    {
        return Next::Continue;
    }
    let flag_out = row.flag_out.or_else(|| weighted_choice(row));
    evaluation.hits.push(position as u32);
    if evaluation.detail == Detail::Path {
        let withheld = evaluation.withheld.of_row(row, evaluation.statement.command());
        match index.known_step(position).filter(|_| withheld.is_none()) {
            Some(step) => evaluation.path.push(step.clone()),
            None => evaluation.note(rule.id, &rule.address, flag_out, |_| why(row, withheld)),
        }
    }
    act(rule, row, evaluation);
    if !evaluation.withheld.rewrite
        && let Some(replacement) = &row.replace_pattern
        && let Some(Ok(pattern)) = index.patterns(position).scope.text.first()
    {
        match pattern.rewrite(&evaluation.text, replacement.as_bytes()) {
            Some(text) => {
                evaluation.steps += text.len() as u64;
                evaluation.text = text.into();
                evaluation.rewrites += 1;
            }
            // The engine goes on with its copy, which ends at a NUL.
            None if index.configuration().engine.profile().answers_itself => cut_at_nul(evaluation),
            None => {}
        }
    }
    if let Some(flag) = flag_out {
        evaluation.flag = flag;
    }
    match (row.apply, flag_out) {
        (true, _) => Next::Stop,
        (false, Some(_)) => Next::Jumped,
        (false, None) => Next::Continue,
    }
}

fn cut_at_nul(evaluation: &mut Evaluation<'_>) {
    if let Some(end) = evaluation.text.iter().position(|byte| *byte == 0) {
        evaluation.text = evaluation.text[..end].to_vec().into();
        evaluation.rewrites += 1;
    }
}

fn session_matches(row: &EngineRule, evaluation: &Evaluation<'_>) -> bool {
    let session = evaluation.session;
    let equal = |wanted: &Option<String>, actual: Option<&str>| match wanted.as_deref() {
        None | Some("") => true,
        Some(wanted) => actual == Some(wanted),
    };
    equal(&row.username, Some(session.user))
        && equal(&row.schemaname, evaluation.schema)
        && address_matches(row.client_addr.as_deref(), session.client_addr)
        && match (row.proxy_addr.as_deref(), session.listener) {
            (None | Some(""), _) | (_, None) => true,
            (Some(wanted), Some((address, _))) => wanted == address,
        }
        && row
            .proxy_port
            .is_none_or(|wanted| wanted == session.listener.map_or(0, |(_, port)| port))
}

/// Whether the only condition of a row is a pattern over the text that has to match.
pub fn asks_only_text(row: &EngineRule, patterns: &RulePatterns) -> bool {
    asks_only_patterns(row)
        && patterns.of_digest().is_empty()
        && patterns.of_text().len() == 1
        && !row.negate_match_pattern
}

/// Whether a row has no condition.
pub fn asks_nothing(row: &EngineRule, patterns: &RulePatterns) -> bool {
    asks_only_patterns(row) && patterns.of_digest().is_empty() && patterns.of_text().is_empty()
}

fn asks_only_patterns(row: &EngineRule) -> bool {
    let is_free = |wanted: &Option<String>| wanted.as_deref().is_none_or(str::is_empty);
    let of_session = [&row.username, &row.schemaname, &row.client_addr, &row.proxy_addr];
    of_session.into_iter().all(is_free) && row.proxy_port.is_none() && row.digest.is_none()
}

/// What a row does, where that is all.
pub fn only_action(row: &EngineRule) -> Option<KnownAction> {
    let rest = EngineRule {
        flag_out: None,
        destination_hostgroup: None,
        apply: false,
        ..row.effect()
    };
    if rest != EngineRule::default() {
        return None;
    }
    match (row.flag_out, row.destination_hostgroup, row.apply) {
        (Some(flag), None, false) => Some(KnownAction::Jump(flag)),
        (None, Some(hostgroup), true) => Some(KnownAction::Place(hostgroup)),
        _ => None,
    }
}

/// Exact, or a prefix that ends in `%`; a session whose address is not known passes.
pub(super) fn address_matches(wanted: Option<&str>, actual: Option<&str>) -> bool {
    match (wanted, actual) {
        (None | Some(""), _) | (_, None) => true,
        (Some(wanted), Some(actual)) => match wanted.split_once('%') {
            Some((prefix, _)) => actual.starts_with(prefix),
            None => wanted == actual,
        },
    }
}

fn statement_matches(
    index: &impl Index,
    row: &EngineRule,
    patterns: &RulePatterns,
    evaluation: &mut Evaluation<'_>,
) -> bool {
    let statement = evaluation.statement;
    // Without digests, what asks for them is skipped.
    let asks = row.digest.is_some() || !patterns.scope.digest.is_empty();
    let options = evaluation.digests.filter(|_| asks);
    let digest = options.map(|options| statement.digest_under(&options));
    if digest.as_ref().is_some_and(|digest| !digest.is_determined) {
        evaluation.unknown.push(evaluation.position as u32);
    }
    if let (Some(wanted), Some(digest)) = (row.digest, &digest)
        && wanted != digest.hash
    {
        return false;
    }
    let of_digest = digest.as_deref().map(|digest| digest.text.as_slice());
    let on_digest = patterns.scope.digest.iter().filter(|_| of_digest.is_some());
    let position = evaluation.position;
    let on_digest = on_digest.map(|pattern| {
        index.evaluates(position, PatternColumn::MatchDigest);
        finds(pattern, of_digest.unwrap_or_default())
    });
    let subject = Subject {
        text: &evaluation.text,
        rewrites: evaluation.rewrites,
    };
    let on_text = patterns.scope.text.iter().map(|pattern| {
        index.evaluates(position, PatternColumn::MatchPattern);
        let known = index.known_match(position, subject);
        known.or_else(|| finds(pattern, subject.text))
    });
    let mut is_unknown = false;
    for found in on_digest.chain(on_text) {
        evaluation.evaluations += 1;
        is_unknown |= found.is_none();
        if found == Some(row.negate_match_pattern) {
            return false;
        }
    }
    if is_unknown {
        evaluation.unknown.push(evaluation.position as u32);
    }
    // What cannot be told counts as no match of the pattern.
    !is_unknown || row.negate_match_pattern
}

/// Later matches overwrite what they set; nothing can be unset.
fn act(rule: &Rule, row: &EngineRule, evaluation: &mut Evaluation<'_>) {
    fn set<T: Copy>(target: &mut Option<T>, value: Option<T>) {
        if value.is_some() {
            *target = value;
        }
    }
    set(&mut evaluation.hostgroup, row.destination_hostgroup);
    let effects = &mut evaluation.effects;
    set(&mut effects.delay_ms, row.delay_ms);
    set(&mut effects.multiplex, row.multiplex);
    set(&mut effects.cache_ttl_ms, row.cache_ttl_ms);
    set(&mut effects.cache_empty_result, row.cache_empty_result);
    set(&mut effects.timeout_ms, row.timeout_ms);
    set(&mut effects.retries, row.retries);
    set(&mut effects.next_query_flag_in, row.next_query_flag_in);
    set(&mut effects.mirror_hostgroup, row.mirror_hostgroup);
    set(&mut effects.log, row.log);
    if let Some(text) = &row.error_msg {
        evaluation.error_msg = Some((text.clone(), rule.address.clone()));
    }
    if let Some(text) = &row.ok_msg {
        evaluation.ok_msg = Some(text.clone());
    }
}

/// The engine picks at random; the evaluator takes the heaviest, the first of equals, so that answers repeat.
fn weighted_choice(row: &EngineRule) -> Option<u32> {
    let mut best: Option<crate::FlagOutChoice> = None;
    for choice in row.draws() {
        if best.is_none_or(|best| choice.weight > best.weight) {
            best = Some(*choice);
        }
    }
    best.map(|choice| choice.id)
}

/// How a path tells that an engine's rule matched of which nothing is withheld.
pub fn step_of(rule: &Rule) -> Option<Step> {
    let Body::Engine(row) = &rule.body else {
        return None;
    };
    Some(Step {
        rule_id: rule.id,
        address: rule.address.clone(),
        why: conditions(row).into(),
        flag_out: row.flag_out.or_else(|| weighted_choice(row)),
    })
}

fn why(row: &EngineRule, withheld: Option<String>) -> String {
    let conditions = conditions(row);
    match withheld {
        Some(withheld) => format!("{conditions}; {withheld}"),
        None => conditions,
    }
}

fn conditions(row: &EngineRule) -> String {
    let mut parts = Vec::new();
    for column in RULE_COLUMNS.iter().filter(|column| column.is_condition_of(row)) {
        let name = column.name();
        let not = match name {
            "match_digest" | "match_pattern" if row.negate_match_pattern => "not ",
            _ => "",
        };
        match column.get(row).map(Cell::from) {
            Some(Cell::Text(text)) => parts.push(format!("{not}{name} {text}")),
            Some(Cell::Integer(number)) => parts.push(format!("{name} {number}")),
            None => {}
        }
    }
    match parts.is_empty() {
        true => "no condition".to_owned(),
        false => parts.join(", "),
    }
}
