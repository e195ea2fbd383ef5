//! What appeared and what went since the last look: a line for each.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use shardwright_plan::render::line_of;
use shardwright_targets::proxysql::{Drift, Drifted};

use super::fleet::Seen;
use crate::args::Format;
use crate::clock;
use crate::error::{CommandError, unreadable};
use crate::exit::Exit;
use crate::files::replace_file;
use crate::ui::{Ui, printable};

/// The version of the file; raised when an old reader would misread a new one.
const VERSION: u32 = 1;

/// What was there at the last look, by target; a target that was never looked at has none.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Events {
    version: u32,
    targets: BTreeMap<String, BTreeMap<String, Event>>,
}

/// Something that is there.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Event {
    /// In a line, without its cause.
    text: String,
    /// For programs.
    value: Value,
}

impl Default for Events {
    fn default() -> Self {
        Self {
            version: VERSION,
            targets: BTreeMap::new(),
        }
    }
}

impl Events {
    /// Those of a file; none where there is no file yet.
    pub(super) fn read(path: &Path) -> Result<Self, CommandError> {
        let bytes = match fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(unreadable(path, &error)),
        };
        let bad = |reason: String| {
            CommandError::new(
                Exit::BadDocument,
                format!("{} is not what `drift --seen` writes: {reason}", path.display()),
            )
            .hint("delete it: the next run prints everything that is there")
        };
        let events: Self = serde_json::from_slice(&bytes).map_err(|error| bad(error.to_string()))?;
        match events.version {
            VERSION => Ok(events),
            other => Err(bad(format!(
                "it has version {other}, this program reads {VERSION}"
            ))),
        }
    }

    pub(super) fn write(&self, path: &Path) -> Result<(), CommandError> {
        let text = serde_json::to_vec(self).map_err(|error| CommandError::internal(error.to_string()))?;
        replace_file(path, &text)
    }

    /// Prints what is new and what is gone, and remembers what is there.
    pub(super) fn print(&mut self, seen: &[Seen], ui: &Ui) -> Result<(), CommandError> {
        let at = clock::now().to_string();
        for (target, what, event) in self.take(seen) {
            print(&at, &target, what, &event, ui)?;
        }
        Ok(())
    }

    /// What is gone and what is new, by target; remembers what is there.
    fn take(&mut self, seen: &[Seen]) -> Vec<(String, &'static str, Event)> {
        let mut told = Vec::new();
        for one in seen {
            let mut now = events(one);
            let before = self.targets.remove(&one.target).unwrap_or_default();
            if one.drift.is_err() {
                // Nothing is known of drift while a target cannot be read.
                let kept = before.iter().map(|(key, event)| (key.clone(), event.clone()));
                now.extend(kept);
            }
            let gone = before.iter().filter(|(key, _)| !now.contains_key(*key));
            let new = now.iter().filter(|(key, _)| !before.contains_key(*key));
            let gone = gone.map(|(_, event)| (one.target.clone(), "gone", event.clone()));
            told.extend(gone);
            told.extend(new.map(|(_, event)| (one.target.clone(), "appeared", event.clone())));
            self.targets.insert(one.target.clone(), now);
        }
        told
    }
}

fn print(at: &str, target: &str, what: &str, event: &Event, ui: &Ui) -> Result<(), CommandError> {
    match ui.format() {
        Format::Json => {
            let mut value = json!({"at": at, "target": target, "event": what});
            if let (Some(value), Some(said)) = (value.as_object_mut(), event.value.as_object()) {
                value.extend(said.clone());
            }
            ui.data(&format!("{value}\n"))
        }
        Format::Human | Format::Markdown => ui.data(&format!(
            "{at} {target} {what} {}\n",
            printable(&event.text).replace('\n', " ")
        )),
    }
}

/// Everything that is there, by what makes it the same at the next look.
fn events(seen: &Seen) -> BTreeMap<String, Event> {
    let drift = match &seen.drift {
        Ok(drift) => drift,
        Err(error) => {
            let event = Event {
                text: format!("unreachable: {}", error.reason),
                value: json!({"kind": "unreachable", "reason": error.reason}),
            };
            return BTreeMap::from([("unreachable".to_owned(), event)]);
        }
    };
    of_drift(drift)
}

