//! MariaDB's own test suite `main`, on the server and through the proxy: a test whose official result the server gives has it
//! through the proxy, too, or a cause stands behind its name in the list.
//!
//! The long mode runs all of it. `SHARDWRIGHT_SUITE` names tests or protocols (`text`, `ps`, `cursor`, `calls`) that are to run alone.

mod causes;
mod list;
mod mysqltest;
mod package;
mod page;
mod rig;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::Mutex;

use shardwright_testkit::Flavour;

use self::causes::Causes;
use self::list::List;
use self::mysqltest::{Outcome, Protocol};
use self::package::Package;
pub(crate) use self::page::part;
use self::rig::{Rig, Way};
use crate::{SERVER_SUITE_WORD, asks_for, root, updating};

/// What became of a test that passes on the server.
enum Verdict {
    Same,
    /// What its program printed behind the proxy.
    Different(String),
}

/// What is to run.
struct Selection {
    protocols: Vec<Protocol>,
    /// Empty: all.
    tests: BTreeSet<String>,
}

impl Selection {
    fn asked() -> Self {
        let words = std::env::var("SHARDWRIGHT_SUITE").unwrap_or_default();
        let (protocols, tests): (Vec<&str>, Vec<&str>) = words
            .split([',', ' '])
            .filter(|word| !word.is_empty())
            .partition(|word| Protocol::ALL.iter().any(|protocol| protocol.name() == *word));
        let is_asked = |protocol: &Protocol| protocols.is_empty() || protocols.contains(&protocol.name());
        Self {
            protocols: Protocol::ALL.into_iter().filter(is_asked).collect(),
            tests: tests.into_iter().map(str::to_owned).collect(),
        }
    }
}

/// Runs a test on the server and, if it passes, through the proxy.
fn judge(rig: &mut Rig, package: &Package, test: &str, protocol: Protocol) -> Option<Verdict> {
    let mut attempt = |way| {
        let outcome = mysqltest::run(rig, package, test, protocol, way);
        if matches!(outcome, Outcome::Failed(_)) || !rig.is_clean() {
            rig.renew(package);
        }
        outcome
    };
    match attempt(Way::Direct) {
        Outcome::Passed => {}
        Outcome::Skipped => return None,
        Outcome::Failed(printed) => {
            keep(protocol, test, Way::Direct, &printed);
            return None;
        }
    }
    match attempt(Way::Proxied) {
        Outcome::Passed => Some(Verdict::Same),
        Outcome::Skipped => Some(Verdict::Different("skipped".to_owned())),
        Outcome::Failed(printed) => Some(Verdict::Different(printed)),
    }
}

/// Leaves what a failed test printed below `target/server-suite`, for a reader.
fn keep(protocol: Protocol, test: &str, way: Way, printed: &str) {
    let way = if way == Way::Direct { "direct" } else { "proxied" };
    let directory = root().join(format!("target/server-suite/{}/{way}", protocol.name()));
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join(format!("{test}.txt")), printed).unwrap();
}

/// Tests that run at a time, each on a server of its own.
const WORKERS: usize = 2;

fn run(package: &Package, tests: &BTreeSet<String>, protocol: Protocol) -> BTreeMap<String, Verdict> {
    let left = Mutex::new(tests.iter());
    let verdicts = Mutex::new(BTreeMap::new());
    let work = || {
        let mut rig = Rig::start(package);
        while let Some(test) = { left.lock().unwrap().next() } {
            if let Some(verdict) = judge(&mut rig, package, test, protocol) {
                if let Verdict::Different(printed) = &verdict {
                    keep(protocol, test, Way::Proxied, printed);
                }
                verdicts.lock().unwrap().insert(test.clone(), verdict);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(work);
        }
    });
    verdicts.into_inner().unwrap()
}

/// What the runs under some protocols show.
#[derive(Default)]
struct Report {
    counts: Vec<String>,
    problems: Vec<String>,
}

impl Report {
    /// Compares a run with the list, or writes the list anew.
    fn take(
        &mut self,
        causes: &Causes,
        protocol: Protocol,
        ran: &BTreeSet<String>,
        verdicts: &BTreeMap<String, Verdict>,
    ) {
        let name = protocol.name();
        let expected = List::read(protocol);
        let mut seen = expected.clone();
        seen.0.retain(|test, _| !ran.contains(test));
        for (test, verdict) in verdicts {
            let cause = match verdict {
                Verdict::Same => None,
                Verdict::Different(printed) => {
                    let Some(cause) = causes.of(test, printed) else {
                        let problem = format!("{test} ({name}) fails without a known cause:\n{printed}");
                        self.problems.push(problem);
                        continue;
                    };
                    Some(cause.to_owned())
                }
            };
            if !updating() && expected.0.get(test) != Some(&cause) {
                let (before, now) = (expected.0.get(test), &cause);
                let problem = format!("{test} ({name}): {now:?}, in the list {before:?}");
                self.problems.push(problem);
            }
            seen.0.insert(test.clone(), cause);
        }
        self.count(name, ran, &expected, verdicts);
        if updating() {
            seen.write(protocol);
        }
    }

    fn count(
        &mut self,
        name: &str,
        ran: &BTreeSet<String>,
        expected: &List,
        verdicts: &BTreeMap<String, Verdict>,
    ) {
        let is_same = |verdict: &&Verdict| matches!(verdict, Verdict::Same);
        let (direct, proxied) = (verdicts.len(), verdicts.values().filter(is_same).count());
        self.counts.push(format!(
            "{name}: {direct} of {} tests pass on the server, {proxied} of these through the proxy",
            ran.len()
        ));
        // Another version of the server has a few other results.
        let listed = ran.iter().filter(|test| expected.0.contains_key(*test)).count();
        if !updating() && direct * 10 < listed * 9 {
            self.problems.push(format!(
                "{name}: {direct} tests pass on the server, and {listed} of those that ran are in the list: have the package \
                 mariadb-test and the server one version?"
            ));
        }
    }
}

/// Runs tests under protocols.
fn run_all(protocols: &[Protocol], is_chosen: impl Fn(&str) -> bool) -> Report {
    let causes = Causes::read();
    let package = Package::copy();
    let mut report = Report::default();
    for &protocol in protocols {
        let mut tests = mysqltest::tests(&package, protocol);
        tests.retain(|test| is_chosen(test));
        let verdicts = run(&package, &tests, protocol);
        report.take(&causes, protocol, &tests, &verdicts);
    }
    report
}

#[test]
fn the_suite_of_the_server_passes_through_the_proxy() {
    if !asks_for(SERVER_SUITE_WORD) || Flavour::default().is_mysql() {
        return;
    }
    let Selection { protocols, tests } = Selection::asked();
    let report = run_all(&protocols, |test| tests.is_empty() || tests.contains(test));
    println!("{}", report.counts.join("\n"));
    assert!(report.problems.is_empty(), "{}", report.problems.join("\n"));
}

/// The sample is in `tests/clients/suite-sample.txt`.
#[test]
fn a_sample_of_the_suite_passes_through_the_proxy() {
    if asks_for(SERVER_SUITE_WORD) || Flavour::default().is_mysql() {
        return;
    }
    let path = root().join("tests/clients/suite-sample.txt");
    let sample = fs::read_to_string(path).unwrap();
    let sample: BTreeSet<&str> = sample.lines().collect();
    let report = run_all(&Protocol::OF_SUITE, |test| sample.contains(test));
    assert!(report.problems.is_empty(), "{}", report.problems.join("\n"));
}
