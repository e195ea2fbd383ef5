//! Accepting clients on an address, and handing them to the workers.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use shardwright_wire::{MysqlError, errors, write_packet};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::listen_address::ListenAddress;
use crate::shared::Shared;
use crate::worker_handle::NewSession;

/// Pause after a failed accept: most likely there are no descriptors left.
pub(crate) const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// Starts the thread that accepts the clients of a listener until `stopped` changes.
pub(crate) fn start(
    shared: Arc<Shared>,
    address: Arc<ListenAddress>,
    listener: std::net::TcpListener,
    stopped: watch::Receiver<bool>,
) -> io::Result<JoinHandle<()>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let listener = {
        let _context = runtime.enter();
        TcpListener::from_std(listener)?
    };
    let thread = std::thread::Builder::new()
        .name("acceptor".to_owned())
        .spawn(move || runtime.block_on(accept(&shared, &address, &listener, stopped)))?;
    Ok(thread)
}

async fn accept(
    shared: &Shared,
    address: &Arc<ListenAddress>,
    listener: &TcpListener,
    mut stopped: watch::Receiver<bool>,
) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stopped.changed() => return,
        };
        match accepted {
            Ok((stream, peer)) => admit(shared, address, stream, peer),
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Hands a connection to the worker with the fewest sessions, or says that there are too many.
fn admit(shared: &Shared, address: &Arc<ListenAddress>, stream: TcpStream, peer: SocketAddr) {
    let permits = shared.session_permit().zip(shared.login_permit());
    let Some((session_permit, login_permit)) = permits else {
        return refuse(&stream, &errors::CON_COUNT_ERROR.with("Too many connections"));
    };
    let prepared = stream.set_nodelay(true).and_then(|()| stream.into_std());
    let stream = match prepared {
        Ok(stream) => stream,
        Err(error) => {
            tracing::debug!(%peer, %error, "a connection was gone before it began");
            return;
        }
    };
    let least_loaded = shared.workers().iter().min_by_key(|worker| worker.load());
    if let Some(worker) = least_loaded {
        worker.take_on(NewSession {
            stream,
            peer,
            listener: address.clone(),
            session_permit,
            login_permit,
        });
    }
}

/// Says why and closes; one short write into an empty socket does not block, and who does not take it goes without.
fn refuse(stream: &TcpStream, error: &MysqlError) {
    let mut payload = Vec::new();
    error.encode_before_greeting(&mut payload);
    let mut packet = Vec::new();
    write_packet(&mut packet, &mut 0, &payload);
    if let Err(error) = stream.try_write(&packet) {
        tracing::debug!(%error, "a client was not told that there are too many");
    }
}
