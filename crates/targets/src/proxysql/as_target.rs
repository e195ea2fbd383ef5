//! What plans ask of a target, answered by a ProxySQL.

use shardwright_plan::{Applied, ApplyError, Assessment, Change, Difference, Observed, Target, TargetError};
use shardwright_rules::Configuration;

use super::journal::unfinished;
use super::target::ProxySqlTarget;

impl Target for ProxySqlTarget {
    fn name(&self) -> &str {
        &self.name
    }

    fn observe(&mut self) -> Result<Observed, TargetError> {
        let live = self.read()?;
        let observed = self.observed(&live);
        self.seen = Some(live);
        Ok(observed)
    }

    fn assess(&mut self, _: &Observed, desired: &Configuration) -> Result<Assessment, TargetError> {
        let live = self.last_seen()?;
        let prepared = self.prepare(&live, desired)?;
        let assessment = self.assessment(&live, desired, &prepared);
        self.seen = Some(live);
        assessment
    }

    fn difference(&mut self, _: &Observed, desired: &Configuration) -> Result<Difference, TargetError> {
        let live = self.last_seen()?;
        let difference = self.different(&live, desired);
        self.seen = Some(live);
        difference
    }

    fn unfinished(&mut self) -> Option<String> {
        let lease = self.seen.as_ref().and_then(|live| live.lease.as_ref());
        match (self.open_run(), lease) {
            (Ok(Some(run)), _) => Some(unfinished(&run)),
            (Err(error), _) => Some(error.to_string()),
            (Ok(None), Some(lease)) => Some(format!("{lease}, has not ended")),
            (Ok(None), None) => None,
        }
    }

    fn apply(&mut self, change: &Change<'_>) -> Result<Applied, ApplyError> {
        self.carry_out(change)
    }
}
