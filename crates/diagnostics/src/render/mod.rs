//! How problems are shown: one module per format. `text` and `json` take problems and sources; the formats of report
//! files take a [`crate::Report`].

mod excerpt;
pub mod github;
pub mod json;
pub mod junit;
pub mod markdown;
pub mod sarif;
pub mod text;
