//! What people see for each kind of mistake. Every file of `tests/invalid` is named for its defect; its
//! diagnostics stand in `tests/snapshots`.

use std::path::Path;

use shardwright_diagnostics::{Problems, Sources, render};
use shardwright_documents::format;
use shardwright_topology::Fault;

#[test]
fn every_defect_is_explained() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/invalid");
    let mut names: Vec<String> = std::fs::read_dir(directory.clone())
        .expect("the corpus is there")
        .map(|entry| {
            entry
                .expect("it can be listed")
                .file_name()
                .into_string()
                .expect("names are plain")
        })
        .collect();
    names.sort();
    assert!(names.len() >= 40, "the corpus holds {} files", names.len());
    for file in names {
        let name = file.strip_suffix(".yaml").expect("only YAML is kept here");
        let fixture = std::fs::read_to_string(directory.join(&file)).expect("it can be read");
        let loaded = crate::support::load_text(name, &fixture);
        let (problems, sources) = match loaded.problems.is_empty() {
            true => formatting(name, &fixture),
            false => (loaded.problems, loaded.sources),
        };
        assert!(!problems.is_empty(), "{name}: nothing is wrong");
        assert_eq!(loaded.project.is_some(), loaded.fault.is_none(), "{name}");
        let fault = match loaded.fault {
            None => "none",
            Some(Fault::Document) => "document",
            Some(Fault::ProjectFile) => "project file",
            Some(Fault::Options) => "options",
        };
        let shown = render::text::render(&problems, &sources, false);
        insta::with_settings!({ snapshot_path => "snapshots/invalid", prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(name, format!("fault: {fault}\n\n{shown}"));
        });
    }
}

/// What `fmt` says of files that load without a problem.
fn formatting(name: &str, fixture: &str) -> (Problems, Sources) {
    let (mut problems, mut sources) = (Problems::new(), Sources::new());
    for file in crate::support::files(name, fixture) {
        problems.append(format(&mut sources, &file.path, &file.bytes).1);
    }
    (problems, sources)
}
