//! The long form: a durable replica, and what the throttle, the published loop and nothing come to.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use mysql::Conn;
use mysql::prelude::Queryable;
use shardwright_rules::{Body, Configuration, DelayStep, NativeStep, Rule, Scope, StatementKind};
use shardwright_testkit::Replication;

use super::{BEAT, Load, WRITERS, client_of, makes_slow, servers, under_load};
use crate::roles::{replication, setup};
use crate::support::{Setup, TestProxy, apply, configuration, start};
use crate::throttles::{on_lag, throttle_rule};

/// What slows writers when the replica lags.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Policy {
    Nothing,
    /// A throttle of 3 s and 1 s, 1 to 500 ms.
    Regulated,
    /// The loop, which delays every statement.
    GlobalLoop,
    /// The loop, which delays updates.
    RuleLoop,
}

/// The threshold of every policy.
const THRESHOLD_S: f64 = 3.0;

/// What a time under a policy has come to.
#[derive(Clone, Copy, Debug)]
struct Figures {
    writes_per_s: f64,
    reads_per_s: f64,
    inserts_per_s: f64,
    /// Of heartbeats, which the replica applies as well.
    beats_per_s: f64,
    /// What a read takes, mean.
    read_us: f64,
    /// Transactions that the replica has applied.
    applied_per_s: f64,
    mean_lag_s: f64,
    worst_lag_s: f64,
    /// Of the looks, those above the threshold.
    above: f64,
}

impl Figures {
    /// Everything that the replica has to apply.
    fn written_per_s(&self) -> f64 {
        self.writes_per_s + self.inserts_per_s + self.beats_per_s
    }
}

impl std::fmt::Display for Figures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{:.0} writes/s, {:.0} applied/s, {:.0} reads/s ({:.0} µs each), {:.1} inserts/s, lag {:.2} s (mean), {:.2} s (worst), above 3 s {:.0} % of the time",
            self.writes_per_s,
            self.applied_per_s,
            self.reads_per_s,
            self.read_us,
            self.inserts_per_s,
            self.mean_lag_s,
            self.worst_lag_s,
            self.above * 100.0
        )
    }
}

fn one_ms(kinds: &[StatementKind]) -> Rule {
    let mut rule = throttle_rule(2, "loop", kinds, crate::throttles::throttle());
    rule.body = Body::Native {
        scope: Box::new(Scope {
            statements: kinds.to_vec(),
            ..Scope::default()
        }),
        step: NativeStep::Delay(DelayStep { delay_ms: 1 }),
    };
    rule
}

/// Servers, a proxy and what it serves.
struct Bench {
    servers: Replication,
    setup: Setup,
    proxy: TestProxy,
}

impl Bench {
    /// A single-threaded durable replica behind a primary that is not durable. A trigger keeps the replica as slow as it is on a disk
    /// whose speed does not change while other work is done on the machine.
    fn start() -> Self {
        let servers = servers();
        let [primary, replica] = &servers.servers[..] else {
            panic!("two servers");
        };
        primary
            .run("SET GLOBAL innodb_flush_log_at_trx_commit = 0")
            .unwrap();
        replica
            .run("SET GLOBAL innodb_flush_log_at_trx_commit = 1, sync_binlog = 1")
            .unwrap();
        makes_slow(replica, 10);
        let setup = setup(replication(), &servers.servers);
        let proxy = start(&setup);
        Self {
            servers,
            setup,
            proxy,
        }
    }

    /// The proxy serves the rules of a policy; those of a loop while it is on.
    fn serve(&self, admin: &mut Conn, policy: Policy, is_on: bool) {
        let mut wanted: Configuration =
            configuration(&self.setup, &self.proxy.directory.path().join("secret"));
        match policy {
            Policy::Regulated => wanted.graph.rules.insert(
                0,
                throttle_rule(1, "lag", &[StatementKind::Update], on_lag(3000.0, 1000.0, 1, 500)),
            ),
            Policy::GlobalLoop if is_on => wanted.graph.rules.insert(0, one_ms(&[])),
            Policy::RuleLoop if is_on => wanted.graph.rules.insert(0, one_ms(&[StatementKind::Update])),
            Policy::Nothing | Policy::GlobalLoop | Policy::RuleLoop => {}
        }
        apply(admin, &wanted).unwrap();
    }

    /// The replica leaves out what it has not applied: only counts of rows are changed, and it would take minutes.
    fn skip_backlog(&self) {
        self.serve(&mut self.proxy.admin(), Policy::Nothing, false);
        let position = self.servers.servers[0].run("SELECT @@gtid_binlog_pos").unwrap();
        let position = position[0][0].clone().unwrap();
        self.servers.servers[1]
            .run(format!(
                "STOP SLAVE; SET GLOBAL gtid_slave_pos = '{position}'; START SLAVE"
            ))
            .unwrap();
    }

