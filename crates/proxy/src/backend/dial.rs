//! Reaching a server: where its host leads, and a connection there.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::Path;

use crate::clock::Clock;
use crate::event_loop::Stream;
use crate::members::MemberRuntime;
use crate::socket::Socket;

/// A connection to a server, before its greeting; to `at`, or to where its host leads.
pub(crate) async fn dial(member: &MemberRuntime, at: Option<IpAddr>, clock: &Clock) -> io::Result<Socket> {
    if member.port == 0 {
        let socket = Path::new(&member.host);
        return Ok(Socket::Unix(Stream::connect_unix(socket).await?));
    }
    let mut failure = io::ErrorKind::NotFound.into();
    for address in addresses(member, at, clock).await? {
        match Stream::connect(address).await {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                return Ok(Socket::Tcp(stream));
            }
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

/// Where a member's host leads, unless that is said. A name is looked up on a thread that may wait.
async fn addresses(member: &MemberRuntime, at: Option<IpAddr>, clock: &Clock) -> io::Result<Vec<SocketAddr>> {
    let port = member.port;
    if let Some(address) = at.or_else(|| member.host.parse().ok()) {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    let host = member.host.clone();
    let looked_up = clock.aside(move || (host.as_str(), port).to_socket_addrs().map(Vec::from_iter));
    looked_up.await.map_err(io::Error::other)?
}
