//! The project file.

mod engines;
mod state;
mod switchover;
mod targets;

use std::sync::Arc;

use serde_json::{Value, json};
use shardwright_diagnostics::Diagnostic;

use super::object::Object;
use super::values::within;
use super::{instances, lint};
use crate::codes::{BAD_VALUE, OF_OTHERS};
use crate::fields::{AnyField, EXPECTS, Ids, object};
use crate::model::{
    Environment, IdRanges, Manage, Managed, NamePattern, ProjectFile, Safety, Table, Unmanaged, Words,
};
use crate::tree::context::Context;
use crate::tree::environment::Environment as Bindings;
use crate::tree::view::View;
use crate::units;

object! {
    pub(crate) mod project = "The project file of shardwright: engines, targets, ids, ownership.";
    VERSION: Custom = version().needed();
    PROJECT: Text = filled(
        "project",
        "The name of the project. A target stores it and refuses plans of other projects.",
    )
        .page("See [Owners](#owners).");
    ENGINES: List = list(
        "engines",
        "Engines that the project must work on; a problem names the engines that it is about.",
        "a list of engines",
        Shaped::Custom(engines::engine_schema),
    )
    .needed()
    .examples(r#"[["bundled", "proxysql-2.7"]]"#)
    .page("At least one.");
    IDS: Part = part("ids", &ids::FIELDS).or_defaults()
        .absent("see below");
    MANAGE: Part = part("manage", &manage::FIELDS)
        .page("See [Ownership](#ownership).")
        .absent("everything");
    UNMANAGED: Or<Word<Unmanaged>> = word(
        "unmanaged",
        "What happens to rows of a live system that are not ours.",
    )
    .or(Unmanaged::Keep);
    TARGETS: Map = map(
        "targets",
        "Proxies that configurations are applied to.",
        Shaped::Generated(&targets::target::FIELDS),
    )
        .defines("targets");
    STATE: Part = part("state", &state::state::FIELDS).or_defaults();
    SAFETY: Part = part("safety", &safety::FIELDS).or_defaults()
        .absent("see below");
    SWITCHOVER: Part = part("switchover", &switchover::switchover::FIELDS)
        .page("See [Switchover](#switchover).");
    LINT: Part = part("lint", &lint::lint::FIELDS).or_defaults()
        .absent("every code");
    ENVIRONMENTS: Texts = texts(
        crate::fields::ENVIRONMENTS,
        "Names of environments, each with its overlay `env/NAME.yaml`.",
        "a list of names",
    )
    .examples(r#"[["staging", "prod"]]"#);
}

object! {
    mod ids = "Ranges of numbers to use, such as 1000-2999.";
    HOSTGROUPS: Or<IdRange> = id_range("hostgroups", "Numbers that hostgroups may have, both ends included.")
        .or(Ids::of(&IdRanges::DEFAULT.hostgroups))
        .page("Clusters without `hostgroups` get them.");
    RULES: Or<IdRange> = id_range("rules", "Numbers that query rules may have, both ends included.")
        .or(Ids::of(&IdRanges::DEFAULT.rules));
    FLAGS: Or<IdRange> = id_range("flags", "Numbers that flags may have, both ends included.")
        .or(Ids::of(&IdRanges::DEFAULT.flags))
        .page("Flags connect chains of rules.");
}

object! {
    mod manage = "Which rows of a live system are ours; everything by default. For a key that is left out, ours is what the project itself writes.";
    QUERY_RULES: IdRange = id_range("query_rules", "Numbers of the query rules that are ours, both ends included.");
    USERS: Custom = custom("users", "Names of users that are ours, globs allowed; or `all`.", all_or_names)
        .refers(refers::USERS);
    CLUSTERS: Custom = custom("clusters", "Names of clusters that are ours, globs allowed; or `all`.", all_or_names)
        .refers(refers::CLUSTERS);
}

object! {
    mod safety = "Limits that an apply may not exceed without approval.";
    DELETES: Part = part("deletes", &deletes::FIELDS);
    PROTECT: Texts = texts("protect", "Addresses that need approval; globs are allowed.", "a list of addresses")
        .examples(r#"[["users.*", "clusters.pay"]]"#)
        .page("`*` stands for any text.")
        .refers(refers::ADDRESS);
    PLAN_EXPIRY: Duration = duration("plan_expiry", "How long a saved plan can be applied.")
        .absent("`6h`");
    UNREACHABLE: Or<Word<Unreachable>> = word(
        "unreachable",
        "What happens when a target cannot be reached: the apply fails, or skips it.",
    )
    .or(Unreachable::Fail);
}

object! {
    mod deletes = "How much an apply may delete.";
    MAX: Count = count("max", "The most objects that one apply may delete.").examples("[5]")
        .absent("`10`");
}

/// What happens when a target cannot be reached.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Unreachable {
    Fail,
    Skip,
}

impl Words for Unreachable {
    const WORDS: &'static [(&'static str, Self)] = &[("fail", Self::Fail), ("skip", Self::Skip)];
}

