//! An apply whose connection fails at any of its statements ends with the former state or the new one, and says which.
//!
//! `SHARDWRIGHT_FAULTS=1` tries every fault at every statement of every change below, more than 2,000, on several ProxySQLs at
//! a time; otherwise a sample of the first change.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use shardwright_plan::{Outcome, apply};
use shardwright_rules::Configuration;
use shardwright_targets::emit::Ownership;
use shardwright_targets::proxysql::{End, Way};
use shardwright_targets::{ProxySqlTarget, Timeouts};
use shardwright_testkit::{Fault, Faulty, configuration};

use super::rig::{Rig, plan};

pub(crate) const OLD: &str = r"
rules:
  - {rule_id: 100, match_digest: '^SELECT', destination_hostgroup: 11, apply: 1}
  - {rule_id: 101, username: geo, destination_hostgroup: 20, apply: 1}
fast_routing:
  - {username: app, schemaname: s1, flagIN: 0, destination_hostgroup: 20}
variables: {mysql-max_connections: '2000'}
";

pub(crate) const NEW: &str = r"
users: [app, web]
hostgroups: {30: {host: elsewhere.db}}
rules:
  - {rule_id: 100, match_digest: '^SELECT', destination_hostgroup: 21, apply: 1}
  - {rule_id: 102, match_digest: '^INSERT', destination_hostgroup: 30, apply: 1}
variables: {mysql-max_connections: '3000'}
";

/// Changes: each from its first configuration to its second.
const CHANGES: [(&str, &str); 8] = [
    (OLD, NEW),
    (NEW, OLD),
    // Rules alone, fast routing alone, servers alone, users alone, variables alone, nothing and everything.
    (
        "rules: [{rule_id: 100, match_digest: '^SELECT', destination_hostgroup: 11, apply: 1}]",
        "rules: [{rule_id: 100, match_digest: '^SELECT', destination_hostgroup: 21, apply: 1}]",
    ),
    (
        "fast_routing: [{username: app, schemaname: s1, flagIN: 0, destination_hostgroup: 20}]",
        "fast_routing: [{username: app, schemaname: s2, flagIN: 0, destination_hostgroup: 21}]",
    ),
    (
        "hostgroups: {20: {weight: 5}}",
        "hostgroups: {20: {host: elsewhere.db}, 21: {weight: 5}}",
    ),
    ("users: [app]", "users: [geo, web]"),
    (
        "variables: {mysql-max_connections: '2000'}",
        "variables: {mysql-max_connections: '3000'}",
    ),
    ("{users: [], variables: {mysql-max_connections: '2000'}}", NEW),
];

/// How many faults are tried at a time, each on a ProxySQL of its own: many of them only wait for an answer.
const AT_A_TIME: usize = 4;
/// The least that the long mode has to try.
const MANY: usize = 2_000;

fn tries_all() -> bool {
    std::env::var_os("SHARDWRIGHT_FAULTS").is_some()
}

/// Everything that a run could change, in every layer, without the counts of generations.
pub(crate) fn state(rig: &Rig) -> Vec<String> {
    let queries = [
        "rule_id, active, username, match_digest, destination_hostgroup FROM {}mysql_query_rules WHERE rule_id > -2",
        "* FROM {}mysql_query_rules_fast_routing",
        "hostgroup_id, hostname, port, status, weight FROM {}mysql_servers",
        "DISTINCT username, default_hostgroup, password FROM {}mysql_users",
        "* FROM {}global_variables WHERE variable_name = 'mysql-max_connections'",
    ];
    let mut state = Vec::new();
    for layer in ["", "runtime_", "disk."] {
        let statements = queries.map(|query| format!("SELECT {}", query.replace("{}", layer)));
        let rows = rig.proxysql.run(&statements).unwrap().into_iter();
        let mut lines: Vec<String> = rows.map(|row| format!("{layer}{row:?}")).collect();
        lines.sort_unstable();
        state.extend(lines);
    }
    state
}

