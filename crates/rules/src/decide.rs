//! What a configuration means for one statement.
//!
//! The walk over rules follows ProxySQL 2.7.1: one forward pass over the ascending ids, considering only rules of the
//! current flag; a jump changes the flag and goes on with the next rule, or restarts while iterations are left. Native
//! steps of the bundled engine stand in the same list and obey the same flags.
//!
//! Meaning is written once, here; what a caller can vary is how things are looked up ([`Index`]). The reference
//! evaluator takes the look-ups as they stand, line by line; the routing table replaces them by hash tables.

mod engine;
mod finish;
mod index;
mod keys;
mod map;
mod native;
mod own;
mod patterns;
mod refused;
mod schemas;
mod walk;

pub use index::{Index, Place, remainder};
pub use patterns::{BrokenPattern, PatternColumn, RulePatterns, refused};

use crate::decide::walk::{Next, Walk};
use crate::{Annotations, Body, Decision, NativeStep, Outcome, SentAs, SessionView, Statement, prepared};

/// Where `statement` of `session` goes; with `explain`, also the human-readable path.
pub fn decide<'a>(
    index: &'a impl Index,
    session: &'a SessionView<'a>,
    statement: &'a Statement<'a>,
    explain: bool,
) -> Decision {
    let user = index.user(session.user);
    let configuration = index.configuration();
    let profile = configuration.engine.profile();
    let engine = &profile.prepared;
    let withheld = engine.withheld(statement.command());
    let of_engine = || {
        profile
            .default_schema
            .and_then(|_| configuration.default_schema(session.user))
    };
    let schema = session.schema.or_else(of_engine);
    let digests = configuration.digests();
    let mut walk = Walk::new((session, schema), user, (statement, digests), withheld, explain);
    let outcome = match before_rules(index, &walk) {
        Some(outcome) => outcome,
        None => match scan(index, &mut walk) {
            Some(outcome) => *outcome,
            None => finish::finish(index, &mut walk),
        },
    };
    let is_answered = matches!(outcome, Outcome::Answer { .. } | Outcome::DeferBegin);
    let outcome = match statement.command() {
        SentAs::Prepare if engine.refuses_session_changes && is_answered => {
            Outcome::Reject(prepared::not_preparable())
        }
        _ => outcome,
    };
    Decision {
        outcome,
        evaluations: walk.evaluations,
        visits: walk.visits,
        hits: walk.hits,
        unknown: walk.unknown,
        unsure: walk.unsure,
        path: walk.path,
    }
}

/// What never reaches the rules. On ProxySQL: what it answers itself. On the bundled engine: the end of a transaction follows the transaction, and an
/// annotation that the user is not allowed is refused.
fn before_rules(index: &impl Index, walk: &Walk<'_>) -> Option<Outcome> {
    let profile = index.configuration().engine.profile();
    if profile.answers_itself {
        return own::before_rules(index, walk);
    }
    if profile.annotations != Annotations::PerUser {
        return None;
    }
    if prepared_in_vain(index, walk.statement) {
        return Some(Outcome::Reject(prepared::not_preparable()));
    }
    if walk.statement.follows_transaction() {
        if let Some(transaction) = walk.session.transaction {
            return Some(Outcome::Route(finish::route(index, transaction.hostgroup)));
        }
        if walk.session.transaction_pending {
            return Some(Outcome::Answer {
                message: String::new(),
            });
        }
    }
    finish::denied_annotation(walk).map(Outcome::Reject)
}

fn prepared_in_vain(index: &impl Index, statement: &Statement<'_>) -> bool {
    let refuses = index
        .configuration()
        .engine
        .profile()
        .prepared
        .refuses_session_changes;
    refuses && statement.command() == SentAs::Prepare && prepared::changes_session(statement)
}

fn scan<'a>(index: &'a impl Index, walk: &mut Walk<'a>) -> Option<Box<Outcome>> {
    let configuration = index.configuration();
    let rules = &configuration.graph.rules;
    let mut budget = configuration.settings.query_processor_iterations;
    let mut from = 0;
    loop {
        let Some(position) = index.next_rule(walk.flag, from) else {
            walk.visits += (rules.len() - from) as u32;
            walk.last_rule_applies = rules
                .last()
                .is_some_and(|rule| matches!(&rule.body, Body::Engine(row) if row.apply));
            return None;
        };
        walk.visits += (position - from + 1) as u32;
        walk.position = position;
        from = position + 1;
        match run(index, walk) {
            Next::Continue => {}
            Next::Jumped if budget > 0 => {
                budget -= 1;
                from = 0;
            }
            Next::Jumped => {}
            Next::Stop => {
                walk.applied = true;
                walk.last_rule_applies = true;
                return None;
            }
            Next::Decided(outcome) => return Some(outcome),
        }
    }
}

fn run<'a>(index: &'a impl Index, walk: &mut Walk<'a>) -> Next {
    let rule = &index.configuration().graph.rules[walk.position];
    let patterns = index.patterns(walk.position);
    match &rule.body {
        Body::Engine(row) => engine::run(rule, row, patterns, walk),
        Body::Native { scope, step } => {
            if !native::in_scope(index, scope, &patterns.scope, walk) {
                return Next::Continue;
            }
            match step {
                NativeStep::Map(step) => map::run(index, rule, step, walk),
                NativeStep::Role(step) => native::role(index, rule, step, patterns, walk),
                NativeStep::Delay(step) => native::delay(rule, step, walk),
                NativeStep::NoMultiplex => native::no_multiplex(rule, walk),
                NativeStep::StopIfPlaced => native::stop_if_placed(walk),
            }
        }
    }
}
