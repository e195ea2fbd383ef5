//! `properties` of the tests: proved, refuted by a statement (SW802), or undecided (SW803).

use std::sync::Arc;

use serde::Serialize;
use shardwright_diagnostics::{Diagnostic, NoteKind, Problems, Proof, Witness};
use shardwright_prover::KeyedShards;
use shardwright_prover::properties::{
    Answer, Claim, CounterExample, DecidedStatement, Domain, Property, Prover,
};
use shardwright_rules::{Configuration, EngineId};
use shardwright_topology::model::{self, PropertyClaim, PropertyDomain};

use super::cases;
use super::report::{goes_to, one_line};
use crate::codes::{REFUTED, UNDECIDED};
use crate::project::Opened;

/// How the properties of one engine went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct PropertyCount {
    pub(super) proved: usize,
    pub(super) refuted: usize,
    pub(super) undecided: usize,
}

/// The keys of the project's maps, which the bundled engine knows; none where the project cannot be compiled for it.
pub(super) fn keys(opened: &Opened, engine: EngineId, configuration: &Arc<Configuration>) -> KeyedShards {
    if engine == EngineId::Bundled {
        return KeyedShards::of(configuration);
    }
    let built = opened.build_quietly(EngineId::Bundled);
    if built.compiled.problems.has_errors() {
        return KeyedShards::default();
    }
    KeyedShards::of(&built.configuration)
}

/// Answers the properties; `answered` takes each that is proved or refuted, and whether it holds.
pub(super) fn run(
    properties: &[&model::Property],
    engine: EngineId,
    configuration: &Arc<Configuration>,
    keys: &KeyedShards,
    opened: &Opened,
    problems: &mut Problems,
    mut answered: impl FnMut(&model::Property, bool),
) -> PropertyCount {
    let mut count = PropertyCount::default();
    if properties.is_empty() {
        return count;
    }
    let prover = Prover::new(configuration, keys.clone());
    for property in properties {
        match prover.answer(&asked(property)) {
            Answer::Proved => {
                count.proved += 1;
                answered(property, true);
            }
            Answer::Refuted(example) => {
                count.refuted += 1;
                answered(property, false);
                problems.push(refuted(property, &example, configuration, opened));
            }
            Answer::Undecided { reason, checked } => {
                count.undecided += 1;
                problems.push(undecided(property, &reason, checked, engine, opened));
            }
        }
    }
    count
}

/// A property as it was written → as the analysis takes it.
pub(super) fn asked(property: &model::Property) -> Property<'_> {
    let PropertyDomain {
        users,
        schemas,
        statements,
        map,
    } = &property.domain;
    Property {
        domain: Domain {
            users: users.iter().map(|user| &**user).collect(),
            schemas: schemas.iter().map(|schema| &**schema).collect(),
            statements: statements.clone(),
            map: map.as_deref(),
        },
        claim: match &property.claim {
            PropertyClaim::Each(expectation) => Claim::Each(Box::new(cases::expected(expectation))),
            PropertyClaim::Disjoint => Claim::Disjoint,
        },
    }
}

fn refuted(
    property: &model::Property,
    example: &CounterExample,
    configuration: &Configuration,
    opened: &Opened,
) -> Diagnostic {
    let message = format!(
        "`{}` does not hold on {}",
        property.name,
        configuration.engine.name()
    );
    let mut diagnostic = Diagnostic::error(REFUTED, message).proof(Proof::Witnessed);
    let origins = &opened.project.origins;
    for (position, mismatch) in example.mismatches.iter().enumerate() {
        let field = mismatch
            .field
            .map_or_else(|| "expect".to_owned(), |field| format!("expect.{field}"));
        let span = origins.field(property.origin, &field);
        let label = format!(
            "expected {}, got {}",
            one_line(&mismatch.expected),
            one_line(&mismatch.actual)
        );
        diagnostic = if position == 0 {
            diagnostic.at(span, label)
        } else {
            diagnostic.also(span, label)
        };
    }
    if example.mismatches.is_empty() {
        diagnostic = diagnostic.at(
            origins.field(property.origin, "expect"),
            "these two go to the same destination",
        );
    }
    for decided in &example.statements {
        diagnostic = diagnostic.witness(witness(decided)).with_note(
            NoteKind::GoesTo,
            goes_to(&decided.decision, configuration, opened),
        );
    }
    if let Some(decided) = example.statements.last() {
        diagnostic = diagnostic.rule_ids(decided.decision.path.iter().map(|step| step.rule_id));
    }
    marked(diagnostic, property, opened)
}

fn undecided(
    property: &model::Property,
    reason: &str,
    checked: usize,
    engine: EngineId,
    opened: &Opened,
) -> Diagnostic {
    let origins = &opened.project.origins;
    let message = format!(
        "`{}` is not proved on {}: none of {checked} statements refutes it",
        property.name,
        engine.name()
    );
    let diagnostic = Diagnostic::info(UNDECIDED, message)
        .proof(Proof::Possible)
        .at(origins.field(property.origin, "expect"), "undecided")
        .note(reason);
    marked(diagnostic, property, opened)
}

fn marked(diagnostic: Diagnostic, property: &model::Property, opened: &Opened) -> Diagnostic {
    let origins = &opened.project.origins;
    let diagnostic = match origins.instance(property.origin) {
        Some(instance) => diagnostic.instance(instance),
        None => diagnostic,
    };
    diagnostic.address(origins.address(property.origin))
}

fn witness(decided: &DecidedStatement) -> Witness {
    Witness {
        user: decided.user.clone(),
        schema: decided.schema.clone().unwrap_or_default(),
        query: decided.query.clone(),
    }
}
