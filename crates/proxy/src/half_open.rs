//! Logins under way: limited in all, with a fair share for each address.
//!
//! The idea: while there is room, every login may begin. At the limit, the address with the most logins under way gives up its
//! oldest one, if the newcomer's address has fewer. So whoever holds many connections open without logging in takes room
//! from nobody but himself.
//!
//! An address that has the most itself may replace only a login that has had its [`GRACE`]. Without that rule a burst of
//! honest clients would end each other's logins before any of them is over; with it, the last ones of the burst are refused.
//!
//! The same rule makes room where sessions are at their limit: clients that say nothing keep nobody out who logs in.
//!
//! Invariant: never more logins than the limit, and a login ends only for one of an address that has fewer, or after its grace.
//!
//! Example, with a limit of 4: 10.0.0.1 has three logins under way (the oldest is `a`), 10.0.0.2 has one. A client from
//! 10.0.0.3 comes: `a` ends. Another one from 10.0.0.1 comes at once: it is refused, because the two that its address still
//! has are young.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;
use tokio::sync::oneshot;

/// Time that a login has before it makes room for another one of the same address.
const GRACE: Duration = Duration::from_millis(500);

/// Who shares a share: an IPv4 address, an IPv6 network of 64 bits (which is what one customer gets), or everybody on
/// this machine who connects to a unix socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Origin {
    V4(Ipv4Addr),
    V6([u16; 4]),
    Local,
}

impl From<Option<IpAddr>> for Origin {
    fn from(address: Option<IpAddr>) -> Self {
        match address.map(|address| address.to_canonical()) {
            None => Self::Local,
            Some(IpAddr::V4(address)) => Self::V4(address),
            Some(IpAddr::V6(address)) => {
                let [a, b, c, d, ..] = address.segments();
                Self::V6([a, b, c, d])
            }
        }
    }
}

/// The logins under way.
#[derive(Debug)]
pub(crate) struct HalfOpen {
    limit: usize,
    logins: Mutex<Logins>,
}

#[derive(Debug, Default)]
struct Logins {
    count: usize,
    next: u64,
    /// The logins of each address, the oldest first; no address is here without one.
    by_origin: FxHashMap<Origin, BTreeMap<u64, Login>>,
}

#[derive(Debug)]
struct Login {
    began: Instant,
    /// Dropped when the login has to make room.
    _may_go_on: oneshot::Sender<Infallible>,
}

impl HalfOpen {
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            limit,
            logins: Mutex::default(),
        })
    }

    /// Begins a login; `None` when there is no room for it.
    pub(crate) fn begin(self: &Arc<Self>, origin: Origin, now: Instant) -> Option<LoginPermit> {
        let mut logins = self.logins();
        if logins.count >= self.limit && !logins.make_room(origin, now) {
            return None;
        }
        let (may_go_on, ended) = oneshot::channel();
        let number = logins.next;
        logins.next += 1;
        logins.insert(
            origin,
            number,
            Login {
                began: now,
                _may_go_on: may_go_on,
            },
        );
        Some(LoginPermit {
            half_open: self.clone(),
            origin,
            number,
            ended,
        })
    }

    /// Ends a login so that a client of `origin` may have its session; `false` if none may be ended for it.
    pub(crate) fn give_way(&self, origin: Origin, now: Instant) -> bool {
        self.logins().make_room(origin, now)
    }

    /// Most logins under way.
    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    /// Logins under way.
    #[cfg(feature = "in-process")]
    pub(crate) fn count(&self) -> usize {
        self.logins().count
    }

    fn logins(&self) -> MutexGuard<'_, Logins> {
        self.logins.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Logins {
    /// Ends a login so that one of `origin` may begin.
    fn make_room(&mut self, origin: Origin, now: Instant) -> bool {
        let own = self.by_origin.get(&origin).map_or(0, BTreeMap::len);
        let heaviest = self.by_origin.iter().max_by_key(|(_, logins)| logins.len());
        let Some((&heaviest, logins)) = heaviest else {
            return false;
        };
        let Some((&oldest, login)) = logins.first_key_value() else {
            return false;
        };
        let may_end = own + 1 < logins.len() || now.saturating_duration_since(login.began) >= GRACE;
        may_end && self.remove(heaviest, oldest).is_some()
    }

    fn insert(&mut self, origin: Origin, number: u64, login: Login) {
        self.by_origin.entry(origin).or_default().insert(number, login);
        self.count += 1;
    }

    fn remove(&mut self, origin: Origin, number: u64) -> Option<Login> {
        let logins = self.by_origin.get_mut(&origin)?;
        let login = logins.remove(&number)?;
        if logins.is_empty() {
            self.by_origin.remove(&origin);
        }
        self.count -= 1;
        Some(login)
    }
}

