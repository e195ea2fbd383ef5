//! The steps that only the bundled engine has, besides shard maps.

use std::sync::Arc;

use crate::decide::Index;
use crate::decide::engine::address_matches;
use crate::decide::evaluation::{Evaluation, Next};
use crate::decide::keys;
use crate::decide::patterns::{RulePatterns, ScopePatterns, matches};
use crate::{
    Cluster, DelayStep, HostgroupId, ReadSelection, RoleStep, Rule, Scope, Throttle, Throttled, WriterHint,
};

/// Whether the statement belongs to a step's scope.
pub(super) fn in_scope(
    index: &impl Index,
    scope: &Scope,
    patterns: &ScopePatterns,
    evaluation: &mut Evaluation<'_>,
) -> bool {
    session_in_scope(index, scope, patterns, evaluation)
        && (!patterns.asks_of_statement || statement_in_scope(scope, patterns, evaluation))
}

fn session_in_scope(
    index: &impl Index,
    scope: &Scope,
    patterns: &ScopePatterns,
    evaluation: &Evaluation<'_>,
) -> bool {
    let session = evaluation.session;
    if !scope.users.contains(session.user) {
        return false;
    }
    if !patterns.asks_of_session {
        return true;
    }
    if !scope.takes_schema(session.schema) {
        return false;
    }
    if !scope.clusters.is_any()
        && !placed_cluster(index, evaluation).is_some_and(|cluster| scope.clusters.contains(&cluster.name))
    {
        return false;
    }
    if !scope.takes_listener(session.listener) {
        return false;
    }
    let is_from = |wanted: &String| address_matches(Some(wanted), session.client_addr);
    (scope.client_addrs.is_empty() || scope.client_addrs.iter().any(is_from))
        && !scope.except_client_addrs.iter().any(is_from)
}

fn statement_in_scope(scope: &Scope, patterns: &ScopePatterns, evaluation: &mut Evaluation<'_>) -> bool {
    let statement = evaluation.statement;
    if !scope.statements.is_empty() && !scope.statements.contains(&statement.kind()) {
        return false;
    }
    if !scope.digests.is_empty() && !scope.digests.contains(&statement.digest_hash()) {
        return false;
    }
    if !scope.except_digests.is_empty() && scope.except_digests.contains(&statement.digest_hash()) {
        return false;
    }
    if !scope.functions.is_empty() && !statement.calls_any_of(&scope.functions) {
        return false;
    }
    if !scope.except_functions.is_empty() && statement.calls_any_of(&scope.except_functions) {
        return false;
    }
    if !scope.tables.is_any() && !statement.names_tables(&scope.tables) {
        return false;
    }
    evaluation.evaluations += patterns.len();
    let any = |patterns: &[_], subject: &[u8]| patterns.iter().any(|pattern| matches(pattern, subject));
    let listed = (patterns.digest.is_empty() || any(&patterns.digest, statement.digest_text()))
        && (patterns.text.is_empty() || any(&patterns.text, &evaluation.text));
    // The digest text is only made where somebody asks for it.
    let excepted = any(&patterns.except_text, &evaluation.text)
        || (!patterns.except_digest.is_empty() && any(&patterns.except_digest, statement.digest_text()));
    listed && !excepted
}

/// The cluster that the statement is on so far; before any placement, its user's.
pub(super) fn placed_cluster<'c>(index: &'c impl Index, evaluation: &Evaluation<'_>) -> Option<&'c Cluster> {
    let hostgroup = match evaluation.hostgroup {
        Some(id) => HostgroupId(id),
        None => evaluation.user?.default_hostgroup,
    };
    index.cluster_of(hostgroup)
}

