//! A new connection for each statement.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::checks::{Bound, Check};
use super::clients::cpu;
use super::samples::{Sample, by_round};
use super::stage::{Cores, Stage};
use super::targets::{HAPROXY, PROXYSQL, SHARDWRIGHT, Target};
use super::threads::until;
use super::tls::{Certificates, Secured};
use super::turns::{Done, sysbench};
use super::{Outcome, Row};
use crate::BenchError;
use crate::bundled::Setup;
use crate::sysbench::Scripts;
use crate::wire_client::{Security, WireClient};

/// Clients that connect again and again.
const CLIENTS: u32 = 4;

pub(super) const PLAIN: Row = Row {
    name: "connect",
    about: "connect, point select, close, by 4 clients on all cores",
    unit: "connection",
    measure: plain,
};

pub(super) const TLS: Row = Row {
    name: "connect-tls",
    about: "the same with TLS 1.3 to the client (P-256, X25519): HAProxy from the first byte, MySQL's way here",
    unit: "connection",
    measure: tls,
};

fn plain(stage: &Stage<'_>) -> Result<Outcome, BenchError> {
    let server = stage.server(Cores::All, CLIENTS, 1_000)?;
    let targets = stage.proxies(&server)?;
    let scripts = Scripts::new()?;
    let load = scripts.connects();
    let samples = stage.turns(&server, &targets, sysbench(&server.client, &load))?;
    let checks = vec![
        cpu(&samples, SHARDWRIGHT)
            .must(Bound::AtMost(75.0))
            .stretch(Bound::AtMost(65.0)),
        cpu(&samples, HAPROXY),
        cpu(&samples, PROXYSQL),
    ];
    Ok(Outcome { samples, checks })
}

/// HAProxy cannot speak TLS as MySQL begins it, so it begins at the first byte there. Both have the same certificate, and
/// clients offer one cipher suite and one curve. Each connection takes a full handshake, or resumes the session of another one.
fn tls(stage: &Stage<'_>) -> Result<Outcome, BenchError> {
    let server = stage.server(Cores::All, CLIENTS, 1_000)?;
    let certificates = Certificates::new()?;
    let mut secured = Secured::default();
    for resumes in [false, true] {
        let haproxy = stage.haproxy(&server, Some(&certificates.joined))?;
        let security = Security::FromTheFirstByte(certificates.clients(resumes)?);
        secured.push(haproxy.named(&named(HAPROXY, resumes)), security);
        let setup = Setup {
            certificate: Some(certificates.pair.clone()),
            ..Setup::default()
        };
        let own = stage.shardwright(&server, setup)?;
        let security = Security::Upgrade(certificates.clients(resumes)?);
        secured.push(own.named(&named(SHARDWRIGHT, resumes)), security);
    }
    let samples = stage.turns(&server, secured.targets(), |target, duration| {
        connects(target, duration, secured.security(target))
    })?;
    let mut checks = Vec::new();
    for resumes in [false, true] {
        let [haproxy, own] = [HAPROXY, SHARDWRIGHT].map(|name| named(name, resumes));
        let over = by_round(&samples, |round| {
            round.ratio(|sample| sample.proxy_us, &own, &haproxy)
        });
        checks.push(
            Check::of(format!("{own}: CPU over {HAPROXY}'s"), over)
                .must(Bound::AtMost(1.0))
                .stretch(Bound::AtMost(0.8)),
        );
    }
    resumed_as_meant(&samples)?;
    Ok(Outcome { samples, checks })
}

fn named(proxy: &str, resumes: bool) -> String {
    format!("{proxy}, {}", if resumes { "resumed" } else { "full handshake" })
}

fn connects(target: &Target, duration: Duration, security: &Security) -> Result<Done, BenchError> {
    let resumed = AtomicU64::new(0);
    let address = target.endpoint.address;
    let mut done = until(CLIENTS, duration, || {
        || {
            let mut client = WireClient::connect(address, security)?;
            client.select(5_000)?;
            resumed.fetch_add(u64::from(client.is_resumed()), Ordering::Relaxed);
            client.close()
        }
    })?;
    let share = resumed.into_inner() as f64 / done.units as f64;
    done.more.insert("resumed share", share);
    Ok(done)
}

/// What was meant to be compared has been.
fn resumed_as_meant(samples: &[Sample]) -> Result<(), BenchError> {
    let is_wrong = |sample: &&Sample| {
        let share = sample.more.get("resumed share").copied().unwrap_or(0.0);
        let resumes = sample.target.ends_with("resumed");
        if resumes { share < 0.9 } else { share > 0.0 }
    };
    match samples.iter().find(is_wrong) {
        None => Ok(()),
        Some(sample) => Err(BenchError::Output {
            what: format!("{}: handshakes of the other kind", sample.target),
            output: format!("{:?}", sample.more),
        }),
    }
}
