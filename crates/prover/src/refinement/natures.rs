//! Statements that ProxySQL and the bundled engine treat differently whatever the rules say: told once each.
//!
//! # Idea
//!
//! Some differences between the two engines are no question of the rules: how many statements a text holds, what COMMIT
//! follows, which functions are built in. `docs/engines.md` lists them. A refinement across engines is about all other
//! statements. The statements that are tried show which of these differences a configuration meets, with one example each,
//! and whether anything else differs.
//!
//! # Invariant
//!
//! A statement is set aside only if it is one of those that the difference is about, by the engines' own reading of it.
//! Every other statement that the first side places where the second does not is a difference.

use std::collections::BTreeMap;
use std::sync::Arc;

use shardwright_rules::refusal::Refusal;
use shardwright_rules::{Configuration, Finder, HostgroupId, MapStep, Outcome, Role, Statement};
use shardwright_sql::{ReadHazards, StatementClass};

use crate::equivalence::{ComparedSession, Difference, Relation};
use crate::keyed_shards::KeyedShards;
use crate::lookup::Lookup;
use crate::natives;
use crate::properties::Prover;
use crate::session::Session;

/// What is looked at in a difference.
struct Decided<'d> {
    statement: &'d Statement<'d>,
    /// The hostgroup of the user.
    default: Option<HostgroupId>,
    proxysql: &'d Outcome,
    bundled: &'d Outcome,
}

/// A difference between the engines.
struct Nature {
    what: &'static str,
    is: fn(&Decided<'_>) -> bool,
}

const NATURES: [Nature; 5] = [
    Nature {
        what: "several statements in one text: ProxySQL reads them as one statement, the bundled engine refuses them on \
               shards",
        is: |decided| decided.statement.has_several(),
    },
    Nature {
        what: "COMMIT, ROLLBACK, SAVEPOINT and XA outside a transaction: ProxySQL follows their key, the bundled engine \
               sends them to the user's cluster",
        is: |decided| decided.statement.follows_transaction(),
    },
    Nature {
        what: "SET that ProxySQL cannot follow: it goes to the user's hostgroup",
        is: |decided| is_set_to_default(decided),
    },
    Nature {
        what: "calls of functions that are not built in: ProxySQL counts them as reads, the bundled engine keeps them on \
               the writer",
        is: |decided| is_read_of_own_functions(decided),
    },
    Nature {
        what: "schemas of other shards that a statement names: ProxySQL looks at the session's schema and at keys, the \
               bundled engine refuses the statement",
        is: |decided| names_schemas_of_other_shards(decided),
    },
];

/// What sessions without a schema are in.
const DEFAULT_SCHEMA: &str =
    "sessions that name no schema: ProxySQL has a default schema for them, the bundled engine has none";

/// Texts to try behind each key, besides ordinary ones.
const TEXTS: [&str; 14] = [
    "SELECT a FROM t WHERE id=1",
    "SELECT 1",
    "SELECT f(a) FROM t WHERE id=1",
    "SELECT 1; SELECT 2",
    "SAVEPOINT a",
    "RELEASE a",
    "XA BEGIN 'x'",
    "SET sql_select_limit=1+1",
    "SET NAMES utf8mb4",
    "SHOW TABLES",
    "INSERT INTO t (id, a) VALUES (1, 'x')",
    "UPDATE t SET a=1 WHERE id=1",
    "SELECT a FROM t WHERE id=1 FOR UPDATE",
    "BEGIN",
];

/// Keys of each map that are tried.
const MOST_KEYS: usize = 3;
/// Users that are tried with texts behind keys.
const MOST_USERS: usize = 8;

/// What trying statements has shown.
#[derive(Debug, Default)]
pub(super) struct Tried {
    /// By what it is: each difference of the engines, with an example where one was met.
    pub(super) natures: BTreeMap<&'static str, Option<Difference>>,
    /// Other statements that the first side places where the second does not; one of each kind.
    pub(super) differences: BTreeMap<String, Difference>,
    /// What the first side refuses and the second sends.
    pub(super) stricter: Vec<Difference>,
}

/// Both sides, under one numbering of hostgroups.
pub(super) struct Sides<'s, 'c> {
    pub(super) lookups: &'s [Lookup<'c>; 2],
}

impl Sides<'_, '_> {
    fn configuration(&self, side: usize) -> &Configuration {
        self.lookups[side].of_configuration()
    }

    /// Runs a statement on both sides and files what comes of it.
    pub(super) fn file(&self, session: &ComparedSession, text: &[u8], tried: &mut Tried) {
        let statement = Statement::new(text, Default::default());
        let [left, right] = [0, 1].map(|side| self.lookups[side].decide(&session.view(side), text));
        let difference = || Difference {
            session: session.clone(),
            statement: text.to_vec(),
            left: Some(left.clone()),
            right: Some(right.clone()),
        };
        if Relation::Refines.holds(self.configuration(1), &left.outcome, &right.outcome) {
            if let (Outcome::Reject(_), Outcome::Route(_)) = (&left.outcome, &right.outcome) {
                tried.stricter.push(difference());
            }
            return;
        }
        let user = self.configuration(0).user(&session.user);
        let (proxysql, bundled) = match self.configuration(0).engine.is_proxysql() {
            true => (&left.outcome, &right.outcome),
            false => (&right.outcome, &left.outcome),
        };
        let decided = Decided {
            statement: &statement,
            default: user.map(|user| user.default_hostgroup),
            proxysql,
            bundled,
        };
        match NATURES.iter().find(|nature| (nature.is)(&decided)) {
            Some(nature) => {
                let known = tried.natures.entry(nature.what).or_default();
                known.get_or_insert_with(difference);
            }
            None => {
                tried
                    .differences
                    .entry(kind_of(&left.outcome, &right.outcome))
                    .or_insert_with(difference);
            }
        }
    }

