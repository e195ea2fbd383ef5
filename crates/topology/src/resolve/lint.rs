//! `lint` of the project file.

use std::sync::Arc;

use shardwright_diagnostics::{Diagnostic, did_you_mean};
use shardwright_documents::{Node, Value};

use super::object::Object;
use super::{instances, section_origin};
use crate::codes::{BAD_VALUE, MISSING_KEY, UNKNOWN_KEY, UNKNOWN_WORD, WRONG_TYPE};
use crate::context::Context;
use crate::environment::Environment;
use crate::model::{
    FieldCondition, FieldTest, LintPath, LintSettings, LintSeverity, NamePattern, TeamItems, TeamRule,
    TeamTest, TeamValue,
};
use crate::view::{Field, View};

/// Rules of a team, conditions of a rule, and tests of a rule.
const MAX_RULES: usize = 500;
const MAX_TESTS: usize = 200;

const SEVERITIES: [(&str, LintSeverity); 3] = [
    ("error", LintSeverity::Error),
    ("warning", LintSeverity::Warning),
    ("info", LintSeverity::Info),
];

pub(super) fn lint(object: &Object<'_, '_>, context: &mut Context<'_>) -> LintSettings {
    let Some(part) = object.part("lint", context) else {
        return LintSettings::default();
    };
    let mut paths = Vec::new();
    for item in part.items("paths", context) {
        let entry = part.inner(View::of(item), item.span);
        entry.require("path", context);
        let Some(path) = entry.filled_text("path", context) else {
            continue;
        };
        paths.push(LintPath {
            path: NamePattern::new(path),
            select: codes(&entry, "select", context),
            ignore: codes(&entry, "ignore", context),
            severity: severities(&entry, context),
        });
    }
    LintSettings {
        select: codes(&part, "select", context),
        ignore: codes(&part, "ignore", context),
        require_reason: part
            .boolean("require_reason", context)
            .unwrap_or(LintSettings::default().require_reason),
        severity: severities(&part, context),
        paths,
        rules: rules(&part, context),
    }
}

/// Codes, or beginnings of codes.
fn codes(object: &Object<'_, '_>, field: &str, context: &mut Context<'_>) -> Vec<Arc<str>> {
    let mut codes = Vec::new();
    for (span, text) in object.texts(field, context) {
        if is_code(&text) {
            codes.push(text);
        } else {
            let message = format!("`{text}` begins no code: codes are written like SW2 or SW201");
            object.error(BAD_VALUE, message, span, context);
        }
    }
    codes
}

