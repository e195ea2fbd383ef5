//! What carries the bytes of a connection.
//!
//! A plain socket pays for TLS and compression with one comparison: the kinds are an enumeration, and what they keep is behind
//! a pointer.

mod compressed;

use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use rustls::{ClientConfig, ServerConfig, ServerConnection};
use shardwright_wire::Privacy;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::{TlsAcceptor, TlsConnector, TlsStream};

use self::compressed::CompressedSocket;
use crate::event_loop::Stream;
use crate::tls::server_name;

/// A stream of any kind.
pub(crate) enum Socket {
    Tcp(Stream),
    Unix(Stream),
    Tls(Box<TlsSocket>),
    Compressed(Box<CompressedSocket>),
    /// What a connection is after TLS could not be begun.
    Closed,
}

/// A TCP connection inside TLS. Its end is announced: who sees none cannot tell a cut from an end.
pub(crate) struct TlsSocket(TlsStream<Stream>);

impl TlsSocket {
    fn keeps_nothing(&self) -> bool {
        let (stream, connection) = self.0.get_ref();
        !connection.wants_write() && stream.keeps_nothing()
    }
}

impl Drop for TlsSocket {
    fn drop(&mut self) {
        // One write that does not wait. A peer that takes nothing any more goes without.
        let _unannounced = Pin::new(&mut self.0).poll_shutdown(&mut Context::from_waker(Waker::noop()));
    }
}

