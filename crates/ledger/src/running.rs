//! Clients at work.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Instant;

use crate::client;
use crate::ledger::Ledger;
use crate::load::Load;
use crate::shared::Shared;

impl Load {
    /// Starts the clients.
    ///
    /// # Errors
    /// There is no target, or a thread cannot be started.
    pub fn start(self) -> std::io::Result<Running> {
        if self.targets.is_empty() {
            return Err(std::io::ErrorKind::InvalidInput.into());
        }
        let began = Instant::now();
        let shared = Arc::new(Shared {
            load: self,
            began,
            is_over: AtomicBool::new(false),
            told: Mutex::default(),
        });
        let mut running = Running {
            shared: Arc::clone(&shared),
            clients: Vec::new(),
        };
        let targets = shared.load.targets.iter().cycle();
        for (client, target) in (0..shared.load.clients.get()).zip(targets) {
            let (shared, target) = (Arc::clone(&shared), target.clone());
            let work = move || client::work(&shared, target, client.into());
            let started = std::thread::Builder::new().spawn(work)?;
            running.clients.push(started);
        }
        Ok(running)
    }
}

/// Clients at work; they end with the value.
pub struct Running {
    shared: Arc<Shared>,
    clients: Vec<JoinHandle<()>>,
}

impl Running {
    /// When they were started.
    #[must_use]
    pub fn began(&self) -> Instant {
        self.shared.began
    }

    /// Commits that were acknowledged so far.
    #[must_use]
    pub fn acknowledged(&self) -> usize {
        self.shared.told().acknowledged.len()
    }

    /// When the first commit after a moment was acknowledged, if one was.
    #[must_use]
    pub fn first_after(&self, moment: Instant) -> Option<Instant> {
        let told = self.shared.told();
        let mut later = told.acknowledged.iter().map(|one| one.at);
        later.find(|at| *at > moment)
    }

    /// What clients were told so far.
    #[must_use]
    pub fn so_far(&self) -> Ledger {
        self.ledger()
    }

    /// Ends the clients, each after its answer, and gives what they were told.
    #[must_use]
    pub fn stop(mut self) -> Ledger {
        self.end();
        self.ledger()
    }

    fn end(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        for client in self.clients.drain(..) {
            // A client that panicked has said so; what the others were told still counts.
            let _ended = client.join();
        }
    }

    fn ledger(&self) -> Ledger {
        let told = self.shared.told();
        Ledger {
            load: self.shared.load.clone(),
            began: self.shared.began,
            ended: Instant::now(),
            told: told.clone(),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}
