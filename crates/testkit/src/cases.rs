//! How many cases a test of random inputs tries.

/// So many cases, or as many as `PROPTEST_CASES` says.
#[must_use]
pub fn cases(usual: u32) -> u32 {
    let asked = std::env::var("PROPTEST_CASES")
        .ok()
        .and_then(|text| text.parse().ok());
    asked.unwrap_or(usual)
}
