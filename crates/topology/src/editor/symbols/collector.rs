//! The walk over the trees: what defines a name, and what means one.

use std::ops::ControlFlow;
use std::sync::Arc;

use serde_json::Value;
use shardwright_documents::{Entry, Node, Value as Written};

use super::text::{Text, Wording, texts};
use super::{Meaning, Role, Symbol};
use crate::fields::AnyField;
use crate::fields::refers::Refers;
use crate::load::Loaded;
use crate::model::NamePattern;
use crate::project_files::Options;
use crate::reporter::Reporter;
use crate::resolve::root;
use crate::schema;
use crate::template::{Template, is_template};
use crate::tree::context::Context;
use crate::tree::environment::Environment;
use crate::tree::generate::{each, for_each, is_variable};
use crate::tree::shape::Shape;
use crate::tree::steps::split;
use crate::tree::variables::{Given, variables};
use crate::tree::view::{View, merge};

/// Names that templates are expanded to, and instances that are looked at; past it names are missing.
const MAX_EXPANDED: usize = 1_000_000;

/// Columns by which rules of a team ask for objects; what they ask for is no field.
const OF_ITEMS: [(&str, &str); 2] = [("cluster", "clusters."), ("username", "users.")];

/// One instance of the generators around a node, and the address of the object that holds it.
struct Instance {
    environment: Environment,
    address: Arc<str>,
}

/// The schemas of the files of a project.
struct Schemas {
    topology: Value,
    project: Value,
    tests: Value,
    environment: Value,
}

struct Collector<'s> {
    context: Context<'s>,
    schemas: &'s Schemas,
    symbols: Vec<Symbol>,
    /// The variables of the generators around, each with the address that stands for it.
    bindings: Vec<(Arc<str>, Arc<str>)>,
    /// How many of them there were, which tells them apart.
    generators: usize,
    left: usize,
    complete: bool,
}

pub(super) fn collect(loaded: &Loaded, options: &Options) -> (Vec<Symbol>, bool) {
    let documents = &loaded.documents;
    let topology = documents.topology().iter();
    let topology: Vec<&Node> = topology.filter_map(|document| document.root.as_ref()).collect();
    let mut report = Reporter::default();
    let root = merge(&topology, &mut report);
    let section = root.as_ref().and_then(|root| root.get(root::VARIABLES.name()));
    let given = Given {
        options: &options.variables,
        environment: None,
        environments: &[],
    };
    let section = section.map(|section| section.value);
    let variables = variables(section.as_ref(), given, &mut report);
    let schemas = Schemas {
        topology: schema::bare_topology(),
        project: schema::bare_project(),
        tests: schema::bare_tests(),
        environment: schema::bare_environment(),
    };
    let mut collector = Collector {
        schemas: &schemas,
        context: Context::new(
            &loaded.sources,
            Reporter::default(),
            variables,
            documents.tables.clone(),
        ),
        symbols: Vec::new(),
        bindings: Vec::new(),
        generators: 0,
        left: MAX_EXPANDED,
        complete: true,
    };
    for root in documents.all().filter_map(|document| document.root.as_ref()) {
        collector.root(root);
    }
    (collector.symbols, collector.complete)
}

fn entries(node: &Node) -> &[Entry] {
    node.as_mapping().map_or(&[], |mapping| mapping.entries())
}

impl<'s> Collector<'s> {
    /// Sections are known by their names, wherever they stand.
    fn root(&mut self, root: &Node) {
        let schemas = self.schemas;
        let shapes = [
            &schemas.topology,
            &schemas.project,
            &schemas.tests,
            &schemas.environment,
        ];
        let shapes = shapes.map(Shape::root);
        let top = [Instance {
            environment: Environment::default(),
            address: "".into(),
        }];
        for entry in entries(root) {
            let shape = shapes.into_iter().find(|shape| shape.declares(&entry.key.text));
            self.field(entry, &top, shape);
        }
    }

    /// The entries of a section, or of a part of an object: each defines a name.
    fn objects(&mut self, section: &str, node: &Node, outer: &[Instance], shape: Option<Shape<'s>>) {
        let entry_shape = shape.and_then(Shape::entry);
        for entry in entries(node) {
            let depth = self.bindings.len();
            let inner = self.instances(&entry.value, outer);
            let text = Text::of_key(&entry.key);
            let wording = Wording::of(text.text);
            let instances: Vec<Instance> = inner
                .into_iter()
                .filter_map(|(environment, parent)| {
                    let name = wording.expand(&environment, &self.context.variables)?;
                    let parent = &outer[parent].address;
                    let dot = if parent.is_empty() { "" } else { "." };
                    let address = format!("{parent}{dot}{section}.{name}").into();
                    Some(Instance { environment, address })
                })
                .collect();
            let addresses = instances
                .iter()
                .map(|instance| instance.address.clone())
                .collect();
            self.push(&text, Role::Definition(entry.value.span), addresses);
            self.variables_of(&text);
            self.value(&entry.value, &instances, entry_shape);
            self.bindings.truncate(depth);
        }
    }

