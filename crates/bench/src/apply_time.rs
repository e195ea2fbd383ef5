//! How long `plan` and `apply` take on a real ProxySQL, from process start to exit, and what its clients feel meanwhile.
//!
//! A round is a new ProxySQL with a server behind it, a first apply of all shards, and then a plan and an apply of one shard
//! that moves. A client selects a row by its primary key all the time, one statement after the other.

mod client;
mod rig;

use std::path::PathBuf;

use serde::Serialize;
use serde_json::json;

use crate::{BenchError, Report, Summary, Table};
use client::Felt;
use rig::Rig;

/// What is measured.
#[derive(Debug, Clone)]
pub struct Plan {
    /// `shardwright`.
    pub program: PathBuf,
    /// The ProxySQL to start.
    pub proxysql: PathBuf,
    /// How many shards the project has.
    pub shards: u32,
    /// How many rounds.
    pub rounds: u32,
}

/// One command of a round.
#[derive(Debug, Clone, Serialize)]
struct Sample {
    round: u32,
    step: Step,
    ms: f64,
    /// The same command while the client sends nothing; only of commands that can be run twice.
    alone_ms: Option<f64>,
    /// What the client felt while it ran.
    during: Felt,
    /// What it felt for a while before.
    before: Felt,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Step {
    FirstPlan,
    FirstApply,
    PlanOfOne,
    ApplyOfOne,
    NothingToDo,
}

impl Step {
    const ALL: [Self; 5] = [
        Self::FirstPlan,
        Self::FirstApply,
        Self::PlanOfOne,
        Self::ApplyOfOne,
        Self::NothingToDo,
    ];

    /// Whether it changes nothing.
    fn is_plan(self) -> bool {
        matches!(self, Self::FirstPlan | Self::PlanOfOne | Self::NothingToDo)
    }

    fn words(self) -> &'static str {
        match self {
            Self::FirstPlan => "plan, nothing there",
            Self::FirstApply => "apply of that plan",
            Self::PlanOfOne => "plan, one shard moved",
            Self::ApplyOfOne => "apply of that plan",
            Self::NothingToDo => "plan, no change",
        }
    }
}

/// Measures.
///
/// # Errors
/// A program cannot be run, or fails.
pub fn run(plan: &Plan, mut progress: impl FnMut(&str)) -> Result<Report, BenchError> {
    let mut samples: Vec<Sample> = Vec::new();
    let mut rules = 0;
    for round in 1..=plan.rounds {
        let rig = Rig::start(plan)?;
        for step in Step::ALL {
            progress(&format!("apply: round {round}, {}", step.words()));
            if step == Step::PlanOfOne {
                rig.write(plan.shards, true)?;
            }
            let arguments: &[&str] = match step {
                Step::FirstPlan | Step::PlanOfOne => &["plan", "--quiet", "-o", "change.plan"],
                Step::FirstApply | Step::ApplyOfOne => &["apply", "--quiet", "change.plan"],
                Step::NothingToDo => &["plan", "--quiet"],
            };
            let alone = || step.is_plan().then(|| rig.measured_alone(arguments)).transpose();
            // Neither is always the first to read the files.
            let (ms, during, before, alone_ms);
            if round % 2 == 0 {
                alone_ms = alone()?;
                before = rig.client.felt_in_peace()?;
                (ms, during) = rig.measured(arguments)?;
            } else {
                before = rig.client.felt_in_peace()?;
                (ms, during) = rig.measured(arguments)?;
                alone_ms = alone()?;
            }
            if step == Step::PlanOfOne {
                rig.expect_witness("change.plan", plan.shards)?;
            }
            samples.push(Sample {
                round,
                step,
                ms,
                alone_ms,
                during,
                before,
            });
        }
        rules = rig.rules()?;
        rig.end()?;
    }
    Ok(report(plan, rules, &samples))
}

fn report(plan: &Plan, rules: usize, samples: &[Sample]) -> Report {
    let mut table = Table::new([
        "command",
        "median ms",
        "min",
        "max",
        "alone ms",
        "p50 ms",
        "p99 ms",
        "longest ms",
        "before: p50",
        "p99",
        "longest",
    ]);
    let mut summary = Vec::new();
    for step in Step::ALL {
        let of_step: Vec<&Sample> = samples.iter().filter(|sample| sample.step == step).collect();
        let middle = |figure: &dyn Fn(&Sample) -> f64| {
            Summary::of(of_step.iter().map(|sample| figure(sample))).expect("there are rounds")
        };
        let took = middle(&|sample| sample.ms);
        let alone = Summary::of(of_step.iter().filter_map(|sample| sample.alone_ms));
        let felt: [Summary; 6] = [
            middle(&|sample| sample.during.p50_ms),
            middle(&|sample| sample.during.p99_ms),
            middle(&|sample| sample.during.longest_ms),
            middle(&|sample| sample.before.p50_ms),
            middle(&|sample| sample.before.p99_ms),
            middle(&|sample| sample.before.longest_ms),
        ];
        let mut cells = vec![
            step.words().to_owned(),
            format!("{:.0}", took.median),
            format!("{:.0}", took.min),
            format!("{:.0}", took.max),
            alone.map_or_else(String::new, |alone| {
                format!("{:.0} ({:.0}..{:.0})", alone.median, alone.min, alone.max)
            }),
        ];
        cells.extend(felt.iter().map(|felt| format!("{:.2}", felt.median)));
        table.row(cells);
        summary.push(json!({"step": step, "ms": took, "alone_ms": alone, "felt_ms": {
            "during": {"p50": felt[0], "p99": felt[1], "longest": felt[2]},
            "before": {"p50": felt[3], "p99": felt[4], "longest": felt[5]},
        }}));
    }
    Report {
        name: "apply",
        title: format!(
            "`plan` and `apply` of {} shards ({rules} rules) on a ProxySQL, whole process, and a client that selects meanwhile",
            plan.shards
        ),
        parameters: json!({"shards": plan.shards, "rules": rules, "rounds": plan.rounds}),
        tables: vec![table],
        samples: samples.iter().map(|sample| json!(sample)).collect(),
        summary: json!(summary),
    }
}
