//! How problems are shown: one module per format. `text` and `json` take problems and sources; the formats of report
//! files take a [`Report`].

mod excerpt;
pub mod github;
pub mod json;
pub mod junit;
pub mod markdown;
mod quotes;
mod report;
pub mod sarif;
pub mod text;

pub use report::{Case, CaseOutcome, Decided, Ending, Finding, Location, PlacedFix, Report, Tool, Undecided};
