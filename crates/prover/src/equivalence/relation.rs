//! How the outcomes of a statement on both sides shall relate: alike, or the first side places no statement where the
//! second does not.

use std::collections::{BTreeMap, BTreeSet};

use shardwright_rules::{Configuration, HostgroupId, Outcome, Route};

use super::path::Users;
use super::state::Field;
use super::{Difference, alike};

/// How the outcomes on both sides shall relate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relation {
    /// They are the same.
    Alike,
    /// The first side refuses the statement or places it where the second does.
    Refines,
}

impl Relation {
    /// Whether it holds of two outcomes. `right` is the configuration of the second; hostgroups have one numbering.
    pub(crate) fn holds(self, right: &Configuration, one: &Outcome, other: &Outcome) -> bool {
        match self {
            Self::Alike => alike(one, other),
            Self::Refines => refines(right, one, other),
        }
    }

    /// Whether it holds of everything that rules said on both sides, so that no statement needs to be looked for. Where
    /// they said no hostgroup, the statement goes to that of its user, one of `users`.
    pub(super) fn holds_of_words(
        self,
        both: [&Configuration; 2],
        [left, right]: [&BTreeMap<Field, u64>; 2],
        users: &Users,
    ) -> bool {
        if left == right {
            return true;
        }
        if self == Self::Alike || [left, right].iter().any(|said| said.contains_key(&Field::Steps)) {
            return false;
        }
        if is_refusal(both[0], left) {
            return true;
        }
        let said_hostgroup = [left, right].map(|said| {
            let id = u32::try_from(*said.get(&Field::HOSTGROUP)?).ok()?;
            Some(HostgroupId(id))
        });
        let serves_user = |user: &String| {
            let hostgroup = |side: usize| {
                let default = || both[side].user(user).map(|user| user.default_hostgroup);
                said_hostgroup[side].or_else(default)
            };
            match (hostgroup(0), hostgroup(1)) {
                (Some(one), Some(other)) => serves(both[1], one, other),
                _ => false,
            }
        };
        let placed = match users {
            _ if said_hostgroup[0] == said_hostgroup[1] => true,
            Users::Anybody => match said_hostgroup {
                [Some(one), Some(other)] => serves(both[1], one, other),
                _ => false,
            },
            Users::Among(names) => names.iter().all(serves_user),
        };
        let same = |field: Field| left.get(&field) == right.get(&field);
        let kept = Field::COMPARED_IN_REFINEMENTS.into_iter().all(same);
        placed && kept && !is_refusal(both[1], right)
    }
}

/// Whether the rules said that the statement is refused.
pub(super) fn is_refusal(configuration: &Configuration, said: &BTreeMap<Field, u64>) -> bool {
    let by_message = said.contains_key(&Field::REFUSED) && !said.contains_key(&Field::ANSWERED);
    let hostgroup = said.get(&Field::HOSTGROUP).and_then(|&id| u32::try_from(id).ok());
    let by_hostgroup = || hostgroup.is_some_and(|id| configuration.refusing(HostgroupId(id)).is_some());
    by_message || (!said.contains_key(&Field::ANSWERED) && by_hostgroup())
}

/// Whether the first outcome is one that the second allows.
fn refines(right: &Configuration, one: &Outcome, other: &Outcome) -> bool {
    match (one, other) {
        // What is refused, or answered by the engine itself, is placed nowhere.
        (Outcome::Reject(_) | Outcome::DeferBegin, _) => true,
        (Outcome::Own { rewritten: None, .. }, _) => true,
        (Outcome::Route(one), Outcome::Route(other)) => is_placed_alike(right, one, other),
        _ => alike(one, other),
    }
}

/// Where a statement goes, as what text, in which schema, with which copy. What else rules ask for (delays, timeouts,
/// pooling, caching) places nothing.
fn is_placed_alike(right: &Configuration, one: &Route, other: &Route) -> bool {
    serves(right, one.hostgroup, other.hostgroup)
        && one.rewritten == other.rewritten
        && one.backend_schema == other.backend_schema
        && (one.effects.mirror_hostgroup == other.effects.mirror_hostgroup
            || one.effects.mirror_hostgroup.is_none())
}

/// Whether a statement may go to one hostgroup where the other configuration sends it to `other`: to the same one, or to
/// the writer of the cluster whose readers these are. A writer has what its readers have.
fn serves(right: &Configuration, one: HostgroupId, other: HostgroupId) -> bool {
    one == other
        || right
            .cluster_of(other)
            .is_some_and(|cluster| cluster.reader == Some(other) && cluster.writer == one)
}

/// What the first side refuses and the second serves, by class.
#[derive(Debug, Default)]
pub(crate) struct Stricter {
    /// By what the first side says, and the cluster of the second.
    classes: BTreeMap<String, StricterClass>,
    /// Places in the rules that were asked about.
    asked: usize,
}

/// Statements that one side refuses for one reason.
#[derive(Clone, Debug)]
pub(crate) struct StricterClass {
    /// One of them; the shortest that was seen.
    pub(crate) example: Difference,
    /// The hostgroups of the second side that would have served them.
    pub(crate) hostgroups: BTreeSet<HostgroupId>,
}

/// Places that are asked about: what is stricter decides nothing, so it need not be complete.
const MOST_ASKED: usize = 400;

impl Stricter {
    /// Whether to look for one more statement; counts.
    pub(super) fn asks(&mut self) -> bool {
        self.asked += 1;
        self.asked <= MOST_ASKED
    }

    /// Whether places were left out.
    pub(crate) fn is_cut(&self) -> bool {
        self.asked > MOST_ASKED
    }

    /// Adds a statement, if it is one that the first side refuses and the second sends.
    pub(crate) fn add(&mut self, example: Difference) {
        let reason = match example.left.as_ref().map(|decision| &decision.outcome) {
            None => format!("user {} cannot log in", example.session.user),
            Some(Outcome::Reject(rejection)) => rejection.message.clone(),
            Some(_) => return,
        };
        let Some(Outcome::Route(route)) = example.right.as_ref().map(|decision| &decision.outcome) else {
            return;
        };
        let hostgroup = route.hostgroup;
        let class = self.classes.entry(reason).or_insert_with(|| StricterClass {
            example: example.clone(),
            hostgroups: BTreeSet::new(),
        });
        class.hostgroups.insert(hostgroup);
        let length = |of: &Difference| (of.statement.len(), of.statement.clone());
        if length(&example) < length(&class.example) {
            class.example = example;
        }
    }

    /// The classes by their reason.
    pub(crate) fn classes(&self) -> impl Iterator<Item = (&str, &StricterClass)> {
        self.classes
            .iter()
            .map(|(reason, class)| (reason.as_str(), class))
    }
}
