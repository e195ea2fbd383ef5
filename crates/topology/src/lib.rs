//! What users write: documents resolved into a topology.
//!
//! [`load`] takes the files of a project and gives a [`model::Project`] with its problems; it does no I/O, and
//! never fails or panics, whatever the bytes. [`read_project`] reads the files of a directory for it. The steps:
//! files become trees, each tree is checked against its published [`schema`], trees merge, generators run and
//! templates expand, references are looked up, and the keys of shards are checked for gaps and overlaps.
//!
//! The rooms, each of which uses only earlier ones: [`fields`] (how a field is declared), [`model`] (the result), [`tree`]
//! (files as one tree), [`resolve`] (the tree as objects, with every field beside its reader), [`schema`] (the published
//! schemas), [`mod@load`] (the steps), [`editor`] (what tools ask).

mod codes;
mod editor;
mod engine_variables;
mod fields;
mod load;
pub mod model;
mod project_files;
mod reporter;
mod resolve;
pub mod schema;
mod template;
mod tree;
mod units;

pub use codes::CODES;
pub use editor::{resolved, symbols};
pub use engine_variables::{NoSetting, SettingValue, default_value, setting};
pub use load::{Documents, Fault, Loaded, load, read_project, read_project_with};
pub use project_files::{
    ENVIRONMENT_DIRECTORY, InputFile, Options, PROJECT_FILE, TESTS_DIRECTORY, TOPOLOGY_DIRECTORY,
};
pub use units::is_name;
