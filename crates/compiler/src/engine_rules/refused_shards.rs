//! Shards that are refused: whoever asks for one of their keys learns why.
//!
//! COMMIT, ROLLBACK and their kin follow the open transaction, whatever key they have, so that a session can end one that
//! began before the shard was refused. XA is refused: rules do not see whether it ends a transaction or begins one.

use shardwright_rules::{Address, EngineRule, MapStep, Shard};

use super::chains::Target;
use super::maps::MapUse;
use super::refusals::Refused;
use super::schema_names::KeyedSchema;
use super::{Lowering, forms};
use crate::draft::{ChainRef, schema_rule};
use crate::program::Section;
use crate::summary;

/// What the chain of a refused shard depends on.
pub(super) type RefusedShardKey = (Address, Target);

impl Lowering<'_, '_> {
    /// Where statements with a key of a shard go on if it is refused; `end` takes COMMIT and its kin.
    pub(super) fn refused_shard(
        &mut self,
        section: &Section<Box<MapStep>>,
        shard: &Shard,
        end: Target,
    ) -> Option<Target> {
        let why = shard.refuse.as_deref()?;
        let key = (shard.address.clone(), end);
        if let Some(&chain) = self.shared.refused_shards.get(&key) {
            return Some(Target::Jump(chain));
        }
        let address = &shard.address;
        let chain = self.chains.draft.chain(&format!("{address}.refused"));
        self.chains.draft.rarely(chain);
        let control = forms::ends_transaction(self.chains.wording());
        self.chains.go(chain, "control", address, control, end);
        let refused = Refused::of_shard(section, shard, why);
        self.chains
            .refuse(chain, "refused", address, EngineRule::default(), &refused);
        self.shared.refused_shards.insert(key, chain);
        Some(Target::Jump(chain))
    }

    /// In front of rows of fast routing, which refuse nothing: the schemas of refused shards.
    pub(super) fn refuse_schemas(&mut self, chain: ChainRef, of: MapUse<'_>, rows: &[KeyedSchema]) {
        let section = of.section;
        for row in rows {
            let shard = &section.step.shards[row.shard];
            if let Some(refused) = self.refused_shard(section, shard, of.exits.end) {
                let about = Some(summary::key(&section.step.key, &row.key));
                let rule = schema_rule(&row.schema);
                self.chains
                    .go_about(chain, &row.schema, &shard.address, rule, refused, about);
            }
        }
    }
}
