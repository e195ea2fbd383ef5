//! SW210: flags that jumps lead around in a circle.

use shardwright_diagnostics::Severity;

use super::CheckContext;
use crate::Finding;
use crate::codes::CYCLE;

pub(crate) fn check(context: &CheckContext<'_, '_>, findings: &mut Vec<Finding>) {
    let set = context.set;
    let iterations = set.iterations();
    if iterations == 0 {
        return;
    }
    for cycle in set.cycles().into_iter().filter(|cycle| cycle.len() > 1) {
        let inside = |flag: &u32| cycle.contains(flag);
        let jumps: Vec<usize> = (0..set.rule_count())
            .filter(|&position| {
                cycle.contains(&set.flag_in(position)) && set.jumps(position).iter().any(inside)
            })
            .filter(|&position| !context.reach.is_dead(position))
            .collect();
        let Some(restarts) = context.restarts(&jumps) else {
            continue;
        };
        let flags: Vec<String> = cycle.iter().map(u32::to_string).collect();
        let work = (u64::from(iterations) + 1) * set.rule_count() as u64;
        let message = format!(
            "flags {} jump to each other in a circle: a statement in it restarts {}, up to {work} rules are evaluated, and then the next rule that matches decides",
            flags.join(", "),
            restarts.times(0)
        );
        let mut finding = Finding::new(CYCLE, Severity::Warning, restarts.proof, message).about(
            set,
            &jumps,
            "jumps in a circle",
        );
        if let Some(example) = restarts.example {
            finding = finding.shown_by(set, &example);
        }
        findings.push(finding.help("set `apply: 1` on one of the rules, or let it jump out of the circle"));
    }
}
