//! Statements that a property is tried on: ordinary ones, with keys of shards, and those that rules ask for.

use std::collections::BTreeSet;

use shardwright_patterns::{Automaton, Limits, Literal, Pattern, witness};
use shardwright_rules::{Body, Finder, KeyKind, KeyRef, KeyValue, MapStep, Shard, Statement, StatementKind};
use shardwright_sql::annotation;

use super::claim::shards_of;
use super::outcome::PossibleOutcome;
use super::outcomes::kinds;
use super::starts::{Side, beginning};
use super::state::Schema;
use super::{Domain, Prover, SessionStatement};

/// Statements that one property is tried on.
const MOST_CANDIDATES: usize = 4_000;
/// Users, schemas, shards of a map and rules that they are made from.
const MOST_USERS: usize = 16;
const MOST_SCHEMAS: usize = 24;
const MOST_SHARDS: usize = 12;
const MOST_RULES: usize = 400;

const LIMITS: Limits = Limits {
    bytes: 1 << 20,
    states: 2_000,
    tuples: 20_000,
};

/// Whether properties speak of the statement; see the module's parent.
pub(super) fn is_plain(statement: &Statement<'_>) -> bool {
    let text = statement.text();
    let holds = |part: &[u8]| text.windows(part.len()).any(|window| window == part);
    let comments = [&b"--"[..], b"#", b"/*!", b"/*M!", b"\0"];
    !comments.into_iter().any(holds)
        && !statement.shape().unterminated
        && !statement.has_several()
        && !statement.first_comment().is_some_and(|comment| {
            comment.is_open || annotation::annotations_in(&comment.text).any(|found| found.is_known())
        })
}

/// What carries the key of a shard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Carrier {
    user: Option<String>,
    schema: Option<String>,
    comment: String,
    table: Option<String>,
    condition: Option<String>,
}

impl Carrier {
    /// Both at once; none where they contradict each other.
    fn with(&self, other: &Self) -> Option<Self> {
        let one = |a: &Option<String>, b: &Option<String>| match (a, b) {
            (Some(a), Some(b)) if a != b => Err(()),
            (a, b) => Ok(a.clone().or_else(|| b.clone())),
        };
        Some(Self {
            user: one(&self.user, &other.user).ok()?,
            schema: one(&self.schema, &other.schema).ok()?,
            comment: format!("{}{}", self.comment, other.comment),
            table: one(&self.table, &other.table).ok()?,
            condition: one(&self.condition, &other.condition).ok()?,
        })
    }
}