fn of_drift(drift: &Drift) -> BTreeMap<String, Event> {
    let mut events: BTreeMap<String, Event> = drift.differences.iter().map(difference).collect();
    for staged in &drift.staged {
        events.insert(
            format!("staged {staged}"),
            Event {
                text: format!("not loaded: {staged}"),
                value: json!({"kind": "staged", "row": staged}),
            },
        );
    }
    let beside = drift.beside.iter();
    let beside = beside.map(|line| ("beside", line, format!("beside the project: {line}")));
    let older = drift.older.iter().map(|line| ("older", line, line.clone()));
    for (kind, line, text) in beside.chain(older) {
        events.insert(
            format!("{kind} {line}"),
            Event {
                text,
                value: json!({"kind": kind, "reason": line}),
            },
        );
    }
    if let Some(unfinished) = &drift.unfinished {
        events.insert(
            format!("unfinished {unfinished}"),
            Event {
                text: unfinished.clone(),
                value: json!({"kind": "unfinished", "reason": unfinished}),
            },
        );
    }
    events
}

fn difference(one: &Drifted) -> (String, Event) {
    let line = line_of(&one.effect, &|_| None);
    let staged = if one.staged { ", in memory only" } else { "" };
    let key = format!(
        "{}{staged} {} {}  {}",
        one.side.words(),
        line.sign,
        line.subject,
        line.what
    );
    let cause = one.cause.as_ref().map(ToString::to_string);
    let event = Event {
        text: match &cause {
            Some(cause) => format!("{key}  ({cause})"),
            None => key.clone(),
        },
        value: json!({
            "kind": "difference",
            "side": one.side,
            "action": one.effect.action,
            "address": one.effect.address,
            "difference": line.what,
            "staged": one.staged,
            "cause": one.cause,
        }),
    };
    (key, event)
}

#[cfg(test)]
mod tests {
    use shardwright_plan::TargetError;
    use shardwright_rules::EngineId;

    use super::*;

    fn seen(staged: Option<&[&str]>) -> Seen {
        let drift = match staged {
            Some(staged) => Ok(Drift {
                target: "px".into(),
                version: "2.7.1".into(),
                project: None,
                generation: 1,
                run: None,
                applied: Default::default(),
                differences: Vec::new(),
                staged: staged.iter().map(|&row| row.to_owned()).collect(),
                left_out: Vec::new(),
                beside: Vec::new(),
                older: None,
                unfinished: None,
                not_compared: Vec::new(),
                not_looked_at: Vec::new(),
            }),
            None => Err(TargetError {
                target: "px".into(),
                address: "127.0.0.1:1".into(),
                reason: "connection refused".into(),
            }),
        };
        Seen {
            target: "px".into(),
            engine: EngineId::Proxysql27,
            drift,
        }
    }

    #[test]
    fn what_cannot_be_read_is_neither_gone_nor_new() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut events = Events::default();
        for (staged, expected) in [
            (Some(&["a"][..]), &["appeared not loaded: a"][..]),
            (None, &["appeared unreachable: connection refused"]),
            (None, &[]),
            (
                Some(&["a", "b"]),
                &["gone unreachable: connection refused", "appeared not loaded: b"],
            ),
            (Some(&[]), &["gone not loaded: a", "gone not loaded: b"]),
        ] {
            let told = events.take(&[seen(staged)]);
            let told: Vec<String> = told
                .iter()
                .map(|(_, what, event)| format!("{what} {}", event.text))
                .collect();
            assert_eq!(told, expected);
            events.write(file.path()).unwrap();
            events = Events::read(file.path()).unwrap();
        }
        fs::write(file.path(), "{\"version\": 9, \"targets\": {}}").unwrap();
        let error = Events::read(file.path()).unwrap_err();
        assert!(error.message.contains("version 9"), "{}", error.message);
    }
}
