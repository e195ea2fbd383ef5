//! Maps whose key stands in the name of the session's schema: fast routing, or one rule for each schema.

use std::collections::HashMap;

use shardwright_diagnostics::Severity;
use shardwright_rules::refusal::{self, Refusal};
use shardwright_rules::{EngineRule, KeyTemplate, MapStep, MissingAction, UnknownKey};

use super::Lowering;
use super::chains::Target;
use super::effects::EffectUse;
use super::maps::{Exits, MapUse};
use super::refusals::Refused;
use super::role::RoleTargets;
use super::role_groups::RoleGroup;
use super::schema_names::{KeyedSchema, named_schemas};
use crate::diagnostics::DIFFERENCE;
use crate::draft::{ChainRef, DraftRoute, DraftRule, schema_rule, text_rule};
use crate::key_patterns::KeyPatterns;
use crate::map_plans::Layout;
use crate::program::Section;
use crate::summary;

/// The schemas of a map, by name, and the form of their names.
#[derive(Clone, Copy)]
struct KeyedSchemas<'s> {
    template: &'s KeyTemplate,
    rows: &'s [KeyedSchema],
}

impl Lowering<'_, '_> {
    /// The chain of a map whose key stands in schema names. With `beside`, a key in a comment is refused that is not the schema's.
    pub(super) fn schema_chain(
        &mut self,
        of: MapUse<'_>,
        template: &KeyTemplate,
        beside: Option<&KeyPatterns>,
    ) -> ChainRef {
        let MapUse {
            map,
            section,
            class,
            exits,
        } = of;
        let plan = self.input.plan(map);
        let reads_comments = plan
            .reading
            .as_ref()
            .is_some_and(|reading| reading.comment.is_some());
        let flat = plan.layout == Layout::Flat || reads_comments;
        let readers = self.readers_of(section, &class.groups);
        let rows = self.keyed_schemas(section, template);
        let schemas = KeyedSchemas {
            template,
            rows: &rows,
        };
        let entry = self.chains.draft.chain(&format!("{}.schemas", section.address));
        if flat || exits.placed != Target::Stop {
            let rest = self.rest_of_schemas(of, schemas);
            if let Some(rest) = rest {
                let names: Vec<EngineRule> = rows.iter().map(|row| schema_rule(&row.schema)).collect();
                self.refuse_sessions_with_keys_of_later_maps(entry, of, &names, rest);
            }
            let last = self.flat_schemas(entry, of, &rows, &readers, beside);
            if let Some(commented) = beside.and_then(KeyPatterns::commented) {
                let accepted = self.accepted_schemas(section, template, &rows);
                self.refuse_other_schemas(last, of, &accepted, text_rule(commented.to_owned()));
            }
            let what = "statements that name another shard's schema are not seen: they go to the shard of the session's schema";
            self.report.difference(section.origin, "key_from", what);
            match rest {
                Some(rest) => self
                    .chains
                    .go(last, "rest", &section.address, EngineRule::default(), rest),
                None => self.missing(last, of),
            }
            return entry;
        }
        self.refuse_schemas(entry, of, &rows);
        if !all_pass(&section.step, exits.unkeyed) {
            let missing = self
                .chains
                .draft
                .chain(&format!("{}.schemas.missing", section.address));
            self.missing(missing, of);
            self.named_schemas(entry, section, schemas, exits, missing);
        }
        self.unlisted(entry, section);
        self.route_fast(entry, of, &rows, &readers);
        entry
    }

