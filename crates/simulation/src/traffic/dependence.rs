//! Whether the decision about a digest is that about every statement with the digest.

use shardwright_routing::RoutingTable;
use shardwright_rules::decide::Index;
use shardwright_rules::{Body, Chains, Decision, EngineRule, NativeStep, Rule, SessionView, Statement};

use super::Guard;
use crate::visits::{Asked, asked, scope_fails, session_fails};

/// The statements with one digest, on one side.
pub(super) struct Digests<'d> {
    pub(super) table: &'d RoutingTable,
    pub(super) session: &'d SessionView<'d>,
    /// Of the digest text.
    pub(super) statement: &'d Statement<'d>,
    /// The digest of `statement` is the recorded one, so that conditions on digests can be asked of it.
    pub(super) is_faithful: bool,
    /// They match no statement of which a digest is recorded.
    pub(super) guards: &'d [Guard],
}

/// What is known of a rule without the statement itself.
enum Answer {
    /// No statement with the digest matches.
    Never,
    /// Every one does.
    Always,
    /// It depends on this.
    On(String),
}

impl Digests<'_> {
    /// What the decision depends on that a digest has not; nothing where it holds for every statement with the digest.
    pub(super) fn dependence(&self, chains: &Chains, decision: &Decision) -> Option<String> {
        let rules = &self.table.configuration().graph.rules;
        let asked = asked(self.table.configuration(), chains, self.session, decision);
        asked.into_iter().find_map(|Asked { position, step }| {
            // The guard took the digest text itself for a statement that it refuses.
            let is_refused = step.is_some() && self.is_guard(&rules[position]);
            match self.answer(position) {
                Answer::On(reason) => Some(reason),
                Answer::Never if is_refused => {
                    Some("the digest text does not read as a statement".to_owned())
                }
                Answer::Never | Answer::Always => None,
            }
        })
    }

    /// Whether the rule at a position may match such a statement.
    pub(super) fn may_match(&self, position: usize) -> bool {
        !matches!(self.answer(position), Answer::Never)
    }

    fn is_guard(&self, rule: &Rule) -> bool {
        matches!(&rule.body, Body::Engine(row) if is_guard(row, self.guards))
    }

    fn answer(&self, position: usize) -> Answer {
        let rule = &self.table.configuration().graph.rules[position];
        match &rule.body {
            Body::Engine(row) => self.of_row(rule, row, position),
            Body::Native { scope, step } => {
                if scope_fails(scope, self.session).is_some() {
                    return Answer::Never;
                }
                let by_text = !scope.match_pattern.is_empty() || !scope.except_match_pattern.is_empty();
                match step {
                    NativeStep::Map(map) => {
                        Answer::On(format!("shard map {}: keys are literals and comments", map.map))
                    }
                    NativeStep::Role(role) if role.writer_hint.is_some() => {
                        Answer::On(format!("the writer hint of {} is a comment", rule.address))
                    }
                    _ if by_text => Answer::On(format!("{} reads the statement itself", rule.address)),
                    _ => Answer::Always,
                }
            }
        }
    }

    fn of_row(&self, rule: &Rule, row: &EngineRule, position: usize) -> Answer {
        if session_fails(row, self.session).is_some() || is_guard(row, self.guards) {
            return Answer::Never;
        }
        if !self.is_faithful && (row.digest.is_some() || row.match_digest.is_some()) {
            return Answer::On("the digest text is cut off or made with other settings".to_owned());
        }
        let configuration = self.table.configuration();
        let asks = row.digest.is_some() || row.match_digest.is_some();
        let options = configuration.digests().filter(|_| asks);
        if let Some(digest) = options.map(|options| self.statement.digest_under(&options)) {
            if row.digest.is_some_and(|wanted| wanted != digest.hash) {
                return Answer::Never;
            }
            let patterns = self.table.patterns(position);
            if let (Some(_), Some(pattern)) = (&row.match_digest, patterns.of_digest().first()) {
                let is_match = pattern
                    .as_ref()
                    .is_ok_and(|pattern| pattern.is_match(&digest.text));
                if is_match == row.negate_match_pattern {
                    return Answer::Never;
                }
            }
        }
        match row.match_pattern {
            Some(_) => Answer::On(format!(
                "match_pattern of rule {} reads the statement itself",
                rule.id
            )),
            None => Answer::Always,
        }
    }
}

/// Whether a row has the condition of a guard, and besides it only asks for a user.
fn is_guard(row: &EngineRule, guards: &[Guard]) -> bool {
    let Some(pattern) = &row.match_pattern else {
        return false;
    };
    let is_alone = row.match_digest.is_none() && row.digest.is_none() && row.replace_pattern.is_none();
    is_alone
        && guards
            .iter()
            .any(|guard| guard.is_negated == row.negate_match_pattern && guard.pattern == *pattern)
}
