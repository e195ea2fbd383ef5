//! The kinds of change between two configurations that route differently, each with a statement as people write them.
//!
//! A proof finds the shortest texts, and often many of one change. Here ordinary statements, on tables that the rules name
//! and with keys of the maps, are tried in sessions of every user and in every schema that rows ask for. Those that go
//! another way are sorted by the objects that decide them and by the places between which they move. One example of each
//! sort is then tried for all users and in all schemas, which tells how many of them it concerns.

mod texts;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use shardwright_rules::{Configuration, Decision, Effects, KeyValue, MapStep, Outcome, Shard};

use super::steps::{differing_keys, keyed, keyed_schemas};
use super::{ComparedSession, Difference, Pair, Relation};
use crate::budget::{Budget, Spending};
use crate::example::ORDINARY;
use crate::lookup::Lookup;
use crate::session::{Session, given};
use texts::{Oddness, Text};

/// Users and schemas that are tried, of each at most as many.
const MOST_USERS: usize = 256;
const MOST_SCHEMAS: usize = 256;
/// Keys of a map that are tried, and shards of one that are counted, at most as many.
const MOST_KEYED: usize = 200;
const MOST_SHARDS: usize = 5000;
/// How the address of a map begins.
const OF_MAPS: &str = "shard_maps.";
/// Users whose sessions are tried with a statement that one rule or key gave.
const USERS_OF_A_TEXT: usize = 4;
/// The table of ordinary statements.
const TABLE: &str = "t";

/// One kind of change.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangeKind {
    /// A statement of it; both evaluators were run on it.
    pub example: Difference,
    /// How many users' statements of this text change in this way, of those who can log in on either side.
    pub users: Share,
    /// In how many schemas this statement changes in this way, of those that rows and users name.
    pub schemas: Share,
    /// How many shards of the map that decides are elsewhere; of nothing where no map decides or nobody knows its keys.
    pub shards: Share,
    /// Whether the example is a statement as people write it.
    pub is_ordinary: bool,
    /// How many statements of it were found.
    pub seen: usize,
}

/// A part of some things.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// How many it concerns.
    pub concerned: usize,
    /// How many there are.
    pub of: usize,
}

impl Share {
    /// In thousandths; all of nothing.
    #[must_use]
    pub fn per_mille(self) -> usize {
        (self.concerned * 1000).checked_div(self.of).unwrap_or(1000)
    }
}

/// The kinds of change, in no order that says anything. `found` are differences that are known already; each belongs to
/// one of the kinds. `maps` are the shard maps of the second configuration, whose keys are tried.
#[must_use]
pub fn change_kinds(
    [before, after]: [&Configuration; 2],
    found: &[Difference],
    maps: &[MapStep],
) -> Vec<ChangeKind> {
    let both = [before, after];
    let lookups = Lookup::of_both(both);
    let spending = Rc::new(Spending::of(Budget::default()));
    let pair = Pair {
        lookups: &lookups,
        relation: Relation::Alike,
        spending: &spending,
    };
    let mut search = Search {
        places: Places::of(both),
        pair: &pair,
        maps,
        sorts: BTreeMap::new(),
    };
    search.of_users();
    search.ordinary();
    search.of_rules();
    search.of_keys();
    for difference in found {
        search.note(difference.clone(), Oddness::Found);
    }
    search.into_kinds()
}

/// Everything by which one kind of change is told from another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Sort {
    /// The objects that decide, before and after.
    deciders: [String; 2],
    /// The ends before and after.
    ends: [String; 2],
}

/// The best example of a sort so far.
struct Best {
    oddness: Oddness,
    example: Difference,
    /// How many statements of the sort there were.
    seen: usize,
}

struct Search<'s, 'c> {
    pair: &'s Pair<'s, 'c>,
    maps: &'s [MapStep],
    places: Places,
    sorts: BTreeMap<Sort, Best>,
}

