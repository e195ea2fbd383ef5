//! Crashes, hangs and lost networks of the writer under inserts: nothing that was acknowledged is lost on Galera or where a
//! replica has received it first, what is lost otherwise is what the survivor lacked, and nothing is doubled.
//!
//! `SHARDWRIGHT_TRIALS=20` has as many trials, and prints how long writes were away; one trial otherwise.

mod stage;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use shardwright_ledger::{Audit, ErrorKind, Errors, Found, Ledger};
use shardwright_testkit::{Acknowledges, Galera, MariaDb, Network, Replication, eventually};

use crate::galera;
use crate::roles::{mariadb, prepare, replication, setup, told};
use crate::support::{PATIENCE, TestProxy, USER, start, value};

pub(crate) use self::stage::{Load, begin, create};

/// What happens to the writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// Its process ends.
    Crash,
    /// Its process stops: connections stay open, and nothing answers.
    Hang,
    /// Its network is cut.
    Cut,
}

/// What one fault has come to.
struct Trial {
    /// From the moment at which a survivor takes writes to the first that is acknowledged, ms. Below 0: a client's was the first.
    away_ms: f64,
    /// The longest time without an acknowledged commit.
    gap: Duration,
    written: u64,
    /// Acknowledged, and not on the survivor.
    lost: usize,
    unknown: usize,
    /// Of the unknown ones, those that are on the survivor.
    unknown_and_there: usize,
    errors: String,
}

impl Trial {
    fn new(ledger: &Ledger, audit: &Audit, faulted: Instant, away_ms: f64) -> Self {
        let error = |((kind, code), errors): (&(ErrorKind, u16), &Errors)| {
            format!("{}x {code} {}", errors.count, kind.as_str())
        };
        let errors: Vec<String> = ledger.errors().iter().map(error).collect();
        Self {
            away_ms,
            gap: ledger.longest_gap(faulted).length,
            written: ledger.rows(),
            lost: audit.lost.len(),
            unknown: ledger.unknown().len(),
            unknown_and_there: audit.unknown_and_there.len(),
            errors: errors.join(", "),
        }
    }
}

fn ms(from: Instant, to: Instant) -> f64 {
    let forward = to.saturating_duration_since(from).as_secs_f64();
    (forward - from.saturating_duration_since(to).as_secs_f64()) * 1000.0
}

fn found(server: &MariaDb, ledger: &Ledger) -> Found {
    Found::on(&mut server.root().unwrap(), ledger.load()).unwrap()
}

/// What a server has when it has had the time to apply it. Losses are all that may be wrong.
fn audit(server: &MariaDb, ledger: &Ledger, patience: Duration) -> Audit {
    let audit = ledger.audit_on(&mut server.root().unwrap(), patience).unwrap();
    assert!(audit.is_consistent(), "{audit:?} {:?}", ledger.errors());
    audit
}

/// Replicas, of which the one that has received most is promoted by hand.
fn with_replicas(fault: Fault, acknowledges: Acknowledges, network: Option<&Network>, load: Load) -> Trial {
    let count = match acknowledges {
        Acknowledges::Alone => 2,
        Acknowledges::WithReplica => 3,
    };
    let mut servers = Replication::start_as(count, &mariadb(), acknowledges, network).unwrap();
    let replicas = 1..count;
    prepare(&servers.servers[0]);
    servers.servers[0].run("CREATE DATABASE t").unwrap();
    create(&servers.servers[0]);
    let proxy = start(&setup(replication(), &servers.servers));
    let running = begin(&proxy, load);
    eventually(PATIENCE, || running.acknowledged() >= 200);
    let faulted = Instant::now();
    match (fault, network) {
        (Fault::Crash, _) => servers.servers[0].kill().map(|_| ()).unwrap(),
        (Fault::Hang, _) => servers.servers[0].pause().unwrap(),
        (Fault::Cut, network) => network.unwrap().cut(),
    }
    let mut admin = proxy.admin();
    eventually(PATIENCE, || {
        told(&mut admin, "a1", "writes").contains("does not answer")
    });
    let survivor = servers.most_advanced(replicas.clone());
    servers.promote(survivor);
    let promoted = Instant::now();
    for other in replicas.filter(|at| *at != survivor) {
        servers.follow(other, survivor);
    }
    eventually(PATIENCE, || running.first_after(promoted).is_some());
    let resumed = running.first_after(promoted).unwrap();
    let after = running.acknowledged();
    eventually(PATIENCE, || running.acknowledged() >= after + 100);
    let ledger = running.stop();
    let patience = match acknowledges {
        Acknowledges::Alone => Duration::ZERO,
        Acknowledges::WithReplica => PATIENCE,
    };
    let audit = audit(&servers.servers[survivor], &ledger, patience);
    match acknowledges {
        Acknowledges::Alone => {
            let survivor = found(&servers.servers[survivor], &ledger);
            former_has_what_is_lost(fault, network, &mut servers, &survivor, &ledger);
        }
        Acknowledges::WithReplica => assert!(
            audit.lost.is_empty(),
            "{audit:?}: a replica had received it, {:?}",
            ledger.errors()
        ),
    }
    let errors = ledger.errors();
    assert!(
        ledger.unknown().len() as u64 <= Load::CLIENTS,
        "each client has at most one statement at the server that is gone: {errors:?}"
    );
    assert!(
        errors.keys().all(|error| *error == (ErrorKind::Unknown, 2013)),
        "whoever had no statement there hears of nothing: {errors:?}"
    );
    Trial::new(&ledger, &audit, faulted, ms(promoted, resumed))
}

