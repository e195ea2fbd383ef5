//! Walks trees beside their schema: generators run, templates expanded, defaults filled in.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use serde_json::{Map, Value};
use shardwright_documents::{Node, Value as Written};

use super::sink::{Collection, Origin, Scalar, Sink, Slot, Source};
use crate::fields::{AnyField, FOR_EACH};
use crate::model::Words;
use crate::resolve::overrides::placed::REASON;
use crate::resolve::root::VARIABLES;
use crate::resolve::shard_map::shard_map::{OVERRIDES, SHARDS};
use crate::template::{Value as VariableValue, escaped, is_template};
use crate::tree::context::Context;
use crate::tree::environment::Environment;
use crate::tree::objects::instances;
use crate::tree::secrets::is_secret;
use crate::tree::shape::Shape;
use crate::tree::variables::{Type, declared};
use crate::tree::view::{Field, View};

/// What stands in the place of a secret that is written in the clear.
const CONCEALED: &str = "(concealed)";

/// One walk over a tree.
pub(super) struct Traversal<'w> {
    pub(super) sink: &'w mut dyn Sink,
    /// Addresses that are shown, with what stands around and below them; all where there are none.
    pub(super) only: &'w [String],
    /// Which of `only` were met.
    pub(super) met: Vec<bool>,
    /// Where the value of each variable comes from, as data and in words.
    pub(super) variables: &'w BTreeMap<String, (Origin, Arc<str>)>,
    pub(super) address: String,
}

/// A field with the generator instance that it is read in.
struct Bound<'a> {
    field: Field<'a>,
    environment: Environment,
}

