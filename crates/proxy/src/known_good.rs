//! What servers have taken before: schemas and character sets that need not be asked about again.

use std::cell::RefCell;
use std::hash::Hash;
use std::sync::Arc;

use rustc_hash::FxHashSet;
use shardwright_rules::HostgroupId;

use crate::set_names::SetNames;

/// Entries of each kind that a worker remembers; then it begins anew.
const MOST: usize = 10_000;

/// A schema that a user was let into.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct KnownSchema {
    pub(crate) generation: i64,
    pub(crate) hostgroup: HostgroupId,
    pub(crate) user: Arc<str>,
    pub(crate) schema: Arc<str>,
    /// Changes of tables and schemas through this proxy until then.
    pub(crate) changes: u64,
}

#[derive(Default)]
pub(crate) struct KnownGood {
    schemas: RefCell<FxHashSet<KnownSchema>>,
    names: RefCell<FxHashSet<SetNames>>,
}

impl KnownGood {
    pub(crate) fn has_schema(&self, schema: &KnownSchema) -> bool {
        self.schemas.borrow().contains(schema)
    }

    pub(crate) fn schema(&self, schema: KnownSchema) {
        remember(&self.schemas, schema);
    }

    pub(crate) fn has_names(&self, names: &SetNames) -> bool {
        self.names.borrow().contains(names)
    }

    pub(crate) fn names(&self, names: SetNames) {
        remember(&self.names, names);
    }
}

fn remember<T: Eq + Hash>(set: &RefCell<FxHashSet<T>>, entry: T) {
    let mut set = set.borrow_mut();
    if set.len() >= MOST {
        set.clear();
    }
    set.insert(entry);
}
