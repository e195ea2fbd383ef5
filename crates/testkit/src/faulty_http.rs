//! A network between a client and a server of HTTP that fails at one question, as [`Faulty`](crate::Faulty) does for MySQL.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::faulty::Fault;

/// What the network does, and what it has seen.
#[derive(Debug)]
pub struct FaultyHttp {
    /// Where clients connect.
    pub address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    server: SocketAddr,
    at: usize,
    fault: Option<Fault>,
    lasts: bool,
    seen: AtomicUsize,
    has_failed: AtomicBool,
    is_mended: AtomicBool,
    questions: Mutex<Vec<String>>,
}

impl FaultyHttp {
    /// Fails once at the question of this number, counted from 0; with `lasts`, at every one from there on.
    ///
    /// # Panics
    /// When there is no port to listen on.
    #[must_use]
    pub fn start(server: SocketAddr, at: usize, fault: Option<Fault>, lasts: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port on loopback");
        let address = listener.local_addr().expect("it listens");
        let shared = Arc::new(Shared {
            server,
            at,
            fault,
            lasts,
            seen: AtomicUsize::new(0),
            has_failed: AtomicBool::new(false),
            is_mended: AtomicBool::new(false),
            questions: Mutex::new(Vec::new()),
        });
        let of_thread = Arc::clone(&shared);
        thread::spawn(move || {
            for client in listener.incoming() {
                let Ok(client) = client else { return };
                let shared = Arc::clone(&of_thread);
                thread::spawn(move || {
                    // Either side may be gone at any time: that is what is tested.
                    let _ended = serve(&client, &shared);
                    let _closed = client.shutdown(Shutdown::Both);
                });
            }
        });
        Self { address, shared }
    }

    /// Whether the question was reached.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.shared.has_failed.load(Ordering::Relaxed)
    }

    /// From now on nothing fails.
    pub fn mend(&self) {
        self.shared.is_mended.store(true, Ordering::Relaxed);
    }

    /// The paths of the questions that have come, in order.
    ///
    /// # Panics
    /// When a connection has panicked.
    #[must_use]
    pub fn questions(&self) -> Vec<String> {
        let questions = self.shared.questions.lock();
        questions.expect("no connection panics").clone()
    }
}

/// One question of a client, and its answer; clients connect again for the next one.
fn serve(client: &TcpStream, shared: &Shared) -> io::Result<()> {
    let (head, body) = question(client)?;
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    shared.questions.lock().expect("no connection panics").push(path);
    let number = shared.seen.fetch_add(1, Ordering::SeqCst);
    let is_here = number == shared.at || (shared.lasts && number > shared.at);
    let fault = shared
        .fault
        .filter(|_| is_here && !shared.is_mended.load(Ordering::Relaxed));
    if fault.is_some() {
        shared.has_failed.store(true, Ordering::Relaxed);
    }
    match fault {
        None => reply(client, &answer(shared.server, &head, &body)?),
        Some(Fault::DiesBefore) => Ok(()),
        Some(Fault::DiesAfter) => answer(shared.server, &head, &body).map(|_| ()),
        Some(Fault::HangsBefore) => until_closed(client),
        Some(Fault::HangsAfter) => {
            answer(shared.server, &head, &body)?;
            until_closed(client)
        }
        Some(Fault::Refuses) => {
            let said = r#"{"error": "refused by the test", "code": 14, "message": "refused by the test"}"#;
            let length = said.len();
            let head = format!("HTTP/1.0 503 Service Unavailable\r\nContent-Length: {length}\r\n\r\n{said}");
            reply(client, head.as_bytes())
        }
    }
}

/// The head of a question without the line that ends it, and its body.
fn question(client: &TcpStream) -> io::Result<(String, Vec<u8>)> {
    let mut reader = BufReader::new(client);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if line == "\r\n" {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().map_err(io::Error::other)?;
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok((head, body))
}

/// Asks by HTTP 1.0, whose answers end with their connection.
fn answer(server: SocketAddr, head: &str, body: &[u8]) -> io::Result<Vec<u8>> {
    let mut server = TcpStream::connect(server)?;
    let head = head.replacen("HTTP/1.1", "HTTP/1.0", 1);
    server.write_all(format!("{head}\r\n").as_bytes())?;
    server.write_all(body)?;
    let mut answer = Vec::new();
    server.read_to_end(&mut answer)?;
    Ok(answer)
}

fn reply(mut client: &TcpStream, answer: &[u8]) -> io::Result<()> {
    client.write_all(answer)
}

fn until_closed(mut client: &TcpStream) -> io::Result<()> {
    while client.read(&mut [0; 64])? > 0 {}
    Ok(())
}
