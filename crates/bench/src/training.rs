//! What a program that counts its steps is made to do: the work of a proxy, in about the shares that it has.
//!
//! The counts say what runs for every statement, what for every connection, and which way branches mostly go. So each kind of
//! work is there, and none but point selects is there so often that it would count for all.

use std::path::Path;

use shardwright_testkit::{MariaDb, Options};

use crate::BenchError;
use crate::bundled::{Bundled, Setup, filled};
use crate::peers::threads::times;
use crate::peers::tls::Certificates;
use crate::sysbench::{Load, Scripts, Sysbench};
use crate::wire_client::{Connected, Security, WireClient};

/// Shards of the proxy whose statements have keys.
const SHARDS: u32 = 1_000;
/// Rows of a large result.
const ROWS: u32 = 1_000;

/// Puts every kind of load on `shardwright`: in front of one cluster, with shards, and with clients inside TLS.
///
/// # Errors
/// A program does not start or does not end well, or a statement fails.
pub fn run(shardwright: &Path, progress: impl Fn(&str)) -> Result<(), BenchError> {
    let server = MariaDb::start(Options::default())?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let client = filled(&server, 1, format!("0-{}", cores - 1))?;
    let scripts = Scripts::new()?;
    let plain = [
        ("texts", 1, 100_000, Load::text()),
        ("texts", 16, 200_000, Load::text()),
        ("executions", 1, 100_000, Load::prepared()),
        ("executions", 16, 200_000, Load::prepared()),
        ("transactions", 1, 2_000, Load::transactions()),
        ("connections", 4, 20_000, scripts.connects()),
        ("results", 2, 4_000, scripts.results(ROWS)),
    ];
    let sharded = [("keys", 16, 200_000, scripts.tenants(SHARDS))];
    for (shards, loads) in [(0, &plain[..]), (SHARDS, &sharded[..])] {
        let setup = Setup {
            shards,
            ..Setup::default()
        };
        let bundled = Bundled::start(shardwright, &server, &setup)?;
        for (name, threads, events, load) in loads {
            progress(&format!("training: {events} {name} of {threads} clients"));
            let client = Sysbench {
                threads: *threads,
                ..client.clone()
            };
            client.run_events(bundled.endpoint().address, *events, load)?;
        }
        // It writes its counts at its end.
        bundled.stop()?;
    }
    inside_tls(shardwright, &server, progress)
}

/// Texts and connections, half of which resume the session of another one.
fn inside_tls(shardwright: &Path, server: &MariaDb, progress: impl Fn(&str)) -> Result<(), BenchError> {
    let certificates = Certificates::new()?;
    let setup = Setup {
        certificate: Some(certificates.pair.clone()),
        ..Setup::default()
    };
    let bundled = Bundled::start(shardwright, server, &setup)?;
    let address = bundled.endpoint().address;
    progress("training: 160000 texts of 16 clients inside TLS");
    let security = Security::Upgrade(certificates.clients(false)?);
    times(16, 10_000, || {
        let mut client = Connected::default();
        let security = &security;
        move || client.or_connect(address, security)?.select(5_000).map(drop)
    })?;
    for resumes in [false, true] {
        progress("training: 4000 connections of 4 clients inside TLS");
        let security = Security::Upgrade(certificates.clients(resumes)?);
        times(4, 1_000, || {
            || {
                let mut client = WireClient::connect(address, &security)?;
                client.select(5_000)?;
                client.close()
            }
        })?;
    }
    bundled.stop()
}
