//! SW208: a placement that a later rule of the same chain always overwrites.

use shardwright_diagnostics::{Proof, Severity};

use super::CheckContext;
use crate::Finding;
use crate::codes::OVERWRITTEN;
use shardwright_prover::RuleSet;
use shardwright_prover::given;
use shardwright_prover::{Condition, Side, Term};
use shardwright_prover::{Domain, Lit};

pub(crate) fn check(context: &CheckContext<'_, '_>, findings: &mut Vec<Finding>) {
    let set = context.set;
    for position in 0..set.rule_count() {
        let Some(condition) = &set.conditions[position] else {
            continue;
        };
        let row = condition.row;
        let goes_on = !row.apply && set.jumps(position).is_empty() && !set.rewrites(position);
        let (Some(example), Some(hostgroup), true) = (
            context.reach.example(position),
            row.destination_hostgroup,
            goes_on,
        ) else {
            continue;
        };
        let Some(overwriter) = overwriter(set, position, condition) else {
            continue;
        };
        let (id, later) = (set.id(position), set.id(overwriter));
        let message = format!(
            "rule {id} places on hostgroup {hostgroup} without apply, and rule {later} always places its statements again"
        );
        let finding = Finding::new(OVERWRITTEN, Severity::Error, Proof::Proved, message)
            .about(
                set,
                &[position, overwriter],
                format!("overwritten by rule {later}"),
            )
            .shown_by(set, example);
        findings.push(finding.help(format!("add `apply: 1` to rule {id}")));
    }
}

/// The first later rule of the chain that matches whatever `condition` does and places it elsewhere, when nothing in
/// between can take or rewrite the statement first.
fn overwriter(set: &RuleSet<'_>, position: usize, condition: &Condition<'_>) -> Option<usize> {
    let chain = set.chain(set.flag_in(position));
    for &later in chain.iter().filter(|&&later| later > position) {
        let other = set.conditions[later].as_ref()?;
        let places = other
            .row
            .destination_hostgroup
            .is_some_and(|to| Some(to) != condition.row.destination_hostgroup);
        if places && covers(set, other, condition) {
            return Some(later);
        }
        if set.takes(later, true) || set.rewrites(later) {
            return None;
        }
    }
    None
}

/// Whether every statement and session that satisfies `inner` satisfies `outer`.
fn covers(set: &RuleSet<'_>, outer: &Condition<'_>, inner: &Condition<'_>) -> bool {
    let (o, i) = (outer.row, inner.row);
    let texts = [
        (&o.username, &i.username),
        (&o.schemaname, &i.schemaname),
        (&o.client_addr, &i.client_addr),
        (&o.proxy_addr, &i.proxy_addr),
    ];
    let same = texts
        .into_iter()
        .all(|(outer, inner)| given(outer).is_none() || given(outer) == given(inner));
    let port = o.proxy_port.is_none() || o.proxy_port == i.proxy_port;
    let digest = o.digest.is_none() || o.digest == i.digest;
    same && port
        && digest
        && outer
            .terms
            .iter()
            .all(|(side, term)| implied(set, *side, term, inner))
}

fn implied(set: &RuleSet<'_>, side: Side, term: &Term, inner: &Condition<'_>) -> bool {
    let Term::Lit(lit) = term else {
        return *term == Term::Always;
    };
    if set.languages.unknown(*lit).is_some() {
        return false;
    }
    let own = inner.terms.iter().filter_map(|(of, term)| match term {
        Term::Lit(lit) if *of == side => Some(*lit),
        _ => None,
    });
    let lits: Vec<Lit> = own.chain([lit.negated()]).collect();
    let domain = if side == Side::Digest {
        Domain::Digest
    } else {
        Domain::Text
    };
    matches!(set.languages.shortest(&lits, domain), Ok(None))
}
