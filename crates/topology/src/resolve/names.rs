//! References by name, and what is near a name that does not exist.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use shardwright_diagnostics::{Diagnostic, Span, did_you_mean};

use super::Defined;
use super::object::Object;
use crate::codes::UNKNOWN_REFERENCE;
use crate::fields::{AnyField, Text};
use crate::model::ClusterId;
use crate::tree::context::Context;

/// Names that are compared for a "did you mean"; more would make a run with many problems slow.
const MAX_COMPARED: usize = 10_000;

/// The cluster that a field names. None where the field is absent, or names none, which is reported.
pub(super) fn cluster(
    object: &Object<'_, '_>,
    field: &dyn AnyField,
    defined: &Defined,
    context: &mut Context<'_>,
) -> Option<ClusterId> {
    let name = object.read(field, &Text::ANY, context)?;
    find(
        object,
        "cluster",
        &name,
        &defined.clusters,
        object.span(field),
        context,
    )
}

/// What a name means. None where it means nothing, which is reported, and where its object could not be read.
pub(super) fn find<T: Copy>(
    object: &Object<'_, '_>,
    kind: &str,
    name: &str,
    candidates: &FxHashMap<Arc<str>, Option<T>>,
    span: Span,
    context: &mut Context<'_>,
) -> Option<T> {
    if let Some(meaning) = candidates.get(name) {
        return *meaning;
    }
    let diagnostic = unknown(
        kind,
        name,
        candidates.keys().map(|candidates| &**candidates),
        span,
        context,
    );
    object.push(diagnostic, context);
    None
}

/// The problem of a reference to nothing; none where a generator that could not run may have made the object.
pub(super) fn unknown<'n>(
    kind: &str,
    name: &str,
    candidates: impl ExactSizeIterator<Item = &'n str>,
    span: Span,
    context: &mut Context<'_>,
) -> Option<Diagnostic> {
    if context.may_be_lost(name) {
        return None;
    }
    let diagnostic =
        Diagnostic::error(UNKNOWN_REFERENCE, format!("no {kind} is named `{name}`")).at(span, "");
    if !context.take_comparisons(candidates.len().min(MAX_COMPARED)) {
        return Some(diagnostic);
    }
    // Ordered, so that the answer does not depend on the order of a hash table.
    let mut candidates: Vec<&str> = candidates.take(MAX_COMPARED).collect();
    candidates.sort_unstable();
    Some(diagnostic.did_you_mean(did_you_mean(name, candidates)))
}
