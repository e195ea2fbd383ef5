//! Where output goes: data to standard output, everything else to standard error.

use std::io::{self, IsTerminal, Write};

use clap::ValueEnum;
use serde::Serialize;

use crate::error::CommandError;

/// `--format`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    #[default]
    Human,
    /// One JSON document
    Json,
    /// For a comment on a change
    Markdown,
}

/// `--color`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// All output of a command.
pub(crate) struct Ui {
    format: Format,
    color_out: bool,
    color_err: bool,
    quiet: bool,
}

impl Ui {
    pub(crate) fn new(format: Format, color: Color, quiet: bool) -> Self {
        let decide = |terminal: bool| match color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
        };
        Self {
            format,
            color_out: decide(io::stdout().is_terminal()),
            color_err: decide(io::stderr().is_terminal()),
            quiet,
        }
    }

    pub(crate) fn format(&self) -> Format {
        self.format
    }

    pub(crate) fn color_out(&self) -> bool {
        self.color_out
    }

    pub(crate) fn color_err(&self) -> bool {
        self.color_err
    }

    /// Whether standard error is a person's terminal, so that progress may be drawn on it.
    pub(crate) fn shows_progress(&self) -> bool {
        !self.quiet && io::stderr().is_terminal()
    }

    /// Writes data as it is.
    pub(crate) fn data(&self, text: &str) -> Result<(), CommandError> {
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())
            .and_then(|()| out.flush())
            .map_err(CommandError::output)
    }

    /// Writes data as one JSON document.
    pub(crate) fn json(&self, value: &impl Serialize) -> Result<(), CommandError> {
        let mut text = serde_json::to_string_pretty(value)
            .map_err(|error| CommandError::internal(format!("cannot write JSON: {error}")))?;
        text.push('\n');
        self.data(&text)
    }

    /// Tells how the work goes; silent with `--quiet`.
    pub(crate) fn status(&self, text: &str) {
        if !self.quiet {
            self.message(text);
        }
    }

    /// Tells what must be told.
    pub(crate) fn message(&self, text: &str) {
        let mut err = io::stderr().lock();
        // A closed standard error leaves nobody to tell.
        let _ = writeln!(err, "{}", text.trim_end_matches('\n'));
    }

    /// `text` in bold where standard output is coloured.
    pub(crate) fn strong(&self, text: &str) -> String {
        if self.color_out {
            format!("\u{1b}[1m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }

    /// `text` dimmed where standard output is coloured.
    pub(crate) fn faint(&self, text: &str) -> String {
        if self.color_out {
            format!("\u{1b}[2m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }
}
