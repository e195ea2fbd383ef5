//! Variables of engines: checked against what the engine has, and against what the rest of the project decides.

use std::sync::Arc;

use serde_json::{Value, json};
use shardwright_diagnostics::{Diagnostic, did_you_mean};

use super::object::{Object, ObjectOrigin};
use super::{instances, names, section_origin, server};
use crate::codes::{BAD_VALUE, KEPT_VARIABLE, NO_SUCH_VARIABLE};
use crate::engine_variables::{Kept, Shape, kept, names as known_names, shape};
use crate::fields::{AnyField, EXPECTS, object, shapes};
use crate::model::{EngineFamily, EngineVariables, Refuser, Words};
use crate::tree::context::Context;
use crate::tree::environment::Environment;
use crate::tree::view::Field;

object! {
    pub(crate) mod proxysql = "Variables of ProxySQL by name, and settings that are not variables.";
    REFUSER: Or<WordOr<Admin>> = word_or(
        "refuser",
        "Who refuses executions of prepared statements: the admin port of ProxySQL (`admin`), which does not tell the client the reason, or `shardwright refuse`, which does. Rules cannot: ProxySQL 2.7 crashes when a rule answers an execution with an error.",
        &service::FIELDS,
    )
    .or(Admin);
}

object! {
    mod service = "Where `shardwright refuse` runs.";
    HOST: Text = filled("host", "Where ProxySQL reaches `shardwright refuse`.").needed().strict(super::server::HOST_KEYWORDS).examples(r#"["127.0.0.1"]"#);
    PORT: Int<u16> = int(
        "port",
        "The TCP port of the first reason; each further reason gets the next port.",
        1,
        65_535,
    )
    .needed()
    .examples("[6100]");
}

/// The schema of the section.
pub(super) fn schema(says: &str) -> Value {
    let variables = json!({
        "description": "Variables of the engine by name, such as `mysql-threads: 8`.",
        "type": "object",
        EXPECTS: "a mapping of variables",
        "additionalProperties": {
            "description": "Its value.",
            "type": ["string", "integer", "boolean"],
            EXPECTS: "text, an integer, true or false",
        },
    });
    let mut proxysql = variables.clone();
    proxysql["properties"] = shapes::mapping(proxysql::FIELDS.properties());
    json!({
        "description": says,
        "type": "object",
        EXPECTS: "a mapping of engines",
        "properties": { EngineFamily::ProxySql.word(): proxysql, EngineFamily::Bundled.word(): variables.clone() },
        "additionalProperties": variables,
    })
}

/// ProxySQL's own admin port refuses.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Admin;

impl Words for Admin {
    const WORDS: &'static [(&'static str, Self)] = &[("admin", Self)];
}

pub(super) fn engine_settings(section: Option<Field<'_>>, context: &mut Context<'_>) -> Vec<EngineVariables> {
    let Some(section) = section else { return Vec::new() };
    let parent = section_origin(&section, context);
    let environment = Environment::default();
    let mut settings = Vec::new();
    for engine in section.value.fields() {
        let name = &*engine.key.text;
        let Some(family) = EngineFamily::of_word(name) else {
            let candidates = EngineFamily::words().into_iter();
            if let Some(diagnostic) = names::unknown("engine", name, candidates, engine.key.span, context) {
                context.report.push(
                    diagnostic
                        .note("settings are for all versions of an engine: write `proxysql` or `bundled`"),
                );
            }
            continue;
        };
        if !engine.value.is_map() {
            continue;
        }
        let definition = instances::define(&engine, context);
        let name = context.intern(name);
        let object = Object::of_field(
            &engine,
            name,
            ObjectOrigin { parent, definition },
            &environment,
            context,
        );
        settings.push(variables(&object, family, context));
    }
    settings
}

fn variables(object: &Object<'_, '_>, family: EngineFamily, context: &mut Context<'_>) -> EngineVariables {
    let mut values = Vec::new();
    let mut refuser = Refuser::default();
    for field in object.view.fields() {
        let name = &*field.key.text;
        if family == EngineFamily::ProxySql && name == proxysql::REFUSER.name() {
            refuser = read_refuser(object, context).unwrap_or_default();
        } else if family == EngineFamily::Bundled {
            let message = format!("the bundled engine has no variables: remove `{name}`");
            object.error(NO_SUCH_VARIABLE, message, field.key.span, context);
        } else if let Some(Kept { why, instead }) = kept(name) {
            let diagnostic = Diagnostic::error(KEPT_VARIABLE, format!("`{name}` cannot be set here: {why}"))
                .at(field.key.span, "")
                .help(instead);
            object.push(diagnostic, context);
        } else if let Some(shape) = shape(name) {
            let value = value(object, &field, shape, context);
            values.extend(value.map(|value| (context.intern(name), value)));
        } else {
            let message = format!("ProxySQL 2.7 has no variable `{name}`");
            let near = did_you_mean(name, known_names());
            let diagnostic = Diagnostic::error(NO_SUCH_VARIABLE, message)
                .at(field.key.span, "")
                .did_you_mean(near);
            object.push(diagnostic, context);
        }
    }
    values.sort();
    EngineVariables {
        family,
        origin: object.origin,
        values,
        refuser,
    }
}

fn read_refuser(object: &Object<'_, '_>, context: &mut Context<'_>) -> Option<Refuser> {
    let Some(service) = object.inside(&proxysql::REFUSER) else {
        let Admin = object.get(&proxysql::REFUSER, context);
        return Some(Refuser::Admin);
    };
    service.require_all(&service::FIELDS, context);
    let host = server::host(&service, &service::HOST, context);
    let port = service.get(&service::PORT, context);
    Some(Refuser::Service {
        host: host?,
        port: port?,
    })
}

/// The value as the engine writes it.
fn value(
    object: &Object<'_, '_>,
    field: &Field<'_>,
    shape: Shape,
    context: &mut Context<'_>,
) -> Option<Arc<str>> {
    let node = field.value.node()?;
    if let Some(truth) = node.as_bool() {
        if shape == Shape::Boolean || shape == Shape::Text {
            return Some(context.intern(if truth { "true" } else { "false" }));
        }
    } else {
        let text = context.expand_node(node, object.environment)?;
        let fits = match shape {
            Shape::Boolean => false,
            Shape::Text => true,
            Shape::Integer { least, most } => text
                .parse::<i64>()
                .is_ok_and(|value| (least..=most).contains(&value) && value.to_string() == *text),
        };
        if fits {
            return Some(context.intern(&text));
        }
    }
    let expected = match shape {
        Shape::Boolean => "true or false".to_owned(),
        Shape::Text => "text".to_owned(),
        Shape::Integer { least, most } => format!("an integer from {least} to {most}"),
    };
    let found = node.raw().unwrap_or_default();
    let message = format!("expected {expected}, found `{found}`");
    object.error(BAD_VALUE, message, node.span, context);
    None
}