impl Search<'_, '_> {
    fn note(&mut self, difference: Difference, oddness: Oddness) {
        let rank = |oddness: Oddness, example: &Difference| (oddness, example.statement.len());
        match self.sorts.entry(self.sort(&difference)) {
            Entry::Vacant(new) => {
                new.insert(Best {
                    oddness,
                    example: difference,
                    seen: 1,
                });
            }
            Entry::Occupied(known) => {
                let best = known.into_mut();
                best.seen += 1;
                if rank(oddness, &difference) < rank(best.oddness, &best.example) {
                    best.oddness = oddness;
                    best.example = difference;
                }
            }
        }
    }

    fn try_text(&mut self, session: &ComparedSession, text: &Text) {
        if self.places.has_user_twice(&session.user)
            && let Some(difference) = self.pair.difference(session, &text.text)
        {
            self.note(difference, text.oddness);
        }
    }

    /// Users who can log in on one side only.
    fn of_users(&mut self) {
        let lone = self.places.users.iter().filter(|(_, sides)| **sides != [true; 2]);
        let lone: Vec<(String, bool)> = lone.map(|(name, sides)| (name.clone(), sides[0])).collect();
        for (name, is_before) in lone {
            let side = usize::from(!is_before);
            let session: ComparedSession = Session::of_user(self.pair.configuration(side), &name).into();
            let mut shown = self.pair.decided(&session, ORDINARY[0].as_bytes());
            if is_before {
                shown.right = None;
            } else {
                shown.left = None;
            }
            self.note(shown, Oddness::Ordinary(0));
        }
    }

    /// Ordinary statements of every user, and in every schema of one user who may be meant there.
    fn ordinary(&mut self) {
        let texts = texts::on_table(TABLE);
        let of_users = self.places.users.keys().take(MOST_USERS);
        let mut sessions: Vec<ComparedSession> = of_users.map(|user| self.session(user, None)).collect();
        let in_schemas = self.places.schemas.iter().take(MOST_SCHEMAS);
        sessions.extend(in_schemas.flat_map(|(schema, users)| {
            let anybody = self.places.users.keys().take(1).filter(|_| users.is_empty());
            let users = users.iter().chain(anybody);
            users.map(|user| self.session(user, Some(schema)))
        }));
        for session in &sessions {
            for text in &texts {
                self.try_text(session, text);
            }
        }
    }

    /// Statements that rules of one side ask for.
    fn of_rules(&mut self) {
        let both = [0, 1].map(|side| self.pair.configuration(side));
        for (session, text) in texts::of_differing_rules(both) {
            let session: ComparedSession = session.into();
            self.try_text(&session, &text);
            self.try_for_some_users(&text);
        }
    }

    /// Statements with a key of each shard, and with those of shards that only one side has.
    fn of_keys(&mut self) {
        for map in self.maps {
            let apart = map.shards.len().div_ceil(MOST_KEYED).max(1);
            for key in map.shards.iter().step_by(apart).filter_map(key_of) {
                self.of_key(map, &key);
            }
        }
        let [before, after] = [0, 1].map(|side| self.pair.configuration(side).graph.maps());
        let after: Vec<&MapStep> = after.collect();
        for map in before {
            let same = after.iter().find(|other| other.map == map.map);
            for key in same.into_iter().flat_map(|other| differing_keys(map, other)) {
                self.of_key(map, &key);
            }
        }
    }

    fn of_key(&mut self, map: &MapStep, key: &KeyValue) {
        for user in self.some_users() {
            for (session, text) in self.carriers(map, key, &user) {
                self.try_text(&session, &text);
            }
        }
    }

    /// Statements of a user that carry a key, each in its session.
    fn carriers(&self, map: &MapStep, key: &KeyValue, user: &str) -> Vec<(ComparedSession, Text)> {
        let texts = keyed(map, key).into_iter().map(Text::plain);
        let own = texts.map(|text| (self.session(user, None), text));
        let in_schemas = keyed_schemas(map, key).into_iter().map(|schema| {
            let text = Text::plain(ORDINARY[0].as_bytes().to_vec());
            (self.session(user, Some(&schema)), text)
        });
        own.chain(in_schemas).collect()
    }

    fn try_for_some_users(&mut self, text: &Text) {
        for user in self.some_users() {
            let session = self.session(&user, None);
            self.try_text(&session, text);
        }
    }

