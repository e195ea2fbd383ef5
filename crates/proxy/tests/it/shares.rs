//! What the writer of a Galera cluster reads (cases F1 to F3): nothing beside readers, all without them, or its share.
//!
//! `SHARDWRIGHT_TRIALS` in the environment asks for 100,000 reads instead of 5,000.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use mysql::Conn;
use shardwright_rules::WriterServesReads;
use shardwright_testkit::eventually;

use crate::galera;
use crate::roles::{setup, told};
use crate::support::{PATIENCE, Setup, start, try_value, value};

/// A server counts as a reader like the others after its slow start.
const SLOW_START: Duration = Duration::from_secs(10);

fn read(client: &mut Conn) -> mysql::Result<String> {
    try_value(client, "SELECT /* read */ @@port")
}

#[test]
fn readers_are_never_empty_and_the_writer_leaves_them_when_they_are_back() {
    let galera = galera::cluster();
    let proxy = start(&setup(galera::kind(), &galera.servers));
    let writer = galera.servers[0].port().to_string();
    let mut client = proxy.connect(None);
    let mut admin = proxy.admin();
    eventually(PATIENCE, || told(&mut admin, "a3", "reads") == "yes");
    // One writer, two readers, nobody in both.
    assert_eq!(value(&mut client, "SELECT @@port"), writer);
    assert!((0..100).all(|_| read(&mut client).unwrap() != writer));
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reads = scope.spawn(|| {
            let mut client = proxy.connect(None);
            let mut reads = 0_u64;
            while !is_over.load(Ordering::Relaxed) {
                read(&mut client).unwrap();
                reads += 1;
            }
            reads
        });
        for _ in 0..2 {
            let [took_over, left] = ["ON", "OFF"].map(|is_out| {
                let began = Instant::now();
                for reader in &galera.servers[1..] {
                    reader.run(format!("SET GLOBAL wsrep_desync = {is_out}")).unwrap();
                }
                let is_writer = is_out == "ON";
                eventually(PATIENCE, || (read(&mut client).unwrap() == writer) == is_writer);
                let took = began.elapsed();
                assert!((0..100).all(|_| (read(&mut client).unwrap() == writer) == is_writer));
                took
            });
            println!("without readers the writer reads after {took_over:?}, and leaves reads after {left:?}");
        }
        is_over.store(true, Ordering::Relaxed);
        assert!(reads.join().unwrap() > 100);
    });
}

#[test]
fn a_writer_with_one_percent_of_the_weight_answers_one_percent() {
    let galera = galera::cluster();
    let usual = setup(galera::kind(), &galera.servers);
    let proxy = start(&Setup {
        configuration: Box::new(move |configuration| {
            (usual.configuration)(configuration);
            let cluster = &mut configuration.clusters[0];
            cluster.writer_serves_reads = WriterServesReads::Always;
            for candidate in &mut cluster.candidates[1..] {
                candidate.read_weight = 100;
            }
        }),
        ..setup(galera::kind(), &galera.servers)
    });
    let writer = galera.servers[0].port().to_string();
    let mut admin = proxy.admin();
    eventually(PATIENCE, || told(&mut admin, "a3", "reads") == "yes");
    let is_long = std::env::var_os("SHARDWRIGHT_TRIALS").is_some();
    let wanted = if is_long { 100_000 } else { 5_000 };
    let began = Instant::now();
    let mut client = proxy.connect(None);
    eventually(PATIENCE, || {
        read(&mut client).unwrap();
        began.elapsed() > SLOW_START
    });
    let mut reads: BTreeMap<String, u64> = BTreeMap::new();
    for _ in 0..wanted {
        *reads.entry(read(&mut client).unwrap()).or_default() += 1;
    }
    println!("{reads:?}, the writer is {writer}");
    let of_writer = reads.remove(&writer).unwrap_or_default();
    // One in 201 is 25 of 5,000: none, or three times as many, does not happen by accident.
    assert!(of_writer > 0);
    assert!(of_writer * 1000 <= wanted * 15, "{of_writer} of {wanted}");
    let (fewest, most) = (reads.values().min().unwrap(), reads.values().max().unwrap());
    assert_eq!(reads.len(), 2);
    assert!(most * 10 < fewest * 13, "readers share alike: {reads:?}");
}
