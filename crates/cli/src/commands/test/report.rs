//! SW801: a statement that does not go where a route test says, with the rule that decided.

use shardwright_diagnostics::{Diagnostic, NoteKind, Proof, Witness, shortened};
use shardwright_rules::{Configuration, Decision, Outcome, Step};
use shardwright_simulation::route_tests::Failure;
use shardwright_topology::model::{RouteTest, TestCommand};

use crate::codes::UNEXPECTED;
use crate::project::Opened;

/// Characters that a label under the source may have.
const LABEL: usize = 80;

pub(super) fn diagnostic(
    failure: &Failure,
    test: &RouteTest,
    configuration: &Configuration,
    opened: &Opened,
) -> Diagnostic {
    let origins = &opened.project.origins;
    let step = &test.steps[failure.step];
    let message = format!("`{}` does not hold on {}", test.name, configuration.engine.name());
    let mut diagnostic = Diagnostic::error(UNEXPECTED, message).proof(Proof::Witnessed);
    for (position, mismatch) in failure.mismatches.iter().enumerate() {
        let span = match mismatch.field {
            Some(field) => test.span(step, &format!("expect.{field}"), origins),
            None => test.statement_span(step, origins),
        };
        let (expected, actual) = (one_line(&mismatch.expected), one_line(&mismatch.actual));
        let mut label = format!("expected {expected}, got {actual}");
        if label.chars().count() > LABEL {
            label = "something else".to_owned();
            diagnostic = diagnostic
                .note(format!("expected {expected}"))
                .note(format!("got      {actual}"));
        }
        diagnostic = if position == 0 {
            diagnostic.at(span, label)
        } else {
            diagnostic.also(span, label)
        };
    }
    let schema = failure.schema.clone().unwrap_or_default();
    let user = step.session.user.as_deref().unwrap_or_default();
    diagnostic = diagnostic.witness(Witness {
        user: user.to_owned(),
        schema,
        query: match failure.statement.as_slice() {
            [] => step.query.to_string(),
            decided => String::from_utf8_lossy(decided).into_owned(),
        },
    });
    diagnostic = match &step.command {
        TestCommand::Query => diagnostic,
        TestCommand::Prepare(name) => diagnostic.note(format!("the statement is prepared as {name}")),
        TestCommand::Execute { name, .. } => {
            diagnostic.note(format!("this is an execution of {name}, in the binary protocol"))
        }
    };
    diagnostic = diagnostic.with_note(
        NoteKind::GoesTo,
        goes_to(&failure.decision, configuration, opened),
    );
    let about_delay = failure
        .mismatches
        .iter()
        .any(|mismatch| mismatch.field == Some("delay"));
    let decided = match delaying_step(&failure.decision).filter(|_| about_delay) {
        Some(step) => Some(step),
        None => configuration.deciding_step(&failure.decision),
    };
    diagnostic = at_deciding_rule(diagnostic, &failure.decision, decided, opened)
        .rule_ids(failure.decision.path.iter().map(|step| step.rule_id));
    if let Some(instance) = origins.instance(test.origin) {
        diagnostic = diagnostic.instance(instance);
    }
    diagnostic.address(origins.address(test.origin))
}

/// Where the statement went, and the object that decided.
pub(super) fn goes_to(decision: &Decision, configuration: &Configuration, opened: &Opened) -> String {
    let place = match &decision.outcome {
        Outcome::Route(route) => match (&route.cluster, route.role) {
            (Some(cluster), Some(role)) => format!("{cluster} {role}"),
            _ => format!("hostgroup {}", route.hostgroup),
        },
        Outcome::Reject(rejection) => format!("nowhere: {}", rejection.message),
        Outcome::Answer { .. } | Outcome::Own { .. } | Outcome::DeferBegin => {
            "nowhere: the proxy answers".to_owned()
        }
    };
    match configuration.deciding_step(decision) {
        Some(step) => {
            let origin = opened.origin(&step.address).map(|origin| format!(" ({origin})"));
            format!("{place}, by {}{}", step.address, origin.unwrap_or_default())
        }
        None => format!("{place}, by no rule"),
    }
}

/// The last throttle that a statement met, wherever it stands among the rules.
fn delaying_step(decision: &Decision) -> Option<&Step> {
    let mut steps = decision.path.iter().rev();
    steps.find(|step| step.address.as_str().starts_with("throttles."))
}

/// The object that decided, where it is written.
fn at_deciding_rule(
    diagnostic: Diagnostic,
    decision: &Decision,
    decided: Option<&Step>,
    opened: &Opened,
) -> Diagnostic {
    let origins = &opened.project.origins;
    let Some(step) = decided else {
        return diagnostic;
    };
    match opened.find(step.address.as_str()) {
        Some(origin) => diagnostic.also(
            origins.span(origin),
            format!(
                "decided here: {}",
                shortened(&one_line(why(decision, step)), LABEL)
            ),
        ),
        None => diagnostic,
    }
}

/// Why the last step was taken. The rule that answers for a refusal on ProxySQL asks for the mark that the rule before it
/// has put there (ADR 24): users cannot use that.
fn why<'d>(decision: &Decision, step: &'d Step) -> &'d str {
    let by_mark = step.why.trim_end() == r"match_pattern \A\)";
    match &decision.outcome {
        Outcome::Reject(_) if by_mark => "refused",
        _ => &step.why,
    }
}

/// Statements are written over several lines; labels have one.
pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
