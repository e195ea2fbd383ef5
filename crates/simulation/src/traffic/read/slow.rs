//! The slow log: statements behind comment lines that tell who sent them.

use std::io::BufRead;

use memchr::memmem::Finder;

use super::lines::Lines;
use super::{MAX_STATEMENT_BYTES, ReadError, Record, Recorded, Unread, without_end};

/// The comment lines that servers write.
const HEADS: [&[u8]; 9] = [
    b"# Time:",
    b"# User@Host:",
    b"# Query_time:",
    b"# Thread_id:",
    b"# Schema:",
    b"# Rows_affected:",
    b"# Bytes_sent:",
    b"# Full_scan:",
    b"# Rows_sent:",
];

#[derive(Default)]
struct Entry {
    user: Option<String>,
    client: Option<String>,
    schema: Option<String>,
    text: Vec<u8>,
}

impl Entry {
    fn tell(&mut self, each: &mut dyn FnMut(&Record<'_>)) {
        let text = without_end(&self.text);
        // Administrative commands stand as comments.
        if !text.is_empty() && !text.starts_with(b"# administrator command") {
            each(&Record {
                user: self.user.as_deref(),
                schema: self.schema.as_deref(),
                client: self.client.as_deref(),
                text,
                kind: Recorded::Statement,
                count: 1,
            });
        }
        self.text.clear();
    }
}

pub(super) fn read(
    mut lines: Lines<impl BufRead>,
    each: &mut dyn FnMut(&Record<'_>),
) -> Result<Unread, ReadError> {
    let mut entry = Entry::default();
    let heads = Heads::new();
    let (mut begun, mut outside) = (false, 0);
    while let Some(line) = lines.next()? {
        if HEADS.iter().any(|head| line.starts_with(head)) {
            // Its first line ends the statement before it.
            entry.tell(each);
            begun = true;
            heads.read(&String::from_utf8_lossy(line), &mut entry);
        } else if !begun {
            outside += 1;
        } else if entry.text.is_empty() && is_setup(line) {
            let text = String::from_utf8_lossy(without_end(line));
            let names = text.to_ascii_lowercase().starts_with("use ");
            if let Some(schema) = text.get(4..).filter(|_| names) {
                entry.schema = Some(schema.trim().trim_matches('`').to_owned());
            }
        } else if entry.text.len() + line.len() < MAX_STATEMENT_BYTES {
            if !entry.text.is_empty() {
                entry.text.push(b'\n');
            }
            entry.text.extend_from_slice(line);
        }
    }
    entry.tell(each);
    Ok(lines.unread(outside))
}

/// The server writes these itself before the statement.
fn is_setup(line: &[u8]) -> bool {
    let begins = |wanted: &[u8]| {
        let beginning = line.get(..wanted.len());
        beginning.is_some_and(|beginning| beginning.eq_ignore_ascii_case(wanted))
    };
    begins(b"set timestamp=") || (begins(b"use ") && line.ends_with(b";"))
}

/// What comment lines are searched for.
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
            entry.schema = None;
            entry.text.clear();
        }
        if let Some((_, rest)) = split_once(line, &self.schema) {
            let named = rest.split_whitespace().next().filter(|word| !word.ends_with(':'));
            entry.schema = some(named).or(entry.schema.take());
        }
    }
}

fn split_once<'t>(text: &'t str, by: &Finder<'_>) -> Option<(&'t str, &'t str)> {
    let at = by.find(text.as_bytes())?;
    Some((&text[..at], &text[at + by.needle().len()..]))
}
