//! The first chain of a map: its finders in turn, behind what its scope asks for.

use shardwright_rules::{Conflict, EngineRule, Finder, KeyTemplate, MapStep};

use super::Lowering;
use super::chains::{Branch, Target};
use super::effects::EffectUse;
use crate::conditions::{self, Conditions};
use crate::draft::ChainRef;
use crate::map_plans::Layout;
use crate::program::Section;

/// Users and the sections that their statements meet.
#[derive(Clone, Debug)]
pub(crate) struct Class {
    /// Names, ascending.
    pub(crate) users: Vec<String>,
    /// Whether every statement belongs to the class, whoever sends it.
    pub(crate) everyone: bool,
    /// Places of maps, in order.
    pub(crate) maps: Vec<usize>,
    /// Places of policies, in order.
    pub(crate) policies: Vec<usize>,
    /// Name of the users' cluster; empty where it does not matter.
    pub(crate) cluster: String,
    /// Session schemas that belong to no shard.
    pub(crate) schemas: Vec<String>,
    /// Effects on statements that stay on the users' cluster.
    pub(crate) home: Vec<EffectUse>,
}

/// Where statements go on behind a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Exits {
    /// Those that the map leaves alone: the next section.
    pub(crate) unkeyed: Target,
    /// Those that a shard has placed.
    pub(crate) placed: Target,
    /// Those whose key is unknown or missing and which have a cluster all the same.
    pub(crate) elsewhere: Target,
    /// Those that no section places, whatever comes behind the map.
    pub(crate) end: Target,
}

/// A map as the statements of one class of users meet it.
#[derive(Clone, Copy)]
pub(crate) struct MapUse<'u> {
    /// Index of the map in the program.
    pub(crate) map: usize,
    /// The map.
    pub(crate) section: &'u Section<Box<MapStep>>,
    /// The users.
    pub(crate) class: &'u Class,
    /// What lies behind the map.
    pub(crate) exits: Exits,
}

/// What the first chain of a map depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct MapKey {
    map: usize,
    exits: Exits,
    policies: Vec<usize>,
    /// Users that count, and session schemas.
    names: Vec<String>,
}

impl Lowering<'_, '_> {
    /// The first chain of a map for a class of users.
    pub(crate) fn map_chain(&mut self, map: usize, class: &Class, exits: Exits) -> ChainRef {
        let plan = self.input.plan(map);
        let by_user = plan
            .reading
            .as_ref()
            .is_some_and(|reading| reading.user.is_some());
        let users = if by_user || plan.layout == Layout::FastRouting {
            class.users.clone()
        } else {
            Vec::new()
        };
        let key = MapKey {
            map,
            exits,
            policies: class.policies.clone(),
            names: [users, class.schemas.clone()].concat(),
        };
        if let Some(&chain) = self.shared.maps.get(&key) {
            return chain;
        }
        let of = MapUse {
            map,
            section: self.input.map(map),
            class,
            exits,
        };
        let chain = self.finders(of);
        let chain = self.conditional(of, chain);
        self.shared.maps.insert(key, chain);
        chain
    }

    /// The chain that asks a map's finders for a key.
    fn finders(&mut self, of: MapUse<'_>) -> ChainRef {
        let reading = self.input.plan(of.map).reading.as_ref();
        let reading = reading.expect("only maps that can be read are laid out");
        let step = &*of.section.step;
        let column = reading
            .column
            .as_ref()
            .map(|column| self.column_chain(of, column));
        match (&reading.comment, &reading.schema, &reading.user) {
            (None, ..) if column.is_some() => column.expect("asked in the guard"),
            (None, Some(template), _) => self.schema_chain(of, template),
            (None, None, Some(template)) => self.user_chain(of, template),
            (None, None, None) => unreachable!("a reading reads something"),
            (Some(key), _, Some(template)) => {
                if step.conflict == Conflict::First && comment_is_first(step) {
                    let users = self.user_chain(of, template);
                    self.comment_chain(of, key, Some(Target::Jump(users)), None)
                } else {
                    let others = self.comment_chain(of, key, None, None);
                    self.users_with_comments(of, template, key, others)
                }
            }
            (Some(key), schema, None) => {
                let schemas = match schema {
                    Some(template) if step.conflict == Conflict::Reject => {
                        Some(without_key(step, template, &of.class.schemas))
                    }
                    _ => None,
                };
                let without = match schema {
                    Some(template) => Some(self.schema_chain(of, template)),
                    None => column,
                };
                self.comment_chain(of, key, without.map(Target::Jump), schemas)
            }
        }
    }

    /// In front of a map whose scope asks for more than users and clusters.
    fn conditional(&mut self, of: MapUse<'_>, chain: ChainRef) -> ChainRef {
        let section = of.section;
        let scope = conditions::rest(&section.scope);
        let conditions = match Conditions::of(&scope, &self.input.program.users) {
            Ok(conditions) if conditions::is_conditional(&section.scope) => conditions,
            _ => return chain,
        };
        let address = &section.address;
        let first = self.chains.draft.chain(&format!("{address}.scope"));
        let branch = Branch {
            name: "",
            address,
            conditions: &conditions,
            yes: Target::Jump(chain),
        };
        let rest = self.chains.branch(first, branch);
        self.chains
            .go(rest, "rest", address, EngineRule::default(), of.exits.unkeyed);
        first
    }
}

/// Whether the finder of comments stands before that of users.
fn comment_is_first(step: &MapStep) -> bool {
    let index = |wanted: fn(&Finder) -> bool| step.finders.iter().position(wanted);
    index(|finder| matches!(finder, Finder::Comment { .. }))
        < index(|finder| matches!(finder, Finder::User { .. }))
}

/// The schemas whose names have no key in them: beside one that has, a key in a comment may be another.
fn without_key(step: &MapStep, template: &KeyTemplate, schemas: &[String]) -> Vec<String> {
    let has_none = |schema: &&String| template.extract(step.kind, schema).is_none();
    schemas.iter().filter(has_none).cloned().collect()
}
