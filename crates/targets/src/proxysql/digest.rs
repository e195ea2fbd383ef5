//! Digests of rows.

use std::collections::BTreeMap;

use serde_json::Value;
use sha2::{Digest, Sha256};
use shardwright_plan::Facts;

/// SHA-256 in lower-case hexadecimal.
pub(super) fn sha256_hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

pub(super) fn sorted(facts: &Facts) -> Value {
    let sorted: BTreeMap<&String, &Value> = facts.iter().collect();
    serde_json::to_value(sorted).expect("texts and numbers are JSON")
}