/// A target that waits for an answer only as long as a test can, where one may never come.
fn through(rig: &Rig, network: &Faulty, fault: Option<Fault>) -> ProxySqlTarget {
    let hangs = matches!(fault, Some(Fault::HangsBefore | Fault::HangsAfter));
    let impatient = Timeouts {
        connect: Duration::from_secs(2),
        answer: Duration::from_secs(if hangs { 2 } else { 60 }),
    };
    rig.target_at(&network.address.to_string(), Some("shop"), Ownership::default())
        .patient(impatient)
}

/// How many statements an apply sends, and which.
fn statements(rig: &Rig, new: &Configuration) -> Vec<String> {
    let network = Faulty::start(rig.proxysql.admin_address(), 0, None, false);
    let mut target = through(rig, &network, None);
    let planned = plan(&mut rig.target(), new, Some("shop"));
    let report = apply(&planned, &mut target);
    assert_eq!(report.outcome, Outcome::Applied, "{report:#?}");
    network.statements()
}

/// A change, the states that it starts from and ends with, and the statements of its apply.
struct Story {
    old: Configuration,
    new: Configuration,
    before: Vec<String>,
    after: Vec<String>,
    sent: Vec<String>,
}

impl Story {
    /// Goes there, and back: the former state is there in the end.
    fn of(rig: &Rig, (old, new): (&str, &str)) -> Self {
        let (old, new) = (configuration(old), configuration(new));
        rig.applied(&old);
        let before = state(rig);
        let sent = statements(rig, &new);
        let after = state(rig);
        assert_ne!(before, after);
        rig.applied(&old);
        assert_eq!(state(rig), before);
        Self {
            old,
            new,
            before,
            after,
            sent,
        }
    }

    /// The faults that are tried, by the number of the statement.
    fn faults(&self) -> Vec<(usize, Fault)> {
        let all = || 0..self.sent.len();
        if tries_all() {
            return all()
                .flat_map(|number| Fault::ALL.map(|fault| (number, fault)))
                .collect();
        }
        let is_sampled = |number: &usize| {
            let statement = &self.sent[*number];
            let is_of_interest = statement.starts_with("LOAD") || statement.starts_with("SAVE MYSQL Q");
            is_of_interest || number.is_multiple_of(13)
        };
        // Each statement meets one of them, in turns.
        all()
            .filter(is_sampled)
            .zip(Fault::ALL.into_iter().cycle())
            .collect()
    }

    /// One fault, at one statement. The former state is there before and afterwards.
    fn meets(&self, rig: &Rig, number: usize, fault: Fault) -> Outcome {
        let network = Faulty::start(rig.proxysql.admin_address(), number, Some(fault), false);
        let mut target = through(rig, &network, Some(fault));
        let planned = plan(&mut rig.target(), &self.new, Some("shop"));
        let report = apply(&planned, &mut target);
        let what = format!("{fault:?} at {number}: {}\n{report:#?}", self.sent[number]);
        assert!(network.has_failed(), "{what}");
        let now = state(rig);
        match report.outcome {
            Outcome::Applied | Outcome::Unverified => assert_eq!(now, self.after, "{what}"),
            Outcome::Restored | Outcome::NotSent | Outcome::Contended => {
                assert_eq!(now, self.before, "{what}")
            }
            _ => panic!("{what}"),
        }
        finish_if_open(rig, &what);
        if now != self.before {
            rig.applied(&self.old);
            assert_eq!(state(rig), self.before, "{what}");
        }
        report.outcome
    }
}

