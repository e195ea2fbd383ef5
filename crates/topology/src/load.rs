//! From the files of a project to what they mean.

use std::collections::BTreeMap;

use shardwright_diagnostics::{Problems, Sources};

use crate::model::Project;

/// The name of the project file.
pub const PROJECT_FILE: &str = "shardwright.yaml";

/// A file of a project: its path as people shall see it, and its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputFile {
    /// Relative to the project, with `/` between its parts.
    pub path: String,
    /// The content.
    pub bytes: Vec<u8>,
}

/// What is said beside the files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Values for `variables`, which take the place of their defaults (`--var NAME=VALUE`).
    pub variables: BTreeMap<String, String>,
}

/// Where the worst problem stands, which decides the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// In a document of the topology: 65.
    Document,
    /// In the project file, or there is none: 78.
    ProjectFile,
}

/// The outcome of loading.
#[derive(Debug)]
pub struct Loaded {
    /// The project; none while a problem is an error.
    pub project: Option<Project>,
    /// All problems.
    pub problems: Problems,
    /// The files that spans point into.
    pub sources: Sources,
    /// Where the errors stand; none where there are none.
    pub fault: Option<Fault>,
}

/// Resolves the files of a project.
#[must_use]
pub fn load(_files: Vec<InputFile>, _options: &Options) -> Loaded {
    Loaded {
        project: None,
        problems: Problems::new(),
        sources: Sources::new(),
        fault: Some(Fault::ProjectFile),
    }
}
