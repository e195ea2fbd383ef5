//! Objects by name: generators run, names checked, places noted.

use std::ops::ControlFlow;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use shardwright_diagnostics::{Diagnostic, Span};
use shardwright_documents::Node;

use super::object::{Object, ObjectOrigin};
use super::section_origin;
use crate::codes::{BAD_NAME, TWO_INSTANCES, WRONG_TYPE};
use crate::fields::{FOR_EACH, holders};
use crate::model::{DefinitionId, FieldId, OriginId};
use crate::template::is_template;
use crate::tree::context::Context;
use crate::tree::environment::Environment;
use crate::tree::generate::{each, for_each};
use crate::tree::patch::Patch;
use crate::tree::view::{Field, View};
use crate::units::is_name;

/// Fields of one definition whose places are kept.
const MAX_FIELDS: usize = 256;
/// How deep fields of a definition are kept.
const FIELD_DEPTH: usize = 4;
/// Items of one list whose places are kept.
const MAX_ITEMS: usize = 32;

/// Reads each object of a section, if it is there, with `read`. Gives what [`read_all`] gives.
pub(super) fn read_section<'a, T>(
    section: Option<Field<'a>>,
    context: &mut Context<'_>,
    read: impl FnMut(&Object<'a, '_>, &mut Context<'_>) -> Option<T>,
) -> Vec<(Arc<str>, Option<T>)> {
    let Some(section) = section else { return Vec::new() };
    let parent = section_origin(&section, context);
    read_all(&section.value, parent, &Environment::default(), context, read)
}

/// The objects of a section that could be read.
pub(super) fn read_each<'a, T>(
    section: Option<Field<'a>>,
    context: &mut Context<'_>,
    read: impl FnMut(&Object<'a, '_>, &mut Context<'_>) -> Option<T>,
) -> Vec<T> {
    let read = read_section(section, context, read);
    read.into_iter().filter_map(|(_, object)| object).collect()
}

/// Reads each object of a map with `read`. Gives every name with what was read; none where that failed.
pub(super) fn read_all<'a, T>(
    section: &View<'a>,
    parent: OriginId,
    outer: &Environment,
    context: &mut Context<'_>,
    mut read: impl FnMut(&Object<'a, '_>, &mut Context<'_>) -> Option<T>,
) -> Vec<(Arc<str>, Option<T>)> {
    let mut objects = Vec::new();
    let fields = section.fields();
    // Objects that are written out inside a generator are made once for each of its instances.
    let inner = if outer.instance().is_some() {
        fields.len() as u64
    } else {
        0
    };
    if context.take_instances(Some(inner), section.span()).is_none() {
        return objects;
    }
    let mut origins: FxHashMap<Arc<str>, OriginId> = FxHashMap::default();
    for field in fields {
        if field.value.is_map() {
            let template = is_template(&field.key.text);
            let definition = define_in(&field, outer, context);
            let mut named = true;
            let mut one = |environment: &Environment, context: &mut Context<'_>| {
                let Some(name) = name(&field, environment, context) else {
                    named = false;
                    return None;
                };
                let patch = section.patch_of(&name).filter(|_| template);
                if patch.is_some_and(Patch::removes) {
                    return Some(());
                }
                let (field, definition) = match patch {
                    None => (field.clone(), definition),
                    Some(patch) => {
                        let field = field.clone().patched(patch);
                        let definition = define(&field, context);
                        (field, definition)
                    }
                };
                let object = Object::of_field(
                    &field,
                    name.clone(),
                    ObjectOrigin { parent, definition },
                    environment,
                    context,
                );
                if let Some(first) = origins.get(&name) {
                    report_two(&name, object.origin, *first, context);
                    return None;
                }
                origins.insert(name.clone(), object.origin);
                let value = read(&object, context);
                objects.push((name, value));
                Some(())
            };
            let ran = run(&field.value, outer, context, &mut one);
            if !(ran && named) {
                context.lose_names(&field.key.text);
            }
        } else {
            not_a_mapping(&field, context);
            if !is_template(&field.key.text) {
                objects.push((context.intern(&field.key.text), None));
            }
        }
    }
    objects
}

