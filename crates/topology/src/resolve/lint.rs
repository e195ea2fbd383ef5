//! `lint` of the project file.

use std::sync::Arc;

use serde_json::{Value, json};
use shardwright_diagnostics::{Diagnostic, did_you_mean};
use shardwright_documents::{Node, Value as Written};

use self::field_test::{AT_LEAST, AT_MOST, IS, LIKE, NOT, PRESENT};
use super::object::{Object, ObjectOrigin};
use super::values::Read;
use super::{instances, section_origin};
use crate::codes::{BAD_VALUE, MISSING_KEY, UNKNOWN_KEY, UNKNOWN_WORD, WRONG_TYPE};
use crate::fields::{AnyField, Custom, Declared, EXPECTS, Map, Shaped, Texts, Word, map, object, word};
use crate::model::{
    FieldCondition, FieldTest, LintPath, LintSettings, NamePattern, Severity, TeamItems, TeamRule, TeamTest,
    TeamValue, Words,
};
use crate::tree::context::Context;
use crate::tree::environment::Environment;
use crate::tree::view::{Field, View};

/// Rules of a team, conditions of a rule, and tests of a rule.
const MAX_RULES: usize = 500;
const MAX_TESTS: usize = 200;

object! {
    pub(crate) mod lint = "Which findings of the linter count, and the team's own rules.";
    SELECT: Texts = texts(
        "select",
        "Codes that count, or beginnings of codes such as `SW2`; all by default.",
        "a list of codes",
    )
    .examples(r#"[["SW2", "SW301"]]"#)
    .page("`SW2` is every code from SW200 to SW299.")
    .absent("every code");
    IGNORE: Texts = texts("ignore", "Codes, or beginnings of codes, that do not count.", "a list of codes")
        .page("It wins over `select`.");
    REQUIRE_REASON: Or<Bool> = boolean(
        "require_reason",
        "Whether a suppression needs a reason; true by default.",
    )
    .or(LintSettings::REQUIRE_REASON);
    SEVERITY: Map = by_code()
        .absent("as they are");
    PATHS: List = list(
        "paths",
        "Other settings for some files; the last match counts.",
        "a list of paths",
        Shaped::Object(&path::FIELDS),
    );
    RULES: Map = map(
        "rules",
        "Rules of the team about compiled configurations, by name.",
        Shaped::Object(&rule::FIELDS),
    )
        .page("See [below](#the-teams-own-rules).");
}

object! {
    mod path = "Other settings for the files of a path.";
    PATH: Text = filled("path", "Paths below the project's directory; `*` stands for any characters.").needed();
    SELECT: Texts = texts("select", "Codes that count here, in place of the project's.", "a list of codes");
    IGNORE: Texts = texts("ignore", "Codes that do not count here, beside the project's.", "a list of codes");
    SEVERITY: Map = by_code();
}

object! {
    mod rule = "A rule about objects of a compiled configuration.";
    FOR: Word<TeamItems> = word("for", "The objects that the rule checks.").needed();
    WHERE: Custom = custom("where", "Limits the rule to objects that satisfy all these conditions.", condition_schema);
    REQUIRE: Custom = custom("require", "Conditions that each of these objects must satisfy.", condition_schema).needed();
    MESSAGE: Text = filled("message", "The message for an object that does not.").needed();
    HELP: Text = filled("help", "What to do about it.");
    SEVERITY: Word<Severity> = word("severity", "The severity; a warning if not given.");
    TESTS: List = list(
        "tests",
        "Example items with the expected result.",
        "a list of tests",
        Shaped::Object(&test::FIELDS),
    );
}

object! {
    mod field_test = "Tests that the field must all pass.";
    IS: Custom = custom("is", "The field is one of these values.", values_schema);
    NOT: Custom = custom("not", "The field is none of these values.", values_schema);
    LIKE: Texts = text_or_list("like", "Globs; the text must match one of them.");
    AT_LEAST: Whole = whole("at_least", "The smallest number that is allowed.");
    AT_MOST: Whole = whole("at_most", "The greatest number that is allowed.");
    PRESENT: Bool = boolean("present", "Whether the field must have a value.");
}

object! {
    mod test = "An example item with the expected result.";
    ITEM: Custom = custom("item", "Fields of the item; those that are absent have no value.", item_schema).needed();
    PASSES: Bool = boolean("passes", "Whether the rule accepts it.").needed();
}

/// The severity of one code, whatever the code is.
static SEVERITY_OF_CODE: Declared<Word<Severity>> = word("*", "The severity of these findings.");

const fn by_code() -> Declared<Map> {
    let says = "The severity of findings, by code or its beginning; the longest beginning counts.";
    map("severity", says, Shaped::Custom(|| SEVERITY_OF_CODE.schema()))
}

fn condition_schema(says: &str) -> Value {
    json!({
        "description": says,
        "type": "object",
        EXPECTS: "fields with values, lists of values, or tests such as {not: VALUE}",
        "additionalProperties": {
            "description": "A value, a list of values, or tests.",
            "if": { "type": "object" },
            "then": field_test::FIELDS.schema(),
            "else": {
                "type": ["string", "integer", "boolean", "array"],
                EXPECTS: "a value, a list of values, or tests such as {not: VALUE}",
                "items": value_schema(),
            },
        },
    })
}

fn values_schema(says: &str) -> Value {
    json!({
        "description": says,
        "type": ["string", "integer", "boolean", "array"],
        EXPECTS: "a value or a list of values",
        "items": value_schema(),
    })
}

fn item_schema(says: &str) -> Value {
    json!({
        "description": says,
        "type": "object",
        EXPECTS: "fields with values",
        "additionalProperties": value_schema(),
    })
}

fn value_schema() -> Value {
    json!({ "type": ["string", "integer", "boolean"], EXPECTS: "a value" })
}

/// Reads `lint` of the project file.
pub(super) fn lint(part: &Object<'_, '_>, context: &mut Context<'_>) -> LintSettings {
    let mut paths = Vec::new();
    for item in part.items(&lint::PATHS, context) {
        let entry = part.inner(View::of(item), item.span);
        entry.require_all(&path::FIELDS, context);
        let Some(path) = entry.get(&path::PATH, context) else {
            continue;
        };
        paths.push(LintPath {
            path: NamePattern::new(path),
            select: codes(&entry, &path::SELECT, context),
            ignore: codes(&entry, &path::IGNORE, context),
            severity: severities(&entry, &path::SEVERITY, context),
        });
    }
    LintSettings {
        select: codes(part, &lint::SELECT, context),
        ignore: codes(part, &lint::IGNORE, context),
        require_reason: part.get(&lint::REQUIRE_REASON, context),
        severity: severities(part, &lint::SEVERITY, context),
        paths,
        rules: rules(part, context),
    }
}

/// Codes, or beginnings of codes.
fn codes(object: &Object<'_, '_>, field: &Declared<Texts>, context: &mut Context<'_>) -> Vec<Arc<str>> {
    let mut codes = Vec::new();
    for (span, text) in object.texts(field, context) {
        if is_code(&text) {
            codes.push(text);
        } else {
            let message = format!(
                "no code begins with `{text}`: write a code such as SW201, or its beginning, such as SW2"
            );
            object.error(BAD_VALUE, message, span, context);
        }
    }
    codes
}

fn is_code(text: &str) -> bool {
    text.strip_prefix("SW")
        .is_some_and(|digits| digits.len() <= 3 && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

fn severities(
    object: &Object<'_, '_>,
    field: &Declared<Map>,
    context: &mut Context<'_>,
) -> Vec<(Arc<str>, Severity)> {
    let Some(part) = object.part(field, context) else {
        return Vec::new();
    };
    let mut severities = Vec::new();
    for field in part.view.fields() {
        let code = &field.key.text;
        if !is_code(code) {
            let message = format!(
                "no code begins with `{code}`: write a code such as SW201, or its beginning, such as SW2"
            );
            part.error(BAD_VALUE, message, field.key.span, context);
        } else if let Some(severity) = SEVERITY_OF_CODE.kind.read(&field, &part, context) {
            severities.push((context.intern(code), severity));
        }
    }
    severities
}

fn rules(lint: &Object<'_, '_>, context: &mut Context<'_>) -> Vec<TeamRule> {
    let Some(section) = lint.field(&lint::RULES).filter(|section| section.value.is_map()) else {
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
        let object = Object::of_field(
            &field,
            name,
            ObjectOrigin { parent, definition },
            &environment,
            context,
        );
        rules.extend(rule(&object, context));
    }
    rules
}

fn rule(object: &Object<'_, '_>, context: &mut Context<'_>) -> Option<TeamRule> {
    object.require_all(&rule::FIELDS, context);
    let items = object.get(&rule::FOR, context)?;
    let required = conditions(object, &rule::REQUIRE, items, context);
    if required.is_empty() && object.has(&rule::REQUIRE) {
        object.error(
            MISSING_KEY,
            "`require` has no condition",
            object.key_span(&rule::REQUIRE),
            context,
        );
    }
    Some(TeamRule {
        name: object.name.clone(),
        origin: object.origin,
        items,
        wanted: conditions(object, &rule::WHERE, items, context),
        required,
        message: object.get(&rule::MESSAGE, context)?,
        help: object.get(&rule::HELP, context),
        severity: object.get(&rule::SEVERITY, context).unwrap_or(Severity::Warning),
        tests: tests(object, items, context),
    })
}

fn conditions(
    object: &Object<'_, '_>,
    field: &Declared<Custom>,
    items: TeamItems,
    context: &mut Context<'_>,
) -> Vec<FieldCondition> {
    let Some(part) = object.part(field, context) else {
        return Vec::new();
    };
    let fields = part.view.fields();
    let candidates = fields
        .iter()
        .filter(|field| is_known(&part, field, items, context))
        .cloned()
        .collect::<Vec<_>>();
    candidates
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
    let word = items.word();
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
        let name = &*test.key.text;
        if name == IS.name() {
            tests.push(FieldTest::OneOf(values(&part, node, context)));
        } else if name == NOT.name() {
            tests.push(FieldTest::NoneOf(values(&part, node, context)));
        } else if name == LIKE.name() {
            let globs = part.list(&LIKE, context).into_iter();
            tests.push(FieldTest::Like(globs.map(NamePattern::new).collect()));
        } else if name == AT_LEAST.name() {
            tests.extend(part.get(&AT_LEAST, context).map(FieldTest::AtLeast));
        } else if name == AT_MOST.name() {
            tests.extend(part.get(&AT_MOST, context).map(FieldTest::AtMost));
        } else if name == PRESENT.name() {
            tests.extend(part.get(&PRESENT, context).map(FieldTest::Present));
        } else {
            let message = format!("expected is, not, like, at_least, at_most or present, found `{name}`");
            part.error(UNKNOWN_WORD, message, test.key.span, context);
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
        Written::Bool { value, .. } => Some(TeamValue::Bool(*value)),
        Written::Integer { value, .. } => match i64::try_from(*value) {
            Ok(value) => Some(TeamValue::Integer(value)),
            Err(_) => {
                object.error(BAD_VALUE, "a number of more than 64 bits", node.span, context);
                None
            }
        },
        Written::Text { text, .. } => Some(TeamValue::Text(context.intern(text))),
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
    for (item, index) in object
        .items(&rule::TESTS, context)
        .iter()
        .take(MAX_TESTS)
        .zip(0u32..)
    {
        let test = object.inner(View::of(item), item.span);
        test.require_all(&test::FIELDS, context);
        let Some(part) = test.part(&test::ITEM, context) else {
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
        let Some(passes) = test.get(&test::PASSES, context) else {
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
