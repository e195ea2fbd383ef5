//! What an apply asks under its lease, besides the rows: the peers of a cluster, and what clients hold.

use shardwright_plan::{ApplyError, Hazard};

use super::change::Change;
use super::live::Live;
use super::mark::Lease;
use super::peers::in_the_way;
use super::prepared::GoingLive;
use super::session::AdminSession;
use super::target::ProxySqlTarget;

impl ProxySqlTarget {
    /// Refuses where somebody applies to a peer of the cluster.
    pub(super) fn ask_peers(&self, session: &mut AdminSession, own: &Lease) -> Result<(), ApplyError> {
        match in_the_way(session, own, |address| self.connect_to(address)) {
            Ok(None) => Ok(()),
            Ok(Some(refusal)) => Err(refusal),
            Err(error) => Err(ApplyError::NotSent(self.error(&error.to_string()))),
        }
    }

    /// Changes about to go live on what memory holds.
    pub(super) fn going_live<'a>(&self, live: &'a Live, changes: &'a [Change]) -> GoingLive<'a> {
        GoingLive {
            changes,
            live,
            engine: self.engine(),
        }
    }

    /// Waits until clients let go what the new rules would refuse, as long as a drain may take. It is asked in any case:
    /// clients may have prepared statements since the plan was looked at.
    pub(super) fn drain_of(
        &self,
        session: &mut AdminSession,
        live: &Live,
        changes: &[Change],
    ) -> Result<(), ApplyError> {
        match self.going_live(live, changes).still_refused(session, self.drain) {
            Ok(None) => Ok(()),
            Ok(Some(hazard)) => {
                let waited = match self.drain.as_secs() {
                    0 => String::new(),
                    seconds => format!("after {seconds} s, "),
                };
                let Hazard { code, message, .. } = hazard;
                Err(ApplyError::Refused(format!("{code}: {waited}{message}")))
            }
            Err(error) => Err(ApplyError::NotSent(self.error(&error.to_string()))),
        }
    }
}
