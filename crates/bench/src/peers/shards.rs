//! Many shards: the bundled proxy, and ProxySQL with a list of rules or with our tree.

use super::checks::{Bound, Check};
use super::clients::rate;
use super::stage::{Cores, Server, Stage};
use super::targets::{SHARDWRIGHT, Target};
use super::turns::sysbench;
use super::{Outcome, Row};
use crate::BenchError;
use crate::bundled::Setup;
use crate::proxysql::{Layout, load_rule_set};
use crate::sysbench::Scripts;

const SHARDS: u32 = 1_000;
const FLAT: &str = "ProxySQL, flat list";
const TREE: &str = "ProxySQL, our tree";

pub(super) const THOUSAND: Row = Row {
    name: "shards-1000",
    about: "point selects of 16 clients on all cores, 1,000 shards by comment",
    unit: "statement",
    measure,
};

fn measure(stage: &Stage<'_>) -> Result<Outcome, BenchError> {
    let server = stage.server(Cores::All, 16, 1_000)?;
    let mut targets = Vec::new();
    for (name, layout) in [(FLAT, Layout::Flat), (TREE, Layout::Tree)] {
        targets.extend(ruled(stage, &server, layout)?.map(|target| target.named(name)));
    }
    let setup = Setup {
        shards: SHARDS,
        ..Setup::default()
    };
    targets.push(stage.shardwright(&server, setup)?);
    let scripts = Scripts::new()?;
    let load = scripts.tenants(SHARDS);
    let samples = stage.turns(&server, &targets, sysbench(&server.client, &load))?;
    let over = |base, must, stretch| -> Check {
        rate(&samples, SHARDWRIGHT, base)
            .must(Bound::AtLeast(must))
            .stretch(Bound::AtLeast(stretch))
    };
    let checks = vec![over(FLAT, 1.75, 2.0), over(TREE, 1.3, 1.4)];
    Ok(Outcome { samples, checks })
}

fn ruled(stage: &Stage<'_>, server: &Server, layout: Layout) -> Result<Option<Target>, BenchError> {
    stage.proxysql_with(server, |proxysql| {
        load_rule_set(&mut proxysql.admin()?, layout, SHARDS, server.maria.address())
    })
}
