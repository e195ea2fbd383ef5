//! Wrong passwords slow the address that they come from.
//!
//! The first wrong passwords of an address cost it nothing. After them, each login from there gets a turn, and the turns are
//! a pause apart that doubles up to a bound. The answer comes with the turn, right or wrong, so that trying passwords in
//! parallel is no faster than trying them one by one. A login whose turn would be too far away is refused at once, so an
//! address has only a few logins that wait.
//!
//! A right password forgets the wrong ones of its own account and those for accounts that do not exist. Those of other
//! accounts stay: whoever may log in with one account gets no free attempts at another.
//!
//! Example, with 3 free failures: the fourth login is answered after 0.5 s and, if it is wrong, the fifth 1 s after that.
//!
//! Invariant: what is remembered is bounded, in addresses and for each of them.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Between the first turns of an address.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// Between two turns at most.
const LONGEST_PAUSE: Duration = Duration::from_secs(3);
/// Until the turn of a login; one that would wait longer is refused. It is below the usual time of a login.
const LONGEST_WAIT: Duration = Duration::from_secs(9);
/// Without another wrong password for this long, those of an address are forgotten.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(600);
/// Addresses that are remembered; one more replaces the one that was wrong longest ago.
const ADDRESSES: usize = 1024;

/// The wrong passwords of each address.
#[derive(Debug)]
pub(crate) struct Attempts {
    free_failures: u32,
    addresses: Mutex<BTreeMap<IpAddr, Failures>>,
}

/// The wrong passwords of one address.
#[derive(Debug)]
struct Failures {
    /// By account; all names that nobody has are one account without a name.
    by_account: BTreeMap<String, u32>,
    last: Instant,
    /// The last turn that a login from there has got.
    turn: Instant,
}

/// Too many logins from an address wait already.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooManyWaiting;

impl Attempts {
    pub(crate) fn new(free_failures: u32) -> Self {
        Self {
            free_failures,
            addresses: Mutex::default(),
        }
    }

    /// Counts a login, and says how long its answer waits. The account is empty for a name that nobody has.
    pub(crate) fn count(
        &self,
        from: IpAddr,
        account: &str,
        is_right: bool,
        now: Instant,
    ) -> Result<Duration, TooManyWaiting> {
        let mut addresses = self.addresses.lock().unwrap_or_else(PoisonError::into_inner);
        let from = network(from);
        if addresses.get(&from).is_some_and(|known| known.is_over(now)) {
            addresses.remove(&from);
        }
        if !addresses.contains_key(&from) {
            if is_right {
                return Ok(Duration::ZERO);
            }
            make_room(&mut addresses);
        }
        let failures = addresses.entry(from).or_insert_with(|| Failures::since(now));
        let turn = match failures.pause(self.free_failures) {
            Some(pause) => failures.turn.max(now) + pause,
            None => now,
        };
        let wait = turn.saturating_duration_since(now);
        if wait > LONGEST_WAIT {
            return Err(TooManyWaiting);
        }
        failures.turn = turn;
        if !is_right {
            *failures.by_account.entry(account.to_owned()).or_default() += 1;
            failures.last = now;
        }
        Ok(wait)
    }

    /// A login with the right password was answered.
    pub(crate) fn forgive(&self, from: IpAddr, account: &str) {
        let mut addresses = self.addresses.lock().unwrap_or_else(PoisonError::into_inner);
        let from = network(from);
        if let Some(failures) = addresses.get_mut(&from) {
            failures
                .by_account
                .retain(|other, _| !other.is_empty() && other != account);
            if failures.by_account.is_empty() {
                addresses.remove(&from);
            }
        }
    }
}

impl Failures {
    fn since(now: Instant) -> Self {
        Self {
            by_account: BTreeMap::new(),
            last: now,
            turn: now,
        }
    }

    fn is_over(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.last) >= FORGOTTEN_AFTER
    }

    /// Between two logins from there; `None` while the wrong ones are free.
    fn pause(&self, free: u32) -> Option<Duration> {
        let failures: u32 = self
            .by_account
            .values()
            .fold(0, |sum, count| sum.saturating_add(*count));
        let doublings = failures.checked_sub(free)?;
        let factor = 1_u32.checked_shl(doublings).unwrap_or(u32::MAX);
        Some(FIRST_PAUSE.saturating_mul(factor).min(LONGEST_PAUSE))
    }
}

