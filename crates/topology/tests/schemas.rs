//! The published schemas are the ones that files are checked against, and describe every property.

use std::path::Path;

use serde_json::Value;
use shardwright_topology::schema;

fn published(file: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../schemas")
        .join(file)
}

/// `UPDATE_SCHEMAS=1 cargo test -p shardwright-topology --test schemas` writes them.
fn check_fresh(file: &str, schema: &Value) {
    let fresh = serde_json::to_string_pretty(schema).expect("it is JSON") + "\n";
    if std::env::var_os("UPDATE_SCHEMAS").is_some() {
        std::fs::write(published(file), &fresh).expect("it can be written");
    }
    let kept = std::fs::read_to_string(published(file)).unwrap_or_default();
    assert!(
        kept == fresh,
        "schemas/{file} is stale: run with UPDATE_SCHEMAS=1 to write it"
    );
}

#[test]
fn the_published_schemas_are_fresh() {
    check_fresh("topology.v1.json", &schema::topology());
    check_fresh("project.v1.json", &schema::project());
    check_fresh("tests.v1.json", &schema::tests());
    check_fresh("environment.v1.json", &schema::environment());
}

#[test]
fn the_schemas_are_valid() {
    for schema in [
        schema::topology(),
        schema::project(),
        schema::tests(),
        schema::environment(),
    ] {
        assert!(jsonschema::draft202012::meta::is_valid(&schema));
    }
}

#[test]
fn every_property_is_described() {
    fn check(schema: &Value, path: &str, root: &Value) {
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let path = format!("{path}.{name}");
            let target = property["$ref"]
                .as_str()
                .and_then(|target| root.pointer(&target[1..]));
            let described = [Some(property), target].into_iter().flatten();
            let described = described
                .filter_map(|schema| schema["description"].as_str())
                .any(|text| !text.is_empty());
            assert!(described, "{path} has no description");
        }
        match schema {
            Value::Object(parts) => parts
                .iter()
                .for_each(|(name, part)| check(part, &format!("{path}/{name}"), root)),
            Value::Array(parts) => parts.iter().for_each(|part| check(part, path, root)),
            _ => {}
        }
    }
    for schema in [
        schema::topology(),
        schema::project(),
        schema::tests(),
        schema::environment(),
    ] {
        check(&schema, "", &schema);
    }
}
