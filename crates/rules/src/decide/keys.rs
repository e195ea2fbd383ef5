//! The keys that the finders of a map yield for one statement.

mod literals;

use std::borrow::Cow;
use std::sync::Arc;

use rustc_hash::FxHashSet;
use shardwright_sql::columns::{self, ColumnAnswer, ColumnQuestion, KeyUse, Mentions};
use shardwright_sql::comment::{self, CommentKey};
use shardwright_sql::lex;
use shardwright_sql::schema::{self, TableKeys, TableName, TableQuestion};
use smallvec::{SmallVec, smallvec};

use self::literals::{literal_value, literals};
use crate::decide::evaluation::Evaluation;
use crate::refusal::{self, Refusal};
use crate::{CommentForm, Conflict, Encoding, Finder, InShards, KeyKind, KeyRef, KeyTemplate, MapStep};

/// What the finders of a map say together.
pub(super) enum Search<'a> {
    /// None of them yields a key.
    Nothing,
    /// They agree on these.
    Keys(Keys<'a>),
    /// The statement is refused.
    Refused(Refusal, String),
}

/// The keys of a statement.
pub(super) struct Keys<'a> {
    /// Several where a predicate lists several; none where the key is bound when the prepared statement is executed.
    pub(super) found: SmallVec<[FoundKey<'a>; 1]>,
    origin: Origin<'a>,
    /// How a predicate uses them, when one does.
    pub(super) column: Option<Box<ColumnUse<'a>>>,
}

/// Keys of a column, and the column.
pub(super) struct ColumnUse<'a> {
    pub(super) using: KeyUse,
    pub(super) column: &'a Arc<str>,
    pub(super) in_shards: InShards,
    /// The statement is placed by them, and not by another finder's key whatever they are.
    pub(super) decides: bool,
}

/// One value that was found.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct FoundKey<'a> {
    /// As it stands in the statement.
    pub(super) text: Cow<'a, str>,
    /// `None`: not a value of the key's kind, so no shard holds it.
    pub(super) value: Option<KeyRef<'a>>,
    /// Why it is not known which key it is: then it belongs nowhere, not even where unknown keys go.
    pub(super) unread: Option<Unread>,
}

/// Why a value is not read as a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Unread {
    /// To a server it can be equal to another key.
    Ambiguous,
    /// Its bytes are another text to a server.
    Encoding,
}

/// What keys were found in.
enum Origin<'a> {
    /// A comment, behind this word.
    Comment(Option<&'a str>),
    /// A name of this kind.
    Name(&'static str, &'a str),
    Tables(Vec<String>),
    Column(&'a str),
}

/// What one finder says.
enum Answer<'a> {
    Nothing,
    Keys(Keys<'a>),
    /// A key may stand there, and it cannot be told.
    Doubt(Doubt<'a>),
    Refused(Search<'a>),
}

struct Doubt<'a> {
    reason: String,
    /// What another finder must yield so that the doubt does not count.
    settled_by: SettledBy<'a>,
}

enum SettledBy<'a> {
    /// Any key: the tables have it in their rows, and the other finder says which shard to ask.
    AnyKey,
    /// One of these keys, if they are all that could have been meant.
    These(Vec<FoundKey<'a>>),
    /// No key settles it: the statement cannot be changed as it would have to be.
    NoKey,
}

/// Asks every finder.
pub(super) fn search<'a>(step: &'a MapStep, evaluation: &Evaluation<'a>) -> Search<'a> {
    let mut keys: Option<Keys<'a>> = None;
    let mut doubts = Vec::new();
    for finder in &step.finders {
        let found = match ask(step, evaluation, finder) {
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
                let other = found.column.map(|mut other| {
                    other.decides = false;
                    other
                });
                first.column = first.column.take().or(other);
            }
            Some(first) if agree(first, &found) => first.join(found),
            Some(first) => return conflict(step, first.found.iter().chain(&found.found)),
        }
    }
    let stays = |doubt: &&Doubt| match (&keys, &doubt.settled_by) {
        (None, _) | (_, SettledBy::NoKey) => true,
        (Some(_), SettledBy::AnyKey) => false,
        (Some(keys), SettledBy::These(possible)) => !are_among(possible, &keys.found),
    };
    if let Some(doubt) = doubts.iter().find(stays) {
        return Search::Refused(Refusal::NotOneShard, not_one_shard(step, &doubt.reason));
    }
    keys.map_or(Search::Nothing, Search::Keys)
}

fn ask<'a>(step: &'a MapStep, evaluation: &Evaluation<'a>, finder: &'a Finder) -> Answer<'a> {
    let encoding = evaluation.statement.encoding();
    let or_nothing = |keys: Option<Keys<'a>>| keys.map_or(Answer::Nothing, Answer::Keys);
    match finder {
        Finder::Comment { word, form } => comment_keys(step, evaluation, word, form),
        Finder::Schema { template } => or_nothing(
            evaluation
                .session
                .schema
                .and_then(|schema| name_key(step.kind, template, schema, "schema"))
                .map(|mut keys| {
                    for found in keys
                        .found
                        .iter_mut()
                        .filter(|found| !encoding.reads_name(&found.text))
                    {
                        found.value = None;
                        found.unread = Some(Unread::Encoding);
                    }
                    keys
                }),
        ),
        Finder::User { template } => {
            or_nothing(name_key(step.kind, template, evaluation.session.user, "user"))
        }
        Finder::Table { template } => table_keys(step, evaluation, template),
        Finder::Column { column, .. } if has_unread_names(step, evaluation, column) => Answer::Doubt(Doubt {
            reason: "names beyond ASCII are read only in a session of utf8mb4; use SET NAMES utf8mb4"
                .to_owned(),
            settled_by: SettledBy::NoKey,
        }),
        Finder::Column { column, in_shards } => match column_keys(step, evaluation, column, *in_shards) {
            ColumnAnswer::NotConcerned | ColumnAnswer::Missing => Answer::Nothing,
            ColumnAnswer::Keys(using) => Answer::Keys(Keys {
                found: literals(step.kind, &using, encoding),
                origin: Origin::Column(column),
                column: Some(Box::new(ColumnUse {
                    using,
                    column,
                    in_shards: *in_shards,
                    decides: true,
                })),
            }),
            ColumnAnswer::Undecidable(doubt) => {
                Answer::Doubt(column_doubt(step, doubt, *in_shards, encoding))
            }
        },
    }
}

