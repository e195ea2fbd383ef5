//! Starting a proxy and ending it.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread::JoinHandle;

use nix::sys::resource::{Resource, setrlimit};
use shardwright_mysqlite::Server;
use tokio::sync::watch;

use crate::admin;
use crate::control::{Control, RestoreError};
use crate::failpoint::{FailPoints, UnknownFailPoint};
use crate::listen_address::ListenAddress;
use crate::listener;
use crate::options::Options;
use crate::shared::{Phase, Shared};
use crate::store::{Store, StoreError};
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
    /// Starts a proxy: the last applied generation is served when this returns.
    ///
    /// # Errors
    /// [`StartError`]; nothing runs then.
    pub fn start(options: Options) -> Result<RunningProxy, StartError> {
        if options.admin_password.is_none() && !options.admin.ip().is_loopback() {
            return Err(StartError::AdminNeedsPassword(options.admin));
        }
        setrlimit(Resource::RLIMIT_CORE, 0, 0).map_err(StartError::CoreDumps)?;
        let fail_points = FailPoints::from_environment()?;
        let store = Store::open(&options.data_dir)?;
        let control = Control::restore(store, &options, fail_points)?;
        let listener = TcpListener::bind(options.listen).map_err(|source| StartError::Listen {
            address: options.listen,
            source,
        })?;
        listener.set_nonblocking(true)?;
        let listen = listener.local_addr()?;
        let address = Arc::new(ListenAddress {
            host: options.listen.ip().to_string(),
            port: listen.port(),
        });
        let shared = Arc::new(Shared::new(
            control,
            options.limits.clone(),
            options.server_version.clone(),
            address.clone(),
        ));
        let workers = start_workers(&shared, options.workers)?;
        let (stop_accepting, stopped) = watch::channel(false);
        let acceptor = listener::start(shared.clone(), address, listener, stopped)?;
        let admin_config = admin::config(options.admin_password.as_ref(), ADMIN_CONNECTIONS);
        let backend = Arc::new(admin::AdminBackend::new(shared.clone()));
        let admin = Server::bind(options.admin, admin_config, backend).map_err(|source| StartError::Listen {
            address: options.admin,
            source,
        });
        let mut running = RunningProxy {
            listen,
            admin_address: options.admin,
            shared,
            stop_accepting,
            threads: workers,
            admin: None,
        };
        running.threads.push(acceptor);
        // On an error, dropping what runs ends it.
        let admin = admin?;
        running.admin_address = admin.local_addr();
        running.admin = Some(admin);
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

/// A proxy that serves. Dropping it stops it at once.
#[derive(Debug)]
pub struct RunningProxy {
    listen: SocketAddr,
    admin_address: SocketAddr,
    shared: Arc<Shared>,
    stop_accepting: watch::Sender<bool>,
    threads: Vec<JoinHandle<()>>,
    admin: Option<Server>,
}

impl RunningProxy {
    /// Where clients connect.
    pub fn listen_address(&self) -> SocketAddr {
        self.listen
    }

    /// Where administrators connect.
    pub fn admin_address(&self) -> SocketAddr {
        self.admin_address
    }

    /// Client connections that are there.
    pub fn sessions(&self) -> usize {
        self.shared.sessions()
    }

    /// Takes on no more sessions, and ends those that are not in a transaction.
    pub fn begin_drain(&self) {
        self.stop_accepting.send_replace(true);
        self.shared.advance(Phase::Draining);
    }

    /// Cuts off every session and waits for the threads.
    pub fn shutdown(mut self) {
        self.stop();
    }

    fn stop(&mut self) {
        self.stop_accepting.send_replace(true);
        self.shared.advance(Phase::Stopping);
        if let Some(admin) = self.admin.take() {
            admin.shutdown();
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
