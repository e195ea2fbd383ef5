//! The HTTP server: one thread, and a limit on everything that a client can hold.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime;
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use super::answer::{Answer, answer};
use super::question::Question;
use crate::shared::Shared;

/// Connections at a time; for a further one, the oldest is closed. Each question is answered at once, so that one has nothing to lose
/// but the time until it asks again.
const CONNECTIONS: usize = 128;
/// The time in which a client must have sent the head of a request; it ends connections that ask nothing as well.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a connection lasts. Clients that keep theirs connect anew.
const LIFETIME: Duration = Duration::from_secs(60);
/// The largest head of a request, bytes, and the most headers in it.
const LARGEST_HEAD: usize = 8 << 10;
const MOST_HEADERS: usize = 64;
/// The rest before the next attempt when nothing can be accepted.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Answers checks until it is stopped.
#[derive(Debug)]
pub(crate) struct CheckServer {
    address: SocketAddr,
    stopping: Arc<Notify>,
    thread: JoinHandle<()>,
}

impl CheckServer {
    /// Listens, and answers on a thread of its own: what jobs send does not hold up statements or monitors.
    pub(crate) fn start(shared: Arc<Shared>, address: SocketAddr) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        let stopping = Arc::new(Notify::new());
        let stopped = stopping.clone();
        let thread = std::thread::Builder::new()
            .name("checks".to_owned())
            .spawn(move || {
                runtime.block_on(async {
                    tokio::select! {
                        () = serve(listener, shared) => {}
                        () = stopped.notified() => {}
                    }
                });
            })?;
        Ok(Self {
            address,
            stopping,
            thread,
        })
    }

    pub(crate) fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Closes every connection, and waits for the thread.
    pub(crate) fn shutdown(self) {
        self.stopping.notify_one();
        if self.thread.join().is_err() {
            tracing::error!("the thread that answers checks has panicked");
        }
    }
}

async fn serve(listener: std::net::TcpListener, shared: Arc<Shared>) {
    let listener = match TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => {
            tracing::error!(%error, "checks cannot be answered");
            return;
        }
    };
    let mut open: VecDeque<AbortHandle> = VecDeque::new();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                if open.len() >= CONNECTIONS {
                    open.retain(|connection| !connection.is_finished());
                }
                if open.len() >= CONNECTIONS
                    && let Some(oldest) = open.pop_front()
                {
                    oldest.abort();
                }
                open.push_back(tokio::spawn(converse(stream, shared.clone())).abort_handle());
            }
            Err(error) => {
                tracing::debug!(%error, "a connection for checks could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// One connection, until its client or its time ends it.
async fn converse(stream: TcpStream, shared: Arc<Shared>) {
    let service = service_fn(|request: Request<Incoming>| {
        let response = respond(&shared, &request);
        async { Ok::<_, Infallible>(response) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        // A client may end its side as soon as it has asked.
        .half_close(true)
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(LARGEST_HEAD)
        .max_headers(MOST_HEADERS)
        .serve_connection(TokioIo::new(stream), service);
    if let Ok(Err(error)) = tokio::time::timeout(LIFETIME, connection).await {
        tracing::debug!(%error, "a connection for checks was closed");
    }
}

fn respond(shared: &Shared, request: &Request<Incoming>) -> Response<Full<Bytes>> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut response = Response::new(Full::default());
        *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
        let headers = response.headers_mut();
        headers.insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return response;
    }
    let answer = answer(shared, &Question::of(request.uri().path()));
    let status = StatusCode::from_u16(answer.status_code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = Response::new(Full::new(body(&answer)));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// The answer as JSON; for HEAD, hyper sends only its length.
fn body(answer: &Answer) -> Bytes {
    match serde_json::to_vec(answer) {
        Ok(mut json) => {
            json.push(b'\n');
            json.into()
        }
        Err(error) => {
            tracing::error!(%error, "an answer cannot be written as JSON");
            Bytes::new()
        }
    }
}
