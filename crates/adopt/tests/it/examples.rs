//! What is compiled and imported again is the same.

use std::path::Path;

use shardwright_compiler::compile;
use shardwright_rules::EngineId;
use shardwright_targets::emit;
use shardwright_topology::{Options, read_project};

use crate::support::{adopted, assert_same_routing, files, imported};

/// The examples of the repository that compile for ProxySQL, as scripts for its admin port.
fn examples() -> Vec<(String, String)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut examples = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let loaded = read_project(&path, &Options::default());
        let Some(project) = loaded.project else { continue };
        let compiled = compile(
            &project,
            EngineId::Proxysql27,
            &Default::default(),
            &Default::default(),
        );
        if !compiled.problems.has_errors() {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            examples.push((name, emit::sql(&compiled.configuration).unwrap()));
        }
    }
    examples.sort();
    assert!(examples.len() >= 8, "{}", examples.len());
    examples
}

#[test]
fn what_is_compiled_and_imported_is_proved_equal() {
    for (name, sql) in examples() {
        let file = imported(&sql);
        let adopted = adopted(&file);
        let unexplained: Vec<_> = adopted
            .differences
            .iter()
            .filter(|one| one.why.is_none())
            .collect();
        assert!(
            unexplained.is_empty(),
            "{name}: {unexplained:?}\n{}",
            files(&adopted)
        );
        assert!(adopted.unwritten.is_empty(), "{name}: {:?}", adopted.unwritten);
        assert_same_routing(&file, &adopted, &name);
    }
}
