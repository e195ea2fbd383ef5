//! Throttles.

mod hysteresis;
mod recovery;

use std::sync::Arc;

use jiff::Timestamp;
use shardwright_diagnostics::Diagnostic;

use super::object::Object;
use super::policy::ON_UNSUPPORTED;
use super::scope::scope_of;
use super::{Known, instances};
use crate::codes::{BAD_VALUE, MISSING_KEY, NOT_TOGETHER, THROTTLE_ENDED};
use crate::context::Context;
use crate::model::{Delay, OnUnknown, Signal, SignalLevels, SignalSource, Throttle};
use crate::view::Field;

pub(super) fn throttles(
    section: Option<Field<'_>>,
    known: &Known,
    context: &mut Context<'_>,
) -> Vec<Throttle> {
    instances::read_each(section, context, |object, context| {
        throttle(object, known, context)
    })
}

fn throttle(object: &Object<'_, '_>, known: &Known, context: &mut Context<'_>) -> Option<Throttle> {
    object.require("delay", context);
    let applies_to = scope_of(object, "applies_to", known, context);
    let signal = signal(object, context);
    let delay = delay(object, context);
    let max_concurrent = object
        .integer("max_concurrent", 1..=1_000_000, context)
        .and_then(|most| u32::try_from(most).ok());
    let hold_ms = object.duration_ms("hold", context).unwrap_or(0);
    let on_unknown = object.word(
        "on_unknown",
        &[("hold", OnUnknown::Hold), ("release", OnUnknown::Release)],
        context,
    );
    let on_unsupported = object
        .word("on_unsupported", &ON_UNSUPPORTED, context)
        .unwrap_or_default();
    let (until, reason, ended) = expiry(object, context);
    if let Some(signal) = &signal {
        hysteresis::check(object, signal, hold_ms, context);
        recovery::check(object, signal, &applies_to, context);
    }
    if !object.has("signal") {
        for field in ["hold", "on_unknown"] {
            if object.has(field) {
                let message = format!("`{field}` is about a `signal`, and there is none");
                object.error(NOT_TOGETHER, message, object.key_span(field), context);
            }
        }
        if matches!(delay, Some(Delay::Range { .. })) {
            let message = "a range of delays is regulated by a `signal`, and there is none";
            object.error(NOT_TOGETHER, message, object.key_span("delay"), context);
        }
    }
    Some(Throttle {
        name: object.name.clone(),
        origin: object.origin,
        applies_to,
        signal,
        delay: delay?,
        max_concurrent,
        hold_ms,
        on_unknown: on_unknown.unwrap_or_default(),
        until,
        ended,
        reason,
        on_unsupported,
    })
}

/// `until` with its `reason`, and whether it has come.
fn expiry(object: &Object<'_, '_>, context: &mut Context<'_>) -> (Option<Arc<str>>, Option<Arc<str>>, bool) {
    let reason = object.filled_text("reason", context);
    let until = object
        .has("until")
        .then(|| object.text("until", context))
        .flatten();
    let Some(text) = &until else {
        return (None, reason, false);
    };
    if !object.has("reason") {
        let diagnostic = Diagnostic::error(MISSING_KEY, "missing key `reason`")
            .at(object.key_span("until"), "this needs a reason");
        object.push(diagnostic, context);
    }
    let Ok(time) = text.parse::<Timestamp>() else {
        let message = format!("expected a time such as 2027-01-10T06:00:00Z, found `{text}`");
        object.error(BAD_VALUE, message, object.span("until"), context);
        return (None, reason, false);
    };
    let ended = context.now.is_some_and(|now| now >= time);
    if ended {
        let message = format!("the throttle ended at {text}: it slows nothing");
        let diagnostic = Diagnostic::warning(THROTTLE_ENDED, message)
            .at(object.span("until"), "")
            .help("delete it, or give it a later end");
        object.push(diagnostic, context);
    }
    (until, reason, ended)
}

fn delay(object: &Object<'_, '_>, context: &mut Context<'_>) -> Option<Delay> {
    let field = object.view.get("delay")?;
    if !field.value.is_map() {
        return object.duration_ms("delay", context).map(|ms| Delay::Fixed { ms });
    }
    let part = object.inner(field.value, field.key.span);
    part.require("from", context);
    part.require("to", context);
    let (from, to) = (part.duration_ms("from", context), part.duration_ms("to", context));
    let (from_ms, to_ms) = (from?, to?);
    if from_ms > to_ms {
        part.error(
            BAD_VALUE,
            "`from` is longer than `to`",
            part.span("from"),
            context,
        );
        return None;
    }
    Some(Delay::Range { from_ms, to_ms })
}

fn signal(object: &Object<'_, '_>, context: &mut Context<'_>) -> Option<Signal> {
    let part = object.part("signal", context)?;
    let kinds = ["replication_lag", "threads_running", "status", "flow_control"];
    let given: Vec<&str> = kinds.into_iter().filter(|kind| part.has(kind)).collect();
    let kind = match given.as_slice() {
        [kind] => *kind,
        [] => {
            if part.view.fields().is_empty() {
                part.error(
                    MISSING_KEY,
                    "a signal needs something to measure",
                    part.key,
                    context,
                );
            }
            return None;
        }
        [_, second, ..] => {
            part.error(
                NOT_TOGETHER,
                "a signal measures one thing",
                part.key_span(second),
                context,
            );
            return None;
        }
    };
    let measured = part.part(kind, context)?;
    measured.require("start_above", context);
    measured.require("stop_below", context);
    let level = |field: &str, context: &mut Context<'_>| {
        if kind == "replication_lag" {
            measured
                .duration_ms(field, context)
                .and_then(|ms| u32::try_from(ms).ok())
                .map(f64::from)
        } else {
            number(&measured, field)
        }
    };
    let (start_above, stop_below) = (level("start_above", context), level("stop_below", context));
    let source = match kind {
        "replication_lag" => SignalSource::ReplicationLag,
        "threads_running" => SignalSource::ThreadsRunning,
        "flow_control" => SignalSource::FlowControl,
        _ => {
            measured.require("name", context);
            SignalSource::Status(measured.filled_text("name", context)?)
        }
    };
    let levels = SignalLevels {
        start_above: start_above?,
        stop_below: stop_below?,
    };
    if levels.stop_below > levels.start_above {
        let message = "`stop_below` is above `start_above`";
        measured.error(BAD_VALUE, message, measured.span("stop_below"), context);
        return None;
    }
    Some(Signal { source, levels })
}

/// A number as JSON Schema sees one; anything else is a problem of the structure.
pub(super) fn number(object: &Object<'_, '_>, field: &str) -> Option<f64> {
    let field = object.view.get(field)?;
    let node = field.value.node()?;
    match &node.value {
        shardwright_documents::Value::Float { value, .. } if value.is_finite() => Some(*value),
        _ => node
            .as_integer()
            .and_then(|value| i32::try_from(value).ok())
            .map(f64::from),
    }
}
