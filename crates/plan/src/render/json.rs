//! A plan for programs.

use super::summary::summary;
use crate::Plan;

/// The plan in the shape of `schemas/plan-summary.v1.json`, indented, with a line break at its end.
pub fn json(plan: &Plan) -> String {
    let mut out = serde_json::to_string_pretty(&summary(plan))
        .expect("a summary has string keys only, so JSON can hold it");
    out.push('\n');
    out
}