fn all_or_names(says: &str) -> Value {
    json!({
        "description": says,
        "if": { "type": "array" },
        "then": { "items": { "type": "string", EXPECTS: "a name" } },
        "else": { "enum": ["all"] },
    })
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
    object.require_all(&project::FIELDS, context);
    let engines = engines::engines(&object, context);
    let ids = ids(&object, context);
    let manage = manage(&object, &ids, context);
    let project = project_name(&object, context);
    let state = state::state(&object, project.as_ref(), context);
    ProjectFile {
        project,
        ids,
        ids_span: object.field(&project::IDS).map(|field| field.key.span),
        manage,
        unmanaged: object.get(&project::UNMANAGED, context),
        targets: Table::new(targets::targets(&object, &engines, context)),
        state,
        safety: safety(&object, context),
        switchover: switchover::switchover(&object, context),
        lint: object
            .part(&project::LINT, context)
            .map_or_else(Default::default, |part| lint::lint(&part, context)),
        environments: object
            .list(&project::ENVIRONMENTS, context)
            .into_iter()
            .map(|name| Environment { name })
            .collect(),
        engines,
    }
}

fn ids(object: &Object<'_, '_>, context: &mut Context<'_>) -> IdRanges {
    let part = object.part(&project::IDS, context);
    IdRanges {
        hostgroups: within(part.as_ref(), &ids::HOSTGROUPS, context),
        rules: within(part.as_ref(), &ids::RULES, context),
        flags: within(part.as_ref(), &ids::FLAGS, context),
    }
}

fn manage(object: &Object<'_, '_>, ids: &IdRanges, context: &mut Context<'_>) -> Manage {
    let Some(part) = object.part(&project::MANAGE, context) else {
        return Manage::default();
    };
    let names = |field: &dyn AnyField, context: &mut Context<'_>| {
        let Some(value) = part.field(field).map(|field| field.value) else {
            return Managed::Own;
        };
        if value.node().is_none_or(|node| node.as_sequence().is_none()) {
            return Managed::All;
        }
        let names = part.list(field, context).into_iter();
        Managed::Listed(names.map(NamePattern::new).collect())
    };
    let query_rules = part.get(&manage::QUERY_RULES, context);
    if let Some(ours) = &query_rules
        && !(ours.contains(ids.rules.start()) && ours.contains(ids.rules.end()))
    {
        let message = format!(
            "rules get numbers from {}-{}, but `manage.query_rules` leaves some of those to others",
            ids.rules.start(),
            ids.rules.end()
        );
        let diagnostic = Diagnostic::error(OF_OTHERS, message)
            .at(part.span(&manage::QUERY_RULES), "")
            .help("set `ids.rules` to a range within this one");
        part.push(diagnostic, context);
    }
    Manage {
        query_rules: query_rules.map_or(Managed::Own, Managed::Listed),
        users: names(&manage::USERS, context),
        clusters: names(&manage::CLUSTERS, context),
    }
}

/// It stands in messages and in statements of admin ports, so it is a name like any other.
fn project_name(object: &Object<'_, '_>, context: &mut Context<'_>) -> Option<Arc<str>> {
    let name = object.get(&project::PROJECT, context)?;
    if units::is_name(&name) {
        return Some(name);
    }
    let message = format!("a project's name is made of letters, digits, `_` and `-`, found `{name}`");
    object.error(BAD_VALUE, message, object.span(&project::PROJECT), context);
    None
}

fn safety(object: &Object<'_, '_>, context: &mut Context<'_>) -> Safety {
    let Some(part) = object.part(&project::SAFETY, context) else {
        return Safety::default();
    };
    let deletes = part.part(&safety::DELETES, context);
    let protect = part.list(&safety::PROTECT, context).into_iter();
    Safety {
        deletes_max: deletes.and_then(|deletes| deletes.get(&deletes::MAX, context)),
        protect: protect.map(NamePattern::new).collect(),
        plan_expiry_ms: part.get(&safety::PLAN_EXPIRY, context),
        skip_unreachable: part.get(&safety::UNREACHABLE, context) == Unreachable::Skip,
    }
}
