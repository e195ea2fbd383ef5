//! Where output goes: data to standard output, everything else to standard error.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::io::{self, IsTerminal, Write};

use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use shardwright_diagnostics::render::text::Style;
use shardwright_diagnostics::{Case, Decided, Problems, Report, Sources, render};

use crate::args::{Annotate, Color, Format, Global, ReportFile};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::reports;

/// All output of a command.
pub(crate) struct Ui {
    format: Format,
    color_out: bool,
    color_err: bool,
    /// The terminal draws letters only (`TERM=dumb`).
    is_dumb: bool,
    quiet: bool,
    verbose: bool,
    notes: bool,
    /// Where the paths of problems start, seen from where the program was started.
    directory: String,
    annotate: Option<Annotate>,
    reports: Vec<ReportFile>,
    /// What was found and reported so far.
    found: RefCell<Reported>,
    /// Something was written to standard output.
    has_result: Cell<bool>,
}

#[derive(Default)]
struct Reported {
    /// Recognises a problem that was reported before, such as one of two engines.
    problems: Problems,
    report: Report,
}

impl Ui {
    pub(crate) fn new(global: &Global) -> Self {
        let decide = |terminal: bool| match global.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
        };
        Self {
            format: global.format,
            color_out: decide(io::stdout().is_terminal()),
            color_err: decide(io::stderr().is_terminal()),
            is_dumb: std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb"),
            quiet: global.quiet,
            verbose: global.verbose,
            notes: global.notes || global.verbose,
            directory: global.directory.to_string_lossy().into_owned(),
            annotate: global.annotate,
            reports: global.reports.clone(),
            found: RefCell::default(),
            has_result: Cell::new(false),
        }
    }

    /// Takes problems into the reports of the run; those that were not found before, which are to be shown.
    pub(crate) fn found(&self, problems: &Problems, sources: &Sources) -> Problems {
        let mut found = self.found.borrow_mut();
        let new = found.problems.append_new(problems);
        if self.annotate.is_some() || !self.reports.is_empty() || self.format == Format::Json {
            found.report.append(Report::new(&new, sources, &self.directory));
        }
        new
    }

    /// Reports for how many rules reachability could be decided, also in the report files of the run.
    pub(crate) fn decided(&self, decided: Decided) {
        self.status(&format!(
            "{}: reachability decided for {} of {}",
            decided.rule_set,
            decided.decided,
            counted(decided.asked, "rule")
        ));
        for undecided in &decided.undecided {
            let rules = undecided.rule_ids.len();
            self.status(&format!(
                "  undecided for {}: {}",
                counted(rules, "rule"),
                undecided.construct
            ));
        }
        let known = &mut self.found.borrow_mut().report.decided;
        known.retain(|known| known.rule_set != decided.rule_set);
        known.push(decided);
    }

    /// What was found as JSON, with what could be decided.
    pub(crate) fn found_json(&self, problems: &Problems, sources: &Sources) -> String {
        let mut report = Report::new(&self.found(problems, sources), sources, "");
        report.decided.clone_from(&self.found.borrow().report.decided);
        render::json::write(&report)
    }

    /// What was found as JSON, with the fields of a command's own result.
    pub(crate) fn found_with(
        &self,
        problems: &Problems,
        sources: &Sources,
        fields: serde_json::Value,
    ) -> Result<(), CommandError> {
        self.found(problems, sources);
        let rendered = render::json::render(problems, sources);
        let mut answer: serde_json::Value = serde_json::from_str(&rendered)
            .map_err(|error| CommandError::internal(format!("cannot read back the findings: {error}")))?;
        if let (Some(answer), serde_json::Value::Object(fields)) = (answer.as_object_mut(), fields) {
            answer.extend(fields);
        }
        self.json(&answer)
    }

    /// Takes a test into the reports of the run.
    pub(crate) fn tested(&self, case: impl FnOnce() -> Case) {
        if !self.reports.is_empty() {
            self.found.borrow_mut().report.cases.push(case());
        }
    }

    /// Takes the reason why the command could not do its job into the reports of the run.
    pub(crate) fn failed(&self, why: &str) {
        self.found
            .borrow_mut()
            .report
            .failure
            .get_or_insert_with(|| why.to_owned());
    }

    /// Writes the reports of the run, and with `--format json` the document of a command that has no result of its own; nothing
    /// is found after it.
    pub(crate) fn finish(&self, command: &str, exit: Exit) -> Result<(), CommandError> {
        self.found.borrow_mut().report.ending = Some(exit.ending());
        let found = self.found.borrow();
        if self.annotate == Some(Annotate::Github) {
            let annotations = render::github::write(&found.report);
            if !annotations.is_empty() {
                self.message(&annotations);
            }
        }
        let written = reports::write(&self.reports, &found.report, command);
        if self.format == Format::Json && !self.has_result.get() {
            self.data(&render::json::write(&found.report))?;
        }
        written
    }

    pub(crate) fn format(&self) -> Format {
        self.format
    }

    pub(crate) fn color_out(&self) -> bool {
        self.color_out
    }

    /// How problems are drawn on standard output.
    pub(crate) fn style_out(&self) -> Style {
        self.style(self.color_out)
    }

    /// How problems are drawn on standard error.
    pub(crate) fn style_err(&self) -> Style {
        self.style(self.color_err)
    }

    fn style(&self, colour: bool) -> Style {
        Style {
            colour,
            has_plain_frames: self.is_dumb,
        }
    }

    /// Whether standard error is a person's terminal, so that progress may be drawn on it.
    pub(crate) fn shows_progress(&self) -> bool {
        !self.quiet && io::stderr().is_terminal()
    }

    /// Writes data as it is.
    pub(crate) fn data(&self, text: &str) -> Result<(), CommandError> {
        self.has_result.set(true);
        let mut out = io::stdout().lock();
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            // Whoever reads has enough, as `head` does.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            written => written.map_err(CommandError::output),
        }
    }

    /// Writes data as it comes.
    pub(crate) fn stream<T>(
        &self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<T>,
    ) -> Result<T, CommandError> {
        self.has_result.set(true);
        let mut out = io::BufWriter::new(io::stdout().lock());
        let result = write(&mut out);
        result
            .and_then(|result| out.flush().map(|()| result))
            .map_err(CommandError::output)
    }

    /// Writes data as one JSON document.
    pub(crate) fn json(&self, value: &impl Serialize) -> Result<(), CommandError> {
        let mut text = serde_json::to_string_pretty(value)
            .map_err(|error| CommandError::internal(format!("cannot write JSON: {error}")))?;
        text.push('\n');
        self.data(&text)
    }

    /// Writes a result that is a text whatever the format, such as SQL or HTML; with `--format json` inside a document.
    pub(crate) fn text(&self, text: &str) -> Result<(), CommandError> {
        if self.format == Format::Json {
            return self.json(&serde_json::json!({ "text": text }));
        }
        self.data(text)
    }

    /// Writes problems as a Markdown document.
    pub(crate) fn markdown(&self, problems: &Problems, sources: &Sources) -> Result<(), CommandError> {
        self.data(&render::markdown::write(&Report::new(
            problems,
            sources,
            &self.directory,
        )))
    }

    /// Says that the command writes to standard output as it goes on, in a form of its own, such as one event a line.
    pub(crate) fn streams(&self) {
        self.has_result.set(true);
    }

    /// How far long work is, as `bundled: mutant 3 of 500`, on a person's terminal; hidden elsewhere.
    pub(crate) fn counter(&self, what: String, length: usize) -> ProgressBar {
        if !self.shows_progress() {
            return ProgressBar::hidden();
        }
        let style = ProgressStyle::with_template("{msg} {pos} of {len}").expect("the template is valid");
        ProgressBar::new(length as u64)
            .with_style(style)
            .with_message(what)
    }

    /// Reports progress; silent with `--quiet`.
    pub(crate) fn status(&self, text: &str) {
        if !self.quiet {
            self.message(text);
        }
    }

    /// Reports details; only with `--verbose`.
    pub(crate) fn detail(&self, text: impl FnOnce() -> String) {
        if self.verbose {
            self.message(&text());
        }
    }

    /// Whether only results and errors are reported.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Whether notes are shown in full.
    pub(crate) fn shows_notes(&self) -> bool {
        self.notes
    }

    /// Whether details are reported.
    pub(crate) fn is_verbose(&self) -> bool {
        self.verbose
    }

    /// Writes to standard error, also with `--quiet`.
    pub(crate) fn message(&self, text: &str) {
        let mut err = io::stderr().lock();
        // Nobody reads a closed standard error.
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

/// Text that somebody else wrote, without what a terminal would obey.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    let obeyed = |letter: char| letter.is_control() && !matches!(letter, '\n' | '\t');
    match text.contains(obeyed) {
        true => Cow::Owned(text.replace(obeyed, "\u{fffd}")),
        false => Cow::Borrowed(text),
    }
}

/// `1 rule`, `2 rules`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}
