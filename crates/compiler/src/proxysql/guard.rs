//! Engine annotations: refused for users who are not allowed them, before any other rule.

use shardwright_diagnostics::Severity;
use shardwright_rules::refusal::Refusal;
use shardwright_rules::{Address, EngineRule};

use super::refusals::Refused;
use super::{Lowering, digest_rule};
use crate::bundled::Slot;
use crate::draft::DraftRule;
use crate::report::DIFFERENCE;

/// Keys that ProxySQL obeys in the first comment of a statement, whoever sends it (2.7.1).
const KEYS: &str = "cache_ttl|query_delay|query_retries|query_timeout|hostgroup|mirror|max_lag_ms|min_epoch_ms|min_gtid\
                    |create_new_connection";

impl Lowering<'_, '_> {
    /// One rule for everyone, or one for each user who is not allowed annotations.
    pub(super) fn annotation_guards(&mut self) -> Vec<DraftRule> {
        let program = self.program;
        let users = &program.users;
        let refused = Refused::by_guard(
            Refusal::Annotation,
            "engine annotations such as /* hostgroup=5 */ are refused; users.NAME.annotations: allow obeys them",
        );
        let rule = |username: Option<String>| EngineRule {
            username,
            match_digest: None,
            match_pattern: Some(pattern()),
            ..digest_rule("")
        };
        if users.iter().all(|user| !user.annotations_allowed) {
            let name = "annotations".to_owned();
            return vec![self.refusing(name, &Address::new("users"), rule(None), &refused)];
        }
        let denied = users.iter().filter(|user| !user.annotations_allowed);
        denied
            .map(|user| {
                let name = format!("annotations.{}", user.name);
                self.refusing(name, &user.address, rule(Some(user.name.clone())), &refused)
            })
            .collect()
    }

    /// The guard comes too late for what raw rules with small ids decide.
    pub(super) fn report_late_guards(&mut self, guards: &[DraftRule]) {
        let raw = self
            .program
            .blocks
            .iter()
            .find(|block| block.rules.iter().any(|row| row.rule.apply));
        if let (Some(block), false) = (raw, guards.is_empty()) {
            let message = format!(
                "on {}, statements that these rules take can carry engine annotations such as /* hostgroup=5 */: the guard \
                 needs a rule id below theirs, and ids.rules has none",
                self.report.engine
            );
            self.report
                .add(Severity::Warning, DIFFERENCE, block.origin, "", message);
        }
    }
}

/// Whether the first raw rules have written ids before which the project's range has no room for so many rules.
pub(super) fn would_renumber(order: &[Slot<'_>], guards: usize, first_id: u32) -> bool {
    let Some(Slot::Block(block)) = order.first() else {
        return false;
    };
    let before = block.rules.iter().take_while(|row| row.rule_id.is_none()).count();
    let written = block.rules.iter().find_map(|row| row.rule_id);
    written.is_some_and(|id| (id.saturating_sub(first_id) as usize) < guards + before)
}

/// An annotation in any comment: one of the keys at the start of the comment or behind a semicolon.
fn pattern() -> String {
    format!(r"/\*(?:(?s:.*);)?[\s!+M0-9]*(?:{KEYS})\s*=")
}
