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

use shardwright_rules::refusal::Refusal;
use shardwright_rules::{EngineRule, KeyTemplate, Shard};

use super::Lowering;
use super::chains::Target;
use super::maps::MapUse;
use super::refusals::Refused;
use super::schema_map::of_schema;
use super::schema_names::named_schemas;
use crate::draft::{ChainRef, text_rule};
use crate::key_patterns::KeyPatterns;

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
        let is_of_shard = |schema: &str| {
            step.shards
                .iter()
                .any(|shard| shard.schema.as_deref() == Some(schema))
        };
        let mut accepted = named_schemas(self.input.program, section, &rows);
        accepted.retain(|schema| template.extract(step.kind, schema).is_none() && !is_of_shard(schema));
        for schema in &accepted {
            self.chains.go(found, schema, address, of_schema(schema), trees);
        }
        let own = self.chains.draft.chain(&format!("{address}.own_schemas"));
        self.chains.go(
            found,
            "own_schemas",
            address,
            EngineRule::default(),
            Target::Jump(own),
        );
        for row in &rows {
            let shard = &step.shards[row.shard];
            if let Some(pattern) = key.one(&row.key) {
                self.own_schema(own, of, (&row.schema, shard), pattern, trees);
            }
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

    /// The rule for a schema and the key that may stand beside it.
    fn own_schema(
        &mut self,
        chain: ChainRef,
        of: MapUse<'_>,
        (schema, shard): (&str, &Shard),
        pattern: String,
        trees: Target,
    ) {
        let rule = EngineRule {
            schemaname: Some(schema.to_owned()),
            ..text_rule(pattern)
        };
        if !self.places_sessions(of) {
            return self.chains.go(chain, schema, &shard.address, rule, trees);
        }
        let rule = EngineRule {
            destination_hostgroup: self.input.destination(&[], shard).map(|hostgroup| hostgroup.0),
            ..rule
        };
        let target = self.behind_session(of, shard);
        self.chains.go(chain, schema, &shard.address, rule, target);
    }

    /// Whether a rule that names a writer is all that a session needs.
    fn places_sessions(&mut self, of: MapUse<'_>) -> bool {
        let splits_behind = self.input.plan(of.map).splits_behind();
        splits_behind || self.readers_of(of.section, &of.class.groups).is_empty()
    }
}
