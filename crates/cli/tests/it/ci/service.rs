//! A service with the comments of one change, as GitHub's and GitLab's interfaces list, add and replace them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

/// Comments by number, from 1 on.
type Comments = Arc<Mutex<Vec<String>>>;

/// The service, until the process of the test ends.
pub(super) struct Service {
    address: SocketAddr,
    comments: Comments,
}

/// A request, as far as it counts.
struct Request {
    method: String,
    path: String,
    is_allowed: bool,
    body: Value,
}

impl Service {
    /// A service that takes this token.
    pub(super) fn start(token: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let comments = Comments::default();
        let shared = comments.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                answer(stream.unwrap(), token, &shared);
            }
        });
        Self { address, comments }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(super) fn say(&self, text: &str) {
        self.comments.lock().unwrap().push(text.to_owned());
    }

    pub(super) fn comments(&self) -> Vec<String> {
        self.comments.lock().unwrap().clone()
    }
}

fn read(stream: &TcpStream, token: &str) -> Request {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, path) = (words.next().unwrap(), words.next().unwrap());
    let (mut length, mut is_allowed) = (0, false);
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).unwrap();
        let Some((name, value)) = header.trim_end().split_once(": ") else {
            break;
        };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().unwrap(),
            "private-token" => is_allowed = value == token,
            "authorization" => is_allowed = value == format!("Bearer {token}"),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    Request {
        method,
        path,
        is_allowed,
        body: serde_json::from_slice(&body).unwrap_or(Value::Null),
    }
}

fn answer(mut stream: TcpStream, token: &str, comments: &Comments) {
    let request = read(&stream, token);
    let (status, body) = respond(&request, &mut comments.lock().unwrap());
    let body = body.to_string();
    let head = format!("HTTP/1.1 {status}\r\nContent-Type: application/json\r\nConnection: close\r\n");
    write!(stream, "{head}Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
}

fn respond(request: &Request, comments: &mut Vec<String>) -> (&'static str, Value) {
    if !request.is_allowed {
        return ("401 Unauthorized", json!({"message": "Bad credentials"}));
    }
    let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
    let lists = [
        "/repos/shop/topology/issues/12/comments",
        "/projects/7/merge_requests/12/notes",
    ];
    let ones = [
        "/repos/shop/topology/issues/comments/",
        "/projects/7/merge_requests/12/notes/",
    ];
    let said = || {
        request.body["body"]
            .as_str()
            .expect("a comment has a text")
            .to_owned()
    };
    let one = |id: usize, text: &str| json!({"id": id, "body": text});
    match request.method.as_str() {
        "GET" if lists.contains(&path) => {
            let page: usize = query.rsplit_once("page=").expect("a page").1.parse().unwrap();
            assert!(query.starts_with("per_page=100"), "{query}");
            let listed = comments.iter().enumerate().skip((page - 1) * 100).take(100);
            let listed: Vec<Value> = listed.map(|(at, text)| one(at + 1, text)).collect();
            ("200 OK", Value::Array(listed))
        }
        "POST" if lists.contains(&path) => {
            comments.push(said());
            ("201 Created", one(comments.len(), &said()))
        }
        "PATCH" | "PUT" => {
            let id = ones
                .iter()
                .find_map(|prefix| path.strip_prefix(prefix)?.parse::<usize>().ok());
            let id = id.expect("the number of a comment");
            comments[id - 1] = said();
            ("200 OK", one(id, &said()))
        }
        method => panic!("{method} {path}"),
    }
}
