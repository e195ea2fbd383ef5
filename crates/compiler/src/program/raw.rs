//! Raw query rules: typed rows with clusters instead of hostgroups.

use shardwright_rules::tables::{Part, RULE_COLUMNS};
use shardwright_rules::{EngineRule, HostgroupId, Role};
use shardwright_topology::model::{ClusterId, RawRule, Topology};

use super::{RawBlock, RawRow};
use crate::diagnostics::{Diagnostics, OVERWRITTEN, UNSUPPORTED};

/// Every block with its active rules.
pub(super) fn blocks(
    topology: &Topology,
    hostgroup: &impl Fn(ClusterId, Role) -> HostgroupId,
    report: &mut Diagnostics<'_>,
) -> Vec<RawBlock> {
    let mut blocks = Vec::new();
    for block in &topology.query_rules {
        let active = block.rules.iter().filter(|rule| rule.active);
        let rules = active.map(|rule| row(rule, hostgroup, report)).collect();
        blocks.push(RawBlock {
            origin: block.origin,
            at: block.at,
            rules,
        });
    }
    blocks
}

fn row(
    raw: &RawRule,
    hostgroup: &impl Fn(ClusterId, Role) -> HostgroupId,
    report: &mut Diagnostics<'_>,
) -> RawRow {
    let written = &raw.columns;
    let destination = raw
        .cluster
        .map(|cluster| hostgroup(cluster, raw.role).0)
        .or(written.destination_hostgroup);
    let jumps = written.flag_out.is_some() || !written.flag_outs.is_empty();
    if destination.is_some() && !written.apply && !jumps {
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

/// Columns that the engine has no means for.
fn only_proxysql(raw: &RawRule, report: &mut Diagnostics<'_>) {
    for lacking in report.engine.profile().lacks(&raw.columns) {
        let message = format!("{} cannot {}; proxysql-2.7 can", report.engine, lacking.what);
        report.error(UNSUPPORTED, raw.origin, lacking.column.name(), message);
    }
}
