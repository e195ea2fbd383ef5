//! Readers in a simulation whose clock runs as fast as it can.

use std::cell::Cell;
use std::time::{Duration, Instant};

use super::*;

/// Kinds of reads, from 0.2 ms to 200 ms.
const KINDS: u64 = 40;

/// A reader of a simulation.
struct Server {
    weight: u64,
    share: u64,
    evidence: Evidence,
    is_steady: bool,
    /// How many times longer than usual its answers take.
    slowness: f64,
    /// It answers nothing until then.
    stalled_until: Duration,
    reads: u64,
}

/// Readers behind one proxy with two workers.
struct World {
    servers: Vec<Server>,
    workers: [UsualTimes; 2],
    judge: Judge,
    epoch: Instant,
    now: Duration,
    next_look: Duration,
    random: Cell<u64>,
    /// Looks in which a reader had less than its share.
    reduced: u64,
}

impl World {
    fn new(weights: &[u64], seed: u64) -> Self {
        let server = |&weight: &u64| Server {
            weight,
            share: WHOLE_SHARE,
            evidence: Evidence::default(),
            is_steady: true,
            slowness: 1.0,
            stalled_until: Duration::ZERO,
            reads: 0,
        };
        Self {
            servers: weights.iter().map(server).collect(),
            workers: Default::default(),
            judge: Judge::default(),
            epoch: Instant::now(),
            now: Duration::ZERO,
            next_look: LOOK_EVERY,
            random: Cell::new(seed | 1),
            reduced: 0,
        }
    }

    fn random(&self) -> u64 {
        let mut x = self.random.get();
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        self.random.set(x);
        x
    }

    /// From 0 to 1, not 0.
    fn fraction(&self) -> f64 {
        ((self.random() >> 11) as f64 + 1.0) / 2_f64.powi(53)
    }

    /// A normal deviate.
    fn normal(&self) -> f64 {
        let angle = std::f64::consts::TAU * self.fraction();
        (-2.0 * self.fraction().ln()).sqrt() * angle.cos()
    }

    /// A read that goes to a reader by the shares of now. How long it takes.
    fn read(&mut self) -> Duration {
        let weight = |server: &Server| server.weight * server.share;
        let mut left = self.random() % self.servers.iter().map(weight).sum::<u64>();
        let at = self.servers.iter().position(|server| {
            let found = left < weight(server);
            left = left.saturating_sub(weight(server));
            found
        });
        let kind = self.random() % KINDS;
        self.read_on(at.unwrap(), kind)
    }

    fn read_on(&mut self, at: usize, kind: u64) -> Duration {
        // Every fifth kind takes now a tenth, now ten times of what it usually takes; others find their rows in a cache, or do not.
        let deviation = if kind.is_multiple_of(5) { 1.7 } else { 0.4 };
        let is_miss = [3, 10].contains(&kind) && self.random().is_multiple_of(4);
        let usual_ms = 0.2 * 1000_f64.powf(kind as f64 / KINDS as f64) * if is_miss { 100.0 } else { 1.0 };
        let own_ms = usual_ms * (deviation * self.normal()).exp();
        let worker = (self.random() % 2) as usize;
        let server = &mut self.servers[at];
        let stalled = server.stalled_until.saturating_sub(self.now);
        let time = stalled + Duration::from_secs_f64(own_ms * server.slowness / 1000.0);
        server.reads += 1;
        // Kinds are digests, which are spread over all places.
        let digest = kind.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20;
        if let Some(distance) = self.workers[worker].distance(digest, time) {
            server.evidence.add(distance);
        }
        time
    }

    /// The time goes on, and readers are looked at when it is due.
    fn go_to(&mut self, now: Duration) {
        while self.next_look <= now {
            let at = self.epoch + self.next_look;
            self.next_look += LOOK_EVERY;
            let readers: Vec<Reader> = (0..)
                .zip(&self.servers)
                .map(|(number, server)| Reader {
                    number,
                    evidence: server.evidence,
                    is_steady: server.is_steady,
                    share: server.share,
                })
                .collect();
            for verdict in self.judge.look(&readers, at) {
                self.servers[verdict.number as usize].share = verdict.share;
            }
            let reduced = self.servers.iter().filter(|server| server.share < WHOLE_SHARE);
            let reduced = reduced.count();
            assert!(reduced <= (self.servers.len() / 2).max(1));
            assert!(self.servers.iter().all(|server| server.share >= LEAST_SHARE));
            self.reduced += u64::from(reduced > 0);
        }
        self.now = now;
    }

    /// Reads that come at a rate, whoever waits for them.
    fn open(&mut self, for_s: f64, rate: f64) {
        let end = self.now + Duration::from_secs_f64(for_s);
        loop {
            let next = self.now + Duration::from_secs_f64(-self.fraction().ln() / rate);
            self.go_to(next.min(end));
            if next >= end {
                return;
            }
            self.read();
        }
    }

    /// Clients that each send their next read when they have the answer.
    fn closed(&mut self, for_s: f64, clients: usize) {
        let end = self.now + Duration::from_secs_f64(for_s);
        let mut ready = vec![self.now; clients];
        loop {
            let (client, &next) = ready.iter().enumerate().min_by_key(|(_, ready)| **ready).unwrap();
            self.go_to(next.min(end));
            if next >= end {
                return;
            }
            ready[client] = next + self.read();
        }
    }

    /// The percentage of the reads that each reader gets meanwhile.
    fn percent(&mut self, during: impl FnOnce(&mut Self)) -> Vec<f64> {
        self.servers.iter_mut().for_each(|server| server.reads = 0);
        during(self);
        let all: u64 = self.servers.iter().map(|server| server.reads).sum();
        let percent = |server: &Server| server.reads as f64 * 100.0 / all as f64;
        self.servers.iter().map(percent).collect()
    }
}