    fn under_load<T>(&self, pace: Duration, observe: impl FnOnce(&Load) -> T) -> T {
        let observed = under_load(&self.proxy, &self.servers, pace, observe);
        self.skip_backlog();
        observed
    }

    /// What happens under a policy, after it has had time to take hold.
    fn measure(&self, load: &Load, policy: Policy, [settles, lasts]: [Duration; 2]) -> Figures {
        let mut steps = Steps::new(self, policy);
        let until = Instant::now() + settles;
        while Instant::now() < until {
            steps.step();
        }
        steps.figures(load, lasts)
    }
}

/// A policy at work: the loop of a shell script acts step by step.
struct Steps<'a> {
    bench: &'a Bench,
    policy: Policy,
    admin: Conn,
    replica: Conn,
    is_on: bool,
}

impl<'a> Steps<'a> {
    fn new(bench: &'a Bench, policy: Policy) -> Self {
        let mut admin = bench.proxy.admin();
        bench.serve(&mut admin, policy, false);
        Self {
            bench,
            policy,
            admin,
            replica: client_of(&bench.servers.servers[1]),
            is_on: false,
        }
    }

    fn step(&mut self) {
        if !matches!(self.policy, Policy::GlobalLoop | Policy::RuleLoop) {
            return std::thread::sleep(BEAT);
        }
        let status: Option<mysql::Row> = self.replica.query_first("SHOW SLAVE STATUS").unwrap();
        let behind = status.and_then(|row| row.get::<Option<u64>, _>("Seconds_Behind_Master"));
        // As it was published: at 3 s or more on, at 0 s off.
        let wanted = match behind.flatten() {
            Some(behind) if behind >= 3 => true,
            Some(0) => false,
            _ => self.is_on,
        };
        if wanted != self.is_on {
            self.is_on = wanted;
            self.bench.serve(&mut self.admin, self.policy, wanted);
        }
        std::thread::sleep(Duration::from_millis(1));
    }

    /// Transactions that the replica has applied so far.
    fn applied(&mut self) -> u64 {
        let position: String = self
            .replica
            .query_first("SELECT @@gtid_slave_pos")
            .unwrap()
            .unwrap();
        let number = position.rsplit('-').next().unwrap();
        number.parse().unwrap()
    }

    fn figures(&mut self, load: &Load, lasts: Duration) -> Figures {
        let counts = [
            &load.writes,
            &load.reads,
            &load.inserts,
            &load.beats,
            &load.read_us,
        ];
        let before = counts.map(|count| count.load(Ordering::Relaxed));
        let applied = self.applied();
        let began = Instant::now();
        let mut lags = Vec::new();
        while began.elapsed() < lasts {
            self.step();
            lags.push(load.lag_s());
        }
        let took_s = began.elapsed().as_secs_f64();
        let [
            writes_per_s,
            reads_per_s,
            inserts_per_s,
            beats_per_s,
            reading_us_per_s,
        ] = [0, 1, 2, 3, 4].map(|at| (counts[at].load(Ordering::Relaxed) - before[at]) as f64 / took_s);
        let count = lags.len() as f64;
        Figures {
            writes_per_s,
            reads_per_s,
            inserts_per_s,
            beats_per_s,
            read_us: reading_us_per_s / reads_per_s,
            applied_per_s: (self.applied() - applied) as f64 / took_s,
            mean_lag_s: lags.iter().sum::<f64>() / count,
            worst_lag_s: lags.iter().copied().fold(0.0, f64::max),
            above: lags.iter().filter(|lag| **lag > THRESHOLD_S).count() as f64 / count,
        }
    }
}

/// The mean, and its bounds of 95 % (1.96 standard errors; of ten pairs and fewer, 2.26).
fn bounds(values: &[f64]) -> [f64; 3] {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
    let factor = if values.len() > 10 { 1.96 } else { 2.26 };
    let error = factor * (variance / count).sqrt();
    [mean - error, mean, mean + error]
}

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// What each writer waits so that all of them write 1.3 times what the replica applies. Clients that never wait take the processor
/// from the replica: what it applies is measured once more under a pause that is about right.
#[allow(clippy::print_stdout, reason = "the figures are what it is run for")]
fn overloading_pace(bench: &Bench) -> Duration {
    let mut pace = Duration::ZERO;
    for factor in [1.6, 1.3] {
        let full = bench.under_load(pace, |load| {
            bench.measure(load, Policy::Nothing, [seconds(2), seconds(6)])
        });
        // A writer takes this long for a write itself.
        let own_s = WRITERS as f64 / full.writes_per_s - pace.as_secs_f64();
        let others_per_s = full.inserts_per_s + full.beats_per_s;
        let wanted_s = WRITERS as f64 / (factor * full.applied_per_s - others_per_s).max(1.0);
        pace = Duration::from_secs_f64((wanted_s - own_s).max(0.0));
        println!("{full}; so a pause of {pace:?} after each write");
    }
    pace
}

