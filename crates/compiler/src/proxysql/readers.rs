//! Users who only read, and raw rules: ProxySQL obeys a raw rule before it looks at who sends the statement.

use shardwright_rules::{EngineRule, HostgroupId};
use shardwright_topology::model::BlockPlace;

use crate::diagnostics::Diagnostics;
use crate::program::Program;

/// Reports raw rules that could take statements of users who only read past their guard, or to a writer.
pub(super) fn check_raw_rules(program: &Program, report: &mut Diagnostics<'_>) {
    let leads_to_writer = |rule: &EngineRule| {
        let hostgroup = rule.destination_hostgroup.map(HostgroupId);
        let clusters = program.clusters.iter();
        hostgroup.is_some_and(|hostgroup| {
            let mut with_readers = clusters.filter(|cluster| cluster.reader.is_some());
            with_readers.any(|cluster| cluster.writer == hostgroup)
        })
    };
    for block in &program.blocks {
        let in_front = block.at != BlockPlace::AfterAll;
        let is_among_routes = program.may_stand_among_routes(block);
        for row in &block.rules {
            let rule = &row.rule;
            let answers = rule.error_msg.is_some() || rule.ok_msg.is_some();
            let passes_guard = in_front && !answers && (rule.apply || rule.flag_out.is_some());
            if !in_front || !(passes_guard || leads_to_writer(rule) || is_among_routes) {
                continue;
            }
            let is_meant = |user: &&String| rule.username.as_ref().is_none_or(|name| name == *user);
            if let Some(user) = program.readers.keys().find(is_meant) {
                let what = format!(
                    "refuse what user {user}, who only reads (role: reader), sends and this rule takes; a `username` leaves \
                     the rule to other users"
                );
                report.unsupported(row.origin, "", &what);
            }
        }
    }
}