/// Drops the address that was wrong longest ago if there are as many as may be remembered.
fn make_room(addresses: &mut BTreeMap<IpAddr, Failures>) {
    if addresses.len() < ADDRESSES {
        return;
    }
    let oldest = addresses.iter().min_by_key(|(_, failures)| failures.last);
    if let Some(oldest) = oldest.map(|(address, _)| *address) {
        addresses.remove(&oldest);
    }
}

/// One customer gets an IPv6 network of 64 bits, whose addresses count as one.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FREE: u32 = 3;
    const US: &str = "10.0.0.1";

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn wrong(attempts: &Attempts, from: &str, now: Instant) -> Result<u128, TooManyWaiting> {
        let wait = attempts.count(ip(from), "admin", false, now);
        wait.map(|wait| wait.as_millis())
    }

    fn right(attempts: &Attempts, from: &str, now: Instant) -> Result<u128, TooManyWaiting> {
        let wait = attempts.count(ip(from), "admin", true, now);
        wait.map(|wait| wait.as_millis())
    }

    #[test]
    fn the_pause_doubles_up_to_a_bound_and_ends_with_a_right_password() {
        let (attempts, mut now) = (Attempts::new(FREE), Instant::now());
        let mut waits = Vec::new();
        for _ in 0..8 {
            let wait = wrong(&attempts, US, now).unwrap();
            now += Duration::from_millis(u64::try_from(wait).unwrap());
            waits.push(wait);
        }
        assert_eq!(waits, [0, 0, 0, 500, 1000, 2000, 3000, 3000]);
        assert_eq!(right(&attempts, "10.0.0.2", now), Ok(0), "others are not slowed");
        assert_eq!(right(&attempts, US, now), Ok(3000), "the right one waits too");
        attempts.forgive(ip(US), "admin");
        assert_eq!(wrong(&attempts, US, now), Ok(0));
    }

    #[test]
    fn logins_at_once_are_answered_one_after_the_other_and_only_a_few_wait() {
        let (attempts, now) = (Attempts::new(FREE), Instant::now());
        let answers: Vec<_> = (0..100).map(|_| wrong(&attempts, US, now)).collect();
        let waits: Vec<u128> = answers.iter().flatten().copied().collect();
        assert_eq!(waits, [0, 0, 0, 500, 1500, 3500, 6500]);
        assert_eq!(right(&attempts, US, now), Err(TooManyWaiting));
        let later = now + Duration::from_millis(6500);
        assert_eq!(wrong(&attempts, US, later), Ok(3000), "refused ones take no turn");
    }

    #[test]
    fn one_account_gives_no_free_attempts_at_another() {
        let (attempts, now) = (Attempts::new(FREE), Instant::now());
        for account in ["", "", "admin", "metrics"] {
            attempts.count(ip(US), account, false, now).unwrap();
        }
        attempts.forgive(ip(US), "metrics");
        let counted = |account| {
            let addresses = attempts.addresses.lock().unwrap();
            addresses[&ip(US)].by_account.get(account).copied()
        };
        assert_eq!(["", "metrics", "admin"].map(counted), [None, None, Some(1)]);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let (attempts, now) = (Attempts::new(FREE), Instant::now());
        for number in 0..=ADDRESSES as u32 {
            let from = IpAddr::V4(number.into());
            let at = now + Duration::from_micros(number.into());
            attempts.count(from, "", false, at).unwrap();
        }
        let addresses = attempts.addresses.lock().unwrap();
        assert_eq!(addresses.len(), ADDRESSES);
        assert!(
            !addresses.contains_key(&IpAddr::V4(0.into())),
            "the oldest one went"
        );
    }

    #[test]
    fn wrong_passwords_are_forgotten_in_time() {
        let (attempts, now) = (Attempts::new(FREE), Instant::now());
        for _ in 0..=FREE {
            wrong(&attempts, US, now).unwrap();
        }
        assert_ne!(wrong(&attempts, US, now + FORGOTTEN_AFTER / 2), Ok(0));
        assert_eq!(wrong(&attempts, US, now + 2 * FORGOTTEN_AFTER), Ok(0));
    }

    #[test]
    fn a_network_of_ipv6_is_one_address() {
        assert_eq!(network(ip("2001:db8::1")), network(ip("2001:db8:0:0:ffff::2")));
        assert_ne!(network(ip("2001:db8::1")), network(ip("2001:db8:0:1::1")));
        assert_eq!(network(ip("::ffff:10.0.0.1")), ip("10.0.0.1"));
    }
}
