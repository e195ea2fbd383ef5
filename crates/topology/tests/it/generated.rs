//! What is written from the declarations is fresh: the published schemas and the tables of `docs/language`.
//! `cargo xtask generate` writes them.

use std::path::{Path, PathBuf};

use serde_json::Value;
use shardwright_topology::schema;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn check(path: &Path, fresh: &str) {
    if std::env::var_os("SHARDWRIGHT_GENERATE").is_some() {
        std::fs::write(path, fresh).expect("it can be written");
    }
    let kept = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        kept == fresh,
        "{} is stale: `cargo xtask generate` writes it",
        path.display()
    );
}

#[test]
fn the_published_schemas_are_fresh() {
    let text = |schema: &Value| serde_json::to_string_pretty(schema).expect("it is JSON") + "\n";
    for (file, schema) in [
        ("topology.v1.json", schema::topology()),
        ("project.v1.json", schema::project()),
        ("tests.v1.json", schema::tests()),
        ("environment.v1.json", schema::environment()),
    ] {
        check(&root().join("schemas").join(file), &text(&schema));
    }
}

#[test]
fn the_tables_of_the_language_are_fresh() {
    let mut tables = 0;
    for entry in std::fs::read_dir(root().join("docs/language")).expect("the folder is there") {
        let path = entry.expect("it can be read").path();
        let page = std::fs::read_to_string(&path).expect("it is text");
        tables += page.matches("<!-- fields:").count();
        let filled = schema::fill_tables(&page).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
        check(&path, &filled);
    }
    assert!(tables > 30, "{tables} tables are written");
}
