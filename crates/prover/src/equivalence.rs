//! Whether two configurations route every statement of every session alike.
//!
//! Both rule graphs become decision graphs in which equal parts are one node, whatever their ids and flags are called.
//! Where both are at the same node with the same effects, nothing behind it can differ; only what is left is explored, and
//! only statements that the solver finds for a place where the outcomes differ, and that both evaluators route
//! differently, count as a difference.

mod candidates;
mod diagrams;
mod differ;
mod ends;
mod explore;
mod fast_rows;
mod flags;
mod graph;
mod kinds;
mod meaning;
mod path;
mod relation;
mod rows;
mod slices;
mod spelling;
mod state;
mod step_keys;
mod steps;
mod surroundings;
mod users;

use std::collections::BTreeSet;
use std::rc::Rc;

use shardwright_rules::decide::Detail;
use shardwright_rules::{Body, Configuration, Decision, EngineRule, Outcome, SessionView, Statement};
use shardwright_sql::LexMode;

use crate::budget::{Budget, Cause, Spending, Spent};
use crate::example::Example;
use crate::languages::shortened;
use crate::lookup::Lookup;
use crate::session::Session;
use differ::Differ;
use explore::Explorer;
pub use kinds::{ChangeKind, Share, change_kinds};
pub(crate) use relation::Relation;
use relation::Stricter;
pub use surroundings::compares;

/// One part in so many of the budget is for the rules before examples are tried, and the same again for the examples.
const FIRST_PART: u64 = 8;
/// Differences that are shown; there may be more.
const MOST_SHOWN: usize = 8;

/// What is known about two configurations.
#[derive(Clone, Debug, PartialEq)]
pub enum Equivalence {
    /// Every session's statements go the same way on both, and find the same schema there. What a refusal says is not
    /// compared, nor is what does not route: servers, limits, passwords, comments.
    Proved,
    /// These statements do not.
    Refuted {
        /// The shortest first; never empty, at most eight.
        differences: Vec<Difference>,
        /// Constructs that hide whether there are more.
        undecided: Vec<String>,
    },
    /// No difference was found, and these constructs keep it from being proved that there is none.
    Undecided {
        /// For people, sorted; never empty.
        constructs: Vec<String>,
    },
}

/// A statement that goes different ways; both evaluators were run on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The session.
    pub session: ComparedSession,
    /// The statement.
    pub statement: Vec<u8>,
    /// What the first configuration decides; `None` if the user cannot log in there.
    pub left: Option<Decision>,
    /// What the second one decides.
    pub right: Option<Decision>,
}

/// A session of a difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComparedSession {
    /// Name that the client logged in with.
    pub user: String,
    /// Its schema on each side: one and the same, but where the client names none and the user's is another.
    pub schemas: [Option<String>; 2],
    /// Address of the client.
    pub client_addr: String,
    /// Address and port of the listener.
    pub listener: (String, u16),
    /// The flag that an earlier statement's `next_query_flagIN` left; 0: none.
    pub flag: u32,
    /// The hostgroup of an open transaction.
    pub transaction: Option<u32>,
}

impl ComparedSession {
    /// As the evaluator of the first or the second configuration takes it.
    pub fn view(&self, side: usize) -> SessionView<'_> {
        SessionView {
            user: &self.user,
            schema: self.schemas[side].as_deref(),
            client_addr: Some(&self.client_addr),
            listener: Some((&self.listener.0, self.listener.1)),
            next_query_flag_in: (self.flag != 0).then_some(self.flag),
            transaction: self.transaction.map(|hostgroup| shardwright_rules::Transaction {
                hostgroup: shardwright_rules::HostgroupId(hostgroup),
            }),
            ..SessionView::default()
        }
    }
}

impl From<Session> for ComparedSession {
    fn from(session: Session) -> Self {
        Self {
            user: session.user,
            schemas: [session.schema.clone(), session.schema],
            client_addr: session.client_addr,
            listener: session.listener,
            flag: session.flag,
            transaction: None,
        }
    }
}

/// How much a comparison may do, and what it begins with.
#[derive(Clone, Debug, Default)]
pub struct Means {
    /// Beyond it, the answer is undecided and names what cost the most.
    pub budget: Budget,
    /// Statements that are tried first, such as recorded ones. The budget is not for them.
    pub statements: Vec<Tried>,
}

