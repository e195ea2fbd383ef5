//! Users and references to secrets.

use shardwright_diagnostics::Diagnostic;

use super::object::Object;
use super::{Known, instances, names};
use crate::codes::{BAD_VALUE, LITERAL_SECRET, MISSING_KEY, NOT_TOGETHER, WRONG_TYPE};
use crate::context::Context;
use crate::model::{Annotations, PlainText, Role, Secret, SecretSource, User};
use crate::view::Field;

/// Sessions of a user where nothing is written.
const MAX_CONNECTIONS: u32 = 10_000;
const ROLES: [(&str, Role); 2] = [("writer", Role::Writer), ("reader", Role::Reader)];

pub(super) fn users(section: Option<Field<'_>>, known: &mut Known, context: &mut Context<'_>) -> Vec<User> {
    let read = instances::read_section(section, context, |object, context| user(object, known, context));
    let mut users = Vec::with_capacity(read.len());
    for (name, user) in read {
        known.users.insert(name, user.as_ref().map(|user| user.origin));
        users.extend(user);
    }
    users
}

fn user(object: &Object<'_, '_>, known: &Known, context: &mut Context<'_>) -> Option<User> {
    object.require("password", context);
    object.require("cluster", context);
    let password = secret(object, "password", context);
    let cluster = names::cluster(object, "cluster", known, context);
    let schema = object.text("schema", context);
    let max_connections = max_connections(object, context).unwrap_or(MAX_CONNECTIONS);
    let role = object.word("role", &ROLES, context).unwrap_or(Role::Writer);
    let transaction_persistent = object.boolean("transaction_persistent", context).unwrap_or(true);
    let annotations = object
        .word(
            "annotations",
            &[("deny", Annotations::Deny), ("allow", Annotations::Allow)],
            context,
        )
        .unwrap_or_default();
    Some(User {
        name: object.name.clone(),
        origin: object.origin,
        password: password?,
        cluster: cluster?,
        role,
        schema,
        max_connections,
        transaction_persistent,
        annotations,
    })
}

fn max_connections(object: &Object<'_, '_>, context: &mut Context<'_>) -> Option<u32> {
    let most = object.count("max_connections", context)?;
    if most == 0 {
        let message = "with 0 connections nobody can log in";
        let diagnostic = Diagnostic::error(BAD_VALUE, message)
            .at(object.span("max_connections"), "")
            .help("leave the key out for the default, 10000");
        object.push(diagnostic, context);
        return None;
    }
    Some(most)
}

/// A secret with its predecessor.
pub(super) fn secret(object: &Object<'_, '_>, field: &str, context: &mut Context<'_>) -> Option<Secret> {
    let source = secret_source(object, field, context)?;
    let reference = object.view.get(field).filter(|field| field.value.is_map());
    let previous = reference.and_then(|reference| {
        let reference = object.inner(reference.value, reference.key.span);
        secret_source(&reference, "previous", context)
    });
    if previous.as_ref() == Some(&source) {
        let reference = object.part(field, context)?;
        let message = "`previous` names the same secret as the reference that it stands beside";
        reference.error(NOT_TOGETHER, message, reference.key_span("previous"), context);
    }
    Some(Secret { source, previous })
}

/// A reference to a secret.
pub(super) fn secret_source(
    object: &Object<'_, '_>,
    field: &str,
    context: &mut Context<'_>,
) -> Option<SecretSource> {
    let field = object.view.get(field)?;
    if !field.value.is_map() {
        return literal(object, &field, context);
    }
    let reference = object.inner(field.value, field.key.span);
    let given: Vec<&str> = ["env", "file", "command"]
        .into_iter()
        .filter(|key| reference.has(key))
        .collect();
    match given.as_slice() {
        ["env"] => reference.filled_text("env", context).map(SecretSource::Env),
        ["file"] => reference.filled_text("file", context).map(SecretSource::File),
        [_] => {
            let words: Vec<_> = reference
                .texts("command", context)
                .into_iter()
                .map(|(_, word)| word)
                .collect();
            if words.is_empty() {
                let span = reference.span("command");
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
            reference.error(NOT_TOGETHER, message, reference.key_span(second), context);
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
        .help("refer to it: {env: NAME}, {file: PATH} or {command: [PROGRAM, …]}");
    object.push(diagnostic, context);
    Some(SecretSource::Literal(PlainText::new(text)))
}
