//! Resolved values as YAML, one to a line, with the origin behind each as a comment.

use std::borrow::Cow;
use std::io::{self, Write};

use shardwright_diagnostics::Sources;
use shardwright_documents::spelled;

use super::sink::{Collection, Origin, Scalar, Sink, Slot};

/// A mapping or list that is being written.
struct Open {
    kind: Collection,
    /// What stands in front of its first line, and of the others.
    first: String,
    rest: String,
    /// Its own line, written with the first thing in it; an empty one ends that line.
    head: Option<(String, String)>,
    is_empty: bool,
}

/// Writes YAML.
pub(super) struct Yaml<'s, W> {
    out: W,
    sources: &'s Sources,
    open: Vec<Open>,
}

impl<'s, W: Write> Yaml<'s, W> {
    pub(super) const fn new(out: W, sources: &'s Sources) -> Self {
        Self {
            out,
            sources,
            open: Vec::new(),
        }
    }

    /// What stands in front of the next value: indentation, the dash of an item, the key.
    fn lead(&mut self, slot: Slot<'_>) -> io::Result<String> {
        let Some(open) = self.open.last_mut() else {
            return Ok(String::new());
        };
        if let Some((line, comment)) = open.head.take() {
            writeln!(self.out, "{line}{comment}")?;
        }
        let lead = if open.is_empty { &open.first } else { &open.rest };
        let lead = match slot {
            Slot::Root => lead.clone(),
            Slot::Key(key) => format!("{lead}{}:", spelled(key)),
            Slot::Item => format!("{lead}-"),
        };
        open.is_empty = false;
        Ok(lead)
    }

    fn comment(&self, origin: Option<&Origin>) -> String {
        // Line breaks cannot stand in a comment; paths and values of variables may hold them.
        let plain = |text: String| text.replace(char::is_control, " ");
        origin.map_or_else(String::new, |origin| {
            format!("  # {}", plain(origin.text(self.sources)))
        })
    }
}

impl<W: Write> Sink for Yaml<'_, W> {
    fn begin(
        &mut self,
        kind: Collection,
        slot: Slot<'_>,
        _: &str,
        origin: Option<&Origin>,
    ) -> io::Result<()> {
        let indent = |open: &Open| open.rest.len();
        let indent = self.open.last().map_or(0, indent);
        let comment = self.comment(origin);
        let is_root = self.open.is_empty();
        let lead = self.lead(slot)?;
        let (first, rest, head) = match slot {
            Slot::Item => (format!("{lead} "), " ".repeat(indent + 2), None),
            _ if is_root => (String::new(), String::new(), None),
            _ => {
                let rest = " ".repeat(indent + 2);
                (rest.clone(), rest, Some((lead, comment)))
            }
        };
        self.open.push(Open {
            kind,
            first,
            rest,
            head,
            is_empty: true,
        });
        Ok(())
    }

    fn end(&mut self) -> io::Result<()> {
        let Some(open) = self.open.pop() else {
            return Ok(());
        };
        if !open.is_empty {
            return Ok(());
        }
        let nothing = match open.kind {
            Collection::Mapping => "{}",
            Collection::List => "[]",
        };
        match open.head {
            Some((line, comment)) => writeln!(self.out, "{line} {nothing}{comment}"),
            None => writeln!(self.out, "{}{nothing}", open.first),
        }
    }

    fn scalar(&mut self, slot: Slot<'_>, _: &str, value: &Scalar, origin: &Origin) -> io::Result<()> {
        let comment = self.comment(Some(origin));
        let lead = self.lead(slot)?;
        writeln!(self.out, "{lead} {}{comment}", word(value))
    }

    fn scalars(&mut self, slot: Slot<'_>, _: &str, values: &[Scalar], origin: &Origin) -> io::Result<()> {
        let comment = self.comment(Some(origin));
        let lead = self.lead(slot)?;
        write!(self.out, "{lead} [")?;
        for (place, value) in values.iter().enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            write!(self.out, "{comma}{}", word(value))?;
        }
        writeln!(self.out, "]{comment}")
    }
}

fn word(value: &Scalar) -> Cow<'_, str> {
    match value {
        Scalar::Text { template, .. } => spelled(template),
        Scalar::Word(word) => Cow::Borrowed(word),
    }
}
