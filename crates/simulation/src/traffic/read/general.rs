//! The general log: what each connection sent, with the user and schema that it has by then.

use std::collections::HashMap;
use std::io::BufRead;

use shardwright_sql::{LexMode, Lexer};

use super::header::{Header, Part};
use super::lines::Lines;
use super::prepared::Prepared;
use super::schemas::SessionSchema;
use super::{MAX_STATEMENT_BYTES, ReadError, Record, Recorded, Unread, without_end};

/// Connections that are kept in mind; at one more, all are forgotten.
const MAX_CONNECTIONS: usize = 1 << 20;
/// Bytes of prepared texts that are kept in mind; at one more, all are forgotten.
const MAX_PREPARED_BYTES: usize = 64 << 20;

/// The names of commands that MySQL 5.7 to 9 and MariaDB 10.6 to 11 write.
const COMMANDS: [&str; 39] = [
    "Query",
    "Execute",
    "Prepare",
    "Connect",
    "Init DB",
    "Quit",
    "Change user",
    "Reset Connection",
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
    "Binlog Dump GTID",
    "Table Dump",
    "Refresh",
    "Create DB",
    "Drop DB",
    "Shutdown",
    "Processlist",
    "Kill",
    "Debug",
    "Time",
    "Delayed insert",
    "Connect Out",
    "Register Slave",
    "Register Replica",
    "Set option",
    "Clone",
    "Subscribe Group Replication Stream",
    "Bulk_execute",
    "Slave_IO",
    "Slave_SQL",
    "Error",
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
    let (name, rest) = match memchr::memchr(b'\t', after) {
        Some(tab) => (&after[..tab], &after[tab + 1..]),
        None => (after, &b""[..]),
    };
    let command = COMMANDS
        .iter()
        .find(|command| command.as_bytes().eq_ignore_ascii_case(name))?;
    Some((id, command, rest))
}

#[derive(Default)]
struct Connection {
    user: Option<String>,
    schema: SessionSchema,
    client: Option<String>,
    prepared: Prepared,
    /// The entry before was PREPARE or EXECUTE as a text: the server writes what became of it beside it.
    echoes: bool,
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
    let mut server = Header::default();
    let mut open: Option<(u64, Sent, Vec<u8>)> = None;
    let mut outside = 0;
    while let Some(line) = lines.next()? {
        if server.part(line) != Part::None {
            if let Some((id, sent, text)) = open.take() {
                connections.tell(id, sent, &text, each);
            }
            continue;
        }
        let Some((id, command, rest)) = header(line) else {
            match &mut open {
                Some((_, _, text)) if text.len() + line.len() < MAX_STATEMENT_BYTES => {
                    text.push(b'\n');
                    text.extend_from_slice(line);
                }
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
            _ => connections.run(id, command, &String::from_utf8_lossy(rest)),
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

    /// A command without a statement.
    fn run(&mut self, id: u64, command: &str, rest: &str) {
        match command {
            // The line before has the user, and the server ends the connection.
            "Connect" | "Change user" if rest.starts_with("Access denied for user ") => {
                self.known.remove(&id);
            }
            "Connect" | "Change user" => *self.of(id) = connect(rest),
            // It is written once the server has changed the schema.
            "Init DB" => self.of(id).schema = SessionSchema::named(rest),
            "Reset Connection" => self.of(id).prepared = Prepared::default(),
            "Quit" => {
                self.known.remove(&id);
            }
            _ => {}
        }
        if let Some(connection) = self.known.get_mut(&id) {
            connection.echoes = false;
        }
    }

    fn tell(&mut self, id: u64, sent: Sent, text: &[u8], each: &mut dyn FnMut(&Record<'_>)) {
        let text = without_end(text);
        if text.is_empty() {
            return;
        }
        let is_echo = std::mem::take(&mut self.of(id).echoes);
        match sent {
            Sent::Prepare | Sent::Execute if is_echo => return,
            Sent::Prepare => return self.prepare(id, text),
            Sent::Query | Sent::Execute => {}
        }
        let connection = self.of(id);
        let (text, kind) = match sent {
            Sent::Execute => match connection.prepared.text_of(text) {
                Some(prepared) => (prepared, Recorded::Execution),
                None => (text, Recorded::Digest(None)),
            },
            Sent::Query | Sent::Prepare => (text, Recorded::Statement),
        };
        each(&Record {
            user: connection.user.as_deref(),
            schema: connection.schema.as_record(),
            client: connection.client.as_deref(),
            text,
            kind,
            count: 1,
        });
        if sent == Sent::Query {
            connection.echoes = is_prepared_as_text(text);
            connection.schema.follow(text);
        }
    }
}

/// `PREPARE s FROM …` and `EXECUTE s`. MySQL writes `PREPARE s FROM ...`, without what is prepared.
fn is_prepared_as_text(text: &[u8]) -> bool {
    let first = Lexer::new(text, LexMode::default()).significant().next();
    first.is_some_and(|word| word.is_word(text, "PREPARE") || word.is_word(text, "EXECUTE"))
}

/// `app@10.0.0.7 on shop using TCP/IP`, and of proxy users `app@10.0.0.7 as other on shop`.
fn connect(text: &str) -> Connection {
    let (who, rest) = text.split_once(" on ").unwrap_or((text, ""));
    let who = who.split(" as ").next().unwrap_or_default().trim();
    let (user, client) = who.rsplit_once('@').unwrap_or((who, ""));
    let schema = rest.rsplit_once(" using ").map_or(rest, |(schema, _)| schema);
    let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    Connection {
        user: some(user),
        schema: SessionSchema::named(schema.trim()),
        client: some(client),
        ..Connection::default()
    }
}
