//! Raw query rules: typed rows with clusters instead of hostgroups.

use shardwright_rules::tables::{Part, RULE_COLUMNS};
use shardwright_rules::{EngineId, EngineRule, FastRoute, HostgroupId, Refuser, RefusingHostgroup, Role};
use shardwright_topology::model::{
    self as model, BlockPlace, ClusterId, OriginId, RawRule, RefusedBy, Topology, User,
};

use super::{RawBlock, RawRoute, RawRow};
use crate::diagnostics::{Diagnostics, OVERWRITTEN, UNSUPPORTED};

/// Every block with its active rules.
pub(super) fn blocks(
    topology: &Topology,
    hostgroup: &impl Fn(ClusterId, Role) -> HostgroupId,
    report: &mut Diagnostics<'_>,
) -> Vec<RawBlock> {
    let mut blocks = Vec::new();
    let overwrites = has_sections(topology);
    for block in &topology.query_rules {
        let active = block.rules.iter().filter(|rule| rule.active);
        let rules = active
            .map(|rule| row(rule, hostgroup, overwrites, report))
            .collect();
        let routes = block.fast_routing.iter();
        let routes = routes
            .map(|route| {
                check_user(route, topology, report);
                self::route(route, hostgroup, report)
            })
            .collect();
        blocks.push(RawBlock {
            origin: block.origin,
            at: block.at,
            behind_effects: block.behind_effects && stands_behind_effects(block, topology, report),
            rules,
            routes,
            refusing: block.refusing.iter().map(|raw| refusing(raw, report)).collect(),
        });
    }
    blocks
}

/// Whether effects can be set in front of a block that asks for it; where they cannot, that is reported.
fn stands_behind_effects(
    block: &model::RuleBlock,
    topology: &Topology,
    report: &mut Diagnostics<'_>,
) -> bool {
    let is_beside = matches!(block.at, BlockPlace::Before(_) | BlockPlace::After(_));
    let why = if report.engine == EngineId::Bundled {
        "bundled sets effects behind raw rules; proxysql-2.7 can set them in front of a block beside a route"
    } else if !is_beside || topology.routes.iter().next().is_none() {
        "effects are set in front of routes: `behind_effects` is for a block beside a route"
    } else {
        return true;
    };
    report.error(UNSUPPORTED, block.origin, "behind_effects", why.to_owned());
    false
}

/// Whether anything is compiled beside raw rules that could place what they have placed.
fn has_sections(topology: &Topology) -> bool {
    let is_limited = |user: &User| user.statement_timeout_ms.is_some();
    topology.shard_maps.iter().next().is_some()
        || topology.read_write_policies.iter().next().is_some()
        || topology.routes.iter().next().is_some()
        || topology.throttles.iter().next().is_some()
        || topology.pooling_exceptions.iter().next().is_some()
        || topology.caches.iter().next().is_some()
        || topology.mirrors.iter().next().is_some()
        || topology.firewall.iter().next().is_some()
        || topology.users.iter().any(is_limited)
}

/// A row; with `overwrites`, what it places and neither ends nor hands on would be placed again.
fn row(
    raw: &RawRule,
    hostgroup: &impl Fn(ClusterId, Role) -> HostgroupId,
    overwrites: bool,
    report: &mut Diagnostics<'_>,
) -> RawRow {
    let written = &raw.columns;
    let destination = raw
        .cluster
        .map(|cluster| hostgroup(cluster, raw.role).0)
        .or(written.destination_hostgroup);
    let jumps = written.flag_out.is_some() || !written.flag_outs.is_empty();
    if overwrites && destination.is_some() && !written.apply && !jumps {
        let field = if raw.cluster.is_some() {
            "cluster"
        } else {
            "destination_hostgroup"
        };
        let message = "this rule places statements and neither applies nor jumps, so the sections that follow place them \
                       again; add `apply: 1` or a `flagOUT`";
        report.error(OVERWRITTEN, raw.origin, field, message);
    }
    let unused = RULE_COLUMNS.iter().filter(|column| column.part == Part::Unused);
    for column in unused.filter(|column| column.get(written).is_some()) {
        let name = column.name();
        let message = format!("`{name}` is stored and has no effect");
        report.difference(raw.origin, name, message);
    }
    only_proxysql(raw, report);
    let rule = EngineRule {
        destination_hostgroup: destination,
        ..written.clone()
    };
    RawRow {
        origin: raw.origin,
        address: report.address(raw.origin),
        rule_id: raw.rule_id,
        flag_in: raw.flag_in,
        rule,
    }
}

/// Reports a row for a user who only reads: what nothing has placed of such a user stays on readers.
fn check_user(raw: &model::RawRoute, topology: &Topology, report: &mut Diagnostics<'_>) {
    let is_named = |user: &User| user.reads_only && user.name == raw.username;
    if topology.users.iter().any(is_named) {
        let message = format!(
            "fast routing is never asked for user {}, who only reads (role: reader); remove the row, or give the user \
             `reads_only: false`",
            raw.username
        );
        report.error(UNSUPPORTED, raw.origin, "username", message);
    }
}

fn route(
    raw: &model::RawRoute,
    hostgroup: &impl Fn(ClusterId, Role) -> HostgroupId,
    report: &mut Diagnostics<'_>,
) -> RawRoute {
    let named = raw.cluster.map(|cluster| hostgroup(cluster, raw.role));
    RawRoute {
        origin: raw.origin,
        route: FastRoute {
            username: raw.username.to_string(),
            schemaname: raw.schemaname.to_string(),
            flag_in: raw.flag_in,
            // One of both is given, or the topology has an error.
            hostgroup: named.unwrap_or(HostgroupId(raw.hostgroup.unwrap_or(0))),
            address: report.address(raw.origin),
        },
    }
}

fn refusing(raw: &model::RawRefusing, report: &mut Diagnostics<'_>) -> (OriginId, RefusingHostgroup) {
    let hostgroup = RefusingHostgroup {
        id: HostgroupId(raw.hostgroup),
        address: report.address(raw.origin),
        reason: raw.reason.to_string(),
        refuser: match raw.by {
            RefusedBy::Admin => Refuser::Admin,
            RefusedBy::Service => Refuser::Service,
        },
        host: raw.host.to_string(),
        port: raw.port,
    };
    (raw.origin, hostgroup)
}

/// Columns that the engine has no means for.
fn only_proxysql(raw: &RawRule, report: &mut Diagnostics<'_>) {
    for lacking in report.engine.profile().lacks(&raw.columns) {
        let message = format!("{} cannot {}; proxysql-2.7 can", report.engine, lacking.what);
        report.error(UNSUPPORTED, raw.origin, lacking.column.name(), message);
    }
}
