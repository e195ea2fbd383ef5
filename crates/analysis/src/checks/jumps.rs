//! SW214: a jump to its own chain without restarts; SW233: weights that are never drawn.

use shardwright_diagnostics::{Proof, Severity};

use super::CheckContext;
use crate::Finding;
use crate::codes::{JUMP_TO_ITSELF, WEIGHTS_IGNORED};

pub(crate) fn check(context: &CheckContext<'_, '_>, findings: &mut Vec<Finding>) {
    let set = context.set;
    for (position, row) in set.written() {
        let id = set.id(position);
        if set.iterations() == 0 && !row.apply && row.flag_out == Some(set.flag_in(position)) {
            let (severity, what) = if set.rewrites(position) {
                (
                    Severity::Error,
                    "and replaces one match only: without restarts it is not evaluated again",
                )
            } else {
                (Severity::Warning, "which changes nothing without restarts")
            };
            let message =
                format!("rule {id} jumps to its own chain, {what} (query_processor_iterations is 0)");
            let finding = Finding::new(JUMP_TO_ITSELF, severity, Proof::Proved, message).about(
                set,
                &[position],
                "jumps to itself",
            );
            findings
                .push(finding.help("use the GLOBAL modifier to replace every match, and remove `flagOUT`"));
        }
        let why = match row.flag_out {
            _ if row.flag_outs.is_empty() => continue,
            Some(flag) => format!("flagOUT {flag} is set as well and always wins"),
            None if row.draws().next().is_none() => "all of them are 0, so no jump is made".to_owned(),
            None => continue,
        };
        let message = format!("the weights of rule {id} (flagOUTs) are never drawn: {why}");
        let finding = Finding::new(WEIGHTS_IGNORED, Severity::Warning, Proof::Proved, message).about(
            set,
            &[position],
            "never drawn",
        );
        findings.push(finding.help("keep either `flagOUT` or `flagOUTs`"));
    }
}
