//! Every pair of features on a real ProxySQL: a statement of each is served as the evaluator says.

use shardwright_rules::EngineId;
use shardwright_testkit::real_proxysql;

use super::loaded::Loaded;
use crate::pairs::features::topology;
use crate::pairs::{compiled, every_pair};
use crate::support::*;

#[test]
fn every_pair_is_served_as_the_evaluator_says() {
    let Some(binary) = real_proxysql("pairs of features") else {
        return;
    };
    let mut served = 0;
    for pair in every_pair() {
        if compiled(&pair, EngineId::Proxysql27).is_err() {
            continue;
        }
        let loaded = Loaded::start(&binary, &loaded(&topology(&pair)), 1);
        for feature in &pair {
            let probe = &feature.probe;
            let mut client = loaded.client(probe.user, Some(probe.schema));
            let is_compared = loaded.check(&mut client, (probe.user, Some(probe.schema)), probe.sql);
            assert!(is_compared, "{}: {} was not routed", feature.name, probe.sql);
        }
        served += 1;
    }
    println!("{served} pairs served");
}
