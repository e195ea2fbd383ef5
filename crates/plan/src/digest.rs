//! SHA-256 in the form that plans show it.

use sha2::{Digest, Sha256};

/// SHA-256 in lower-case hexadecimal.
pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
