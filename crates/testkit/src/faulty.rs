//! A network between a client and a server that fails at one question: it dies, hangs or refuses, before or after.

mod http;
mod mysql;

use std::io::{self, Read};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// What happens at a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The connection ends before the question reaches the server.
    DiesBefore,
    /// The server has done it, and the connection ends without its answer.
    DiesAfter,
    /// Neither the question nor anything after it reaches the server.
    HangsBefore,
    /// The server has done it, and its answer never comes.
    HangsAfter,
    /// The client gets an error, and the server never sees the question.
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
    schedule: Arc<Schedule>,
}

/// A question, over all connections.
#[derive(Clone, Copy, Debug)]
enum At {
    /// Counted from 0.
    Number(usize),
    /// The first one that starts so.
    Start(&'static str),
}

/// Which question fails, and how; and the questions until now, counted over all connections.
#[derive(Debug)]
struct Schedule {
    at: At,
    fault: Option<Fault>,
    lasts: bool,
    has_failed: AtomicBool,
    is_mended: AtomicBool,
    asked: Mutex<Vec<String>>,
    rows: AtomicUsize,
}

/// Serves one connection of a client until it ends.
type Serve = fn(&TcpStream, SocketAddr, &Schedule) -> io::Result<()>;

impl Faulty {
    /// In front of a server of MySQL: fails once at the statement of this number, counted from 0; with `lasts`, at every one
    /// from there on.
    ///
    /// # Panics
    /// When there is no port to listen on.
    #[must_use]
    pub fn start(server: SocketAddr, at: usize, fault: Option<Fault>, lasts: bool) -> Self {
        Self::serve(server, At::Number(at), fault, lasts, mysql::serve)
    }

    /// In front of a server of MySQL: fails at the first statement that starts so, and at every one from there on. For clients
    /// that ask something until it is true, and send another number of statements each time.
    ///
    /// # Panics
    /// When there is no port to listen on.
    #[must_use]
    pub fn from_statement(server: SocketAddr, start: &'static str, fault: Fault) -> Self {
        Self::serve(server, At::Start(start), Some(fault), true, mysql::serve)
    }

    /// The same in front of a server of HTTP.
    ///
    /// # Panics
    /// When there is no port to listen on.
    #[must_use]
    pub fn http(server: SocketAddr, at: usize, fault: Option<Fault>, lasts: bool) -> Self {
        Self::serve(server, At::Number(at), fault, lasts, http::serve)
    }

    fn serve(server: SocketAddr, at: At, fault: Option<Fault>, lasts: bool, serve: Serve) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port on loopback");
        let address = listener.local_addr().expect("it listens");
        let schedule = Arc::new(Schedule {
            at,
            fault,
            lasts,
            has_failed: AtomicBool::new(false),
            is_mended: AtomicBool::new(false),
            asked: Mutex::new(Vec::new()),
            rows: AtomicUsize::new(0),
        });
        let of_thread = Arc::clone(&schedule);
        thread::spawn(move || {
            for client in listener.incoming() {
                let Ok(client) = client else { return };
                let schedule = Arc::clone(&of_thread);
                thread::spawn(move || {
                    // Either side may be gone at any time: that is what is tested.
                    let _ended = serve(&client, server, &schedule);
                    let _closed = client.shutdown(Shutdown::Both);
                });
            }
        });
        Self { address, schedule }
    }

    /// Whether the question was reached.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.schedule.has_failed()
    }

    /// From now on nothing fails.
    pub fn mend(&self) {
        self.schedule.is_mended.store(true, Ordering::Relaxed);
    }

    /// The statements that have come, in order; of HTTP, the paths.
    ///
    /// # Panics
    /// When a connection has panicked.
    #[must_use]
    pub fn statements(&self) -> Vec<String> {
        self.schedule.asked.lock().expect("no connection panics").clone()
    }

    /// How many rows a server of MySQL has answered with.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.schedule.rows.load(Ordering::Relaxed)
    }
}

impl Schedule {
    fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }

    /// Counts a question; how it fails, if it does.
    fn meets(&self, question: String) -> Option<Fault> {
        let is_there = {
            let mut asked = self.asked.lock().expect("no connection panics");
            let is_there = match self.at {
                At::Number(number) => asked.len() == number,
                At::Start(start) => question.starts_with(start),
            };
            asked.push(question);
            is_there
        };
        let is_here = is_there || (self.lasts && self.has_failed());
        let is_mended = self.is_mended.load(Ordering::Relaxed);
        let fault = self.fault.filter(|_| is_here && !is_mended);
        if fault.is_some() {
            self.has_failed.store(true, Ordering::Relaxed);
        }
        fault
    }
}

fn until_closed(mut client: &TcpStream) -> io::Result<()> {
    while client.read(&mut [0; 64])? > 0 {}
    Ok(())
}