fn is_code(text: &str) -> bool {
    text.strip_prefix("SW")
        .is_some_and(|digits| digits.len() <= 3 && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

fn severities(object: &Object<'_, '_>, context: &mut Context<'_>) -> Vec<(Arc<str>, LintSeverity)> {
    let Some(part) = object.part("severity", context) else {
        return Vec::new();
    };
    let mut severities = Vec::new();
    for field in part.view.fields() {
        let code = &field.key.text;
        if !is_code(code) {
            let message = format!("`{code}` begins no code: codes are written like SW2 or SW201");
            part.error(BAD_VALUE, message, field.key.span, context);
        } else if let Some(severity) = part.word(code, &SEVERITIES, context) {
            severities.push((context.intern(code), severity));
        }
    }
    severities
}

fn rules(lint: &Object<'_, '_>, context: &mut Context<'_>) -> Vec<TeamRule> {
    let Some(section) = lint.view.get("rules").filter(|section| section.value.is_map()) else {
        return Vec::new();
    };
    let parent = section_origin(&section, context);
    let mut rules = Vec::new();
    for field in section.value.fields().into_iter().take(MAX_RULES) {
        if !field.value.is_map() {
            continue;
        }
        let environment = Environment::default();
        let definition = instances::define(&field, context);
        let name = context.intern(&field.key.text);
        let object = Object::of_field(&field, name, (parent, definition), &environment, context);
        rules.extend(rule(&object, context));
    }
    rules
}

fn rule(object: &Object<'_, '_>, context: &mut Context<'_>) -> Option<TeamRule> {
    for field in ["for", "require", "message"] {
        object.require(field, context);
    }
    let items = object.word("for", &TeamItems::ALL, context)?;
    let required = conditions(object, "require", items, context);
    if required.is_empty() && object.has("require") {
        object.error(
            MISSING_KEY,
            "`require` says nothing",
            object.key_span("require"),
            context,
        );
    }
    Some(TeamRule {
        name: object.name.clone(),
        origin: object.origin,
        items,
        wanted: conditions(object, "where", items, context),
        required,
        message: object.filled_text("message", context)?,
        help: object.filled_text("help", context),
        severity: object
            .word("severity", &SEVERITIES, context)
            .unwrap_or(LintSeverity::Warning),
        tests: tests(object, items, context),
    })
}

fn conditions(
    object: &Object<'_, '_>,
    field: &str,
    items: TeamItems,
    context: &mut Context<'_>,
) -> Vec<FieldCondition> {
    let Some(part) = object.part(field, context) else {
        return Vec::new();
    };
    let fields = part.view.fields();
    let known = fields
        .iter()
        .filter(|field| is_known(&part, field, items, context))
        .cloned()
        .collect::<Vec<_>>();
    known
        .iter()
        .map(|field| FieldCondition {
            field: context.intern(&field.key.text),
            tests: field_tests(&part, field, context),
        })
        .collect()
}

fn is_known(object: &Object<'_, '_>, field: &Field<'_>, items: TeamItems, context: &mut Context<'_>) -> bool {
    let name = &*field.key.text;
    if items.fields().contains(&name) {
        return true;
    }
    let word = TeamItems::ALL
        .iter()
        .find(|(_, kind)| *kind == items)
        .map_or("", |(word, _)| word);
    let diagnostic =
        Diagnostic::error(UNKNOWN_KEY, format!("{word} have no field `{name}`")).at(field.key.span, "");
    let diagnostic = match did_you_mean(name, items.fields().iter().copied()) {
        Some(near) => diagnostic.did_you_mean(Some(near)),
        None => diagnostic.note(format!("fields: {}", items.fields().join(", "))),
    };
    object.push(diagnostic, context);
    false
}

/// A value, a list of values, or a map of tests.
fn field_tests(object: &Object<'_, '_>, field: &Field<'_>, context: &mut Context<'_>) -> Vec<FieldTest> {
    if !field.value.is_map() {
        return field.value.node().map_or_else(Vec::new, |node| {
            vec![FieldTest::OneOf(values(object, node, context))]
        });
    }
    let part = object.inner(field.value.clone(), field.key.span);
    let mut tests = Vec::new();
    for test in part.view.fields() {
        let Some(node) = test.value.node() else {
            continue;
        };
        match &*test.key.text {
            "is" => tests.push(FieldTest::OneOf(values(&part, node, context))),
            "not" => tests.push(FieldTest::NoneOf(values(&part, node, context))),
            "like" => {
                let globs = part
                    .texts("like", context)
                    .into_iter()
                    .map(|(_, glob)| NamePattern::new(glob));
                tests.push(FieldTest::Like(globs.collect()));
            }
            "at_least" => tests.extend(
                part.integer("at_least", i64::MIN..=i64::MAX, context)
                    .map(FieldTest::AtLeast),
            ),
            "at_most" => tests.extend(
                part.integer("at_most", i64::MIN..=i64::MAX, context)
                    .map(FieldTest::AtMost),
            ),
            "present" => tests.extend(part.boolean("present", context).map(FieldTest::Present)),
            other => {
                let message =
                    format!("expected is, not, like, at_least, at_most or present, found `{other}`");
                part.error(UNKNOWN_WORD, message, test.key.span, context);
            }
        }
    }
    tests
}

fn values(object: &Object<'_, '_>, node: &Node, context: &mut Context<'_>) -> Vec<TeamValue> {
    let nodes = node.as_sequence().unwrap_or(std::slice::from_ref(node));
    nodes
        .iter()
        .filter_map(|node| value(object, node, context))
        .collect()
}

fn value(object: &Object<'_, '_>, node: &Node, context: &mut Context<'_>) -> Option<TeamValue> {
    match &node.value {
        Value::Bool { value, .. } => Some(TeamValue::Bool(*value)),
        Value::Integer { value, .. } => match i64::try_from(*value) {
            Ok(value) => Some(TeamValue::Integer(value)),
            Err(_) => {
                object.error(BAD_VALUE, "a number of more than 64 bits", node.span, context);
                None
            }
        },
        Value::Text { text, .. } => Some(TeamValue::Text(context.intern(text))),
        other => {
            let message = format!(
                "expected true, false, an integer or text, found {}",
                other.type_name()
            );
            object.error(WRONG_TYPE, message, node.span, context);
            None
        }
    }
}

fn tests(object: &Object<'_, '_>, items: TeamItems, context: &mut Context<'_>) -> Vec<TeamTest> {
    let mut tests = Vec::new();
    for (item, index) in object.items("tests", context).iter().take(MAX_TESTS).zip(0u32..) {
        let test = object.inner(View::of(item), item.span);
        test.require("item", context);
        test.require("passes", context);
        let Some(part) = test.part("item", context) else {
            continue;
        };
        let mut fields = Vec::new();
        for field in part.view.fields() {
            if is_known(&part, &field, items, context)
                && let Some(value) = field.value.node().and_then(|node| value(&part, node, context))
            {
                fields.push((context.intern(&field.key.text), value));
            }
        }
        let Some(passes) = test.boolean("passes", context) else {
            continue;
        };
        tests.push(TeamTest {
            index,
            item: fields,
            passes,
        });
    }
    tests
}
