//! What users write: documents resolved into a topology.
//!
//! [`load`] takes the files of a project and gives a [`model::Project`] with its problems; it does no I/O, and
//! never fails or panics, whatever the bytes. [`read_project`] reads the files of a directory for it.

mod load;
pub mod model;
mod read;

pub use load::{Fault, InputFile, Loaded, Options, PROJECT_FILE, load};
pub use read::read_project;