impl Prover<'_> {
    /// Statements of the domain; those for what is in doubt first.
    pub(super) fn tried(&self, domain: &Domain<'_>, doubtful: &[&PossibleOutcome]) -> Vec<SessionStatement> {
        let users = self.users(domain, doubtful);
        let schemas = self.schemas(domain, doubtful);
        let mut bodies: Vec<(Carrier, String)> = Vec::new();
        for carrier in self.carriers(domain, doubtful) {
            for kind in kinds(domain) {
                bodies.extend(
                    texts(kind, &carrier)
                        .into_iter()
                        .map(|text| (carrier.clone(), text)),
                );
            }
        }
        bodies.extend(
            self.asked_for(domain)
                .into_iter()
                .map(|text| (Carrier::default(), text)),
        );
        let mut candidates = Vec::new();
        let mut seen = BTreeSet::new();
        'all: for (carrier, query) in &bodies {
            let senders = match &carrier.user {
                Some(user) if users.contains(user) => vec![user],
                Some(_) => Vec::new(),
                None => users.iter().collect(),
            };
            let statement = Statement::new(query.as_bytes(), Default::default());
            if !is_plain(&statement) || !kinds(domain).contains(&statement.kind()) {
                continue;
            }
            for user in senders {
                let own = self.configuration.default_schema(user).map(str::to_owned);
                let inside: Vec<Option<String>> = match &carrier.schema {
                    Some(schema)
                        if domain.schemas.is_empty() || domain.schemas.contains(&schema.as_str()) =>
                    {
                        vec![Some(schema.clone())]
                    }
                    Some(_) => Vec::new(),
                    None if domain.schemas.is_empty() => std::iter::once(own)
                        .chain(schemas.iter().cloned().map(Some))
                        .collect(),
                    None => schemas.iter().cloned().map(Some).collect(),
                };
                for schema in inside {
                    if candidates.len() == MOST_CANDIDATES {
                        break 'all;
                    }
                    let candidate = SessionStatement {
                        user: user.clone(),
                        schema,
                        query: query.clone(),
                    };
                    if seen.insert(candidate.clone()) && self.is_in(domain, &candidate) {
                        candidates.push(candidate);
                    }
                }
            }
        }
        candidates
    }

    /// Whether a shard of the domain's map places the statement, where the domain has a map.
    fn is_in(&self, domain: &Domain<'_>, candidate: &SessionStatement) -> bool {
        let Some(map) = domain.map else {
            return true;
        };
        let statement = Statement::new(candidate.query.as_bytes(), Default::default());
        let decision = self.table.explain(&candidate.view(), &statement);
        let prefix = format!("shard_maps.{map}.shards.");
        shards_of(self.configuration, &decision)
            .iter()
            .any(|shard| shard.as_str().starts_with(&prefix))
    }

    fn users(&self, domain: &Domain<'_>, doubtful: &[&PossibleOutcome]) -> Vec<String> {
        let doubtful = doubtful.iter().map(|outcome| outcome.user.clone());
        let known = self.configuration.users.iter().map(|user| user.name.clone());
        let wanted = |user: &String| domain.users.is_empty() || domain.users.contains(&user.as_str());
        distinct(doubtful.chain(known).filter(wanted), MOST_USERS)
    }

    /// Schemas of the domain, or those that rules ask for.
    fn schemas(&self, domain: &Domain<'_>, doubtful: &[&PossibleOutcome]) -> Vec<String> {
        if !domain.schemas.is_empty() {
            return domain.schemas.iter().map(|schema| (*schema).to_owned()).collect();
        }
        let graph = &self.configuration.graph;
        let doubtful = doubtful.iter().filter_map(|outcome| match &outcome.state.schema {
            Schema::Known(schema) => Some(schema.to_string()),
            Schema::Any => None,
        });
        let logical = self
            .keys
            .maps()
            .iter()
            .filter_map(|map| map.logical_schema.clone());
        let asked = graph.rules.iter().filter_map(|rule| match &rule.body {
            Body::Engine(row) => row.schemaname.clone(),
            Body::Native { .. } => None,
        });
        let fast = graph.fast_routing.iter().map(|row| row.schemaname.clone());
        distinct(doubtful.chain(logical).chain(asked).chain(fast), MOST_SCHEMAS)
    }

    /// Keys of shards of the maps, alone and of two maps together; and no key at all.
    fn carriers(&self, domain: &Domain<'_>, doubtful: &[&PossibleOutcome]) -> Vec<Carrier> {
        let wanted: BTreeSet<&str> = doubtful
            .iter()
            .filter_map(|outcome| Some(outcome.state.shard.as_ref()?.as_str()))
            .collect();
        let of_maps: Vec<Vec<Carrier>> = self
            .keys
            .maps()
            .iter()
            .map(|map| {
                let all = domain.map == Some(map.map.as_str());
                carriers_of(map, &wanted, if all { 4 * MOST_SHARDS } else { MOST_SHARDS })
            })
            .collect();
        let mut carriers = vec![Carrier::default()];
        carriers.extend(of_maps.iter().flatten().cloned());
        for (position, one) in of_maps.iter().enumerate() {
            for other in &of_maps[position + 1..] {
                let pairs = one
                    .iter()
                    .take(MOST_SHARDS)
                    .flat_map(|a| other.iter().take(MOST_SHARDS).filter_map(|b| a.with(b)));
                carriers.extend(pairs);
            }
        }
        carriers
    }

    /// Statements that satisfy the patterns of rules.
    fn asked_for(&self, domain: &Domain<'_>) -> Vec<String> {
        let mut texts = Vec::new();
        for patterns in self.patterns.iter().take(MOST_RULES) {
            let sides = [
                (Side::Digest, patterns.of_digest()),
                (Side::Text, patterns.of_text()),
            ];
            for (side, patterns) in sides {
                for pattern in patterns.iter().flatten() {
                    let found = kinds(domain)
                        .into_iter()
                        .filter_map(|kind| shortest(pattern, side, kind))
                        .filter_map(|text| String::from_utf8(text).ok());
                    texts.extend(found);
                }
            }
        }
        texts
    }
}

/// A shortest text that begins as statements of the kind do and matches the pattern.
fn shortest(pattern: &Pattern, side: Side, kind: StatementKind) -> Option<Vec<u8>> {
    // Where a statement begins with a comment, the comment is what matches; the verb follows below.
    let beginning = Automaton::of(&beginning(Side::Digest, kind)?, &LIMITS).ok()?;
    let wanted = Automaton::of(pattern, &LIMITS).ok()?;
    let both = |automaton| Literal {
        automaton,
        positive: true,
    };
    let found = witness(&[both(&beginning), both(&wanted)], &LIMITS)
        .ok()
        .flatten();
    if found.is_some() || side == Side::Digest {
        return found;
    }
    let own = witness(&[both(&wanted)], &LIMITS).ok().flatten()?;
    let body = texts(kind, &Carrier::default()).into_iter().next()?;
    Some([&own, b" ".as_slice(), body.as_bytes()].concat())
}

/// The shards in doubt first, then some of all.
fn carriers_of(map: &MapStep, wanted: &BTreeSet<&str>, most: usize) -> Vec<Carrier> {
    let doubtful = map
        .shards
        .iter()
        .filter(|shard| wanted.contains(shard.address.as_str()));
    let apart = map.shards.len().div_ceil(most).max(1);
    let shards = doubtful.take(most).chain(map.shards.iter().step_by(apart));
    shards
        .filter_map(|shard| Some((shard, key_of(map, shard)?)))
        .flat_map(|(shard, key)| {
            let one = map
                .finders
                .iter()
                .filter_map(move |finder| carrier(map, finder, &key));
            one.map(move |carrier| {
                let schema = carrier.schema.clone().or_else(|| match &map.logical_schema {
                    Some(logical) => Some(logical.clone()),
                    None => shard.schema.as_ref().map(ToString::to_string),
                });
                Carrier { schema, ..carrier }
            })
        })
        .collect()
}

