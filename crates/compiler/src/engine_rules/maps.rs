//! The first chain of a map: its finders in turn, behind what its scope asks for.

use shardwright_rules::{Conflict, EngineRule, Finder, MapStep};

use super::Lowering;
use super::chains::{Branch, Target};
use super::role_groups::RoleGroup;
use super::schema_names::SchemaKeys;
use crate::conditions::{self, Conditions};
use crate::draft::ChainRef;
use crate::map_plans::Layout;
use crate::program::Section;

/// Users whose statements meet the same maps.
#[derive(Clone, Debug)]
pub(crate) struct Class {
    /// Names, ascending.
    pub(crate) users: Vec<String>,
    /// Whether every statement belongs to the class, whoever sends it.
    pub(crate) everyone: bool,
    /// Places of maps, in order.
    pub(crate) maps: Vec<usize>,
    /// The users by the policies that they follow; at least one group, the largest last.
    pub(crate) groups: Vec<RoleGroup>,
}

impl Class {
    /// The policies that a user follows.
    pub(super) fn policies(&self, user: &str) -> &[usize] {
        let follows = |group: &&RoleGroup| group.users.iter().any(|name| name == user);
        let group = self.groups.iter().find(follows).or(self.groups.last());
        group.map_or(&[], |group| &group.policies)
    }
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
    groups: Vec<RoleGroup>,
    /// Users that count.
    users: Vec<String>,
}

impl Lowering<'_, '_> {
    /// The first chain of a map for a class of users.
    pub(crate) fn map_chain(&mut self, map: usize, class: &Class, exits: Exits) -> ChainRef {
        let plan = self.input.plan(map);
        let counts_users = |map: usize| {
            let reading = self.input.plan(map).reading.as_ref();
            reading.is_some_and(|reading| reading.user.is_some())
        };
        let followers = self.input.followers(self.input.map(map));
        let by_user = counts_users(map)
            || followers.into_iter().any(counts_users)
            || !self.input.map(map).step.missing_by_user.is_empty();
        let users = if by_user || plan.layout == Layout::FastRouting {
            class.users.clone()
        } else {
            Vec::new()
        };
        let key = MapKey {
            map,
            exits,
            groups: class.groups.clone(),
            users,
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
            (None, Some(template), _) => self.schema_chain(of, template, None),
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
                let rejects = step.conflict == Conflict::Reject;
                let compares = schema
                    .as_ref()
                    .is_some_and(|template| rejects && self.schemas_compare(of, key, template));
                let by_schema = schema
                    .as_ref()
                    .map(|template| self.schema_chain(of, template, Some(key).filter(|_| compares)));
                let schemas = schema.as_ref().filter(|_| rejects).map(|template| SchemaKeys {
                    template,
                    compare: by_schema.filter(|_| compares),
                });
                let without = by_schema.or(column).map(Target::Jump);
                self.comment_chain(of, key, without, schemas)
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
