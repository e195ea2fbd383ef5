//! SW601: a throttle that starts and stops at one value.

use shardwright_diagnostics::Diagnostic;

use super::super::object::Object;
use super::{measured, status};
use crate::codes::NO_HYSTERESIS;
use crate::fields::AnyField;
use crate::model::Signal;
use crate::tree::context::Context;

/// A value that stays near one level would start and stop the throttle with every measurement; `hold` prevents that too.
pub(super) fn check(object: &Object<'_, '_>, signal: &Signal, hold_ms: u64, context: &mut Context<'_>) {
    let levels = signal.levels;
    if hold_ms > 0 || levels.stop_below < levels.start_above {
        return;
    }
    let message = format!(
        "throttle {} starts and stops at one value: it switches with every measurement around it",
        object.name
    );
    let diagnostic = Diagnostic::warning(NO_HYSTERESIS, message)
        .at(
            measured(object, &signal.source)
                .and_then(|measured| measured.value.get(status::STOP_BELOW.name()))
                .map_or(object.key, |field| field.value.span()),
            "not below `start_above`",
        )
        .help("set `stop_below` clearly below `start_above`, or add `hold`, the least time in a state");
    object.push(diagnostic, context);
}
