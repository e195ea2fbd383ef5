//! Raw query rules: typed rows with clusters in the place of hostgroups.

use shardwright_rules::{EngineId, EngineRule, FlagOutChoice, HostgroupId, Modifiers, Role};
use shardwright_topology::model::{self as model, ClusterId, RawRule, Topology};

use super::{Block, RawRow};
use crate::report::{OVERWRITTEN, Report, UNSUPPORTED};

/// Every block with its active rules.
pub(super) fn blocks(
    topology: &Topology,
    hostgroup: &impl Fn(ClusterId, Role) -> HostgroupId,
    report: &mut Report<'_>,
) -> Vec<Block> {
    let mut blocks = Vec::new();
    for block in &topology.query_rules {
        let active = block.rules.iter().filter(|rule| rule.active);
        let rules = active.map(|rule| row(rule, hostgroup, report)).collect();
        blocks.push(Block {
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
    report: &mut Report<'_>,
) -> RawRow {
    let role = match raw.role {
        model::Role::Writer => Role::Writer,
        model::Role::Reader => Role::Reader,
    };
    let destination = raw
        .cluster
        .map(|cluster| hostgroup(cluster, role).0)
        .or(raw.destination_hostgroup);
    let jumps = raw.flag_out.is_some() || !raw.flag_outs.is_empty();
    if destination.is_some() && !raw.apply && !jumps {
        let field = if raw.cluster.is_some() {
            "cluster"
        } else {
            "destination_hostgroup"
        };
        let message = "this rule places statements and neither applies nor jumps, so the sections that follow place them \
                       again; add `apply: 1` or a `flagOUT`";
        report.error(OVERWRITTEN, raw.origin, field, message);
    }
    for (column, is_set) in [
        ("cache_timeout", raw.cache_timeout_ms.is_some()),
        ("reconnect", raw.reconnect.is_some()),
        ("sticky_conn", raw.sticky_conn.is_some()),
    ] {
        if is_set {
            report.difference(
                raw.origin,
                column,
                format!("`{column}` is kept and has no effect"),
            );
        }
    }
    only_proxysql(raw, report);
    let text = |text: &Option<std::sync::Arc<str>>| text.as_deref().map(str::to_owned);
    let condition = |value: &Option<std::sync::Arc<str>>| text(value).filter(|value| !value.is_empty());
    let rule = EngineRule {
        username: condition(&raw.username),
        schemaname: condition(&raw.schemaname),
        client_addr: condition(&raw.client_addr),
        proxy_addr: condition(&raw.proxy_addr),
        proxy_port: raw.proxy_port,
        digest: raw.digest,
        match_digest: text(&raw.match_digest),
        match_pattern: text(&raw.match_pattern),
        negate_match_pattern: raw.negate_match_pattern,
        re_modifiers: Modifiers {
            caseless: raw.re_modifiers.caseless,
            global: raw.re_modifiers.global,
        },
        flag_out: raw.flag_out,
        flag_outs: raw
            .flag_outs
            .iter()
            .map(|choice| FlagOutChoice {
                id: choice.id,
                weight: choice.weight,
            })
            .collect(),
        replace_pattern: text(&raw.replace_pattern),
        destination_hostgroup: destination,
        cache_ttl_ms: raw.cache_ttl_ms,
        cache_empty_result: raw.cache_empty_result,
        cache_timeout_ms: raw.cache_timeout_ms,
        reconnect: raw.reconnect,
        sticky_conn: raw.sticky_conn,
        timeout_ms: raw.timeout_ms,
        retries: raw.retries,
        delay_ms: raw.delay_ms,
        next_query_flag_in: raw.next_query_flag_in,
        mirror_flag_out: raw.mirror_flag_out,
        mirror_hostgroup: raw.mirror_hostgroup,
        error_msg: text(&raw.error_msg),
        ok_msg: text(&raw.ok_msg),
        multiplex: raw.multiplex,
        gtid_from_hostgroup: raw.gtid_from_hostgroup,
        log: raw.log,
        apply: raw.apply,
        comment: text(&raw.comment),
    };
    RawRow {
        origin: raw.origin,
        address: report.address(raw.origin),
        rule_id: raw.rule_id,
        flag_in: raw.flag_in,
        rule,
    }
}

/// Columns that the bundled engine has no means for.
fn only_proxysql(raw: &RawRule, report: &mut Report<'_>) {
    if report.engine != EngineId::Bundled {
        return;
    }
    for (column, is_set, what) in [
        (
            "cache_ttl",
            raw.cache_ttl_ms.is_some_and(|ttl| ttl > 0),
            "keep results",
        ),
        (
            "timeout",
            raw.timeout_ms.is_some_and(|timeout| timeout > 0),
            "end statements after a time",
        ),
        ("mirror_hostgroup", raw.mirror_hostgroup.is_some(), "send copies"),
        ("mirror_flagOUT", raw.mirror_flag_out.is_some(), "send copies"),
        (
            "gtid_from_hostgroup",
            raw.gtid_from_hostgroup.is_some(),
            "wait for a GTID",
        ),
        ("log", raw.log == Some(true), "write an event log"),
    ] {
        if is_set {
            let message = format!("bundled cannot {what}; proxysql-2.7 can");
            report.error(UNSUPPORTED, raw.origin, column, message);
        }
    }
}
