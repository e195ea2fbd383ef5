//! Where each object was written: address → place and generator instance, kept beside the objects.

use std::fmt::Write as _;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use shardwright_diagnostics::{Diagnostic, Span};

/// An object in [`Origins`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OriginId(u32);

/// An interned path of a field below an object, such as `missing_key.begin` or `key_from[1].column`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldId(u32);

/// Where something is defined; instances of one generator share it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DefinitionId(u32);

/// One step of an address.
#[derive(Clone, Debug, PartialEq)]
enum Step {
    Name(Arc<str>),
    Index(u32),
}

#[derive(Clone, Debug, PartialEq)]
struct Origin {
    parent: Option<OriginId>,
    step: Step,
    definition: DefinitionId,
    instance: Option<Arc<Instance>>,
}

/// The generator instance that made an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// As people see it: `n=137`.
    pub text: Box<str>,
    /// The cell of a data file that it was made from.
    pub cell: Option<Span>,
}

impl Instance {
    /// Names the instance in a problem, and shows the cell that it was made from.
    #[must_use]
    pub fn mark(&self, diagnostic: Diagnostic) -> Diagnostic {
        let diagnostic = diagnostic.instance(&*self.text);
        match self.cell {
            Some(cell) => diagnostic.also(cell, "made from this cell"),
            None => diagnostic,
        }
    }
}

/// What the instances of one generator share.
#[derive(Clone, Debug, PartialEq)]
struct Definition {
    key: Span,
    value: Span,
    fields: Box<[(FieldId, Span)]>,
}

/// Address, place and instance of every object. Instances of one generator share the places of its template.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Origins {
    origins: Vec<Origin>,
    definitions: Vec<Definition>,
    field_paths: Vec<Arc<str>>,
    field_ids: FxHashMap<Arc<str>, FieldId>,
}

impl Origins {
    /// The address that people write: `shard_maps.tenants.shards.t137`, `query_rules.legacy.rules[0]`.
    #[must_use]
    pub fn address(&self, id: OriginId) -> String {
        let mut address = String::new();
        self.write_address(id, 0, &mut address);
        address
    }

    /// Writes the address of an object behind those around it; `behind` is the length of what follows.
    fn write_address(&self, id: OriginId, behind: usize, address: &mut String) {
        let origin = &self.origins[id.0 as usize];
        let length = match &origin.step {
            Step::Name(name) => name.len() + ".".len(),
            Step::Index(_) => "[0000000000]".len(),
        };
        match origin.parent {
            Some(parent) => self.write_address(parent, behind + length, address),
            None => address.reserve_exact(behind + length),
        }
        match &origin.step {
            Step::Name(name) => {
                if !address.is_empty() {
                    address.push('.');
                }
                address.push_str(name);
            }
            Step::Index(index) => write!(address, "[{index}]").expect("writing to a string cannot fail"),
        }
    }

    /// Where the object's name was written; for an item of a list, the item.
    #[must_use]
    pub fn span(&self, id: OriginId) -> Span {
        self.definition(id).key
    }

    /// Where the object's value was written.
    #[must_use]
    pub fn value_span(&self, id: OriginId) -> Span {
        self.definition(id).value
    }

    /// Where a field of the object was written, such as `cluster`, `missing_key.begin` or `key_from[1].column`;
    /// the nearest field around it that was written, and in the end the object's name.
    #[must_use]
    pub fn field(&self, id: OriginId, path: &str) -> Span {
        let definition = self.definition(id);
        let mut path = path;
        loop {
            let written = self.field_ids.get(path).and_then(|field| {
                let at = definition
                    .fields
                    .binary_search_by_key(field, |(id, _)| *id)
                    .ok()?;
                Some(definition.fields[at].1)
            });
            if let Some(span) = written {
                return span;
            }
            match path.rfind(['.', '[']) {
                Some(end) => path = &path[..end],
                None => return definition.key,
            }
        }
    }

    /// The generator instance that made the object, such as `n=137`; none for one written out.
    #[must_use]
    pub fn instance(&self, id: OriginId) -> Option<&str> {
        let instance = self.origins[id.0 as usize].instance.as_ref()?;
        Some(&instance.text)
    }

    /// The cell of a data file that the object was made from.
    #[must_use]
    pub fn cell(&self, id: OriginId) -> Option<Span> {
        self.origins[id.0 as usize].instance.as_ref()?.cell
    }

    /// Names the generator instance that made the object in a problem of it.
    #[must_use]
    pub fn mark(&self, id: OriginId, diagnostic: Diagnostic) -> Diagnostic {
        match &self.origins[id.0 as usize].instance {
            Some(instance) => instance.mark(diagnostic),
            None => diagnostic,
        }
    }

    /// The object that holds this one.
    #[must_use]
    pub fn parent(&self, id: OriginId) -> Option<OriginId> {
        self.origins[id.0 as usize].parent
    }

    /// Every object in the order of resolution.
    pub fn iter(&self) -> impl Iterator<Item = OriginId> + use<> {
        (0..u32::try_from(self.origins.len()).unwrap_or(u32::MAX)).map(OriginId)
    }

    /// The object at an address. Walks all objects: for a question, not for every statement.
    #[must_use]
    pub fn find(&self, address: &str) -> Option<OriginId> {
        self.iter().find(|id| {
            let last = match &self.origins[id.0 as usize].step {
                Step::Name(name) => address.ends_with(&**name),
                Step::Index(_) => address.ends_with(']'),
            };
            last && self.address(*id) == address
        })
    }

    /// How many objects there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.origins.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.origins.is_empty()
    }

    /// The identity of a field path.
    pub fn field_id(&mut self, path: &str) -> FieldId {
        if let Some(id) = self.field_ids.get(path) {
            return *id;
        }
        let id = FieldId(u32::try_from(self.field_paths.len()).unwrap_or(u32::MAX));
        let path: Arc<str> = path.into();
        self.field_paths.push(path.clone());
        self.field_ids.insert(path, id);
        id
    }

    /// Notes where something is defined.
    pub fn define(&mut self, key: Span, value: Span, mut fields: Vec<(FieldId, Span)>) -> DefinitionId {
        fields.sort_unstable_by_key(|(id, _)| *id);
        fields.dedup_by_key(|(id, _)| *id);
        self.definitions.push(Definition {
            key,
            value,
            fields: fields.into(),
        });
        DefinitionId(u32::try_from(self.definitions.len() - 1).unwrap_or(u32::MAX))
    }

    /// Adds an object with a name.
    pub fn add_named(
        &mut self,
        parent: Option<OriginId>,
        name: Arc<str>,
        definition: DefinitionId,
        instance: Option<Arc<Instance>>,
    ) -> OriginId {
        self.add(Origin {
            parent,
            step: Step::Name(name),
            definition,
            instance,
        })
    }

    /// Adds an item of a list.
    pub fn add_item(&mut self, parent: OriginId, index: u32, definition: DefinitionId) -> OriginId {
        self.add(Origin {
            parent: Some(parent),
            step: Step::Index(index),
            definition,
            instance: None,
        })
    }

    fn add(&mut self, origin: Origin) -> OriginId {
        self.origins.push(origin);
        OriginId(u32::try_from(self.origins.len() - 1).unwrap_or(u32::MAX))
    }

    fn definition(&self, id: OriginId) -> &Definition {
        &self.definitions[self.origins[id.0 as usize].definition.0 as usize]
    }
}