    /// Rows of fast routing, behind the effects on their schemas; two lists of rows where reads go elsewhere.
    fn route_fast(&mut self, entry: ChainRef, of: MapUse<'_>, rows: &[KeyedSchema], policies: &[usize]) {
        let MapUse { section, class, .. } = of;
        if !rows.is_empty() {
            self.outputs.routed_maps.insert(of.map);
        }
        let used = self.schema_effects(section, rows);
        let everyone: Vec<&RoleGroup> = class.groups.iter().collect();
        let target = if policies.is_empty() {
            if used.is_empty() {
                return self.fast_rows(entry, rows, of, &everyone, &[]);
            }
            let chain = self
                .chains
                .draft
                .chain(&format!("{}.schemas.rows", section.address));
            self.fast_rows(chain, rows, of, &everyone, &[]);
            Target::Jump(chain)
        } else {
            let writers = self
                .chains
                .draft
                .chain(&format!("{}.schemas.writers", section.address));
            let readers = self
                .chains
                .draft
                .chain(&format!("{}.schemas.readers", section.address));
            let followers = class.groups.iter().filter(|group| !group.policies.is_empty());
            self.fast_rows(writers, rows, of, &everyone, &[]);
            self.fast_rows(readers, rows, of, &followers.collect::<Vec<_>>(), policies);
            let name = format!("{}.schemas.role", section.address);
            let targets = RoleTargets::chains(readers, writers);
            self.split(&name, section, &class.groups, targets)
        };
        let target = self.through(used, target);
        let name = if policies.is_empty() { "rows" } else { "role" };
        self.chains
            .go(entry, name, &section.address, EngineRule::default(), target);
    }

    /// The effects on sessions of a map's schemas. Fast routing places a statement at the end, so the effects stand
    /// before it; those on some of the clusters are limited to the schemas that lie there.
    fn schema_effects(&self, section: &Section<Box<MapStep>>, rows: &[KeyedSchema]) -> Vec<EffectUse> {
        let shards = &section.step.shards;
        let mut used = Vec::new();
        for &effect in self.input.effects {
            let names = &self.input.program.effects[effect].scope.clusters;
            let covers = |at: usize| {
                shards[at]
                    .cluster
                    .as_deref()
                    .is_some_and(|name| names.contains(name))
            };
            let schemas: Vec<String> = rows
                .iter()
                .filter(|row| covers(row.shard))
                .map(|row| row.schema.clone())
                .collect();
            if schemas.is_empty() {
                continue;
            }
            let everywhere = names.is_any() || schemas.len() == rows.len();
            used.push(EffectUse {
                effect,
                schemas: (!everywhere).then_some(schemas),
            });
        }
        used
    }

    /// Where sessions go on in whose schema there is no shard's key. A rule asks for whole names, so that what has the
    /// form of a key and belongs to no shard is not distinguished from the rest; where that matters, it is refused with them.
    fn rest_of_schemas(&mut self, of: MapUse<'_>, schemas: KeyedSchemas<'_>) -> Option<Target> {
        let MapUse { section, exits, .. } = of;
        let step = &*section.step;
        let is_same = step
            .every_missing()
            .all(|missing| match (&missing.statements, &step.unknown) {
                (MissingAction::Reject, _) => true,
                (MissingAction::Cluster(missing), UnknownKey::Cluster(unknown)) => missing == unknown,
                _ => false,
            });
        if is_same && step.otherwise.is_none() {
            return None;
        }
        let what = "statements of sessions in a schema that this topology does not name are refused, because it may have a \
                    key of no shard; `applies_to.except_schemas` takes schemas that have none";
        self.report.difference(section.origin, "key_from", what);
        let missing = self
            .chains
            .draft
            .chain(&format!("{}.schemas.missing", section.address));
        self.missing(missing, of);
        let chain = self
            .chains
            .draft
            .chain(&format!("{}.schemas.rest", section.address));
        self.named_schemas(chain, section, schemas, exits, missing);
        let message = Refusal::UnknownKey.message(&format!(
            "shard map {}: the session's schema is no shard's, and the topology does not name it",
            step.map
        ));
        let refused = Refused::by(section, Refusal::UnknownKey, message);
        self.missing_or(chain, of, refused);
        Some(Target::Jump(chain))
    }

