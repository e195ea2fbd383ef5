//! The general log: what each connection sent, with the user and schema that its connect line names.

use std::collections::HashMap;
use std::io::BufRead;

use super::lines::Lines;
use super::prepared::Prepared;
use super::{MAX_STATEMENT_BYTES, ReadError, Record, Recorded, Unread, without_end};

/// Connections that are kept in mind; at one more, all are forgotten.
const MAX_CONNECTIONS: usize = 1 << 20;
/// Bytes of prepared texts that are kept in mind; at one more, all are forgotten.
const MAX_PREPARED_BYTES: usize = 64 << 20;

/// Commands of the log.
const COMMANDS: [&str; 18] = [
    "Query",
    "Execute",
    "Prepare",
    "Connect",
    "Init DB",
    "Quit",
    "Change user",
    "Field List",
    "Statistics",
    "Ping",
    "Close stmt",
    "Reset stmt",
    "Long Data",
    "Fetch",
    "Sleep",
    "Daemon",
    "Binlog Dump",
    "Refresh",
];

/// A line that begins an entry: the connection, the command, and what follows.
pub(super) fn header(line: &[u8]) -> Option<(u64, &'static str, &[u8])> {
    let mut rest = line;
    // A time of its own, or nothing where it is that of the line before.
    for _ in 0..3 {
        if let Some(found) = entry(rest) {
            return Some(found);
        }
        let tab = memchr::memchr(b'\t', rest)?;
        let before = rest[..tab].trim_ascii();
        let is_time = before
            .iter()
            .all(|byte| byte.is_ascii_digit() || b"-:.TZ+ ".contains(byte));
        if !is_time {
            return None;
        }
        rest = &rest[tab + 1..];
    }
    None
}

/// `   12 Query\tSELECT 1`
fn entry(text: &[u8]) -> Option<(u64, &'static str, &[u8])> {
    let text = text.trim_ascii_start();
    let digits = text.iter().position(|byte| !byte.is_ascii_digit())?;
    let id = std::str::from_utf8(text.get(..digits)?).ok()?.parse().ok()?;
    let after = text[digits..].strip_prefix(b" ")?;
    let command = COMMANDS
        .iter()
        .find(|command| after.starts_with(command.as_bytes()))?;
    let rest = &after[command.len()..];
    match rest.first() {
        None => Some((id, command, b"")),
        Some(b'\t') => Some((id, command, &rest[1..])),
        Some(_) => None,
    }
}

#[derive(Default)]
struct Connection {
    user: Option<String>,
    schema: Option<String>,
    client: Option<String>,
    prepared: Prepared,
}

/// A command that carries a statement.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sent {
    Query,
    Prepare,
    Execute,
}

pub(super) fn read(
    mut lines: Lines<impl BufRead>,
    each: &mut dyn FnMut(&Record<'_>),
) -> Result<Unread, ReadError> {
    let mut connections = Connections::default();
    let mut open: Option<(u64, Sent, Vec<u8>)> = None;
    let mut outside = 0;
    while let Some(line) = lines.next()? {
        let Some((id, command, rest)) = header(line) else {
            match &mut open {
                Some((_, _, text)) if text.len() + line.len() < MAX_STATEMENT_BYTES => {
                    text.push(b'\n');
                    text.extend_from_slice(line);
                }
                // The lines that begin a file tell the server's version.
                _ => outside += 1,
            }
            continue;
        };
        if let Some((id, sent, text)) = open.take() {
            connections.tell(id, sent, &text, each);
        }
        match command {
            "Query" => open = Some((id, Sent::Query, rest.to_vec())),
            "Prepare" => open = Some((id, Sent::Prepare, rest.to_vec())),
            "Execute" => open = Some((id, Sent::Execute, rest.to_vec())),
            "Connect" | "Change user" => {
                let connection = connect(&String::from_utf8_lossy(rest));
                *connections.of(id) = connection;
            }
            "Init DB" => {
                let schema = String::from_utf8_lossy(rest.trim_ascii()).into_owned();
                connections.of(id).schema = Some(schema);
            }
            "Quit" => {
                connections.known.remove(&id);
            }
            _ => {}
        }
    }
    if let Some((id, sent, text)) = open {
        connections.tell(id, sent, &text, each);
    }
    Ok(lines.unread(outside))
}

#[derive(Default)]
struct Connections {
    known: HashMap<u64, Connection>,
    /// Bytes of their prepared texts, with those of connections that are gone.
    prepared: usize,
}

impl Connections {
    fn of(&mut self, id: u64) -> &mut Connection {
        if self.known.len() >= MAX_CONNECTIONS {
            self.known.clear();
        }
        self.known.entry(id).or_default()
    }

    fn prepare(&mut self, id: u64, text: &[u8]) {
        if self.prepared.saturating_add(text.len()) > MAX_PREPARED_BYTES {
            let all = self.known.values_mut();
            all.for_each(|connection| connection.prepared = Prepared::default());
            self.prepared = 0;
        }
        if self.of(id).prepared.add(text) {
            self.prepared += text.len();
        }
    }

    fn tell(&mut self, id: u64, sent: Sent, text: &[u8], each: &mut dyn FnMut(&Record<'_>)) {
        let text = without_end(text);
        if text.is_empty() {
            return;
        }
        if sent == Sent::Prepare {
            return self.prepare(id, text);
        }
        let connection = self.known.get(&id);
        let (text, kind) = match sent {
            Sent::Query | Sent::Prepare => (text, Recorded::Statement),
            Sent::Execute => match connection.and_then(|connection| connection.prepared.text_of(text)) {
                Some(prepared) => (prepared, Recorded::Execution),
                None => (text, Recorded::Digest(None)),
            },
        };
        each(&Record {
            user: connection.and_then(|connection| connection.user.as_deref()),
            schema: connection.and_then(|connection| connection.schema.as_deref()),
            client: connection.and_then(|connection| connection.client.as_deref()),
            text,
            kind,
            count: 1,
        });
    }
}

/// `app@10.0.0.7 on shop using TCP/IP`, and of MariaDB `app@10.0.0.7 as anonymous on shop`
fn connect(text: &str) -> Connection {
    let (who, rest) = text
        .split_once(" on ")
        .map_or((text, ""), |(who, rest)| (who, rest));
    let who = who.split(" as ").next().unwrap_or_default().trim();
    let (user, client) = who.rsplit_once('@').unwrap_or((who, ""));
    let schema = rest.split(" using ").next().unwrap_or_default().trim();
    let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    Connection {
        user: some(user),
        schema: some(schema),
        client: some(client),
        prepared: Prepared::default(),
    }
}
