//! A service with the comments of one change and the issues of one project, as GitHub's and GitLab's interfaces list, add and
//! replace them. It fails when a test wants it to.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

/// An issue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Issue {
    pub(super) title: String,
    pub(super) text: String,
    pub(super) is_open: bool,
}

/// How a request fails.
#[derive(Clone, Copy)]
pub(super) enum Fault {
    /// With this status.
    Status(&'static str),
    /// The connection ends without an answer.
    Close,
    /// It succeeds, and the answer is not what is expected.
    Nonsense,
}

#[derive(Default)]
struct State {
    /// By number, from 1 on.
    comments: Vec<String>,
    issues: Vec<Issue>,
    /// What becomes of the next requests with a method.
    faults: Vec<(&'static str, Fault)>,
    /// Methods of the requests so far.
    asked: Vec<String>,
}

/// The service, until the process of the test ends.
pub(super) struct Service {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
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
        let state = Arc::<Mutex<State>>::default();
        let shared = state.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                answer(stream.unwrap(), token, &shared);
            }
        });
        Self { address, state }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What a step of GitHub has in its environment.
    pub(super) fn github(&self) -> Vec<(&'static str, String)> {
        vec![
            ("GITHUB_API_URL", self.url()),
            ("GITHUB_REPOSITORY", "shop/topology".to_owned()),
        ]
    }

    /// What a job of GitLab has in its environment.
    pub(super) fn gitlab(&self) -> Vec<(&'static str, String)> {
        vec![("CI_API_V4_URL", self.url()), ("CI_PROJECT_ID", "7".to_owned())]
    }

    pub(super) fn say(&self, text: &str) {
        self.state.lock().unwrap().comments.push(text.to_owned());
    }

    /// Lets the next `times` requests with a method fail.
    pub(super) fn fail(&self, method: &'static str, fault: Fault, times: usize) {
        let mut state = self.state.lock().unwrap();
        state.faults.extend((0..times).map(|_| (method, fault)));
    }

    /// Lets every later request succeed again; the methods of the requests since the last time.
    pub(super) fn mend(&self) -> Vec<String> {
        let mut state = self.state.lock().unwrap();
        state.faults.clear();
        std::mem::take(&mut state.asked)
    }

    pub(super) fn comments(&self) -> Vec<String> {
        self.state.lock().unwrap().comments.clone()
    }

    pub(super) fn issues(&self) -> Vec<Issue> {
        self.state.lock().unwrap().issues.clone()
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

fn answer(mut stream: TcpStream, token: &str, state: &Mutex<State>) {
    let request = read(&stream, token);
    let mut state = state.lock().unwrap();
    state.asked.push(request.method.clone());
    let at = state
        .faults
        .iter()
        .position(|(method, _)| *method == request.method);
    let (status, body) = match at.map(|at| state.faults.remove(at).1) {
        Some(Fault::Close) => {
            stream.shutdown(Shutdown::Both).unwrap();
            return;
        }
        Some(Fault::Status(status)) => (
            status,
            json!({"message": "Resource not accessible by integration"}),
        ),
        Some(Fault::Nonsense) => ("200 OK", json!({"message": "maintenance"})),
        None => respond(&request, &mut state),
    };
    let body = body.to_string();
    let head = format!("HTTP/1.1 {status}\r\nContent-Type: application/json\r\nConnection: close\r\n");
    write!(stream, "{head}Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
}

fn respond(request: &Request, state: &mut State) -> (&'static str, Value) {
    if !request.is_allowed {
        return ("401 Unauthorized", json!({"message": "Bad credentials"}));
    }
    let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
    let number = || {
        path.rsplit_once('/')
            .and_then(|(_, number)| number.parse::<usize>().ok())
    };
    let is_list = number().is_none() || path.ends_with("issues/12/comments") || path.ends_with("12/notes");
    let is_of_change = path.contains("comments") || path.contains("notes");
    assert!(
        path.starts_with("/repos/shop/topology/issues") || path.starts_with("/projects/7/"),
        "{path}"
    );
    let text = |key: &str| request.body[key].as_str().map(str::to_owned);
    match (request.method.as_str(), is_of_change, is_list) {
        ("GET", true, true) => {
            let listed = state.comments.iter().enumerate();
            let listed = listed.map(|(at, text)| json!({"id": at + 1, "body": text}));
            page(query, listed.collect())
        }
        ("POST", true, true) => {
            let text = text("body").expect("a comment has a text");
            state.comments.push(text.clone());
            ("201 Created", json!({"id": state.comments.len(), "body": text}))
        }
        ("PATCH" | "PUT", true, false) => {
            let text = text("body").expect("a comment has a text");
            let id = number().expect("the number of a comment");
            state.comments[id - 1].clone_from(&text);
            ("200 OK", json!({"id": id, "body": text}))
        }
        ("GET", false, true) => {
            assert!(query.contains("state=open"), "{query}");
            let numbered = state.issues.iter().enumerate();
            let open = numbered.filter(|(_, issue)| issue.is_open);
            page(query, open.map(|(at, issue)| document(at + 1, issue)).collect())
        }
        ("POST", false, true) => {
            let issue = Issue {
                title: text("title").expect("an issue has a title"),
                text: text("body")
                    .or_else(|| text("description"))
                    .expect("an issue has a text"),
                is_open: true,
            };
            state.issues.push(issue.clone());
            ("201 Created", document(state.issues.len(), &issue))
        }
        ("PATCH" | "PUT", false, false) => {
            let number = number().expect("the number of an issue");
            let issue = &mut state.issues[number - 1];
            issue.text = text("body")
                .or_else(|| text("description"))
                .expect("an issue has a text");
            let closes = [text("state"), text("state_event")].into_iter().flatten();
            issue.is_open &= !closes.into_iter().any(|state| state.starts_with("close"));
            ("200 OK", document(number, issue))
        }
        (method, ..) => panic!("{method} {path}"),
    }
}

fn document(number: usize, issue: &Issue) -> Value {
    json!({"id": 1000 + number, "number": number, "iid": number, "title": issue.title, "body": issue.text, "description": issue.text})
}

fn page(query: &str, all: Vec<Value>) -> (&'static str, Value) {
    let page: usize = query.rsplit_once("&page=").expect("a page").1.parse().unwrap();
    assert!(query.contains("per_page=100"), "{query}");
    let listed = all.into_iter().skip((page - 1) * 100).take(100);
    ("200 OK", Value::Array(listed.collect()))
}
