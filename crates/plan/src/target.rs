//! What a plan is applied to.

use shardwright_rules::{Address, Configuration};
use thiserror::Error;

use crate::{ApplyReport, Assessment, Change, Difference, Observed};

/// Something that runs a configuration and can be given another one.
pub trait Target {
    /// Its name in the project file.
    fn name(&self) -> &str;

    /// Reads what it runs.
    fn observe(&mut self) -> Result<Observed, TargetError>;

    /// What would be different between what was observed last and `desired`, and what the target has to say about that.
    /// Unless a target says otherwise, it runs configurations whole.
    ///
    /// # Errors
    /// It cannot be asked, or cannot hold the configuration.
    fn assess(&mut self, observed: &Observed, desired: &Configuration) -> Result<Assessment, TargetError> {
        Ok(Assessment::of_whole(observed, desired))
    }

    /// The difference of [`Target::assess`] alone: what is asked again once a change is live.
    ///
    /// # Errors
    /// It cannot be asked, or cannot hold the configuration.
    fn difference(
        &mut self,
        observed: &Observed,
        desired: &Configuration,
    ) -> Result<Difference, TargetError> {
        self.assess(observed, desired)
            .map(|assessment| assessment.difference)
    }

    /// An earlier change that has not ended, and what to do about it; nothing else is applied before that.
    ///
    /// # Errors
    /// It is not known, because what is remembered of earlier changes cannot be read.
    fn unfinished(&mut self) -> Result<Option<String>, TargetError> {
        Ok(None)
    }

    /// Looks whether it would refuse a change, as far as that can be known without changing anything.
    ///
    /// # Errors
    /// Why it would.
    fn check(&mut self, _: &Change<'_>) -> Result<(), ApplyError> {
        Ok(())
    }

    /// Replaces what it runs, when that is still the base of `change`. It is all or nothing, whatever the error,
    /// and giving the same change again is harmless.
    fn apply(&mut self, change: &Change<'_>) -> Result<Applied, ApplyError>;

    /// Is told how a change ended that it was given, so that it can be remembered.
    ///
    /// # Errors
    /// It cannot be remembered.
    fn conclude(&mut self, _: &ApplyReport) -> Result<(), TargetError> {
        Ok(())
    }
}

/// A target's word that it runs the desired configuration and will after a restart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// The generation that it became.
    pub generation: u64,
    /// Its fingerprint.
    pub fingerprint: String,
    /// What should run the same and does not, in words: peers that do not follow it.
    pub behind: Vec<String>,
}

/// A target cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("target {target} at {address}: {reason}")]
pub struct TargetError {
    /// Name in the project file.
    pub target: String,
    /// Where it was sought.
    pub address: String,
    /// What went wrong, without secrets.
    pub reason: String,
}

/// Why a target did not confirm a change.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ApplyError {
    /// Nothing was sent.
    #[error(transparent)]
    NotSent(TargetError),
    /// It no longer runs the base of the plan; nothing was changed.
    #[error("the target has moved: {0}")]
    Stale(String),
    /// Another change is being made; nothing was changed.
    #[error("another change is being made: {0}")]
    Contended(String),
    /// Somebody has to end something first; nothing was changed.
    #[error("{0}")]
    Blocked(String),
    /// It belongs to another project than the plan was made for; nothing was changed.
    #[error("the target is another project's: {0}")]
    Foreign(String),
    /// Something about it stands against the change; nothing was changed.
    #[error("{0}")]
    Refused(String),
    /// The configuration is not one that the target can run; nothing was changed.
    #[error("the target rejects the configuration: {reason}")]
    Invalid {
        /// The object that is wrong.
        address: Option<Address>,
        /// What is wrong with it.
        reason: String,
    },
    /// The target tried and could not; it is at its former state again.
    #[error("{0}")]
    Restored(String),
    /// The target tried and could not, and what it runs now is neither the former state nor the new one, or is unknown.
    #[error("{0}")]
    Mixed(String),
    /// The target tried and could not.
    #[error("the target failed: {0}")]
    Failed(String),
    /// The request was sent, at least in part, and no answer came.
    #[error("no answer came: {0}")]
    Lost(TargetError),
}
