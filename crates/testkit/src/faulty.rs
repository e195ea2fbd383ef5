//! A network between a client and a server that fails at one statement: it dies, hangs or refuses, before or after.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// What happens at a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The connection ends before the statement reaches the server.
    DiesBefore,
    /// The server has done it, and the connection ends without its answer.
    DiesAfter,
    /// Neither the statement nor anything after it reaches the server.
    HangsBefore,
    /// The server has done it, and its answer never comes.
    HangsAfter,
    /// The client gets an error, and the server never sees the statement.
    Refuses,
}

impl Fault {
    /// Each of them.
    pub const ALL: [Self; 5] = [
        Self::DiesBefore,
        Self::DiesAfter,
        Self::HangsBefore,
        Self::HangsAfter,
        Self::Refuses,
    ];
}

/// What the network does, and what it has seen.
#[derive(Debug)]
pub struct Faulty {
    /// Where clients connect.
    pub address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// The number of the statement that fails, counted over all connections, and how; once, or from there on.
    at: usize,
    fault: Option<Fault>,
    lasts: bool,
    seen: AtomicUsize,
    has_failed: AtomicBool,
    is_mended: AtomicBool,
    statements: Mutex<Vec<String>>,
    rows: AtomicUsize,
}

impl Faulty {
    /// Fails once at the statement of this number, counted from 0; with `lasts`, at every one from there on.
    ///
    /// # Panics
    /// When there is no port to listen on.
    #[must_use]
    pub fn start(server: SocketAddr, at: usize, fault: Option<Fault>, lasts: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port on loopback");
        let address = listener.local_addr().expect("it listens");
        let shared = Arc::new(Shared {
            at,
            fault,
            lasts,
            seen: AtomicUsize::new(0),
            has_failed: AtomicBool::new(false),
            is_mended: AtomicBool::new(false),
            statements: Mutex::new(Vec::new()),
            rows: AtomicUsize::new(0),
        });
        let of_thread = Arc::clone(&shared);
        thread::spawn(move || {
            for client in listener.incoming() {
                let (Ok(client), Ok(server)) = (client, TcpStream::connect(server)) else {
                    return;
                };
                let shared = Arc::clone(&of_thread);
                thread::spawn(move || serve(&client, &server, &shared));
            }
        });
        Self { address, shared }
    }

    /// Whether the statement was reached.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.shared.has_failed.load(Ordering::Relaxed)
    }

    /// From now on nothing fails.
    pub fn mend(&self) {
        self.shared.is_mended.store(true, Ordering::Relaxed);
    }

    /// The statements that have come, in order.
    ///
    /// # Panics
    /// When a connection has panicked.
    #[must_use]
    pub fn statements(&self) -> Vec<String> {
        let statements = self.shared.statements.lock();
        statements.expect("no connection panics").clone()
    }

    /// How many rows the server has answered with.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.shared.rows.load(Ordering::Relaxed)
    }
}

fn serve(client: &TcpStream, server: &TcpStream, shared: &Shared) {
    // Either side may be gone at any time: that is what is tested.
    let _ended = converse(client, server, shared);
    let _closed = client.shutdown(Shutdown::Both);
    let _closed = server.shutdown(Shutdown::Both);
}

fn converse(mut client: &TcpStream, mut server: &TcpStream, shared: &Shared) -> std::io::Result<()> {
    // Packets are passed on one by one, and would wait for each other's acknowledgements.
    for side in [client, server] {
        side.set_nodelay(true)?;
    }
    // Greeting, login, and its answer.
    forward(server, client)?;
    forward(client, server)?;
    forward(server, client)?;
    loop {
        let question = packet(client)?;
        let is_query = question.get(4) == Some(&3);
        if !is_query {
            server.write_all(&question)?;
            if question.get(4) == Some(&1) {
                return Ok(());
            }
            answer(server, client)?;
            continue;
        }
        let text = String::from_utf8_lossy(&question[5..]).into_owned();
        shared.statements.lock().expect("no connection panics").push(text);
        let number = shared.seen.fetch_add(1, Ordering::SeqCst);
        let is_here = number == shared.at || (shared.lasts && number > shared.at);
        let is_mended = shared.is_mended.load(Ordering::Relaxed);
        let fault = shared.fault.filter(|_| is_here && !is_mended);
        if fault.is_some() {
            shared.has_failed.store(true, Ordering::Relaxed);
        }
        match fault {
            None => {
                server.write_all(&question)?;
                let rows = answer(server, client)?;
                shared.rows.fetch_add(rows, Ordering::Relaxed);
            }
            Some(Fault::DiesBefore) => return Ok(()),
            Some(Fault::DiesAfter) => {
                server.write_all(&question)?;
                return answer(server, &mut std::io::sink()).map(|_| ());
            }
            Some(Fault::HangsBefore) => return until_closed(client),
            Some(Fault::HangsAfter) => {
                server.write_all(&question)?;
                answer(server, &mut std::io::sink())?;
                return until_closed(client);
            }
            Some(Fault::Refuses) => {
                let mut error = vec![0xff, 0x15, 0x04];
                error.extend(b"#28000ProxySQL Admin Error: refused by the test");
                let length = u32::try_from(error.len()).unwrap_or(u32::MAX).to_le_bytes();
                let mut packet = vec![length[0], length[1], length[2], 1];
                packet.extend(error);
                client.write_all(&packet)?;
            }
        }
    }
}

fn until_closed(mut client: &TcpStream) -> std::io::Result<()> {
    while client.read(&mut [0; 64])? > 0 {}
    Ok(())
}

fn packet(mut from: &TcpStream) -> std::io::Result<Vec<u8>> {
    let mut head = [0; 4];
    from.read_exact(&mut head)?;
    let length = usize::from(head[0]) | usize::from(head[1]) << 8 | usize::from(head[2]) << 16;
    let mut whole = head.to_vec();
    whole.resize(4 + length, 0);
    from.read_exact(&mut whole[4..])?;
    Ok(whole)
}

fn forward(from: &TcpStream, mut to: &TcpStream) -> std::io::Result<()> {
    to.write_all(&packet(from)?)
}

/// One answer: OK, an error, or rows between two ends; how many rows.
fn answer(from: &TcpStream, mut to: impl Write) -> std::io::Result<usize> {
    let first = packet(from)?;
    to.write_all(&first)?;
    if matches!(first.get(4), Some(0 | 0xff)) {
        return Ok(0);
    }
    let (mut ends, mut rows) = (0, 0);
    while ends < 2 {
        let next = packet(from)?;
        let kind = next.get(4).copied();
        if kind == Some(0xfe) && next.len() < 13 {
            ends += 1;
        } else if ends == 1 {
            rows += 1;
        }
        let is_error = kind == Some(0xff);
        to.write_all(&next)?;
        if is_error {
            break;
        }
    }
    Ok(rows)
}
