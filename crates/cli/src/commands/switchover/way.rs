//! The ways in which servers change their roles.

use std::time::Instant;

use super::fleet::Fleet;

/// Why the writer was not moved, for people, and how that has left the servers.
pub(super) enum Failed {
    /// As they were.
    Undone(String),
    /// In between; the text says how.
    Mixed(String),
}

/// A way in which the servers of a cluster change their roles.
pub(super) trait Way {
    /// Gives the servers their roles, or undoes what it has begun. Statements wait meanwhile.
    fn hand_over(&mut self, fleet: &mut Fleet, deadline: Instant) -> Result<(), Failed>;

    /// What is left to do once statements go on; what did not work, for people.
    fn finish(&mut self) -> Vec<String>;
}