/// A statement to try.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tried {
    /// Name that the client logged in with; `None`: any user.
    pub user: Option<String>,
    /// Its schema; `None`: the user's own.
    pub schema: Option<String>,
    /// The statement.
    pub text: Vec<u8>,
}

/// [`equivalence_by`] with the default budget.
#[must_use]
pub fn equivalence(left: &Configuration, right: &Configuration) -> Equivalence {
    equivalence_by(left, right, &Means::default()).0
}

/// Compares two configurations, of one engine or of two; gives the answer and what it cost.
///
/// Statements are those of users who can log in; where neither configuration names users, of anybody. `Proved` needs that
/// every place where the outcomes differ was shown to be out of every statement's reach; weighted jumps, steps of the
/// bundled engine that differ, and two engines that read annotations or transactions differently are undecided unless a
/// statement shows a difference.
///
/// The time grows with the parts that differ: equal chains are compared by one number.
#[must_use]
pub fn equivalence_by(left: &Configuration, right: &Configuration, means: &Means) -> (Equivalence, Budget) {
    let (comparison, spent) = compared([left, right], Relation::Alike, means);
    (comparison.into_answer(), spent)
}

/// Looks for statements whose outcomes do not stand in the relation. For a refinement across engines, only users and what
/// surrounds the rules is compared.
pub(crate) fn compared(both: [&Configuration; 2], relation: Relation, means: &Means) -> (Comparison, Budget) {
    let [left, right] = flags::without_idle(both).map(spelling::with_quotes);
    let lookups = Lookup::of_both([&left, &right]);
    let spending = Rc::new(Spending::of(means.budget));
    let pair = Pair {
        lookups: &lookups,
        relation,
        spending: &spending,
    };
    let mut comparison = Comparison::default();
    candidates::try_given(&pair, &means.statements, &mut comparison);
    spending.forget();
    let of_users = users::compare(&pair, &mut comparison);
    let (within, has_tried) = match relation {
        Relation::Alike => in_two_rounds(&pair, &of_users.groups, &mut comparison),
        Relation::Refines => (compare_rules(&pair, &of_users.groups, &mut comparison), false),
    };
    if relation == Relation::Alike {
        // Refinement assumes that there are no annotations and no open transactions.
        steps::compare_engines(&pair, &mut comparison);
    }
    surroundings::compare(&pair, &mut comparison);
    let costliest = within.is_err().then(|| pair.costliest());
    let is_open = within.is_err() || !comparison.undecided.is_empty();
    if comparison.differences.is_empty() && is_open && !has_tried {
        spending.grant_last();
        candidates::try_all(&pair, &mut comparison);
    }
    comparison.undecided.extend(costliest);
    (comparison, spending.spent())
}

/// The reason of an answer beyond the budget.
pub(crate) fn costliest(spending: &Spending, configurations: [&Configuration; 2]) -> String {
    let most = match spending.costliest() {
        Cause::Rule { side, position } => {
            let rule = &configurations[side].graph.rules[position];
            let which = ["first", "second"][side];
            format!(
                "; most of it went to rule {} ({}) of the {which} rule set",
                rule.id, rule.address
            )
        }
        Cause::Pattern(text) => format!("; most of it went to pattern `{}`", shortened(&text)),
        Cause::Whole => String::new(),
    };
    format!("the budget of the comparison{most}")
}

/// The rules with a part of the budget, which is nearly always enough; then the examples of all rules, which are cheap;
/// then the rules with what is left. True if the examples were tried.
fn in_two_rounds(
    pair: &Pair<'_, '_>,
    groups: &[users::Group],
    comparison: &mut Comparison,
) -> (Result<(), Spent>, bool) {
    let before = comparison.undecided.clone();
    pair.spending.allow_part(FIRST_PART);
    let first = compare_rules(pair, groups, comparison);
    pair.spending.allow_all();
    if first.is_ok() || !comparison.differences.is_empty() {
        return (first, false);
    }
    pair.spending.release();
    pair.spending.allow_part(FIRST_PART);
    candidates::try_all(pair, comparison);
    pair.spending.allow_all();
    if !comparison.differences.is_empty() {
        return (first, true);
    }
    comparison.undecided = before;
    (compare_rules(pair, groups, comparison), true)
}

