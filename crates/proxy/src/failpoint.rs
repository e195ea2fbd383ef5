//! Named points of an apply at which the process can be made to die, so that tests can crash it there. Only the feature
//! `fail-points`, which tests switch on, makes them do anything.

/// The environment variable that names the point to die at.
const VARIABLE: &str = "SHARDWRIGHT_FAILPOINT";

/// A point of an apply, in the order in which they are reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailPoint {
    /// The request has arrived whole.
    Received,
    /// The configuration is found to be valid.
    Validated,
    /// Nothing has been written yet.
    BeforePersist,
    /// The new generation is written and not committed.
    InTransaction,
    /// The new generation is durable and not served.
    Persisted,
    /// The new generation is served and not acknowledged.
    Published,
    /// The acknowledgement has been handed to the admin connection.
    Answered,
}

#[cfg(feature = "fail-points")]
impl FailPoint {
    const ALL: [(FailPoint, &'static str); 7] = [
        (FailPoint::Received, "received"),
        (FailPoint::Validated, "validated"),
        (FailPoint::BeforePersist, "before_persist"),
        (FailPoint::InTransaction, "in_transaction"),
        (FailPoint::Persisted, "persisted"),
        (FailPoint::Published, "published"),
        (FailPoint::Answered, "answered"),
    ];
}

/// The point to die at, if any; read from the environment once, when a proxy starts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FailPoints {
    #[cfg(feature = "fail-points")]
    armed: Option<FailPoint>,
}

/// The environment names a point that does not exist.
#[derive(Debug, thiserror::Error)]
#[error("{VARIABLE} names no point of an apply: {0}")]
pub struct UnknownFailPoint(String);

#[cfg(feature = "fail-points")]
impl FailPoints {
    /// The point that the environment names.
    ///
    /// # Errors
    /// There is no such point: a test that crashes nothing must not pass.
    pub(crate) fn from_environment() -> Result<Self, UnknownFailPoint> {
        let Some(name) = std::env::var_os(VARIABLE) else {
            return Ok(Self::default());
        };
        let name = name.to_string_lossy();
        let armed = FailPoint::ALL
            .into_iter()
            .find(|(_, known)| *known == name)
            .map(|(point, _)| point)
            .ok_or_else(|| UnknownFailPoint(name.into_owned()))?;
        Ok(Self { armed: Some(armed) })
    }

    /// Ends the process as `kill -9` does when `point` is the armed one.
    pub(crate) fn reach(self, point: FailPoint) {
        use nix::sys::signal::{Signal, kill};
        use nix::unistd::Pid;

        if self.armed != Some(point) {
            return;
        }
        // SIGKILL of one's own process cannot be refused; should it be, dying by abort is as sudden.
        if kill(Pid::this(), Signal::SIGKILL).is_err() {
            std::process::abort();
        }
    }
}

#[cfg(not(feature = "fail-points"))]
impl FailPoints {
    /// No point.
    ///
    /// # Errors
    /// Where the environment names one, which this build does not have.
    pub(crate) fn from_environment() -> Result<Self, UnknownFailPoint> {
        match std::env::var(VARIABLE) {
            Ok(_) => Err(UnknownFailPoint("this build has none".to_owned())),
            Err(_) => Ok(Self::default()),
        }
    }

    /// Nothing.
    pub(crate) fn reach(self, _point: FailPoint) {}
}
