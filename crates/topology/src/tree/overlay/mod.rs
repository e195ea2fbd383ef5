//! Environments: `env/NAME.yaml` with values for variables and patches of the topology and the project file.

mod hits;
mod items;

use serde_json::{Value, json};
use shardwright_diagnostics::{Diagnostic, Sources, Span, did_you_mean};
use shardwright_documents::{Document, Entry, Key, Node};

pub(crate) use hits::check_hits;
pub(crate) use items::settle_items;

use crate::codes::{BAD_ADDRESS, UNKNOWN_ENVIRONMENT};
use crate::fields::{AnyField, ENVIRONMENTS, EXPECTS, object};
use crate::project_files::{ENVIRONMENT_DIRECTORY, environment_name};
use crate::reporter::Reporter;
use crate::tree::patch::Patch;
use crate::tree::shape::Shape;
use crate::tree::steps::{selector, split};
use crate::tree::structure::Checker;
use crate::tree::variables::value_schema;

object! {
    pub(crate) mod environment =
        "What one environment changes: values of variables, and patches of the topology and the project file.";
    VERSION: Custom = version();
    VARIABLES: Map = map("variables", "Values for variables that the topology declares.", Shaped::Custom(|| {
        value_schema("The value of the variable in this environment.")
    }))
        .page("See [variables](variables.md); `--var` is stronger.");
    PATCH: Custom = custom(
        "patch",
        "New values by address, such as `clusters.pay.servers.pxc3.state: draining`.",
        patch_schema,
    )
        .page("An address of the topology or of the project file.")
        .keys(refers::ADDRESS);
}

fn patch_schema(says: &str) -> Value {
    json!({
        "description": says,
        "type": "object",
        EXPECTS: "a mapping of addresses to values",
        "additionalProperties": {
            "description": "The whole new value at this address.",
        },
    })
}

/// Steps of one address.
const MAX_STEPS: usize = 32;

/// An environment, ready to be laid over the project.
#[derive(Debug)]
pub(crate) struct Overlay<'d> {
    /// `variables`
    pub(crate) variables: Option<&'d Node>,
    /// What is set in the topology.
    pub(crate) topology: Patch,
    /// What is set in the project file.
    pub(crate) project: Patch,
}

/// The schemas that addresses go along.
#[derive(Clone, Copy)]
pub(crate) struct Schemas<'s> {
    pub(crate) topology: &'s Checker,
    pub(crate) project: &'s Checker,
}

impl<'d> Overlay<'d> {
    /// Reads the file of one environment. Its structure has been checked; the values that it sets are checked here.
    pub(crate) fn read(root: &'d Node, schemas: Schemas<'_>, report: &mut Reporter) -> Self {
        let shapes = [schemas.topology, schemas.project].map(|checker| Shape::root(checker.schema()));
        let [mut topology, mut project] = shapes.map(|shape| Patch::empty(root.span, &shape));
        let patches = root.get(environment::PATCH.name()).and_then(Node::as_mapping);
        for entry in patches.into_iter().flatten() {
            let Some(steps) = steps(&entry.key, report) else {
                continue;
            };
            let [in_topology, in_project] = shapes;
            if is_of_project(entry, schemas.project.schema()) {
                project.add(entry, &steps, &in_project, report);
            } else {
                topology.add(entry, &steps, &in_topology, report);
            }
        }
        for (patch, checker) in [(&topology, schemas.topology), (&project, schemas.project)] {
            if !patch.is_empty() {
                checker.check(&patch.to_node(), report);
            }
        }
        Self {
            variables: root.get(environment::VARIABLES.name()),
            topology,
            project,
        }
    }
}

