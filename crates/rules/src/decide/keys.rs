//! The keys that the finders of a map yield for one statement.

use std::borrow::Cow;

use shardwright_sql::columns::{self, ColumnAnswer, ColumnQuestion, KeyUse};
use shardwright_sql::comment::{self, CommentKey};

use crate::decide::walk::Walk;
use crate::refusal::{self, Refusal};
use crate::{CommentForm, Conflict, Finder, InShards, KeyKind, KeyTemplate, KeyValue, MapStep, Statement};

/// What the finders of a map say together.
pub(super) enum Search {
    /// None of them yields a key.
    Nothing,
    /// They agree on these.
    Keys(Keys),
    /// The statement is refused.
    Refused(Refusal, String),
}

/// The keys of a statement.
pub(super) struct Keys {
    /// At least one; several where a predicate lists several.
    pub(super) found: Vec<Found>,
    /// What they were found in, for people.
    pub(super) origin: String,
    /// How a predicate uses them, when one does.
    pub(super) column: Option<KeyUse>,
}

/// One value that was found.
pub(super) struct Found {
    /// As it stands in the statement.
    pub(super) text: String,
    /// `None`: not a value of the key's kind, so no shard holds it.
    pub(super) value: Option<KeyValue>,
}

/// Asks every finder.
pub(super) fn search(step: &MapStep, walk: &Walk<'_>) -> Search {
    let mut keys: Option<Keys> = None;
    let mut column_use = None;
    for finder in &step.finders {
        let found = match finder {
            Finder::Comment { word, form } => match comment_keys(step, walk, word, form) {
                Ok(found) => found,
                Err(refused) => return refused,
            },
            Finder::Schema { template } => schema_key(step, walk, template),
            Finder::Column { column, in_shards } => match column_keys(step, walk, column, *in_shards) {
                ColumnAnswer::NotConcerned | ColumnAnswer::Missing => None,
                ColumnAnswer::Keys(using) => {
                    let found = literals(step.kind, &using);
                    column_use = Some(using);
                    Some(Keys {
                        found,
                        origin: format!("column {column}"),
                        column: None,
                    })
                }
                ColumnAnswer::Undecidable(reason) => match (&keys, in_shards) {
                    (Some(_), InShards::Present) => None,
                    _ => return Search::Refused(Refusal::NotOneShard, not_one_shard(step, &reason)),
                },
            },
        };
        let Some(found) = found else { continue };
        match &keys {
            None => keys = Some(found),
            Some(_) if step.conflict == Conflict::First => {}
            Some(first) if agree(first, &found) => {}
            Some(first) => return conflict(step, first.found.iter().chain(&found.found)),
        }
    }
    match keys {
        None => Search::Nothing,
        Some(keys) => Search::Keys(Keys {
            column: column_use,
            ..keys
        }),
    }
}

fn not_one_shard(step: &MapStep, reason: &str) -> String {
    format!("cannot be placed on one shard: shard map {}: {reason}", step.map)
}

/// Two finders agree when every value of one is a value of the other; a list agrees with a value that it holds, and
/// whether the rest of the list is on the same shard is asked later.
fn agree(a: &Keys, b: &Keys) -> bool {
    let within = |few: &Keys, many: &Keys| {
        few.found.iter().all(|one| {
            many.found
                .iter()
                .any(|other| one.value.is_some() && one.value == other.value)
        })
    };
    if a.found.len() <= b.found.len() {
        within(a, b)
    } else {
        within(b, a)
    }
}

fn conflict<'a>(step: &MapStep, found: impl Iterator<Item = &'a Found>) -> Search {
    let mut texts: Vec<&str> = found.map(|found| found.text.as_str()).collect();
    texts.sort_unstable();
    texts.dedup();
    texts.truncate(4);
    Search::Refused(
        Refusal::ConflictingKeys,
        refusal::conflicting_keys(&step.map, &step.key, &texts),
    )
}

