//! Source files, spans, codes and severities of findings, and how they are shown.
//!
//! Every stage takes a value and gives a value with its [`Problems`]; a problem of user input is a
//! [`Diagnostic`], never an `Err`. Spans are byte ranges into [`Sources`]; they become lines and columns only
//! when a renderer of [`render`] shows them.

mod boundary;
mod code;
mod diagnostic;
mod problems;
pub mod render;
mod secret_places;
mod shortened;
mod source;
mod suggest;

pub use code::{Code, CodeDoc};
pub use diagnostic::{Applicability, Diagnostic, Edit, Fix, Label, Note, NoteKind, Proof, Witness};
pub use problems::{Counts, MAX_KEPT, Problems};
pub use render::{Case, CaseOutcome, Decided, Ending, Finding, Location, PlacedFix, Report, Tool, Undecided};
pub use secret_places::without_secrets;
pub use shardwright_vocabulary::Severity;
pub use shortened::shortened;
pub use source::{FileId, Position, Sources, Span};
pub use suggest::did_you_mean;
