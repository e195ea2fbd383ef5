//! SW248: a mirrored statement on an engine whose firewall is on.

use shardwright_diagnostics::{Proof, Severity};

use super::CheckContext;
use crate::Finding;
use crate::codes::MIRROR_ENDS_ENGINE;

pub(crate) fn check(context: &CheckContext<'_, '_>, findings: &mut Vec<Finding>) {
    let set = context.set;
    let configuration = set.configuration;
    let profile = configuration.engine.profile();
    if !profile.firewalled_mirror_ends_engine || !configuration.firewall_is_on() {
        return;
    }
    // Every user's statements are checked with every rule: a list of another user does it as well.
    let mirrors = |position: &usize| set.row(*position).is_some_and(|row| row.mirrors());
    for position in (0..set.rule_count()).filter(mirrors) {
        if context.reach.is_dead(position) {
            continue;
        }
        let message = format!(
            "rule {} mirrors statements, and the firewall is on: the first copy ends the engine",
            set.id(position)
        );
        let finding = Finding::new(MIRROR_ENDS_ENGINE, Severity::Error, Proof::Possible, message).about(
            set,
            &[position],
            "mirrors",
        );
        findings.push(
            finding
                .note("a copy has no client, and the firewall asserts that there is one")
                .help("remove the mirror, or switch the firewall off"),
        );
    }
}
