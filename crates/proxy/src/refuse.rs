//! Answers every connection with a refusal, for engines that must not refuse a statement themselves.
//!
//! A port has one reason. A connection gets it in place of a greeting and is closed. It is never read from, and what is
//! written fits into the empty buffer of a new socket: nothing waits for a client, whatever it does, and at most one
//! connection per port is open at a time.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use shardwright_rules::REFUSED_LOGIN;
use shardwright_wire::{errors, write_packet};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::sync::watch;

use crate::listener::ACCEPT_PAUSE;
use crate::proxy::StartError;

/// The longest message that clients keep: `MYSQL_ERRMSG_SIZE` of the client libraries is 512 with the terminator.
const MAX_MESSAGE: usize = 511;

/// A port and what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusingPort {
    /// Where it listens; port 0 takes a free one.
    pub address: SocketAddr,
    /// What clients are told behind [`REFUSED_LOGIN`].
    pub reason: String,
}

/// Ports that refuse. Dropping it closes them.
pub struct RefusingServer {
    runtime: Handle,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
    ports: Vec<Port>,
    counts: Counts,
}

/// How many connections each reason has answered since the start.
type Counts = Arc<Mutex<BTreeMap<String, Arc<AtomicU64>>>>;

/// One open port.
struct Port {
    address: SocketAddr,
    refusal: watch::Sender<Refusal>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Port {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// What a port does to a connection.
#[derive(Clone)]
struct Refusal {
    reason: String,
    packet: Arc<[u8]>,
    count: Arc<AtomicU64>,
}

impl RefusingServer {
    /// Opens the ports; they answer when this returns.
    ///
    /// # Errors
    /// [`StartError`]; nothing runs then.
    pub fn start(ports: &[RefusingPort]) -> Result<Self, StartError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let handle = runtime.handle().clone();
        let (stop, mut stopped) = watch::channel(false);
        let thread = std::thread::Builder::new()
            .name("refuse".to_owned())
            .spawn(move || {
                // An error means that the server is gone without having said so: the same end.
                let _ = runtime.block_on(stopped.changed());
            })?;
        let mut server = Self {
            runtime: handle,
            stop,
            thread: Some(thread),
            ports: Vec::new(),
            counts: Counts::default(),
        };
        server.replace(ports)?;
        Ok(server)
    }

    /// Opens, changes and closes ports until they are these. A port that stays open misses no connection.
    ///
    /// # Errors
    /// [`StartError::Listen`]; the ports are as they were then.
    pub fn replace(&mut self, ports: &[RefusingPort]) -> Result<(), StartError> {
        let is_open = |port: &&RefusingPort| self.ports.iter().any(|open| open.address == port.address);
        let opened: Vec<Port> = ports
            .iter()
            .filter(|port| !is_open(port))
            .map(|port| self.open(port))
            .collect::<Result<_, _>>()?;
        self.ports.retain(|open| {
            let stays = ports.iter().find(|port| port.address == open.address);
            if let Some(port) = stays {
                open.refusal.send_replace(refusal(&self.counts, &port.reason));
            }
            stays.is_some()
        });
        self.ports.extend(opened);
        Ok(())
    }

    fn open(&self, port: &RefusingPort) -> Result<Port, StartError> {
        let failed = |source| StartError::Listen {
            address: port.address,
            source,
        };
        let listener = std::net::TcpListener::bind(port.address).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let listener = {
            let _context = self.runtime.enter();
            TcpListener::from_std(listener).map_err(failed)?
        };
        let (refusal, told) = watch::channel(refusal(&self.counts, &port.reason));
        let task = self.runtime.spawn(serve(listener, told));
        Ok(Port {
            address,
            refusal,
            task,
        })
    }

    /// Where it listens, in the order of opening.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.ports.iter().map(|port| port.address).collect()
    }

    /// Connections that were refused since the start, by reason.
    pub fn refused(&self) -> BTreeMap<String, u64> {
        counts(&self.counts)
            .iter()
            .map(|(reason, count)| (reason.clone(), count.load(Ordering::Relaxed)))
            .collect()
    }

    /// Closes the ports and waits until they are closed.
    pub fn shutdown(mut self) {
        self.stop();
    }

    fn stop(&mut self) {
        self.stop.send_replace(true);
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread that refuses has panicked");
        }
    }
}

impl Drop for RefusingServer {
    fn drop(&mut self) {
        self.stop();
    }
}

impl std::fmt::Debug for RefusingServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RefusingServer")
            .field("addresses", &self.addresses())
            .finish_non_exhaustive()
    }
}

fn refusal(of_reasons: &Counts, reason: &str) -> Refusal {
    Refusal {
        reason: reason.to_owned(),
        packet: packet(reason).into(),
        count: counts(of_reasons).entry(reason.to_owned()).or_default().clone(),
    }
}

fn counts(counts: &Counts) -> MutexGuard<'_, BTreeMap<String, Arc<AtomicU64>>> {
    // A holder that panicked leaves the map whole.
    counts.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn serve(listener: TcpListener, refusal: watch::Receiver<Refusal>) {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => refuse(&stream, peer, &refusal.borrow()),
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

fn refuse(stream: &TcpStream, peer: SocketAddr, refusal: &Refusal) {
    refusal.count.fetch_add(1, Ordering::Relaxed);
    tracing::debug!(%peer, reason = refusal.reason, "refused");
    match stream.try_write(&refusal.packet) {
        Ok(written) if written == refusal.packet.len() => {}
        Ok(written) => tracing::warn!(%peer, written, "a client was told a part of the reason"),
        Err(error) => tracing::debug!(%peer, %error, "a client was gone before it was refused"),
    }
}

/// The error in place of a greeting. It carries its SQLSTATE, which MySQL's own does not before a greeting: ProxySQL
/// reads it there and passes it on.
fn packet(reason: &str) -> Vec<u8> {
    let message = format!("{REFUSED_LOGIN}{reason}");
    let end = (0..=message.len().min(MAX_MESSAGE))
        .rev()
        .find(|end| message.is_char_boundary(*end))
        .unwrap_or(0);
    let mut payload = Vec::new();
    errors::USER_LIMIT_REACHED
        .with(&message[..end])
        .encode(&mut payload);
    let mut packet = Vec::new();
    write_packet(&mut packet, &mut 0, &payload);
    packet
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_what_clients_take() {
        // Header, 0xFF, code and SQLSTATE stand in front of the message.
        let message = |reason: &str| String::from_utf8(packet(reason)[13..].to_vec());
        assert_eq!(
            message("SW351: no shard key").as_deref(),
            Ok("Access denied for user: SW351: no shard key")
        );
        let long = message(&"é".repeat(400)).unwrap();
        assert!(
            (MAX_MESSAGE - 1..=MAX_MESSAGE).contains(&long.len()),
            "{}",
            long.len()
        );
    }
}
