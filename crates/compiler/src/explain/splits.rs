//! Where a map tells reads from writes, and what it would cost elsewhere.

use serde::Serialize;
use shardwright_layout::Split;
use shardwright_rules::EngineId;

/// The positions of the read/write split.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Splits {
    /// The one that is laid out first.
    pub candidates: Vec<SplitCost>,
    /// Why it is that one, or what it costs that it is.
    pub reason: String,
}

/// A position of the split and what it costs a statement that meets it: mean over keys of equal weight, without the rules in
/// front of the split, by an engine that does not start over after a jump. A read that a rule in front knows does not meet it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SplitCost {
    /// `split at the root`, `split at the leaves`.
    pub name: String,
    /// Patterns evaluated.
    pub mean_evaluations: f64,
    /// Rules looked at, with as many reads as writes.
    pub mean_visits: f64,
    /// By the engine's prices in nanoseconds, with as many reads as writes.
    pub mean_cost_ns: f64,
    /// Of a read.
    pub read_ns: f64,
    /// Of a statement that stays on the writer.
    pub write_ns: f64,
    /// Rules.
    pub rules: usize,
    /// Chains.
    pub chains: usize,
}

impl Splits {
    /// The two positions, the one that is laid out first.
    pub(crate) fn of(compared: &[Split; 2], engine: EngineId) -> Self {
        let [here, there] = compared.each_ref().map(SplitCost::of);
        let reason = reason(&here, &there, engine);
        Self {
            candidates: vec![here, there],
            reason,
        }
    }
}

impl SplitCost {
    fn of(split: &Split) -> Self {
        Self {
            name: split.name.to_owned(),
            mean_evaluations: split.cost.mean_evaluations,
            mean_visits: split.cost.mean_visits,
            mean_cost_ns: split.cost.mean_ns,
            read_ns: split.read_ns,
            write_ns: split.write_ns,
            rules: split.cost.rules,
            chains: split.cost.chains,
        }
    }
}

fn reason(here: &SplitCost, there: &SplitCost, engine: EngineId) -> String {
    let costs = format!(
        "{}: with as many reads as writes it costs {:.0} ns on {engine}, {} would cost {:.0} ns",
        here.name, here.mean_cost_ns, there.name, there.mean_cost_ns
    );
    if here.mean_cost_ns <= there.mean_cost_ns {
        return costs;
    }
    let even = match even(here, there) {
        Some(share) => format!("; from {:.0} % reads on, {} costs less", share * 100.0, here.name),
        None => String::new(),
    };
    format!("{costs}, which is not laid out yet{even}")
}

/// The share of reads from which on the first one costs less.
fn even(here: &SplitCost, there: &SplitCost) -> Option<f64> {
    let (lost, won) = (here.write_ns - there.write_ns, there.read_ns - here.read_ns);
    (lost > 0.0 && won > 0.0).then(|| lost / (lost + won))
}
