//! Apps that an administrator has told to wait.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The most apps that are refused at a time.
const MOST: usize = 1000;

/// Apps that are refused, and until when. A restart forgets them.
#[derive(Debug, Default)]
pub(crate) struct RefusedApps(Mutex<BTreeMap<String, Instant>>);

/// No further app can be refused.
#[derive(Debug, thiserror::Error)]
#[error("{MOST} apps are refused already")]
pub(crate) struct TooMany;

impl RefusedApps {
    /// Those that are refused now; what is over is forgotten.
    fn current(&self) -> MutexGuard<'_, BTreeMap<String, Instant>> {
        let mut apps = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        apps.retain(|_, until| *until > now);
        apps
    }

    /// Refuses an app for a time, which takes the place of an earlier one.
    pub(crate) fn refuse(&self, app: &str, time: Duration) -> Result<(), TooMany> {
        let mut apps = self.current();
        if apps.len() >= MOST && !apps.contains_key(app) {
            return Err(TooMany);
        }
        apps.insert(app.to_owned(), Instant::now() + time);
        Ok(())
    }

    /// Ends it. Whether it was refused.
    pub(crate) fn allow(&self, app: &str) -> bool {
        self.current().remove(app).is_some()
    }

    /// For how long an app is still refused.
    pub(crate) fn left(&self, app: &str) -> Option<Duration> {
        let until = *self.current().get(app)?;
        Some(until.saturating_duration_since(Instant::now()))
    }

    /// Each app, and for how long it is still refused.
    pub(crate) fn all(&self) -> Vec<(String, Duration)> {
        let now = Instant::now();
        let left = |until: &Instant| until.saturating_duration_since(now);
        self.current()
            .iter()
            .map(|(app, until)| (app.clone(), left(until)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn apps_are_refused_for_a_time() {
        let apps = RefusedApps::default();
        apps.refuse("archive", Duration::from_secs(60)).unwrap();
        apps.refuse("over", Duration::ZERO).unwrap();
        assert!(apps.left("archive").is_some_and(|left| left.as_secs() >= 50));
        assert_eq!(apps.left("over"), None);
        assert_eq!(apps.left("gh-ost"), None);
        assert_eq!(apps.all().len(), 1);
        assert!(apps.allow("archive") && !apps.allow("archive"));
    }

    #[test]
    fn their_number_is_limited() {
        let apps = RefusedApps::default();
        for number in 0..MOST {
            apps.refuse(&number.to_string(), Duration::from_secs(60)).unwrap();
        }
        assert!(apps.refuse("one more", Duration::from_secs(60)).is_err());
        apps.refuse("7", Duration::from_secs(90)).unwrap();
    }
}
