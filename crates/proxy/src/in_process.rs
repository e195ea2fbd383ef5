//! A worker on the caller's thread, for tests and fuzz targets: its clients are streams that the caller brings, and its time is
//! that of the caller's runtime. Beside it, the decoders that only this crate has.

use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::mpsc;

use crate::admin_accounts::AdminAccounts;
use crate::bound::ClientStream;
use crate::clock::Clock;
use crate::connection_ids::ConnectionIds;
use crate::control::{Control, RestoreError, listed};
use crate::event_loop;
use crate::failpoint::FailPoints;
use crate::half_open::Origin;
use crate::knowledge::Knowledge;
use crate::listen_address::{ListenAddress, Peer};
use crate::members::MemberRegistry;
use crate::options::Options;
use crate::proxy::StartError;
use crate::shared::{Phase, Shared};
use crate::snapshot::{BuildContext, Snapshot};
use crate::store::{Meant, Store};
use crate::sweeps;
use crate::tls::Tls;
use crate::validate::Certificates;
use crate::worker::Worker;
use crate::worker_handle::{NewSession, WorkerHandle};
use crate::worker_thread;

pub use crate::admin::is_admin_statement;
pub use crate::session::proxy_header;

/// What must be back to where it began once every client has left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Client connections.
    pub sessions: usize,
    /// Client connections that have not logged in.
    pub logins: usize,
    /// Server connections that a session has, or that are being opened or reset.
    pub in_use: usize,
    /// Sessions that have ended by a panic.
    pub panics: u64,
}

/// One worker and what it shares with nobody.
pub struct OneWorker {
    shared: Arc<Shared>,
    worker: Rc<Worker>,
    handle: WorkerHandle,
}

impl OneWorker {
    /// Starts it as a task of the caller's `LocalSet`. A serialized configuration is applied first if the data directory has
    /// none.
    ///
    /// # Errors
    /// [`StartError`].
    pub fn start(options: &Options, configuration: &str) -> Result<Self, StartError> {
        let mut store = Store::open(&options.data_dir, Meant::default())?;
        if store.restorable()?.generation.is_none() {
            let first = first_generation(options, configuration)?;
            store.append(&first.generation(), FailPoints::default())?;
        }
        let control = Control::restore(store, options, FailPoints::default())?;
        let tls = Tls::load(options.tls.clone())?;
        let accounts = AdminAccounts::load(options)?;
        let ids = ConnectionIds::draw().map_err(|error| std::io::Error::other(error.to_string()))?;
        let shared = Arc::new(Shared::new(control, tls, accounts, options, ids, Clock::own()));
        let (sender, messages) = mpsc::unbounded_channel();
        let load = Arc::default();
        let handle = WorkerHandle::new(sender, Arc::clone(&load));
        // It was made a moment ago, so it has no workers yet.
        let _first = shared.workers.set(vec![handle.clone()]);
        let worker = Rc::new(Worker::new(shared.clone(), 0, 1));
        event_loop::start()?;
        tokio::task::spawn_local(async { event_loop::hosted().await.expect("a loop that turns") });
        event_loop::spawn(worker_thread::run(worker.clone(), messages, load));
        let swept = shared.clone();
        tokio::task::spawn_local(async move { sweeps::run(&swept).await });
        Ok(Self {
            shared,
            worker,
            handle,
        })
    }

    /// Takes on a client, whose stream does not block. With an address, the client begins with a PROXY header, as that of a
    /// load balancer. `false` at a limit.
    pub fn accept(&self, stream: UnixStream, behind: Option<SocketAddr>) -> bool {
        let peer = behind.map_or(Peer::Local, Peer::Ip);
        let listener = ListenAddress {
            host: "in-process".to_owned(),
            port: 0,
            trusted: peer.ip().map(Into::into).into_iter().collect(),
        };
        let login_permit = self
            .shared
            .half_open
            .begin(Origin::from(peer.ip()), Instant::now());
        let (permit, share) = (self.shared.session_permit(), self.shared.budget.share());
        let (Some(session_permit), Some(share), Some(login_permit)) = (permit, share, login_permit) else {
            return false;
        };
        self.handle.take_on(NewSession {
            stream: ClientStream::Unix(stream),
            peer,
            listener: Arc::new(listener),
            session_permit,
            share,
            login_permit,
        });
        true
    }

    /// What there is now.
    pub fn figures(&self) -> Figures {
        let snapshot = self.worker.snapshot();
        let open: usize = snapshot
            .members_in_order()
            .map(|member| member.connections())
            .sum();
        let idle: usize = self.worker.pool.figures().iter().map(|member| member.idle).sum();
        Figures {
            sessions: self.shared.sessions(),
            logins: self.shared.half_open.count(),
            in_use: open - idle,
            panics: self.worker.counters.totals.session_panics.get(),
        }
    }

    /// Ends the worker at its next turn.
    pub fn stop(&self) {
        self.shared.advance(Phase::Stopping);
    }
}

fn first_generation(options: &Options, configuration: &str) -> Result<Snapshot, RestoreError> {
    let context = BuildContext {
        members: &MemberRegistry::default(),
        knowledge: &Knowledge::default(),
        allow_secret_commands: options.allow_secret_commands,
        certificates: Certificates::of(&options.tls),
        served: None,
    };
    Snapshot::build(1, configuration, &context).map_err(|problems| RestoreError::Invalid {
        generation: 1,
        reason: listed(&problems),
    })
}
