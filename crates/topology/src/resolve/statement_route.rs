//! Routes: statements that go to a cluster, or are refused, whatever else is said of them.

use super::effects::{MATCHED, matches};
use super::object::Object;
use super::policy::reason;
use super::shard::refusal;
use super::{Defined, instances, names};
use crate::codes::{MISSING_KEY, NOT_TOGETHER};
use crate::fields::{AnyField, object};
use crate::model::{Role, RouteEnd, StatementRoute};
use crate::tree::context::Context;
use crate::tree::view::Field;

object! {
    pub(crate) mod route = "Statements that go to a cluster, or are refused, before any shard map or policy sees them.";
    MATCH: Definition = MATCHED;
    CLUSTER: Text = text("cluster", "The name of the cluster that they go to.")
        .refers(refers::CLUSTERS)
        .page("Or `refuse`.");
    ROLE: Or<Word<Role>> = word("role", "Which of its hostgroups; writer by default.").or(Role::Writer);
    REFUSE: Text = filled("refuse", "Why they are refused. The client gets this text.")
        .not_with("cluster role")
        .examples(r#"["DROP goes through change management"]"#)
        .page("One line of at most 300 characters.");
    REASON: Text = reason();
}

pub(super) fn routes(
    section: Option<Field<'_>>,
    defined: &Defined,
    context: &mut Context<'_>,
) -> Vec<StatementRoute> {
    instances::read_each(section, context, |object, context| {
        route(object, defined, context)
    })
}

fn route(object: &Object<'_, '_>, defined: &Defined, context: &mut Context<'_>) -> Option<StatementRoute> {
    object.require_all(&route::FIELDS, context);
    let matches = matches(object, defined, context);
    let end = end(object, defined, context);
    let reason = object.get(&route::REASON, context);
    Some(StatementRoute {
        name: object.name.clone(),
        origin: object.origin,
        matches,
        end: end?,
        reason,
    })
}

fn end(object: &Object<'_, '_>, defined: &Defined, context: &mut Context<'_>) -> Option<RouteEnd> {
    let cluster = names::cluster(object, &route::CLUSTER, defined, context);
    let role = object.get(&route::ROLE, context);
    let refuse = refusal(object, &route::REFUSE, context);
    let beside = |field: &dyn AnyField| object.has(&route::REFUSE) && object.has(field);
    match (object.has(&route::CLUSTER), object.has(&route::REFUSE)) {
        (false, false) => {
            let message = "a route needs a `cluster`, or `refuse`";
            object.error(MISSING_KEY, message, object.key, context);
        }
        (true, true) => {
            let message = "a route has a `cluster` or `refuse`, not both";
            object.error(NOT_TOGETHER, message, object.key_span(&route::REFUSE), context);
        }
        _ if beside(&route::ROLE) => {
            let message = "`role` goes with a `cluster`";
            object.error(NOT_TOGETHER, message, object.key_span(&route::ROLE), context);
        }
        _ => {}
    }
    match (cluster, refuse) {
        (Some(cluster), None) => Some(RouteEnd::Cluster { cluster, role }),
        (None, Some(text)) => Some(RouteEnd::Refuse(text)),
        _ => None,
    }
}
