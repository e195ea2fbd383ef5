//! The delay of a throttle on Galera's flow control.
//!
//! # Idea
//!
//! The share of time in flow control says by how much too much is written: of what clients would write, `1 - share` gets
//! through. So a delay that is too short is divided by that part, and again at each look.
//!
//! A share of 0 says little. It is 0 whether the delay is just long enough or a hundred times as long as it must be, and a throttle
//! that lets go then is back in flow control at once. So a delay that suffices is made shorter as CUBIC (RFC 9438) looks for
//! bandwidth: hardly for half a minute, then faster and faster. A load that stays is tried with a little more about every half
//! minute, and what is left of a throttle whose load has gone is gone after two.

use std::time::Duration;

/// A share that stays is answered in full within this time. It is several times as long as statements wait in flow control: until
/// then they know nothing of a new delay, and neither does the share.
const ANSWERED_WITHIN_S: f64 = 3.0;
/// The greatest share that is answered by its amount: at 1, nothing gets through, however long the delay must be.
const MOST: f64 = 0.99;
/// After this time without flow control, the delay is shorter by `SHORTER`.
const PLATEAU_S: f64 = 30.0;
/// As a logarithm: a tenth.
const SHORTER: f64 = 0.1;

/// Since when there has been no flow control.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Backoff {
    quiet_since: Option<Duration>,
}

/// What flow control is like now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pressure {
    /// It stops writes more than the throttle allows.
    TooMuch,
    Allowed,
    /// Less than the throttle would have it.
    Little,
}

impl Backoff {
    /// The logarithm of the factor by which the delay changes, for a step that ends `at`.
    pub(super) fn step(&mut self, pressure: Pressure, share: f64, at: Duration, step_s: f64) -> f64 {
        if pressure != Pressure::Little {
            self.quiet_since = None;
        }
        match pressure {
            Pressure::TooMuch => -(1.0 - share.clamp(0.0, MOST)).ln() * step_s / ANSWERED_WITHIN_S,
            Pressure::Allowed => 0.0,
            Pressure::Little => {
                let since = *self.quiet_since.get_or_insert(at);
                let quiet_s = at.saturating_sub(since).as_secs_f64();
                // The derivative of SHORTER * (t / PLATEAU_S)^3.
                -3.0 * SHORTER / PLATEAU_S * (quiet_s / PLATEAU_S).powi(2) * step_s
            }
        }
    }
}
