//! The first chains of a map: is there a key, is there one only, and may the statement be read elsewhere.

use shardwright_rules::refusal::Refusal;
use shardwright_rules::{CommentForm, Conflict, EngineRule, Finder, KeyTemplate, MapStep, refusal};

use super::classes::Class;
use super::conditions::{self, Conditions};
use super::refusals::Refused;
use super::tree::{KeyPlace, TreeKey};
use super::{Lowering, Target, text_rule};
use crate::draft::ChainRef;
use crate::keys::site::KeySite;
use crate::native::Section;

impl Lowering<'_, '_> {
    /// The first chain of a map for a class of users; `next` takes what the map leaves, `leaf` what it has placed.
    pub(super) fn map_chain(&mut self, map: usize, class: &Class, next: Target, leaf: Target) -> ChainRef {
        let by_user = self.plans[map]
            .reading
            .as_ref()
            .is_some_and(|reading| reading.user.is_some());
        let users = if by_user || self.plans[map].layout == "fast_routing" {
            class.users.clone()
        } else {
            Vec::new()
        };
        let key = (
            map,
            [next, leaf, self.placed],
            class.policies.clone(),
            [users, class.schemas.clone()].concat(),
        );
        if let Some(&chain) = self.map_chains.get(&key) {
            return chain;
        }
        let program = self.program;
        let section = &program.maps[map];
        let reading = self.plans[map]
            .reading
            .clone()
            .expect("only maps that can be read are laid out");
        let column = reading
            .column
            .map(|column| self.column_chain(map, class, &column, next, leaf));
        let chain = match (reading.comment, reading.schema, reading.user) {
            (None, ..) if column.is_some() => column.expect("asked in the guard"),
            (None, Some(template), _) => self.schema_chain(map, &template, class, next, leaf),
            (None, None, Some(template)) => self.user_chain(map, &template, class, next, leaf),
            (None, None, None) => unreachable!("a reading reads something"),
            (Some(site), _, Some(template)) => {
                let comment_decides =
                    section.step.conflict == Conflict::First && Self::comment_is_first(&section.step);
                if comment_decides {
                    let users = self.user_chain(map, &template, class, next, leaf);
                    self.comment_chain(map, class, &site, (next, Some(Target::Jump(users))), leaf, None)
                } else {
                    let others = self.comment_chain(map, class, &site, (next, None), leaf, None);
                    self.users_with_comments(map, (&template, &site), class, leaf, others)
                }
            }
            (Some(site), schema, None) => {
                let schemas = match &schema {
                    Some(template) if section.step.conflict == Conflict::Reject => {
                        Some(without_key(&section.step, template, &class.schemas))
                    }
                    _ => None,
                };
                let without = match schema {
                    Some(template) => Some(self.schema_chain(map, &template, class, next, leaf)),
                    None => column,
                };
                let without = without.map(Target::Jump);
                self.comment_chain(map, class, &site, (next, without), leaf, schemas)
            }
        };
        let chain = self.conditional(section, chain, next);
        self.map_chains.insert(key, chain);
        chain
    }

    /// In front of a map whose scope asks for more than users and clusters.
    fn conditional(&mut self, section: &Section<Box<MapStep>>, chain: ChainRef, next: Target) -> ChainRef {
        let program = self.program;
        let scope = conditions::rest(&section.scope);
        let conditions = match Conditions::of(&scope, &program.users) {
            Ok(conditions) if conditions::is_conditional(&section.scope) => conditions,
            _ => return chain,
        };
        let first = self.draft.chain(&format!("{}.scope", section.address));
        let address = &section.address;
        let rest = self.branch(first, "", address, &conditions, Target::Jump(chain));
        self.go(rest, "rest", address, EngineRule::default(), next);
        first
    }

