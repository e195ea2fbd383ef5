//! What routes differently after a plan: by proof, or by statements that show it.

mod examples;

use std::cell::OnceCell;
use std::sync::Arc;

use shardwright_plan::{Meaning, Observed, Plan, TargetError, TargetPlan, beside};
use shardwright_prover::Budget;
use shardwright_prover::equivalence::{Equivalence, Means, compares, equivalence_by};
use shardwright_rules::{Configuration, EngineId, MapStep};
use shardwright_targets::proxysql::Routing;

use crate::error::CommandError;
use crate::live::{self, Live, Making, OfParts, Proxy, Reached, unreachable};
use crate::project::Opened;
use crate::ui::Ui;
use examples::Examples;

/// The part of the prover's budget that a plan may spend: about half a second where it is all spent.
const PART: u32 = 20;

/// What a target routes by, before and after.
struct Pair {
    before: Arc<Configuration>,
    after: Arc<Configuration>,
    /// What keeps an answer from being certain.
    unmodelled: Option<String>,
    /// The same where only one of both has it: nothing is known of what that changes.
    changed: Option<String>,
}

/// What of a target decides its meaning; targets with the same have the same.
#[derive(PartialEq)]
enum Basis {
    /// The rows of a ProxySQL before and after.
    Rows(Routing),
    /// Fingerprints of the configurations before and after.
    Configurations([String; 2]),
}

/// Observes the targets and plans the changes that the project needs, with what they mean.
pub(crate) fn plan(
    opened: &Opened,
    reached: &mut Reached,
    ui: &Ui,
    making: Making,
) -> Result<Plan, CommandError> {
    let mut meanings = Meanings {
        opened,
        maps: OnceCell::new(),
        compared: Vec::new(),
        of_targets: Vec::new(),
    };
    live::plan(opened, reached, ui, making, &mut meanings)
}

/// The meanings of the parts of a plan.
struct Meanings<'o> {
    opened: &'o Opened,
    /// The shard maps of the project, with their keys.
    maps: OnceCell<Vec<MapStep>>,
    compared: Vec<(Basis, Option<Comparison>)>,
    /// Targets with all that their parts mean; `None`: they route nothing yet.
    of_targets: Vec<(String, Option<Meaning>)>,
}

impl Meanings<'_> {
    fn maps(&self) -> &[MapStep] {
        self.maps.get_or_init(|| {
            // The rules of ProxySQL say of no pattern which keys it holds; the steps of the bundled engine do.
            let built = self.opened.build_quietly(EngineId::Bundled);
            built.configuration.graph.maps().cloned().collect()
        })
    }
}

impl OfParts for Meanings<'_> {
    /// Compares what a target routes now with what it would route.
    ///
    /// # Errors
    /// The target cannot hold the configuration.
    fn part(
        &mut self,
        live: &mut Live,
        observed: &Observed,
        part: &TargetPlan,
        desired: &Arc<Configuration>,
    ) -> Result<(), CommandError> {
        if part.effects.is_empty() {
            return Ok(());
        }
        let basis = basis(live, observed, desired).map_err(|error| unreachable(&error))?;
        let at = match self.compared.iter().position(|(known, _)| *known == basis) {
            Some(at) => at,
            None => {
                let comparison = comparison(&basis, observed, desired, || self.maps());
                self.compared.push((basis, comparison));
                self.compared.len() - 1
            }
        };
        let comparison = self.compared[at].1.clone();
        let meaning = comparison.map(|comparison| comparison.with(&beside(&part.effects, compares)));
        self.of_targets.push((part.name.clone(), meaning));
        Ok(())
    }

    /// One for the plan: where targets differ, the gravest, which names its targets.
    fn together(&mut self) -> Option<Meaning> {
        let order = |meaning: &Meaning| match meaning.answer.as_str() {
            // With statements that show it.
            CHANGED if !meaning.witnesses.is_empty() => 0,
            CHANGED => 1,
            UNDECIDED => 2,
            _ => 3,
        };
        let meanings = self.of_targets.iter().filter_map(|(_, meaning)| meaning.as_ref());
        let gravest = meanings.min_by_key(|meaning| order(meaning))?;
        let have_it = self
            .of_targets
            .iter()
            .filter(|(_, meaning)| meaning.as_ref() == Some(gravest));
        let names: Vec<&str> = have_it.map(|(name, _)| name.as_str()).collect();
        let mut meaning = gravest.clone();
        if names.len() < self.of_targets.len() {
            let names = names.join(", ");
            meaning.summary = meaning.summary.map(|summary| format!("on {names}: {summary}"));
        }
        Some(meaning)
    }
}

fn basis(live: &mut Live, observed: &Observed, desired: &Configuration) -> Result<Basis, TargetError> {
    match &mut live.proxy {
        Proxy::Bundled(_) => Ok(Basis::Configurations([
            observed.fingerprint.clone(),
            desired.fingerprint(),
        ])),
        Proxy::ProxySql(target) => target.routing(desired).map(Basis::Rows),
    }
}

