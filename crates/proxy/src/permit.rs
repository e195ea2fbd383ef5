//! Limits that hold across workers: sessions, logins under way, sessions of a user.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// One of a limited number; given back when dropped.
#[derive(Debug)]
pub(crate) struct Permit(Arc<AtomicUsize>);

impl Permit {
    /// A permit, unless `limit` are taken.
    pub(crate) fn take(count: &Arc<AtomicUsize>, limit: usize) -> Option<Self> {
        count
            .fetch_update(Ordering::AcqRel, Ordering::Relaxed, |taken| {
                (taken < limit).then_some(taken + 1)
            })
            .ok()
            .map(|_| Self(count.clone()))
    }

    /// A permit whatever the limit, for whoever comes in place of another that ends now.
    pub(crate) fn take_another(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::AcqRel);
        Self(count.clone())
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permits_are_limited_and_given_back() {
        let count = Arc::default();
        let first = Permit::take(&count, 2).unwrap();
        let _second = Permit::take(&count, 2).unwrap();
        assert!(Permit::take(&count, 2).is_none());
        drop(first);
        assert!(Permit::take(&count, 2).is_some());
        assert_eq!(count.load(Ordering::Relaxed), 1);
    }
}
