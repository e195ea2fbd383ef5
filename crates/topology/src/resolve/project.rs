//! The project file.

use std::sync::Arc;

use shardwright_diagnostics::Diagnostic;
use shardwright_documents::Node;

use super::object::Object;
use super::throttle::number;
use super::{instances, section_origin, user};
use crate::codes::{BAD_VALUE, DEFINED_TWICE, MISSING_KEY, NOT_SUPPORTED, OF_OTHERS, UNKNOWN_REFERENCE};
use crate::context::Context;
use crate::environment::Environment as Bindings;
use crate::model::{
    EngineEntry, EngineName, Environment, GateLimit, IdRanges, Manage, Managed, NamePattern, OriginId,
    ProjectFile, RegexDialect, Safety, StateSettings, Table, Target, Unmanaged, Wave,
};
use crate::units;
use crate::view::{Field, View};

const REGEX: [(&str, RegexDialect); 2] = [("pcre", RegexDialect::Pcre), ("re2", RegexDialect::Re2)];
const UNMANAGED: [(&str, Unmanaged); 3] = [
    ("keep", Unmanaged::Keep),
    ("report", Unmanaged::Report),
    ("delete", Unmanaged::Delete),
];

fn engine_words() -> [(&'static str, EngineName); EngineName::ALL.len()] {
    EngineName::ALL.map(|engine| (engine.as_str(), engine))
}

/// Reads the project file.
pub(crate) fn project(root: &View<'_>, context: &mut Context<'_>) -> ProjectFile {
    let definition = instances::define_view(root, context);
    let name = context.intern("project");
    let origin = context.origins.add_named(None, name.clone(), definition, None);
    let bindings = Bindings::default();
    let start = root.span().within(0, 0);
    let object = Object {
        view: root.clone(),
        key: start,
        name,
        origin,
        environment: &bindings,
    };
    for field in ["version", "engines"] {
        object.require(field, context);
    }
    let engines = engines(&object, context);
    let ids = ids(&object, context);
    let manage = manage(&object, &ids, context);
    ProjectFile {
        project: project_name(&object, context),
        ids,
        manage,
        unmanaged: object.word("unmanaged", &UNMANAGED, context).unwrap_or_default(),
        targets: Table::new(targets(&object, &engines, context)),
        waves: waves(&object, context),
        gates: gates(&object, context),
        state: state(&object, context),
        safety: safety(&object, context),
        lint: super::lint::lint(&object, context),
        environments: texts(&object, "environments", context)
            .into_iter()
            .map(|name| Environment { name })
            .collect(),
        engines,
    }
}

fn texts(object: &Object<'_, '_>, field: &str, context: &mut Context<'_>) -> Vec<Arc<str>> {
    object
        .texts(field, context)
        .into_iter()
        .map(|(_, text)| text)
        .collect()
}

fn engines(object: &Object<'_, '_>, context: &mut Context<'_>) -> Vec<EngineEntry> {
    let Some(field) = object.view.get("engines") else {
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
        let (_, name) = engine_words()
            .into_iter()
            .find(|(word, _)| item.as_text() == Some(word))?;
        return Some(EngineEntry {
            origin,
            name,
            regex: None,
            iterations: None,
        });
    }
    let entry = object.inner(View::of(item), item.span);
    entry.require("engine", context);
    let name = entry.word("engine", &engine_words(), context);
    let regex = entry.word("regex", &REGEX, context);
    let iterations = entry
        .integer("iterations", 0..=1_000_000, context)
        .and_then(|most| u32::try_from(most).ok());
    Some(EngineEntry {
        origin,
        name: name?,
        regex,
        iterations,
    })
}

fn id_range(
    object: &Object<'_, '_>,
    field: &str,
    context: &mut Context<'_>,
) -> Option<std::ops::RangeInclusive<u32>> {
    let text = object.text(field, context)?;
    let range = units::id_range(&text).filter(|range| *range.end() <= i32::MAX.unsigned_abs());
    if range.is_none() {
        let message = format!(
            "expected a range such as 1000-2999 within 0-{}, found `{text}`",
            i32::MAX
        );
        object.error(BAD_VALUE, message, object.span(field), context);
    }
    range
}

fn ids(object: &Object<'_, '_>, context: &mut Context<'_>) -> IdRanges {
    let default = IdRanges::default();
    let Some(part) = object.part("ids", context) else {
        return default;
    };
    IdRanges {
        hostgroups: id_range(&part, "hostgroups", context).unwrap_or(default.hostgroups),
        rules: id_range(&part, "rules", context).unwrap_or(default.rules),
        flags: id_range(&part, "flags", context).unwrap_or(default.flags),
    }
}

fn manage(object: &Object<'_, '_>, ids: &IdRanges, context: &mut Context<'_>) -> Manage {
    let Some(part) = object.part("manage", context) else {
        return Manage::default();
    };
    let names = |field: &str, context: &mut Context<'_>| {
        let Some(value) = part.view.get(field).map(|field| field.value) else {
            return Managed::Own;
        };
        if value.node().is_none_or(|node| node.as_sequence().is_none()) {
            return Managed::All;
        }
        let names = texts(&part, field, context).into_iter();
        Managed::Listed(names.map(NamePattern::new).collect())
    };
    let query_rules = id_range(&part, "query_rules", context);
    if let Some(ours) = &query_rules
        && !(ours.contains(ids.rules.start()) && ours.contains(ids.rules.end()))
    {
        let message = format!(
            "rules get numbers of {}-{}, and `manage.query_rules` leaves some of those to others",
            ids.rules.start(),
            ids.rules.end()
        );
        let diagnostic = Diagnostic::error(OF_OTHERS, message)
            .at(part.span("query_rules"), "")
            .help("set `ids.rules` to a range within this one");
        part.push(diagnostic, context);
    }
    Manage {
        query_rules: query_rules.map_or(Managed::Own, Managed::Listed),
        users: names("users", context),
        clusters: names("clusters", context),
    }
}

