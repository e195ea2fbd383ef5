//! The complete topology as it holds: generators run, variables replaced, an environment laid over it, defaults
//! written out, and for each value where it comes from.
//!
//! It is written from the trees and their schema, so that every section is shown without code of its own.

mod json;
mod sink;
mod traversal;
mod yaml;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;

use shardwright_diagnostics::Sources;

use self::sink::{Origin, Sink, Slot, Source};
use self::traversal::Traversal;
use crate::fields::AnyField;
use crate::load::layers::{Checkers, Documents, Layers, overlay};
use crate::reporter::Reporter;
use crate::resolve::root::VARIABLES;
use crate::schema;
use crate::tree::environment::Environment;
use crate::tree::shape::Shape;
use crate::tree::variables::declared;
use crate::tree::view::Field;

/// What is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The files under `topology/`.
    Topology,
    /// The project file.
    Project,
}

/// How it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A topology file, the origin of each value behind it as a comment. Read again, it means the same.
    Yaml,
    /// An object with the values and, by address, their origins.
    Json,
}

/// What is shown, and how.
#[derive(Clone, Copy, Debug)]
pub struct Request<'o> {
    /// Which files.
    pub part: Part,
    /// In which form.
    pub form: Form,
    /// Only what these addresses name; everything if there are none.
    pub only: &'o [String],
}

/// Writes what a request asks for. Gives the addresses at which nothing stands. The documents are those of a project without
/// errors.
///
/// # Errors
/// Those of `out`.
pub fn write<'o>(
    documents: &Documents,
    sources: &Sources,
    request: Request<'o>,
    out: &mut dyn Write,
) -> io::Result<Vec<&'o str>> {
    let mut report = Reporter::default();
    let checkers = Checkers::new();
    let overlay = overlay(documents, &checkers, sources, &mut report);
    let mut layers = Layers::new(documents, overlay, &mut report);
    layers.settle(sources, &documents.tables, &mut report);
    let shown = Shown {
        layers,
        sources,
        request,
    };
    let met = match request.form {
        Form::Yaml => shown.write_to(&mut yaml::Yaml::new(&mut *out, sources))?,
        Form::Json => {
            let name = match request.part {
                Part::Topology => "topology",
                Part::Project => "project",
            };
            write!(out, "{{\n  \"{name}\": ")?;
            shown.write_to(&mut json::Values::new(&mut *out))?;
            write!(out, ",\n  \"origins\": {{")?;
            let met = shown.write_to(&mut json::Origins::new(&mut *out, sources))?;
            write!(out, "\n  }}\n}}\n")?;
            met
        }
    };
    let missed = request.only.iter().zip(met).filter(|(_, met)| !met);
    Ok(missed.map(|(address, _)| &**address).collect())
}

struct Shown<'s> {
    layers: Layers<'s>,
    sources: &'s Sources,
    request: Request<'s>,
}

impl Shown<'_> {
    /// Gives `sink` every value; gives back which of the addresses were met.
    fn write_to(&self, sink: &mut dyn Sink) -> io::Result<Vec<bool>> {
        let layers = &self.layers;
        let tables = layers.documents.tables.clone();
        let mut context = layers.context(self.sources, Reporter::default(), tables);
        let variables = self.variables();
        let mut traversal = Traversal {
            sink,
            only: self.request.only,
            met: vec![false; self.request.only.len()],
            variables: &variables,
            address: String::new(),
        };
        let (view, schema) = match self.request.part {
            Part::Topology => (layers.topology(), schema::bare_topology()),
            Part::Project => (layers.project(), schema::bare_project()),
        };
        let environment = Environment::default();
        if let Some(view) = view {
            traversal.value(
                Slot::Root,
                &view,
                Some(Shape::root(&schema)),
                &environment,
                &mut context,
            )?;
        }
        Ok(traversal.met)
    }

    /// Where each variable has its value from, as data and in words.
    fn variables(&self) -> BTreeMap<String, (Origin, Arc<str>)> {
        let layers = &self.layers;
        let section = layers.base.as_ref().and_then(|root| root.get(VARIABLES.name()));
        let fields = section.map_or_else(Vec::new, |section| section.value.fields());
        let origin = |field: Field<'_>| {
            let name = field.key.text.to_string();
            let given = layers
                .overlay
                .as_ref()
                .and_then(|overlay| overlay.variables?.get(&name));
            let default = field
                .value
                .get(declared::DEFAULT.name())
                .and_then(|field| field.value.node());
            let place = match given.or(default) {
                _ if layers.documents.options.variables.contains_key(&name) => Source::Option,
                Some(node) => Source::File(node.span),
                None => Source::Default,
            };
            let origin = Origin::of(place);
            let text = origin.text(self.sources).into();
            (name, (origin, text))
        };
        fields.into_iter().map(origin).collect()
    }
}