fn key_of(map: &MapStep, shard: &Shard) -> Option<KeyValue> {
    let first = shard.keys.first().cloned();
    let range = shard.ranges.first().map(|(first, _)| KeyValue::Integer(*first));
    let remainder = || {
        let wanted = shard.remainders.first()?;
        let by = map.remainder.as_ref()?;
        (0..4_096)
            .map(|n| match map.kind {
                KeyKind::Integer => KeyValue::Integer(n),
                KeyKind::Text => KeyValue::Text(format!("k{n}").into()),
            })
            .find(|key| {
                let key = match key {
                    KeyValue::Integer(n) => KeyRef::Integer(*n),
                    KeyValue::Text(text) => KeyRef::Text((&**text).into()),
                };
                shardwright_rules::remainder(by, &key) == *wanted
            })
    };
    first.or(range).or_else(remainder)
}

fn carrier(map: &MapStep, finder: &Finder, key: &KeyValue) -> Option<Carrier> {
    let none = Carrier::default();
    Some(match finder {
        Finder::Comment { word, form } => Carrier {
            comment: form.comment(word, key)? + " ",
            ..none
        },
        Finder::Schema { template } => Carrier {
            schema: Some(template.render(key)?),
            ..none
        },
        Finder::Table { template } => Carrier {
            table: Some(template.render(key)?),
            ..none
        },
        Finder::User { template } => Carrier {
            user: Some(template.render(key)?),
            ..none
        },
        Finder::Column { column, .. } => Carrier {
            condition: Some(match map.kind {
                KeyKind::Integer => format!("{column} = {key}"),
                KeyKind::Text => format!("{column} = '{}'", key.to_string().replace('\'', "''")),
            }),
            ..none
        },
    })
}

/// Ordinary statements of a kind that carry a key.
fn texts(kind: StatementKind, carrier: &Carrier) -> Vec<String> {
    let table = carrier.table.as_deref().unwrap_or("t");
    let condition = carrier.condition.as_deref().unwrap_or("id = 1");
    let (column, value) = condition.split_once(" = ").unwrap_or(("id", "1"));
    let bodies: Vec<String> = match kind {
        StatementKind::Select => vec![
            format!("SELECT a FROM {table} WHERE {condition}"),
            format!("SELECT a FROM {table} WHERE {condition} FOR UPDATE"),
            format!("SELECT COUNT(*) FROM {table} WHERE {condition} GROUP BY a"),
            "SELECT 1".to_owned(),
        ],
        StatementKind::Insert => vec![
            format!("INSERT INTO {table} ({column}, a) VALUES ({value}, 2)"),
            format!("INSERT INTO {table} ({column}, a) SELECT {value}, a FROM u WHERE {condition}"),
        ],
        StatementKind::Update => vec![format!("UPDATE {table} SET a = 2 WHERE {condition}")],
        StatementKind::Delete => vec![format!("DELETE FROM {table} WHERE {condition}")],
        StatementKind::Replace => vec![format!("REPLACE INTO {table} ({column}, a) VALUES ({value}, 2)")],
        StatementKind::Ddl => vec![
            format!("CREATE TABLE {table} (id INT)"),
            format!("DROP TABLE {table}"),
            format!("TRUNCATE TABLE {table}"),
        ],
        StatementKind::Call => vec!["CALL p(1)".to_owned()],
        StatementKind::Show => vec![
            "SHOW TABLES".to_owned(),
            format!("EXPLAIN SELECT a FROM {table} WHERE {condition}"),
        ],
        StatementKind::Set => ["SET NAMES utf8mb4", "SET sql_select_limit=1+1"]
            .map(str::to_owned)
            .to_vec(),
        StatementKind::Begin => vec!["BEGIN".to_owned(), "START TRANSACTION".to_owned()],
        StatementKind::Commit => vec!["COMMIT".to_owned(), "ROLLBACK".to_owned()],
        StatementKind::Lock => vec![format!("LOCK TABLES {table} WRITE"), "UNLOCK TABLES".to_owned()],
        StatementKind::Prepare => vec![format!(
            "PREPARE s FROM 'SELECT a FROM {table} WHERE {condition}'"
        )],
        StatementKind::Other => vec!["USE t".to_owned(), "KILL 1".to_owned()],
    };
    bodies
        .into_iter()
        .map(|body| format!("{}{body}", carrier.comment))
        .collect()
}

fn distinct(texts: impl Iterator<Item = String>, most: usize) -> Vec<String> {
    let mut seen = BTreeSet::new();
    texts
        .filter(|text| !text.is_empty() && seen.insert(text.clone()))
        .take(most)
        .collect()
}