/// After a minute of overload: seconds until the lag is back, and the worst lag of the half minute that follows. `None`: there was
/// no overload, or one that half a minute without any write would not end. The machine has become faster or slower since
/// the pace was chosen.
#[allow(clippy::print_stdout, reason = "the figures are what it is run for")]
fn comes_back(bench: &Bench, pace: Duration) -> Option<[f64; 2]> {
    let (before, back_s, after) = bench.under_load(pace, |load| {
        let before = bench.measure(load, Policy::Nothing, [seconds(1), seconds(59)]);
        let mut steps = Steps::new(bench, Policy::Regulated);
        let began = Instant::now();
        while load.lag_s() > THRESHOLD_S && began.elapsed() < seconds(120) {
            steps.step();
        }
        let back_s = began.elapsed().as_secs_f64();
        (before, back_s, steps.figures(load, seconds(30)))
    });
    // Nothing is faster than a replica that gets no more to apply.
    let overload = before.written_per_s() / before.applied_per_s;
    let least_s = (overload - 1.0).max(0.0) * 60.0;
    println!(
        "a minute of {overload:.2} times what is applied: {before}; back at 3 s after {back_s:.1} s ({least_s:.1} s without any write), and then: {after}"
    );
    (before.worst_lag_s > THRESHOLD_S && least_s <= 30.0).then_some([back_s, after.worst_lag_s])
}

/// Trials after a minute of overload, and rounds with the loop: they say what they say in fewer trials than a share of reads.
const LONG_TRIALS: usize = 3;

#[test]
fn a_throttle_holds_the_lag_of_a_durable_replica_and_reads_do_not_pay() {
    let Ok(pairs) = std::env::var("SHARDWRIGHT_LAG_TRIALS") else {
        return;
    };
    let pairs: usize = pairs.parse().unwrap();
    let bench = Bench::start();
    let pace = overloading_pace(&bench);
    let returns: Vec<[f64; 2]> = (0..LONG_TRIALS.min(pairs))
        .filter_map(|_| comes_back(&bench, pace))
        .collect();
    let (mut reads_lost, mut inserts_lost, mut worst_lags) = (Vec::new(), Vec::new(), Vec::new());
    for pair in 1..=pairs {
        let run = |policy| {
            let times = [seconds(25), seconds(15)];
            let figures = bench.under_load(pace, |load| bench.measure(load, policy, times));
            println!("{pair} {policy:?}: {figures}");
            figures
        };
        // What the machine does to whoever comes first comes to both.
        let (nothing, regulated) = match pair % 2 {
            0 => (run(Policy::Nothing), run(Policy::Regulated)),
            _ => {
                let regulated = run(Policy::Regulated);
                (run(Policy::Nothing), regulated)
            }
        };
        reads_lost.push(1.0 - regulated.reads_per_s / nothing.reads_per_s);
        inserts_lost.push(1.0 - regulated.inserts_per_s / nothing.inserts_per_s);
        worst_lags.push(regulated.worst_lag_s);
        if pair <= LONG_TRIALS {
            run(Policy::GlobalLoop);
            run(Policy::RuleLoop);
        }
    }
    let told = |what: &str, lost: &[f64]| {
        let [low, mean, high] = bounds(lost).map(|share| share * 100.0);
        println!("{what} lost under the throttle: {mean:.1} % ({low:.1} to {high:.1} %, {pairs} pairs)");
        high
    };
    let highest = told("reads", &reads_lost).max(told("inserts", &inserts_lost));
    let back_s = median(returns.iter().map(|[back_s, _]| *back_s).collect());
    let after_s = median(returns.iter().map(|[_, worst_s]| *worst_s).collect());
    let worst_s = median(worst_lags);
    println!(
        "medians: back after {back_s:.1} s; the worst lag then {after_s:.2} s, and in the pairs {worst_s:.2} s"
    );
    assert!(highest <= 2.0, "lost: up to {highest:.1} %");
    assert!(back_s <= 60.0 && after_s <= THRESHOLD_S + 1.0 && worst_s <= THRESHOLD_S + 1.0);
}

/// The one in the middle; not a number of none.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