/// Sends a provable read to the readers of the cluster that the statement is on.
pub(super) fn role(
    index: &impl Index,
    rule: &Rule,
    step: &RoleStep,
    patterns: &RulePatterns,
    evaluation: &mut Evaluation<'_>,
) -> Next {
    // Readers take all statements of such a user; one that waited for the session's own writes could end on the writer.
    if evaluation.user.is_some_and(|user| user.reads_only) {
        return Next::Continue;
    }
    let Some(cluster) = placed_cluster(index, evaluation) else {
        return Next::Continue;
    };
    let Some(reader) = cluster.reader else {
        return Next::Continue;
    };
    if evaluation.session.transaction.is_some() || evaluation.session.is_about_to_open() {
        return Next::Continue;
    }
    // What the session keeps on the writer can be what the read is about: a temporary table hides the table of its name.
    if evaluation.session.state_on.contains(&cluster.writer) {
        return Next::Continue;
    }
    if evaluation.kept_on == evaluation.hostgroup && evaluation.kept_on.is_some() {
        return Next::Continue;
    }
    if !evaluation
        .statement
        .is_safe_read(step.session_functions_on_readers)
        || !selected(index, step, patterns, evaluation)
    {
        return Next::Continue;
    }
    if step
        .writer_hint
        .as_ref()
        .is_some_and(|hint| asks_for_writer(hint, evaluation))
    {
        return Next::Continue;
    }
    let fresh_write = |since: u64| since < u64::from(step.after_write_ms);
    if evaluation.session.since_write_ms.is_some_and(fresh_write) {
        return Next::Continue;
    }
    evaluation.hostgroup = Some(reader.0);
    evaluation.placed = true;
    evaluation.effects.causal |= step.causal;
    evaluation.matched(rule, &rule.address, None, |evaluation| {
        let readers = format!("a read, to the readers of {}", cluster.name);
        match (step.causal, evaluation.session.since_write_ms) {
            (false, _) => readers,
            (true, None) => format!("{readers}; after a write of the session, to one that has it"),
            (true, Some(_)) => format!(
                "{readers}; the session has written: to one that has it, or to the writer if none has it soon"
            ),
        }
    });
    Next::Continue
}

fn selected(
    index: &impl Index,
    step: &RoleStep,
    patterns: &RulePatterns,
    evaluation: &mut Evaluation<'_>,
) -> bool {
    let mut any = |scopes: &[Scope]| {
        scopes
            .iter()
            .zip(&patterns.reads)
            .any(|(scope, patterns)| in_scope(index, scope, patterns, evaluation))
    };
    match &step.reads {
        ReadSelection::All => true,
        ReadSelection::Only(scopes) => any(scopes),
        ReadSelection::Except(scopes) => !any(scopes),
    }
}

fn asks_for_writer(hint: &WriterHint, evaluation: &Evaluation<'_>) -> bool {
    let mut asks = false;
    let key = keys::comment_key(&hint.word, &hint.form, true);
    let are_all = evaluation
        .statement
        .each_in_comments(key, |value| asks |= &*value == b"1");
    asks || !are_all
}

/// The longest delay of all that apply.
pub(super) fn delay(rule: &Rule, step: &DelayStep, evaluation: &mut Evaluation<'_>) -> Next {
    let delay_ms = &mut evaluation.effects.delay_ms;
    *delay_ms = Some(delay_ms.map_or(step.delay_ms, |earlier| earlier.max(step.delay_ms)));
    evaluation.matched(rule, &rule.address, None, |evaluation| {
        match evaluation.withheld.delay {
            false => format!("delayed by {} ms", step.delay_ms),
            true => format!("a delay of {} ms, which preparing does not get", step.delay_ms),
        }
    });
    Next::Continue
}

/// What slows the statement depends on more than the statement: whoever sends it asks.
pub(super) fn throttle(rule: &Rule, throttle: &Arc<Throttle>, evaluation: &mut Evaluation<'_>) -> Next {
    evaluation.effects.throttles.push(Throttled {
        address: rule.address.clone(),
        throttle: throttle.clone(),
    });
    evaluation.matched(rule, &rule.address, None, |evaluation| {
        match evaluation.withheld.delay {
            false => throttle.to_string(),
            true => format!("{throttle}; preparing is not throttled"),
        }
    });
    Next::Continue
}

pub(super) fn no_multiplex(rule: &Rule, evaluation: &mut Evaluation<'_>) -> Next {
    evaluation.effects.multiplex = Some(0);
    evaluation.matched(rule, &rule.address, None, |_| {
        "the connection stays with the session".to_owned()
    });
    Next::Continue
}

pub(super) fn stop_if_placed(evaluation: &Evaluation<'_>) -> Next {
    if evaluation.placed || evaluation.user.is_some_and(|user| user.reads_only) {
        Next::Stop
    } else {
        Next::Continue
    }
}
