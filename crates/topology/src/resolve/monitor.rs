//! The monitor's account.

use super::instances;
use super::object::Object;
use super::user::secret;
use crate::codes::{BAD_VALUE, NOT_TOGETHER};
use crate::fields::object;
use crate::model::Monitor;
use crate::tree::context::Context;
use crate::tree::environment::Environment;
use crate::tree::view::Field;

object! {
    pub(crate) mod account =
        "The account that engines use to monitor servers. It only needs to log in and to read replication status.";
    USER: Text = filled("user", "Its name on the servers.").needed();
    PASSWORD: Definition = defined("password", "Its password.", "secret").needed()
        .page("A [reference](secrets.md), without `previous`.");
    HEARTBEAT: Text = text(
        "heartbeat",
        "A table of pt-heartbeat on every replica, such as `percona.heartbeat`, that says how far it is behind.",
    )
    .page("`database.table`, of letters, digits and `_`; see [Heartbeats](#heartbeats).")
    .absent("what replication says of itself");
}

pub(super) fn monitor(section: Option<Field<'_>>, context: &mut Context<'_>) -> Option<Monitor> {
    let section = section.filter(|section| section.value.is_map())?;
    let definition = instances::define(&section, context);
    let name = context.intern(&section.key.text);
    let origin = context.origins.add_named(None, name.clone(), definition, None);
    let environment = Environment::default();
    let object = Object {
        view: section.value.clone(),
        key: section.key.span,
        name,
        origin,
        environment: &environment,
    };
    object.require_all(&account::FIELDS, context);
    let user = object.get(&account::USER, context);
    let password = secret(&object, &account::PASSWORD, context);
    if password
        .as_ref()
        .is_some_and(|password| password.previous.is_some())
    {
        let message = "the monitor has only one password: `previous` is for accounts of clients";
        object.error(NOT_TOGETHER, message, object.span(&account::PASSWORD), context);
    }
    let heartbeat = object.get(&account::HEARTBEAT, context);
    if heartbeat.as_deref().is_some_and(|table| !is_table(table)) {
        let message = "`heartbeat` is `database.table`, each of 1 to 64 letters, digits and `_`";
        object.error(BAD_VALUE, message, object.span(&account::HEARTBEAT), context);
        return None;
    }
    Some(Monitor {
        heartbeat,
        origin,
        user: user?,
        password: password?,
    })
}

/// Whether a text is `database.table` as every engine takes it without quotes.
fn is_table(text: &str) -> bool {
    let is_name = |name: &str| {
        (1..=64).contains(&name.len())
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    text.split_once('.')
        .is_some_and(|(database, table)| is_name(database) && is_name(table))
}
