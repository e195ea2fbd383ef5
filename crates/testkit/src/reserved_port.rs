//! Ports for programs that take a number.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use socket2::{Domain, Socket, Type};

/// A loopback port that nobody else is given while this value lives: neither a listener that leaves the choice to the
/// system, nor a connection. A program that is told the number, and that asks for `SO_REUSEADDR` as servers do, can listen.
#[derive(Debug)]
pub struct ReservedPort {
    number: u16,
    _bound: Socket,
}

impl ReservedPort {
    /// A port that is free.
    ///
    /// # Errors
    /// Fails when no port can be bound at all.
    pub fn new() -> io::Result<Self> {
        let bound = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        bound.set_reuse_address(true)?;
        bound.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into())?;
        let address = bound
            .local_addr()?
            .as_socket()
            .ok_or(io::ErrorKind::AddrNotAvailable)?;
        Ok(Self {
            number: address.port(),
            _bound: bound,
        })
    }

    /// Its number.
    #[must_use]
    pub fn number(&self) -> u16 {
        self.number
    }

    /// 127.0.0.1 with its number.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.number).into()
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn it_is_for_whom_it_was_reserved() {
        let port = ReservedPort::new().unwrap();
        let refused = TcpStream::connect(port.address()).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
        let listener = TcpListener::bind(port.address()).unwrap();
        TcpStream::connect(port.address()).unwrap();
        drop(listener.accept().unwrap());
        drop(listener);
        TcpListener::bind(port.address()).unwrap();
    }

    #[test]
    fn the_system_gives_it_to_nobody_else() {
        let port = ReservedPort::new().unwrap();
        for _ in 0..40_000 {
            let other = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            assert_ne!(other.local_addr().unwrap().port(), port.number());
        }
    }
}
