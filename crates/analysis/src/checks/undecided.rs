//! SW209: rules of which it is not known whether they can match.

use shardwright_diagnostics::{Proof, Severity};

use super::CheckContext;
use crate::Finding;
use crate::codes::UNDECIDED;
use crate::finding::rules_named;

pub(crate) fn check(context: &CheckContext<'_, '_>, findings: &mut Vec<Finding>) {
    let set = context.set;
    let by_reason = context.reach.undecided();
    if by_reason.is_empty() {
        return;
    }
    let mut positions: Vec<usize> = by_reason.values().flatten().copied().collect();
    positions.sort_unstable();
    let (total, count) = (set.rule_count(), positions.len());
    let message = format!(
        "reachability is undecided for {count} of {total} rules; the others can match, or are reported"
    );
    let mut finding = Finding::new(UNDECIDED, Severity::Info, Proof::Possible, message).about(
        set,
        &positions,
        "neither a statement nor a proof was found",
    );
    for (reason, positions) in by_reason {
        finding = finding.note(format!("{}: {reason}", rules_named(&set.ids(&positions))));
    }
    findings.push(finding);
}
