//! How problems are shown: one module per format, each a function from problems and sources to text.

mod excerpt;
pub mod json;
pub mod text;
