//! What routes differently after a plan: by proof, or by statements that show it.

use std::sync::Arc;

use shardwright_plan::{Meaning, Observed, Plan, TargetError, TargetPlan, Witness, beside};
use shardwright_prover::Budget;
use shardwright_prover::equivalence::{Difference, Equivalence, Means, compares, equivalence_by};
use shardwright_rules::{Configuration, Decision, Outcome};
use shardwright_targets::proxysql::Routing;

use crate::args::Foreign;
use crate::error::CommandError;
use crate::live::{self, Live, LockUse, OfParts, Proxy, unreachable};
use crate::project::Opened;
use crate::ui::Ui;

/// The part of the prover's budget that a plan may spend: about half a second where it is all spent.
const PART: u32 = 20;
/// Statements that are shown.
const MOST_SHOWN: usize = 5;
/// The longest statement that is shown, in characters.
const LONGEST: usize = 160;

/// What a target routes by, before and after.
struct Pair {
    before: Arc<Configuration>,
    after: Arc<Configuration>,
    /// What keeps an answer from being certain.
    unmodelled: Option<String>,
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
    live: &mut Vec<Live>,
    ui: &Ui,
    lock: LockUse,
    foreign: Foreign,
) -> Result<Plan, CommandError> {
    live::plan(opened, live, ui, lock, foreign, &mut Meanings::default())
}

/// The meanings of the parts of a plan.
#[derive(Default)]
struct Meanings {
    /// Those of rules and users alone.
    known: Vec<(Basis, Option<Meaning>)>,
    /// Targets with all that their parts mean.
    of_targets: Vec<(String, Meaning)>,
}

impl OfParts for Meanings {
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
        let at = match self.known.iter().position(|(known, _)| *known == basis) {
            Some(at) => at,
            None => {
                let meaning = meaning(&basis, observed, desired);
                self.known.push((basis, meaning));
                self.known.len() - 1
            }
        };
        if let Some(of_rules) = &self.known[at].1 {
            let meaning = with_changes_beside(of_rules.clone(), &beside(&part.effects, compares));
            self.of_targets.push((part.name.clone(), meaning));
        }
        Ok(())
    }

    /// One for the plan: where targets differ, the gravest, which names its targets.
    fn together(&mut self) -> Option<Meaning> {
        let order = |meaning: &Meaning| match meaning.answer.as_str() {
            // With statements that show it.
            CHANGED if !meaning.witnesses.is_empty() => 0,
            CHANGED => 1,
            "undecided" => 2,
            _ => 3,
        };
        let (_, gravest) = self.of_targets.iter().min_by_key(|(_, meaning)| order(meaning))?;
        let mut meaning = gravest.clone();
        let has_it = |(name, other): &(String, Meaning)| (*other == meaning).then(|| name.clone());
        let names: Vec<String> = self.of_targets.iter().filter_map(has_it).collect();
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

fn meaning(basis: &Basis, observed: &Observed, desired: &Arc<Configuration>) -> Option<Meaning> {
    let pair = match basis {
        Basis::Rows(Routing::Untouched) => {
            return Some(same("no rule, user or routing variable changes".to_owned(), true));
        }
        Basis::Configurations(_) => {
            let before = observed.configuration.as_ref()?;
            Pair {
                before: Arc::new(before.clone()),
                after: Arc::clone(desired),
                unmodelled: None,
            }
        }
        Basis::Rows(Routing::Changes(sides)) => {
            let [before, after] = &**sides;
            let mut unreadable = [before, after]
                .into_iter()
                .filter_map(|side| side.unreadable.as_ref());
            if let Some(reason) = unreadable.next() {
                let why = format!("a row that is live cannot be read: {reason}");
                return Some(undecided(&why));
            }
            let unmodelled = before.unmodelled.iter().chain(&after.unmodelled).next().cloned();
            Pair {
                before: Arc::clone(&before.configuration),
                after: Arc::clone(&after.configuration),
                unmodelled,
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
        Equivalence::Proved => match pair.unmodelled {
            None => same("nothing routes differently (proved)".to_owned(), true),
            Some(besides) => same(format!("{AS_FAR_AS_KNOWN}: {besides}"), false),
        },
        Equivalence::Refuted { differences, .. } => changed(&differences, desired),
        Equivalence::Undecided { constructs } => {
            undecided(constructs.first().map_or("no reason is known", String::as_str))
        }
    })
}

/// The meaning with what changes beside rules and users. No proof is about that, so that nothing routes differently is not said of it.
fn with_changes_beside(mut meaning: Meaning, beside: &[String]) -> Meaning {
    if beside.is_empty() {
        return meaning;
    }
    let beside = format!("what else changes: {}", beside.join("; "));
    let summary = meaning.summary.unwrap_or_default();
    meaning.summary = Some(match meaning.answer.as_str() {
        SAME => {
            let is_proved = if meaning.proved { " (proved)" } else { "" };
            let doubt = summary.strip_prefix(AS_FAR_AS_KNOWN);
            let doubt = doubt.map_or_else(String::new, |doubt| format!(", as far as is known{doubt}"));
            format!("no rule sends a statement elsewhere{is_proved}{doubt}; {beside}")
        }
        CHANGED => format!("{beside}; {summary}"),
        _ => format!("{summary}; {beside}"),
    });
    if meaning.answer == SAME {
        meaning.answer = CHANGED.to_owned();
        meaning.proved = false;
    }
    meaning
}

const SAME: &str = "same";
const CHANGED: &str = "changed";
/// How the summary begins where there is a reason to doubt it.
const AS_FAR_AS_KNOWN: &str = "nothing routes differently, as far as is known";

fn same(summary: String, proved: bool) -> Meaning {
    Meaning {
        answer: SAME.to_owned(),
        proved,
        summary: Some(summary),
        witnesses: Vec::new(),
    }
}

fn undecided(why: &str) -> Meaning {
    Meaning {
        answer: "undecided".to_owned(),
        proved: false,
        summary: Some(format!("not decided whether statements route differently: {why}")),
        witnesses: Vec::new(),
    }
}

fn changed(differences: &[Difference], desired: &Configuration) -> Meaning {
    let witnesses = differences.iter().take(MOST_SHOWN).map(|difference| {
        let [before, after] = [&difference.left, &difference.right].map(|side| place(side.as_ref(), desired));
        let after = match before == after {
            true => format!("{after}, with another text, delay, timeout or cache"),
            false => after,
        };
        Witness {
            user: difference.session.user.clone(),
            schema: difference.session.schemas[1]
                .clone()
                .filter(|schema| !schema.is_empty()),
            statement: shortened(&String::from_utf8_lossy(&difference.statement)),
            before,
            after,
        }
    });
    Meaning {
        answer: CHANGED.to_owned(),
        proved: true,
        summary: Some("statements go another way, for example:".to_owned()),
        witnesses: witnesses.collect(),
    }
}

/// Where a statement goes; `None`: its user cannot log in.
fn place(decision: Option<&Decision>, configuration: &Configuration) -> String {
    match decision.map(|decision| &decision.outcome) {
        None => "no such user".to_owned(),
        Some(Outcome::Route(route)) => configuration.hostgroup_name(route.hostgroup),
        Some(Outcome::Reject(rejection)) => format!("refused with error {}", rejection.code),
        Some(Outcome::Answer { .. } | Outcome::Own { .. } | Outcome::DeferBegin) => {
            "answered by the proxy".to_owned()
        }
    }
}

fn shortened(statement: &str) -> String {
    match statement.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &statement[..end]),
        None => statement.to_owned(),
    }
}
