//! A place where clients are accepted, as the workers have it.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, mpsc};

use arc_swap::ArcSwap;
use tokio::sync::watch;

use crate::bound::Listening;
use crate::descriptors::Reserve;
use crate::listen_address::ListenAddress;
use crate::listeners::State;

/// What the workers share of a listener.
pub(crate) struct Entrance {
    /// What its sessions are told.
    pub(crate) address: Arc<ArcSwap<ListenAddress>>,
    pub(crate) listening: Listening,
    pub(crate) reserve: Mutex<Reserve>,
}

/// What a worker needs to accept clients there.
pub(crate) struct Accepting {
    pub(crate) entrance: Arc<Entrance>,
    pub(crate) state: watch::Receiver<State>,
    /// Dropped last, when this worker accepts no more.
    pub(crate) ends: mpsc::Sender<Infallible>,
}
