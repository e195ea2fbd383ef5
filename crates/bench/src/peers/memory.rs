//! What a client that waits takes of a proxy's memory.

use std::collections::BTreeMap;
use std::time::Instant;

use super::checks::{Bound, Check};
use super::samples::{Sample, of_target};
use super::stage::{Cores, Server, Stage};
use super::targets::{PROXYSQL, SHARDWRIGHT, Target};
use super::threads::failed;
use super::tls::Certificates;
use super::turns::Done;
use super::{Outcome, Row};
use crate::BenchError;
use crate::bundled::Setup;
use crate::group_status::resident_kib;
use crate::wire_client::{ClientError, Security, WireClient};

pub(super) const IDLE: Row = Row {
    name: "idle-memory",
    about: "clients that have asked one point select and wait, 4,000 plain and 1,500 with TLS; one worker, one round",
    unit: "client",
    measure: idle,
};

const EACH: &str = "KiB each";
/// Clients that come first, with all that a proxy only makes once.
const FIRST: u32 = 100;

fn idle(stage: &Stage<'_>) -> Result<Outcome, BenchError> {
    let server = stage.server(Cores::One, 1, 1_000)?;
    let certificates = Certificates::new()?;
    let mut samples = Vec::new();
    for (kind, clients, security) in [
        ("plain", 4_000, Security::Plain),
        ("TLS", 1_500, Security::Upgrade(certificates.clients(false)?)),
    ] {
        let setup = Setup {
            certificate: Some(certificates.pair.clone()),
            ..Setup::default()
        };
        let mut targets = vec![stage.shardwright(&server, setup)?];
        targets.extend(stage.proxysql(&server, 100)?);
        for target in targets {
            let name = format!("{}, {kind}", target.endpoint.name);
            // ProxySQL has a certificate of its own making.
            let security = match (&security, target.endpoint.name.as_str()) {
                (Security::Upgrade(_), PROXYSQL) => Security::Upgrade(certificates.trusting()?),
                _ => security.clone(),
            };
            let target = target.named(&name);
            samples.push(measured(stage, &server, &target, clients, &security)?);
        }
    }
    let each = |name: &str, kind: &str| {
        let kib = of_target(&samples, &format!("{name}, {kind}"), |sample| sample.more[EACH]);
        Check::of(format!("{name}, {kind}: KiB for an idle client"), kib)
    };
    let checks = vec![
        each(SHARDWRIGHT, "plain")
            .must(Bound::AtMost(4.0))
            .stretch(Bound::AtMost(3.0)),
        each(SHARDWRIGHT, "TLS").must(Bound::AtMost(20.0)),
        each(PROXYSQL, "plain"),
        each(PROXYSQL, "TLS"),
    ];
    Ok(Outcome { samples, checks })
}

fn measured(
    stage: &Stage<'_>,
    server: &Server,
    target: &Target,
    clients: u32,
    security: &Security,
) -> Result<Sample, BenchError> {
    let resident = || resident_kib(target.endpoint.group).map_err(BenchError::io("resident set"));
    let mut waiting = connected(target, FIRST, security).map_err(failed)?;
    let sample = stage.turn(server, target, 1, || {
        let (start, before) = (Instant::now(), resident()?);
        waiting.extend(connected(target, clients, security).map_err(failed)?);
        let each = (resident()? as f64 - before as f64) / f64::from(clients);
        Ok(Done {
            units: u64::from(clients),
            seconds: start.elapsed().as_secs_f64(),
            more: BTreeMap::from([(EACH, each)]),
        })
    })?;
    (stage.progress)(&format!("  {}: {:.1} KiB", sample.target, sample.more[EACH]));
    Ok(sample)
}

/// Clients that have asked once.
fn connected(target: &Target, clients: u32, security: &Security) -> Result<Vec<WireClient>, ClientError> {
    let client = |_| {
        let mut client = WireClient::connect(target.endpoint.address, security)?;
        client.select(5_000)?;
        client.rest();
        Ok(client)
    };
    (0..clients).map(client).collect()
}