impl Traversal<'_> {
    /// The value of `slot` at the current address.
    pub(super) fn value<'a>(
        &mut self,
        slot: Slot<'_>,
        view: &View<'a>,
        shape: Option<Shape<'_>>,
        environment: &Environment,
        context: &mut Context<'_>,
    ) -> io::Result<()> {
        if view.is_map() {
            self.sink.begin(Collection::Mapping, slot, &self.address, None)?;
            match shape.filter(|shape| shape.holds_objects()) {
                Some(shape) => self.objects(view, shape, &BTreeMap::new(), environment, context)?,
                None => {
                    let fields = bind(view.fields(), environment);
                    self.fields(&fields, shape, context)?;
                }
            }
            return self.sink.end();
        }
        let Some(node) = view.node() else { return Ok(()) };
        match node.as_sequence() {
            Some(items) => self.list(slot, node, items, shape, environment, context),
            None => {
                let mut origin = written(node, environment);
                let value = self.scalar(node, slot, shape, environment, &mut origin, context);
                self.sink.scalar(slot, &self.address, &value, &origin)
            }
        }
    }

    fn list(
        &mut self,
        slot: Slot<'_>,
        list: &Node,
        items: &[Node],
        shape: Option<Shape<'_>>,
        environment: &Environment,
        context: &mut Context<'_>,
    ) -> io::Result<()> {
        let shape = shape.and_then(|shape| shape.item());
        if items.iter().all(|item| item.raw().is_some()) {
            let mut origin = written(list, environment);
            let scalar = |item| self.scalar(item, Slot::Item, shape, environment, &mut origin, context);
            let values: Vec<Scalar> = items.iter().map(scalar).collect();
            return self.sink.scalars(slot, &self.address, &values, &origin);
        }
        self.sink.begin(Collection::List, slot, &self.address, None)?;
        for (index, item) in items.iter().enumerate() {
            let end = self.enter(&format!("[{index}]"));
            self.value(Slot::Item, &View::of(item), shape, environment, context)?;
            self.address.truncate(end);
        }
        self.sink.end()
    }

    /// The fields of one object or mapping, then what holds where nothing is written.
    fn fields(
        &mut self,
        fields: &[Bound<'_>],
        shape: Option<Shape<'_>>,
        context: &mut Context<'_>,
    ) -> io::Result<()> {
        let overrides = overrides(fields, shape, context);
        for Bound { field, environment } in fields {
            let key = &*field.key.text;
            let is_folded = key == OVERRIDES.name() && !overrides.is_empty();
            if key == FOR_EACH || is_folded {
                continue;
            }
            let end = self.enter_key(key);
            if self.is_shown() && self.address == VARIABLES.name() {
                self.variable_values(&field.value, context)?;
            } else if self.is_shown() {
                let shape = shape.and_then(|shape| shape.key(key));
                match shape.filter(|shape| key == SHARDS.name() && shape.holds_objects()) {
                    Some(shape) => {
                        self.sink
                            .begin(Collection::Mapping, Slot::Key(key), &self.address, None)?;
                        self.objects(&field.value, shape, &overrides, environment, context)?;
                        self.sink.end()?;
                    }
                    None => self.value(Slot::Key(key), &field.value, shape, environment, context)?,
                }
            }
            self.address.truncate(end);
        }
        let Some((properties, shape)) = shape.and_then(|shape| Some((shape.properties()?, shape))) else {
            return Ok(());
        };
        let given = |key: &str| {
            let bound = fields.iter().find(|bound| &*bound.field.key.text == key)?;
            Some(
                bound
                    .field
                    .value
                    .node()
                    .and_then(Node::as_text)
                    .map(ToOwned::to_owned),
            )
        };
        self.defaults(properties, shape, given)
    }

    /// The defaults of keys that are not given. `given` has the text of a key that is, none where it is no text.
    fn defaults(
        &mut self,
        properties: &Map<String, Value>,
        shape: Shape<'_>,
        given: impl Fn(&str) -> Option<Option<String>>,
    ) -> io::Result<()> {
        for key in properties.keys().filter(|key| given(key).is_none()) {
            let Some(property) = shape.key(key) else { continue };
            let Some((default, condition)) = property.default() else {
                continue;
            };
            let holds = |(key, words): (&String, &Value)| match (given(key), words.as_array()) {
                (None, _) => false,
                (Some(_), None) => true,
                (Some(text), Some(words)) => text.is_some_and(|text| words.contains(&Value::from(text))),
            };
            if !condition.is_none_or(|condition| condition.iter().all(holds)) {
                continue;
            }
            let end = self.enter_key(key);
            if self.is_shown() {
                self.default(key, default, property)?;
            }
            self.address.truncate(end);
        }
        Ok(())
    }

    fn default(&mut self, key: &str, default: &Value, shape: Shape<'_>) -> io::Result<()> {
        let origin = Origin::default();
        let word = match default {
            Value::Object(_) => {
                self.sink
                    .begin(Collection::Mapping, Slot::Key(key), &self.address, None)?;
                if let Some(properties) = shape.properties() {
                    self.defaults(properties, shape, |_| None)?;
                }
                return self.sink.end();
            }
            Value::Array(items) => {
                let values: Vec<Scalar> = items.iter().map(plain).collect();
                return self.sink.scalars(Slot::Key(key), &self.address, &values, &origin);
            }
            other => plain(other),
        };
        self.sink.scalar(Slot::Key(key), &self.address, &word, &origin)
    }

    /// Objects with names, each with where its name is written. `overrides` has fields that take the place of theirs.
    fn objects(
        &mut self,
        view: &View<'_>,
        shape: Shape<'_>,
        overrides: &BTreeMap<String, Vec<Bound<'_>>>,
        environment: &Environment,
        context: &mut Context<'_>,
    ) -> io::Result<()> {
        let shape = shape.entry();
        instances(view, environment, context, |instance, context| {
            let end = self.enter_key(&instance.name);
            if self.is_shown() {
                let field = &instance.field;
                let origin = Origin {
                    instance: instance.environment.instance().cloned(),
                    ..Origin::of(Source::File(field.key.span))
                };
                let slot = Slot::Key(&instance.name);
                self.sink
                    .begin(Collection::Mapping, slot, &self.address, Some(&origin))?;
                let mut fields = bind(field.value.fields(), instance.environment);
                for over in overrides.get(&*instance.name).into_iter().flatten() {
                    let key = &over.field.key.text;
                    fields.retain(|bound| bound.field.key.text != *key);
                    fields.push(over.clone());
                }
                self.fields(&fields, shape, context)?;
                self.sink.end()?;
            }
            self.address.truncate(end);
            Ok(())
        })
    }

    /// Variables, each with the value that it has as its default.
    fn variable_values(&mut self, view: &View<'_>, context: &Context<'_>) -> io::Result<()> {
        self.sink.begin(
            Collection::Mapping,
            Slot::Key(VARIABLES.name()),
            &self.address,
            None,
        )?;
        for field in view.fields() {
            let name = &*field.key.text;
            let (Some(Some(value)), Some((origin, _))) =
                (context.variables.get(name), self.variables.get(name))
            else {
                continue;
            };
            let end = self.enter_key(name);
            if self.is_shown() {
                let place = Origin::of(Source::File(field.key.span));
                self.sink
                    .begin(Collection::Mapping, Slot::Key(name), &self.address, Some(&place))?;
                let text = |text: &str| Scalar::Text {
                    text: text.to_owned(),
                    template: text.to_owned(),
                };
                let (kind, value) = match value {
                    VariableValue::Integer(number) => (Type::Integer, Scalar::Word(number.to_string())),
                    VariableValue::Text(_) if is_secret(name) => (Type::Text, text(CONCEALED)),
                    VariableValue::Text(value) => (Type::Text, text(value)),
                };
                let kind_place = match field
                    .value
                    .get(declared::TYPE.name())
                    .and_then(|field| field.value.node())
                {
                    Some(node) => Origin::of(Source::File(node.span)),
                    None => Origin::default(),
                };
                for (key, value, origin) in [
                    (declared::TYPE.name(), text(kind.word()), &kind_place),
                    (declared::DEFAULT.name(), value, origin),
                ] {
                    let end = self.enter_key(key);
                    self.sink.scalar(Slot::Key(key), &self.address, &value, origin)?;
                    self.address.truncate(end);
                }
                self.sink.end()?;
            }
            self.address.truncate(end);
        }
        self.sink.end()
    }

    /// A scalar with its expressions replaced; `origin` learns which variables they used.
    fn scalar(
        &self,
        node: &Node,
        slot: Slot<'_>,
        shape: Option<Shape<'_>>,
        environment: &Environment,
        origin: &mut Origin,
        context: &Context<'_>,
    ) -> Scalar {
        let raw = node.raw().unwrap_or_default();
        if matches!(slot, Slot::Key(key) if is_secret(key)) && !node.is_null() {
            return Scalar::Text {
                text: CONCEALED.to_owned(),
                template: CONCEALED.to_owned(),
            };
        }
        if !matches!(node.value, Written::Text { .. }) {
            let word = if raw.is_empty() { "null" } else { raw };
            return Scalar::Word(word.to_owned());
        }
        let expanded = context
            .expand_but_key(raw, environment)
            .filter(|_| is_template(raw));
        let Some(expanded) = expanded else {
            return Scalar::Text {
                text: raw.to_owned(),
                template: escaped(raw),
            };
        };
        for name in expanded.variables {
            let known = origin.variables.iter().any(|(known, _)| *known == name);
            if let Some(source) = self.variables.get(&name).filter(|_| !known) {
                origin.variables.push((name, source.1.clone()));
            }
        }
        let is_number = expanded
            .text
            .parse::<i64>()
            .is_ok_and(|number| number.to_string() == expanded.text);
        if is_number && shape.is_some_and(|shape| shape.takes_integer()) {
            return Scalar::Word(expanded.text);
        }
        Scalar::Text {
            text: expanded.text,
            template: expanded.template,
        }
    }

    /// Steps into a key; gives what the address is to be cut to afterwards.
    fn enter_key(&mut self, key: &str) -> usize {
        if self.address.is_empty() {
            self.enter(key)
        } else {
            let end = self.enter(".");
            self.enter(key);
            end
        }
    }

    fn enter(&mut self, step: &str) -> usize {
        let end = self.address.len();
        self.address.push_str(step);
        end
    }

    /// Whether the current address, something around it or something below it is asked for.
    pub(super) fn is_shown(&mut self) -> bool {
        let address = &*self.address;
        for (wanted, met) in self.only.iter().zip(&mut self.met) {
            *met |= wanted == address;
        }
        let below = |inner: &str, outer: &str| {
            inner
                .strip_prefix(outer)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        self.only.is_empty()
            || self
                .only
                .iter()
                .any(|wanted| below(address, wanted) || below(wanted, address))
    }
}

impl Clone for Bound<'_> {
    fn clone(&self) -> Self {
        Self {
            field: self.field.clone(),
            environment: self.environment.clone(),
        }
    }
}