/// One login under way; over when dropped.
#[derive(Debug)]
pub(crate) struct LoginPermit {
    half_open: Arc<HalfOpen>,
    origin: Origin,
    number: u64,
    ended: oneshot::Receiver<Infallible>,
}

impl LoginPermit {
    /// The client is somebody else than its connection says.
    pub(crate) fn move_to(&mut self, origin: Origin) {
        let mut logins = self.half_open.logins();
        if let Some(login) = logins.remove(self.origin, self.number) {
            logins.insert(origin, self.number, login);
        }
        self.origin = origin;
    }

    /// Waits until this login has to make room for another one.
    pub(crate) async fn must_end(&mut self) {
        // Nothing is ever sent: the other half is dropped.
        let Err(_dropped) = (&mut self.ended).await;
    }
}

impl Drop for LoginPermit {
    fn drop(&mut self) {
        self.half_open.logins().remove(self.origin, self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(last: u8) -> Origin {
        Origin::V4(Ipv4Addr::new(10, 0, 0, last))
    }

    fn has_ended(permit: &mut LoginPermit) -> bool {
        permit.ended.try_recv() == Err(oneshot::error::TryRecvError::Closed)
    }

    #[test]
    fn the_heaviest_address_makes_room_with_its_oldest() {
        let half_open = HalfOpen::new(4);
        let now = Instant::now();
        let mut heavy: Vec<_> = (0..3).map(|_| half_open.begin(ip(1), now).unwrap()).collect();
        let mut other = half_open.begin(ip(2), now).unwrap();
        let _third = half_open.begin(ip(3), now).unwrap();
        let ended: Vec<bool> = heavy.iter_mut().map(has_ended).collect();
        assert_eq!(ended, [true, false, false]);
        assert!(!has_ended(&mut other));
        assert!(half_open.begin(ip(1), now).is_none(), "its logins are young");
        assert_eq!(half_open.logins().count, 4);
    }

    #[test]
    fn an_address_replaces_its_own_after_the_grace() {
        let half_open = HalfOpen::new(2);
        let now = Instant::now();
        let mut first = half_open.begin(ip(1), now).unwrap();
        let mut second = half_open.begin(ip(1), now).unwrap();
        assert!(half_open.begin(ip(1), now + GRACE / 2).is_none());
        let _third = half_open.begin(ip(1), now + GRACE).unwrap();
        assert!(has_ended(&mut first));
        assert!(!has_ended(&mut second));
    }

    #[test]
    fn permits_are_given_back_also_by_those_that_ended() {
        let half_open = HalfOpen::new(2);
        let now = Instant::now();
        let permits = [ip(1), ip(1), ip(2)].map(|origin| half_open.begin(origin, now).unwrap());
        assert!(half_open.begin(ip(2), now).is_none(), "nobody has more");
        drop(permits);
        assert_eq!(half_open.logins().count, 0);
        assert!(half_open.logins().by_origin.is_empty());
    }

    #[test]
    fn a_login_counts_for_the_client_behind_a_load_balancer() {
        let half_open = HalfOpen::new(3);
        let now = Instant::now();
        let mut permits = [1, 2, 2].map(|client| {
            let mut permit = half_open.begin(ip(100), now).unwrap();
            permit.move_to(ip(client));
            permit
        });
        let _newcomer = half_open.begin(ip(3), now).unwrap();
        let ended: Vec<bool> = permits.iter_mut().map(has_ended).collect();
        assert_eq!(ended, [false, true, false]);
        drop(permits);
        assert_eq!(half_open.logins().count, 1);
    }

    #[test]
    fn a_network_of_ipv6_is_one_origin() {
        let origin = |text: &str| Origin::from(Some(text.parse::<IpAddr>().unwrap()));
        assert_eq!(origin("2001:db8::1"), origin("2001:db8:0:0:ffff::2"));
        assert_ne!(origin("2001:db8::1"), origin("2001:db8:0:1::1"));
        assert_eq!(origin("::ffff:10.0.0.1"), ip(1));
    }
}
