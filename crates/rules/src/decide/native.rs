//! The steps that only the bundled engine has, besides shard maps.

use crate::decide::Index;
use crate::decide::engine::address_matches;
use crate::decide::keys;
use crate::decide::patterns::{RulePatterns, matches};
use crate::decide::walk::{Next, Walk};
use crate::{Cluster, DelayStep, HostgroupId, ReadSelection, RoleStep, Rule, Scope, WriterHint};

/// Whether the statement belongs to a step's scope.
pub(super) fn in_scope(
    index: &impl Index,
    scope: &Scope,
    patterns: &RulePatterns,
    walk: &mut Walk<'_>,
) -> bool {
    session_in_scope(index, scope, walk) && statement_in_scope(scope, patterns, walk)
}

fn session_in_scope(index: &impl Index, scope: &Scope, walk: &Walk<'_>) -> bool {
    let session = walk.session;
    if !scope.users.contains(session.user) {
        return false;
    }
    if !scope.schemas.is_any()
        && !session
            .schema
            .is_some_and(|schema| scope.schemas.contains(schema))
    {
        return false;
    }
    if !scope.clusters.is_any()
        && !placed_cluster(index, walk).is_some_and(|cluster| scope.clusters.contains(&cluster.name))
    {
        return false;
    }
    scope.client_addrs.is_empty()
        || scope
            .client_addrs
            .iter()
            .any(|wanted| address_matches(Some(wanted), session.client_addr))
}

fn statement_in_scope(scope: &Scope, patterns: &RulePatterns, walk: &mut Walk<'_>) -> bool {
    let statement = walk.statement;
    if !scope.statements.is_empty() && !scope.statements.contains(&statement.kind()) {
        return false;
    }
    if !scope.digests.is_empty() && !scope.digests.contains(&statement.digest_hash()) {
        return false;
    }
    if !scope.functions.is_empty() && !statement.calls_any_of(&scope.functions) {
        return false;
    }
    walk.evaluations += (patterns.digest.len() + patterns.text.len()) as u32;
    (patterns.digest.is_empty()
        || patterns
            .digest
            .iter()
            .any(|pattern| matches(pattern, statement.digest_text())))
        && (patterns.text.is_empty() || patterns.text.iter().any(|pattern| matches(pattern, &walk.text)))
}

/// The cluster that the statement is on so far; before any placement, its user's.
pub(super) fn placed_cluster<'c>(index: &'c impl Index, walk: &Walk<'_>) -> Option<&'c Cluster> {
    let hostgroup = match walk.hostgroup {
        Some(id) => HostgroupId(id),
        None => index.user(walk.session.user)?.default_hostgroup,
    };
    index.cluster_of(hostgroup)
}

/// Sends a provable read to the readers of the cluster that the statement is on.
pub(super) fn role(
    index: &impl Index,
    rule: &Rule,
    step: &RoleStep,
    patterns: &RulePatterns,
    walk: &mut Walk<'_>,
) -> Next {
    let Some(cluster) = placed_cluster(index, walk) else {
        return Next::Continue;
    };
    let Some(reader) = cluster.reader else {
        return Next::Continue;
    };
    if walk.session.transaction.is_some() || walk.session.transaction_pending {
        return Next::Continue;
    }
    if !walk.statement.is_safe_read(step.session_functions_on_readers) || !selected(step, patterns, walk) {
        return Next::Continue;
    }
    if step
        .writer_hint
        .as_ref()
        .is_some_and(|hint| asks_for_writer(hint, walk))
    {
        return Next::Continue;
    }
    let fresh_write = |since: u64| since < u64::from(step.after_write_ms);
    if walk.session.since_write_ms.is_some_and(fresh_write) {
        return Next::Continue;
    }
    walk.hostgroup = Some(reader.0);
    walk.placed = true;
    walk.matched(rule, &rule.address, None, |_| {
        format!("a read, to the readers of {}", cluster.name)
    });
    Next::Continue
}

fn selected(step: &RoleStep, patterns: &RulePatterns, walk: &mut Walk<'_>) -> bool {
    walk.evaluations += patterns.reads.len() as u32;
    let any = patterns
        .reads
        .iter()
        .any(|pattern| matches(pattern, walk.statement.digest_text()));
    match step.reads {
        ReadSelection::All => true,
        ReadSelection::Only(_) => any,
        ReadSelection::Except(_) => !any,
    }
}

fn asks_for_writer(hint: &WriterHint, walk: &Walk<'_>) -> bool {
    keys::in_comments(walk.statement, &hint.word, &hint.form, true)
        .iter()
        .any(|value| &**value == b"1")
}

/// The longest delay of all that apply.
pub(super) fn delay(rule: &Rule, step: &DelayStep, walk: &mut Walk<'_>) -> Next {
    let delay_ms = &mut walk.effects.delay_ms;
    *delay_ms = Some(delay_ms.map_or(step.delay_ms, |earlier| earlier.max(step.delay_ms)));
    walk.matched(rule, &rule.address, None, |_| {
        format!("delayed by {} ms", step.delay_ms)
    });
    Next::Continue
}

pub(super) fn stop_if_placed(walk: &Walk<'_>) -> Next {
    if walk.placed { Next::Stop } else { Next::Continue }
}
