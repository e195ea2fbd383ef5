//! One problem: what, where, why, and what would put it right.

use std::fmt;

use serde::Serialize;
use shardwright_vocabulary::Severity;

use crate::{Code, Span};

/// On what ground a claim about routing stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Proof {
    /// True for every statement and session.
    Proved,
    /// A concrete statement shows it, re-run on the evaluator.
    Witnessed,
    /// Neither proved nor refuted.
    Possible,
}

/// A place in the sources and what to say at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The text to underline.
    pub span: Span,
    /// What to say there; may be empty.
    pub text: String,
}

/// What a note line tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NoteKind {
    /// A statement that shows the problem.
    Example,
    /// Where that statement goes, and where it should.
    GoesTo,
    /// What would put it right.
    Help,
    /// The effect of the fix that the diagnostic carries.
    Fix,
    /// Where to read on.
    More,
    /// Background.
    Note,
}

impl NoteKind {
    /// The word before the colon.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Example => "example",
            Self::GoesTo => "goes to",
            Self::Help => "help",
            Self::Fix => "fix",
            Self::More => "more",
            Self::Note => "note",
        }
    }
}

/// A line below the source excerpt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// What the line tells.
    pub kind: NoteKind,
    /// The line without its kind; may hold line ends.
    pub text: String,
}

/// A statement and session for which the claim holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Witness {
    /// The user of the session.
    pub user: String,
    /// Its default schema; may be empty.
    pub schema: String,
    /// The statement.
    pub query: String,
}

/// On one line, as notes show it: `user=app schema=shop  SELECT 1`.
impl fmt::Display for Witness {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "user={}", self.user)?;
        if !self.schema.is_empty() {
            write!(formatter, " schema={}", self.schema)?;
        }
        write!(formatter, " ")?;
        self.query
            .split_whitespace()
            .try_for_each(|word| write!(formatter, " {word}"))
    }
}

/// Whether a fix may be made without asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Applicability {
    /// Proved not to change routing.
    Safe,
    /// Changes where statements go, or may lose something.
    Unsafe,
}

/// Replace the text of `span` by `text`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// What is replaced; an empty span inserts.
    pub span: Span,
    /// The new text.
    pub text: String,
}

/// Edits that put a problem right together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// Whether it may be made without asking.
    pub applicability: Applicability,
    /// Edits that do not overlap.
    pub edits: Vec<Edit>,
}

/// One problem of the user's input, or one finding about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// What kind of problem.
    pub code: Code,
    /// How bad it is.
    pub severity: Severity,
    /// On what ground the claim stands, where it is one about routing.
    pub proof: Option<Proof>,
    /// One line without a full stop.
    pub message: String,
    /// Where the problem is.
    pub primary: Option<Label>,
    /// Other places that matter.
    pub secondary: Vec<Label>,
    /// Lines below the excerpt, in this order.
    pub notes: Vec<Note>,
    /// The generator instance it was found in, such as `n=137`.
    pub instance: Option<String>,
    /// How many further instances have the same problem at the same place.
    pub more_instances: u32,
    /// The object it is about, such as `shard_maps.tenants.shards.t137`.
    pub address: Option<String>,
    /// The compiled rules it is about.
    pub rule_ids: Vec<u32>,
    /// A statement that shows it.
    pub witness: Option<Witness>,
    /// What would put it right.
    pub fix: Option<Fix>,
    /// The known name that the one at the place was probably meant to be.
    pub meant: Option<String>,
}

impl Diagnostic {
    /// A problem of the given severity without a place.
    #[must_use]
    pub fn new(severity: Severity, code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            severity,
            proof: None,
            message: message.into(),
            primary: None,
            secondary: Vec::new(),
            notes: Vec::new(),
            instance: None,
            more_instances: 0,
            address: None,
            rule_ids: Vec::new(),
            witness: None,
            fix: None,
            meant: None,
        }
    }

    /// An error without a place.
    #[must_use]
    pub fn error(code: Code, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, message)
    }

    /// A warning without a place.
    #[must_use]
    pub fn warning(code: Code, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, message)
    }

    /// An information without a place.
    #[must_use]
    pub fn info(code: Code, message: impl Into<String>) -> Self {
        Self::new(Severity::Info, code, message)
    }

    /// Where the problem is.
    #[must_use]
    pub fn at(mut self, span: Span, label: impl Into<String>) -> Self {
        self.primary = Some(Label {
            span,
            text: label.into(),
        });
        self
    }

    /// Another place that matters.
    #[must_use]
    pub fn also(mut self, span: Span, label: impl Into<String>) -> Self {
        self.secondary.push(Label {
            span,
            text: label.into(),
        });
        self
    }

    /// Background.
    #[must_use]
    pub fn note(self, text: impl Into<String>) -> Self {
        self.with_note(NoteKind::Note, text)
    }

    /// What would put it right.
    #[must_use]
    pub fn help(self, text: impl Into<String>) -> Self {
        self.with_note(NoteKind::Help, text)
    }

    /// "did you mean `X`?" where there is an X.
    #[must_use]
    pub fn did_you_mean(self, candidate: Option<&str>) -> Self {
        match candidate {
            Some(candidate) => Self {
                meant: Some(candidate.to_owned()),
                ..self.help(format!("did you mean `{candidate}`?"))
            },
            None => self,
        }
    }

    /// A line of any kind.
    #[must_use]
    pub fn with_note(mut self, kind: NoteKind, text: impl Into<String>) -> Self {
        self.notes.push(Note {
            kind,
            text: text.into(),
        });
        self
    }

    /// On what ground the claim stands.
    #[must_use]
    pub fn proof(mut self, proof: Proof) -> Self {
        self.proof = Some(proof);
        self
    }

    /// The generator instance it was found in.
    #[must_use]
    pub fn instance(mut self, instance: impl Into<String>) -> Self {
        self.instance = Some(instance.into());
        self
    }

    /// The object it is about.
    #[must_use]
    pub fn address(mut self, address: impl Into<String>) -> Self {
        self.address = Some(address.into());
        self
    }

    /// The compiled rules it is about.
    #[must_use]
    pub fn rule_ids(mut self, rule_ids: impl IntoIterator<Item = u32>) -> Self {
        self.rule_ids.extend(rule_ids);
        self
    }

    /// A statement that shows it; a note repeats it in the text.
    #[must_use]
    pub fn witness(mut self, witness: Witness) -> Self {
        self = self.with_note(NoteKind::Example, witness.to_string());
        self.witness = Some(witness);
        self
    }

    /// What would put it right.
    #[must_use]
    pub fn fix(mut self, applicability: Applicability, edits: Vec<Edit>) -> Self {
        self.fix = Some(Fix { applicability, edits });
        self
    }
}
