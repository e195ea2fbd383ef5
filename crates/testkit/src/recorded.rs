//! What a running ProxySQL 2.7.1 has answered, as `tests/engine-answers/README.md` describes it: for tests on machines without one.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use serde_json::Value;

/// The records of `tests/engine-answers/NAME.jsonl.gz`, in their order.
///
/// # Panics
///
/// Where the file cannot be read: the repository has it.
pub fn recorded(name: &str) -> impl Iterator<Item = Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/engine-answers");
    let path = folder.join(format!("{name}.jsonl.gz"));
    let file = File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let lines = BufReader::new(GzDecoder::new(file)).lines();
    lines.map(move |line| {
        let line = line.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    })
}

/// The bytes of a field: its text, or under `FIELD_b64` what is no UTF-8.
///
/// # Panics
///
/// Where the field under `FIELD_b64` is no base64.
#[must_use]
pub fn recorded_bytes(record: &Value, field: &str) -> Option<Vec<u8>> {
    if let Some(text) = record.get(field).and_then(Value::as_str) {
        return Some(text.as_bytes().to_vec());
    }
    let coded = record.get(format!("{field}_b64"))?.as_str()?;
    Some(STANDARD.decode(coded).expect("a record has base64 there"))
}
