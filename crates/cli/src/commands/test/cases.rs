//! Tests as they were written → cases that the analysis runs. Nothing is copied but lists.

use std::sync::Arc;

use shardwright_prover::expectation::{Expected, OutcomeKind};
use shardwright_rules::Address;
use shardwright_simulation::route_tests::Case;
use shardwright_simulation::supposed::Supposed;
use shardwright_simulation::{Command, Step};
use shardwright_topology::model::{Expectation, ExpectedOutcome, RouteTest, TestCommand, TestStep};

pub(super) fn case(test: &RouteTest) -> Case<'_> {
    Case {
        steps: test.steps.iter().map(step).collect(),
    }
}

fn step(step: &TestStep) -> Step<'_> {
    let session = &step.session;
    Step {
        user: session.user.as_deref().unwrap_or_default(),
        schema: session.schema.as_deref(),
        client: session.client.as_deref(),
        listener: session.listener.as_deref(),
        after_ms: step.after_ms,
        command: match &step.command {
            TestCommand::Query => Command::Query,
            TestCommand::Prepare(name) => Command::Prepare(name),
            TestCommand::Execute { name, values } => Command::Execute {
                name,
                values: values.as_deref(),
            },
        },
        query: step.query.as_bytes(),
        supposed: Supposed(
            step.supposed
                .iter()
                .map(|(server, supposition)| (Address::from(&**server), *supposition))
                .collect(),
        ),
        expect: step.expect.as_ref().map(expected),
    }
}

pub(super) fn expected(expectation: &Expectation) -> Expected<'_> {
    Expected {
        outcome: expectation.outcome.map(outcome),
        cluster: expectation.cluster.as_deref(),
        role: expectation.role,
        shards: expectation.shards.iter().map(|shard| &**shard).collect(),
        hostgroup: expectation.hostgroup,
        query: expectation.query.as_deref(),
        backend_schema: expectation.backend_schema.as_deref(),
        error: expectation.error.as_deref(),
        answer: expectation.answer.as_deref(),
        delay_ms: expectation.delay_ms,
        rule: expectation.rule.as_deref(),
        cache_ttl_ms: expectation.cache_ttl_ms,
        mirror: expectation.mirror.as_deref(),
        multiplex: expectation.multiplex,
        served_by: names(expectation.served_by.as_deref()),
        throttled_by: names(expectation.throttled_by.as_deref()),
    }
}

fn names(addresses: Option<&[Arc<str>]>) -> Option<Vec<&str>> {
    addresses.map(|addresses| addresses.iter().map(|address| &**address).collect())
}

const fn outcome(expected: ExpectedOutcome) -> OutcomeKind {
    match expected {
        ExpectedOutcome::Route => OutcomeKind::Route,
        ExpectedOutcome::Reject => OutcomeKind::Reject,
        ExpectedOutcome::Answer => OutcomeKind::Answer,
    }
}
