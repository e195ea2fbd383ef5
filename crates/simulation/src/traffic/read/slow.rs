//! The slow log: statements behind comment lines that tell who sent them.
//!
//! An entry is its heads (`# Time`, `# User@Host` and what the server counts), then `use name;`, then `SET timestamp=…;`, then
//! the statement. Each server writes `use` only if the schema is another one than it last wrote to the file. So a session
//! without `use` is in the last one that was written, or in none. MariaDB and Percona Server also write the schema into the heads.

use std::io::BufRead;

use memchr::memmem::{self, Finder};

use super::header::{Header, Part};
use super::lines::Lines;
use super::schemas::SessionSchema;
use super::{MAX_STATEMENT_BYTES, ReadError, Record, Recorded, Unread, without_end};

/// The part of an entry that comes next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Expected {
    /// The first line of an entry.
    #[default]
    Entry,
    /// Another head, `use`, or `SET timestamp`.
    Heads,
    /// Lines of the statement.
    Statement,
}

#[derive(Default)]
struct Entry {
    expected: Expected,
    user: Option<String>,
    client: Option<String>,
    /// From the heads.
    schema: Option<SessionSchema>,
    /// A stored program sent it, and no client.
    is_of_program: bool,
    text: Vec<u8>,
    /// A line of the statement was left out.
    is_too_long: bool,
    /// The last line of the statement ends with a semicolon.
    ends: bool,
}

impl Entry {
    /// Whether the next line may begin another entry: the server ends each statement with a semicolon.
    fn is_complete(&self) -> bool {
        self.expected != Expected::Statement || self.ends
    }

    /// Adds a line of the statement.
    fn add(&mut self, line: &[u8]) {
        self.ends = line.ends_with(b";");
        if self.text.len() + line.len() >= MAX_STATEMENT_BYTES {
            self.is_too_long = true;
            return;
        }
        if !self.text.is_empty() {
            self.text.push(b'\n');
        }
        self.text.extend_from_slice(line);
    }

    /// Calls back with the statement; false if it is too long. `last` is the schema that the last `use` has set.
    fn tell(&mut self, last: &SessionSchema, each: &mut dyn FnMut(&Record<'_>)) -> bool {
        let entry = std::mem::take(self);
        let text = without_end(&entry.text);
        // Administrative commands stand as comments.
        let is_command = text.starts_with(b"# administrator command: ");
        if !text.is_empty() && !is_command && !entry.is_of_program && !entry.is_too_long {
            each(&Record {
                user: entry.user.as_deref(),
                schema: entry.schema.as_ref().unwrap_or(last).as_record(),
                client: entry.client.as_deref(),
                text,
                kind: Recorded::Statement,
                count: 1,
            });
        }
        !entry.is_too_long
    }
}

pub(super) fn read(
    mut lines: Lines<impl BufRead>,
    each: &mut dyn FnMut(&Record<'_>),
) -> Result<Unread, ReadError> {
    let mut entry = Entry::default();
    let mut server = Header::default();
    let heads = Heads::new();
    // The beginning of the file may be missing, and with it the first `use`.
    let mut last = SessionSchema::Unknown;
    let (mut outside, mut too_long) = (0, 0);
    while let Some(line) = lines.next()? {
        let part = server.part(line);
        if part != Part::None {
            if part == Part::First {
                too_long += u64::from(!entry.tell(&last, each));
                last = SessionSchema::NoSchema;
            }
            continue;
        }
        if entry.is_complete() && (line.starts_with(b"# Time:") || line.starts_with(b"# User@Host:")) {
            if entry.expected == Expected::Statement {
                too_long += u64::from(!entry.tell(&last, each));
            }
            entry.expected = Expected::Heads;
        }
        match entry.expected {
            Expected::Entry => outside += 1,
            Expected::Heads if line.starts_with(b"#") => {
                heads.read(&String::from_utf8_lossy(line), &mut entry);
            }
            Expected::Heads => {
                if let Some(name) = written_use(line) {
                    entry
                        .schema
                        .get_or_insert_with(|| SessionSchema::Is(name.clone()));
                    last = SessionSchema::OrNone(name);
                } else {
                    entry.expected = Expected::Statement;
                    if !is_timestamp(line) {
                        entry.add(line);
                    }
                }
            }
            Expected::Statement => entry.add(line),
        }
    }
    if entry.is_complete() {
        too_long += u64::from(!entry.tell(&last, each));
    } else {
        // The file ends inside of a statement.
        outside += 1;
    }
    let mut unread = lines.unread(outside);
    unread.too_long += too_long;
    Ok(unread)
}

/// `use name;` as MySQL writes it, or with the backquotes of MariaDB.
fn written_use(line: &[u8]) -> Option<String> {
    let name = line.strip_prefix(b"use ")?.strip_suffix(b";")?;
    let name = String::from_utf8_lossy(name);
    let quoted = name.strip_prefix('`').and_then(|name| name.strip_suffix('`'));
    Some(quoted.map_or_else(|| name.to_string(), |name| name.replace("``", "`")))
}

/// `SET timestamp=1;`, and in front of the time what the server needs to run an insert again.
fn is_timestamp(line: &[u8]) -> bool {
    line.starts_with(b"SET ") && memmem::find(line, b"timestamp=").is_some() && line.ends_with(b";")
}

/// What stands behind the schema: of MariaDB, and of Percona Server.
const ENDS: [&str; 2] = ["  QC_hit:", "  Last_errno:"];

/// What heads are searched for.
struct Heads {
    host: Finder<'static>,
    schema: Finder<'static>,
}

impl Heads {
    fn new() -> Self {
        Self {
            host: Finder::new(" @ "),
            schema: Finder::new("Schema: "),
        }
    }

    fn read(&self, line: &str, entry: &mut Entry) {
        let some = |text: Option<&str>| {
            text.map(str::trim)
                .filter(|text| !text.is_empty())
                .map(str::to_owned)
        };
        let between = |text: &'_ str| -> Option<String> {
            let (_, rest) = text.split_once('[')?;
            some(rest.split(']').next())
        };
        if let Some(rest) = line.strip_prefix("# User@Host:") {
            let (who, host) = split_once(rest, &self.host).unwrap_or((rest, ""));
            entry.user = between(who).or_else(|| some(who.split('[').next()));
            entry.client = between(host).or_else(|| some(host.split('[').next()));
        } else if line.starts_with("# Stored_routine:") {
            entry.is_of_program = true;
        } else if (line.starts_with("# Thread_id:") || line.starts_with("# Schema:"))
            && let Some((_, rest)) = split_once(line, &self.schema)
        {
            let name = ENDS
                .iter()
                .find_map(|end| rest.split_once(end))
                .map_or(rest, |(name, _)| name);
            entry.schema = Some(SessionSchema::named(name));
        }
    }
}

fn split_once<'t>(text: &'t str, by: &Finder<'_>) -> Option<(&'t str, &'t str)> {
    let at = by.find(text.as_bytes())?;
    Some((&text[..at], &text[at + by.needle().len()..]))
}
