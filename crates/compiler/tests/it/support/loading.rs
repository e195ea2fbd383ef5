//! Projects from the text of their topology.

use shardwright_topology::model::Project;
use shardwright_topology::{InputFile, Loaded, load};

/// A project from the text of its topology; the project file lists both engines.
pub(crate) fn loaded(topology: &str) -> Project {
    loaded_at(topology, None)
}

/// The same at a time.
pub(crate) fn loaded_at(topology: &str, now: Option<jiff::Timestamp>) -> Project {
    let loaded = read(topology, now);
    let told: Vec<&str> = loaded
        .problems
        .sorted()
        .iter()
        .map(|problem| problem.message.as_str())
        .collect();
    loaded.project.unwrap_or_else(|| panic!("{told:#?}"))
}

/// What loading the text of a topology comes to, with or without a project.
pub(crate) fn read(topology: &str, now: Option<jiff::Timestamp>) -> Loaded {
    let file = |path: &str, text: &str| InputFile {
        path: path.to_owned(),
        bytes: text.as_bytes().to_vec(),
    };
    let project = "version: 1\nengines: [bundled, proxysql-2.7]\n";
    let files = vec![
        file("shardwright.yaml", project),
        file("topology/t.yaml", topology),
    ];
    let options = shardwright_topology::Options {
        now,
        ..shardwright_topology::Options::default()
    };
    load(files, &options)
}
