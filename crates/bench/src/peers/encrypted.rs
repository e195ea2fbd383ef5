//! Statements and logins inside TLS.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::checks::{Bound, Check};
use super::clients::rate;
use super::samples::by_round;
use super::stage::{Cores, Stage};
use super::targets::{DIRECT, HAPROXY, PLENTY, PROXYSQL, SHARDWRIGHT, Target};
use super::threads::until;
use super::tls::{Certificates, Secured};
use super::turns::Done;
use super::{Outcome, Row};
use crate::BenchError;
use crate::bundled::Setup;
use crate::statistics::Summary;
use crate::wire_client::{Connected, Security, WireClient, ids};

/// Of one client at a time, so that what is measured is how long it takes and not how many cores there are.
const CLIENTS: u32 = 1;
const OPEN: &str = "open µs";
const CLOSE: &str = "close µs";

pub(super) const CLIENTS_16: Row = Row {
    name: "clients-16-tls",
    about: "point selects of 16 clients with TLS 1.3 to the proxy, on all cores: HAProxy from the first byte, MySQL's way else",
    unit: "statement",
    measure: clients,
};

pub(super) const BOTH: Row = Row {
    name: "login-tls",
    about: "log in, point select, close, by one client; TLS 1.3 to the client and to the server, full handshakes (J1)",
    unit: "connection",
    measure: both,
};

fn both(stage: &Stage<'_>) -> Result<Outcome, BenchError> {
    let certificates = Certificates::new()?;
    let copies = tempfile::tempdir().map_err(BenchError::io("certificates"))?;
    let server = stage.server_with(certificates.server(copies.path())?, Cores::All, CLIENTS, 1_000)?;
    let setup = Setup {
        certificate: Some(certificates.pair.clone()),
        encrypts_to_server: true,
        ..Setup::default()
    };
    let targets = [stage.direct(&server), stage.shardwright(&server, setup)?];
    let security = Security::Upgrade(certificates.clients(false)?);
    let samples = stage.turns(&server, &targets, |target, duration| {
        logins(target, duration, &security)
    })?;
    let over_direct = |what: &'static str| {
        let ratio = by_round(&samples, |round| {
            Some(round.of(SHARDWRIGHT)?.more[what] / round.of(DIRECT)?.more[what])
        });
        Check::of(
            format!("{SHARDWRIGHT}: {what} over those of the server alone"),
            ratio,
        )
    };
    let checks = vec![
        over_direct(OPEN).must(Bound::AtMost(1.0)),
        over_direct(CLOSE).must(Bound::AtMost(1.2)),
    ];
    Ok(Outcome { samples, checks })
}

fn clients(stage: &Stage<'_>) -> Result<Outcome, BenchError> {
    const CLIENTS: u32 = 16;
    let server = stage.server(Cores::All, CLIENTS, PLENTY)?;
    let certificates = Certificates::new()?;
    let mysqls_way = Security::Upgrade(certificates.clients(false)?);
    let mut secured = Secured::default();
    secured.push(
        stage.haproxy(&server, Some(&certificates.joined))?,
        Security::FromTheFirstByte(certificates.clients(false)?),
    );
    if let Some(proxysql) = stage.proxysql(&server, PLENTY)? {
        // It has a certificate of its own making.
        secured.push(proxysql, Security::Upgrade(certificates.trusting()?));
    }
    let setup = || Setup {
        certificate: Some(certificates.pair.clone()),
        ..Setup::default()
    };
    secured.push(stage.shardwright(&server, setup())?, mysqls_way.clone());
    if let Some(other) = stage.other_build(&server, setup())? {
        secured.push(other, mysqls_way);
    }
    let samples = stage.turns(&server, secured.targets(), |target, duration| {
        let security = secured.security(target);
        until(CLIENTS, duration, || {
            let mut client = Connected::default();
            let mut ids = ids();
            move || {
                let client = client.or_connect(target.endpoint.address, security)?;
                let id = ids.next().expect("there is always another");
                client.select(id).map(drop)
            }
        })
    })?;
    let checks = [HAPROXY, PROXYSQL]
        .map(|peer| rate(&samples, SHARDWRIGHT, peer))
        .into();
    Ok(Outcome { samples, checks })
}

/// Medians of how long it took to log in, and to close.
fn logins(target: &Target, duration: Duration, security: &Security) -> Result<Done, BenchError> {
    let took = Arc::new(Mutex::new((Vec::new(), Vec::new())));
    let address = target.endpoint.address;
    let mut done = until(CLIENTS, duration, || {
        || {
            let began = Instant::now();
            let mut client = WireClient::connect(address, security)?;
            let opened = began.elapsed();
            client.select(5_000)?;
            let began = Instant::now();
            client.close()?;
            let mut took = took.lock().unwrap_or_else(PoisonError::into_inner);
            took.0.push(opened.as_secs_f64() * 1e6);
            took.1.push(began.elapsed().as_secs_f64() * 1e6);
            Ok(())
        }
    })?;
    let took = took.lock().unwrap_or_else(PoisonError::into_inner);
    for (name, times) in [(OPEN, &took.0), (CLOSE, &took.1)] {
        if let Some(times) = Summary::of(times.iter().copied()) {
            done.more.insert(name, times.median);
        }
    }
    Ok(done)
}
