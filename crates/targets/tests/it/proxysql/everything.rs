//! A configuration that uses every table and column, on the real engine.

use std::collections::BTreeMap;

use shardwright_plan::{Facts, Outcome, apply};
use shardwright_rules::Configuration;
use shardwright_targets::emit::Ownership;
use shardwright_targets::proxysql::{Live, Row, RowName};

use super::rig::{Rig, effects, plan};
use crate::emit::configuration::everything;

/// Without passwords, which nobody has here.
fn without_passwords() -> Configuration {
    let mut configuration = everything();
    for user in &mut configuration.users {
        user.password = None;
    }
    if let Some(monitor) = &mut configuration.monitor {
        monitor.password = None;
    }
    configuration
}

/// Its rows, without variables and without how the engine prints a rule anew.
fn rules_and_objects(live: &Live) -> BTreeMap<RowName, Facts> {
    // A server that is switched off for good is not live.
    let is_off = |row: &Row| row.text("status") == "OFFLINE_HARD";
    let rows = live
        .rows()
        .filter(|(name, found)| name.table.as_str() != "global_variables" && !is_off(&found.row));
    let facts = rows.map(|(name, found)| {
        let mut facts = found.row.facts.clone();
        facts.retain(|column, value| !["digest", "re_modifiers"].contains(&column.as_str()) && value != "");
        (name.clone(), facts)
    });
    facts.collect()
}

#[test]
fn every_table_and_column_goes_there_and_is_taken_away_again() {
    let Some(rig) = Rig::start("every table of a real ProxySQL") else {
        return;
    };
    let ownership = || Ownership {
        had_firewall: true,
        resets: BTreeMap::from([("mysql-firewall_whitelist_enabled".to_owned(), "false".to_owned())]),
        ..Ownership::default()
    };
    let desired = without_passwords();
    for turn in 0..2 {
        let mut target = rig.target_of(Some("shop"), ownership());
        let planned = plan(&mut target, &desired, Some("shop"));
        let report = apply(&planned, &mut target);
        assert_eq!(report.outcome, Outcome::Applied, "{turn}: {report:#?}");
        let again = plan(&mut target, &desired, Some("shop"));
        assert!(!again.has_changes(), "{turn}: {}", effects(&again));
        let status = target.status().unwrap();
        assert!(status.is_well(), "{turn}: {status:#?}");
        // What runs is read as memory has it.
        assert_eq!(
            rules_and_objects(&target.running().unwrap()),
            rules_and_objects(&target.read().unwrap())
        );
        // And away with all of it.
        let empty = Configuration::empty(desired.engine);
        let mut target = rig.target_of(Some("shop"), ownership());
        let planned = plan(&mut target, &empty, Some("shop"));
        let report = apply(&planned, &mut target);
        assert_eq!(report.outcome, Outcome::Applied, "{turn}: {report:#?}");
        for table in [
            "mysql_servers",
            "mysql_users",
            "mysql_galera_hostgroups",
            "mysql_group_replication_hostgroups",
            "mysql_replication_hostgroups",
            "mysql_query_rules_fast_routing",
            "mysql_firewall_whitelist_users",
            "mysql_firewall_whitelist_rules",
        ] {
            for layer in ["", "runtime_", "disk."] {
                let query = format!("SELECT count(*) FROM {layer}{table}");
                assert_eq!(rig.lines(&query), ["0"], "{turn}: {layer}{table}");
            }
        }
    }
}