    /// A rule for each schema; gives the chain in which sessions in other schemas go on.
    fn flat_schemas(
        &mut self,
        chain: ChainRef,
        of: MapUse<'_>,
        rows: &[KeyedSchema],
        policies: &[usize],
        beside: Option<&KeyPatterns>,
    ) -> ChainRef {
        let section = of.section;
        if policies.is_empty() || self.input.plan(of.map).splits_behind() {
            self.schema_rows(chain, of, rows, &[], beside);
            return chain;
        }
        let readers = self
            .chains
            .draft
            .chain(&format!("{}.schemas.readers", section.address));
        let writers = self
            .chains
            .draft
            .chain(&format!("{}.schemas.writers", section.address));
        self.schema_rows(readers, of, rows, policies, beside);
        self.chains.go(
            readers,
            "rest",
            &section.address,
            EngineRule::default(),
            Target::Jump(writers),
        );
        self.schema_rows(writers, of, rows, &[], beside);
        let name = format!("{}.schemas.role", section.address);
        let targets = RoleTargets::chains(readers, writers);
        let role = self.split(&name, section, &of.class.groups, targets);
        self.chains
            .go(chain, "role", &section.address, EngineRule::default(), role);
        writers
    }

    /// Rules that place sessions by their schemas, on the readers of `policies` or on writers; not with another key than that of
    /// the schema, where `beside` tells the keys of comments.
    fn schema_rows(
        &mut self,
        chain: ChainRef,
        of: MapUse<'_>,
        rows: &[KeyedSchema],
        policies: &[usize],
        beside: Option<&KeyPatterns>,
    ) {
        let targets = self.session_targets(of);
        for row in self.in_front_of(chain, of, rows, &targets) {
            let KeyedSchema { schema, key, shard } = row;
            let placement = &of.section.step.shards[*shard];
            let other = beside.and_then(|comment| comment.other_than(key));
            let refused = self.refused_shard(of.section, placement, of.exits.end);
            let destination = self.input.destination(policies, placement);
            let destination = destination.filter(|_| refused.is_none());
            let rule = EngineRule {
                schemaname: Some(schema.clone()),
                destination_hostgroup: destination.map(|hostgroup| hostgroup.0),
                negate_match_pattern: other.is_some(),
                ..other.map(text_rule).unwrap_or_default()
            };
            let about = Some(summary::key(&of.section.step.key, key));
            let target = refused.unwrap_or(targets[*shard]);
            self.chains
                .go_about(chain, schema, &placement.address, rule, target, about);
        }
    }

