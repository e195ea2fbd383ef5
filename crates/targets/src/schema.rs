//! The published schemas of what is told of targets.

use shardwright_plan::schema_of;

use crate::proxysql::DriftReport;

/// Every published schema: the name of its file in `schemas/`, and its text.
pub fn schemas() -> Vec<(&'static str, String)> {
    vec![("drift.v1.json", schema_of::<DriftReport>())]
}
