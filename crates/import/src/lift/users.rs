//! Frontend users.

use shardwright_diagnostics::Severity;
use shardwright_rules::{ClientTls, HostgroupId, SecretReference, User};
use shardwright_secrets::Secret;

use super::variables::Variables;
use super::{Lift, filled, text};
use crate::codes::{DROPPED, RESERVED_USER};
use crate::fast_forward_message;
use crate::store::Row;

/// Users that clients can log in as.
pub(super) fn lift(lift: &mut Lift<'_>, variables: &Variables) {
    let mut users = Vec::new();
    for row in lift.rows("mysql_users") {
        let name = text(&row, "username").unwrap_or_default();
        if !lift.flag(&row, "active") || !lift.flag(&row, "frontend") {
            lift.ignored(&row, format!("no client can log in as user {name} with this row"));
            continue;
        }
        let profile = lift.configuration.engine.profile();
        if let Some(variable) = profile.reserved_by(&name, |variable| variables.value(variable)) {
            let what = profile.reserved_message(&name, variable);
            lift.say(Severity::Error, RESERVED_USER, &row, what);
        }
        users.extend(user(lift, &row, name));
    }
    users.sort_by(|a: &User, b: &User| a.name.cmp(&b.name));
    lift.configuration.users = users;
}

fn user(lift: &mut Lift<'_>, row: &Row, name: String) -> Option<User> {
    let hostgroup = lift.number(row, "default_hostgroup").unwrap_or(0);
    let Ok(hostgroup) = u32::try_from(hostgroup) else {
        let what = format!("the engine does not load user {name}: default_hostgroup is {hostgroup}");
        lift.say(Severity::Warning, DROPPED, row, what);
        return None;
    };
    if lift.flag(row, "fast_forward") {
        lift.fast_forward.push(name.clone());
        lift.left_as_it_is(row, fast_forward_message(&name));
    }
    if filled(row, "attributes").is_some() {
        lift.ignored(
            row,
            format!("the attributes of user {name} are no part of a project: a plan leaves them as they are"),
        );
    }
    // The password itself is no part of a configuration: a reference stands for it.
    let password = filled(row, "password").map(|password| {
        lift.beside.passwords.insert(name.clone(), Secret::new(password));
        SecretReference::Env(variable_of(&name))
    });
    Some(User {
        address: lift.address(format!("mysql_users.{name}"), row),
        name,
        password,
        default_hostgroup: HostgroupId(hostgroup),
        default_schema: filled(row, "default_schema"),
        statement_timeout_ms: None,
        max_connections: lift.count(row, "max_connections").unwrap_or(0),
        transaction_persistent: lift.flag(row, "transaction_persistent"),
        // ProxySQL obeys annotations of everyone.
        annotations_allowed: true,
        reads_only: false,
        tls: match lift.flag(row, "use_ssl") {
            true => ClientTls::Required,
            false => ClientTls::Optional,
        },
    })
}

/// The environment variable that a password is expected in.
fn variable_of(user: &str) -> String {
    let letters = user.chars().map(|c| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_uppercase()
        } else {
            '_'
        }
    });
    format!("{}_PASSWORD", letters.collect::<String>())
}
