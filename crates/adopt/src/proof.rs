//! The proof that a project sends every statement where its source sends it.

use std::borrow::Cow;

use shardwright_prover::Budget;
use shardwright_prover::equivalence::{Difference, Equivalence, Means, equivalence_by};
use shardwright_rules::{Body, Configuration, Decision, Effects, Firewall, Outcome, User};
use shardwright_topology::default_value;

use crate::exact::same_value;

/// Characters of a statement that are shown.
const MOST_SHOWN: usize = 100;

/// What is known about a project and its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proof {
    /// Every statement of every session goes the same way.
    Equal,
    /// Statements that go another way, in words; never empty.
    Different(Vec<String>),
    /// Neither was shown. These constructs are the reason, in words; never empty.
    Open(Vec<String>),
}

impl Proof {
    /// The first reason, where the project is not proved equal.
    pub(crate) fn reason(&self) -> Option<String> {
        match self {
            Self::Equal => None,
            Self::Different(statements) => statements.first().cloned(),
            Self::Open(constructs) => {
                let construct = constructs.first().map_or("", String::as_str);
                Some(format!("not decided: {construct}"))
            }
        }
    }
}

/// A source as its projects are compared with it.
pub(crate) fn comparable(source: &Configuration) -> Configuration {
    let mut source = source.clone();
    // A variable that has its default says nothing that a project would have to say.
    source
        .variables
        .retain(|name, value| !default_value(name).is_some_and(|default| same_value(name, default, value)));
    source
}

/// Compares a compiled project with its source; gives the steps that it took, too.
pub(crate) fn prove(source: &Configuration, compiled: &Configuration, budget: Budget) -> (Proof, u64) {
    let means = Means {
        budget,
        ..Means::default()
    };
    let (answer, spent) = equivalence_by(source, &beside_others(source, compiled), &means);
    let proof = match answer {
        Equivalence::Proved => Proof::Equal,
        Equivalence::Refuted { differences, .. } => {
            Proof::Different(differences.iter().map(describe).collect())
        }
        Equivalence::Undecided { constructs } => Proof::Open(constructs),
    };
    (proof, spent.steps)
}

/// What a proof is not about.
pub(crate) fn limits(source: &Configuration, compiled: &Configuration) -> Vec<String> {
    let limit = |(side, configuration): (&str, &Configuration)| {
        if !configuration.engine.profile().prepared.at_execute.rewrite {
            return None;
        }
        let mut rules = configuration.graph.rules.iter();
        let rewriting =
            rules.find(|rule| matches!(&rule.body, Body::Engine(row) if row.replace_pattern.is_some()))?;
        Some(format!(
            "executions of prepared statements: {} does not rewrite them, and rule {} of the {side} rewrites",
            configuration.engine, rewriting.id
        ))
    };
    let sides = [("source", source), ("project", compiled)];
    let executions = sides.into_iter().find_map(limit);
    let others = missing(source, compiled);
    let others: Vec<&str> = others.iter().map(|user| user.name.as_str()).collect();
    let left = (!others.is_empty()).then(|| {
        format!(
            "users that are not written, who stay as they are: {}",
            others.join(", ")
        )
    });
    executions.into_iter().chain(left).collect()
}

/// The users of a source that its project does not have.
fn missing<'s>(source: &'s Configuration, compiled: &Configuration) -> Vec<&'s User> {
    let is_missing = |user: &&User| !compiled.users.iter().any(|own| own.name == user.name);
    source.users.iter().filter(is_missing).collect()
}

/// A project with the users of the source that it cannot have: a plan leaves them as they are, and their statements go as
/// before too. That they are not written is told by itself.
fn beside_others<'c>(source: &Configuration, compiled: &'c Configuration) -> Cow<'c, Configuration> {
    let missing = missing(source, compiled);
    if missing.is_empty() {
        return Cow::Borrowed(compiled);
    }
    let mut whole = compiled.clone();
    if !whole.firewall.is_empty() {
        let is_theirs = |list: &&Firewall| missing.iter().any(|user| user.name == list.user);
        whole
            .firewall
            .extend(source.firewall.iter().filter(is_theirs).cloned());
    }
    whole.users.extend(missing.into_iter().cloned());
    whole.users.sort_by(|a, b| a.name.cmp(&b.name));
    Cow::Owned(whole)
}

/// `SELECT 1 FOR UPDATE` of user app would go to hostgroup 10; today it would go to hostgroup 20
fn describe(difference: &Difference) -> String {
    let text = String::from_utf8_lossy(&difference.statement);
    let text: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(MOST_SHOWN)
        .collect();
    let [goes, would] = [&difference.left, &difference.right].map(|decision| outcome(decision.as_ref()));
    let session = &difference.session;
    let schema = session.schemas[0]
        .as_deref()
        .map_or_else(String::new, |schema| format!(" in schema {schema}"));
    let of = format!("`{text}` of user {}{schema}", session.user);
    if goes != would {
        return format!("{of} would {would}; today it would {goes}");
    }
    match effects(difference) {
        Some((today, then)) => format!("{of} would have {then}; today it has {today}"),
        None => format!("{of} would get something else besides its hostgroup"),
    }
}

/// The first effect that differs, today and then.
fn effects(difference: &Difference) -> Option<(String, String)> {
    let [left, right] = [&difference.left, &difference.right].map(|decision| {
        let Outcome::Route(route) = &decision.as_ref()?.outcome else {
            return None;
        };
        Some(columns(&route.effects))
    });
    let (left, right) = (left?, right?);
    let mut pairs = left.into_iter().zip(right);
    let (name, today, then) =
        pairs.find_map(|((name, today), (_, then))| (today != then).then_some((name, today, then)))?;
    let text =
        |value: Option<i64>| value.map_or_else(|| format!("no {name}"), |value| format!("{name} {value}"));
    Some((text(today), text(then)))
}

/// The effects of a decision by the columns that set them.
fn columns(effects: &Effects) -> [(&'static str, Option<i64>); 9] {
    [
        ("delay", effects.delay_ms.map(i64::from)),
        ("multiplex", effects.multiplex.map(i64::from)),
        ("cache_ttl", effects.cache_ttl_ms.map(i64::from)),
        ("cache_empty_result", effects.cache_empty_result.map(i64::from)),
        ("timeout", effects.timeout_ms.map(i64::from)),
        ("retries", effects.retries.map(i64::from)),
        ("next_query_flagIN", effects.next_query_flag_in.map(i64::from)),
        ("mirror_hostgroup", effects.mirror_hostgroup.map(i64::from)),
        ("log", effects.log.map(i64::from)),
    ]
}

fn outcome(decision: Option<&Decision>) -> String {
    match decision.map(|decision| &decision.outcome) {
        None => "not log in".to_owned(),
        Some(Outcome::Route(route)) => format!("go to hostgroup {}", route.hostgroup),
        Some(Outcome::Reject(_)) => "be refused".to_owned(),
        Some(Outcome::Answer { .. } | Outcome::Own { .. } | Outcome::DeferBegin) => "be answered".to_owned(),
    }
}
