//! What a configuration means for one statement.
//!
//! The evaluation over rules follows ProxySQL 2.7.1: one forward pass over the ascending ids, considering only rules of the
//! current flag; a jump changes the flag and goes on with the next rule, or restarts while iterations are left. Native
//! steps of the bundled engine stand in the same list and obey the same flags.
//!
//! Meaning is written once, here; what a caller can vary is how things are looked up ([`Index`]). The reference
//! evaluator takes the look-ups as they stand, line by line; the routing table replaces them by hash tables.

mod engine;
mod evaluation;
mod finish;
mod index;
mod keys;
mod map;
mod native;
mod own;
mod patterns;
mod refused;
mod schemas;
mod uses;

pub use engine::{asks_nothing, asks_only_text, only_action, step_of};
pub use index::{Index, KnownAction, NextRule, ShardOfKey, Subject, holds, remainder};
pub use patterns::{BrokenPattern, PatternColumn, RulePatterns, refused};

use shardwright_sql::StatementClass;

use crate::control;
use crate::decide::evaluation::{Evaluation, Next};
use crate::{
    Annotations, Body, Configuration, Decision, NativeStep, Outcome, PendingKind, Rejection, SentAs,
    SessionView, Statement, prepared, refusal,
};

/// How much a decision says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    /// What a [`crate::Dispatch`] keeps; the cluster and the role of a route stay empty.
    Dispatch,
    /// All but the human-readable path.
    Names,
    /// All.
    Path,
}

/// The schema that rules see: the session's, or what the engine has in its place.
pub fn schema_of<'a>(configuration: &'a Configuration, session: &SessionView<'a>) -> Option<&'a str> {
    let of_engine = || {
        let profile = configuration.engine.profile();
        profile
            .default_schema
            .and_then(|_| configuration.default_schema(session.user))
    };
    session.schema.or_else(of_engine)
}

/// Where `statement` of `session` goes.
pub fn decide<'a>(
    index: &'a impl Index,
    session: &'a SessionView<'a>,
    statement: &'a Statement<'a>,
    detail: Detail,
) -> Decision {
    if !index.configuration().engine.profile().answers_itself
        && let Some(target) = uses::target(statement)
    {
        let there = SessionView {
            schema: Some(&target),
            transaction: None,
            transaction_pending: None,
            ..session.clone()
        };
        return decide_in(index, &there, statement, detail);
    }
    decide_in(index, session, statement, detail)
}

fn decide_in<'a>(
    index: &'a impl Index,
    session: &'a SessionView<'a>,
    statement: &'a Statement<'a>,
    detail: Detail,
) -> Decision {
    let user = index.user(session.user);
    let configuration = index.configuration();
    let engine = &configuration.engine.profile().prepared;
    let schema = schema_of(configuration, session);
    let mut evaluation = Evaluation::new(index, session, schema, user, statement, detail);
    let outcome = match before_rules(index, &evaluation) {
        Some(outcome) => outcome,
        None => match scan(index, &mut evaluation) {
            Some(outcome) => *outcome,
            None => finish::finish(index, &mut evaluation),
        },
    };
    let is_answered = matches!(outcome, Outcome::Answer { .. } | Outcome::DeferBegin);
    // A transaction may have begun on a server when its end is executed.
    let is_prepared_here = prepared::is_text(statement) || statement.transaction_end().is_some();
    let outcome = match statement.command() {
        SentAs::Prepare if engine.refuses_session_changes && is_answered && !is_prepared_here => {
            Outcome::Reject(prepared::not_preparable())
        }
        _ => outcome,
    };
    Decision {
        outcome,
        evaluations: evaluation.evaluations,
        visits: evaluation.visits,
        hits: evaluation.hits,
        unknown: evaluation.unknown,
        unsure: evaluation.unsure,
        is_cut: evaluation.is_cut,
        path: evaluation.path,
    }
}

/// What never reaches the rules. On ProxySQL: what it answers itself. On the bundled engine: the end of a transaction
/// follows the transaction, and an annotation that the user is not allowed is refused.
fn before_rules(index: &impl Index, evaluation: &Evaluation<'_>) -> Option<Outcome> {
    let profile = index.configuration().engine.profile();
    if profile.answers_itself {
        return own::before_rules(index, evaluation);
    }
    if profile.annotations != Annotations::PerUser {
        return None;
    }
    if prepared_in_vain(index, evaluation.statement) {
        return Some(Outcome::Reject(prepared::not_preparable()));
    }
    if evaluation.statement.follows_transaction()
        && let Some(transaction) = evaluation.session.transaction
    {
        return Some(Outcome::Route(finish::route(
            index,
            evaluation,
            transaction.hostgroup,
        )));
    }
    if let Some(pending) = evaluation.session.transaction_pending
        && let Some(outcome) = while_pending(pending, evaluation.statement)
    {
        return Some(outcome);
    }
    finish::denied_annotation(evaluation)
        .or_else(|| finish::of_user_who_only_reads(evaluation))
        .map(Outcome::Reject)
}