/// The former primary is back: what was acknowledged and is lost is exactly what the survivor had not received.
fn former_has_what_is_lost(
    fault: Fault,
    network: Option<&Network>,
    servers: &mut Replication,
    survivor: &Found,
    ledger: &Ledger,
) {
    match (fault, network) {
        (Fault::Crash, _) => servers.servers[0].restart().unwrap(),
        (Fault::Hang, _) => servers.servers[0].resume().unwrap(),
        (Fault::Cut, network) => network.unwrap().mend(),
    }
    // What it had begun ends, and no client hears of it.
    let working = format!(
        "SELECT COUNT(*) FROM information_schema.processlist WHERE user = '{USER}' AND command = 'Query'"
    );
    eventually(PATIENCE, || {
        servers.servers[0].run(&working).unwrap()[0][0].as_deref() == Some("0")
    });
    let survivor: BTreeSet<u64> = survivor.commits().collect();
    let former: BTreeSet<u64> = found(&servers.servers[0], ledger).commits().collect();
    let acknowledged: BTreeSet<u64> = ledger.acknowledged().collect();
    let lacked: BTreeSet<u64> = former.difference(&survivor).copied().collect();
    let lost: BTreeSet<u64> = acknowledged.difference(&survivor).copied().collect();
    assert!(
        lost.is_subset(&lacked),
        "{lost:?} were acknowledged, and no server has them"
    );
    let told: BTreeSet<u64> = lacked.intersection(&acknowledged).copied().collect();
    assert_eq!(lost, told);
}

/// A Galera cluster, whose survivors go on by themselves. One of them is written to directly: that is how soon they do.
fn with_equals(galera: &mut Galera, fault: Fault) -> Trial {
    galera.servers[0]
        .run("DROP DATABASE t; CREATE DATABASE t")
        .unwrap();
    create(&galera.servers[0]);
    let proxy = start(&setup(galera::kind(), &galera.servers));
    let running = begin(&proxy, Load::default());
    let survivor = stage::directly(&galera.servers[2]);
    eventually(PATIENCE, || {
        running.acknowledged() >= 200 && survivor.acknowledged() >= 20
    });
    assert_eq!(writer(&proxy), "a1");
    let faulted = Instant::now();
    match fault {
        Fault::Crash => galera.servers[0].kill().map(|_| ()).unwrap(),
        Fault::Hang => galera.servers[0].pause().unwrap(),
        Fault::Cut => galera.network().unwrap().cut(),
    }
    // The order of preference is honoured.
    eventually(PATIENCE, || writer(&proxy) == "a2");
    let moved = Instant::now();
    eventually(PATIENCE, || {
        running.first_after(moved).is_some() && survivor.first_after(moved).is_some()
    });
    let [after, direct] = [running.acknowledged(), survivor.acknowledged()];
    eventually(PATIENCE, || {
        running.acknowledged() >= after + 100 && survivor.acknowledged() >= direct + 20
    });
    galera.heal().unwrap();
    let mut admin = proxy.admin();
    eventually(PATIENCE, || told(&mut admin, "a1", "reads") == "yes");
    // The writer may have moved on, because it helped the first to join. The first comes back when it is asked to.
    assert_ne!(writer(&proxy), "a1");
    let (ledger, survivor) = (running.stop(), survivor.stop());
    let end_of_gap = |ledger: &Ledger| {
        let gap = ledger.longest_gap(faulted);
        ledger.began() + gap.from + gap.length
    };
    let away_ms = ms(end_of_gap(&survivor), end_of_gap(&ledger));
    let audits: Vec<Audit> = galera
        .servers
        .iter()
        .map(|server| {
            let audit = audit(server, &ledger, PATIENCE);
            assert!(audit.lost.is_empty(), "{audit:?}: {:?}", ledger.errors());
            assert!(stage::is_whole(server, &survivor));
            audit
        })
        .collect();
    assert!(audits.iter().all(|audit| *audit == audits[0]), "{audits:?}");
    Trial::new(&ledger, &audits[0], faulted, away_ms)
}

