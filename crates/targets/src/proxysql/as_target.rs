//! What plans ask of a target, answered by a ProxySQL.

use shardwright_plan::{Applied, ApplyError, Assessment, Change, Difference, Observed, Target, TargetError};
use shardwright_rules::Configuration;

use super::target::ProxySqlTarget;

impl Target for ProxySqlTarget {
    fn name(&self) -> &str {
        &self.name
    }

    fn observe(&mut self) -> Result<Observed, TargetError> {
        let live = self.read()?;
        let observed = self.observed(&live);
        self.see(live);
        Ok(observed)
    }

    fn assess(&mut self, _: &Observed, desired: &Configuration) -> Result<Assessment, TargetError> {
        let live = self.last_seen()?;
        let assessment = self.assessed(&live, desired);
        self.seen = Some(live);
        assessment
    }

    fn difference(&mut self, _: &Observed, desired: &Configuration) -> Result<Difference, TargetError> {
        let live = self.last_seen()?;
        let difference = self.different(&live, desired);
        self.seen = Some(live);
        difference
    }

    fn unfinished(&mut self) -> Result<Option<String>, TargetError> {
        let lease = self.seen.as_ref().and_then(|live| live.lease.as_ref());
        self.unfinished_run(lease)
            .map_err(|error| self.error(&error.to_string()))
    }

    fn check(&mut self, change: &Change<'_>) -> Result<(), ApplyError> {
        self.check_before(change)
    }

    fn apply(&mut self, change: &Change<'_>) -> Result<Applied, ApplyError> {
        self.carry_out(change)
    }
}