    /// Tries ordinary statements, with keys of every map and without, and those that rules ask for.
    pub(super) fn try_all(&self) -> Tried {
        let mut tried = Tried {
            natures: NATURES.iter().map(|nature| (nature.what, None)).collect(),
            ..Tried::default()
        };
        let [left, right] = [0, 1].map(|side| self.configuration(side));
        if left.engine.profile().default_schema != right.engine.profile().default_schema
            && left.users.iter().any(|user| user.default_schema.is_none())
        {
            tried.natures.insert(DEFAULT_SCHEMA, None);
        }
        let maps = [left, right].into_iter().flat_map(|side| side.graph.maps());
        let maps: Vec<MapStep> = maps.cloned().collect();
        for user in left.users.iter().take(MOST_USERS) {
            let Some(same) = right.user(&user.name) else {
                continue;
            };
            let own = Session::of_user(left, &user.name);
            let carriers = carriers(&maps);
            let schemas = carriers.iter().filter_map(|(_, schema)| schema.as_ref());
            let named = schemas.map(|schema| format!("SELECT a FROM `{schema}`.t WHERE id=1"));
            let texts: Vec<String> = TEXTS.map(str::to_owned).into_iter().chain(named).collect();
            for (prefix, schema) in &carriers {
                let mut session: ComparedSession = own.clone().into();
                if let Some(schema) = schema {
                    session.schemas = [Some(schema.clone()), Some(schema.clone())];
                } else {
                    session.schemas[1] = right.default_schema(&same.name).map(str::to_owned);
                }
                for text in &texts {
                    self.file(&session, format!("{prefix}{text}").as_bytes(), &mut tried);
                }
            }
        }
        let shared = Arc::new(left.clone());
        for candidate in Prover::new(&shared, KeyedShards::of_maps(maps)).candidates() {
            if right.user(&candidate.user).is_none() {
                continue;
            }
            let session = ComparedSession {
                schemas: [candidate.schema.clone(), candidate.schema],
                ..Session::of_user(left, &candidate.user).into()
            };
            self.file(&session, candidate.query.as_bytes(), &mut tried);
        }
        tried
    }
}

/// Texts to put in front, and schemas to be in, that carry a key of a map; also none.
fn carriers(maps: &[MapStep]) -> Vec<(String, Option<String>)> {
    let mut carriers = vec![(String::new(), None)];
    for map in maps {
        let apart = map.shards.len().div_ceil(MOST_KEYS).max(1);
        let keys = map.shards.iter().step_by(apart).filter_map(|shard| {
            let of_range = shard.ranges.first();
            let of_range = of_range.map(|range| shardwright_rules::KeyValue::Integer(range.0));
            shard.keys.first().cloned().or(of_range)
        });
        for key in keys {
            carriers.extend(natives::comment_of(map, &key).map(|comment| (format!("{comment} "), None)));
            let schemas = map.finders.iter().filter_map(|finder| match finder {
                Finder::Schema { template } => template.render(&key),
                _ => None,
            });
            carriers.extend(schemas.map(|schema| (String::new(), Some(schema))));
        }
    }
    carriers
}

fn is_set_to_default(decided: &Decided<'_>) -> bool {
    let hostgroup = match decided.proxysql {
        Outcome::Route(route) => Some(route.hostgroup),
        _ => None,
    };
    decided.statement.class() == StatementClass::Set && hostgroup.is_some() && hostgroup == decided.default
}

/// The bundled engine refuses so for what the statement itself names, or runs, and for nothing else.
fn names_schemas_of_other_shards(decided: &Decided<'_>) -> bool {
    matches!(decided.bundled, Outcome::Reject(rejection) if rejection.refusal == Some(Refusal::OtherShardsSchema))
}

fn is_read_of_own_functions(decided: &Decided<'_>) -> bool {
    let (Outcome::Route(proxysql), Outcome::Route(bundled)) = (decided.proxysql, decided.bundled) else {
        return false;
    };
    let hazards = decided.statement.shape().read_hazards;
    proxysql.cluster == bundled.cluster
        && proxysql.role == Some(Role::Reader)
        && hazards.intersects(ReadHazards::UNKNOWN_FUNCTION)
        && hazards.without(ReadHazards::UNKNOWN_FUNCTION).is_empty()
}

/// What kind of difference it is, so that each is shown once.
fn kind_of(left: &Outcome, right: &Outcome) -> String {
    let role = |outcome: &Outcome| match outcome {
        Outcome::Route(route) => format!("{:?}", route.role),
        Outcome::Reject(rejection) => {
            format!("{:?} {}", rejection.refusal, rejection.code)
        }
        Outcome::Answer { .. } => "answered".to_owned(),
        Outcome::Own { .. } => "answered by the engine".to_owned(),
        Outcome::DeferBegin => "deferred".to_owned(),
    };
    let moved = match (left, right) {
        (Outcome::Route(left), Outcome::Route(right)) => left.cluster != right.cluster,
        _ => false,
    };
    format!("{} {} {moved}", role(left), role(right))
}
