//! Starting a proxy and ending it.

use std::io;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread::JoinHandle;

use nix::sys::resource::{Resource, setrlimit};
use shardwright_mysqlite::Server;

use crate::admin;
use crate::admin_accounts::{AccountsError, AdminAccounts};
use crate::checks::CheckServer;
use crate::clock_thread::{ClockThread, NewClock};
use crate::connection_ids::ConnectionIds;
use crate::control::{Control, RestoreError, WAITING, listed};
use crate::descriptors;
use crate::failpoint::{FailPoints, UnknownFailPoint};
use crate::listener::Acceptors;
use crate::operations::Author;
use crate::options::Options;
use crate::shared::{Phase, Shared};
use crate::store::{Meant, Store, StoreError};
use crate::tls::{Tls, TlsError};
use crate::watch;
use crate::worker_handle::WorkerHandle;
use crate::worker_thread;

/// Admin connections at a time.
const ADMIN_CONNECTIONS: usize = 64;

/// Why a proxy did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// An address cannot be listened on.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why it failed.
        source: io::Error,
    },
    /// Listeners cannot be opened.
    #[error("{0}")]
    Listeners(String),
    /// The admin address can be reached from elsewhere and there is no password.
    #[error(
        "the admin address {0} is not loopback: give a password (--admin-password-file or SHARDWRIGHT_ADMIN_PASSWORD)"
    )]
    AdminNeedsPassword(SocketAddr),
    /// The data directory cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The last generation cannot be served.
    #[error(transparent)]
    Restore(#[from] RestoreError),
    /// Certificates or keys cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The accounts of the admin port cannot be used.
    #[error("admin accounts: {0}")]
    Accounts(#[from] AccountsError),
    /// A thread or runtime cannot be started.
    #[error("cannot start: {0}")]
    Io(#[from] io::Error),
    /// The environment asks for a crash that does not exist.
    #[error(transparent)]
    FailPoint(#[from] UnknownFailPoint),
    /// Core dumps, which would hold secrets, cannot be switched off.
    #[error("cannot switch off core dumps: {0}")]
    CoreDumps(nix::errno::Errno),
}

/// The bundled proxy.
#[derive(Debug)]
pub struct Proxy;

impl Proxy {
    /// Starts a proxy: the last applied generation is served when this returns. As long as nothing was applied, only
    /// administrators and checks are answered.
    ///
    /// # Errors
    /// [`StartError`]; nothing runs then.
    pub fn start(options: Options) -> Result<RunningProxy, StartError> {
        if !options.has_admin_password() && !options.admin.ip().is_loopback() {
            return Err(StartError::AdminNeedsPassword(options.admin));
        }
        setrlimit(Resource::RLIMIT_CORE, 0, 0).map_err(StartError::CoreDumps)?;
        descriptors::raise_limit(options.limits.max_sessions);
        let fail_points = FailPoints::from_environment()?;
        let meant = Meant {
            name: options.name.as_deref(),
            holds_configuration: options.requires_configuration,
        };
        let store = Store::open(&options.data_dir, meant)?;
        let tls = Tls::load(options.tls.clone())?;
        if !options.admin.ip().is_loopback() && tls.loaded().clients.is_none() {
            tracing::warn!(
                address = %options.admin,
                "the admin port has no TLS, so configurations can be read on the way and passwords guessed from logins: give --tls-cert and --tls-key"
            );
        }
        let accounts = AdminAccounts::load(&options)?;
        let control = Control::restore(store, &options, fail_points)?;
        let connection_ids = ConnectionIds::draw().map_err(|error| io::Error::other(error.to_string()))?;
        let clock = NewClock::new()?;
        let shared = Shared::new(control, tls, accounts, &options, connection_ids, clock.clock());
        let shared = Arc::new(shared);
        let clock = clock.start(shared.clone())?;
        let acceptors = Box::new(Acceptors(Arc::downgrade(&shared)));
        shared.control.listeners.accept_with(acceptors)?;
        let mut threads = start_workers(&shared, options.workers)?;
        threads.push(start_watcher(&shared)?);
        let admin_config = admin::config(ADMIN_CONNECTIONS, shared.clone());
        let backend = Arc::new(admin::AdminBackend::new(shared.clone()));
        let admin = Server::bind(options.admin, admin_config, backend).map_err(|source| StartError::Listen {
            address: options.admin,
            source,
        });
        let mut running = RunningProxy {
            admin_address: options.admin,
            shared,
            threads,
            _clock: clock,
            admin: None,
            checks: None,
        };
        // On an error, dropping what runs ends it.
        let admin = admin?;
        running.admin_address = admin.local_addr();
        running.admin = Some(admin);
        if let Some(address) = options.checks {
            let checks = CheckServer::start(running.shared.clone(), address);
            running.checks = Some(checks.map_err(|source| StartError::Listen { address, source })?);
        }
        if running.shared.control.is_waiting() {
            tracing::warn!("{WAITING}; clients are not served");
        }
        let opened = running.shared.control.open_listeners();
        opened.map_err(|problems| StartError::Listeners(listed(&problems)))?;
        Ok(running)
    }
}

fn start_workers(
    shared: &Arc<Shared>,
    count: Option<NonZeroUsize>,
) -> Result<Vec<JoinHandle<()>>, StartError> {
    let count = match count {
        Some(count) => count,
        None => std::thread::available_parallelism()?,
    };
    let (mut handles, mut threads) = (Vec::new(), Vec::new());
    for number in 0..count.get() {
        let (handle, thread) = worker_thread::start(shared.clone(), number)?;
        handles.push(handle);
        threads.push(thread);
    }
    if shared.workers.set(handles).is_err() {
        return Err(io::Error::other("workers were started twice").into());
    }
    Ok(threads)
}

fn start_watcher(shared: &Arc<Shared>) -> Result<JoinHandle<()>, StartError> {
    let (handle, thread) = watch::start(shared.clone())?;
    match shared.watcher.set(handle) {
        Ok(()) => Ok(thread),
        Err(_) => Err(io::Error::other("servers are watched twice").into()),
    }
}

/// A proxy that serves. Dropping it stops it at once.
#[derive(Debug)]
pub struct RunningProxy {
    admin_address: SocketAddr,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    /// Dropped when the other threads have ended.
    _clock: ClockThread,
    admin: Option<Server>,
    checks: Option<CheckServer>,
}

impl RunningProxy {
    /// The first address that clients connect to; where there are only unix sockets, the one that would be there otherwise.
    pub fn listen_address(&self) -> SocketAddr {
        self.shared.control.listeners.first_tcp()
    }

    /// Whether clients can connect: not before a first apply, and not while it drains.
    pub fn is_serving(&self) -> bool {
        !self.listen_places().is_empty()
    }

    /// Where clients connect now: addresses, and paths of unix sockets.
    pub fn listen_places(&self) -> Vec<String> {
        self.shared.control.listeners.places()
    }

    /// Where administrators connect.
    pub fn admin_address(&self) -> SocketAddr {
        self.admin_address
    }

    /// Where jobs ask whether they may write, if anywhere.
    pub fn checks_address(&self) -> Option<SocketAddr> {
        self.checks.as_ref().map(CheckServer::local_addr)
    }

    /// Connections of administrators that are there.
    pub fn admin_connections(&self) -> usize {
        self.admin.as_ref().map_or(0, Server::connections)
    }

    /// Client connections that are there.
    pub fn sessions(&self) -> usize {
        self.shared.sessions()
    }

    /// Reads certificates and secrets again, for connections from now on. Open sessions go on. What cannot be used is
    /// left as it was; each line of the answer says what and why.
    pub fn reload(&self) -> Vec<String> {
        let problems = self.shared.reload();
        let left_undone = (!problems.is_empty()).then(|| listed(&problems));
        self.shared
            .record(Author::Signal, "RELOAD", left_undone.as_deref());
        problems.iter().map(ToString::to_string).collect()
    }

    /// Takes on no more sessions, and ends those that are not in a transaction.
    pub fn begin_drain(&self) {
        self.shared.control.listeners.close();
        self.shared.advance(Phase::Draining);
    }

    /// Cuts off every session and waits for the threads.
    pub fn shutdown(mut self) {
        self.stop();
    }

    fn stop(&mut self) {
        self.shared.control.listeners.close();
        self.shared.advance(Phase::Stopping);
        if let Some(admin) = self.admin.take() {
            admin.shutdown();
        }
        if let Some(checks) = self.checks.take() {
            checks.shutdown();
        }
        self.join();
    }

    fn join(&mut self) {
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a thread of the proxy has panicked");
            }
        }
    }
}

impl Drop for RunningProxy {
    fn drop(&mut self) {
        self.stop();
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared")
            .field("sessions", &self.sessions())
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for WorkerHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WorkerHandle")
            .field("load", &self.load())
            .finish_non_exhaustive()
    }
}