    /// The schemas of a map as their rules stand in a chain: cluster by cluster in front of what follows there, if that differs.
    pub(super) fn in_front_of<'r>(
        &mut self,
        chain: ChainRef,
        of: MapUse<'_>,
        rows: &'r [KeyedSchema],
        targets: &[Target],
    ) -> Vec<&'r KeyedSchema> {
        let mut rows: Vec<&KeyedSchema> = rows.iter().collect();
        if targets.iter().any(|target| *target != targets[0]) {
            let shards = &of.section.step.shards;
            // Numbers of hostgroups are kept, so that a key that moves takes nothing but its own rules along.
            rows.sort_by_cached_key(|row| self.input.destination(&[], &shards[row.shard]));
            self.chains.draft.weave(chain);
        }
        rows
    }

    /// By shard, where a session goes on that its schema has placed on the shard's writer.
    pub(super) fn session_targets(&mut self, of: MapUse<'_>) -> Vec<Target> {
        let splits_behind = self.input.plan(of.map).splits_behind();
        let mut known: HashMap<Option<&str>, Target> = HashMap::new();
        let mut targets = Vec::with_capacity(of.section.step.shards.len());
        for shard in &of.section.step.shards {
            let cluster = shard.cluster.as_deref();
            let target = match known.get(&cluster) {
                Some(&target) => target,
                None => {
                    let placed = self.behind_shard(shard, of.exits.placed);
                    let target = match cluster {
                        Some(cluster) if splits_behind => self.split_on(cluster, &of.class.groups, placed),
                        _ => placed,
                    };
                    known.insert(cluster, target);
                    target
                }
            };
            targets.push(target);
        }
        targets
    }

    /// Schemas that the topology names and the map does not hold: they have no key, or one of no shard.
    fn named_schemas(
        &mut self,
        chain: ChainRef,
        section: &Section<Box<MapStep>>,
        keyed: KeyedSchemas<'_>,
        exits: Exits,
        missing: ChainRef,
    ) {
        let step = &*section.step;
        let schemas = named_schemas(self.input.program, section, keyed.rows);
        for schema in schemas {
            let (rule, address) = (schema_rule(schema), &section.address);
            let Some(key) = keyed.template.extract(step.kind, schema) else {
                self.chains
                    .go(chain, schema, address, rule, Target::Jump(missing));
                continue;
            };
            match &step.unknown {
                UnknownKey::Cluster(cluster) => {
                    let target = self.with_effects(cluster, exits.elsewhere);
                    let rule = EngineRule {
                        destination_hostgroup: Some(self.input.program.resolved_cluster(cluster).writer.0),
                        ..rule
                    };
                    self.chains.go(chain, schema, address, rule, target);
                }
                UnknownKey::Reject => {
                    let message = refusal::unknown_key(&step.map, &step.key, Some(key), &[]);
                    let refused = Refused::by(section, Refusal::UnknownKey, message);
                    self.chains.refuse(chain, schema, address, rule, &refused);
                }
            }
        }
    }

    /// What happens in schemas that nothing names: fast routing has no row for them.
    fn unlisted(&mut self, chain: ChainRef, section: &Section<Box<MapStep>>) {
        let step = &*section.step;
        let engine = self.report.engine;
        let seen = "statements that name another shard's schema are not seen";
        match (&step.unknown, &step.missing.statements) {
            (UnknownKey::Cluster(unknown), MissingAction::Cluster(missing)) if unknown == missing => {
                let rule = EngineRule {
                    destination_hostgroup: Some(self.input.program.resolved_cluster(unknown).writer.0),
                    ..EngineRule::default()
                };
                let name = format!("{}/unlisted", self.chains.draft.get(chain).name);
                let about = Some("schemas without a shard: the cluster of unknown keys");
                let rule = DraftRule::engine(name, &section.address, rule).about(about);
                self.chains.draft.push(chain, rule);
                self.report.difference(section.origin, "key_from", seen);
            }
            (UnknownKey::Reject, MissingAction::Allow) | (UnknownKey::Reject, MissingAction::Reject) => {
                let message = format!(
                    "on {engine}, a session in a schema that this topology does not name is not refused: it goes to the \
                     user's cluster, which refuses schemas that it does not have; and {seen}; `rule_layout: flat` refuses \
                     such sessions"
                );
                self.report
                    .add(Severity::Warning, DIFFERENCE, section.origin, "key_from", message);
            }
            _ => {
                let what = "send unknown keys and missing keys in schema names to different places";
                self.report.unsupported(section.origin, "unknown_key", what);
            }
        }
    }

    /// Rows of fast routing for the users of some groups.
    fn fast_rows(
        &mut self,
        chain: ChainRef,
        rows: &[KeyedSchema],
        of: MapUse<'_>,
        groups: &[&RoleGroup],
        policies: &[usize],
    ) {
        let MapUse { section, class, .. } = of;
        let users: Vec<&str> = if class.everyone {
            vec![""]
        } else {
            let users = groups.iter().flat_map(|group| &group.users);
            users.map(String::as_str).collect()
        };
        for KeyedSchema { schema, shard, .. } in rows {
            let shard = &section.step.shards[*shard];
            let placed = self.input.destination(policies, shard);
            let Some(hostgroup) = placed.filter(|_| shard.refuse.is_none()) else {
                continue;
            };
            for username in &users {
                self.outputs.routes.push(DraftRoute {
                    username: (*username).to_owned(),
                    schemaname: schema.clone(),
                    chain,
                    hostgroup,
                    address: shard.address.clone(),
                });
            }
        }
    }
}

/// Whether statements without a key go to the user's cluster, as those do that fast routing has no row for.
fn all_pass(step: &MapStep, next: Target) -> bool {
    let allowed = MissingAction::Allow;
    step.every_missing()
        .all(|missing| missing.statements == allowed && missing.session_setup == allowed)
        && next == Target::Stop
        && step.otherwise.is_none()
}
