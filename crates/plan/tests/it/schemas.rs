//! The published schemas are those of this program.

use std::path::Path;

/// `SHARDWRIGHT_WRITE_SCHEMAS=1 cargo test -p shardwright-plan schemas` writes the files.
#[test]
fn the_files_are_fresh() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas");
    for (name, schema) in shardwright_plan::schemas() {
        let path = folder.join(name);
        if std::env::var_os("SHARDWRIGHT_WRITE_SCHEMAS").is_some() {
            std::fs::write(&path, &schema).unwrap();
        }
        let published = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            published == schema,
            "schemas/{name} is stale; run this test with SHARDWRIGHT_WRITE_SCHEMAS=1"
        );
    }
}
