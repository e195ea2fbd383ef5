//! SW245: a user whose name is one of the engine's own administrators.

use shardwright_diagnostics::{Proof, Severity};

use super::CheckContext;
use crate::Finding;
use crate::codes::RESERVED_USER;

pub(crate) fn check(context: &CheckContext<'_, '_>, findings: &mut Vec<Finding>) {
    let configuration = context.set.configuration;
    let profile = configuration.engine.profile();
    // Whoever reads the engine's own tables knows its credentials, and says so there.
    let users = configuration.users.iter();
    for user in users.filter(|user| !user.address.as_str().starts_with("mysql_users.")) {
        let Some(variable) = profile.reserved_by(&user.name, |variable| {
            configuration.variables.get(variable).map(String::as_str)
        }) else {
            continue;
        };
        let message = profile.reserved_message(&user.name, variable);
        let finding = Finding::new(RESERVED_USER, Severity::Error, Proof::Proved, message)
            .at(&user.address, "an administrator's name");
        findings.push(finding.help("give the user another name"));
    }
}
