//! What a configuration is applied to: `targets`.

use std::sync::Arc;

use serde_json::json;

use super::project;
use crate::codes::{BAD_VALUE, UNKNOWN_REFERENCE};
use crate::fields::{Declared, EXPECTS, Map, Shaped, object};
use crate::model::{EngineEntry, EngineName, Target};
use crate::resolve::object::Object;
use crate::resolve::{instances, section_origin, user};
use crate::tree::context::Context;
use crate::tree::view::Field;
use crate::units;

object! {
    pub(crate) mod target = "A proxy.";
    ENGINE: Word<EngineName> = word("engine", "The engine that it runs; it must be listed in `engines`.").needed();
    ADMIN: Text = filled("admin", "The `host:port` of its admin interface, such as `127.0.0.1:6032`.")
        .needed()
        .examples(r#"["127.0.0.1:6032"]"#);
    USER: Text = filled("user", "The name of the admin account.").needed();
    PASSWORD: Definition = defined("password", "Its password.", "secret").needed()
        .page("A [reference](secrets.md).");
    CA: Text = filled(
        "ca",
        "The authorities that the certificate of its admin interface is checked with, in PEM, relative to the project. With it, the connection uses TLS. Only for `bundled`.",
    );
    LABELS: Map = map("labels", "Labels such as `{zone: a}`, for whoever reads the file. Nothing selects by them yet.", LABEL)
        .examples(r#"[{"zone": "a"}]"#);
}

const LABEL: Shaped = Shaped::Custom(|| {
    json!({
        "description": "Its value.",
        "type": ["string", "integer"],
        EXPECTS: "text or an integer",
    })
});

pub(super) fn targets(
    object: &Object<'_, '_>,
    engines: &[EngineEntry],
    context: &mut Context<'_>,
) -> Vec<Target> {
    let Some(section) = object
        .field(&project::TARGETS)
        .filter(|section| section.value.is_map())
    else {
        return Vec::new();
    };
    // An entry that could not be read may be the one that a target names.
    let listed = object
        .field(&project::ENGINES)
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
    object.require_all(&target::FIELDS, context);
    let engine = object.get(&target::ENGINE, context);
    if let Some(engine) = engine
        && engines_are_known
        && engines.iter().all(|entry| entry.name != engine)
    {
        let message = format!("the engine `{}` is not listed in `engines`", engine.as_str());
        object.error(UNKNOWN_REFERENCE, message, object.span(&target::ENGINE), context);
    }
    let admin = object.get(&target::ADMIN, context);
    if let Some(admin) = &admin
        && !units::is_host_and_port(admin)
    {
        let message = format!("expected host:port, found `{admin}`");
        object.error(BAD_VALUE, message, object.span(&target::ADMIN), context);
    }
    let user = object.get(&target::USER, context);
    let password = user::secret(object, &target::PASSWORD, context);
    let ca = object.get(&target::CA, context);
    if ca.is_some() && engine.is_some_and(|engine| engine != EngineName::Bundled) {
        let message = "`ca` is for targets with the engine `bundled`: the admin interface of ProxySQL is reached without TLS";
        object.error(BAD_VALUE, message, object.span(&target::CA), context);
    }
    let labels = labels(object, &target::LABELS, context);
    Some(Target {
        name: object.name.clone(),
        origin: object.origin,
        engine: engine?,
        admin: admin?,
        user: user?,
        password: password?.source,
        ca,
        labels,
    })
}

fn labels(
    object: &Object<'_, '_>,
    field: &Declared<Map>,
    context: &mut Context<'_>,
) -> Vec<(Arc<str>, Arc<str>)> {
    let Some(part) = object.part(field, context) else {
        return Vec::new();
    };
    let label = |field: Field<'_>| {
        let node = field.value.node().filter(|node| node.raw().is_some())?;
        let value = context.expand_node(node, part.environment)?;
        Some((Arc::from(&*field.key.text), Arc::from(&*value)))
    };
    part.view.fields().into_iter().filter_map(label).collect()
}
