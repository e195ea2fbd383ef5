//! A place that clients connect to, bound and not yet open: nobody is accepted until it is published.
//!
//! The file of a unix socket gets its name when it is published, by one `rename`, so whoever finds the name finds a socket
//! that is listened on, with its permissions. Until then it has a name of 12 bytes in the same directory.

use std::fs::{self, Permissions};
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use nix::sys::socket::{setsockopt, sockopt};
use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with, acceptfrom_with};
use socket2::{Domain, Socket, Type};

use crate::listen_address::Peer;

/// Connections that the system keeps until they are accepted.
const BACKLOG: i32 = 4096;
/// Everybody may connect, as to a server's socket: the password decides.
const DEFAULT_MODE: u32 = 0o777;

/// Where to listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Tcp(SocketAddr),
    Socket { path: PathBuf, mode: Option<u32> },
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Socket { path, .. } => path.display().fmt(f),
        }
    }
}

/// What is listened on. It does not block.
pub(crate) enum Listening {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl AsFd for Listening {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(listener) => listener.as_fd(),
            Self::Unix(listener) => listener.as_fd(),
        }
    }
}

/// A client's connection on its way to a worker.
pub(crate) enum ClientStream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Listening {
    /// The client that has waited longest; its stream does not block, and neither does this.
    pub(crate) fn accept(&self) -> io::Result<(ClientStream, Peer)> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        match self {
            Self::Tcp(listener) => {
                let (stream, peer) = acceptfrom_with(listener, flags)?;
                let peer = peer.ok_or(Errno::AFNOSUPPORT)?.try_into()?;
                Ok((ClientStream::Tcp(stream.into()), Peer::Ip(peer)))
            }
            Self::Unix(listener) => {
                let stream = accept_with(listener, flags)?;
                Ok((ClientStream::Unix(stream.into()), Peer::Local))
            }
        }
    }
}

/// A place that is bound.
pub(crate) struct Bound {
    pub(crate) listening: Listening,
    /// The port that the system chose, where none was asked for.
    pub(crate) address: Option<SocketAddr>,
    pub(crate) file: Option<SocketFile>,
}

impl Bound {
    /// Binds a place. `leaving` is a listener of this proxy with the same port or path,
    /// which is about to be closed: for the time of the call, both may have the port.
    pub(crate) fn new(place: &Place, leaving: Option<&OwnedFd>) -> io::Result<Self> {
        match place {
            Place::Tcp(address) => {
                let listener = match leaving {
                    None => listen(*address, false)?,
                    Some(leaving) => share(*address, leaving)?,
                };
                Ok(Self {
                    address: Some(listener.local_addr()?),
                    listening: Listening::Tcp(listener),
                    file: None,
                })
            }
            Place::Socket { path, mode } => {
                if leaving.is_none() {
                    check_free(path)?;
                }
                let (listener, file) = SocketFile::bind(path, mode.unwrap_or(DEFAULT_MODE))?;
                Ok(Self {
                    listening: Listening::Unix(listener),
                    address: None,
                    file: Some(file),
                })
            }
        }
    }

    /// The same socket once more.
    pub(crate) fn duplicate(&self) -> io::Result<OwnedFd> {
        self.listening.as_fd().try_clone_to_owned()
    }
}

fn listen(address: SocketAddr, may_share: bool) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM.nonblocking(), None)?;
    socket.set_reuse_address(true)?;
    if may_share {
        socket.set_reuse_port(true)?;
    }
    // The connections that it accepts have this too.
    socket.set_tcp_nodelay(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// Binds a port that another listener of this process has on another address. Clients are accepted all the time.
fn share(address: SocketAddr, leaving: &OwnedFd) -> io::Result<TcpListener> {
    setsockopt(leaving, sockopt::ReusePort, &true)?;
    let listener = listen(address, true);
    setsockopt(leaving, sockopt::ReusePort, &false)?;
    let listener = listener?;
    setsockopt(&listener, sockopt::ReusePort, &false)?;
    Ok(listener)
}

/// The file of a unix socket; removed when dropped, unless it has become somebody else's.
pub(crate) struct SocketFile {
    /// Where the file is.
    at: PathBuf,
    /// Where it shall be.
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl SocketFile {
    fn bind(path: &Path, mode: u32) -> io::Result<(UnixListener, Self)> {
        let mut random = [0; 4];
        getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
        let name = format!(".sw-{:08x}", u32::from_le_bytes(random));
        let at = path.with_file_name(name);
        let listener = UnixListener::bind(&at)?;
        listener.set_nonblocking(true)?;
        let metadata = fs::symlink_metadata(&at)?;
        let file = Self {
            path: path.to_owned(),
            device: metadata.dev(),
            inode: metadata.ino(),
            at,
        };
        fs::set_permissions(&file.at, Permissions::from_mode(mode))?;
        Ok((listener, file))
    }

    /// Gives the file its name.
    pub(crate) fn publish(&mut self) -> io::Result<()> {
        fs::rename(&self.at, &self.path)?;
        self.at.clone_from(&self.path);
        Ok(())
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let is_own = fs::symlink_metadata(&self.at)
            .is_ok_and(|file| (file.dev(), file.ino()) == (self.device, self.inode));
        if is_own && let Err(error) = fs::remove_file(&self.at) {
            tracing::warn!(path = %self.at.display(), %error, "the file of a socket could not be removed");
        }
    }
}

/// Refuses a path that somebody uses. A socket that nobody listens on was left by a process that was killed.
fn check_free(path: &Path) -> io::Result<()> {
    let in_use = |what: &str| Err(io::Error::new(io::ErrorKind::AddrInUse, what.to_owned()));
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(file) if !file.file_type().is_socket() => {
            in_use("the path has a file that is no socket: remove it, or choose another path")
        }
        Ok(_) => match UnixStream::connect(path) {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(()),
            Err(error) => Err(error),
            Ok(_) => in_use("another process listens on this socket"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepted_connections_send_small_packets_at_once() {
        let bound = Bound::new(&Place::Tcp(SocketAddr::from(([127, 0, 0, 1], 0))), None).unwrap();
        let _client = TcpStream::connect(bound.address.unwrap()).unwrap();
        let Listening::Tcp(listener) = &bound.listening else {
            panic!("a TCP listener");
        };
        // It does not block, and the connection is there: connecting has returned.
        let (accepted, _) = listener.accept().unwrap();
        assert!(accepted.nodelay().unwrap());
    }
}
