//! Rule sets in turn, each asked for all of its keys equally often.

use std::net::SocketAddr;
use std::time::Instant;

use mysql::prelude::Queryable;
use serde::Serialize;
use shardwright_testkit::{ClientOptions, connect};

use super::BenchError;
use super::rule_sets::{Layout, PASSWORD, RuleSet, USER};
use crate::{Summary, cpu_time_of_group};

/// Keys are asked for in steps of this, so that neighbours do not follow each other. It is prime and above
/// [`MOST_SHARDS`], so that every key comes once before any comes again.
const STEP: u64 = 7_919;
/// A list of more than these takes longer than it is worth.
pub(super) const MOST_SHARDS: u32 = 7_918;
/// Statements before each measurement: the proxy copies new rules into its thread and finds its connection.
const WARM_UP: u32 = 200;

/// What is asked for, and who answers.
pub(super) struct Client {
    /// Where the statements go.
    pub(super) address: SocketAddr,
    /// The process group whose processor time is counted.
    pub(super) group: u32,
    /// At least so many statements of each set in each round.
    pub(super) statements: u32,
}

/// One set in one round.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Sample {
    pub(super) layout: Layout,
    pub(super) shards: u32,
    pub(super) round: u32,
    pub(super) statements: u64,
    pub(super) seconds: f64,
    /// Of the process group.
    pub(super) cpu_ns: u64,
}

impl Sample {
    fn cpu_ns_per_statement(&self) -> f64 {
        self.cpu_ns as f64 / self.statements as f64
    }
}

/// Runs every set once per round, in the order of `sets`; `load` makes one live.
pub(super) fn run(
    sets: &[RuleSet],
    rounds: u32,
    client: &Client,
    mut load: impl FnMut(&RuleSet) -> Result<(), BenchError>,
    mut progress: impl FnMut(&str),
) -> Result<Vec<Sample>, BenchError> {
    let mut samples = Vec::new();
    for round in 1..=rounds {
        for set in sets {
            progress(&format!(
                "proxysql: round {round} of {rounds}, {} shards, {}",
                set.shards,
                set.layout.name()
            ));
            load(set)?;
            samples.push(client.measure(set, round)?);
        }
    }
    Ok(samples)
}

impl Client {
    fn measure(&self, set: &RuleSet, round: u32) -> Result<Sample, BenchError> {
        let user = ClientOptions {
            user: USER,
            password: PASSWORD,
            schema: None,
        };
        let mut connection = connect(self.address, user)?;
        let mut run = |statements: u64| -> Result<(), BenchError> {
            for key in keys(set.shards, statements) {
                connection.query_drop(format!("/* tenant={key} */ SELECT 1"))?;
            }
            Ok(())
        };
        run(u64::from(WARM_UP.min(self.statements)))?;
        let statements = u64::from(self.statements.div_ceil(set.shards)) * u64::from(set.shards);
        let cpu = || cpu_time_of_group(self.group).map_err(BenchError::io("processor time of the proxy"));
        let (before, start) = (cpu()?, Instant::now());
        run(statements)?;
        let (seconds, after) = (start.elapsed().as_secs_f64(), cpu()?);
        let cpu_ns = after.saturating_sub(before).as_nanos();
        Ok(Sample {
            layout: set.layout,
            shards: set.shards,
            round,
            statements,
            seconds,
            cpu_ns: u64::try_from(cpu_ns).unwrap_or(u64::MAX),
        })
    }
}

/// `statements` keys; a multiple of the shards has each of them equally often.
fn keys(shards: u32, statements: u64) -> impl Iterator<Item = u64> {
    (0..statements).map(move |nth| nth * STEP % u64::from(shards) + 1)
}

/// What the rounds say of one set.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Figures {
    pub(super) statements_per_second: Summary,
    /// Processor time of the proxy per statement.
    pub(super) cpu_ns: Summary,
    /// The same above that of the empty set of the same round.
    pub(super) rules_ns: Summary,
}