#[test]
fn a_connection_that_fails_leaves_the_former_state_or_the_new_one() {
    let left_out = "faults of the network between an apply and a real ProxySQL";
    let (changes, rigs) = match tries_all() {
        true => (CHANGES.len(), AT_A_TIME),
        false => (1, 1),
    };
    let rigs: Option<Vec<Rig>> = (0..rigs).map(|_| Rig::start(left_out)).collect();
    let Some(rigs) = rigs else { return };
    let mut ended: BTreeMap<String, usize> = BTreeMap::new();
    for change in &CHANGES[..changes] {
        let story = Story::of(&rigs[0], *change);
        let faults = Mutex::new(story.faults().into_iter());
        let next = || faults.lock().unwrap().next();
        std::thread::scope(|scope| {
            let tried = rigs.iter().map(|rig| {
                let (story, next) = (&story, &next);
                scope.spawn(move || {
                    rig.applied(&story.old);
                    let mut ended = Vec::new();
                    while let Some((number, fault)) = next() {
                        ended.push(format!("{fault:?}: {:?}", story.meets(rig, number, fault)));
                    }
                    ended
                })
            });
            let tried: Vec<_> = tried.collect();
            for tried in tried {
                for outcome in tried.join().unwrap() {
                    *ended.entry(outcome).or_default() += 1;
                }
            }
        });
        told(&ended);
    }
    let all: usize = ended.values().sum();
    assert!(
        all >= if tries_all() { MANY } else { 10 },
        "{all} faults: {ended:#?}"
    );
}

/// How many faults ended how, for whoever looks at the long mode.
fn told(ended: &BTreeMap<String, usize>) {
    #[expect(clippy::print_stderr, reason = "the long mode takes half an hour")]
    if tries_all() {
        eprintln!("{} faults: {ended:?}", ended.values().sum::<usize>());
    }
}

/// A run that could not even give its lease back stays open, and is taken back.
fn finish_if_open(rig: &Rig, what: &str) {
    let open = rig
        .journal()
        .runs()
        .unwrap()
        .into_iter()
        .filter(|run| run.is_open());
    for run in open {
        let report = rig
            .target_at(&run.record.admin, Some("shop"), Ownership::default())
            .finish(&run.record.identity.run, Way::Back);
        assert!(
            [0, 6].contains(&report.outcome.exit_code()),
            "{what}\n{report:#?}"
        );
    }
}

#[test]
fn a_network_that_stays_broken_is_a_reported_mixture_that_is_finished_or_taken_back() {
    let Some(rig) = Rig::start("a lasting fault between an apply and a real ProxySQL") else {
        return;
    };
    let Story {
        old,
        new,
        before,
        after,
        sent,
    } = Story::of(&rig, (OLD, NEW));
    for (word, way) in [
        ("LOAD MYSQL SERVERS", Way::Back),
        ("LOAD MYSQL QUERY RULES", Way::Forward),
        ("SAVE MYSQL USERS", Way::Forward),
        ("SAVE MYSQL USERS", Way::Back),
    ] {
        let number = sent
            .iter()
            .position(|statement| statement.starts_with(word))
            .unwrap();
        let network = Faulty::start(rig.proxysql.admin_address(), number, Some(Fault::DiesAfter), true);
        let mut target = through(&rig, &network, Some(Fault::DiesAfter));
        let planned = plan(&mut rig.target(), &new, Some("shop"));
        let report = apply(&planned, &mut target);
        assert_eq!(report.outcome, Outcome::Mixed, "{word}: {report:#?}");
        let run = rig.journal().runs().unwrap().pop().unwrap();
        let name = run.record.identity.run.clone();
        assert!(
            run.is_open() && report.message.contains(&name),
            "{word}: {report:#?}"
        );
        // Nothing else is applied before that is over.
        let again = apply(&plan(&mut rig.target(), &new, Some("shop")), &mut rig.target());
        assert_eq!(again.outcome.exit_code(), 5, "{again:#?}");
        network.mend();
        let report = rig
            .target_at(&run.record.admin, Some("shop"), Ownership::default())
            .finish(&name, way);
        assert_eq!(report.outcome, Outcome::Applied, "{word} {way:?}: {report:#?}");
        let (expected, end) = match way {
            Way::Forward => (&after, End::Applied),
            Way::Back => (&before, End::Restored),
        };
        assert_eq!(&state(&rig), expected, "{word} {way:?}");
        assert_eq!(rig.journal().run(&name).unwrap().end().unwrap().0, end);
        rig.applied(&old);
    }
}
