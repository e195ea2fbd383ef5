//! Problems with their locator resolved: the value that every report file is written from.

use crate::{
    Applicability, Code, CodeDoc, Counts, Diagnostic, Note, Position, Problems, Proof, Severity, Sources,
    Span, Witness,
};

use super::quotes::without_hidden;
use super::text;

/// Everything that a run has to report, free of the sources.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// The kept problems in file order.
    pub findings: Vec<Finding>,
    /// All problems, those not kept included.
    pub counts: Counts,
    /// What was tested besides; empty for commands that test nothing.
    pub cases: Vec<Case>,
    /// How much of what was asked could be decided, by rule set; empty for commands that ask nothing of that kind.
    pub decided: Vec<Decided>,
    /// Why the run could not do its job, where it could not.
    pub failure: Option<String>,
    /// How the run ended; `None` while it goes on. Every form of the report agrees with it.
    pub ending: Option<Ending>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending {
    /// The exit code of the program.
    pub code: u8,
    /// What the code means, for people.
    pub meaning: &'static str,
    /// The code is about findings: warnings may be the reason for it.
    pub is_about_findings: bool,
}

/// How many rules of one rule set it is known of whether a statement can match them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided {
    /// An engine, or a file.
    pub rule_set: String,
    /// Rules that were asked about.
    pub asked: usize,
    /// Those that a statement or a proof was found for.
    pub decided: usize,
    /// What kept the others from being decided; empty if all are.
    pub undecided: Vec<Undecided>,
}

/// A construct that keeps rules from being decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undecided {
    /// For people.
    pub construct: String,
    /// The rules, ascending.
    pub rule_ids: Vec<u32>,
}

impl Decided {
    /// The part that is decided, from 0 to 1; 1 where nothing was asked.
    #[must_use]
    pub fn share(&self) -> f64 {
        match self.asked {
            0 => 1.0,
            asked => self.decided as f64 / asked as f64,
        }
    }
}

/// What a report says of the program that wrote it.
#[derive(Clone, Copy, Debug)]
pub struct Tool<'a> {
    /// The command that ran, such as `validate`.
    pub command: &'a str,
    /// The program's version.
    pub version: &'a str,
    /// Pages of the codes that may occur.
    pub pages: &'a [CodeDoc],
}

/// One problem.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// What kind of problem.
    pub code: Code,
    /// How bad it is.
    pub severity: Severity,
    /// On what ground the claim stands.
    pub proof: Option<Proof>,
    /// One line without a full stop.
    pub message: String,
    /// Where it is.
    pub location: Option<Location>,
    /// What is said at that place; may be empty.
    pub label: String,
    /// Other locator that matter, with what is said there.
    pub related: Vec<(Location, String)>,
    /// Lines below the excerpt.
    pub notes: Vec<Note>,
    /// The generator instance it was found in.
    pub instance: Option<String>,
    /// How many further instances have it too.
    pub more_instances: u32,
    /// The object it is about.
    pub address: Option<String>,
    /// The compiled rules it is about.
    pub rule_ids: Vec<u32>,
    /// A statement that shows it.
    pub witness: Option<Witness>,
    /// What would put it right.
    pub fix: Option<PlacedFix>,
    /// What [`super::text`] shows, without colour.
    pub rendered: String,
}

/// A part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The file, from the directory that the program was started in.
    pub path: String,
    /// The first character.
    pub start: Position,
    /// The place after the last character.
    pub end: Position,
}

/// Edits that put a problem right together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedFix {
    /// Whether it may be made without asking.
    pub applicability: Applicability,
    /// What is replaced, and by what.
    pub edits: Vec<(Location, String)>,
}

/// Something that was tested and either held or did not, for reports of tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// The group that it belongs to, such as the file of the test.
    pub suite: String,
    /// Its name in the group.
    pub name: String,
    /// How it ended.
    pub outcome: CaseOutcome,
}

