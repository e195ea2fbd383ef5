//! What each entry of a map counts, and the layout that costs least by that.

use shardwright_diagnostics::Severity;
use shardwright_layout::{Candidate, Cost, KEPT, Measure, Node, Price, Weights, candidates, cost};
use shardwright_rules::{MapStep, MissingAction, RoleStep, Shard, TextLength, UnknownKey};
use shardwright_topology::model::RuleLayout;

use super::Layout;
use super::entry::Entry;
use super::hits::HitSource;
use crate::diagnostics::{COSTLY, DRIFTED, Diagnostics, LAYOUT, NO_TRAFFIC};
use crate::program::{Program, Section};
use crate::traffic::Traffic;

/// A remembered or a forced layout is reported when it costs more than this much of the best one.
const TOLERATED: f64 = 1.25;
/// The share of all hits that is spread over every key alike: what was not seen is not impossible.
const UNSEEN: f64 = 0.01;

/// How much each entry counts.
#[derive(Debug, Default)]
pub(crate) struct EntryWeights {
    /// For laying out.
    shaping: Vec<f64>,
    /// Hits, where there is traffic.
    hits: Option<Vec<f64>>,
}

impl EntryWeights {
    /// All alike, or as the traffic says; traffic that has none of the map's keys says nothing.
    pub(super) fn of(
        traffic: Option<&Traffic>,
        counts: HitSource<'_>,
        entries: &[Entry],
        report: &mut Diagnostics<'_>,
    ) -> Self {
        let hits = traffic.map(|traffic| counts.of_entries(traffic, entries));
        let section = counts.section;
        let total: f64 = hits.iter().flatten().sum();
        let count = entries.len() as f64;
        if hits.is_some() && total <= 0.0 && count > 0.0 {
            let message = format!(
                "the traffic has no key of shard map {}: all its keys get the same weight",
                section.step.map
            );
            report.add(Severity::Warning, NO_TRAFFIC, section.origin, "", message);
        }
        match hits.filter(|_| total > 0.0) {
            None => Self {
                shaping: vec![1.0; entries.len()],
                hits: None,
            },
            Some(hits) => Self {
                shaping: hits.iter().map(|hits| hits + total * UNSEEN / count).collect(),
                hits: Some(hits),
            },
        }
    }

    /// For laying out.
    pub(crate) fn as_weights(&self) -> Weights<'_> {
        Weights {
            of: &self.shaping,
            alike: self.hits.is_none(),
        }
    }

    /// What layouts are compared by.
    pub(crate) fn measure(&self, price: Price) -> Measure<'_> {
        Measure {
            weights: self.as_weights(),
            price,
        }
    }

    /// Hits, where there is traffic.
    pub(crate) fn hits(&self) -> Option<&[f64]> {
        self.hits.as_deref()
    }
}

