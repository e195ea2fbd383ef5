//! What a plan and an apply of one moved shard among ten thousand ask of a ProxySQL, in statements and rows.

use std::fmt::Write;

use shardwright_plan::{Outcome, apply};
use shardwright_rules::Configuration;
use shardwright_targets::emit::Ownership;
use shardwright_testkit::{Faulty, configuration};

use super::rig::{Rig, plan};

const SHARDS: usize = 10_000;
/// Rows of variables, in memory and on disk, and of everything else that is not a rule.
const OTHER_ROWS: usize = 700;

/// A rule for each shard; the one in the middle leads to this hostgroup.
fn shards(middle: u32) -> Configuration {
    let mut yaml = "rules:\n".to_owned();
    for shard in 0..SHARDS {
        let hostgroup = if shard == SHARDS / 2 { middle } else { 10 };
        writeln!(
            yaml,
            "  - {{rule_id: {}, match_pattern: 'tenant={shard} ', re_modifiers: CASELESS, destination_hostgroup: {hostgroup}, apply: 1}}",
            1_000 + shard
        )
        .unwrap();
    }
    configuration(&yaml)
}

/// What went through a network while something was done: statements, and rows.
fn spent(rig: &Rig, done: impl FnOnce(&str)) -> (Vec<String>, usize) {
    let network = Faulty::start(rig.proxysql.admin_address(), 0, None, false);
    done(&network.address.to_string());
    (network.statements(), network.rows())
}

/// Tables beside the rows of projects, which are small, and read once by an apply.
const BESIDE: usize = 6;

#[test]
fn one_moved_shard_reads_the_rules_once_for_a_plan_and_three_times_for_an_apply() {
    let Some(rig) = Rig::start("the cost of an apply to a real ProxySQL") else {
        return;
    };
    let target = |admin: &str| rig.target_at(admin, Some("shop"), Ownership::default());
    let (first, moved) = (shards(10), shards(20));
    let (statements, rows) = spent(&rig, |admin| {
        let planned = plan(&mut rig.target(), &first, Some("shop"));
        let report = apply(&planned, &mut target(admin));
        assert_eq!(report.outcome, Outcome::Applied, "{report:#?}");
    });
    // Written and read back in memory, compared before the load and after the save, and observed.
    assert!(rows <= 4 * SHARDS + 3 * OTHER_ROWS, "first apply: {rows} rows");
    assert!(
        statements.len() <= 100 + BESIDE,
        "{} {statements:#?}",
        statements.len()
    );

    let mut planned = None;
    let (statements, rows) = spent(&rig, |admin| {
        planned = Some(plan(&mut target(admin), &moved, Some("shop")));
    });
    assert!(rows <= SHARDS + OTHER_ROWS, "plan: {rows} rows");
    assert!(statements.len() <= 16, "{} {statements:#?}", statements.len());

    let (statements, rows) = spent(&rig, |admin| {
        let report = apply(&planned.unwrap(), &mut target(admin));
        assert_eq!(report.outcome, Outcome::Applied, "{report:#?}");
    });
    // What is there before, under the lease, and afterwards.
    assert!(rows <= 3 * (SHARDS + OTHER_ROWS), "apply: {rows} rows");
    assert!(
        statements.len() <= 55 + BESIDE,
        "{} {statements:#?}",
        statements.len()
    );
    // A runtime table is written anew, with every rule, for each statement that names it.
    let refreshed = statements
        .iter()
        .filter(|text| text.contains("runtime_mysql_query_rules"));
    assert_eq!(refreshed.count(), 3);
    assert_eq!(
        rig.lines("SELECT count(*) FROM runtime_mysql_query_rules WHERE destination_hostgroup = 20"),
        ["1"]
    );
}