impl Keys<'_> {
    /// What the keys were found in, human-readable.
    pub(super) fn origin(&self) -> String {
        let text = self.found.first().map_or("", |found| &found.text);
        match &self.origin {
            Origin::Comment(Some(word)) => format!("comment {word}={text}"),
            Origin::Comment(None) => format!("comment {text}"),
            Origin::Name(what, name) => format!("{what} {name}"),
            Origin::Tables(names) => format!("table {}", names.join(", ")),
            Origin::Column(column) if self.found.is_empty() => {
                format!("column {column}, whose value the execution binds")
            }
            Origin::Column(column) => format!("column {column}"),
        }
    }

    /// Adds what another finder found: all of it must be on one shard.
    fn join(&mut self, other: Self) {
        let own = values_of(&self.found);
        let is_new = |found: &FoundKey<'_>| !found.value.as_ref().is_some_and(|value| own.contains(value));
        let others: Vec<_> = other.found.into_iter().filter(is_new).collect();
        self.found.extend(others);
        self.column = self.column.take().or(other.column);
    }
}

fn not_one_shard(step: &MapStep, reason: &str) -> String {
    format!("cannot be placed on one shard: shard map {}: {reason}", step.map)
}

/// Two finders agree when every value of one is a value of the other; a list agrees with a value that it holds, and
/// whether the rest of the list is on the same shard is asked later.
fn agree(a: &Keys<'_>, b: &Keys<'_>) -> bool {
    if a.found.len() <= b.found.len() {
        are_among(&a.found, &b.found)
    } else {
        are_among(&b.found, &a.found)
    }
}

/// Whether all of `few` are keys, and among `many`.
fn are_among(few: &[FoundKey<'_>], many: &[FoundKey<'_>]) -> bool {
    let many = values_of(many);
    let is_among = |one: &FoundKey<'_>| one.value.as_ref().is_some_and(|value| many.contains(value));
    few.iter().all(is_among)
}

/// The keys among the values that were found.
pub(super) fn values_of<'f>(found: &'f [FoundKey<'_>]) -> FxHashSet<KeyRef<'f>> {
    let values = found.iter().filter_map(|found| found.value.as_ref());
    values.map(KeyRef::borrowed).collect()
}

fn conflict<'a, 'f, 'k: 'f>(step: &MapStep, found: impl Iterator<Item = &'f FoundKey<'k>>) -> Search<'a> {
    let mut texts: Vec<&str> = found.map(|found| &*found.text).collect();
    texts.sort_unstable();
    texts.dedup();
    texts.truncate(4);
    Search::Refused(
        Refusal::ConflictingKeys,
        refusal::conflicting_keys(&step.map, &step.key, &texts),
    )
}