/// The layout of a map whose keys stand in names of schemas or users: what is forced, else what costs least of those
/// that refuse what the map refuses. Names are compared, not searched, so there are no evaluations.
pub(super) fn layout_of_names(
    section: &Section<Box<MapStep>>,
    wanted: RuleLayout,
    by_user: bool,
    program: &Program,
    price: Price,
    report: &mut Diagnostics<'_>,
) -> Chosen {
    let mut candidates = vec![flat_names(section, program, price)];
    let searches = section.step.otherwise.is_some();
    let differs = !section.step.missing_by_user.is_empty();
    if !by_user
        && !searches
        && !differs
        && (wanted == RuleLayout::FastRouting || fast_routing_is_exact(&section.step))
    {
        // One look-up, behind the rule that must stand last.
        candidates.push(of_names("fast_routing", 1.0, 1.0, 1.0, price));
    }
    candidates.sort_by(|a, b| a.cost.mean_ns.total_cmp(&b.cost.mean_ns));
    let forced = match wanted {
        RuleLayout::Auto => None,
        RuleLayout::Flat => Some("flat"),
        RuleLayout::FastRouting if !by_user && searches => {
            let message = "fast routing places a session whatever its statements say; with `otherwise` they are searched for \
                           keys of the other map";
            report.error(LAYOUT, section.origin, "rule_layout", message);
            None
        }
        RuleLayout::FastRouting if !by_user && differs => {
            let message =
                "fast routing treats all users alike whose schema has no key; `missing_key.by_user` does not";
            report.error(LAYOUT, section.origin, "rule_layout", message);
            None
        }
        RuleLayout::FastRouting if !by_user => Some("fast_routing"),
        RuleLayout::FastRouting | RuleLayout::Tree | RuleLayout::Dispatch => {
            let message = match by_user {
                true => "keys in user names are laid out as `flat`",
                false => "keys in schema names are laid out as `fast_routing` or `flat`",
            };
            report.error(LAYOUT, section.origin, "rule_layout", message);
            None
        }
    };
    if let Some(forced) = forced {
        candidates.sort_by_key(|candidate| candidate.name != forced);
    }
    let (winner, others) = candidates.split_first().expect("flat is always possible");
    let layout = if winner.name == Layout::Flat.name() {
        Layout::Flat
    } else {
        Layout::FastRouting
    };
    report_cost(section, wanted, layout, Comparison { winner, others }, report);
    Chosen {
        shape: Vec::new(),
        layout,
        candidates,
    }
}

/// Whether sessions that fast routing has no row for go where the map says: they are treated alike.
fn fast_routing_is_exact(step: &MapStep) -> bool {
    match (&step.unknown, &step.missing.statements) {
        (UnknownKey::Cluster(unknown), MissingAction::Cluster(missing)) => unknown == missing,
        _ => false,
    }
}

/// The keys of a map's shards, each of a range too.
pub(crate) fn key_count(step: &MapStep) -> f64 {
    let keys = |shard: &Shard| {
        let ranges = shard
            .ranges
            .iter()
            .map(|&(low, high)| i128::from(high) - i128::from(low) + 1);
        shard.keys.len() as f64 + ranges.map(|keys| keys as f64).sum::<f64>()
    };
    step.shards.iter().map(keys).sum()
}

/// A rule for each name; where reads go elsewhere, one in front of the question, and one behind it.
fn flat_names(section: &Section<Box<MapStep>>, program: &Program, price: Price) -> Candidate {
    let shards = &section.step.shards;
    let names = key_count(&section.step);
    let is_split = shards
        .iter()
        .filter_map(|shard| shard.cluster.as_deref())
        .any(|name| {
            let has_readers = program
                .cluster(name)
                .is_some_and(|cluster| cluster.reader.is_some());
            let covers = |policy: &Section<RoleStep>| policy.scope.clusters.contains(name);
            has_readers && program.roles.iter().any(covers)
        });
    let (in_front, rules) = if is_split {
        (names, 3.0 * names)
    } else {
        (0.0, names)
    };
    of_names("flat", in_front + (names + 1.0) / 2.0, 0.0, rules, price)
}

fn of_names(name: &str, visits: f64, lookups: f64, rules: f64, price: Price) -> Candidate {
    Candidate {
        name: name.to_owned(),
        shape: Vec::new(),
        cost: Cost {
            mean_visits: visits,
            mean_ns: price.ns(0.0, visits, lookups),
            rules: rules as usize,
            chains: 1,
            depth: 1,
            ..Cost::default()
        },
    }
}

/// A layout and what it was compared with.
pub(super) struct Chosen {
    pub(super) shape: Vec<Node>,
    pub(super) layout: Layout,
    /// The chosen one first, without shapes.
    pub(super) candidates: Vec<Candidate>,
}

