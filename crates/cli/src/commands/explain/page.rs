//! The page of one object: what it is, where it is written, and lines in groups.

use serde::Serialize;
use shardwright_rules::{Address, EngineId};

use crate::args::Format;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::project::Opened;
use crate::ui::Ui;

/// Lines of a group that are printed; JSON has them all.
const MAX_LINES: usize = 12;

/// Everything about one thing.
#[derive(Serialize)]
pub(super) struct Page {
    /// `hostgroup 1034`
    name: String,
    /// One line: what it is.
    about: String,
    engine: Option<String>,
    #[serde(flatten)]
    origin: Option<Origin>,
    groups: Vec<Group>,
}

/// Lines under a title.
#[derive(Serialize)]
pub(super) struct Group {
    title: &'static str,
    lines: Vec<Line>,
    /// What is printed if there are no lines.
    #[serde(skip)]
    otherwise: Option<&'static str>,
}

/// A line, with the object that it is about.
#[derive(Serialize)]
pub(super) struct Line {
    text: String,
    #[serde(flatten)]
    origin: Option<Origin>,
}

/// Where an object is written.
#[derive(Serialize)]
struct Origin {
    address: String,
    file: Option<String>,
    line: Option<u32>,
    instance: Option<String>,
}

impl Origin {
    fn of(opened: &Opened, address: &Address) -> Self {
        let (file, line) = opened.file_and_line(address).unzip();
        Self {
            address: address.to_string(),
            file,
            line,
            instance: opened.instance(address).map(ToOwned::to_owned),
        }
    }

    /// `topology/shop.yaml:31, instance n=17`; empty for what no line wrote.
    fn shown(&self) -> String {
        let (Some(file), Some(line)) = (&self.file, self.line) else {
            return String::new();
        };
        let instance = self
            .instance
            .as_ref()
            .map(|instance| format!(", instance {instance}"));
        format!("{file}:{line}{}", instance.unwrap_or_default())
    }
}

impl Line {
    /// A line about an object.
    pub(super) fn at(opened: &Opened, address: &Address, text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            origin: Some(Origin::of(opened, address)),
        }
    }

    /// A line without an origin.
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            origin: None,
        }
    }
}

impl Page {
    pub(super) fn new(name: impl Into<String>, about: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            about: about.into(),
            engine: None,
            origin: None,
            groups: Vec::new(),
        }
    }

    /// Where it is written.
    pub(super) fn at(mut self, opened: &Opened, address: &Address) -> Self {
        self.origin = Some(Origin::of(opened, address));
        self
    }

    pub(super) fn on(mut self, engine: EngineId) -> Self {
        self.engine = Some(engine.name().to_owned());
        self
    }

    /// A group; omitted without lines.
    pub(super) fn group(self, title: &'static str, lines: impl IntoIterator<Item = Line>) -> Self {
        self.push(title, lines, None)
    }

    /// A group with a text for the case that it has no lines.
    pub(super) fn group_or(
        self,
        title: &'static str,
        lines: impl IntoIterator<Item = Line>,
        otherwise: &'static str,
    ) -> Self {
        self.push(title, lines, Some(otherwise))
    }

    fn push(
        mut self,
        title: &'static str,
        lines: impl IntoIterator<Item = Line>,
        otherwise: Option<&'static str>,
    ) -> Self {
        self.groups.push(Group {
            title,
            lines: lines.into_iter().collect(),
            otherwise,
        });
        self
    }

    pub(super) fn show(&self, ui: &Ui) -> Result<Exit, CommandError> {
        if ui.format() == Format::Json {
            ui.json(self)?;
            return Ok(Exit::Done);
        }
        let engine = self.engine.as_ref().map(|engine| format!("  ({engine})"));
        let mut text = format!(
            "{}  {}{}\n",
            ui.strong(&self.name),
            self.about,
            engine.unwrap_or_default()
        );
        if let Some(origin) = &self.origin {
            text.push_str(&format!("  {}  {}\n", origin.address, origin.shown()));
        }
        for group in &self.groups {
            group.append(&mut text);
        }
        ui.data(&text)?;
        Ok(Exit::Done)
    }
}

impl Group {
    fn append(&self, text: &mut String) {
        if self.lines.is_empty() {
            if let Some(otherwise) = self.otherwise {
                text.push_str(&format!("{}\n  {otherwise}\n", self.title));
            }
            return;
        }
        text.push_str(&format!("{}\n", self.title));
        for line in self.lines.iter().take(MAX_LINES) {
            let origin = line.origin.as_ref().map(Origin::shown).unwrap_or_default();
            let shown = format!("  {}   {origin}", line.text);
            text.push_str(&format!("{}\n", shown.trim_end()));
        }
        if self.lines.len() > MAX_LINES {
            text.push_str(&format!("  and {} more\n", self.lines.len() - MAX_LINES));
        }
    }
}
