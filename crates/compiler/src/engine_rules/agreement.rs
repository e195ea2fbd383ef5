//! A key in a comment beside a key in the name of the session's schema: both must be the same.
//!
//! No condition of a rule compares a text with a schema. So the rule of each schema with a key asks that no other key stands in
//! the comment. These are the rules that place sessions by their schemas, whether they have a comment or not: a session in
//! such a schema meets them instead of the tree. Sessions in a schema without a key go to the tree.
//!
//! Example: tenants 1 and 2, found in comments and in schemas `t_1` and `t_2`; `app` is a schema without a key.
//!
//! ```text
//! a key in a comment:   schema app                                       the tree
//!                       any other schema                                 the rules of schemas
//! rules of schemas:     schema t_1, and no other key than 1 in a comment the cluster of tenant 1
//!                       schema t_2, and no other key than 2 in a comment the cluster of tenant 2
//!                       a key in a comment                               refused
//! ```
//!
//! Where no pattern tells the other keys, or reads are told from writes in front of the rules of schemas, each schema has a
//! second rule instead, which asks for its key in the comment.

use std::collections::HashSet;

use shardwright_rules::refusal::Refusal;
use shardwright_rules::{EngineRule, KeyTemplate, MapStep};

use super::Lowering;
use super::chains::Target;
use super::maps::MapUse;
use super::refusals::Refused;
use super::schema_names::{KeyedSchema, SchemaKeys, named_schemas};
use crate::draft::{ChainRef, schema_rule, text_rule};
use crate::key_patterns::KeyPatterns;
use crate::program::Section;
use crate::summary;

/// Schemas that the refusal names.
const MOST_NAMED: usize = 8;

/// Where statements with a key in a comment go on, by the schema of their session.
pub(super) struct Agreement {
    /// Schemas in which any key is accepted.
    accepted: Vec<String>,
    /// The chain for the other schemas.
    own: ChainRef,
}

impl Lowering<'_, '_> {
    /// Whether the rules that place sessions by their schemas can compare a key in a comment with the schema.
    pub(super) fn schemas_compare(
        &mut self,
        of: MapUse<'_>,
        key: &KeyPatterns,
        template: &KeyTemplate,
    ) -> bool {
        let rows = self.keyed_schemas(of.section, template);
        self.schemas_place(of) && rows.iter().all(|row| key.other_than(&row.key).is_some())
    }

    /// The check behind the rules that find a key in a comment: where sessions in schemas with a key go on, and which others
    /// there are. `trees` place statements by the comment alone.
    pub(super) fn agreement(
        &mut self,
        of: MapUse<'_>,
        key: &KeyPatterns,
        schemas: SchemaKeys<'_>,
        trees: Target,
    ) -> Agreement {
        let rows = self.keyed_schemas(of.section, schemas.template);
        let accepted = self.accepted_schemas(of.section, schemas.template, &rows);
        let own = match schemas.compare {
            Some(chain) => chain,
            None => self.own_schemas(of, key, &rows, &accepted, trees),
        };
        Agreement { accepted, own }
    }

    /// Hands statements with a key in a comment to `trees`, or to the rules of their schemas.
    pub(super) fn agreeing(&mut self, chain: ChainRef, of: MapUse<'_>, agreement: &Agreement, trees: Target) {
        let address = &of.section.address;
        for schema in &agreement.accepted {
            self.chains.go(chain, schema, address, schema_rule(schema), trees);
        }
        let own = Target::Jump(agreement.own);
        self.chains
            .go(chain, "own_schemas", address, EngineRule::default(), own);
    }

    /// Refuses what has a key in a comment, in a schema that is not its own.
    pub(super) fn refuse_other_schemas(
        &mut self,
        chain: ChainRef,
        of: MapUse<'_>,
        accepted: &[String],
        rule: EngineRule,
    ) {
        let step = &of.section.step;
        let listed = accepted[..accepted.len().min(MOST_NAMED)].join(", ");
        let what = format!(
            "shard map {}: with a {} in a comment, the session's schema must be that {}'s own, or one of {listed}",
            step.map, step.key, step.key,
        );
        let message = Refusal::OtherShardsSchema.message(&what);
        let refused = Refused::by(of.section, Refusal::OtherShardsSchema, message);
        self.chains
            .refuse(chain, "other", &of.section.address, rule, &refused);
    }

    /// The schemas without a key in which statements with any key in a comment are accepted.
    pub(super) fn accepted_schemas(
        &self,
        section: &Section<Box<MapStep>>,
        template: &KeyTemplate,
        rows: &[KeyedSchema],
    ) -> Vec<String> {
        let step = &*section.step;
        let of_shards: HashSet<&str> = step
            .shards
            .iter()
            .filter_map(|shard| shard.schema.as_deref())
            .collect();
        let has_no_key =
            |schema: &&str| template.extract(step.kind, schema).is_none() && !of_shards.contains(schema);
        let named = named_schemas(self.input.program, section, rows).into_iter();
        named.filter(has_no_key).map(str::to_owned).collect()
    }

    /// Whether a rule for a schema that names a writer is all that a session needs: the split follows it, or there is none.
    fn schemas_place(&mut self, of: MapUse<'_>) -> bool {
        self.input.plan(of.map).splits_behind() || self.readers_of(of.section, &of.class.groups).is_empty()
    }

    /// A rule for each schema that asks for its key in the comment.
    fn own_schemas(
        &mut self,
        of: MapUse<'_>,
        key: &KeyPatterns,
        rows: &[KeyedSchema],
        accepted: &[String],
        trees: Target,
    ) -> ChainRef {
        let section = of.section;
        let step = &*section.step;
        let own = self
            .chains
            .draft
            .chain(&format!("{}.own_schemas", section.address));
        self.chains.draft.rarely(own);
        let places = self.schemas_place(of);
        let targets = match places {
            true => self.session_targets(of),
            false => vec![trees; step.shards.len()],
        };
        for row in self.in_front_of(own, of, rows, &targets) {
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
        self.refuse_other_schemas(own, of, accepted, EngineRule::default());
        own
    }
}
