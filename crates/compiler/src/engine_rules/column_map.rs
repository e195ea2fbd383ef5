//! The chains of a map whose key stands in a column: what can be placed, what must be refused, and what has no key.

use shardwright_rules::refusal::Refusal;
use shardwright_rules::{EngineRule, MapStep, Modifiers};

use super::Lowering;
use super::chains::{Chains, Target};
use super::maps::MapUse;
use super::refusals::Refused;
use super::tree::KeySource;
use crate::draft::{ChainRef, DraftRule, text_rule};
use crate::key_patterns::{ColumnPatterns, SHAPES};
use crate::program::Section;

/// What may store or read rows without naming columns, and what only some servers read.
const STORES: &str = r"\b(?:INSERT|REPLACE|LOAD|HANDLER|PREPARE|EXECUTE)\b|/\*M?!";
/// An INSERT or REPLACE with a list of columns, and no other.
const LISTS_COLUMNS: &str = concat!(
    r"\A(?:/\*[^!M*][^*]*\*/)?[^'();!]*\b(?:INSERT|REPLACE)[\t-\r ]+(?:(?:LOW_PRIORITY|DELAYED|HIGH_PRIORITY|IGNORE)[\t-\r ]+){0,2}(?:INTO[\t-\r ]+)?",
    r"[0-9A-Z_$`.]+[\t-\r ]*\([^()'/#-]*\)[\t-\r ]*(?:VALUES?[\t-\r ]*\(|SELECT\b)"
);

impl Lowering<'_, '_> {
    /// The first chain of a map whose key stands in a column.
    pub(super) fn column_chain(&mut self, of: MapUse<'_>, column: &ColumnPatterns) -> ChainRef {
        let section = of.section;
        let (step, address) = (&*section.step, &section.address);
        let logical = step
            .logical_schema
            .as_deref()
            .expect("a column finder has a logical schema; the topology checks it");
        let first = self.chains.draft.chain(&format!("{address}.column"));
        let found = self.chains.draft.chain(&format!("{address}.column.found"));
        let accepted = text_rule(column.key.accepts.clone());
        self.chains
            .go(first, "found", address, accepted, Target::Jump(found));
        let in_schema = |rule: EngineRule| EngineRule {
            schemaname: Some(logical.to_owned()),
            ..rule
        };
        if !writes_schemas(step) {
            let accepted = in_schema(text_rule(column.accepts_in_schema.clone()));
            self.chains
                .go(first, "found_in_schema", address, accepted, Target::Jump(found));
        }
        let message = Refusal::NotOneShard.message(&format!(
            "cannot be placed on one shard: shard map {}: the statement is about {logical}, and no `{} = literal` is found in it; \
             this engine reads it where the statement has {SHAPES}",
            step.map, step.key
        ));
        let refused = Refused::by(section, Refusal::NotOneShard, message);
        let mention = text_rule(column.mentions_schema.clone());
        self.chains.refuse(first, "mentioned", address, mention, &refused);
        let inside = self.chains.draft.chain(&format!("{address}.column.in_schema"));
        self.missing_or(inside, of, refused);
        let rule = in_schema(EngineRule::default());
        self.chains
            .go(first, "in_schema", address, rule, Target::Jump(inside));
        self.missing(first, of);

        self.chains.column_guards(found, section, column, logical);
        let trees = self.trees(of, KeySource::Column).all;
        self.chains
            .go(found, "tree", address, EngineRule::default(), trees);
        first
    }
}

impl Chains {
    /// Refuses what has an accepted shape and still cannot be placed.
    fn column_guards(
        &mut self,
        found: ChainRef,
        section: &Section<Box<MapStep>>,
        column: &ColumnPatterns,
        logical: &str,
    ) {
        let (step, address) = (&*section.step, &section.address);
        let several = Refused::plainly(section, Refusal::ConflictingKeys);
        let repeated = text_rule(column.key.repeats.clone());
        self.refuse(found, "repeated", address, repeated, &several);
        let doubt = |what: &str| {
            let what = format!("cannot be placed on one shard: shard map {}: {what}", step.map);
            Refused::by(section, Refusal::NotOneShard, Refusal::NotOneShard.message(&what))
        };
        let ambiguous = text_rule(column.ambiguous.clone());
        let message = doubt("what looks like its key may be a literal, or it reads no table");
        self.refuse(found, "ambiguous", address, ambiguous, &message);
        if !writes_schemas(step) {
            return;
        }
        let message = doubt(&format!("{logical} stands in it twice"));
        let twice = text_rule(column.repeats_schema.clone());
        self.refuse(found, "schema", address, twice, &message);
        self.refuse_logical_sessions(found, section, logical);
    }

    /// Refuses a statement whose key stands in a comment and that names the key column too: they may differ.
    /// An INSERT that lists no columns stores a value in it all the same. Gives the chain in which the others go on.
    pub(super) fn refuse_column_and_comment(
        &mut self,
        found: ChainRef,
        section: &Section<Box<MapStep>>,
        column: &ColumnPatterns,
    ) -> ChainRef {
        let mentions = column.mentions_column.clone();
        let several = Refused::plainly(section, Refusal::ConflictingKeys);
        self.refuse(found, "column", &section.address, text_rule(mentions), &several);
        let address = &section.address;
        let (stores, rest) = (
            self.draft.chain(&format!("{address}.stores")),
            self.draft.chain(&format!("{address}.beside_column")),
        );
        let without_case = |pattern: &str| EngineRule {
            match_pattern: Some(pattern.to_owned()),
            ..EngineRule::default()
        };
        self.go(
            found,
            "stores",
            address,
            without_case(STORES),
            Target::Jump(stores),
        );
        self.go(found, "rest", address, EngineRule::default(), Target::Jump(rest));
        self.go(
            stores,
            "listed",
            address,
            without_case(LISTS_COLUMNS),
            Target::Jump(rest),
        );
        let what = format!(
            "cannot be placed on one shard: shard map {}: an INSERT without a column list, LOAD, HANDLER, a text that is \
             prepared, or an executable comment does not show its {}",
            section.step.map, section.step.key
        );
        let refused = Refused::by(section, Refusal::NotOneShard, Refusal::NotOneShard.message(&what));
        self.refuse(stores, "unlisted", address, EngineRule::default(), &refused);
        rest
    }

    /// Where the shards lack the column: a chain that writes `1=1` for the predicate and goes on.
    pub(super) fn without_predicate(
        &mut self,
        section: &Section<Box<MapStep>>,
        predicate: &str,
        target: Target,
    ) -> ChainRef {
        let key = (section.step.map.clone(), target);
        if let Some(&chain) = self.shared.predicates.get(&key) {
            return chain;
        }
        let address = &section.address;
        let chain = self.draft.chain(&format!("{address}.column.predicate"));
        let rule = EngineRule {
            replace_pattern: Some("1=1".to_owned()),
            re_modifiers: Modifiers {
                caseless: false,
                global: false,
            },
            ..text_rule(predicate.to_owned())
        };
        let name = format!("{}/removed", self.draft.get(chain).name);
        let rule = DraftRule::engine(name, address, rule).about(Some("writes 1=1 for the predicate"));
        self.draft.push(chain, rule);
        self.go(chain, "end", address, EngineRule::default(), target);
        self.shared.predicates.insert(key, chain);
        chain
    }
}

/// Whether statements get the schema of their shard.
fn writes_schemas(step: &MapStep) -> bool {
    step.shards.iter().any(|shard| shard.schema.is_some())
}
