//! The keys that the finders of a map yield for one statement.

use std::borrow::Cow;

use shardwright_sql::columns::{self, ColumnAnswer, ColumnQuestion, KeyUse};
use shardwright_sql::comment::{self, CommentKey};
use shardwright_sql::schema::{self, TableKeys, TableName, TableQuestion};

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
#[derive(PartialEq)]
pub(super) struct Found {
    /// As it stands in the statement.
    pub(super) text: String,
    /// `None`: not a value of the key's kind, so no shard holds it.
    pub(super) value: Option<KeyValue>,
}

/// What one finder says.
enum Answer {
    Nothing,
    Keys(Keys),
    /// A key may stand there, and it cannot be told.
    Doubt(Doubt),
    Refused(Search),
}

struct Doubt {
    reason: String,
    /// What the doubt comes to where another finder yields a key.
    beside: Beside,
}

enum Beside {
    /// Nothing: the tables have the key in their rows, and the other finder says which shard to ask.
    AnyKey,
    /// Nothing, if these are all that could have been meant.
    These(Vec<Found>),
    /// The statement cannot be changed as it would have to be.
    NoKey,
}

/// Asks every finder.
pub(super) fn search(step: &MapStep, walk: &Walk<'_>) -> Search {
    let mut keys: Option<Keys> = None;
    let mut doubts = Vec::new();
    for finder in &step.finders {
        let found = match ask(step, walk, finder) {
            Answer::Nothing => continue,
            Answer::Keys(found) => found,
            Answer::Doubt(doubt) => {
                doubts.push(doubt);
                continue;
            }
            Answer::Refused(refused) => return refused,
        };
        match &mut keys {
            None => keys = Some(found),
            Some(first) if step.conflict == Conflict::First => {
                first.column = first.column.take().or(found.column)
            }
            Some(first) if agree(first, &found) => first.join(found),
            Some(first) => return conflict(step, first.found.iter().chain(&found.found)),
        }
    }
    let stays = |doubt: &&Doubt| match (&keys, &doubt.beside) {
        (None, _) | (_, Beside::NoKey) => true,
        (Some(_), Beside::AnyKey) => false,
        (Some(keys), Beside::These(possible)) => !possible.iter().all(|one| keys.holds(one)),
    };
    if let Some(doubt) = doubts.iter().find(stays) {
        return Search::Refused(Refusal::NotOneShard, not_one_shard(step, &doubt.reason));
    }
    keys.map_or(Search::Nothing, Search::Keys)
}

fn ask(step: &MapStep, walk: &Walk<'_>, finder: &Finder) -> Answer {
    let or_nothing = |keys: Option<Keys>| keys.map_or(Answer::Nothing, Answer::Keys);
    match finder {
        Finder::Comment { word, form } => match comment_keys(step, walk, word, form) {
            Ok(found) => or_nothing(found),
            Err(refused) => Answer::Refused(refused),
        },
        Finder::Schema { template } => or_nothing(
            walk.session
                .schema
                .and_then(|schema| name_key(step.kind, template, schema, "schema")),
        ),
        Finder::User { template } => or_nothing(name_key(step.kind, template, walk.session.user, "user")),
        Finder::Table { template } => table_keys(step, walk, template),
        Finder::Column { column, in_shards } => match column_keys(step, walk, column, *in_shards) {
            ColumnAnswer::NotConcerned | ColumnAnswer::Missing => Answer::Nothing,
            ColumnAnswer::Keys(using) => Answer::Keys(Keys {
                found: literals(step.kind, &using),
                origin: format!("column {column}"),
                column: Some(using),
            }),
            ColumnAnswer::Undecidable(reason) => Answer::Doubt(Doubt {
                reason,
                beside: match in_shards {
                    InShards::Present => Beside::AnyKey,
                    InShards::Absent => Beside::NoKey,
                },
            }),
        },
    }
}

impl Keys {
    fn holds(&self, wanted: &Found) -> bool {
        let same = |found: &Found| found.value.is_some() && found.value == wanted.value;
        self.found.iter().any(same)
    }

    /// Adds what another finder found: all of it must be on one shard.
    fn join(&mut self, other: Keys) {
        for found in other.found {
            if !self.holds(&found) {
                self.found.push(found);
            }
        }
        self.column = self.column.take().or(other.column);
    }
}

fn not_one_shard(step: &MapStep, reason: &str) -> String {
    format!("cannot be placed on one shard: shard map {}: {reason}", step.map)
}

/// Two finders agree when every value of one is a value of the other; a list agrees with a value that it holds, and
/// whether the rest of the list is on the same shard is asked later.
fn agree(a: &Keys, b: &Keys) -> bool {
    let within = |few: &Keys, many: &Keys| few.found.iter().all(|one| many.holds(one));
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

/// The key in the name of the session's schema or user.
fn name_key(kind: KeyKind, template: &KeyTemplate, name: &str, what: &str) -> Option<Keys> {
    let found = found_in(kind, template, name)?;
    Some(Keys {
        found: vec![found],
        origin: format!("{what} {name}"),
        column: None,
    })
}

fn found_in(kind: KeyKind, template: &KeyTemplate, name: &str) -> Option<Found> {
    let text = template.extract(kind, name)?;
    Some(Found {
        text: text.to_owned(),
        value: KeyValue::parse(kind, text),
    })
}

fn table_keys(step: &MapStep, walk: &Walk<'_>, template: &KeyTemplate) -> Answer {
    let question = TableQuestion {
        logical_schema: step.logical_schema.as_deref(),
        session_schema: walk.session.schema,
        mode: walk.statement.mode(),
    };
    let read = |name: &str| match found_in(step.kind, template, name) {
        Some(found) => TableName::Key(found),
        None if template.fits_in_other_case(step.kind, name) => TableName::OtherCase,
        None => TableName::Plain,
    };
    match schema::table_keys(walk.statement.text(), &question, read) {
        TableKeys::None => Answer::Nothing,
        TableKeys::Found(found) => {
            let mut names: Vec<&str> = found.iter().map(|found| found.text.as_str()).collect();
            names.truncate(4);
            let names: Vec<String> = names
                .iter()
                .map(|key| format!("{}{key}{}", template.prefix, template.suffix))
                .collect();
            Answer::Keys(Keys {
                origin: format!("table {}", names.join(", ")),
                found,
                column: None,
            })
        }
        TableKeys::Undecidable { reason, mentioned } => Answer::Doubt(Doubt {
            reason,
            beside: mentioned.map_or(Beside::NoKey, Beside::These),
        }),
    }
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