impl Socket {
    pub(crate) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self {
            Socket::Tcp(stream) | Socket::Unix(stream) => Pin::new(stream).poll_read(cx, buffer),
            Socket::Tls(stream) => Pin::new(&mut stream.0).poll_read(cx, buffer),
            Socket::Compressed(stream) => stream.poll_read(cx, buffer),
            Socket::Closed => Poll::Ready(Ok(())),
        }
    }

    /// Ready when something may have come. The task is woken when that changes, as by [`Socket::poll_read`], which costs more where
    /// nothing has come.
    #[inline]
    pub(crate) fn poll_heard(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match self {
            Socket::Tcp(stream) | Socket::Unix(stream) => stream.poll_heard(cx),
            Socket::Tls(_) | Socket::Compressed(_) | Socket::Closed => Poll::Ready(()),
        }
    }

    /// Whether packets come in compressed frames.
    #[inline]
    pub(crate) fn is_compressed(&self) -> bool {
        matches!(self, Socket::Compressed(_))
    }

    /// Room that must be allowed before more is read; nothing is read until then.
    #[inline]
    pub(crate) fn wanted_room(&self) -> Option<usize> {
        match self {
            Socket::Compressed(stream) => stream.wanted_room(),
            Socket::Tcp(_) | Socket::Unix(_) | Socket::Tls(_) | Socket::Closed => None,
        }
    }

    pub(crate) fn allow(&mut self, room: usize) {
        if let Socket::Compressed(stream) = self {
            stream.allow(room);
        }
    }

    #[inline]
    pub(crate) fn is_inside_frame(&self) -> bool {
        matches!(self, Socket::Compressed(stream) if stream.is_inside_frame())
    }

    /// Bytes of memory for what is compressed, without frames that room was asked for.
    #[inline]
    pub(crate) fn footprint(&self) -> usize {
        match self {
            Socket::Compressed(stream) => stream.footprint(),
            Socket::Tcp(_) | Socket::Unix(_) | Socket::Tls(_) | Socket::Closed => 0,
        }
    }

    /// Whether all that was written has gone, or goes at the end of the turn.
    #[inline]
    pub(crate) fn keeps_nothing(&self) -> bool {
        match self {
            Socket::Tcp(stream) | Socket::Unix(stream) => stream.keeps_nothing(),
            Socket::Tls(stream) => stream.keeps_nothing(),
            Socket::Compressed(_) => false,
            Socket::Closed => true,
        }
    }

    /// Writes. What was taken need not be sent yet: see [`Socket::poll_flush`].
    #[inline]
    pub(crate) fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self {
            Socket::Tcp(stream) | Socket::Unix(stream) => Pin::new(stream).poll_write(cx, bytes),
            Socket::Tls(stream) => Pin::new(&mut stream.0).poll_write(cx, bytes),
            Socket::Compressed(stream) => stream.poll_write(cx, bytes),
            Socket::Closed => Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
        }
    }

    /// Sends what TLS or compression has taken, and what waits for the end of the turn.
    pub(crate) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Socket::Closed => Poll::Ready(Ok(())),
            Socket::Tcp(stream) | Socket::Unix(stream) => Pin::new(stream).poll_flush(cx),
            Socket::Tls(stream) => Pin::new(&mut stream.0).poll_flush(cx),
            Socket::Compressed(stream) => stream.poll_flush(cx),
        }
    }

    /// Whether nothing has come, as far as is known, and the connection is open. It asks for no waking: a socket that has said
    /// nothing costs one look at a flag.
    pub(crate) fn is_silent(&mut self, scratch: &mut [u8]) -> bool {
        let has_nothing =
            |read: io::Result<usize>| read.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock);
        match self {
            Socket::Tcp(stream) | Socket::Unix(stream) => has_nothing(stream.try_read(scratch)),
            Socket::Tls(_) | Socket::Compressed(_) | Socket::Closed => {
                let mut buffer = ReadBuf::new(scratch);
                let mut nobody = Context::from_waker(Waker::noop());
                self.poll_read(&mut nobody, &mut buffer).is_pending()
            }
        }
    }

    /// The address of the other end of a plain TCP connection.
    pub(crate) fn peer_ip(&self) -> Option<IpAddr> {
        match self {
            Socket::Tcp(stream) => stream.peer_addr().ok().map(|peer| peer.ip()),
            Socket::Unix(_) | Socket::Tls(_) | Socket::Compressed(_) | Socket::Closed => None,
        }
    }

    pub(crate) fn privacy(&self) -> Privacy {
        match self {
            Socket::Unix(_) => Privacy::Local,
            Socket::Tls(_) => Privacy::Tls,
            Socket::Compressed(stream) => stream.inner().privacy(),
            Socket::Tcp(_) | Socket::Closed => Privacy::Plain,
        }
    }

    /// Whether the other end has shown a certificate, which was checked.
    pub(crate) fn has_peer_certificate(&self) -> bool {
        match self {
            Socket::Tls(stream) => stream.0.get_ref().1.peer_certificates().is_some(),
            Socket::Compressed(stream) => stream.inner().has_peer_certificate(),
            Socket::Tcp(_) | Socket::Unix(_) | Socket::Closed => false,
        }
    }

    /// Begins compression. `received` are bytes of the peer's that were read already; they are frames.
    pub(crate) fn compress(&mut self, received: &[u8]) {
        let inner = std::mem::replace(self, Socket::Closed);
        *self = Socket::Compressed(Box::new(CompressedSocket::new(inner, received)));
    }

    /// Begins TLS as the server. `received` are bytes of the client's that were read already: they are the beginning of
    /// its handshake and nothing else, so nothing that was sent in the clear is taken for something sent inside.
    pub(crate) async fn accept_tls(&mut self, config: Arc<ServerConfig>, received: &[u8]) -> io::Result<()> {
        let Socket::Tcp(stream) = std::mem::replace(self, Socket::Closed) else {
            return Err(io::ErrorKind::Unsupported.into());
        };
        let mut begun = Ok(());
        let accept =
            TlsAcceptor::from(config).accept_with(stream, |connection| begun = feed(connection, received));
        // A handshake that has failed already fails again here, after its alert is sent.
        let stream = accept.await?;
        begun?;
        *self = Socket::Tls(Box::new(TlsSocket(TlsStream::Server(stream))));
        Ok(())
    }

    /// Begins TLS as the client of a server of this name.
    pub(crate) async fn connect_tls(&mut self, config: Arc<ClientConfig>, host: &str) -> io::Result<()> {
        let name = server_name(host)?;
        let Socket::Tcp(stream) = std::mem::replace(self, Socket::Closed) else {
            return Err(io::ErrorKind::Unsupported.into());
        };
        let stream = TlsConnector::from(config).connect(name, stream).await?;
        *self = Socket::Tls(Box::new(TlsSocket(TlsStream::Client(stream))));
        Ok(())
    }
}

fn feed(connection: &mut ServerConnection, mut received: &[u8]) -> io::Result<()> {
    while !received.is_empty() {
        if connection.read_tls(&mut received)? == 0 {
            return Err(io::ErrorKind::InvalidData.into());
        }
        connection
            .process_new_packets()
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    }
    Ok(())
}
