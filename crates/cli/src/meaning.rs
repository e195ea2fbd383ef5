//! What routes differently after a plan: by proof, or by statements that show it.

use std::sync::Arc;

use shardwright_plan::{Meaning, Observed, Plan, TargetError, TargetPlan, Witness};
use shardwright_prover::Budget;
use shardwright_prover::equivalence::{Difference, Equivalence, Means, equivalence_by};
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
    known: Vec<(Basis, Option<Meaning>)>,
    /// Targets with the place of their meaning.
    of_targets: Vec<(String, usize)>,
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
        self.of_targets.push((part.name.clone(), at));
        Ok(())
    }

    /// One for the plan: where targets differ, the gravest, which names its targets.
    fn together(&mut self) -> Option<Meaning> {
        let said: Vec<usize> = self
            .of_targets
            .iter()
            .map(|(_, at)| *at)
            .filter(|at| self.known[*at].1.is_some())
            .collect();
        let order = |meaning: &Meaning| match meaning.answer.as_str() {
            "changed" => 0,
            "undecided" => 1,
            _ => 2,
        };
        let at = *said
            .iter()
            .min_by_key(|at| self.known[**at].1.as_ref().map_or(3, order))?;
        let names: Vec<&str> = self
            .of_targets
            .iter()
            .filter(|(_, place)| *place == at)
            .map(|(name, _)| name.as_str())
            .collect();
        let is_of_all = names.len() == self.of_targets.len();
        let names = names.join(", ");
        let mut meaning = self.known[at].1.clone()?;
        if !is_of_all {
            meaning.summary = meaning.summary.map(|summary| format!("{summary}; on {names}"));
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
            Some(besides) => same(
                format!("nothing routes differently, as far as is known: {besides}"),
                false,
            ),
        },
        Equivalence::Refuted { differences, .. } => changed(&differences, desired),
        Equivalence::Undecided { constructs } => {
            undecided(constructs.first().map_or("no reason is known", String::as_str))
        }
    })
}

fn same(summary: String, proved: bool) -> Meaning {
    Meaning {
        answer: "same".to_owned(),
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
        answer: "changed".to_owned(),
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
