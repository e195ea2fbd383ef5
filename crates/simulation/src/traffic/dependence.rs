//! Whether the decision about a digest is that about every statement with the digest.

use shardwright_routing::RoutingTable;
use shardwright_rules::decide::Index;
use shardwright_rules::{Body, Chains, Decision, NativeStep, Rule, SessionView, Statement};

use crate::visits::{Asked, asked, scope_fails, session_fails};

/// What the decision depends on that a digest has not; nothing where it holds for every statement with the digest.
/// `faithful`: the statement's digest is the recorded one, so that conditions on digests can be asked of it.
pub(super) fn dependence(
    table: &RoutingTable,
    chains: &Chains,
    session: &SessionView<'_>,
    statement: &Statement<'_>,
    decision: &Decision,
    faithful: bool,
) -> Option<String> {
    let rules = &table.configuration().graph.rules;
    asked(table.configuration(), chains, session, decision)
        .into_iter()
        .find_map(|asked| of_rule(table, &rules[asked.position], asked, session, statement, faithful))
}

fn of_rule(
    table: &RoutingTable,
    rule: &Rule,
    asked: Asked,
    session: &SessionView<'_>,
    statement: &Statement<'_>,
    faithful: bool,
) -> Option<String> {
    let row = match &rule.body {
        Body::Engine(row) => row,
        Body::Native { scope, step } => {
            if scope_fails(scope, session).is_some() {
                return None;
            }
            let by_text = !scope.match_pattern.is_empty() || !scope.except_match_pattern.is_empty();
            return match step {
                NativeStep::Map(map) => {
                    Some(format!("shard map {}: keys are literals and comments", map.map))
                }
                NativeStep::Role(role) if role.writer_hint.is_some() => {
                    Some(format!("the writer hint of {} is a comment", rule.address))
                }
                _ if by_text => Some(format!("{} reads the statement itself", rule.address)),
                _ => None,
            };
        }
    };
    if session_fails(row, session).is_some() {
        return None;
    }
    if !faithful && (row.digest.is_some() || row.match_digest.is_some()) {
        return Some("the digest text is cut off or made with other settings".to_owned());
    }
    let digest = table
        .configuration()
        .digests()
        .map(|options| statement.digest_under(&options));
    if let (Some(wanted), Some(digest)) = (row.digest, &digest)
        && wanted != digest.hash
    {
        return None;
    }
    if let Some(digest) = digest.filter(|_| row.match_digest.is_some()) {
        let pattern = table.patterns(asked.position).of_digest().first()?;
        let is_match = pattern
            .as_ref()
            .is_ok_and(|pattern| pattern.is_match(&digest.text));
        if is_match == row.negate_match_pattern {
            return None;
        }
    }
    row.match_pattern
        .as_ref()
        .map(|_| format!("match_pattern of rule {} reads the statement itself", rule.id))
}