impl Figures {
    /// `None` when there is no sample of it.
    pub(super) fn of(samples: &[Sample], set: &RuleSet) -> Option<Self> {
        let of = |layout: Layout| {
            samples
                .iter()
                .filter(move |sample| sample.shards == set.shards && sample.layout == layout)
        };
        let own = || of(set.layout);
        let above = |sample: &Sample| {
            let empty = of(Layout::Empty).find(|empty| empty.round == sample.round)?;
            Some(sample.cpu_ns_per_statement() - empty.cpu_ns_per_statement())
        };
        Some(Self {
            statements_per_second: Summary::of(
                own().map(|sample| sample.statements as f64 / sample.seconds),
            )?,
            cpu_ns: Summary::of(own().map(Sample::cpu_ns_per_statement))?,
            rules_ns: Summary::of(own().filter_map(above))?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proxysql::rule_sets::rule_set;
    use shardwright_rules::RegexEngine;
    use shardwright_testkit::{MariaDb, Options};

    #[test]
    fn every_key_is_asked_for_equally_often() {
        for shards in [2_u32, 200, 5_000, MOST_SHARDS] {
            let mut asked = vec![0; shards as usize + 1];
            keys(shards, u64::from(shards) * 3).for_each(|key| asked[key as usize] += 1);
            assert_eq!(asked[0], 0);
            assert!(asked[1..].iter().all(|&times| times == 3), "{shards}");
        }
    }

    fn sample(layout: Layout, round: u32, seconds: f64, cpu_ns: u64) -> Sample {
        Sample {
            layout,
            shards: 200,
            round,
            statements: 1_000,
            seconds,
            cpu_ns,
        }
    }

    fn sets() -> [RuleSet; 3] {
        let backend = "127.0.0.1:4006".parse().unwrap();
        Layout::ALL.map(|layout| rule_set(layout, 200, backend, RegexEngine::Pcre).unwrap())
    }

    #[test]
    fn what_rules_take_is_above_the_empty_set_of_their_round() {
        let samples = [
            sample(Layout::Empty, 1, 0.1, 30_000_000),
            sample(Layout::Flat, 1, 0.2, 35_000_000),
            sample(Layout::Empty, 2, 0.1, 60_000_000),
            sample(Layout::Flat, 2, 0.25, 64_000_000),
            sample(Layout::Empty, 3, 0.1, 31_000_000),
            sample(Layout::Flat, 3, 0.5, 35_500_000),
        ];
        let [empty, flat, tree] = sets();
        let figures = Figures::of(&samples, &flat).unwrap();
        assert_eq!(figures.statements_per_second.median, 4_000.0);
        assert_eq!(figures.cpu_ns.median, 35_500.0);
        assert_eq!(figures.rules_ns.median, 4_500.0);
        assert_eq!(Figures::of(&samples, &empty).unwrap().rules_ns.max, 0.0);
        assert!(Figures::of(&samples, &tree).is_none());
    }

    /// A server in place of the proxy: it has no rules, but its statements take time that is counted.
    #[test]
    fn sets_take_turns_and_statements_are_paid_for() {
        let server = MariaDb::start(Options::default()).unwrap();
        server.create_user(USER, PASSWORD, None).unwrap();
        let client = Client {
            address: server.address(),
            group: server.process_id(),
            statements: 250,
        };
        let mut loads = Vec::new();
        let load = |set: &RuleSet| {
            loads.push(set.layout);
            Ok(())
        };
        let sets = sets();
        let samples = run(&sets, 2, &client, load, |_| ()).unwrap();
        assert_eq!(loads, [Layout::ALL, Layout::ALL].concat());
        let questions = server.run("SHOW GLOBAL STATUS LIKE 'Com_select'").unwrap();
        let asked: u64 = questions[0][1].as_ref().unwrap().parse().unwrap();
        // Of each of six: 200 to warm up, and 400, the next multiple of the shards.
        assert!(asked >= 6 * 600, "{asked}");
        for sample in &samples {
            assert_eq!(sample.statements, 400);
            assert!(sample.seconds > 0.0 && sample.cpu_ns > 0, "{sample:?}");
        }
        assert!(Figures::of(&samples, &sets[2]).is_some());
        let gone = Client {
            group: u32::MAX,
            ..client
        };
        assert!(run(&sets, 1, &gone, |_| Ok(()), |_| ()).is_err());
    }
}