fn bind<'a>(fields: Vec<Field<'a>>, environment: &Environment) -> Vec<Bound<'a>> {
    let bound = |field| Bound {
        field,
        environment: environment.clone(),
    };
    fields.into_iter().map(bound).collect()
}

/// What `overrides` sets in the objects that it names.
fn overrides<'a>(
    fields: &[Bound<'a>],
    shape: Option<Shape<'_>>,
    context: &mut Context<'_>,
) -> BTreeMap<String, Vec<Bound<'a>>> {
    let mut overrides = BTreeMap::new();
    let section = fields
        .iter()
        .find(|bound| &*bound.field.key.text == OVERRIDES.name());
    let is_there = shape
        .and_then(|shape| shape.key(OVERRIDES.name()))
        .is_some_and(|shape| shape.holds_objects());
    let Some(Bound { field, environment }) = section.filter(|_| is_there) else {
        return overrides;
    };
    let Ok(()) = instances(&field.value, environment, context, |instance, _| {
        let kept = |field: &Field<'_>| ![FOR_EACH, REASON.name()].contains(&&*field.key.text);
        let fields = instance.field.value.fields().into_iter().filter(kept).collect();
        overrides.insert(instance.name.into_owned(), bind(fields, instance.environment));
        Ok::<(), std::convert::Infallible>(())
    });
    overrides
}

fn written(node: &Node, environment: &Environment) -> Origin {
    Origin {
        instance: environment.instance().cloned(),
        ..Origin::of(Source::File(node.span))
    }
}

fn plain(value: &Value) -> Scalar {
    match value.as_str() {
        Some(text) => Scalar::Text {
            text: text.to_owned(),
            template: escaped(text),
        },
        None => Scalar::Word(value.to_string()),
    }
}
