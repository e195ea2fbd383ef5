//! Where the state of runs is kept: `state`.

use std::sync::Arc;

use super::project;
use crate::codes::{BAD_VALUE, MISSING_KEY, NOT_TOGETHER};
use crate::fields::{AnyField, object};
use crate::model::{ServerAccount, ServerTls, SharedState, StateSettings, StateStore};
use crate::resolve::object::Object;
use crate::resolve::user;
use crate::resolve::values::within;
use crate::tree::context::Context;
use crate::units;

object! {
    pub(crate) mod state = "Where the state of runs is kept.";
    DIR: Or<Text> = filled("dir", "A directory for the state, relative to the project.").or(StateSettings::DIR);
    KEEP: Or<Count> = int(
        "keep",
        "How many runs of each target are kept. The last one that was applied and those that have not ended stay in any case.",
        1,
        1_000_000,
    )
    .or(StateSettings::KEEP);
    MYSQL: Text = filled(
        "mysql",
        "A MySQL or MariaDB database for the state, in place of a directory: `host:port/database`.",
    )
    .examples(r#"["state.db.internal:3306/shardwright"]"#)
    .page("See [Shared state](#shared-state).");
    ETCD: Texts = texts(
        "etcd",
        "The members of an etcd cluster for the state, in place of a directory.",
        "a list of addresses such as https://etcd1.internal:2379",
    )
    .examples(r#"[["https://etcd1.internal:2379", "https://etcd2.internal:2379"]]"#);
    USER: Text = filled("user", "The account in `mysql` or `etcd`.");
    PASSWORD: Definition = defined("password", "Its password.", "secret")
        .page("A [reference](secrets.md).");
    KEY: Definition = defined(
        "key",
        "The key that the rows of runs are sealed with in `mysql` and `etcd`: a text of at least 32 characters.",
        "secret",
    )
    .page("A [reference](secrets.md).");
    TLS: Or<Word<ServerTls>> = word(
        "tls",
        "Encryption to `mysql`: `disabled`, `preferred` (if the server offers it; by default), `required`, or `verify` (required, and the certificate is checked).",
    )
    .or(ServerTls::Preferred);
    CA: Text = filled(
        "ca",
        "The certificates of the authorities that sign those of `mysql` or `etcd`, in PEM, relative to the project. Addresses of etcd with https need it.",
    );
    CERTIFICATE: Text = filled("certificate", "The certificate that etcd asks for, in PEM, relative to the project.");
    CERTIFICATE_KEY: Text = filled("certificate_key", "The private key of `certificate`, in PEM, relative to the project.");
}

/// Reads the section.
pub(super) fn state(
    object: &Object<'_, '_>,
    project: Option<&Arc<str>>,
    context: &mut Context<'_>,
) -> StateSettings {
    let part = object.part(&project::STATE, context);
    let dir = within(part.as_ref(), &state::DIR, context);
    let keep = within(part.as_ref(), &state::KEEP, context) as usize;
    let shared = part.as_ref().and_then(|part| shared(part, project, context));
    StateSettings { dir, shared, keep }
}

fn shared(
    part: &Object<'_, '_>,
    project: Option<&Arc<str>>,
    context: &mut Context<'_>,
) -> Option<SharedState> {
    let stores: [&dyn AnyField; 3] = [&state::DIR, &state::MYSQL, &state::ETCD];
    let given: Vec<&dyn AnyField> = stores.into_iter().filter(|field| part.has(*field)).collect();
    if let [first, second, ..] = given.as_slice() {
        let message = format!(
            "state is kept in one place: `{}` or `{}`",
            first.name(),
            second.name()
        );
        part.error(NOT_TOGETHER, message, part.key_span(*second), context);
        return None;
    }
    let has_mysql = part.has(&state::MYSQL);
    if !has_mysql && !part.has(&state::ETCD) {
        let others: [&dyn AnyField; 7] = [
            &state::USER,
            &state::PASSWORD,
            &state::KEY,
            &state::TLS,
            &state::CA,
            &state::CERTIFICATE,
            &state::CERTIFICATE_KEY,
        ];
        for field in others.into_iter().filter(|field| part.has(*field)) {
            let message = format!(
                "`{}` is about `mysql` or `etcd`, and neither is given",
                field.name()
            );
            part.error(NOT_TOGETHER, message, part.key_span(field), context);
        }
        return None;
    }
    if project.is_none() {
        let message = "state that several machines share needs `project`: it tells whose runs they are";
        part.error(MISSING_KEY, message, part.key, context);
    }
    let key = user::secret(part, &state::KEY, context);
    if !part.has(&state::KEY) {
        let message = "state that several machines share needs `key`: rows of runs hold passwords, and are sealed with it";
        part.error(MISSING_KEY, message, part.key, context);
    }
    let account = account(part, has_mysql, context);
    let store = match has_mysql {
        true => mysql(part, context)?,
        false => etcd(part, context)?,
    };
    Some(SharedState {
        store,
        account,
        key: key?.source,
        ca: part.get(&state::CA, context),
    })
}

fn account(part: &Object<'_, '_>, is_needed: bool, context: &mut Context<'_>) -> Option<ServerAccount> {
    let is_whole = part.has(&state::USER) == part.has(&state::PASSWORD);
    if !is_whole || (is_needed && !part.has(&state::USER)) {
        let message = "`user` and `password` belong together: they are the account in the store";
        part.error(MISSING_KEY, message, part.key, context);
    }
    let user = part.get(&state::USER, context);
    let password = user::secret(part, &state::PASSWORD, context);
    Some(ServerAccount {
        user: user?,
        password: password?.source,
    })
}

fn mysql(part: &Object<'_, '_>, context: &mut Context<'_>) -> Option<StateStore> {
    let others: [&dyn AnyField; 2] = [&state::CERTIFICATE, &state::CERTIFICATE_KEY];
    for field in others.into_iter().filter(|field| part.has(*field)) {
        let message = format!("`{}` is about `etcd`", field.name());
        part.error(NOT_TOGETHER, message, part.key_span(field), context);
    }
    let address = part.get(&state::MYSQL, context)?;
    let tls = part.get(&state::TLS, context);
    let parsed = address
        .split_once('/')
        .filter(|(server, database)| units::is_host_and_port(server) && !database.is_empty())
        .and_then(|(server, database)| {
            let (host, port) = server.rsplit_once(':')?;
            let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
            Some(StateStore::MySql {
                host: bare.unwrap_or(host).into(),
                port: port.parse().ok()?,
                database: database.into(),
                tls,
            })
        });
    if parsed.is_none() {
        let message = format!("expected host:port/database, found `{address}`");
        part.error(BAD_VALUE, message, part.span(&state::MYSQL), context);
    }
    parsed
}

fn etcd(part: &Object<'_, '_>, context: &mut Context<'_>) -> Option<StateStore> {
    if part.has(&state::TLS) {
        let message = "`tls` is about `mysql`: addresses of etcd begin with http:// or https://";
        part.error(NOT_TOGETHER, message, part.key_span(&state::TLS), context);
    }
    let endpoints: Vec<Arc<str>> = part.list(&state::ETCD, context);
    let is_address = |text: &str| {
        let server = text
            .strip_prefix("http://")
            .or_else(|| text.strip_prefix("https://"));
        server.is_some_and(|server| units::is_host_and_port(server.trim_end_matches('/')))
    };
    if endpoints.is_empty() {
        part.error(
            MISSING_KEY,
            "at least one address is needed",
            part.span(&state::ETCD),
            context,
        );
        return None;
    }
    for endpoint in endpoints.iter().filter(|endpoint| !is_address(endpoint)) {
        let message = format!("expected http://host:port or https://host:port, found `{endpoint}`");
        part.error(BAD_VALUE, message, part.span(&state::ETCD), context);
    }
    if !part.has(&state::CA) && endpoints.iter().any(|endpoint| endpoint.starts_with("https:")) {
        let message = "addresses with https need `ca`: the authorities that sign the certificates of etcd";
        part.error(MISSING_KEY, message, part.span(&state::ETCD), context);
    }
    if part.has(&state::CERTIFICATE) != part.has(&state::CERTIFICATE_KEY) {
        let message = "`certificate` and `certificate_key` belong together";
        part.error(MISSING_KEY, message, part.key, context);
    }
    let certificate = part.get(&state::CERTIFICATE, context);
    let key = part.get(&state::CERTIFICATE_KEY, context);
    Some(StateStore::Etcd {
        endpoints,
        certificate: certificate.zip(key),
    })
}
