//! The published schemas are those of this program.

use std::path::Path;

/// `cargo xtask generate` writes the files.
#[test]
fn the_files_are_fresh() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas");
    for (name, schema) in shardwright_targets::schemas() {
        let path = folder.join(name);
        if std::env::var_os("SHARDWRIGHT_GENERATE").is_some() {
            std::fs::write(&path, &schema).unwrap();
        }
        let published = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            published == schema,
            "schemas/{name} is stale: `cargo xtask generate` writes it"
        );
    }
}
