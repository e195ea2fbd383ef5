//! The thread that watches servers, as others see it.

use std::sync::Arc;

use tokio::sync::Notify;

/// The thread that watches servers, as others see it.
#[derive(Debug)]
pub(crate) struct WatcherHandle(Arc<Notify>);

impl WatcherHandle {
    /// A handle of a thread that waits for `changed`.
    pub(crate) fn new(changed: Arc<Notify>) -> Self {
        Self(changed)
    }

    /// Has it look at the generation and the phase.
    pub(crate) fn wake(&self) {
        self.0.notify_one();
    }
}