/// Calls `one` for each instance of a generator, or once where the value is none. False where the generator cannot be
/// read.
pub(super) fn run(
    value: &View<'_>,
    outer: &Environment,
    context: &mut Context<'_>,
    one: &mut impl FnMut(&Environment, &mut Context<'_>) -> Option<()>,
) -> bool {
    let is_generator = for_each(value).is_some();
    let ran = each(value, outer, context, |environment, context| {
        if is_generator && context.report.is_full() {
            return ControlFlow::Break(());
        }
        one(environment, context);
        ControlFlow::Continue(())
    });
    ran.is_some()
}

fn name(field: &Field<'_>, environment: &Environment, context: &mut Context<'_>) -> Option<Arc<str>> {
    let name = context.expand_key(field.key, environment)?;
    if !is_name(&name) {
        let message = if name.is_empty() {
            "a name is empty".to_owned()
        } else {
            format!("`{name}` is not a name")
        };
        let diagnostic = Diagnostic::error(BAD_NAME, message)
            .at(field.key.span, "")
            .help("names are made of letters, digits, `_` and `-`");
        context.report.push(environment.mark(diagnostic));
        return None;
    }
    Some(name.into())
}

fn report_two(name: &str, second: OriginId, first: OriginId, context: &mut Context<'_>) {
    let origins = &context.origins;
    let by = |id: OriginId| match origins.instance(id) {
        Some(instance) => format!("made for {instance}"),
        None => "written here".to_owned(),
    };
    let (here, there) = (
        origins.span(second),
        origins.cell(first).unwrap_or(origins.span(first)),
    );
    let diagnostic = Diagnostic::error(TWO_INSTANCES, format!("two objects are named `{name}`"));
    let diagnostic = if here == there {
        diagnostic.at(here, format!("{}, then {}", by(first), by(second)))
    } else {
        diagnostic
            .at(here, by(second))
            .also(there, format!("the first is {}", by(first)))
    };
    let diagnostic = context.origins.mark(second, diagnostic);
    context.report.push_at_cell(diagnostic);
}

fn not_a_mapping(field: &Field<'_>, context: &mut Context<'_>) {
    let span = if field.value.node().is_some_and(Node::is_null) {
        field.key.span
    } else {
        field.value.span()
    };
    let message = format!("expected a mapping, found {}", field.value.type_name());
    context
        .report
        .push(Diagnostic::error(WRONG_TYPE, message).at(span, ""));
}

/// [`define`], once for all instances of the generator around the object.
fn define_in(field: &Field<'_>, outer: &Environment, context: &mut Context<'_>) -> DefinitionId {
    // What is patched is no longer what the other instances share.
    if outer.instance().is_none() || field.value.is_patched() {
        return define(field, context);
    }
    if let Some(known) = context.definitions.get(&field.key.span) {
        return *known;
    }
    let definition = define(field, context);
    context.definitions.insert(field.key.span, definition);
    definition
}

/// The part of an object that holds further objects, such as `servers`, as an object of the origins.
pub(super) fn part_origin(object: &Object<'_, '_>, field: &Field<'_>, context: &mut Context<'_>) -> OriginId {
    let known = context.definitions.get(&field.key.span).copied();
    let definition = known.unwrap_or_else(|| {
        let definition = context
            .origins
            .define(field.key.span, field.value.span(), Vec::new());
        context.definitions.insert(field.key.span, definition);
        definition
    });
    let name = context.intern(&field.key.text);
    context.origins.add_named(
        Some(object.origin),
        name,
        definition,
        object.environment.instance().cloned(),
    )
}

/// Notes where an object and its fields are written.
pub(super) fn define(field: &Field<'_>, context: &mut Context<'_>) -> DefinitionId {
    let mut fields = Vec::new();
    note_fields(&field.value, "", 0, &mut fields, context);
    context.origins.define(field.key.span, field.value.span(), fields)
}

/// Notes where an item of a list and its fields are written.
pub(super) fn define_item(node: &Node, context: &mut Context<'_>) -> DefinitionId {
    define_view(&View::of(node), context)
}

/// Notes where a value and its fields are written.
pub(super) fn define_view(view: &View<'_>, context: &mut Context<'_>) -> DefinitionId {
    let mut fields = Vec::new();
    note_fields(view, "", 0, &mut fields, context);
    context.origins.define(view.span(), view.span(), fields)
}

fn note_fields(
    view: &View<'_>,
    path: &str,
    depth: usize,
    fields: &mut Vec<(FieldId, Span)>,
    context: &mut Context<'_>,
) {
    if depth == FIELD_DEPTH || fields.len() >= MAX_FIELDS {
        return;
    }
    if !path.is_empty() {
        for (index, item) in view.items().iter().take(MAX_ITEMS).enumerate() {
            let path = format!("{path}[{index}]");
            fields.push((context.origins.field_id(&path), item.span));
            note_fields(&View::of(item), &path, depth + 1, fields, context);
        }
    }
    if !view.is_map() {
        return;
    }
    for field in view.fields() {
        let name = &*field.key.text;
        // Objects of their own.
        if depth == 0 && (name == FOR_EACH || holders::ALL.contains(&name)) {
            fields.push((context.origins.field_id(name), field.key.span));
            continue;
        }
        let id = if path.is_empty() {
            context.origins.field_id(name)
        } else {
            context.origins.field_id(&format!("{path}.{name}"))
        };
        let is_scalar = field
            .value
            .node()
            .is_some_and(|node| node.raw().is_some() && !node.is_null());
        fields.push((
            id,
            if is_scalar {
                field.value.span()
            } else {
                field.key.span
            },
        ));
        if !is_scalar {
            let path = if path.is_empty() {
                name.to_owned()
            } else {
                format!("{path}.{name}")
            };
            note_fields(&field.value, &path, depth + 1, fields, context);
        }
    }
}