/// The values of a word in the statement's comments. With `flag`, a bare word means `word=1`.
pub(super) fn in_comments<'a>(
    statement: &Statement<'a>,
    word: &str,
    form: &CommentForm,
    flag: bool,
) -> Vec<Cow<'a, [u8]>> {
    let form = match form {
        CommentForm::Pairs if flag => comment::CommentForm::Flag,
        CommentForm::Pairs => comment::CommentForm::Pairs,
        CommentForm::Sqlcommenter => comment::CommentForm::Sqlcommenter,
        CommentForm::Exact(_) => comment::CommentForm::Exact,
    };
    let mut values = Vec::new();
    for (_, body) in comment::comments(statement.text(), statement.mode()) {
        values.extend(
            comment::values_in(body, CommentKey { name: word, form }).map(|value| match value {
                Cow::Borrowed(value) => Cow::Owned(value.to_vec()),
                Cow::Owned(value) => Cow::Owned(value),
            }),
        );
    }
    values
}

fn comment_keys(
    step: &MapStep,
    walk: &Walk<'_>,
    word: &str,
    form: &CommentForm,
) -> Result<Option<Keys>, Search> {
    let mut found: Vec<Found> = Vec::new();
    for value in in_comments(walk.statement, word, form, false) {
        let Some(found_value) = comment_value(step.kind, &value, form) else {
            continue;
        };
        let known = found
            .iter()
            .any(|other| match (&other.value, &found_value.value) {
                (Some(a), Some(b)) => a == b,
                _ => other.text == found_value.text,
            });
        if !known {
            found.push(found_value);
        }
    }
    if found.len() > 1 {
        match step.conflict {
            Conflict::First => found.truncate(1),
            Conflict::Reject => return Err(conflict(step, found.iter())),
        }
    }
    let Some(first) = found.first() else {
        return Ok(None);
    };
    let origin = match form {
        CommentForm::Exact(_) => format!("comment {}", first.text),
        CommentForm::Pairs | CommentForm::Sqlcommenter => format!("comment {word}={}", first.text),
    };
    Ok(Some(Keys {
        found,
        origin,
        column: None,
    }))
}

/// A comment of another form is no key; a value of another kind is a key that no shard holds.
fn comment_value(kind: KeyKind, value: &[u8], form: &CommentForm) -> Option<Found> {
    let text = String::from_utf8_lossy(value);
    match form {
        CommentForm::Exact(template) => {
            let key = template.extract(kind, &text)?;
            Some(Found {
                text: key.to_owned(),
                value: KeyValue::parse(kind, key),
            })
        }
        CommentForm::Pairs | CommentForm::Sqlcommenter => {
            let valid = std::str::from_utf8(value).ok();
            let value = valid.and_then(|text| KeyValue::parse(kind, text));
            Some(Found {
                text: text.into_owned(),
                value,
            })
        }
    }
}

fn schema_key(step: &MapStep, walk: &Walk<'_>, template: &KeyTemplate) -> Option<Keys> {
    let schema = walk.session.schema?;
    let text = template.extract(step.kind, schema)?;
    let found = Found {
        text: text.to_owned(),
        value: KeyValue::parse(step.kind, text),
    };
    Some(Keys {
        found: vec![found],
        origin: format!("schema {schema}"),
        column: None,
    })
}

fn column_keys(step: &MapStep, walk: &Walk<'_>, column: &str, in_shards: InShards) -> ColumnAnswer {
    let Some(logical_schema) = step.logical_schema.as_deref() else {
        return ColumnAnswer::NotConcerned;
    };
    let question = ColumnQuestion {
        logical_schema,
        key_column: column,
        session_schema: walk.session.schema,
        in_shards: match in_shards {
            InShards::Absent => columns::InShards::Absent,
            InShards::Present => columns::InShards::Present,
        },
        mode: walk.statement.mode(),
    };
    columns::decide(walk.statement.text(), &question)
}

fn literals(kind: KeyKind, using: &KeyUse) -> Vec<Found> {
    using
        .values
        .iter()
        .map(|literal| literal_value(kind, &literal.value))
        .collect()
}

/// A number never places a text key: to the server `name = 0` is true of most names. A string places an integer key
/// only in canonical form.
fn literal_value(kind: KeyKind, value: &columns::KeyValue) -> Found {
    match value {
        columns::KeyValue::Integer(n) => {
            let value = match kind {
                KeyKind::Integer => i64::try_from(*n).ok().map(KeyValue::Integer),
                KeyKind::Text => None,
            };
            Found {
                text: n.to_string(),
                value,
            }
        }
        columns::KeyValue::Text(text) => {
            let value = KeyValue::parse(kind, text).filter(|value| value.to_string() == *text);
            Found {
                text: text.clone(),
                value,
            }
        }
    }
}
