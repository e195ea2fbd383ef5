//! The places that clients connect to: one set that an apply changes as a whole.
//!
//! The idea: everything that can fail happens before anything is durable. [`Listeners::prepare`] binds the places that a
//! configuration adds, and tells the workers, who wait. Then the configuration is made durable and served.
//! [`Listeners::publish`] opens the new places and closes those that are gone; sessions that came in through them go on. A
//! preparation that is dropped closes what it has bound, and nothing has changed.
//!
//! Invariant: a place is open only while the configuration that is served has it, and never without that configuration's
//! rules.
//!
//! Example: `rw` on 6033 becomes `rw` on 6033 and `ro` on 6034. Prepare binds 6034; if somebody else has that port, the apply
//! is refused and 6033 never notices. Publish opens 6034.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, mpsc};
use std::{io, mem};

use arc_swap::ArcSwap;
use ipnet::IpNet;
use shardwright_rules::{Configuration, Listener};
use tokio::sync::watch;

use crate::bound::{Place, SocketFile};
use crate::listen_address::ListenAddress;
use crate::options::Listen;
use crate::validate::Problem;

/// How far a listener is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Bound; nobody is accepted.
    Waiting,
    Open,
    Closed,
}

/// A listener that was bound, where workers accept.
pub(crate) struct Acceptor {
    /// Closed when the last worker accepts no more.
    pub(crate) ended: mpsc::Receiver<Infallible>,
    pub(crate) state: watch::Sender<State>,
    /// The same socket once more, for as long as the listener is there.
    pub(crate) socket: OwnedFd,
    /// What its sessions are told.
    pub(crate) address: Arc<ArcSwap<ListenAddress>>,
    /// The address with the port that the system chose; `None` for a unix socket.
    pub(crate) tcp: Option<SocketAddr>,
    pub(crate) file: Option<SocketFile>,
}

/// Binds places and accepts there.
pub(crate) trait Accept: Send + Sync {
    /// Binds a place and has workers wait for [`State::Open`]. `leaving` has the same port and is about to be
    /// closed.
    fn bind(&self, wanted: &Wanted, leaving: Option<&OwnedFd>) -> io::Result<Acceptor>;
}

/// A listener as a configuration or an option wants it.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    /// What a problem is reported about.
    pub(crate) address: String,
    pub(crate) place: Place,
    /// What rules compare, but for a port that the system chooses.
    pub(crate) listener: ListenAddress,
}

struct Open {
    wanted: Wanted,
    acceptor: Option<Acceptor>,
}

/// The open listeners.
pub(crate) struct Listeners {
    listen: Listen,
    accept: OnceLock<Box<dyn Accept>>,
    open: Mutex<Vec<Open>>,
}

/// What a configuration changes; nothing, when dropped.
pub(crate) struct Prepared {
    wanted: Vec<Wanted>,
    opened: Vec<Open>,
}

impl Listeners {
    pub(crate) fn new(listen: Listen) -> Self {
        Self {
            listen,
            accept: OnceLock::new(),
            open: Mutex::default(),
        }
    }

    /// Says who accepts. Until then nothing is bound.
    pub(crate) fn accept_with(&self, accept: Box<dyn Accept>) -> io::Result<()> {
        let set = self.accept.set(accept);
        set.map_err(|_| io::Error::other("listeners were started twice"))
    }

    /// Binds what the configuration adds.
    ///
    /// # Errors
    /// What cannot be bound; nothing is bound then.
    pub(crate) fn prepare(&self, configuration: &Configuration) -> Result<Prepared, Vec<Problem>> {
        let wanted = self.wanted(configuration)?;
        let open = self.open();
        let mut problems = Vec::new();
        let mut opened = Vec::new();
        let is_open = |wanted: &&Wanted| !open.iter().any(|open| open.wanted.place == wanted.place);
        for wanted in wanted.iter().filter(is_open) {
            let leaving = leaving(&open, &wanted.place);
            let bound = match self.accept.get() {
                Some(accept) => accept.bind(wanted, leaving),
                None => Err(io::Error::other("the proxy is not started")),
            };
            match bound {
                Ok(acceptor) => opened.push(Open {
                    wanted: wanted.clone(),
                    acceptor: Some(acceptor),
                }),
                Err(error) => problems.push(Problem::new(
                    &wanted.address,
                    format!("cannot listen on {}: {error}", wanted.place),
                )),
            }
        }
        match problems.is_empty() {
            true => Ok(Prepared { wanted, opened }),
            false => Err(problems),
        }
    }

    /// Opens what was prepared, and closes what is not wanted any more.
    pub(crate) fn publish(&self, prepared: Prepared) {
        let Prepared { wanted, mut opened } = prepared;
        let mut open = self.open();
        for new in &mut opened {
            new.open();
        }
        let (mut kept, gone): (Vec<Open>, Vec<Open>) = mem::take(&mut *open)
            .into_iter()
            .partition(|open| wanted.iter().any(|wanted| wanted.place == open.wanted.place));
        for kept in &mut kept {
            if let Some(wanted) = wanted.iter().find(|wanted| wanted.place == kept.wanted.place) {
                kept.follow(wanted);
            }
        }
        kept.append(&mut opened);
        kept.sort_by(|a, b| a.wanted.address.cmp(&b.wanted.address));
        *open = kept;
        drop(open);
        for gone in gone {
            tracing::info!(place = %gone.wanted.place, "closes a listener; its sessions go on");
        }
    }