    fn some_users(&self) -> Vec<String> {
        let twice = self.places.users.iter().filter(|(_, sides)| **sides == [true; 2]);
        twice
            .take(USERS_OF_A_TEXT)
            .map(|(name, _)| name.clone())
            .collect()
    }

    /// A session of a user, in a schema or in the user's own.
    fn session(&self, user: &str, schema: Option<&str>) -> ComparedSession {
        let mut session: ComparedSession = Session::of_user(self.pair.configuration(0), user).into();
        session.schemas = [0, 1].map(|side| {
            let own = || self.pair.configuration(side).default_schema(user);
            schema.or_else(own).map(str::to_owned)
        });
        session
    }

    fn sort(&self, difference: &Difference) -> Sort {
        let sides = [&difference.left, &difference.right];
        let block = |side: usize| {
            let decision = sides[side].as_ref();
            decision.map_or_else(String::new, |one| decider(self.pair.configuration(side), one))
        };
        let deciders = [block(0), block(1)];
        let by_map = deciders[0].starts_with(OF_MAPS) && deciders[0] == deciders[1];
        let ends = match sides.map(|side| side.as_ref().map(|decision| &decision.outcome)) {
            [Some(left), Some(right)] => [end(left, right, by_map), end(right, left, by_map)],
            sides => sides.map(|side| side.map_or("nobody", |_| "somebody").to_owned()),
        };
        Sort { deciders, ends }
    }

    fn into_kinds(self) -> Vec<ChangeKind> {
        let kinds = self.sorts.iter().map(
            |(
                sort,
                Best {
                    oddness,
                    example,
                    seen,
                },
            )| ChangeKind {
                example: example.clone(),
                is_ordinary: *oddness < Oddness::OfPattern,
                users: self.users_of(sort, example),
                schemas: self.schemas_of(sort, example),
                shards: self.shards_of(sort, example),
                seen: *seen,
            },
        );
        kinds.collect()
    }

    fn users_of(&self, sort: &Sort, example: &Difference) -> Share {
        let users = self.places.users.keys().take(MOST_USERS);
        let own = self.session(&example.session.user, None).schemas;
        let asked = (example.session.schemas != own).then(|| example.session.schemas.clone());
        let concerned = users.clone().filter(|user| {
            let session = ComparedSession {
                schemas: asked.clone().unwrap_or_else(|| self.session(user, None).schemas),
                user: (*user).clone(),
                ..example.session.clone()
            };
            self.is_of(sort, example, &session)
        });
        Share {
            concerned: concerned.count(),
            of: users.len(),
        }
    }

    fn schemas_of(&self, sort: &Sort, example: &Difference) -> Share {
        if is_login(example) {
            return Share::default();
        }
        let schemas = self.places.schemas.keys().take(MOST_SCHEMAS);
        let concerned = schemas.clone().filter(|schema| {
            let session = ComparedSession {
                schemas: [Some((*schema).clone()), Some((*schema).clone())],
                ..example.session.clone()
            };
            self.is_of(sort, example, &session)
        });
        Share {
            concerned: concerned.count(),
            of: schemas.len(),
        }
    }

    /// The shards whose keys show the kind too, in the session of the example.
    fn shards_of(&self, sort: &Sort, example: &Difference) -> Share {
        let decides = |map: &&MapStep| sort.deciders.contains(&format!("{OF_MAPS}{}", map.map));
        let Some(map) = self.maps.iter().find(decides) else {
            return Share::default();
        };
        let user = &example.session.user;
        let shows = |key: &KeyValue| {
            let mut carriers = self.carriers(map, key, user).into_iter();
            carriers.any(|(session, text)| {
                let difference = self.pair.difference(&session, &text.text);
                difference.is_some_and(|difference| self.sort(&difference) == *sort)
            })
        };
        let keys: Vec<KeyValue> = map.shards.iter().filter_map(key_of).take(MOST_SHARDS).collect();
        Share {
            concerned: keys.iter().filter(|key| shows(key)).count(),
            of: keys.len(),
        }
    }

