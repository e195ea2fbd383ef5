//! Logins with wrong passwords at the admin port: counted, and logged by address.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use shardwright_mysqlite::DeniedLogin;

use crate::half_open::Origin;
use crate::seldom::SeldomByOrigin;

/// Denied logins at the admin port.
#[derive(Debug, Default)]
pub(crate) struct DeniedAdmins {
    wrong: AtomicU64,
    refused: AtomicU64,
    log: SeldomByOrigin,
}

impl DeniedAdmins {
    /// Counts one, and logs one a second of each address.
    pub(crate) fn count(&self, login: &DeniedLogin<'_>) {
        let (counter, reason) = if login.was_checked {
            (&self.wrong, "wrong password")
        } else {
            (&self.refused, "too many from there wait")
        };
        counter.fetch_add(1, Ordering::Relaxed);
        if let Some(count) = self.log.count(Origin::from(Some(login.peer)), Instant::now()) {
            let (address, account) = (login.peer, loggable_name(login.account));
            tracing::warn!(%address, account, reason, count, "logins at the admin port were denied");
        }
    }

    /// Logins with a wrong password.
    pub(crate) fn wrong(&self) -> u64 {
        self.wrong.load(Ordering::Relaxed)
    }

    /// Logins that were refused because too many of their address waited.
    pub(crate) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }
}

/// A name for the log. One that nobody has is left out: it may be a password in the wrong place.
pub(crate) fn loggable_name(account: &str) -> Option<&str> {
    Some(account).filter(|account| !account.is_empty())
}
