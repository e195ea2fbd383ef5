//! The statements of a workload, and the sessions that send them.

use std::collections::BTreeMap;

use shardwright_rules::{CommentForm, Finder, KeyTemplate, KeyValue, MapStep, Shard};

/// Neighbouring keys do not follow each other: this prime is no divisor of any number of keys that is measured.
const STEP: usize = 7_919;
/// Keys of a map that are asked for.
const MOST_KEYS: usize = 10_000;

/// A read of 150 bytes with a join.
pub(crate) const LONG_READ: &str = "SELECT o.id, o.total, c.name FROM orders o JOIN customers c ON c.id = o.customer_id \
     WHERE o.state = 'open' AND o.total > 100 ORDER BY o.created_at LIMIT 20";
pub(super) const SHORT_READ: &str = "SELECT 1";
pub(super) const UPDATE: &str = "UPDATE orders SET state = 'paid', total = 17 WHERE id = 42";

/// Statements in a row that a session sends before it changes its schema.
const RUN: usize = 20;

/// Who speaks, in which schema (none: the user's), and what.
pub(super) type Said = (String, Option<String>, String);

/// A statement and the session that sends it.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) session: usize,
    /// The session changes to it if it is in another one.
    pub(super) schema: Option<String>,
    pub(super) text: String,
}

/// Statements, each with the session that sends it.
#[derive(Clone, Debug, Default)]
pub(super) struct Workload {
    pub(super) name: String,
    /// The user of each session, and the schema that it begins in.
    pub(super) sessions: Vec<(String, Option<String>)>,
    /// In the order in which they are sent; then from the start.
    pub(super) asked: Vec<Asked>,
}

impl Workload {
    /// One session for what needs no schema, and one that changes its schema: statements come in runs, as those of a
    /// client do.
    pub(super) fn of(name: impl Into<String>, said: impl IntoIterator<Item = Said>) -> Self {
        let said: Vec<Said> = said.into_iter().collect();
        let run = if said.iter().any(|(_, schema, _)| schema.is_some()) {
            RUN
        } else {
            1
        };
        Self::with(name.into(), said, run, |(user, schema, _)| {
            (user.clone(), schema.is_some())
        })
    }

    /// A session for each schema, all of them open.
    pub(super) fn of_many_sessions(name: impl Into<String>, said: impl IntoIterator<Item = Said>) -> Self {
        let said = said.into_iter().collect();
        Self::with(name.into(), said, 1, |(user, schema, _)| {
            (user.clone(), schema.clone())
        })
    }

    /// Each statement `run` times in a row, the statements in steps.
    fn with<K: Ord>(name: String, said: Vec<Said>, run: usize, session_of: impl Fn(&Said) -> K) -> Self {
        let mut sessions = Vec::new();
        let mut known = BTreeMap::new();
        let asked: Vec<Asked> = said
            .into_iter()
            .map(|said| {
                let session = *known.entry(session_of(&said)).or_insert_with(|| {
                    sessions.push((said.0.clone(), said.1.clone()));
                    sessions.len() - 1
                });
                Asked {
                    session,
                    schema: said.1,
                    text: said.2,
                }
            })
            .collect();
        let count = asked.len();
        let in_steps = (0..count).map(|nth| &asked[nth * STEP % count]);
        Self {
            name,
            sessions,
            asked: in_steps
                .flat_map(|asked| std::iter::repeat_n(asked.clone(), run))
                .collect(),
        }
    }
}

/// How a key is said beside a text, by one finder.
pub(super) fn said_by(finder: &Finder, key: &KeyValue, text: &str) -> Option<(Option<String>, String)> {
    match finder {
        Finder::Comment { word, form } => {
            let comment = match form {
                CommentForm::Pairs => format!("{word}={}", quoted(key)),
                CommentForm::Sqlcommenter => format!("{word}='{key}'"),
                CommentForm::Exact(template) => template.render(key)?,
            };
            Some((None, format!("/* {comment} */ {text}")))
        }
        Finder::Schema { template } => Some((Some(template.render(key)?), text.to_owned())),
        Finder::User { .. } | Finder::Table { .. } | Finder::Column { .. } => None,
    }
}

fn quoted(key: &KeyValue) -> String {
    match key {
        KeyValue::Text(text) if text.contains(' ') => format!("'{text}'"),
        _ => key.to_string(),
    }
}

/// The name with a key of a map in it, if a shard has the key.
pub(super) fn key_in<'n>(map: &MapStep, template: &KeyTemplate, name: &'n str) -> Option<&'n str> {
    let key = template.extract(map.kind, name)?;
    let value = KeyValue::parse(map.kind, key)?;
    keys(map).contains(&value).then_some(key)
}

/// The keys of a map; of a range the first.
pub(super) fn keys(map: &MapStep) -> Vec<KeyValue> {
    let of = |shard: &Shard| {
        let ranges = shard.ranges.iter().map(|range| KeyValue::Integer(range.0));
        shard.keys.iter().cloned().chain(ranges).collect::<Vec<_>>()
    };
    map.shards.iter().flat_map(of).take(MOST_KEYS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said() -> impl Iterator<Item = Said> {
        (0..200).map(|n| {
            (
                "app".to_owned(),
                Some(format!("t{}", n % 7)),
                format!("SELECT {n}"),
            )
        })
    }

    #[test]
    fn every_statement_is_sent_equally_often_in_its_schema() {
        let [one, many] = [Workload::of("x", said()), Workload::of_many_sessions("x", said())];
        assert_eq!((one.sessions.len(), many.sessions.len()), (1, 7));
        for (workload, times) in [(&one, RUN), (&many, 1)] {
            assert_eq!(workload.asked.len(), 200 * times);
            let mut counts = BTreeMap::new();
            for asked in &workload.asked {
                *counts.entry(&asked.text).or_insert(0) += 1;
                let number: usize = asked.text["SELECT ".len()..].parse().unwrap();
                assert_eq!(asked.schema.as_deref(), Some(format!("t{}", number % 7).as_str()));
            }
            assert!(counts.values().all(|count| *count == times) && counts.len() == 200);
        }
        assert_ne!(many.asked[1].text, "SELECT 1");
        for asked in &many.asked {
            assert_eq!(many.sessions[asked.session].1, asked.schema);
        }
    }

    #[test]
    fn the_long_read_has_150_bytes() {
        assert!((145..=160).contains(&LONG_READ.len()), "{}", LONG_READ.len());
    }
}
