//! A row for each workload and rule set: processor time above the empty set of the same round, and ratios to a tree by hand.

use serde_json::json;

use super::CostPlan;
use super::cases::{Case, Made};
use super::measure::Sample;
use super::workloads::Workload;
use crate::{Report, Summary, Table};

pub(super) fn report(plan: &CostPlan, version: &str, cases: &[Case], samples: &[Sample]) -> Report {
    let mut table = Table::new([
        "topology, statement, rules",
        "rules",
        "CPU µs",
        "of it rules (min..max)",
        "to the tree by hand",
    ]);
    let mut summary = Vec::new();
    for case in cases {
        for workload in &case.workloads {
            for set in &case.sets {
                let figures = Figures {
                    samples,
                    case,
                    workload,
                };
                let Some((cpu, rules)) = figures.of(set.made) else {
                    continue;
                };
                let ratio = figures.ratio(set.made);
                let us = |ns: f64| format!("{:.2}", ns / 1e3);
                let shown = ratio.filter(|_| set.made == Made::Compiled);
                table.row([
                    format!("{}, {}, {}", case.name, workload.name, set.made.name()),
                    set.rules.to_string(),
                    us(cpu.median),
                    format!("{} ({}..{})", us(rules.median), us(rules.min), us(rules.max)),
                    shown.map_or_else(String::new, |ratio| {
                        format!("{:.3} ({:.3}..{:.3})", ratio.median, ratio.min, ratio.max)
                    }),
                ]);
                summary.push(json!({
                    "case": case.name, "workload": workload.name, "made": set.made, "rules": set.rules,
                    "cpu_ns": cpu, "rules_ns": rules, "to_hand_made": shown,
                }));
            }
        }
    }
    Report {
        name: "proxysql-rules",
        title: format!("What the rules of whole topologies take of a statement in {version}"),
        parameters: json!({"version": version, "rounds": plan.rounds, "statements": plan.statements}),
        tables: vec![table],
        samples: samples.iter().map(|sample| json!(sample)).collect(),
        summary: json!(summary),
    }
}

/// The samples of one workload of one case.
struct Figures<'s> {
    samples: &'s [Sample],
    case: &'s Case,
    workload: &'s Workload,
}

impl Figures<'_> {
    /// Of a set, one for each round.
    fn rounds(&self, made: Made) -> impl Iterator<Item = &Sample> {
        self.samples.iter().filter(move |sample| {
            sample.case == self.case.name && sample.workload == self.workload.name && sample.made == made
        })
    }

    fn in_round(&self, made: Made, round: u32) -> Option<&Sample> {
        self.rounds(made).find(|sample| sample.round == round)
    }

    /// Nanoseconds of a statement, and those of them that are of rules.
    fn of(&self, made: Made) -> Option<(Summary, Summary)> {
        let above = |sample: &Sample| Some(sample.ns() - self.in_round(Made::Empty, sample.round)?.ns());
        let cpu = Summary::of(self.rounds(made).map(Sample::ns))?;
        Some((cpu, Summary::of(self.rounds(made).filter_map(above))?))
    }

    /// A whole statement of a set over one of the tree by hand.
    fn ratio(&self, made: Made) -> Option<Summary> {
        let ratio = |sample: &Sample| Some(sample.ns() / self.in_round(Made::ByHand, sample.round)?.ns());
        Summary::of(self.rounds(made).filter_map(ratio))
    }
}