/// It stands in messages and in statements of admin ports, so it is a name like any other.
fn project_name(object: &Object<'_, '_>, context: &mut Context<'_>) -> Option<Arc<str>> {
    let name = object.filled_text("project", context)?;
    if units::is_name(&name) {
        return Some(name);
    }
    let message = format!("a project's name is made of letters, digits, `_` and `-`, found `{name}`");
    object.error(BAD_VALUE, message, object.span("project"), context);
    None
}

fn targets(object: &Object<'_, '_>, engines: &[EngineEntry], context: &mut Context<'_>) -> Vec<Target> {
    let Some(section) = object
        .view
        .get("targets")
        .filter(|section| section.value.is_map())
    else {
        return Vec::new();
    };
    // An entry that could not be read may be the one that a target names.
    let listed = object
        .view
        .get("engines")
        .map_or(0, |field| field.value.items().len());
    let engines_are_known = listed > 0 && listed == engines.len();
    let parent = section_origin(&section, context);
    let read = instances::read_all(
        &section.value,
        parent,
        object.environment,
        context,
        |object, context| target(object, engines, engines_are_known, context),
    );
    read.into_iter().filter_map(|(_, target)| target).collect()
}

fn target(
    object: &Object<'_, '_>,
    engines: &[EngineEntry],
    engines_are_known: bool,
    context: &mut Context<'_>,
) -> Option<Target> {
    for field in ["engine", "admin", "user", "password"] {
        object.require(field, context);
    }
    let engine = object.word("engine", &engine_words(), context);
    if let Some(engine) = engine
        && engines_are_known
        && engines.iter().all(|entry| entry.name != engine)
    {
        let message = format!("the engine `{}` is not listed in `engines`", engine.as_str());
        object.error(UNKNOWN_REFERENCE, message, object.span("engine"), context);
    }
    let admin = object.filled_text("admin", context);
    if let Some(admin) = &admin
        && !units::is_host_and_port(admin)
    {
        let message = format!("expected host:port, found `{admin}`");
        object.error(BAD_VALUE, message, object.span("admin"), context);
    }
    let user = object.filled_text("user", context);
    let password = user::secret(object, "password", context);
    let labels = labels(object, "labels", context);
    Some(Target {
        name: object.name.clone(),
        origin: object.origin,
        engine: engine?,
        admin: admin?,
        user: user?,
        password: password?.source,
        labels,
    })
}

fn labels(object: &Object<'_, '_>, field: &str, context: &mut Context<'_>) -> Vec<(Arc<str>, Arc<str>)> {
    let Some(part) = object.part(field, context) else {
        return Vec::new();
    };
    let label = |field: Field<'_>| {
        let value = field.value.node()?.raw()?;
        Some((Arc::from(&*field.key.text), Arc::from(value)))
    };
    part.view.fields().into_iter().filter_map(label).collect()
}

fn waves(object: &Object<'_, '_>, context: &mut Context<'_>) -> Vec<Wave> {
    let Some(field) = object.view.get("waves") else {
        return Vec::new();
    };
    let mut waves = Vec::new();
    for item in field
        .value
        .items()
        .iter()
        .filter(|item| item.as_mapping().is_some())
    {
        let part = object.inner(View::of(item), item.span);
        part.require("name", context);
        waves.push(Wave {
            name: part.filled_text("name", context).unwrap_or_default(),
            select: labels(&part, "select", context),
            max: part.count("max", context),
            parallel: part.count("parallel", context),
            bake_ms: part.duration_ms("bake", context),
        });
    }
    waves
}

fn gates(object: &Object<'_, '_>, context: &mut Context<'_>) -> Vec<GateLimit> {
    let Some(part) = object.part("gates", context) else {
        return Vec::new();
    };
    let mut gates = Vec::new();
    for field in part.view.fields() {
        let name = &*field.key.text;
        let node = field.value.node();
        let limit = match node.and_then(Node::as_text) {
            Some(text) => units::percentage(text),
            None => number(&part, name),
        };
        match limit {
            Some(limit) => gates.push(GateLimit {
                measure: context.intern(name),
                limit,
            }),
            None => {
                let message = "expected a number, or a percentage such as 0.2%";
                part.error(BAD_VALUE, message, field.value.span(), context);
            }
        }
    }
    gates
}

fn state(object: &Object<'_, '_>, context: &mut Context<'_>) -> StateSettings {
    let default = StateSettings::default();
    let Some(part) = object.part("state", context) else {
        return default;
    };
    for field in ["mysql", "etcd"] {
        if part.has(field) {
            let message = format!("state kept in {field} is not supported yet");
            part.error(NOT_SUPPORTED, message, part.key_span(field), context);
        }
    }
    StateSettings {
        dir: part.filled_text("dir", context).unwrap_or(default.dir),
    }
}

fn safety(object: &Object<'_, '_>, context: &mut Context<'_>) -> Safety {
    let Some(part) = object.part("safety", context) else {
        return Safety::default();
    };
    let deletes = part.part("deletes", context);
    Safety {
        deletes_max: deletes.and_then(|deletes| deletes.count("max", context)),
        traffic_moved: part
            .text("traffic_moved", context)
            .and_then(|text| units::percentage(&text)),
        protect: texts(&part, "protect", context)
            .into_iter()
            .map(NamePattern::new)
            .collect(),
        plan_expiry_ms: part.duration_ms("plan_expiry", context),
        skip_unreachable: part
            .word("unreachable", &[("fail", false), ("skip", true)], context)
            .unwrap_or(false),
    }
}
