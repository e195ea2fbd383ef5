//! Read/write policies as steps.

use std::collections::BTreeSet;

use shardwright_rules::{Address, CommentForm, EngineId, ReadSelection, RoleStep, Scope, WriterHint};
use shardwright_topology::model::{self as model, OriginId, Topology};

use super::{Section, scope};
use crate::diagnostics::Diagnostics;

/// Every read/write policy.
pub(super) fn roles(topology: &Topology, report: &mut Diagnostics<'_>) -> Vec<Section<RoleStep>> {
    topology
        .read_write_policies
        .iter()
        .map(|policy| role(policy, report))
        .collect()
}

/// The policies that send what they match to readers, whatever it is. The bundled engine sends provable reads only.
pub(super) fn unproven(topology: &Topology, report: &mut Diagnostics<'_>) -> BTreeSet<Address> {
    let mut unproven = BTreeSet::new();
    for policy in &topology.read_write_policies {
        if !policy.allow_on_readers.contains(&model::ReadClass::Unproven) {
            continue;
        }
        if report.engine == EngineId::Bundled {
            let what =
                "only provable reads go to readers: what `unproven` allows besides stays on the writer";
            report.difference(policy.origin, "allow_on_readers", what);
        } else {
            unproven.insert(report.address(policy.origin));
        }
    }
    unproven
}

fn role(policy: &model::ReadWritePolicy, report: &mut Diagnostics<'_>) -> Section<RoleStep> {
    let reads = match &policy.reads {
        model::ReadSelection::All => ReadSelection::All,
        model::ReadSelection::Only(matches) => {
            ReadSelection::Only(scopes(matches, policy.origin, "reads.only", report))
        }
        model::ReadSelection::Except(matches) => {
            ReadSelection::Except(scopes(matches, policy.origin, "reads.except", report))
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
            causal: policy.consistency == model::Consistency::Causal,
            session_functions_on_readers: policy
                .allow_on_readers
                .contains(&model::ReadClass::SessionFunctions),
        },
    }
}

fn scopes(
    matches: &[model::Scope],
    origin: OriginId,
    field: &str,
    report: &mut Diagnostics<'_>,
) -> Vec<Scope> {
    let each = matches.iter().enumerate();
    each.map(|(at, one)| scope::scope(one, origin, &format!("{field}[{at}]"), report))
        .collect()
}