/// What to look for in comments. With `flag`, a bare word means `word=1`.
pub(super) fn comment_key<'w>(word: &'w str, form: &CommentForm, flag: bool) -> CommentKey<'w> {
    let form = match form {
        CommentForm::Pairs if flag => comment::CommentForm::Flag,
        CommentForm::Pairs => comment::CommentForm::Pairs,
        CommentForm::Sqlcommenter => comment::CommentForm::Sqlcommenter,
        CommentForm::Exact(_) => comment::CommentForm::Exact,
    };
    CommentKey { name: word, form }
}

/// Different keys in comments that are told apart: more than one is refused, or the first one counts.
const MOST_IN_COMMENTS: usize = 16;

fn comment_keys<'a>(
    step: &MapStep,
    evaluation: &Evaluation<'a>,
    word: &'a str,
    form: &CommentForm,
) -> Answer<'a> {
    let mut found: SmallVec<[FoundKey<'a>; 1]> = SmallVec::new();
    let key = comment_key(word, form, false);
    let are_all = evaluation.statement.each_in_comments(key, |value| {
        let Some(mut found_value) = comment_value(step.kind, value, form) else {
            return;
        };
        if evaluation.statement.encoding() <= Encoding::Ascii && !found_value.text.is_ascii() {
            found_value.value = None;
            found_value.unread = Some(Unread::Encoding);
        }
        let known = found.len() == MOST_IN_COMMENTS
            || found
                .iter()
                .any(|other| match (&other.value, &found_value.value) {
                    (Some(a), Some(b)) => a == b,
                    _ => other.text == found_value.text,
                });
        if !known {
            found.push(found_value);
        }
    });
    if found.len() > 1 {
        match step.conflict {
            Conflict::First => found.truncate(1),
            Conflict::Reject => return Answer::Refused(conflict(step, found.iter())),
        }
    }
    let is_settled = are_all || (step.conflict == Conflict::First && !found.is_empty());
    if !is_settled {
        let statement = evaluation.statement;
        return Answer::Doubt(Doubt {
            reason: lex::difference(statement.text(), statement.mode()).unwrap_or_default(),
            settled_by: SettledBy::NoKey,
        });
    }
    if found.is_empty() {
        return Answer::Nothing;
    }
    let origin = Origin::Comment(match form {
        CommentForm::Exact(_) => None,
        CommentForm::Pairs | CommentForm::Sqlcommenter => Some(word),
    });
    Answer::Keys(Keys {
        found,
        origin,
        column: None,
    })
}

/// A comment of another form is no key; a value of another kind is a key that no shard holds.
fn comment_value<'a>(kind: KeyKind, value: Cow<'a, [u8]>, form: &CommentForm) -> Option<FoundKey<'a>> {
    let (text, is_valid) = match value {
        Cow::Borrowed(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => (Cow::Borrowed(text), true),
            Err(_) => (String::from_utf8_lossy(bytes), false),
        },
        Cow::Owned(bytes) => {
            let is_valid = std::str::from_utf8(&bytes).is_ok();
            (Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()), is_valid)
        }
    };
    match form {
        CommentForm::Exact(template) => in_template(kind, template, text),
        CommentForm::Pairs | CommentForm::Sqlcommenter => {
            let value = if is_valid {
                KeyRef::parse(kind, text.clone())
            } else {
                None
            };
            Some(FoundKey {
                text,
                value,
                unread: None,
            })
        }
    }
}

fn in_template<'a>(kind: KeyKind, template: &KeyTemplate, name: Cow<'a, str>) -> Option<FoundKey<'a>> {
    let text = match name {
        Cow::Borrowed(name) => Cow::Borrowed(template.extract(kind, name)?),
        Cow::Owned(name) => Cow::Owned(template.extract(kind, &name)?.to_owned()),
    };
    let value = KeyRef::parse(kind, text.clone());
    Some(FoundKey {
        text,
        value,
        unread: None,
    })
}

