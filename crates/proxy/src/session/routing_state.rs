//! What earlier statements of a session mean for the routing of the next one.

use std::time::Instant;

use shardwright_rules::{HostgroupId, Statement};
use shardwright_sql::SessionEffects;

use super::held::HeldConnections;
use super::holds::Holds;

#[derive(Default)]
pub(super) struct RoutingState {
    /// `next_query_flagIN` of an earlier statement's rule.
    pub(super) next_query_flag_in: Option<u32>,
    pub(super) last_write: Option<Instant>,
    /// As in [`shardwright_rules::SessionView::state_on`], for the statement that is being decided.
    pub(super) state_on: Vec<HostgroupId>,
}

impl RoutingState {
    pub(super) fn since_write_ms(&self) -> Option<u64> {
        self.last_write.map(|write| write.elapsed().as_millis() as u64)
    }

    /// Notes where the session keeps what the statement's answer may depend on.
    pub(super) fn note_state(&mut self, held: &HeldConnections, statement: &Statement<'_>) {
        self.state_on.clear();
        if held.is_empty() {
            return;
        }
        let mut state = Holds::NOT_ON_READERS;
        let effects = statement.shape().effects;
        if effects.intersects(SessionEffects::USER_VARIABLE) {
            state |= Holds::USER_VARIABLES;
        }
        self.state_on.extend(held.hostgroups_with(state));
    }
}