fn steps<'k>(address: &'k Key, report: &mut Reporter) -> Option<Vec<&'k str>> {
    let steps = split(&address.text);
    let fault = if steps.len() > MAX_STEPS {
        Some("has more than 32 steps")
    } else if steps.iter().any(|step| step.is_empty()) {
        Some("has an empty step")
    } else if steps.iter().any(|step| is_unclear(step)) {
        Some("points into a list, and not at an item by a key of it")
    } else if address.text.contains("$(") {
        Some("contains a `$( … )`: write the name of the generated object")
    } else {
        None
    };
    if let Some(fault) = fault {
        let message = format!("the address `{}` {fault}", address.text);
        let help = if address.text.contains('[') {
            "write a key of the item with its value, query_rules.legacy.rules[rule_id=100].cluster, or set the whole list"
        } else {
            "write names and keys, separated by dots: clusters.pay.servers.pxc3.state"
        };
        report.push(
            Diagnostic::error(BAD_ADDRESS, message)
                .at(address.span, "")
                .help(help),
        );
        return None;
    }
    let section = steps[0];
    if section == environment::VARIABLES.name() {
        report.push(
            Diagnostic::error(BAD_ADDRESS, "a patch cannot set variables")
                .at(address.span, "")
                .help("set values of variables under `variables`: {region: us}"),
        );
        return None;
    }
    if section == environment::VERSION.name() || section == ENVIRONMENTS {
        let message = format!("a patch cannot set `{section}`: it is the same in all environments");
        report.push(Diagnostic::error(BAD_ADDRESS, message).at(address.span, ""));
        return None;
    }
    Some(steps)
}

/// Whether a step has a bracket and selects no item.
fn is_unclear(step: &str) -> bool {
    step.contains(['[', ']']) && selector(step).is_none()
}

fn is_of_project(entry: &Entry, project: &Value) -> bool {
    let section = entry.key.text.split('.').next().unwrap_or_default();
    project["properties"].get(section).is_some()
}

/// The environments that a project file lists.
pub(crate) fn listed(project_file: Option<&Node>) -> impl Iterator<Item = (&str, Span)> {
    let items = project_file.and_then(|root| root.get(ENVIRONMENTS)?.as_sequence());
    items
        .unwrap_or_default()
        .iter()
        .filter_map(|item| Some((item.as_text()?, item.span)))
}

/// Compares the environments that the project file lists with the files that are there, and finds the chosen one.
pub(crate) fn choose<'d>(
    chosen: Option<&str>,
    project_file: Option<&'d Node>,
    files: &'d [Document],
    sources: &Sources,
    report: &mut Reporter,
) -> Option<&'d Document> {
    let listed: Vec<(&str, Span)> = listed(project_file).collect();
    let name = |document: &Document| {
        environment_name(sources.path(document.file))
            .unwrap_or_default()
            .to_owned()
    };
    let file = |wanted: &str| files.iter().find(|document| name(document) == wanted);
    for (environment, span) in &listed {
        if file(environment).is_none() {
            let path = format!("{ENVIRONMENT_DIRECTORY}/{environment}.yaml");
            let message = format!("the environment `{environment}` has no file `{path}`");
            report.push(
                Diagnostic::error(UNKNOWN_ENVIRONMENT, message)
                    .at(*span, "")
                    .help("create it; for an environment without changes, write only `version: 1`"),
            );
        }
    }
    let listed_names = || listed.iter().map(|(name, _)| *name);
    for document in files {
        let name = name(document);
        if !listed_names().any(|listed| listed == name) {
            let message = format!("`environments` of the project file does not list `{name}`");
            let diagnostic = Diagnostic::warning(UNKNOWN_ENVIRONMENT, message)
                .at(Span::new(document.file, 0, 0), "")
                .did_you_mean(did_you_mean(&name, listed_names()));
            report.push(diagnostic);
        }
    }
    let chosen = chosen?;
    if listed_names().any(|listed| listed == chosen) {
        return file(chosen);
    }
    let diagnostic = Diagnostic::error(UNKNOWN_ENVIRONMENT, format!("no environment is named `{chosen}`"));
    let diagnostic = if listed.is_empty() {
        diagnostic.help(format!("list it in the project file: environments: [{chosen}]"))
    } else {
        let names: Vec<&str> = listed_names().collect();
        diagnostic
            .did_you_mean(did_you_mean(chosen, listed_names()))
            .note(format!("environments of the project file: {}", names.join(", ")))
    };
    report.push_of_options(diagnostic);
    None
}