/// The key in the name of the session's schema or user.
fn name_key<'a>(
    kind: KeyKind,
    template: &KeyTemplate,
    name: &'a str,
    what: &'static str,
) -> Option<Keys<'a>> {
    let found = in_template(kind, template, Cow::Borrowed(name))?;
    Some(Keys {
        found: smallvec![found],
        origin: Origin::Name(what, name),
        column: None,
    })
}

fn table_keys<'a>(step: &MapStep, evaluation: &Evaluation<'a>, template: &KeyTemplate) -> Answer<'a> {
    let question = TableQuestion {
        logical_schema: step.logical_schema.as_deref(),
        session_schema: evaluation.schema,
        mode: evaluation.statement.mode(),
    };
    let encoding = evaluation.statement.encoding();
    let read = |name: &str| match in_template(step.kind, template, Cow::Owned(name.to_owned())) {
        Some(_) if !encoding.reads_name(name) => TableName::OtherCase,
        Some(found) => TableName::Key(found),
        None if template.fits_in_other_case(step.kind, name) => TableName::OtherCase,
        None => TableName::Plain,
    };
    match schema::table_keys(evaluation.statement.text(), &question, read) {
        TableKeys::None => Answer::Nothing,
        TableKeys::Found(found) => {
            let names = found.iter().take(4);
            let names = names.map(|key| format!("{}{}{}", template.prefix, key.text, template.suffix));
            Answer::Keys(Keys {
                origin: Origin::Tables(names.collect()),
                found: found.into(),
                column: None,
            })
        }
        TableKeys::Undecidable { reason, mentioned } => Answer::Doubt(Doubt {
            reason,
            settled_by: mentioned.map_or(SettledBy::NoKey, SettledBy::These),
        }),
    }
}

fn column_keys(
    step: &MapStep,
    evaluation: &Evaluation<'_>,
    column: &str,
    in_shards: InShards,
) -> ColumnAnswer {
    match column_question(step, evaluation, column, in_shards) {
        Some(question) => columns::decide(evaluation.statement.text(), &question),
        None => ColumnAnswer::NotConcerned,
    }
}

/// `None`: the map has no schema whose tables could have the column.
fn column_question<'q>(
    step: &'q MapStep,
    evaluation: &'q Evaluation<'_>,
    column: &'q str,
    in_shards: InShards,
) -> Option<ColumnQuestion<'q>> {
    Some(ColumnQuestion {
        logical_schema: step.logical_schema.as_deref()?,
        key_column: column,
        session_schema: evaluation.schema,
        in_shards,
        mode: evaluation.statement.mode(),
        parameters: evaluation.statement.parameters(),
    })
}

/// Whether a name of the statement may be one of the map's, in bytes of another character set.
fn has_unread_names(step: &MapStep, evaluation: &Evaluation<'_>, column: &str) -> bool {
    let encoding = evaluation.statement.encoding();
    let is_read = encoding == Encoding::Utf8mb4
        || (encoding.reads_name(column)
            && step
                .logical_schema
                .as_deref()
                .is_none_or(|schema| encoding.reads_name(schema)));
    !is_read && !evaluation.statement.text().is_ascii()
}

/// Whether a map that looks for keys in columns can tell that the statement reads no rows: then any server can answer it.
pub(super) fn reads_no_rows(step: &MapStep, evaluation: &Evaluation<'_>) -> bool {
    step.finders.iter().any(|finder| match finder {
        Finder::Column { column, in_shards } => column_question(step, evaluation, column, *in_shards)
            .is_some_and(|question| columns::reads_no_rows(evaluation.statement.text(), &question)),
        _ => false,
    })
}

/// A key that comes from elsewhere is believed as long as the statement does not contradict it.
fn column_doubt<'a>(
    step: &MapStep,
    doubt: columns::Doubt,
    in_shards: InShards,
    encoding: Encoding,
) -> Doubt<'a> {
    let settled_by = match (in_shards, doubt.mentions) {
        (InShards::Absent, _) => SettledBy::NoKey,
        (InShards::Present, _) if step.conflict == Conflict::First => SettledBy::AnyKey,
        (InShards::Present, Mentions::Nothing) => SettledBy::AnyKey,
        (InShards::Present, Mentions::These(literals)) => {
            let values = literals.iter().map(|literal| &literal.value);
            SettledBy::These(
                values
                    .filter_map(|value| literal_value(step.kind, value, encoding))
                    .collect(),
            )
        }
        (InShards::Present, Mentions::Unknown(_)) => SettledBy::NoKey,
    };
    Doubt {
        reason: doubt.reason,
        settled_by,
    }
}
