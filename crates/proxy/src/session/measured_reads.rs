//! Reads by whose times readers are compared.

use std::time::Instant;

use super::Session;
use super::held::Held;
use super::routed::RoutedStatement;

/// ER_QUERY_INTERRUPTED, ER_STATEMENT_TIMEOUT (MariaDB), ER_QUERY_TIMEOUT (MySQL)
const INTERRUPTED: [u16; 3] = [1317, 1969, 3024];

impl Session {
    /// Takes up the time until the answer to a statement began, if that is a read that any reader could have got. An error may come
    /// sooner than an answer would have, unless it says that the read took too long.
    pub(super) fn measure(
        &self,
        held: &Held,
        routed: &RoutedStatement<'_>,
        digest: u64,
        ended: Instant,
        error: Option<u16>,
    ) {
        if is_compared(held, routed) && error.is_none_or(|error| INTERRUPTED.contains(&error)) {
            let (times, member) = (&self.worker.read_times, &held.backend.member);
            times.measured(
                member,
                held.hostgroup,
                digest,
                self.client.wait.until_answered(ended),
            );
        }
    }

    /// Takes up a read whose client has gone while it waited: it would have taken longer.
    pub(super) fn measure_given_up(&self, held: &Held, routed: &RoutedStatement<'_>) {
        if is_compared(held, routed) {
            let (times, member) = (&self.worker.read_times, &held.backend.member);
            let (digest, waited) = (routed.statement.digest_hash(), self.client.wait.so_far());
            times.given_up(member, held.hostgroup, digest, waited);
        }
    }
}

/// Whether the server of a read could have been any other reader. What a session holds on one may be a kind of work of its own.
fn is_compared(held: &Held, routed: &RoutedStatement<'_>) -> bool {
    held.backend.member.speed.is_compared() && routed.requirements.is_read_alone && held.holds.is_empty()
}
