//! Which topologies are measured.

use std::path::Path;

use super::cases::Case;
use super::{estates, hand_made};
use crate::BenchError;

/// Cases that are measured together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// `examples/composed`.
    Composed,
    /// 10,000 shards in runs on 100 clusters, reads split.
    Runs,
    /// Every example of the repository.
    Examples,
    /// Shards found by a comment, against a tree of ten branches that refuses nothing.
    HandMade,
}

impl Group {
    /// All, with their names.
    pub const ALL: [(&'static str, Self); 4] = [
        ("composed", Self::Composed),
        ("runs", Self::Runs),
        ("examples", Self::Examples),
        ("hand-made", Self::HandMade),
    ];

    /// The cases, with examples in this directory and these numbers of shards.
    pub(super) fn cases(self, examples: &Path, shards: &[u32]) -> Result<Vec<Case>, BenchError> {
        match self {
            Self::Composed => Ok(vec![super::examples::composed(examples)?]),
            Self::Runs => Ok(vec![estates::runs()?]),
            Self::Examples => super::examples::all(examples),
            Self::HandMade => shards.iter().map(|&shards| hand_made::case(shards)).collect(),
        }
    }
}