/// Control of transactions while one waits for its first statement with a key: what a server would say.
fn while_pending(pending: PendingKind, statement: &Statement<'_>) -> Option<Outcome> {
    let is_xa = statement.class() == StatementClass::Xa;
    let is_control = statement.follows_transaction();
    let is_end = statement.transaction_end().is_some();
    let is_answered_here = statement.begins() || statement.begins_xa() || (is_control && !is_xa);
    if is_answered_here && !control::is_whole(statement) {
        return Some(Outcome::Reject(refusal::no_control()));
    }
    let answered = is_control.then(|| Outcome::Answer {
        message: String::new(),
    });
    match pending {
        PendingKind::Local if is_xa => refusal::xa_within_transaction(statement).map(Outcome::Reject),
        PendingKind::Local => answered,
        // An XA transaction without a statement is opened by its end, which goes to the user's own cluster.
        PendingKind::Xa if is_xa && !statement.begins_xa() => None,
        PendingKind::Xa if statement.resumes_xa() => Some(Outcome::Reject(refusal::no_xa_to_resume())),
        PendingKind::Xa if is_control && !is_xa && !is_end => answered,
        PendingKind::Xa => {
            (is_control || statement.begins()).then(|| Outcome::Reject(refusal::within_active_xa()))
        }
    }
}

fn prepared_in_vain(index: &impl Index, statement: &Statement<'_>) -> bool {
    let refuses = index
        .configuration()
        .engine
        .profile()
        .prepared
        .refuses_session_changes;
    refuses
        && statement.command() == SentAs::Prepare
        && prepared::changes_session(statement)
        && !prepared::is_text(statement)
}

fn scan<'a>(index: &'a impl Index, evaluation: &mut Evaluation<'a>) -> Option<Box<Outcome>> {
    let configuration = index.configuration();
    let rules = &configuration.graph.rules;
    let mut budget = configuration.settings.query_processor_iterations;
    let mut from = 0;
    loop {
        let next = index.next_candidate(evaluation.flag, from, evaluation.subject());
        evaluation.evaluations += next.passed;
        let Some(position) = next.position else {
            evaluation.visits += (rules.len() - from) as u32;
            evaluation.last_rule_applies = rules
                .last()
                .is_some_and(|rule| matches!(&rule.body, Body::Engine(row) if row.apply));
            return None;
        };
        evaluation.visits += (position - from + 1) as u32;
        evaluation.position = position;
        from = position + 1;
        evaluation.steps += 1;
        if evaluation.steps > index.most_steps() {
            evaluation.is_cut = true;
            return Some(Box::new(Outcome::Reject(given_up())));
        }
        match run(index, evaluation, next.matched) {
            Next::Continue => {}
            Next::Jumped if budget > 0 => {
                budget -= 1;
                from = 0;
            }
            Next::Jumped => {}
            Next::Stop => {
                evaluation.applied = true;
                evaluation.last_rule_applies = true;
                return None;
            }
            Next::Decided(outcome) => return Some(outcome),
        }
    }
}

/// What stands for the decision that was not reached.
fn given_up() -> Rejection {
    Rejection {
        code: 0,
        sqlstate: "HY000",
        refusal: None,
        message: "the evaluation takes too many steps".to_owned(),
        address: None,
    }
}

/// Runs the rule that is being looked at; `matched`: as in [`NextRule`].
fn run<'a>(index: &'a impl Index, evaluation: &mut Evaluation<'a>, matched: Option<u32>) -> Next {
    if let Some(patterns) = matched
        && let Some(action) = index.known_action(evaluation.position)
    {
        if evaluation.detail < Detail::Path {
            return evaluation.acted(action, patterns, None);
        }
        if let Some(step) = index.known_step(evaluation.position) {
            return evaluation.acted(action, patterns, Some(step));
        }
    }
    let rule = &index.configuration().graph.rules[evaluation.position];
    match &rule.body {
        Body::Engine(row) => engine::run(index, rule, row, evaluation, matched),
        Body::Native { scope, step } => {
            let patterns = index.patterns(evaluation.position);
            if !native::in_scope(index, scope, &patterns.scope, evaluation) {
                if let NativeStep::Map(step) = step {
                    map::pass(step, evaluation);
                }
                return Next::Continue;
            }
            match step {
                NativeStep::Map(step) => map::run(index, rule, step, evaluation),
                NativeStep::Role(step) => native::role(index, rule, step, patterns, evaluation),
                NativeStep::Delay(step) => native::delay(rule, step, evaluation),
                NativeStep::Throttle(throttle) => native::throttle(rule, throttle, evaluation),
                NativeStep::NoMultiplex => native::no_multiplex(rule, evaluation),
                NativeStep::StopIfPlaced => native::stop_if_placed(evaluation),
            }
        }
    }
}
