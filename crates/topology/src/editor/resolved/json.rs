//! Resolved values as JSON: the values, and their origins by address.

use std::io::{self, Write};

use serde_json::{Value, json};
use shardwright_diagnostics::Sources;

use super::sink::{Collection, Origin, Scalar, Sink, Slot, Source, file_and_line};

/// Writes values.
pub(super) struct Values<W> {
    out: W,
    /// What is open, and whether something stands in it.
    open: Vec<(Collection, bool)>,
}

impl<W: Write> Values<W> {
    pub(super) const fn new(out: W) -> Self {
        Self {
            out,
            open: Vec::new(),
        }
    }

    fn lead(&mut self, slot: Slot<'_>) -> io::Result<()> {
        let depth = self.open.len();
        if let Some((_, filled)) = self.open.last_mut() {
            let comma = if *filled { "," } else { "" };
            *filled = true;
            write!(self.out, "{comma}\n{:width$}", "", width = 2 * (depth + 1))?;
        }
        match slot {
            Slot::Key(key) => write!(self.out, "{}: ", Value::from(key)),
            Slot::Root | Slot::Item => Ok(()),
        }
    }
}

impl<W: Write> Sink for Values<W> {
    fn begin(&mut self, kind: Collection, slot: Slot<'_>, _: &str, _: Option<&Origin>) -> io::Result<()> {
        self.lead(slot)?;
        self.open.push((kind, false));
        self.out.write_all(match kind {
            Collection::Mapping => b"{",
            Collection::List => b"[",
        })
    }

    fn end(&mut self) -> io::Result<()> {
        let Some((kind, filled)) = self.open.pop() else {
            return Ok(());
        };
        if filled {
            write!(self.out, "\n{:width$}", "", width = 2 * (self.open.len() + 1))?;
        }
        self.out.write_all(match kind {
            Collection::Mapping => b"}",
            Collection::List => b"]",
        })
    }

    fn scalar(&mut self, slot: Slot<'_>, _: &str, value: &Scalar, _: &Origin) -> io::Result<()> {
        self.lead(slot)?;
        write!(self.out, "{}", data(value))
    }

    fn scalars(&mut self, slot: Slot<'_>, _: &str, values: &[Scalar], _: &Origin) -> io::Result<()> {
        self.lead(slot)?;
        write!(self.out, "{}", Value::from_iter(values.iter().map(data)))
    }
}

fn data(value: &Scalar) -> Value {
    match value {
        Scalar::Text { text, .. } => text.as_str().into(),
        Scalar::Word(word) => match word.as_str() {
            "true" | "True" | "TRUE" => true.into(),
            "false" | "False" | "FALSE" => false.into(),
            "" | "~" | "null" | "Null" | "NULL" => Value::Null,
            word => number(word).unwrap_or_else(|| word.into()),
        },
    }
}

fn number(word: &str) -> Option<Value> {
    word.parse::<i64>()
        .map(Value::from)
        .or_else(|_| word.parse::<f64>().map(Value::from))
        .ok()
        .filter(|value| !value.is_null())
}

/// Writes the origins of values by address.
pub(super) struct Origins<'s, W> {
    out: W,
    sources: &'s Sources,
    filled: bool,
}

impl<'s, W: Write> Origins<'s, W> {
    pub(super) const fn new(out: W, sources: &'s Sources) -> Self {
        Self {
            out,
            sources,
            filled: false,
        }
    }

    fn one(&mut self, address: &str, origin: &Origin) -> io::Result<()> {
        let comma = if std::mem::replace(&mut self.filled, true) {
            ","
        } else {
            ""
        };
        let origin = self.data(origin);
        write!(self.out, "{comma}\n    {}: {origin}", Value::from(address))
    }

    fn data(&self, origin: &Origin) -> Value {
        let mut data = match origin.source {
            Source::Default => json!({ "default": true }),
            Source::Option => json!({ "option": "--var" }),
            Source::File(span) => json!({
                "file": self.sources.path(span.file),
                "line": self.sources.position(span).line,
            }),
        };
        if let Some(instance) = &origin.instance {
            data["instance"] = (*instance.text).into();
            if let Some(cell) = instance.cell {
                data["cell"] = file_and_line(cell, self.sources).into();
            }
        }
        for (variable, source) in &origin.variables {
            data["variables"][variable] = (**source).into();
        }
        data
    }
}

impl<W: Write> Sink for Origins<'_, W> {
    fn begin(
        &mut self,
        _: Collection,
        _: Slot<'_>,
        address: &str,
        origin: Option<&Origin>,
    ) -> io::Result<()> {
        origin.map_or(Ok(()), |origin| self.one(address, origin))
    }

    fn end(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn scalar(&mut self, _: Slot<'_>, address: &str, _: &Scalar, origin: &Origin) -> io::Result<()> {
        self.one(address, origin)
    }

    fn scalars(&mut self, _: Slot<'_>, address: &str, _: &[Scalar], origin: &Origin) -> io::Result<()> {
        self.one(address, origin)
    }
}
