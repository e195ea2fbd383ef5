//! Rules as named objects, kept where the prover shows that nothing changes.
//!
//! A recogniser ([`policies`], [`effects`], …) finds groups of rules that one object could say, and makes the object of any
//! part of a group. The whole group is tried first. Where that is not equal to the source, its halves are, down to single
//! rules, so that one rule that resists does not keep the others. Each attempt is a whole project: its files are written,
//! read and compiled, and the result is compared with the source, so a mistake of a recogniser cannot get through.

mod clusters;
mod effects;
mod fast_routing;
mod keyed;
mod matches;
mod policies;
mod reasons;
mod remarks;
mod routes;
mod timeouts;

use std::collections::{BTreeMap, BTreeSet};

use shardwright_prover::Budget;
use shardwright_rules::Configuration;

use crate::build::{Built, build};
use crate::draft::{ClusterDraft, Draft, ObjectDraft, RuleDraft};
use crate::proof::prove;

/// Projects that are compiled for one import, and how many rules all of them may have together.
const LEAST_ATTEMPTS: usize = 20;
const MOST_ATTEMPTS: usize = 400;
const MOST_COMPILED: usize = 60_000;
/// How many of so many parts of the prover's budget an attempt may take; all attempts of an import may take it once.
const PART_OF_BUDGET: u32 = 16;

/// Rules that became an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lift {
    /// `read_write_policies.shop`
    pub address: String,
    /// The ids of the rules, which the project does not have any more.
    pub rules: BTreeSet<u32>,
}

/// A rule that stays in the engine's own columns.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Resisted {
    /// The object that it was tried as; none where there is no such object.
    pub address: Option<String>,
    /// The rule.
    pub rule: u32,
    /// Why the rule stays as it is.
    pub why: String,
}

/// What lifting came to.
#[derive(Clone, Debug, Default)]
pub struct Lifted {
    /// What was lifted, in the order of the recognisers.
    pub lifts: Vec<Lift>,
    /// Every other active rule, by its number.
    pub resisted: Vec<Resisted>,
    /// Clusters that were joined of two hostgroups.
    pub joined: Vec<String>,
    /// How many rows of fast routing became these maps.
    pub routes: Option<(usize, Vec<String>)>,
    /// Why they did not.
    pub routes_resisted: Option<String>,
}

/// A change of a draft.
#[derive(Clone, Debug)]
pub(crate) enum Edit {
    /// An object is added, or takes the place of one with the same address.
    Object(ObjectDraft),
    /// These are the objects of a section.
    Section(&'static [&'static str], Vec<ObjectDraft>),
    /// Statements of a user have a limit.
    Timeout { user: String, limit_ms: u32 },
    /// Rules that stay keep their places among these routes, by the first rule that each says.
    Among(BTreeMap<u32, String>),
    /// Effects are set in front of the rules that stay among routes.
    BehindEffects,
}

/// The changes of a draft that take the place of some of its rules.
type Edits = dyn Fn(&Draft, &[&RuleDraft]) -> Vec<Edit>;
/// The objects that some rules became.
type Lifts = dyn Fn(&Draft, &[&RuleDraft]) -> Vec<Lift>;

/// Rules that one object could say, and what the object is for a part of them.
pub(crate) struct Group {
    /// The object's address.
    pub(crate) address: String,
    /// The rules, in their order; those that only make sense together stand together.
    pub(crate) rules: Vec<Vec<u32>>,
    /// The changes, instead of these rules.
    pub(crate) edits: Box<Edits>,
    /// The objects, where they are several; none for the one at the address.
    pub(crate) lifts: Option<Box<Lifts>>,
    /// How many of the rules have to be lifted at once.
    pub(crate) part: Part,
}

/// How much of a group is lifted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// All of it, or nothing, which is not told: another group has the same rules.
    Whole,
    /// As many rules as can be.
    Any,
}

/// Lifts what can be proved equal to a configuration, which is the source or the project of all its rules as they are; gives the
/// project in which it is.
pub(crate) fn lift(source: &Configuration, draft: &mut Draft, built: &mut Built) -> Lifted {
    let comments = remarks::comments(draft);
    let attempts = (MOST_COMPILED / draft.rules.len().max(1)).clamp(LEAST_ATTEMPTS, MOST_ATTEMPTS);
    let mut lifting = Lifting {
        source,
        draft,
        built,
        attempts,
        steps: Budget::default().steps,
        lifted: Lifted::default(),
    };
    lifting.join_clusters();
    for recogniser in [
        keyed::groups,
        policies::groups,
        routes::all_apart,
        routes::in_order,
        routes::apart,
        timeouts::groups,
        effects::groups,
    ] {
        for group in recogniser(lifting.draft) {
            lifting.lift(&group);
        }
    }
    lifting.fast_routing();
    lifting.say_why();
    lifting.keep_comments(&comments);
    lifting.lifted
}