    /// A map whose keys mean something that is defined elsewhere.
    fn keyed_by_reference(
        &mut self,
        node: &Node,
        outer: &[Instance],
        refers: Refers<'s>,
        shape: Option<Shape<'s>>,
    ) {
        for entry in entries(node) {
            let depth = self.bindings.len();
            let inner = self.instances(&entry.value, outer);
            let instances: Vec<Instance> = inner
                .into_iter()
                .map(|(environment, parent)| Instance {
                    environment,
                    address: outer[parent].address.clone(),
                })
                .collect();
            let text = Text::of_key(&entry.key);
            self.refer(refers, &text, &instances);
            self.variables_of(&text);
            let entry_shape = match refers {
                Refers::Address(_) => self.at(&entry.key.text),
                _ => shape.and_then(Shape::entry),
            };
            self.value(&entry.value, &instances, entry_shape);
            self.bindings.truncate(depth);
        }
    }

    /// What stands at an address of the project.
    fn at(&self, address: &str) -> Option<Shape<'s>> {
        let steps = split(address);
        let schemas = [&self.schemas.topology, &self.schemas.project];
        schemas
            .into_iter()
            .find_map(|schema| Shape::root(schema).at(&steps))
    }

    fn value(&mut self, node: &Node, instances: &[Instance], shape: Option<Shape<'s>>) {
        match &node.value {
            Written::Mapping(mapping) => mapping
                .iter()
                .for_each(|entry| self.field(entry, instances, shape)),
            Written::Sequence(items) => {
                let shape = shape.and_then(Shape::item);
                items.iter().for_each(|item| self.value(item, instances, shape));
            }
            _ => {
                if let Some(text) = Text::of_node(node) {
                    self.variables_of(&text);
                }
            }
        }
    }

    fn field(&mut self, entry: &Entry, instances: &[Instance], around: Option<Shape<'s>>) {
        let Entry { key, value } = entry;
        let name = &*key.text;
        let shape = around.and_then(|around| around.key(name));
        if let Some(section) = shape.and_then(Shape::defines) {
            return self.objects(section, value, instances, shape);
        }
        if let Some(refers) = shape.and_then(Shape::keys) {
            return self.keyed_by_reference(value, instances, refers, shape);
        }
        let of_items = || OF_ITEMS.iter().find(|(column, _)| *column == name);
        let refers = match around {
            Some(around) if !around.declares(name) => of_items().map(|(_, section)| Refers::Object(section)),
            _ => shape.and_then(Shape::refers),
        };
        if let Some(refers) = refers {
            for text in texts(value) {
                self.refer(refers, &text, instances);
            }
        }
        self.variables_of(&Text::of_key(key));
        self.value(value, instances, shape);
    }

    fn refer(&mut self, refers: Refers<'_>, text: &Text<'_>, instances: &[Instance]) {
        match refers {
            Refers::Object(section) => self.reference(text, instances, section),
            Refers::Part(part) => self.relative(text, instances, part),
            Refers::Shard => self.shard(text, instances),
            Refers::Address(_) => self.address(text, instances),
            Refers::Schema | Refers::Nothing => {}
        }
    }

    /// The instances of an object, each with the place of its outer instance.
    fn instances(&mut self, object: &Node, outer: &[Instance]) -> Vec<(Environment, usize)> {
        let view = View::of(object);
        let variables = for_each(&view).map_or_else(Vec::new, |for_each| for_each.value.fields());
        for field in variables.iter().filter(|field| is_variable(&field.key.text)) {
            let text = Text::of_key(field.key);
            self.generators += 1;
            let address: Arc<str> = format!("for_each.{}", self.generators).into();
            self.push(&text, Role::Definition(field.value.span()), vec![address.clone()]);
            self.bindings.push((text.text.into(), address));
        }
        let is_generator = !variables.is_empty();
        let Self { context, left, .. } = self;
        let mut instances = Vec::new();
        for (at, outer) in outer.iter().enumerate() {
            let ran = each(&view, &outer.environment, context, |environment, _| {
                if is_generator {
                    match left.checked_sub(1) {
                        Some(still) => *left = still,
                        None => return ControlFlow::Break(()),
                    }
                }
                instances.push((environment.clone(), at));
                ControlFlow::Continue(())
            });
            if !matches!(ran, Some(ControlFlow::Continue(()))) {
                self.complete = false;
                break;
            }
        }
        instances
    }

    /// Counts what is looked at; whether it still may be.
    fn take(&mut self) -> bool {
        match self.left.checked_sub(1) {
            Some(left) => {
                self.left = left;
                true
            }
            None => {
                self.complete = false;
                false
            }
        }
    }

    /// What a text means in each instance.
    fn expansions(&mut self, text: &str, instances: &[Instance]) -> Vec<String> {
        let varying = if is_template(text) {
            instances
        } else {
            instances.get(..1).unwrap_or_default()
        };
        let wording = Wording::of(text);
        let mut expanded = Vec::new();
        for instance in varying {
            if !self.take() {
                break;
            }
            expanded.extend(wording.expand(&instance.environment, &self.context.variables));
        }
        expanded
    }

    /// A name of an object of a section, or a glob over them.
    fn reference(&mut self, text: &Text<'_>, instances: &[Instance], section: &str) {
        let names = self.expansions(text.text, instances);
        if let [name] = names.as_slice()
            && NamePattern::new(name.as_str()).exact().is_none()
        {
            let pattern = NamePattern::new(name.as_str());
            return self.push_meaning(
                text,
                Meaning::Glob {
                    section: section.into(),
                    pattern,
                },
            );
        }
        let addresses = names
            .iter()
            .map(|name| format!("{section}{name}").into())
            .collect();
        self.push(text, Role::Reference, addresses);
    }

    /// A name of a part of the object around it.
    fn relative(&mut self, text: &Text<'_>, instances: &[Instance], part: &str) {
        let wording = Wording::of(text.text);
        let mut addresses = Vec::new();
        for Instance { environment, address } in instances {
            if !self.take() {
                break;
            }
            let name = wording.expand(environment, &self.context.variables);
            addresses.extend(name.map(|name| Arc::from(format!("{address}.{part}.{name}"))));
        }
        self.push(text, Role::Reference, addresses);
    }

    /// An address such as `shard_maps.tenants` or `clusters.pay.servers.pxc3.state`; each name in it is a reference.
    fn address(&mut self, text: &Text<'_>, instances: &[Instance]) {
        let mut start = 0;
        for (at, part) in text.text.split('.').enumerate() {
            let end = start + part.len();
            if is_template(part) {
                let addresses = self
                    .expansions(text.text, instances)
                    .into_iter()
                    .map(Arc::from)
                    .collect();
                return self.push(text, Role::Reference, addresses);
            }
            // `clusters.pay.servers.pxc3`: every second part is a name.
            if at % 2 == 1 {
                let named = text.part(start..end);
                let pattern = NamePattern::new(part);
                let section = &text.text[..start];
                match pattern.exact() {
                    Some(_) => self.push(&named, Role::Reference, vec![text.text[..end].into()]),
                    None if at == 1 && self.is_section(section) => {
                        let section = section.into();
                        self.push_meaning(&named, Meaning::Glob { section, pattern });
                    }
                    None => {}
                }
            }
            start = end + 1;
        }
    }

    /// Whether a section of the topology, with its dot, defines names.
    fn is_section(&self, section: &str) -> bool {
        let section = section
            .strip_suffix('.')
            .and_then(|name| Shape::root(&self.schemas.topology).key(name));
        section.and_then(Shape::defines).is_some()
    }

    /// `tenants/t137`: a map and one of its shards.
    fn shard(&mut self, text: &Text<'_>, instances: &[Instance]) {
        let address = |text: &str| {
            let (map, shard) = text.split_once('/')?;
            Some(Arc::from(format!("shard_maps.{map}.shards.{shard}")))
        };
        let Some((map, shard)) = text.text.split_once('/') else {
            return;
        };
        let shards = self.expansions(text.text, instances);
        let addresses = shards.iter().filter_map(|shard| address(shard)).collect();
        if is_template(map) {
            return self.push(text, Role::Reference, addresses);
        }
        let map_address = format!("shard_maps.{map}").into();
        self.push(&text.part(0..map.len()), Role::Reference, vec![map_address]);
        let shard = map.len() + 1..map.len() + 1 + shard.len();
        self.push(&text.part(shard), Role::Reference, addresses);
    }

    /// The variables that a text uses.
    fn variables_of(&mut self, text: &Text<'_>) {
        if !text.is_template() {
            return;
        }
        let Ok(template) = Template::parse(text.text) else {
            return;
        };
        for (name, at) in template.names() {
            let (address, at): (Arc<str>, _) = match name.strip_prefix("var.") {
                Some(variable) => (format!("variables.{variable}").into(), at.start + 4..at.end),
                None => {
                    // `n.host` is the cell beside the value of `n`.
                    let variable = name.split('.').next().unwrap_or(name);
                    match self.bindings.iter().rev().find(|(bound, _)| **bound == *variable) {
                        Some((_, address)) => (address.clone(), at.start..at.start + variable.len()),
                        None => continue,
                    }
                }
            };
            self.push(&text.part(at), Role::Reference, vec![address]);
        }
    }

    fn push(&mut self, text: &Text<'_>, role: Role, mut addresses: Vec<Arc<str>>) {
        addresses.sort_unstable();
        addresses.dedup();
        let symbol = Symbol {
            span: text.span(self.context.sources),
            role,
            meaning: Meaning::Addresses(addresses.into()),
            is_template: text.is_template(),
        };
        self.symbols.push(symbol);
    }

    fn push_meaning(&mut self, text: &Text<'_>, meaning: Meaning) {
        let symbol = Symbol {
            span: text.span(self.context.sources),
            role: Role::Reference,
            meaning,
            is_template: text.is_template(),
        };
        self.symbols.push(symbol);
    }
}
