//! What a decision takes, without a proxy around it.

use super::checks::{Bound, Check};
use super::stage::Stage;
use super::{Outcome, Row};
use crate::decisions::bundled_ns;

pub(super) const DECISIONS: Row = Row {
    name: "decisions",
    about: "a statement with a key in a comment decided by the routing table, lexing included, inside one process",
    unit: "decision",
    measure: |stage| Ok(decisions(stage)),
};

fn decisions(stage: &Stage<'_>) -> Outcome {
    let check = |(shards, must, stretch): (u32, f64, f64)| {
        (stage.progress)(&format!("  {shards} shards"));
        Check::of(format!("{shards} shards: ns"), bundled_ns(shards))
            .must(Bound::AtMost(must))
            .stretch(Bound::AtMost(stretch))
    };
    Outcome {
        samples: Vec::new(),
        checks: [(10, 70.0, 50.0), (100_000, 100.0, 80.0)].map(check).into(),
    }
}