    /// Closes all of them for good.
    pub(crate) fn close(&self) {
        let open = mem::take(&mut *self.open());
        drop(open);
    }

    /// Where clients connect: addresses and paths.
    pub(crate) fn places(&self) -> Vec<String> {
        let open = self.open();
        let place = |open: &Open| match open.tcp() {
            Some(address) => address.to_string(),
            None => open.wanted.place.to_string(),
        };
        open.iter().map(place).collect()
    }

    /// The first address that is no unix socket; where there are only sockets, the one that would be opened otherwise.
    pub(crate) fn first_tcp(&self) -> SocketAddr {
        let (Listen::Only(otherwise) | Listen::Configured { otherwise }) = self.listen;
        self.open().iter().find_map(Open::tcp).unwrap_or(otherwise)
    }

    /// What sessions of the first listener are told.
    pub(crate) fn first(&self) -> Option<Arc<ListenAddress>> {
        let open = self.open();
        let acceptor = open.first()?.acceptor.as_ref()?;
        Some(acceptor.address.load_full())
    }

    fn wanted(&self, configuration: &Configuration) -> Result<Vec<Wanted>, Vec<Problem>> {
        let mut problems = Vec::new();
        let mut configured = Vec::new();
        for listener in &configuration.listeners {
            match wanted(listener) {
                Ok(wanted) => configured.push(wanted),
                Err(reason) => problems.push(Problem::new(listener.address.as_str(), reason)),
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        match self.listen {
            Listen::Configured { .. } if !configured.is_empty() => Ok(configured),
            Listen::Only(address) | Listen::Configured { otherwise: address } => {
                // One listener of several that share the configuration: it is the one with this port.
                let has_port =
                    |wanted: &&Wanted| address.port() != 0 && wanted.listener.port == address.port();
                let same = configured.iter().find(has_port);
                Ok(vec![Wanted {
                    address: "--listen".to_owned(),
                    place: Place::Tcp(address),
                    listener: ListenAddress {
                        host: address.ip().to_string(),
                        port: address.port(),
                        trusted: same.map(|same| same.listener.trusted.clone()).unwrap_or_default(),
                    },
                }])
            }
        }
    }

    fn open(&self) -> MutexGuard<'_, Vec<Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A listener with the same port on another address, or with the same path, which goes when this place is opened.
fn leaving<'a>(open: &'a [Open], place: &Place) -> Option<&'a OwnedFd> {
    let is_in_the_way = |open: &&Open| match (&open.wanted.place, place) {
        (Place::Tcp(open), Place::Tcp(wanted)) => wanted.port() != 0 && open.port() == wanted.port(),
        (Place::Socket { path: open, .. }, Place::Socket { path: wanted, .. }) => open == wanted,
        _ => false,
    };
    let open = open.iter().find(is_in_the_way)?;
    Some(&open.acceptor.as_ref()?.socket)
}

fn wanted(listener: &Listener) -> Result<Wanted, String> {
    let place = match listener.is_socket() {
        true => Place::Socket {
            path: PathBuf::from(&listener.bind),
            mode: match &listener.mode {
                None => None,
                Some(mode) => Some(
                    u32::from_str_radix(mode, 8)
                        .ok()
                        .filter(|mode| *mode <= 0o777)
                        .ok_or_else(|| format!("{mode} is no mode of a file"))?,
                ),
            },
        },
        false if listener.port == 0 => return Err(format!("{} has no port and is no path", listener.bind)),
        false => {
            let ip: IpAddr = listener
                .bind
                .parse()
                .map_err(|_| format!("{} is no IP address", listener.bind))?;
            Place::Tcp(SocketAddr::new(ip, listener.port))
        }
    };
    let network = |text: &String| text.parse().map_err(|_| format!("{text} is no network"));
    let trusted: Result<Vec<IpNet>, String> = listener.proxy_protocol.iter().map(network).collect();
    Ok(Wanted {
        address: listener.address.to_string(),
        place,
        listener: ListenAddress {
            host: listener.bind.clone(),
            port: listener.port,
            trusted: trusted?,
        },
    })
}

impl Open {
    fn tcp(&self) -> Option<SocketAddr> {
        self.acceptor.as_ref()?.tcp
    }

    fn open(&mut self) {
        let Some(acceptor) = &mut self.acceptor else {
            return;
        };
        if let Some(Err(error)) = acceptor.file.as_mut().map(SocketFile::publish) {
            tracing::error!(place = %self.wanted.place, %error, "the file of a socket could not be renamed");
        }
        acceptor.state.send_replace(State::Open);
        tracing::info!(place = %self.wanted.place, listener = self.wanted.address, "listens");
    }

    /// Takes over what a configuration says of a listener that stays where it is.
    fn follow(&mut self, wanted: &Wanted) {
        let Some(acceptor) = &self.acceptor else {
            return;
        };
        let port = acceptor.tcp.map_or(0, |address| address.port());
        acceptor.address.store(Arc::new(ListenAddress {
            port,
            ..wanted.listener.clone()
        }));
        self.wanted = wanted.clone();
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let Some(Acceptor {
            ended, state, file, ..
        }) = self.acceptor.take()
        else {
            return;
        };
        // Nobody finds the name any more before nobody is accepted.
        drop(file);
        state.send_replace(State::Closed);
        let Err(mpsc::RecvError) = ended.recv();
    }
}
