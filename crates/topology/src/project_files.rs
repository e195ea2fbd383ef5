//! The files of a project: where each kind stands, and what is said beside them.

use std::collections::BTreeMap;

use jiff::Timestamp;

/// The name of the project file.
pub const PROJECT_FILE: &str = "shardwright.yaml";
/// The directory of topology files.
pub const TOPOLOGY_DIRECTORY: &str = "topology";
/// The directory of environments, one file each.
pub const ENVIRONMENT_DIRECTORY: &str = "env";
/// The directory of route tests.
pub const TESTS_DIRECTORY: &str = "tests";

/// A file of a project: its path as people shall see it, and its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputFile {
    /// As people shall see it, with `/` between its parts. The file whose name is [`PROJECT_FILE`] outside of
    /// [`TOPOLOGY_DIRECTORY`] is the project file, those under [`TESTS_DIRECTORY`] are route tests, `*.yaml` in
    /// [`ENVIRONMENT_DIRECTORY`] are environments; files whose names end in `.csv` or `.txt` are data files, by their path below
    /// the project's directory; all others are topology files.
    pub path: String,
    /// The content.
    pub bytes: Vec<u8>,
}

/// What is said beside the files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Values for `variables`, which take the place of those of the environment (`--var NAME=VALUE`).
    pub variables: BTreeMap<String, String>,
    /// The environment that is laid over the project (`-e NAME`).
    pub environment: Option<String>,
    /// Whether [`crate::read_project`] reads the route tests too.
    pub route_tests: bool,
    /// The time that expiries such as `until` are compared with; none: they are not.
    pub now: Option<Timestamp>,
}

pub(crate) fn is_project_file(path: &str) -> bool {
    let mut parts = path.rsplit('/');
    parts.next() == Some(PROJECT_FILE) && parts.all(|part| part != TOPOLOGY_DIRECTORY)
}

/// Whether a file holds route tests.
pub(crate) fn is_test_file(path: &str) -> bool {
    let mut parts = path.rsplit('/').skip(1);
    let is_test = parts.clone().any(|part| part == TESTS_DIRECTORY);
    is_test && parts.all(|part| part != TOPOLOGY_DIRECTORY)
}

pub(crate) fn is_environment(path: &str) -> bool {
    environment_name(path).is_some() && path.split('/').all(|part| part != TOPOLOGY_DIRECTORY)
}

/// The name of an environment from the path of its file.
pub(crate) fn environment_name(path: &str) -> Option<&str> {
    let (directory, file) = path.rsplit_once('/')?;
    let in_place = directory.rsplit('/').next() == Some(ENVIRONMENT_DIRECTORY);
    file.strip_suffix(".yaml").filter(|_| in_place)
}
