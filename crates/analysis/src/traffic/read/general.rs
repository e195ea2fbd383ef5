//! The general log: what each connection sent, with the user and schema that its connect told.

use std::collections::HashMap;
use std::io::BufRead;

use super::lines::Lines;
use super::{MAX_STATEMENT_BYTES, ReadError, Record, Unread, without_end};

/// Connections that are kept in mind; at one more, all are forgotten.
const MAX_CONNECTIONS: usize = 1 << 20;

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
}

pub(super) fn read(
    mut lines: Lines<impl BufRead>,
    each: &mut dyn FnMut(&Record<'_>),
) -> Result<Unread, ReadError> {
    let mut connections: HashMap<u64, Connection> = HashMap::new();
    let mut open: Option<(u64, Vec<u8>)> = None;
    let mut outside = 0;
    while let Some(line) = lines.next()? {
        let Some((id, command, rest)) = header(line) else {
            match &mut open {
                Some((_, text)) if text.len() + line.len() < MAX_STATEMENT_BYTES => {
                    text.push(b'\n');
                    text.extend_from_slice(line);
                }
                // The lines that begin a file tell the server's version.
                _ => outside += 1,
            }
            continue;
        };
        if let Some((id, text)) = open.take() {
            tell(connections.get(&id), &text, each);
        }
        if connections.len() >= MAX_CONNECTIONS {
            connections.clear();
        }
        match command {
            "Query" | "Execute" => open = Some((id, rest.to_vec())),
            "Connect" | "Change user" => {
                connections.insert(id, connect(&String::from_utf8_lossy(rest)));
            }
            "Init DB" => {
                let schema = String::from_utf8_lossy(rest.trim_ascii()).into_owned();
                connections.entry(id).or_default().schema = Some(schema);
            }
            "Quit" => {
                connections.remove(&id);
            }
            _ => {}
        }
    }
    if let Some((id, text)) = open {
        tell(connections.get(&id), &text, each);
    }
    Ok(lines.unread(outside))
}

fn tell(connection: Option<&Connection>, text: &[u8], each: &mut dyn FnMut(&Record<'_>)) {
    let text = without_end(text);
    if text.is_empty() {
        return;
    }
    each(&Record {
        user: connection.and_then(|connection| connection.user.as_deref()),
        schema: connection.and_then(|connection| connection.schema.as_deref()),
        client: connection.and_then(|connection| connection.client.as_deref()),
        text,
        digest: None,
        count: 1,
    });
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
    }
}
