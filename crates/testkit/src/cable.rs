//! A way between a client and a server that can be cut, and mended again.

use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Passes bytes on, until it is cut.
#[derive(Debug)]
pub struct Cable {
    /// Where clients connect.
    pub address: SocketAddr,
    shared: Arc<Mutex<Shared>>,
}

#[derive(Debug)]
struct Shared {
    is_cut: bool,
    connections: Vec<TcpStream>,
}

impl Cable {
    /// A way to a server.
    ///
    /// # Panics
    /// When there is no port to listen on.
    #[must_use]
    pub fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port on loopback");
        let address = listener.local_addr().expect("it listens");
        let shared = Arc::new(Mutex::new(Shared {
            is_cut: false,
            connections: Vec::new(),
        }));
        let of_thread = Arc::clone(&shared);
        thread::spawn(move || {
            for client in listener.incoming() {
                let Ok(client) = client else { return };
                // Either side may be gone at any time: that is what is tested.
                let _ended = join(&client, server, &of_thread);
            }
        });
        Self { address, shared }
    }

    /// Ends every connection, and from now on each new one at once.
    pub fn cut(&self) {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        shared.is_cut = true;
        for connection in shared.connections.drain(..) {
            let _gone = connection.shutdown(Shutdown::Both);
        }
    }

    /// Passes new connections on again.
    pub fn mend(&self) {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner).is_cut = false;
    }
}

fn join(client: &TcpStream, server: SocketAddr, shared: &Mutex<Shared>) -> io::Result<()> {
    let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
    if shared.is_cut {
        return client.shutdown(Shutdown::Both);
    }
    let server = TcpStream::connect(server)?;
    for side in [client, &server] {
        side.set_nodelay(true)?;
        shared.connections.push(side.try_clone()?);
    }
    for (mut from, mut to) in [
        (client.try_clone()?, server.try_clone()?),
        (server.try_clone()?, client.try_clone()?),
    ] {
        thread::spawn(move || {
            let _ended = io::copy(&mut from, &mut to);
            let _gone = to.shutdown(Shutdown::Both);
        });
    }
    Ok(())
}