fn compare_rules(
    pair: &Pair<'_, '_>,
    groups: &[users::Group],
    comparison: &mut Comparison,
) -> Result<(), Spent> {
    let sides = [0, 1].map(|side| pair.configuration(side));
    let is_across = sides[0].engine.is_proxysql() != sides[1].engine.is_proxysql();
    match (pair.relation, sides.into_iter().any(has_steps)) {
        (Relation::Refines, _) if is_across => Ok(()),
        _ if sides[0] == sides[1] => Ok(()),
        (Relation::Alike, false) => differ(pair, groups, comparison),
        (Relation::Refines, false) if is_same(pair, groups) => Ok(()),
        _ => explore(pair, groups, comparison),
    }
}

/// Engine rules alone: as decision diagrams.
fn differ(pair: &Pair<'_, '_>, groups: &[users::Group], comparison: &mut Comparison) -> Result<(), Spent> {
    let configurations = [0, 1].map(|side| pair.configuration(side));
    let mut differ = Differ::of(pair, start_flags(configurations))?;
    if configurations.into_iter().any(mirrors) && !differ.is_same() {
        comparison.undecided.insert(MIRRORED.to_owned());
    }
    groups
        .iter()
        .try_for_each(|group| differ.compare(group, comparison))
}

/// Whether the rules of both sides are the same function and begin alike; false where that costs too much.
fn is_same(pair: &Pair<'_, '_>, groups: &[users::Group]) -> bool {
    if groups.iter().any(|group| group.initial[0] != group.initial[1]) {
        return false;
    }
    let configurations = [0, 1].map(|side| pair.configuration(side));
    let differ = Differ::of(pair, start_flags(configurations));
    differ.is_ok_and(|differ| differ.is_same())
}

/// Rules among steps of the bundled engine: side by side.
fn explore(pair: &Pair<'_, '_>, groups: &[users::Group], comparison: &mut Comparison) -> Result<(), Spent> {
    let configurations = [0, 1].map(|side| pair.configuration(side));
    let mut explorer = Explorer::new(pair, start_flags(configurations));
    groups
        .iter()
        .try_for_each(|group| explorer.explore(group, comparison))
}

/// Copies of statements run through the rules.
const MIRRORED: &str = "mirrored statements, whose sessions have no address";

fn has_steps(configuration: &Configuration) -> bool {
    let mut rules = configuration.graph.rules.iter();
    rules.any(|rule| matches!(rule.body, Body::Native { .. }))
}

fn engine_rows(configuration: &Configuration) -> impl Iterator<Item = &EngineRule> + Clone {
    let rules = configuration.graph.rules.iter();
    rules.filter_map(|rule| match &rule.body {
        Body::Engine(row) => Some(&**row),
        Body::Native { .. } => None,
    })
}

fn mirrors(configuration: &Configuration) -> bool {
    engine_rows(configuration).any(|row| row.mirror_flag_out.is_some())
}

/// Flags that the statements of a session can begin at on both sides.
fn start_flags(configurations: [&Configuration; 2]) -> Vec<u32> {
    let set = |configuration| -> BTreeSet<u32> {
        let rows = engine_rows(configuration);
        rows.flat_map(|row| [row.next_query_flag_in, row.mirror_flag_out])
            .flatten()
            .collect()
    };
    // A flag that only one side sets is no start: the match that sets it is a difference by itself.
    let [left, right] = configurations.map(set);
    let both = left.intersection(&right).copied().filter(|&flag| flag != 0);
    std::iter::once(0).chain(both).collect()
}

/// Whether two outcomes are the same for the client and for the servers.
#[must_use]
pub fn alike(left: &Outcome, right: &Outcome) -> bool {
    match (left, right) {
        (Outcome::Route(a), Outcome::Route(b)) => {
            a.hostgroup == b.hostgroup
                && a.rewritten == b.rewritten
                && a.backend_schema == b.backend_schema
                && a.effects == b.effects
                && a.locks == b.locks
        }
        (Outcome::Reject(a), Outcome::Reject(b)) => a.code == b.code,
        (Outcome::Answer { message: a }, Outcome::Answer { message: b }) => a == b,
        (
            Outcome::Own { answer: a, rewritten },
            Outcome::Own {
                answer: b,
                rewritten: other,
            },
        ) => a == b && rewritten == other,
        // An engine that answers a statement and one that sends it as it is do the same.
        (Outcome::Own { rewritten, .. }, Outcome::Route(route))
        | (Outcome::Route(route), Outcome::Own { rewritten, .. }) => {
            rewritten.is_none() && route.rewritten.is_none() && !route.locks
        }
        (Outcome::DeferBegin, Outcome::DeferBegin) => true,
        _ => false,
    }
}

