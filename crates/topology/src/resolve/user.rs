//! Users and references to secrets.

use serde_json::{Value, json};
use shardwright_diagnostics::{Diagnostic, did_you_mean};

use self::reference::{COMMAND, ENV, FILE, PREVIOUS};
use super::object::Object;
use super::{Defined, instances, logins, names};
use crate::codes::{BAD_VALUE, LITERAL_SECRET, MISSING_KEY, NOT_TOGETHER, UNKNOWN_REFERENCE, WRONG_TYPE};
use crate::fields::{AnyField, EXPECTS, STRICT, object, shapes};
use crate::model::{
    Annotations, ClientTls, Cluster, ClusterId, OriginId, PlainText, Role, Secret, SecretSource, ShardMap,
    Table, User,
};
use crate::tree::context::Context;
use crate::tree::view::Field;

object! {
    pub(crate) mod user = "An account that clients log in with.";
    PASSWORD: Definition = defined("password", "Its password.", "secret").needed()
        .page("A [reference](secrets.md); `previous` beside it is the old one during a rotation.");
    LOGIN: Text = text(
        "login",
        "The name that clients log in with, in any characters, where it is not the name of the user.",
    )
    .examples(r#"["svc.app@eu"]"#)
    .page("1 to 80 characters on one line. See [Logins](#logins).");
    CLUSTER: Text = text("cluster", "The cluster for statements that nothing else places.").needed()
        .refers(refers::CLUSTERS);
    ROLE: Or<Word<Role>> = word(
        "role",
        "Which servers take its statements: writers (by default), or readers, for accounts that only read.",
    )
    .or(Role::Writer)
    .page("See [Users who only read](#users-who-only-read).");
    SERVER: Text = text("server", "The server of its cluster that takes its statements, alone.")
        .page("Not beside `role: reader`. See [Users of one server](#users-of-one-server).");
    READS_ONLY: Bool = boolean(
        "reads_only",
        "Whether an account with `role: reader` is refused what is not a read, and reads from readers everywhere. With false, the role only chooses where statements go that nothing else places.",
    )
    .page("Only beside `role: reader`, where it is true if not written.");
    SCHEMA: Text = text("schema", "The schema of sessions that do not choose one.")
        .refers(refers::SCHEMAS);
    MAX_CONNECTIONS: Or<Count> = count(
        "max_connections",
        "The maximum number of sessions on one proxy; 10000 by default.",
    )
    .strict(r#"{"minimum": 1}"#)
    .or(10_000)
    .examples("[2000]")
    .page("At least 1.");
    STATEMENT_TIMEOUT: Duration = duration(
        "statement_timeout",
        "The longest time that a statement may take, such as 30s; then it is killed on the server. At least 1ms.",
    )
    .page("At most 49d.");
    TRANSACTION_PERSISTENT: Or<Bool> = boolean(
        "transaction_persistent",
        "Whether all statements of a transaction go where it began; true by default.",
    )
    .or(true);
    ANNOTATIONS: Or<Word<Annotations>> = word(
        "annotations",
        "Whether engine annotations in comments, such as `/* hostgroup=5 */`, are obeyed; `deny` by default.",
    )
    .or(Annotations::Deny);
    TLS: Or<Word<ClientTls>> = word(
        "tls",
        "What a client must do to log in: nothing (`optional`, by default), use TLS (`required`), or use TLS and show a certificate that the proxy trusts (`certificate`).",
    )
    .or(ClientTls::Optional);
}

object! {
    pub(crate) mod reference = "A reference to a secret.";
    ENV: Text = filled("env", "The environment variable that holds it.").not_with("file command").examples(r#"["APP_PASSWORD"]"#);
    FILE: Text = filled(
        "file",
        "The file whose first line holds it, relative to the project.",
    )
    .not_with("command")
    .examples(r#"["secrets/app"]"#)
    .page("One line break at its end is not part of the value.");
    COMMAND: Texts = texts(
        "command",
        "The program that prints it, with its arguments; no shell is involved.",
        "a list of texts",
    )
    .examples(r#"[["vault", "read", "app"]]"#)
    .page("Its output is the value, without one line break at its end. It may take ten seconds in the proxy and thirty in commands.");
    PREVIOUS: Custom = custom("previous", "The old secret that stays valid.", previous)
        .page("Write it beside one of the others while you replace the password. No engine accepts two passwords yet: a warning says that the old one ends with the apply.");
}

/// A reference has one of these.
const SOURCES: [&dyn AnyField; 3] = [&ENV, &FILE, &COMMAND];

/// The schema of a reference to a secret, or of the secret itself, which is a finding.
pub(crate) fn secret_schema() -> Value {
    let description = "A reference to a secret: `{env: NAME}`, `{file: PATH}` or `{command: [PROGRAM, …]}`.";
    reference_or_literal(description, reference::FIELDS.properties())
}

fn previous(says: &str) -> Value {
    let fields = SOURCES.iter().map(|field| (field.name(), field.plain_schema()));
    reference_or_literal(says, fields)
}

fn reference_or_literal(says: &str, fields: impl Iterator<Item = (&'static str, Value)>) -> Value {
    shapes::mapping([
        ("description", says.into()),
        ("if", json!({ "type": "object" })),
        ("then", shapes::object(reference::FIELDS.says, fields)),
        (STRICT, json!({ "type": "object" })),
        (
            "else",
            json!({ "type": "string", EXPECTS: "a reference such as {env: APP_PASSWORD}" }),
        ),
    ])
}

pub(super) fn users(
    section: Option<Field<'_>>,
    clusters: &Table<Cluster>,
    defined: &mut Defined,
    context: &mut Context<'_>,
) -> Vec<User> {
    let read = instances::read_section(section, context, |object, context| {
        user(object, clusters, defined, context)
    });
    let mut users = Vec::with_capacity(read.len());
    for (name, user) in read {
        defined.users.insert(name, user.as_ref().map(|user| user.origin));
        users.extend(user);
    }
    users
}

/// The server that takes the statements of an account: its place in the cluster.
fn server(
    object: &Object<'_, '_>,
    cluster: Option<ClusterId>,
    clusters: &Table<Cluster>,
    context: &mut Context<'_>,
) -> Option<u32> {
    let name = object.get(&user::SERVER, context)?;
    // The default may be written down.
    if object.get(&user::ROLE, context) != Role::Writer {
        let message = "`server` names the one server that takes the statements, so `role` says nothing";
        object.error(NOT_TOGETHER, message, object.key_span(&user::ROLE), context);
    }
    let cluster = &clusters[cluster?.0 as usize];
    let place = cluster.servers.position(&name);
    if place.is_none() {
        let message = format!("cluster `{}` has no server named `{name}`", cluster.name);
        let near = did_you_mean(&name, cluster.servers.names());
        object.push(
            Diagnostic::error(UNKNOWN_REFERENCE, message)
                .at(object.span(&user::SERVER), "")
                .did_you_mean(near),
            context,
        );
    }
    place
}

/// Reports shard maps that would place statements of an account that has one server.
pub(super) fn check_servers(
    users: &[User],
    maps: &[ShardMap],
    clusters: &Table<Cluster>,
    context: &mut Context<'_>,
) {
    for user in users.iter().filter(|user| user.server.is_some()) {
        let cluster = &clusters[user.cluster.0 as usize].name;
        let places = |map: &&ShardMap| {
            let scope = &map.applies_to;
            scope.users.contains(&user.name) && scope.clusters.contains(cluster)
        };
        if let Some(map) = maps.iter().find(places) {
            report_map(user.origin, &user.name, map, context);
        }
    }
}

fn report_map(origin: OriginId, user: &str, map: &ShardMap, context: &mut Context<'_>) {
    let message = format!(
        "shard_maps.{} places the statements of this user, and `server` says that one server takes them",
        map.name
    );
    let help = format!("except the user there, `except_users: [{user}]`, or remove `server`");
    let diagnostic = Diagnostic::error(NOT_TOGETHER, message)
        .at(context.origins.field(origin, user::SERVER.name()), "")
        .help(help);
    context.report.push(context.origins.mark(origin, diagnostic));
}

/// Whether an account only reads.
fn reads_only(object: &Object<'_, '_>, role: Role, context: &mut Context<'_>) -> bool {
    let reads_only = object.get(&user::READS_ONLY, context);
    if role == Role::Reader {
        return reads_only.unwrap_or(true);
    }
    if reads_only.is_some() {
        let message = "`reads_only` is about accounts with `role: reader`";
        object.error(NOT_TOGETHER, message, object.key_span(&user::READS_ONLY), context);
    }
    false
}

fn user(
    object: &Object<'_, '_>,
    clusters: &Table<Cluster>,
    defined: &Defined,
    context: &mut Context<'_>,
) -> Option<User> {
    object.require_all(&user::FIELDS, context);
    let login = logins::login(object, &user::LOGIN, context);
    let password = secret(object, &user::PASSWORD, context);
    let cluster = names::cluster(object, &user::CLUSTER, defined, context);
    let server = server(object, cluster, clusters, context);
    let schema = object.get(&user::SCHEMA, context);
    let max_connections = max_connections(object, context);
    let statement_timeout_ms = statement_timeout(object, context);
    let role = object.get(&user::ROLE, context);
    let transaction_persistent = object.get(&user::TRANSACTION_PERSISTENT, context);
    let annotations = object.get(&user::ANNOTATIONS, context);
    let reads_only = reads_only(object, role, context);
    if reads_only && annotations == Annotations::Allow {
        let message = "`annotations: allow` lets the user choose any hostgroup, and `role: reader` says that it only reads, unless `reads_only: false` stands beside it";
        object.error(
            NOT_TOGETHER,
            message,
            object.key_span(&user::ANNOTATIONS),
            context,
        );
    }
    let tls = object.get(&user::TLS, context);
    Some(User {
        name: object.name.clone(),
        login,
        origin: object.origin,
        password: password?,
        cluster: cluster?,
        role,
        server,
        reads_only,
        schema,
        max_connections,
        statement_timeout_ms,
        transaction_persistent,
        annotations,
        tls,
    })
}

fn max_connections(object: &Object<'_, '_>, context: &mut Context<'_>) -> u32 {
    let field = &user::MAX_CONNECTIONS;
    let most = object.get(field, context);
    if most == 0 {
        let message = "with 0 connections nobody can log in";
        let diagnostic = Diagnostic::error(BAD_VALUE, message)
            .at(object.span(field), "")
            .help("remove the key for the default, 10000");
        object.push(diagnostic, context);
    }
    most
}

fn statement_timeout(object: &Object<'_, '_>, context: &mut Context<'_>) -> Option<u32> {
    let field = &user::STATEMENT_TIMEOUT;
    let written = object.get(field, context)?;
    let timeout_ms = u32::try_from(written).ok().filter(|timeout| *timeout > 0);
    if timeout_ms.is_none() {
        let message = "a statement may take between 1ms and 49d";
        object.error(BAD_VALUE, message, object.span(field), context);
    }
    timeout_ms
}

/// A secret with its predecessor.
pub(super) fn secret(
    object: &Object<'_, '_>,
    field: &dyn AnyField,
    context: &mut Context<'_>,
) -> Option<Secret> {
    let source = secret_source(object, field, context)?;
    let reference = object.inside(field);
    let previous = reference.and_then(|reference| secret_source(&reference, &PREVIOUS, context));
    if previous.as_ref() == Some(&source) {
        let reference = object.part(field, context)?;
        let message = "`previous` names the same secret as the reference beside it";
        reference.error(NOT_TOGETHER, message, reference.key_span(&PREVIOUS), context);
    }
    Some(Secret { source, previous })
}

/// A reference to a secret.
pub(super) fn secret_source(
    object: &Object<'_, '_>,
    field: &dyn AnyField,
    context: &mut Context<'_>,
) -> Option<SecretSource> {
    let field = object.field(field)?;
    if !field.value.is_map() {
        return literal(object, &field, context);
    }
    let reference = object.inner(field.value, field.key.span);
    let given: Vec<&dyn AnyField> = SOURCES.into_iter().filter(|key| reference.has(*key)).collect();
    match given.as_slice() {
        [_] if reference.has(&ENV) => reference.get(&ENV, context).map(SecretSource::Env),
        [_] if reference.has(&FILE) => reference.get(&FILE, context).map(SecretSource::File),
        [_] => {
            let words = reference.list(&COMMAND, context);
            if words.is_empty() {
                let span = reference.span(&COMMAND);
                reference.error(MISSING_KEY, "a command needs a program", span, context);
                return None;
            }
            Some(SecretSource::Command(words))
        }
        [] => {
            let message = "a reference to a secret needs `env`, `file` or `command`";
            reference.error(MISSING_KEY, message, field.key.span, context);
            None
        }
        [_, second, ..] => {
            let message = "a reference to a secret has one of `env`, `file` and `command`";
            reference.error(NOT_TOGETHER, message, reference.key_span(*second), context);
            None
        }
    }
}

fn literal(object: &Object<'_, '_>, field: &Field<'_>, context: &mut Context<'_>) -> Option<SecretSource> {
    let Some(text) = field.value.node().and_then(|node| node.as_text()) else {
        let message = format!(
            "expected a reference such as {{env: APP_PASSWORD}}, found {}",
            field.value.type_name()
        );
        object.error(WRONG_TYPE, message, field.value.span(), context);
        return None;
    };
    let diagnostic = Diagnostic::warning(LITERAL_SECRET, "the secret is written in the clear")
        .at(field.key.span, "")
        .help("write a reference: {env: NAME}, {file: PATH} or {command: [PROGRAM, …]}");
    object.push(diagnostic, context);
    Some(SecretSource::Literal(PlainText::new(text)))
}
