//! SW211: a rule that jumps to its own chain and matches again.

use shardwright_diagnostics::Severity;

use super::CheckContext;
use crate::Finding;
use crate::codes::SELF_LOOP;

pub(crate) fn check(context: &CheckContext<'_, '_>, findings: &mut Vec<Finding>) {
    let set = context.set;
    let iterations = set.iterations();
    if iterations == 0 {
        return;
    }
    for position in 0..set.rule_count() {
        if context.reach.is_dead(position) || !set.jumps(position).contains(&set.flag_in(position)) {
            continue;
        }
        let Some(restarts) = context.restarts(&[position]) else {
            continue;
        };
        // A rewrite that removes what the rule matches ends the loop: only a statement can show that it does not.
        if !restarts.is_exact() && set.rewrites(position) {
            continue;
        }
        let (id, times) = (set.id(position), restarts.times(1));
        let rewrites = if set.rewrites(position) {
            ", and so does its rewrite"
        } else {
            ""
        };
        let message =
            format!("rule {id} jumps to its own chain and matches again: it runs {times}{rewrites}");
        let mut finding = Finding::new(SELF_LOOP, Severity::Warning, restarts.proof, message).about(
            set,
            &[position],
            "jumps to itself",
        );
        if let Some(example) = restarts.example {
            finding = finding.shown_by(set, &example);
        }
        findings.push(finding.help("remove `flagOUT`, or use the GLOBAL modifier to replace every match"));
    }
}
