//! A key in a comment beside a key in the name of the session's schema: both must be the same.
//!
//! No condition of a rule compares a text with a schema, so each schema with a key has a rule that asks for this key in the
//! comment. Whoever is in such a schema meets these rules instead of the tree, so each places its statements by
//! itself where the split follows it. Sessions in a schema without a key go to the tree.
//!
//! Example: tenants 1 and 2, found in comments and in schemas `t_1` and `t_2`; `app` is a schema without a key.
//!
//! ```text
//! schema app                   the tree
//! schema t_1 and `tenant=1`    the cluster of tenant 1
//! schema t_2 and `tenant=2`    the cluster of tenant 2
//! else                         refused
//! ```

use std::collections::HashSet;

use shardwright_rules::refusal::Refusal;
use shardwright_rules::{EngineRule, KeyTemplate};

use super::Lowering;
use super::chains::Target;
use super::maps::MapUse;
use super::refusals::Refused;
use super::schema_names::named_schemas;
use crate::draft::{ChainRef, schema_rule, text_rule};
use crate::key_patterns::KeyPatterns;
use crate::summary;

/// Schemas that the refusal names.
const MOST_NAMED: usize = 8;

impl Lowering<'_, '_> {
    /// Behind the rules that find a key in a comment: sessions of other shards' schemas are refused, and `trees` place those in
    /// schemas without a key.
    pub(super) fn agreement(
        &mut self,
        found: ChainRef,
        of: MapUse<'_>,
        key: &KeyPatterns,
        template: &KeyTemplate,
        trees: Target,
    ) {
        let section = of.section;
        let (step, address) = (&*section.step, &section.address);
        let rows = self.keyed_schemas(section, template);
        let of_shards: HashSet<&str> = step
            .shards
            .iter()
            .filter_map(|shard| shard.schema.as_deref())
            .collect();
        let mut accepted = named_schemas(self.input.program, section, &rows);
        accepted
            .retain(|schema| template.extract(step.kind, schema).is_none() && !of_shards.contains(schema));
        for schema in &accepted {
            self.chains.go(found, schema, address, schema_rule(schema), trees);
        }
        let own = self.chains.draft.chain(&format!("{address}.own_schemas"));
        self.chains.draft.rarely(own);
        self.chains.go(
            found,
            "own_schemas",
            address,
            EngineRule::default(),
            Target::Jump(own),
        );
        // A rule that names a writer is all that a session needs where the split follows it, or where there is none.
        let places =
            self.input.plan(of.map).splits_behind() || self.readers_of(section, &of.class.groups).is_empty();
        let targets = match places {
            true => self.session_targets(of),
            false => vec![trees; step.shards.len()],
        };
        for row in self.in_front_of(own, of, &rows, &targets) {
            let shard = &step.shards[row.shard];
            let Some(sought) = key.one(&row.key) else {
                continue;
            };
            let refused = self.refused_shard(section, shard, of.exits.end);
            let writer = self.input.destination(&[], shard);
            let writer = writer.filter(|_| places && refused.is_none());
            let rule = EngineRule {
                schemaname: Some(row.schema.clone()),
                destination_hostgroup: writer.map(|hostgroup| hostgroup.0),
                ..text_rule(key.pattern(sought))
            };
            let about = Some(summary::key(&step.key, &row.key));
            let target = refused.unwrap_or(targets[row.shard]);
            self.chains
                .go_about(own, &row.schema, &shard.address, rule, target, about);
        }
        let listed: Vec<&str> = accepted.iter().copied().take(MOST_NAMED).collect();
        let what = format!(
            "shard map {}: with a {} in a comment, the session's schema must be that {}'s own, or one of {}",
            step.map,
            step.key,
            step.key,
            listed.join(", ")
        );
        let message = Refusal::OtherShardsSchema.message(&what);
        let refused = Refused::by(section, Refusal::OtherShardsSchema, message);
        self.chains
            .refuse(own, "other", address, EngineRule::default(), &refused);
    }
}
