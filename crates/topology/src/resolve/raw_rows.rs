//! What stands beside raw rules: rows of fast routing, and hostgroups that refuse.

use super::object::Object;
use super::{Defined, names, server};
use crate::codes::{MISSING_KEY, NOT_TOGETHER};
use crate::fields::{AnyField, object};
use crate::model::{RawRefusing, RawRoute, RefusedBy, Role};
use crate::tree::context::Context;

object! {
    pub(crate) mod refusing = "A hostgroup that refuses what is sent to it.";
    HOSTGROUP: Count = id("hostgroup", "The number of the hostgroup, which no cluster has.").needed();
    REASON: Text = filled("reason", "What clients are told, with its code, such as `SW351: no shard key`.").needed();
    BY: Or<Word<RefusedBy>> = word("by", "Who refuses the login: ProxySQL's own admin port, or `shardwright refuse`.")
        .or(RefusedBy::Admin);
    HOST: Text = filled("host", "The host name or address of the server that refuses.").needed().strict(server::HOST_KEYWORDS);
    PORT: Int<u16> = int("port", "The TCP port of the server that refuses.", 1, 65_535).needed();
}

object! {
    pub(crate) mod route = "A row of `mysql_query_rules_fast_routing`.";
    USERNAME: Text = text("username", "The user that the session logged in as.")
        .page("Exact.")
        .absent("every user who has no row of its own")
        .refers(refers::USERS);
    SCHEMANAME: Text = text("schemaname", "The schema that the session is in.").needed().page("Exact.");
    FLAG_IN: Or<Count> = id("flagIN", "The flag at the end of the rules; 0 by default.").or(0);
    DESTINATION_HOSTGROUP: Count = id(
        "destination_hostgroup",
        "A hostgroup by number; `cluster` and `role` name one.",
    );
    CLUSTER: Text = text("cluster", "The name of the cluster that it goes to.")
        .not_with("destination_hostgroup")
        .page("It replaces `destination_hostgroup`.")
        .refers(refers::CLUSTERS);
    ROLE: Or<Word<Role>> = word("role", "Which of the cluster's hostgroups; writer by default.")
        .or_when(Role::Writer, When::Has(&CLUSTER));
}

pub(super) fn refusing(object: &Object<'_, '_>, context: &mut Context<'_>) -> Option<RawRefusing> {
    object.require_all(&refusing::FIELDS, context);
    Some(RawRefusing {
        origin: object.origin,
        hostgroup: object.get(&refusing::HOSTGROUP, context)?,
        reason: object.get(&refusing::REASON, context)?,
        by: object.get(&refusing::BY, context),
        host: server::host(object, &refusing::HOST, context)?,
        port: object.get(&refusing::PORT, context)?,
    })
}

pub(super) fn route(
    object: &Object<'_, '_>,
    defined: &Defined,
    context: &mut Context<'_>,
) -> Option<RawRoute> {
    object.require_all(&route::FIELDS, context);
    let cluster = names::cluster(object, &route::CLUSTER, defined, context);
    let hostgroup = object.get(&route::DESTINATION_HOSTGROUP, context);
    if !object.has(&route::CLUSTER) && !object.has(&route::DESTINATION_HOSTGROUP) {
        let message = "a row of fast routing needs a destination: `cluster`, or `destination_hostgroup`";
        object.error(MISSING_KEY, message, object.key, context);
    }
    one_destination(
        object,
        [&route::CLUSTER, &route::ROLE, &route::DESTINATION_HOSTGROUP],
        context,
    );
    Some(RawRoute {
        origin: object.origin,
        username: object.get(&route::USERNAME, context).unwrap_or_default(),
        schemaname: object.get(&route::SCHEMANAME, context)?,
        flag_in: object.get(&route::FLAG_IN, context),
        cluster,
        role: object.get(&route::ROLE, context),
        hostgroup,
    })
}

/// A destination is a cluster with a role, or a hostgroup by number.
pub(super) fn one_destination(
    object: &Object<'_, '_>,
    [cluster, role, hostgroup]: [&dyn AnyField; 3],
    context: &mut Context<'_>,
) {
    if object.has(cluster) && object.has(hostgroup) {
        let message = "`cluster` and `destination_hostgroup` both set the destination: keep one of them";
        object.error(NOT_TOGETHER, message, object.key_span(hostgroup), context);
    }
    if object.has(role) && !object.has(cluster) {
        let message = "`role` needs a `cluster`: a hostgroup by number has one role";
        object.error(NOT_TOGETHER, message, object.key_span(role), context);
    }
}
