//! Users.

use shardwright_rules::{ClientTls, EngineId, HostgroupId, SecretReference, User};
use shardwright_topology::model::{Annotations, OriginId, SecretSource, User as Account};

use crate::diagnostics::{DIFFERENCE, Diagnostics, UNSUPPORTED};
use shardwright_diagnostics::Severity;

/// A user as engines know it.
pub(super) fn user(user: &Account, default_hostgroup: HostgroupId, report: &mut Diagnostics<'_>) -> User {
    let password = password(&user.password.source, user.origin, report);
    if user.password.previous.is_some() {
        let message = format!(
            "{} accepts only one password: the previous one is invalid after this apply",
            report.engine
        );
        report.add(
            Severity::Warning,
            DIFFERENCE,
            user.origin,
            "password.previous",
            message,
        );
    }
    User {
        name: user.login.to_string(),
        address: report.address(user.origin),
        password,
        default_hostgroup,
        default_schema: user.schema.as_deref().map(str::to_owned),
        max_connections: user.max_connections,
        // Elsewhere it is a rule.
        statement_timeout_ms: user
            .statement_timeout_ms
            .filter(|_| report.engine == EngineId::Bundled),
        transaction_persistent: user.transaction_persistent,
        annotations_allowed: user.annotations == Annotations::Allow,
        // Elsewhere rules do it.
        reads_only: user.reads_only && report.engine == EngineId::Bundled,
        tls: tls(user, report),
    }
}

/// What the user's clients must do to log in, as far as the engine can ask for it.
fn tls(user: &Account, report: &mut Diagnostics<'_>) -> ClientTls {
    let is_bundled = report.engine == EngineId::Bundled;
    if user.tls == ClientTls::Certificate && !is_bundled {
        let message = format!(
            "{} asks no client for a certificate; `required` asks for TLS, and bundled can ask for both",
            report.engine
        );
        report.error(UNSUPPORTED, user.origin, "tls", message);
        return ClientTls::Required;
    }
    user.tls
}

/// Where a password is. One that is written out goes nowhere.
pub(super) fn password(
    source: &SecretSource,
    origin: OriginId,
    report: &mut Diagnostics<'_>,
) -> Option<SecretReference> {
    match source {
        SecretSource::Env(name) => Some(SecretReference::Env(name.to_string())),
        SecretSource::File(path) => Some(SecretReference::File(path.to_string())),
        SecretSource::Command(words) => Some(SecretReference::Command(
            words.iter().map(ToString::to_string).collect(),
        )),
        SecretSource::Literal(text) if text.reveal().is_empty() => None,
        SecretSource::Literal(_) => {
            let message = "a password in the clear is not compiled; write {env}, {file} or {command}";
            report.error(UNSUPPORTED, origin, "password", message);
            None
        }
    }
}