struct Lifting<'l> {
    source: &'l Configuration,
    draft: &'l mut Draft,
    built: &'l mut Built,
    /// Projects that may still be compiled.
    attempts: usize,
    /// Steps that proofs may still take.
    steps: u64,
    lifted: Lifted,
}

impl Lifting<'_> {
    /// Lifts what it can of a group.
    fn lift(&mut self, group: &Group) {
        let mut kept = Vec::new();
        let whole = self.whole(group, &group.rules.concat(), &mut kept);
        if whole.is_err() && group.part == Part::Whole {
            return;
        }
        if whole.is_err() {
            if let Some(run) = self.longest_run(&group.rules.concat()) {
                self.run(group, run, &mut kept);
            }
            if kept.is_empty() && group.lifts.is_some() {
                self.longest_end(group, &mut kept);
            }
        }
        let is_open = |ids: &&Vec<u32>| !kept.iter().any(|rule| ids.contains(&rule.id));
        let open: Vec<Vec<u32>> = group.rules.iter().filter(is_open).cloned().collect();
        self.group(group, &open, &mut kept);
        if kept.is_empty() {
            return;
        }
        match &group.lifts {
            Some(lifts) => {
                let lifts = lifts(self.draft, &kept.iter().collect::<Vec<_>>());
                self.lifted.lifts.extend(lifts);
            }
            None => self.lifted.lifts.push(Lift {
                address: group.address.clone(),
                rules: kept.into_iter().map(|rule| rule.id).collect(),
            }),
        }
    }

    /// Lifts as many of the last rules of a group as can be lifted at once: rules that stay come first, so that those behind
    /// them keep their order.
    fn longest_end(&mut self, group: &Group, kept: &mut Vec<RuleDraft>) {
        // The end from `first` on is not equal, or not tried; the one from `last` on is the longest that is known to be.
        let (mut first, mut last) = (0, group.rules.len());
        while last - first > 1 {
            let middle = (first + last) / 2;
            match self.whole(group, &group.rules[middle..last].concat(), kept) {
                Ok(()) => last = middle,
                Err(_) => first = middle,
            }
        }
    }

    /// Keeps the comments of the rules that were lifted, which say nothing of where statements go.
    fn keep_comments(&mut self, comments: &BTreeMap<u32, String>) {
        let mut commented = self.draft.clone();
        if !remarks::keep(&mut commented, &self.lifted.lifts, comments) {
            return;
        }
        if let Ok(built) = build(&commented) {
            *self.draft = commented;
            *self.built = built;
        }
    }

    /// Gives each rule that stays a reason: what was tried last, or what it does that no object says.
    fn say_why(&mut self) {
        let stays = |rule: &&RuleDraft| rule.is_active;
        let stay: BTreeSet<u32> = self
            .draft
            .rules
            .iter()
            .filter(stays)
            .map(|rule| rule.id)
            .collect();
        self.lifted.resisted.retain(|one| stay.contains(&one.rule));
        let mut said: BTreeSet<u32> = BTreeSet::new();
        // Of several objects that were tried for a rule, the last one says the most.
        self.lifted.resisted.reverse();
        self.lifted.resisted.retain(|one| said.insert(one.rule));
        for rule in self.draft.rules.iter().filter(stays) {
            if said.insert(rule.id) {
                self.lifted.resisted.push(Resisted {
                    address: None,
                    rule: rule.id,
                    why: reasons::reason(self.draft, rule),
                });
            }
        }
        self.lifted.resisted.sort_by_key(|one| one.rule);
    }

    /// The most rules of a group that follow each other, where others stand behind them. What is lifted stands behind all
    /// rules that stay, unless those behind the run stay behind what is lifted.
    fn longest_run(&self, rules: &[u32]) -> Option<Vec<u32>> {
        if self.draft.behind.is_some() || !self.draft.among.is_empty() {
            return None;
        }
        let active: Vec<u32> = self.draft.entry_rules().map(|rule| rule.id).collect();
        let mut runs: Vec<Vec<u32>> = vec![Vec::new()];
        for id in &active {
            match rules.contains(id) {
                true => runs.last_mut().expect("there is one").push(*id),
                false => runs.push(Vec::new()),
            }
        }
        let longest = runs.into_iter().rev().max_by_key(Vec::len)?;
        (longest.len() > 1 && longest.last() != active.last()).then_some(longest)
    }

    /// Lifts a run whole, with the rules behind it behind the object.
    fn run(&mut self, group: &Group, run: Vec<u32>, kept: &mut Vec<RuleDraft>) {
        let last = run.last().copied().unwrap_or(0);
        let (rules, others): (Vec<RuleDraft>, Vec<RuleDraft>) = self
            .draft
            .rules
            .iter()
            .cloned()
            .partition(|rule| run.contains(&rule.id));
        let edits = (group.edits)(self.draft, &rules.iter().collect::<Vec<_>>());
        let mut attempt = Draft {
            behind: others.iter().map(|rule| rule.id).find(|id| *id > last),
            rules: others,
            ..self.draft.clone()
        };
        edits.into_iter().for_each(|edit| apply(&mut attempt, edit));
        if let Ok(built) = self.prove(&attempt) {
            *self.draft = attempt;
            *self.built = built;
            *kept = rules;
        }
    }

    /// Lifts as many rules of a group as can be. `kept` has those that the object says already.
    fn group(&mut self, group: &Group, units: &[Vec<u32>], kept: &mut Vec<RuleDraft>) {
        let Err(why) = self.whole(group, &units.concat(), kept) else {
            return;
        };
        match units {
            [unit] => self.lifted.resisted.extend(unit.iter().map(|rule| Resisted {
                address: Some(group.address.clone()),
                rule: *rule,
                why: why.clone(),
            })),
            _ => {
                let (first, second) = units.split_at(units.len() / 2);
                self.group(group, first, kept);
                self.group(group, second, kept);
            }
        }
    }

    /// Lifts rules of a group, all or none; otherwise the reason. Without rules there is nothing to do.
    fn whole(&mut self, group: &Group, rules: &[u32], kept: &mut Vec<RuleDraft>) -> Result<(), String> {
        let (mut all, others): (Vec<RuleDraft>, Vec<RuleDraft>) = self
            .draft
            .rules
            .iter()
            .cloned()
            .partition(|rule| rules.contains(&rule.id));
        if all.is_empty() {
            return Ok(());
        }
        all.extend(kept.iter().cloned());
        all.sort_by_key(|rule| rule.id);
        let edits = (group.edits)(self.draft, &all.iter().collect::<Vec<_>>());
        let mut attempt = Draft {
            rules: others,
            ..self.draft.clone()
        };
        edits.into_iter().for_each(|edit| apply(&mut attempt, edit));
        let built = self.prove(&attempt)?;
        *self.draft = attempt;
        *self.built = built;
        *kept = all;
        Ok(())
    }

    /// The project of a draft, where every statement goes as in the source; otherwise why not.
    fn prove(&mut self, attempt: &Draft) -> Result<Built, String> {
        self.attempts = self
            .attempts
            .checked_sub(1)
            .ok_or("not tried: so many rules of so large a rule set are not tried one by one")?;
        let built = build(attempt).map_err(|refused| refused.reason())?;
        let budget = Budget::part(PART_OF_BUDGET);
        let budget = Budget {
            steps: budget.steps.min(self.steps),
            ..budget
        };
        let (proof, steps) = prove(self.source, built.configuration(), budget);
        self.steps = self.steps.saturating_sub(steps);
        match proof.reason() {
            None => Ok(built),
            Some(why) => Err(why),
        }
    }

    /// Lifts all rows of fast routing, or none.
    fn fast_routing(&mut self) {
        let objects = fast_routing::maps(self.draft);
        if objects.is_empty() {
            return;
        }
        let mut attempt = self.draft.clone();
        let rows = std::mem::take(&mut attempt.routes).len();
        let addresses: Vec<String> = objects.iter().map(ObjectDraft::address).collect();
        attempt.objects.extend(objects);
        match self.prove(&attempt) {
            Ok(built) => {
                *self.draft = attempt;
                *self.built = built;
                self.lifted.routes = Some((rows, addresses));
            }
            Err(why) => self.lifted.routes_resisted = Some(why),
        }
    }

    /// Joins pairs of hostgroups to clusters with a writer and readers, where the same rows are compiled.
    fn join_clusters(&mut self) {
        for joined in clusters::pairs(self.draft) {
            let mut attempt = self.draft.clone();
            attempt
                .clusters
                .retain(|cluster| !joined.replaces.contains(&cluster.name));
            attempt.clusters.push(joined.cluster.clone());
            attempt.clusters.sort_by(|a, b| a.name.cmp(&b.name));
            let Ok(built) = self.prove(&attempt) else { continue };
            let before = crate::differences::differences(self.source, self.built.configuration());
            let after = crate::differences::differences(self.source, built.configuration());
            if matches!((before, after), (Ok(before), Ok(after)) if before == after) {
                *self.draft = attempt;
                *self.built = built;
                self.lifted
                    .joined
                    .push(format!("clusters.{}", joined.cluster.name));
            }
        }
    }
}

/// A cluster in the place of others.
pub(crate) struct Joined {
    pub(crate) cluster: ClusterDraft,
    pub(crate) replaces: BTreeSet<String>,
}

fn apply(draft: &mut Draft, edit: Edit) {
    match edit {
        Edit::Object(object) => {
            draft.objects.retain(|other| other.address() != object.address());
            draft.objects.push(object);
        }
        Edit::Section(section, objects) => {
            draft.objects.retain(|other| other.section != section);
            draft.objects.extend(objects);
        }
        Edit::Among(routes) => draft.among = routes,
        Edit::BehindEffects => draft.behind_effects = !draft.among.is_empty(),
        Edit::Timeout { user, limit_ms } => {
            let user = draft.users.iter_mut().find(|own| own.name == user);
            if let Some(user) = user {
                user.statement_timeout_ms = Some(limit_ms);
            }
        }
    }
}