#[test]
fn nothing_moves_among_equal_readers_in_an_hour() {
    for (weights, rate) in [
        (&[1, 1][..], 400.0),
        (&[1, 1], 20.0),
        (&[1, 100, 100], 200.0),
        (&[1, 1, 1, 1, 1], 100.0),
    ] {
        let mut world = World::new(weights, 7);
        for minute in 0..60 {
            world.open(60.0, rate);
            // Each minute one of them stalls, as servers do that write their pages.
            let at = minute % weights.len();
            world.servers[at].stalled_until = world.now + Duration::from_millis(400);
        }
        assert_eq!(world.reduced, 0, "{weights:?}, {rate} reads a second");
    }
}

#[test]
fn a_reader_that_becomes_20_times_slower_gets_fewer_reads_until_it_recovers() {
    for clients in [4, 32] {
        for weights in [&[1, 1][..], &[1, 1, 1]] {
            let mut world = World::new(weights, 11);
            world.closed(30.0, clients);
            world.servers[0].slowness = 20.0;
            world.closed(5.0, clients);
            let percent = world.percent(|world| world.closed(30.0, clients));
            assert!(percent[0] <= 15.0, "{clients} clients: {percent:?}");
            assert!(percent[0] > 1.0, "its recovery is seen: {percent:?}");
            world.servers[0].slowness = 1.0;
            world.closed(20.0, clients);
            assert_eq!(world.servers[0].share, WHOLE_SHARE, "{clients} clients");
            let least = 80.0 / weights.len() as f64;
            let percent = world.percent(|world| world.closed(30.0, clients));
            assert!(percent[0] > least, "{percent:?}");
        }
    }
}

#[test]
fn a_little_slower_is_not_slow() {
    let mut world = World::new(&[1, 1, 1], 3);
    world.servers[0].slowness = 2.0;
    world.open(600.0, 300.0);
    assert_eq!(world.reduced, 0);
}

#[test]
fn a_heavy_report_on_one_server_says_nothing_of_it() {
    let mut world = World::new(&[1, 1], 5);
    for _ in 0..600 {
        world.open(1.0, 100.0);
        // Reports that only one server gets, each a kind of its own.
        for kind in [KINDS + 30, KINDS + 40] {
            world.read_on(0, kind);
        }
    }
    assert_eq!(world.reduced, 0);
}

#[test]
fn few_reads_move_nothing() {
    let mut world = World::new(&[1, 1], 5);
    world.servers[0].slowness = 20.0;
    world.open(3600.0, 0.2);
    assert_eq!(world.reduced, 0);
}

#[test]
fn readers_that_were_away_are_not_compared() {
    let mut world = World::new(&[1, 1], 5);
    world.servers[0].slowness = 20.0;
    for is_steady in [[false, true], [true, false]] {
        for (server, is_steady) in world.servers.iter_mut().zip(is_steady) {
            server.is_steady = is_steady;
        }
        world.open(60.0, 200.0);
        assert_eq!(world.reduced, 0);
    }
    world.servers[1].is_steady = true;
    world.open(10.0, 200.0);
    assert_eq!(world.servers[0].share, LEAST_SHARE);
}

#[test]
fn no_more_than_half_of_the_readers_get_less() {
    let shares = |world: &World| {
        world
            .servers
            .iter()
            .map(|server| server.share)
            .collect::<Vec<_>>()
    };
    let mut world = World::new(&[1, 1, 1, 1], 5);
    for at in 0..3 {
        world.servers[at].slowness = 20.0;
    }
    world.open(60.0, 200.0);
    assert_eq!(shares(&world), [WHOLE_SHARE; 4], "most of them are as slow");
    world.servers[2].slowness = 1.0;
    world.open(60.0, 200.0);
    assert_eq!(
        shares(&world),
        [LEAST_SHARE, LEAST_SHARE, WHOLE_SHARE, WHOLE_SHARE]
    );
    // One that answers fast is gone.
    world.servers.pop();
    let next = world.next_look;
    world.go_to(next);
    let reduced = shares(&world).into_iter().filter(|share| *share < WHOLE_SHARE);
    assert_eq!(reduced.count(), 1);
}

#[test]
fn a_server_that_is_slow_under_its_share_gets_what_it_can_bear() {
    // It answers 20 reads a second, and further ones wait.
    let mut world = World::new(&[1, 1], 9);
    world.open(10.0, 200.0);
    let mut shares = Vec::new();
    for _ in 0..240 {
        world.servers[0].slowness = if world.servers[0].share > 300 { 30.0 } else { 1.0 };
        world.open(0.5, 200.0);
        shares.push(world.servers[0].share);
    }
    let later = &shares[20..];
    assert!(
        later.iter().all(|share| *share < WHOLE_SHARE),
        "it is told of once: {later:?}"
    );
}

#[test]
fn twice_the_time_is_an_octave() {
    let octave = |ms: u64| evidence::steps(Duration::from_millis(ms));
    for ms in [100, 400, 5_000, 60_000] {
        let difference = octave(2 * ms) - octave(ms);
        assert!(
            (difference - evidence::STEPS).abs() <= evidence::STEPS / 20,
            "{ms}: {difference}"
        );
    }
    let [tiny, small] = [Duration::from_micros(100), Duration::from_micros(500)].map(evidence::steps);
    assert!(
        small - tiny < evidence::STEPS,
        "a network farther away is no slow server"
    );
}