    /// Whether the statement of an example is of a kind in another session too.
    fn is_of(&self, sort: &Sort, example: &Difference, session: &ComparedSession) -> bool {
        if is_login(example) {
            let sides = self.places.users.get(&session.user);
            return sides == Some(&[example.left.is_some(), example.right.is_some()]);
        }
        self.places.has_user_twice(&session.user)
            && self
                .pair
                .difference(session, &example.statement)
                .is_some_and(|difference| self.sort(&difference) == *sort)
    }
}

/// Whether it is that a user can log in on one side only.
fn is_login(difference: &Difference) -> bool {
    difference.left.is_none() || difference.right.is_none()
}

/// The object that decides: the section and the name of the last rule that matched; of rules in the engine's columns the
/// rule.
fn decider(configuration: &Configuration, decision: &Decision) -> String {
    let Some(last) = decision.hits.last() else {
        return String::new();
    };
    let rule = &configuration.graph.rules[*last as usize];
    match rule.address.as_str().split('.').collect::<Vec<_>>().as_slice() {
        ["query_rules", ..] => format!("query_rules {}", rule.id),
        ["users", ..] => "users".to_owned(),
        [section, name, ..] => format!("{section}.{name}"),
        other => other.concat(),
    }
}

/// A key of a shard; none of one that is placed by a remainder.
fn key_of(shard: &Shard) -> Option<KeyValue> {
    let of_range = shard.ranges.first().map(|range| KeyValue::Integer(range.0));
    shard.keys.first().cloned().or(of_range)
}

/// Where a statement ends, and what of it is not as on the other side. Shards of the map that decides are alike.
fn end(own: &Outcome, other: &Outcome, by_map: bool) -> String {
    match own {
        Outcome::Route(route) => {
            let place = match by_map {
                true => format!("a shard, {:?}", route.role),
                false => route.hostgroup.to_string(),
            };
            let none = Effects::NONE;
            let (effects, rewritten) = match other {
                Outcome::Route(other) => (&other.effects, other.rewritten.is_some()),
                _ => (&none, false),
            };
            let with = (*effects != route.effects).then(|| format!("{:?}", route.effects));
            let with_text = (rewritten != route.rewritten.is_some()).then_some(", another text");
            format!(
                "{place}{}{}",
                with.unwrap_or_default(),
                with_text.unwrap_or_default()
            )
        }
        Outcome::Reject(rejection) => format!("refused {}", rejection.code),
        Outcome::Answer { .. } | Outcome::Own { .. } | Outcome::DeferBegin => "answered".to_owned(),
    }
}

/// Users, schemas and shards of both sides.
struct Places {
    /// Who can log in, and on which side.
    users: BTreeMap<String, [bool; 2]>,
    /// The schemas that rows and users name, with the users of the rows that are of one.
    schemas: BTreeMap<String, BTreeSet<String>>,
}

impl Places {
    fn of(both: [&Configuration; 2]) -> Self {
        let mut places = Self {
            users: BTreeMap::new(),
            schemas: BTreeMap::new(),
        };
        for (side, configuration) in both.into_iter().enumerate() {
            for user in &configuration.users {
                places.users.entry(user.name.clone()).or_default()[side] = true;
                places.add_schema(configuration.default_schema(&user.name), Some(&user.name));
            }
            for row in super::engine_rows(configuration) {
                places.add_schema(given(&row.schemaname), given(&row.username));
            }
            for row in &configuration.graph.fast_routing {
                let user = Some(row.username.as_str()).filter(|user| !user.is_empty());
                places.add_schema(Some(&row.schemaname), user);
            }
        }
        if places.users.is_empty() {
            places.users.insert("another".to_owned(), [true; 2]);
        }
        places
    }

    fn add_schema(&mut self, schema: Option<&str>, user: Option<&str>) {
        if let Some(schema) = schema.filter(|schema| !schema.is_empty()) {
            let users = self.schemas.entry(schema.to_owned()).or_default();
            users.extend(user.map(str::to_owned));
        }
    }

    fn has_user_twice(&self, user: &str) -> bool {
        self.users.get(user) == Some(&[true; 2])
    }
}