/// How a test ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CaseOutcome {
    /// It held.
    Passed,
    /// It did not hold; findings say where and why.
    Failed,
}

impl Report {
    /// The problems of one set of sources. Paths get `directory` in front: where the paths of the sources start,
    /// seen from where the program was started; empty or `.` for the same place.
    #[must_use]
    pub fn new(problems: &Problems, sources: &Sources, directory: &str) -> Self {
        let locator = Locator { sources, directory };
        let findings = problems
            .sorted()
            .into_iter()
            .map(|diagnostic| locator.finding(diagnostic));
        Self {
            findings: findings.collect(),
            counts: problems.counts(),
            ..Self::default()
        }
    }

    /// Whether the run ended with exit code 0.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.ending.is_some_and(|ending| ending.code == 0)
    }

    /// How the run ended, if it did not succeed and nothing else in the report is the reason.
    #[must_use]
    pub fn unexplained_ending(&self) -> Option<String> {
        let ending = self.ending.filter(|ending| ending.code != 0)?;
        let is_explained = self.failure.is_some()
            || self.counts.error > 0
            || (ending.is_about_findings && self.counts.warning > 0);
        (!is_explained).then(|| format!("exit code {}: {}", ending.code, ending.meaning))
    }

    /// Adds what another report holds behind what this one holds.
    pub fn append(&mut self, other: Self) {
        self.findings.extend(other.findings);
        self.counts.error += other.counts.error;
        self.counts.warning += other.counts.warning;
        self.counts.info += other.counts.info;
        self.cases.extend(other.cases);
        self.decided.extend(other.decided);
        self.failure = self.failure.take().or(other.failure);
    }
}

impl Finding {
    /// The message with the lines below the excerpt and the instance, for readers that show nothing else.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = self.message.clone();
        for note in &self.notes {
            text.push_str(&format!("\n{}: {}", note.kind.name(), note.text));
        }
        match (&self.instance, self.more_instances) {
            (Some(instance), 0) => text.push_str(&format!("\nin instance {instance}")),
            (Some(instance), more) => text.push_str(&format!("\nin instance {instance} and {more} more")),
            (None, _) => {}
        }
        text
    }
}

struct Locator<'a> {
    sources: &'a Sources,
    directory: &'a str,
}

impl Locator<'_> {
    fn finding(&self, diagnostic: &Diagnostic) -> Finding {
        let diagnostic = &*without_hidden(diagnostic, self.sources);
        let related = diagnostic
            .secondary
            .iter()
            .map(|label| (self.location(label.span), label.text.clone()));
        let primary = diagnostic.primary.as_ref();
        Finding {
            code: diagnostic.code,
            severity: diagnostic.severity,
            proof: diagnostic.proof,
            message: diagnostic.message.clone(),
            location: primary.map(|label| self.location(label.span)),
            label: primary.map(|label| label.text.clone()).unwrap_or_default(),
            related: related.collect(),
            notes: diagnostic.notes.clone(),
            instance: diagnostic.instance.clone(),
            more_instances: diagnostic.more_instances,
            address: diagnostic.address.clone(),
            rule_ids: diagnostic.rule_ids.clone(),
            witness: diagnostic.witness.clone(),
            fix: diagnostic.fix.as_ref().map(|fix| PlacedFix {
                applicability: fix.applicability,
                edits: fix
                    .edits
                    .iter()
                    .map(|edit| (self.location(edit.span), edit.text.clone()))
                    .collect(),
            }),
            rendered: text::render_one(diagnostic, self.sources, false),
        }
    }

    fn location(&self, span: Span) -> Location {
        let path = self.sources.path(span.file);
        let directory = self.directory.trim_end_matches('/');
        Location {
            path: match directory {
                "" if self.directory.is_empty() => path.to_owned(),
                "." => path.to_owned(),
                _ => format!("{}/{path}", directory.strip_prefix("./").unwrap_or(directory)),
            },
            start: self.sources.position(span),
            end: self.sources.end_position(span),
        }
    }
}
