//! Read/write policies and throttles as steps.

use shardwright_rules::{CommentForm, DelayStep, ReadSelection, RoleStep, WriterHint};
use shardwright_topology::model::{self as model, Delay, OnUnsupported, OriginId, Topology};

use super::{Section, scope};
use crate::report::Report;

/// Every read/write policy.
pub(super) fn roles(topology: &Topology, report: &mut Report<'_>) -> Vec<Section<RoleStep>> {
    topology
        .read_write_policies
        .iter()
        .map(|policy| role(policy, report))
        .collect()
}

fn role(policy: &model::ReadWritePolicy, report: &mut Report<'_>) -> Section<RoleStep> {
    if policy.consistency == model::Consistency::Causal {
        let lost = "a session may read less than it has written";
        report.on_unsupported(
            policy.on_unsupported,
            policy.origin,
            "consistency",
            "read causally",
            lost,
        );
    }
    let reads = match &policy.reads {
        model::ReadSelection::All => ReadSelection::All,
        model::ReadSelection::Only(matches) => {
            ReadSelection::Only(patterns(matches, policy.origin, "reads.only", report))
        }
        model::ReadSelection::Except(matches) => {
            ReadSelection::Except(patterns(matches, policy.origin, "reads.except", report))
        }
    };
    Section {
        origin: policy.origin,
        address: report.address(policy.origin),
        scope: scope::scope(&policy.applies_to, policy.origin, "applies_to", report),
        on_unsupported: policy.on_unsupported,
        step: RoleStep {
            reads,
            writer_hint: policy.writer_hint.as_ref().map(|hint| WriterHint {
                word: hint.word.to_string(),
                form: CommentForm::Pairs,
            }),
            after_write_ms: u32::try_from(policy.after_write_ms).unwrap_or(u32::MAX),
            session_functions_on_readers: policy
                .allow_on_readers
                .contains(&model::ReadClass::SessionFunctions),
        },
    }
}

/// Alternatives that select by digest text; what else they ask for is reported.
fn patterns(matches: &[model::Scope], origin: OriginId, field: &str, report: &mut Report<'_>) -> Vec<String> {
    let mut patterns = Vec::new();
    for (at, scope) in matches.iter().enumerate() {
        let only_digest = model::Scope {
            match_digest: Vec::new(),
            ..scope.clone()
        }
        .is_everything();
        if !only_digest || scope.match_digest.is_empty() {
            report.not_built(
                origin,
                &format!("{field}[{at}]"),
                "select reads by anything but `match_digest`",
            );
        }
        patterns.extend(scope.match_digest.iter().map(ToString::to_string));
    }
    patterns
}

/// Every throttle that an engine can run: fixed delays, and the least delay of those that would be regulated.
pub(super) fn delays(topology: &Topology, report: &mut Report<'_>) -> Vec<Section<DelayStep>> {
    topology
        .throttles
        .iter()
        .filter_map(|throttle| delay(throttle, report))
        .collect()
}

fn delay(throttle: &model::Throttle, report: &mut Report<'_>) -> Option<Section<DelayStep>> {
    let (choice, origin) = (throttle.on_unsupported, throttle.origin);
    let mut keep = true;
    let mut delay_ms = match throttle.delay {
        Delay::Fixed { ms } => ms,
        Delay::Range { from_ms, .. } => from_ms,
    };
    if throttle.signal.is_some() {
        let lost = match choice {
            OnUnsupported::Skip => "statements are not slowed".to_owned(),
            OnUnsupported::Error | OnUnsupported::Approximate => {
                format!("statements always wait {delay_ms} ms, whatever the signal says")
            }
        };
        keep &= report.on_unsupported(choice, origin, "signal", "regulate a delay by a signal", &lost);
    } else if let Delay::Range { from_ms, .. } = throttle.delay {
        report.not_built(origin, "delay", "choose between two delays without a signal");
        delay_ms = from_ms;
    }
    if throttle.max_concurrent.is_some() {
        let lost = "any number of these statements run at once";
        report.on_unsupported(
            choice,
            origin,
            "max_concurrent",
            "limit how many run at once",
            lost,
        );
    }
    keep.then(|| Section {
        origin,
        address: report.address(origin),
        scope: scope::scope(&throttle.applies_to, origin, "applies_to", report),
        on_unsupported: choice,
        step: DelayStep {
            delay_ms: u32::try_from(delay_ms).unwrap_or(u32::MAX),
        },
    })
}
