//! `engines`: what must be served rightly.

use serde_json::{Value, json};
use shardwright_diagnostics::Diagnostic;
use shardwright_documents::Node;

use super::project;
use crate::codes::{DEFINED_TWICE, MISSING_KEY};
use crate::fields::object;
use crate::model::{EngineEntry, EngineName, OriginId, RegexEngine, Words};
use crate::resolve::object::Object;
use crate::resolve::{instances, section_origin};
use crate::tree::context::Context;
use crate::tree::view::View;

object! {
    mod engine = "An engine with settings.";
    ENGINE: Word<EngineName> = word("engine", "The name of the engine, with its version.").needed();
    REGEX: Word<RegexEngine> = word(
        "regex",
        "The dialect of its regular expressions, as set in its variables.",
    )
        .absent("the engine's");
    ITERATIONS: Count = int(
        "iterations",
        "Its variable `mysql-query_processor_iterations`; 0 is no limit.",
        0,
        1_000_000,
    )
        .absent("the engine's (0)");
}

pub(super) fn engine_schema() -> Value {
    json!({
        "description": "An engine, or an engine with settings.",
        "if": { "type": "object" },
        "then": engine::FIELDS.schema(),
        "else": { "enum": EngineName::words() },
    })
}

pub(super) fn engines(object: &Object<'_, '_>, context: &mut Context<'_>) -> Vec<EngineEntry> {
    let Some(field) = object.field(&project::ENGINES) else {
        return Vec::new();
    };
    let parent = section_origin(&field, context);
    let items = field.value.items();
    if items.is_empty()
        && field
            .value
            .node()
            .is_some_and(|node| node.as_sequence().is_some())
    {
        object.error(
            MISSING_KEY,
            "at least one engine is needed",
            field.key.span,
            context,
        );
    }
    let mut engines: Vec<EngineEntry> = Vec::new();
    for (item, index) in items.iter().zip(0u32..) {
        let definition = instances::define_item(item, context);
        let origin = context.origins.add_item(parent, index, definition);
        let Some(entry) = engine(object, item, origin, context) else {
            continue;
        };
        if let Some(first) = engines.iter().find(|engine| engine.name == entry.name) {
            let message = format!("the engine `{}` is listed twice", entry.name.as_str());
            let first = context.origins.span(first.origin);
            object.push(
                Diagnostic::error(DEFINED_TWICE, message)
                    .at(item.span, "")
                    .also(first, "first here"),
                context,
            );
            continue;
        }
        engines.push(entry);
    }
    engines
}

fn engine<'a>(
    object: &Object<'a, '_>,
    item: &'a Node,
    origin: OriginId,
    context: &mut Context<'_>,
) -> Option<EngineEntry> {
    if item.as_mapping().is_none() {
        // Another word is a problem of the structure.
        let name = EngineName::of_word(item.as_text()?)?;
        return Some(EngineEntry {
            origin,
            name,
            regex: None,
            iterations: None,
        });
    }
    let entry = object.inner(View::of(item), item.span);
    entry.require_all(&engine::FIELDS, context);
    let name = entry.get(&engine::ENGINE, context);
    let regex = entry.get(&engine::REGEX, context);
    let iterations = entry.get(&engine::ITERATIONS, context);
    Some(EngineEntry {
        origin,
        name: name?,
        regex,
        iterations,
    })
}
