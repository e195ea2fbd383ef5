//! From statements that have a key to the trees that place them.

use super::chains::Target;
use super::maps::MapUse;
use super::role::RoleTargets;
use super::tree::{KeySource, TreeKey};
use super::{Lowering, role_split};
use crate::draft::ChainRef;

/// Where statements go on whose key is found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trees {
    /// All of them; reads are told from writes there.
    pub(super) all: Target,
    /// What is known to be a read, if it goes elsewhere.
    pub(super) reads: Option<ChainRef>,
}

impl Lowering<'_, '_> {
    /// The tree that places the statements of a map; two trees where reads are sent elsewhere.
    pub(super) fn trees(&mut self, of: MapUse<'_>, source: KeySource) -> Trees {
        let (step, address) = (&*of.section.step, &of.section.address);
        let places_cluster = step.shards.iter().any(|shard| shard.cluster.is_some());
        let readers = if places_cluster {
            self.readers_of(of.section, &of.class.groups)
        } else {
            Vec::new()
        };
        let tree = |readers: Vec<usize>| TreeKey {
            map: of.map,
            source,
            readers,
            leaf: of.exits.placed,
            elsewhere: of.exits.elsewhere,
            end: of.exits.end,
        };
        let writers = self.tree(tree(Vec::new()));
        if readers.is_empty() {
            return Trees {
                all: Target::Jump(writers),
                reads: None,
            };
        }
        let key = tree(readers);
        let readers = self.tree(key.clone());
        let name = match source {
            KeySource::Comment => format!("{address}.role"),
            KeySource::Column => format!("{address}.column.role"),
        };
        let targets = RoleTargets::chains(readers, writers);
        let split = self.split(&name, of.section, &of.class.groups, targets);
        if let Target::Jump(role) = split {
            // A map is compared once.
            let (input, draft) = (self.input, &self.chains.draft);
            let compare = || role_split::compare(input, draft, &key, role, [readers, writers]);
            self.outputs.splits.entry(of.map).or_insert_with(compare);
        }
        Trees {
            all: split,
            reads: Some(readers),
        }
    }
}
