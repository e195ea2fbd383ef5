//! Throttles.

mod hysteresis;
mod recovery;

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};
use shardwright_diagnostics::Diagnostic;

use self::signal::{FLOW_CONTROL, REPLICATION_LAG, STATUS, THREADS_RUNNING};
use self::throttle::{DELAY, HOLD, ON_UNKNOWN, REASON, SIGNAL, UNTIL};
use super::object::Object;
use super::policy::{applies_to, on_unsupported, reason};
use super::scope::scope_of;
use super::{Defined, instances};
use crate::codes::{BAD_VALUE, MISSING_KEY, NOT_TOGETHER, THROTTLE_ENDED};
use crate::fields::{AnyField, Duration, Fields, object, shapes};
use crate::model::{Delay, OnUnknown, OnUnsupported, Signal, SignalLevels, SignalSource, Throttle};
use crate::tree::context::Context;
use crate::tree::view::Field;

object! {
    pub(crate) mod throttle = "Slows statements.";
    APPLIES_TO: Definition = applies_to();
    SIGNAL: Part = part("signal", &signal::FIELDS)
        .page("One of the signals in the next table.")
        .strict(r#"{"maxProperties": 1}"#)
        .absent("always on");
    DELAY: Custom = custom(
        "delay",
        "How long a statement waits: a time, or a range that the signal regulates.",
        delay_schema,
    )
    .needed()
    .page("A duration, or a range of them: `{from, to}`.");
    MAX_CONCURRENT: Count = int(
        "max_concurrent",
        "The maximum number of these statements at the same time on one cluster.",
        1,
        1_000_000,
    )
    .examples("[16]")
    .absent("no limit");
    HOLD: Or<Duration> = duration("hold", "The minimum time that it stays started or stopped.")
        .or_when(0, When::Has(&SIGNAL));
    ON_UNKNOWN: Or<Word<OnUnknown>> = word(
        "on_unknown",
        "What happens while the signal is unknown: the throttle keeps its state, or statements pass.",
    )
    .or_when(OnUnknown::Hold, When::Has(&SIGNAL));
    UNTIL: Text = text("until", "When it ends for good, such as `2027-01-10T06:00:00Z`; needs a `reason`.")
        .page("RFC 3339. After that, nothing is slowed, and a warning says so.")
        .absent("for good");
    REASON: Text = reason();
    ON_UNSUPPORTED: Or<Word<OnUnsupported>> = on_unsupported();
}

object! {
    mod range = "A range that the signal regulates.";
    FROM: Duration = duration("from", "The delay when the signal starts.").needed();
    TO: Duration = duration("to", "The greatest delay.").needed();
}

object! {
    mod signal = "What starts and stops it; always on by default.";
    REPLICATION_LAG: Part = part("replication_lag", &replication_lag::FIELDS);
    THREADS_RUNNING: Part = part("threads_running", &threads_running::FIELDS);
    STATUS: Part = part("status", &status::FIELDS);
    FLOW_CONTROL: Part = part("flow_control", &flow_control::FIELDS);
}

object! {
    mod replication_lag = "The greatest lag of a cluster's replicas.";
    START_ABOVE: Duration = duration("start_above", "It starts when the lag is above this.").needed();
    STOP_BELOW: Duration = duration(
        "stop_below",
        "It stops when the lag is below this; lower than `start_above`.",
    )
    .needed();
}

object! {
    mod threads_running = "The status variable `Threads_running` of the writer.";
    START_ABOVE: Number = number("start_above", "It starts when the value is above this.").needed();
    STOP_BELOW: Number = number(
        "stop_below",
        "It stops when the value is below this; lower than `start_above`.",
    )
    .needed();
}

object! {
    mod status = "A status variable of the writer.";
    NAME: Text = filled(
        "name",
        "The name of the status variable, such as `Innodb_row_lock_current_waits`.",
    )
    .needed();
    START_ABOVE: Number = threads_running::START_ABOVE;
    STOP_BELOW: Number = threads_running::STOP_BELOW;
}

object! {
    mod flow_control = "The share of time in Galera flow control, 0 to 1.";
    START_ABOVE: Number = threads_running::START_ABOVE;
    STOP_BELOW: Number = threads_running::STOP_BELOW;
}

/// What a signal may measure, and with what levels.
const SIGNALS: [(&dyn AnyField, &Fields); 4] = [
    (&REPLICATION_LAG, &replication_lag::FIELDS),
    (&THREADS_RUNNING, &threads_running::FIELDS),
    (&STATUS, &status::FIELDS),
    (&FLOW_CONTROL, &flow_control::FIELDS),
];

fn delay_schema(says: &str) -> Value {
    json!({
        "description": says,
        "if": { "type": "object" },
        "then": range::FIELDS.schema(),
        "else": shapes::duration("How long each statement waits."),
    })
}

pub(super) fn throttles(
    section: Option<Field<'_>>,
    defined: &Defined,
    context: &mut Context<'_>,
) -> Vec<Throttle> {
    instances::read_each(section, context, |object, context| {
        throttle(object, defined, context)
    })
}

fn throttle(object: &Object<'_, '_>, defined: &Defined, context: &mut Context<'_>) -> Option<Throttle> {
    object.require_all(&throttle::FIELDS, context);
    let applies_to = scope_of(object, &throttle::APPLIES_TO, defined, context);
    let signal = signal(object, context);
    let delay = delay(object, context);
    let max_concurrent = object.get(&throttle::MAX_CONCURRENT, context);
    let hold_ms = object.get(&HOLD, context);
    let on_unknown = object.get(&ON_UNKNOWN, context);
    let on_unsupported = object.get(&throttle::ON_UNSUPPORTED, context);
    let Expiry {
        until,
        ends_at_s,
        reason,
        ended,
    } = expiry(object, context);
    if let Some(signal) = &signal {
        hysteresis::check(object, signal, hold_ms, context);
        recovery::check(object, signal, &applies_to, context);
    }
    if !object.has(&SIGNAL) {
        let of_signals: [&dyn AnyField; 2] = [&HOLD, &ON_UNKNOWN];
        for field in of_signals {
            if object.has(field) {
                let name = field.name();
                let message = format!("`{name}` needs a `signal`");
                object.error(NOT_TOGETHER, message, object.key_span(field), context);
            }
        }
        if matches!(delay, Some(Delay::Range { .. })) {
            let message = "a range of delays needs a `signal` that regulates it";
            object.error(NOT_TOGETHER, message, object.key_span(&DELAY), context);
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
        on_unknown,
        until,
        ends_at_s,
        ended,
        reason,
        on_unsupported,
    })
}

/// `until` with its `reason`.
#[derive(Default)]
struct Expiry {
    until: Option<Arc<str>>,
    ends_at_s: Option<u64>,
    reason: Option<Arc<str>>,
    /// The time has come.
    ended: bool,
}

fn expiry(object: &Object<'_, '_>, context: &mut Context<'_>) -> Expiry {
    let reason = object.get(&REASON, context);
    let Some(text) = object.get(&UNTIL, context) else {
        return Expiry {
            reason,
            ..Expiry::default()
        };
    };
    if !object.has(&REASON) {
        let diagnostic = Diagnostic::error(MISSING_KEY, "missing key `reason`")
            .at(object.key_span(&UNTIL), "this needs a reason");
        object.push(diagnostic, context);
    }
    let Ok(time) = text.parse::<Timestamp>() else {
        let message = format!("expected a time such as 2027-01-10T06:00:00Z, found `{text}`");
        object.error(BAD_VALUE, message, object.span(&UNTIL), context);
        return Expiry {
            reason,
            ..Expiry::default()
        };
    };
    let ended = context.now.is_some_and(|now| now >= time);
    if ended {
        let message = format!("the throttle ended at {text}: it slows nothing");
        let diagnostic = Diagnostic::warning(THROTTLE_ENDED, message)
            .at(object.span(&UNTIL), "")
            .help("delete it, or set a later end");
        object.push(diagnostic, context);
    }
    Expiry {
        until: Some(text),
        // A time before 1970 has come.
        ends_at_s: Some(u64::try_from(time.as_second()).unwrap_or(0)),
        reason,
        ended,
    }
}

fn delay(object: &Object<'_, '_>, context: &mut Context<'_>) -> Option<Delay> {
    object.field(&DELAY)?;
    let Some(part) = object.inside(&DELAY) else {
        let fixed = object.read(&DELAY, &Duration, context);
        return fixed.map(|ms| Delay::Fixed { ms });
    };
    part.require_all(&range::FIELDS, context);
    let (from, to) = (part.get(&range::FROM, context), part.get(&range::TO, context));
    let (from_ms, to_ms) = (from?, to?);
    if from_ms > to_ms {
        part.error(
            BAD_VALUE,
            "`from` is longer than `to`",
            part.span(&range::FROM),
            context,
        );
        return None;
    }
    Some(Delay::Range { from_ms, to_ms })
}

fn signal(object: &Object<'_, '_>, context: &mut Context<'_>) -> Option<Signal> {
    let part = object.part(&SIGNAL, context)?;
    let given: Vec<_> = SIGNALS.iter().filter(|(kind, _)| part.has(*kind)).collect();
    let (kind, fields) = match given.as_slice() {
        [(kind, fields)] => (*kind, *fields),
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
        [_, (second, _), ..] => {
            part.error(
                NOT_TOGETHER,
                "a signal measures one thing",
                part.key_span(*second),
                context,
            );
            return None;
        }
    };
    let measured = part.part(kind, context)?;
    measured.require_all(fields, context);
    let (start_above, stop_below) = if part.has(&REPLICATION_LAG) {
        let level = |ms: Option<u64>| Some(f64::from(u32::try_from(ms?).ok()?));
        let start = measured.get(&replication_lag::START_ABOVE, context);
        (
            level(start),
            level(measured.get(&replication_lag::STOP_BELOW, context)),
        )
    } else {
        let start = measured.get(&status::START_ABOVE, context);
        (start, measured.get(&status::STOP_BELOW, context))
    };
    let source = if part.has(&REPLICATION_LAG) {
        SignalSource::ReplicationLag
    } else if part.has(&THREADS_RUNNING) {
        SignalSource::ThreadsRunning
    } else if part.has(&FLOW_CONTROL) {
        SignalSource::FlowControl
    } else {
        SignalSource::Status(measured.get(&status::NAME, context)?)
    };
    let levels = SignalLevels {
        start_above: start_above?,
        stop_below: stop_below?,
    };
    if levels.stop_below > levels.start_above {
        let message = "`stop_below` is above `start_above`";
        measured.error(BAD_VALUE, message, measured.span(&status::STOP_BELOW), context);
        return None;
    }
    Some(Signal { source, levels })
}

/// The part of the signal that says what is measured.
fn measured<'a>(object: &Object<'a, '_>, source: &SignalSource) -> Option<Field<'a>> {
    let kind: &dyn AnyField = match source {
        SignalSource::ReplicationLag => &REPLICATION_LAG,
        SignalSource::ThreadsRunning => &THREADS_RUNNING,
        SignalSource::Status(_) => &STATUS,
        SignalSource::FlowControl => &FLOW_CONTROL,
    };
    object.inside(&SIGNAL)?.field(kind)
}
