//! Sections that are part of the language and not supported yet: said at their line, never silently dropped.

use shardwright_diagnostics::{Diagnostic, Severity};

use crate::codes::NOT_SUPPORTED;
use crate::context::Context;
use crate::view::View;

/// Sections, and how bad it is that they have no effect. What changes where statements go, or what they may do,
/// prevents a configuration.
const SECTIONS: [(&str, Severity); 4] = [
    ("engine_settings", Severity::Warning),
    ("monitor", Severity::Warning),
    ("listeners", Severity::Warning),
    ("moves", Severity::Error),
];

pub(super) fn report(root: &View<'_>, context: &mut Context<'_>) {
    for (name, severity) in SECTIONS {
        let Some(section) = root.get(name) else { continue };
        let message = format!("`{name}` is not supported yet");
        let diagnostic = Diagnostic::new(severity, NOT_SUPPORTED, message).at(section.key.span, "");
        context.report.push(match severity {
            Severity::Error => diagnostic,
            _ => diagnostic.note("it is read, and has no effect"),
        });
    }
}