/// Compares rules and users before and after; `None`: the target routes nothing yet.
fn comparison<'m>(
    basis: &Basis,
    observed: &Observed,
    desired: &Arc<Configuration>,
    maps: impl FnOnce() -> &'m [MapStep],
) -> Option<Comparison> {
    let pair = match basis {
        Basis::Rows(Routing::Untouched) => {
            return Some(Comparison::Untouched);
        }
        Basis::Configurations(_) => {
            let before = observed.configuration.as_ref()?;
            Pair {
                before: Arc::new(before.clone()),
                after: Arc::clone(desired),
                unmodelled: None,
                changed: None,
            }
        }
        Basis::Rows(Routing::Changes(sides)) => {
            let [before, after] = &**sides;
            let mut unreadable = [before, after]
                .into_iter()
                .filter_map(|side| side.unreadable.as_ref());
            if let Some(reason) = unreadable.next() {
                let why = format!("a row that is live cannot be read: {reason}");
                return Some(Comparison::Undecided(why));
            }
            let unmodelled = before.unmodelled.iter().chain(&after.unmodelled).next().cloned();
            Pair {
                before: Arc::clone(&before.configuration),
                after: Arc::clone(&after.configuration),
                unmodelled,
                changed: in_one(&before.unmodelled, &after.unmodelled).cloned(),
            }
        }
    };
    // Before its first configuration, a target routes nothing.
    if pair.before.users.is_empty() && pair.before.graph.rules.is_empty() {
        return None;
    }
    let means = Means {
        budget: Budget::part(PART),
        ..Means::default()
    };
    let (answer, _) = equivalence_by(&pair.before, &pair.after, &means);
    Some(match answer {
        Equivalence::Proved => match pair.changed {
            Some(why) => Comparison::Undecided(why),
            None => Comparison::Same {
                doubt: pair.unmodelled,
            },
        },
        Equivalence::Refuted { differences, .. } => Comparison::Changed(Examples::of(
            [&pair.before, &pair.after],
            &differences,
            desired,
            maps(),
        )),
        Equivalence::Undecided { constructs } => {
            let why = constructs.into_iter().next();
            Comparison::Undecided(why.unwrap_or_else(|| "no reason is known".to_owned()))
        }
    })
}

/// The first that is in one of two lists only.
fn in_one<'l>(one: &'l [String], other: &'l [String]) -> Option<&'l String> {
    let mut alone = one.iter().filter(|what| !other.contains(what));
    alone
        .next()
        .or_else(|| other.iter().find(|what| !one.contains(what)))
}

/// What a comparison of rules and users came to.
#[derive(Clone)]
enum Comparison {
    /// No rule, user or variable that is compared changes.
    Untouched,
    Same {
        /// What keeps it from being certain.
        doubt: Option<String>,
    },
    Changed(Examples),
    /// With the reason.
    Undecided(String),
}

impl Comparison {
    /// The meaning of a plan that also changes what is named in `beside`. No proof is about that, so that nothing routes
    /// differently is not said of it.
    fn with(self, beside: &[String]) -> Meaning {
        let beside = (!beside.is_empty()).then(|| format!("what else changes: {}", beside.join("; ")));
        let none = Examples::NONE;
        let (answer, proved, summary, examples) = match (self, beside) {
            (Self::Untouched, None) => {
                let summary = "no rule, user or routing variable changes".to_owned();
                (SAME, true, summary, none)
            }
            (Self::Same { doubt }, None) => {
                let is_proved = doubt.is_none();
                let summary = format!("nothing routes differently{}", certainty(doubt));
                (SAME, is_proved, summary, none)
            }
            (Self::Untouched, Some(beside)) => {
                let summary = format!("{}; {beside}", none_elsewhere(None));
                (CHANGED, false, summary, none)
            }
            (Self::Same { doubt }, Some(beside)) => {
                let summary = format!("{}; {beside}", none_elsewhere(doubt));
                (CHANGED, false, summary, none)
            }
            (Self::Changed(examples), beside) => {
                let beside = beside.map_or_else(String::new, |beside| format!("{beside}; "));
                let summary = format!("{beside}statements go another way, for example:");
                (CHANGED, true, summary, examples)
            }
            (Self::Undecided(why), beside) => {
                let beside = beside.map_or_else(String::new, |beside| format!("; {beside}"));
                let summary = format!("not decided whether statements route differently: {why}{beside}");
                (UNDECIDED, false, summary, none)
            }
        };
        Meaning {
            answer: answer.to_owned(),
            proved,
            summary: Some(summary),
            witnesses: examples.witnesses,
            more_kinds: examples.more_kinds,
        }
    }
}

fn none_elsewhere(doubt: Option<String>) -> String {
    format!("no rule sends a statement elsewhere{}", certainty(doubt))
}

/// How certain it is that nothing differs.
fn certainty(doubt: Option<String>) -> String {
    doubt.map_or_else(
        || " (proved)".to_owned(),
        |doubt| format!(", as far as is known: {doubt}"),
    )
}

const SAME: &str = "same";
const CHANGED: &str = "changed";
const UNDECIDED: &str = "undecided";