/// The layout of a map whose keys stand in comments.
pub(super) fn layout(
    section: &Section<Box<MapStep>>,
    wanted: RuleLayout,
    measure: Measure<'_>,
    kept: Option<Vec<Node>>,
    report: &mut Diagnostics<'_>,
) -> Chosen {
    let origin = section.origin;
    match wanted {
        RuleLayout::Auto | RuleLayout::Flat | RuleLayout::Tree => {}
        RuleLayout::FastRouting => {
            let message = "fast routing looks up session schemas; the key of this map stands in a comment";
            report.error(LAYOUT, origin, "rule_layout", message);
        }
        RuleLayout::Dispatch => report.unsupported(origin, "rule_layout", "look keys up by dispatch"),
    }
    let mut candidates = candidates(measure);
    let chosen = match kept.filter(|_| wanted != RuleLayout::Flat) {
        Some(shape) => {
            let cost = cost(&shape, measure);
            let name = KEPT.to_owned();
            candidates.push(Candidate { name, shape, cost });
            Some(candidates.len() - 1)
        }
        None => None,
    };
    let is_kept = |candidate: &Candidate| wanted == RuleLayout::Auto || is_tree(candidate);
    let chosen = chosen
        .filter(|&at| is_kept(&candidates[at]))
        .or_else(|| match wanted {
            RuleLayout::Flat => candidates.iter().position(|candidate| candidate.name == "flat"),
            RuleLayout::Tree => candidates.iter().position(is_tree),
            _ => None,
        });
    let mut winner = candidates.remove(chosen.unwrap_or(0));
    let layout = if is_tree(&winner) {
        Layout::Tree
    } else {
        Layout::Flat
    };
    let comparison = Comparison {
        winner: &winner,
        others: &candidates,
    };
    report_cost(section, wanted, layout, comparison, report);
    let shape = std::mem::take(&mut winner.shape);
    candidates.insert(0, winner);
    for candidate in &mut candidates {
        candidate.shape = Vec::new();
    }
    Chosen {
        shape,
        layout,
        candidates,
    }
}

/// A layout and those that it was compared with.
struct Comparison<'c> {
    winner: &'c Candidate,
    others: &'c [Candidate],
}

/// Reports a layout that costs much more than the best.
fn report_cost(
    section: &Section<Box<MapStep>>,
    wanted: RuleLayout,
    layout: Layout,
    Comparison { winner, others }: Comparison<'_>,
    report: &mut Diagnostics<'_>,
) {
    let cheapest = |of: &dyn Fn(&Candidate) -> bool| {
        let best = others
            .iter()
            .filter(|other| of(other))
            .min_by(|a, b| a.cost.mean_ns.total_cmp(&b.cost.mean_ns))?;
        (winner.cost.mean_ns > best.cost.mean_ns * TOLERATED).then_some(best)
    };
    let (map, engine) = (&section.step.map, report.engine);
    let here = winner.cost.mean_ns;
    let bytes = TextLength::default().bytes();
    // What a new layout would be chosen from.
    let is_possible = |other: &Candidate| wanted != RuleLayout::Tree || is_tree(other);
    if let (KEPT, Some(best)) = (winner.name.as_str(), cheapest(&is_possible)) {
        let more = here - best.cost.mean_ns;
        let message = format!(
            "on {engine}, the tree of shard map {map} costs {more:.0} ns more for a statement of {bytes} bytes than the best one: it was \
             made for other keys; `compile --reshape` lays it out again, which changes most of its rules"
        );
        report.add(Severity::Warning, DRIFTED, section.origin, "", message);
    } else if let (true, Some(best)) = (wanted != RuleLayout::Auto, cheapest(&|_| true)) {
        let more = here - best.cost.mean_ns;
        let message = format!(
            "on {engine}, `rule_layout: {}` costs {more:.0} ns more for a statement of {bytes} bytes than {}",
            layout.name(),
            best.name
        );
        report.add(Severity::Warning, COSTLY, section.origin, "rule_layout", message);
    }
}

fn is_tree(candidate: &Candidate) -> bool {
    candidate.cost.chains > 1
}