    fn comment_chain(
        &mut self,
        map: usize,
        class: &Class,
        site: &KeySite,
        (next, without): (Target, Option<Target>),
        leaf: Target,
        schemas: Option<Vec<String>>,
    ) -> ChainRef {
        let program = self.program;
        let section = &program.maps[map];
        let address = &section.address;
        let found = self.draft.chain(&format!("{address}.found"));
        let first = self.found_or_not(section, site, found, (next, without));
        let several = Refused::plainly(section, Refusal::ConflictingKeys);
        if !self.asks_once(site) {
            let rule = text_rule(site.repeats.clone());
            self.refuse(found, "repeated", address, rule, &several);
        }
        self.other_maps_keys(found, section, class);
        let found = self.column_beside_comment(found, map);
        self.rewrite_guards(found, section, site);
        self.place_by_trees(found, map, class, leaf, (KeyPlace::Comment, schemas));
        first
    }

    /// From statements that have a key to the tree that places them; two trees where reads are sent elsewhere.
    pub(super) fn place_by_trees(
        &mut self,
        found: ChainRef,
        map: usize,
        class: &Class,
        leaf: Target,
        (place, schemas): (KeyPlace, Option<Vec<String>>),
    ) {
        let program = self.program;
        let section = &program.maps[map];
        let (step, address) = (&*section.step, &section.address);
        let places_cluster = step.shards.iter().any(|shard| shard.cluster.is_some());
        let readers = if places_cluster {
            self.policies_of(section, &class.policies)
        } else {
            Vec::new()
        };
        let placed = self.placed;
        let tree = |readers: Vec<usize>| TreeKey {
            map,
            place,
            readers,
            leaf,
            placed,
            schemas: schemas.clone(),
        };
        let writers = self.tree(tree(Vec::new()));
        let target = match readers.first() {
            None => writers,
            Some(&policy) => {
                let key = tree(readers);
                let readers = self.tree(key.clone());
                let name = match place {
                    KeyPlace::Comment => format!("{address}.role"),
                    KeyPlace::Column => format!("{address}.column.role"),
                };
                let role = self.role_chain(&name, policy, Target::Jump(readers), Target::Jump(writers));
                self.compare_splits(&key, role, [readers, writers]);
                role
            }
        };
        self.go(
            found,
            "tree",
            address,
            EngineRule::default(),
            Target::Jump(target),
        );
    }

    /// Hands statements with a key on to `found`, and the others where they belong. ProxySQL asks for the key word before
    /// anything else: most statements of other maps do not have it, and a search for one word is quick, where the
    /// pattern that proves a comment tries many ways before it fails.
    fn found_or_not(
        &mut self,
        section: &Section<Box<MapStep>>,
        site: &KeySite,
        found: ChainRef,
        (next, without): (Target, Option<Target>),
    ) -> ChainRef {
        let address = &section.address;
        let first = self.draft.chain(&address.to_string());
        let rest = match without {
            Some(target) => target,
            None => {
                let missing = self.draft.chain(&format!("{address}.missing"));
                self.missing(missing, section, next);
                Target::Jump(missing)
            }
        };
        let worded = if self.automata {
            first
        } else {
            let worded = self.draft.chain(&format!("{address}.word"));
            let rule = text_rule(site.word.clone());
            self.go(first, "word", address, rule, Target::Jump(worded));
            worded
        };
        let rule = text_rule(site.accepts.clone());
        self.go(worded, "found", address, rule, Target::Jump(found));
        self.doubtful(worded, section, site);
        self.go(worded, "rest", address, EngineRule::default(), rest);
        if worded != first {
            self.go(first, "rest", address, EngineRule::default(), rest);
        }
        first
    }

    /// Refuses statements in which the key's word stands where no pattern can tell a comment from other text.
    pub(super) fn doubtful(&mut self, chain: ChainRef, section: &Section<Box<MapStep>>, site: &KeySite) {
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
            text_rule(site.doubtful.clone()),
            &Refused::by(section, Refusal::MissingKey, Refusal::MissingKey.message(&what)),
        );
    }
}

/// The schemas whose names have no key in them: beside one that has, a key in a comment may be another.
fn without_key(step: &MapStep, template: &KeyTemplate, schemas: &[String]) -> Vec<String> {
    let has_none = |schema: &&String| template.extract(step.kind, schema).is_none();
    schemas.iter().filter(has_none).cloned().collect()
}