/// Both configurations.
struct Pair<'p, 'c> {
    lookups: &'p [Lookup<'c>; 2],
    /// How the outcomes on both sides shall relate.
    relation: Relation,
    spending: &'p Rc<Spending>,
}

impl<'c> Pair<'_, 'c> {
    fn configuration(&self, side: usize) -> &'c Configuration {
        self.lookups[side].of_configuration()
    }

    /// The statement as a difference, if it is one.
    fn difference(&self, session: &ComparedSession, text: &[u8]) -> Option<Difference> {
        let statement = Statement::new(text, LexMode::default());
        let [left, right] = [0, 1].map(|side| {
            let decision = self.lookups[side].decide_quickly(&session.view(side), &statement, Detail::Names);
            self.charge(text, &decision);
            decision
        });
        if left.is_cut || right.is_cut || self.holds([&left, &right]) {
            return None;
        }
        // Only the evaluator itself has the word.
        let [left, right] = self.decisions(session, text);
        (!self.holds([&left, &right])).then(|| shown(session, text, [left, right]))
    }

    fn holds(&self, [left, right]: [&Decision; 2]) -> bool {
        self.relation
            .holds(self.configuration(1), &left.outcome, &right.outcome)
    }

    /// A spent budget is found out by those who ask for it.
    fn charge(&self, text: &[u8], decision: &Decision) {
        let steps = 200 + 4 * text.len() as u64 + decision.hits.len() as u64;
        let _is_noticed_later = self.spending.steps(steps + 16 * u64::from(decision.evaluations));
    }

    /// The reason of an answer beyond the budget.
    fn costliest(&self) -> String {
        costliest(self.spending, [0, 1].map(|side| self.configuration(side)))
    }

    /// What both decide of a statement, whether it is the same or not.
    fn decided(&self, session: &ComparedSession, text: &[u8]) -> Difference {
        shown(session, text, self.decisions(session, text))
    }

    fn decisions(&self, session: &ComparedSession, text: &[u8]) -> [Decision; 2] {
        [0, 1].map(|side| self.lookups[side].decide(&session.view(side), text))
    }

    fn difference_of(&self, example: &Example) -> Option<Difference> {
        self.difference(&example.session.clone().into(), &example.text)
    }
}

fn shown(session: &ComparedSession, text: &[u8], [left, right]: [Decision; 2]) -> Difference {
    Difference {
        session: session.clone(),
        statement: text.to_vec(),
        left: Some(left),
        right: Some(right),
    }
}

/// What has been found of two configurations so far.
#[derive(Default)]
pub(crate) struct Comparison {
    differences: Vec<Difference>,
    undecided: BTreeSet<String>,
    /// What the first configuration refuses and the second serves; only of a refinement.
    pub(crate) stricter: Stricter,
}

impl Comparison {
    /// Notes what keeps the answer from being certain.
    pub(crate) fn leave_open(&mut self, construct: String) {
        self.undecided.insert(construct);
    }

    pub(crate) fn add(&mut self, difference: Difference) {
        let same = |known: &Difference| {
            known.statement == difference.statement && known.session == difference.session
        };
        if !self.differences.iter().any(same) {
            self.differences.push(difference);
        }
    }

    fn is_full(&self) -> bool {
        self.differences.len() >= MOST_SHOWN
    }

    pub(crate) fn into_answer(mut self) -> Equivalence {
        self.differences
            .sort_by(|a, b| (a.statement.len(), &a.statement).cmp(&(b.statement.len(), &b.statement)));
        self.differences.truncate(MOST_SHOWN);
        let undecided: Vec<String> = self.undecided.into_iter().collect();
        if !self.differences.is_empty() {
            return Equivalence::Refuted {
                differences: self.differences,
                undecided,
            };
        }
        if undecided.is_empty() {
            Equivalence::Proved
        } else {
            Equivalence::Undecided {
                constructs: undecided,
            }
        }
    }
}
