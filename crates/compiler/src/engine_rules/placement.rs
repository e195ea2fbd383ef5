//! From statements that have a key to the trees that place them.

use shardwright_rules::EngineRule;

use super::chains::Target;
use super::maps::MapUse;
use super::role::{RoleTargets, policies_of, role_chain};
use super::tree::{KeySource, TreeKey};
use super::{Lowering, role_split};
use crate::draft::ChainRef;

impl Lowering<'_, '_> {
    /// Hands the statements of a chain on to the tree that places them; two trees where reads are sent elsewhere.
    pub(super) fn place_by_trees(
        &mut self,
        found: ChainRef,
        of: MapUse<'_>,
        source: KeySource,
        schemas: Option<Vec<String>>,
    ) {
        let (step, address) = (&*of.section.step, &of.section.address);
        let places_cluster = step.shards.iter().any(|shard| shard.cluster.is_some());
        let readers = if places_cluster {
            policies_of(self.input.program, of.section, &of.class.policies, self.report)
        } else {
            Vec::new()
        };
        let tree = |readers: Vec<usize>| TreeKey {
            map: of.map,
            source,
            readers,
            leaf: of.exits.placed,
            elsewhere: of.exits.elsewhere,
            schemas: schemas.clone(),
        };
        let writers = self.tree(tree(Vec::new()));
        let target = match readers.first() {
            None => writers,
            Some(&policy) => {
                let key = tree(readers);
                let readers = self.tree(key.clone());
                let name = match source {
                    KeySource::Comment => format!("{address}.role"),
                    KeySource::Column => format!("{address}.column.role"),
                };
                let targets = RoleTargets::chains(readers, writers);
                let role = role_chain(&mut self.chains, self.input.program, &name, policy, targets);
                // A map is compared once.
                let (input, draft) = (self.input, &self.chains.draft);
                let compare = || role_split::compare(input, draft, &key, role, [readers, writers]);
                self.outputs.splits.entry(of.map).or_insert_with(compare);
                role
            }
        };
        self.chains.go(
            found,
            "tree",
            address,
            EngineRule::default(),
            Target::Jump(target),
        );
    }
}
