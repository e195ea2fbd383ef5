//! Objects of one section in the order of definition, found by name.

use std::ops::Deref;
use std::sync::Arc;

/// An object with a name that is its own in its table.
pub trait Named {
    /// The name, `[A-Za-z0-9_-]+`.
    fn name(&self) -> &Arc<str>;
}

/// Objects in the order of definition; reads like a slice.
#[derive(Clone, Debug, PartialEq)]
pub struct Table<T> {
    items: Vec<T>,
    /// Places in `items`, ordered by name.
    by_name: Vec<u32>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            by_name: Vec::new(),
        }
    }
}

impl<T: Named> Table<T> {
    /// A table of objects; the first of those that share a name is the one found by it.
    #[must_use]
    pub fn new(items: Vec<T>) -> Self {
        let mut by_name: Vec<u32> = (0..u32::try_from(items.len()).unwrap_or(u32::MAX)).collect();
        by_name.sort_by(|a, b| items[*a as usize].name().cmp(items[*b as usize].name()));
        Self { items, by_name }
    }

    /// The object of that name.
    #[must_use]
    pub fn get_named(&self, name: &str) -> Option<&T> {
        self.position(name).map(|position| &self.items[position as usize])
    }

    /// Where in the table the object of that name stands.
    #[must_use]
    pub fn position(&self, name: &str) -> Option<u32> {
        let at = self
            .by_name
            .partition_point(|position| **self.items[*position as usize].name() < *name);
        let position = *self.by_name.get(at)?;
        (**self.items[position as usize].name() == *name).then_some(position)
    }

    /// Changes each object, which keeps its name.
    pub(crate) fn each_mut(&mut self, change: impl FnMut(&mut T)) {
        self.items.iter_mut().for_each(change);
    }

    /// The names in the order of definition.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.items.iter().map(|item| &**item.name())
    }
}

impl<T> Deref for Table<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.items
    }
}

impl<'a, T> IntoIterator for &'a Table<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.iter()
    }
}

macro_rules! named {
    ($($type:ty),+ $(,)?) => {
        $(impl Named for $type {
            fn name(&self) -> &Arc<str> {
                &self.name
            }
        })+
    };
}

named!(
    super::Cluster,
    super::Server,
    super::User,
    super::ShardMap,
    super::Shard,
    super::ReadWritePolicy,
    super::StatementRoute,
    super::Throttle,
    super::PoolingException,
    super::Cache,
    super::Mirror,
    super::Firewall,
    super::RuleBlock,
    super::Listener,
    super::Target,
);
