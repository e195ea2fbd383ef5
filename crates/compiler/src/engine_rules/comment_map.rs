//! The chains of a map whose key stands in a comment: is there a key, is there one only, and may the statement be read
//! elsewhere.

use shardwright_rules::refusal::{self, Refusal};
use shardwright_rules::{CommentForm, EngineRule, Finder, MapStep, Modifiers};

use super::agreement::Agreement;
use super::chains::{Chains, Dialect, Target};
use super::maps::MapUse;
use super::refusals::Refused;
use super::schema_names::SchemaKeys;
use super::tree::KeySource;
use super::{Lowering, Recognised, UsualReads, UsualStatements};
use crate::draft::{ChainRef, text_rule};
use crate::key_patterns::{KeyPatterns, Usual};
use crate::program::Section;

impl Lowering<'_, '_> {
    /// The chain of a map whose key stands in a comment. Statements without one go on to `without`, or are asked for a missing
    /// key. With `schemas`, the session's schema must not have another.
    pub(super) fn comment_chain(
        &mut self,
        of: MapUse<'_>,
        key: &KeyPatterns,
        without: Option<Target>,
        schemas: Option<SchemaKeys<'_>>,
    ) -> ChainRef {
        let section = of.section;
        let address = &section.address;
        let first = self.chains.draft.chain(&address.to_string());
        let usual = key.usual(self.chains.wording());
        let found = self.chains.draft.chain(&format!("{address}.found"));
        self.found_or_not(of, key, first, found, without);
        let has_one_key = usual.as_ref().is_some_and(|usual| usual.has_one_key);
        let once = self.once(of, key, found, has_one_key);
        let usual_enter = if has_one_key { once } else { found };
        let found = once;
        self.refuse_keys_of_later_maps(found, of);
        let reading = self.input.plan(of.map).reading.as_ref();
        let found = match reading.and_then(|reading| reading.column.as_ref()) {
            Some(column) => self.chains.refuse_column_and_comment(found, section, column),
            None => found,
        };
        self.chains.rewrite_guards(found, section, key);
        let trees = self.trees(of, KeySource::Comment);
        let agreement = schemas.map(|schemas| self.agreement(of, key, schemas, trees.all));
        let is_guarded = !self.chains.draft.get(found).rules.is_empty();
        self.checked(found, of, agreement.as_ref(), trees.all);
        if let Some(usual) = usual {
            let reads = trees.reads.filter(|_| has_one_key && !is_guarded);
            let reads = reads.and_then(|trees| self.usual_reads(of, &usual, agreement.as_ref(), trees));
            let usual = UsualStatements {
                address: address.clone(),
                keyed: Recognised {
                    rule: text_rule(usual.pattern),
                    found: usual_enter,
                },
                reads,
                bare: schemas.and_then(|_| self.bare(without?)),
            };
            self.shared.usual.insert(first, usual);
        }
        first
    }

    /// Hands statements with one key to `trees`, where the session's schema agrees with it.
    fn checked(&mut self, chain: ChainRef, of: MapUse<'_>, agreement: Option<&Agreement>, trees: Target) {
        match agreement {
            None => {
                let address = &of.section.address;
                self.chains
                    .go(chain, "tree", address, EngineRule::default(), trees);
            }
            Some(agreement) => self.agreeing(chain, of, agreement, trees),
        }
    }

    /// Usual statements that are plain reads, of the users whose policy takes each of them: no rule need ask whether they are
    /// reads, so they go to `trees`, which place reads.
    fn usual_reads(
        &mut self,
        of: MapUse<'_>,
        usual: &Usual,
        agreement: Option<&Agreement>,
        trees: ChainRef,
    ) -> Option<UsualReads> {
        let groups = of.class.groups.iter();
        let groups: Vec<_> = groups
            .filter(|group| self.reads_plainly(of.section, group))
            .collect();
        if groups.is_empty() {
            return None;
        }
        let users = groups.into_iter().flat_map(|group| group.users.clone());
        let found = match agreement {
            None => trees,
            Some(_) => {
                let chain = self.chains.draft.chain(&format!("{}.reads", of.section.address));
                self.checked(chain, of, agreement, Target::Jump(trees));
                chain
            }
        };
        let rule = EngineRule {
            re_modifiers: Modifiers::default(),
            ..text_rule(usual.reads.clone())
        };
        Some(UsualReads {
            reads: Recognised { rule, found },
            users: users.collect(),
        })
    }

    /// Statements without a comment, which have no key in one: they go to `rest`.
    fn bare(&self, rest: Target) -> Option<Recognised> {
        let Target::Jump(found) = rest else {
            return None;
        };
        Some(Recognised {
            rule: text_rule(self.chains.wording().bare()),
            found,
        })
    }

    /// Refuses statements with two keys, and gives the chain for the others. It is one of its own where `others_enter` it.
    fn once(&mut self, of: MapUse<'_>, key: &KeyPatterns, found: ChainRef, others_enter: bool) -> ChainRef {
        let address = &of.section.address;
        if self.asks_once(key) {
            return found;
        }
        let several = Refused::plainly(of.section, Refusal::ConflictingKeys);
        let rule = text_rule(key.repeats.clone());
        self.chains.refuse(found, "repeated", address, rule, &several);
        if !others_enter {
            return found;
        }
        let once = self.chains.draft.chain(&format!("{address}.once"));
        self.chains
            .go(found, "once", address, EngineRule::default(), Target::Jump(once));
        once
    }

    /// In the chain `first`, hands statements with a key on to `found`, and the others where they belong. ProxySQL asks for the
    /// key word before anything else: most statements of other maps do not have it, and a search for one word is quick,
    /// where the pattern that proves a comment tries many ways before it fails.
    fn found_or_not(
        &mut self,
        of: MapUse<'_>,
        key: &KeyPatterns,
        first: ChainRef,
        found: ChainRef,
        without: Option<Target>,
    ) {
        let section = of.section;
        let address = &section.address;
        let rest = match without {
            Some(target) => target,
            None => {
                let missing = self.chains.draft.chain(&format!("{address}.missing"));
                self.missing(missing, of);
                Target::Jump(missing)
            }
        };
        if self.chains.dialect != Dialect::Bundled {
            let rule = EngineRule {
                negate_match_pattern: true,
                ..text_rule(key.word.clone())
            };
            self.chains.go(first, "no_word", address, rule, rest);
        }
        let rule = text_rule(key.accepts.clone());
        self.chains.go(first, "found", address, rule, Target::Jump(found));
        self.chains.doubtful(first, section, key);
        self.chains
            .go(first, "rest", address, EngineRule::default(), rest);
    }
}

impl Chains {
    /// Refuses statements in which the key's word stands where no pattern can tell a comment from other text.
    pub(super) fn doubtful(&mut self, chain: ChainRef, section: &Section<Box<MapStep>>, key: &KeyPatterns) {
        let step = &*section.step;
        let is_encoded = |finder: &Finder| matches!(finder, Finder::Comment { form, .. } if *form == CommentForm::Sqlcommenter);
        let encoded = match step.finders.iter().any(is_encoded) {
            true => ", or has percent-encoded characters",
            false => "",
        };
        let what = format!(
            "shard map {}: the {} stands where it cannot be told from other text{encoded}; put it first, {}",
            step.map,
            step.key,
            refusal::accepted_forms(&step.key, &step.finders)
        );
        self.refuse(
            chain,
            "doubtful",
            &section.address,
            text_rule(key.doubtful.clone()),
            &Refused::by(section, Refusal::MissingKey, Refusal::MissingKey.message(&what)),
        );
    }
}