/// The server that gets writes.
fn writer(proxy: &TestProxy) -> String {
    let sql = "SELECT COALESCE(MAX(server), '') FROM stats_shardwright_servers WHERE writes = 'yes'";
    let server = value(&mut proxy.admin(), sql);
    server.rsplit('.').next().unwrap().to_owned()
}

/// As many trials as are asked for, and what they have come to.
#[expect(
    clippy::print_stdout,
    reason = "whoever runs many of them reads what each has come to"
)]
fn trials(name: &str, mut trial: impl FnMut(u32) -> Trial) {
    let count = std::env::var("SHARDWRIGHT_TRIALS").map_or(1, |count| count.parse().unwrap());
    let mut all: Vec<Trial> = Vec::new();
    for number in 1..=count {
        let trial = trial(number);
        println!(
            "{name} {number}: writes are back {:.0} ms after a survivor takes them, {:.0} ms after the last; {} rows, {} lost, \
             {} unknown of which {} are there; {}",
            trial.away_ms,
            trial.gap.as_secs_f64() * 1000.0,
            trial.written,
            trial.lost,
            trial.unknown,
            trial.unknown_and_there,
            trial.errors
        );
        all.push(trial);
    }
    let spread = |figure: &dyn Fn(&Trial) -> f64| {
        let mut figures: Vec<f64> = all.iter().map(figure).collect();
        figures.sort_by(f64::total_cmp);
        let last = figures.len() - 1;
        format!(
            "{:.0} ({:.0}..{:.0})",
            figures[figures.len() / 2],
            figures[0],
            figures[last]
        )
    };
    let sum = |figure: &dyn Fn(&Trial) -> usize| all.iter().map(figure).sum::<usize>();
    println!(
        "{name}, {} trials: back after {} ms, gap {} ms, {} rows, {} lost in {} trials, {} unknown of which {} are there",
        all.len(),
        spread(&|trial| trial.away_ms),
        spread(&|trial| trial.gap.as_secs_f64() * 1000.0),
        all.iter().map(|trial| trial.written).sum::<u64>(),
        sum(&|trial| trial.lost),
        sum(&|trial| usize::from(trial.lost > 0)),
        sum(&|trial| trial.unknown),
        sum(&|trial| trial.unknown_and_there),
    );
}

fn replicas(fault: Fault, acknowledges: Acknowledges) {
    let name = format!("{acknowledges:?} {fault:?}");
    let mut network = None;
    if fault == Fault::Cut {
        network = Network::if_possible(&name);
        if network.is_none() {
            return;
        }
    }
    trials(&name, |number| {
        // In every other trial most clients have nothing to wait for when the server goes.
        let rate = number.is_multiple_of(2).then_some(400.0);
        let load = Load {
            rate,
            ..Load::default()
        };
        let trial = with_replicas(fault, acknowledges, network.as_ref(), load);
        if let Some(network) = &network {
            network.mend();
        }
        trial
    });
}

#[test]
fn a_crash_doubles_nothing_and_loses_what_the_survivor_lacked() {
    replicas(Fault::Crash, Acknowledges::Alone);
}

#[test]
fn a_hang_doubles_nothing_and_loses_what_the_survivor_lacked() {
    replicas(Fault::Hang, Acknowledges::Alone);
}

#[test]
fn a_lost_network_doubles_nothing_and_loses_what_the_survivor_lacked() {
    replicas(Fault::Cut, Acknowledges::Alone);
}

#[test]
fn nothing_is_lost_that_a_replica_has_received() {
    for fault in [Fault::Crash, Fault::Hang, Fault::Cut] {
        replicas(fault, Acknowledges::WithReplica);
    }
}

#[test]
fn nothing_is_lost_or_doubled_on_galera_and_the_order_of_writers_is_honoured() {
    let mut galera = galera::cluster();
    for fault in [Fault::Crash, Fault::Hang, Fault::Cut] {
        if fault == Fault::Cut && galera.network().is_none() {
            continue;
        }
        trials(&format!("Galera {fault:?}"), |_| with_equals(&mut galera, fault));
    }
}
