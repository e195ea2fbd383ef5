//! What users write: documents resolved into a topology.
//!
//! [`load`] takes the files of a project and gives a [`model::Project`] with its problems; it does no I/O, and
//! never fails or panics, whatever the bytes. [`read_project`] reads the files of a directory for it. The steps:
//! files become trees, each tree is checked against its published [`schema`], trees merge, generators run and
//! templates expand, references are looked up, and the keys of shards are checked for gaps and overlaps.

mod allow;
mod codes;
mod context;
mod data;
mod data_files;
mod engine_variables;
mod environment;
mod fields;
mod generate;
mod layers;
mod load;
pub mod model;
mod objects;
mod overlay;
mod patch;
mod project_files;
mod read;
mod reporter;
mod resolve;
pub mod resolved;
pub mod schema;
mod secrets;
mod shape;
mod structure;
pub mod symbols;
mod template;
mod units;
mod variables;
mod view;

pub use codes::CODES;
pub use engine_variables::default_value;
pub use layers::Documents;
pub use load::{Fault, Loaded, load};
pub use project_files::{
    ENVIRONMENT_DIRECTORY, InputFile, Options, PROJECT_FILE, TESTS_DIRECTORY, TOPOLOGY_DIRECTORY,
};
pub use read::{read_project, read_project_with};
pub use units::is_name;
