//! For each written rule: whole statements around the words that it asks for, and what becomes of them.
//!
//! A rule for `^UPDATE counters` never meets the ordinary statements of [`super::trials`]. Its own witness says which words
//! it meets; around them a family is made: the read, the same read with each kind of lock, the writes of the same table. A
//! statement only counts for the rule where the evaluator says that the rule matches it.

use shardwright_rules::EngineRule;
use shardwright_sql::{LexMode, StatementClass, classify};

use super::own_text::{holding, words};
use super::trials::{Behaviour, Trial};
use shardwright_prover::Example;
use shardwright_prover::Reach;
use shardwright_prover::RuleSet;
use shardwright_prover::Session;
use shardwright_prover::shown_text;

/// Rules whose families are made: each costs some ten decisions.
const MOST_FAMILIES: usize = 2_000;

/// The statements of one rule's words.
#[derive(Debug)]
pub(crate) struct Family {
    /// The rule, by position.
    pub(crate) rule: usize,
    /// Those that the rule matches.
    pub(crate) trials: Vec<Trial>,
    /// The write of the table that the reads name, whatever rule matches it.
    pub(crate) write: Option<Trial>,
}

impl Family {
    /// The first statement of a kind.
    pub(crate) fn of_behaviour(&self, behaviour: Behaviour) -> Option<&Trial> {
        self.trials.iter().find(|trial| trial.behaviour == behaviour)
    }
}

/// The families of the rules that somebody wrote and some statement reaches.
pub(crate) fn all(set: &RuleSet<'_>, reach: &Reach) -> Vec<Family> {
    let wanted = set.written().filter(|(_, row)| reads_text(row));
    let reached = wanted.filter_map(|(position, _)| Some((position, reach.example(position)?)));
    reached
        .take(MOST_FAMILIES)
        .map(|(position, example)| family(set, position, example))
        .collect()
}

fn reads_text(row: &EngineRule) -> bool {
    (row.match_digest.is_some() || row.match_pattern.is_some()) && !row.negate_match_pattern
}

fn family(set: &RuleSet<'_>, rule: usize, example: &Example) -> Family {
    let tried =
        |behaviour: Behaviour, text: String| trial(set, &example.session, behaviour, text.into_bytes());
    let matched = |trial: &Trial| trial.hits().any(|hit| hit == rule);
    let own = String::from_utf8_lossy(&example.text).into_owned();
    let shown = String::from_utf8_lossy(&shown_text(set, rule)).into_owned();
    let shown = set.row(rule).map_or(shown.clone(), |row| as_written(row, shown));
    // As the pattern is written first; a witness that was put together for another chain may hide the rule's own words.
    let mut texts = statements(&shown);
    if shown != own {
        texts.extend(statements(&own));
    }
    texts.extend(set.row(rule).into_iter().flat_map(of_alternatives));
    let trials: Vec<Trial> = texts
        .into_iter()
        .map(|(behaviour, text)| tried(behaviour, text))
        .filter(matched)
        .collect();
    let read = trials.iter().find(|trial| trial.behaviour == Behaviour::Read);
    let table = read.and_then(|read| table_of(&read.example.text));
    let write = table.map(|table| tried(Behaviour::Write, format!("UPDATE {table} SET a=1 WHERE id=1")));
    Family { rule, trials, write }
}

/// Words in the letters of the rule's pattern, where they stand in it: a pattern without regard to case gives capitals.
fn as_written(row: &EngineRule, words: String) -> String {
    let patterns = [&row.match_digest, &row.match_pattern].into_iter().flatten();
    let mut found = patterns.filter_map(|pattern| {
        let at = pattern.to_ascii_uppercase().find(&words.to_ascii_uppercase())?;
        pattern.get(at..at + words.len())
    });
    found.next().map(str::to_owned).unwrap_or(words)
}

fn trial(set: &RuleSet<'_>, session: &Session, behaviour: Behaviour, text: Vec<u8>) -> Trial {
    Trial {
        behaviour,
        decision: set.decide(session, &text),
        example: Example {
            session: session.clone(),
            text,
        },
    }
}

/// Statements that begin as `words` do, or are about them where they are no statement.
fn statements(words: &str) -> Vec<(Behaviour, String)> {
    let words = words.trim();
    match classify(words.as_bytes(), LexMode::default()) {
        StatementClass::Select => reads(words),
        StatementClass::Insert => writes(words, &[" VALUES (1)", " SET a=1"]),
        StatementClass::Replace => writes(words, &[" VALUES (1)"]),
        StatementClass::Update => writes(words, &[" SET a=1 WHERE id=1"]),
        StatementClass::Delete => writes(words, &[" WHERE id=1"]),
        StatementClass::Ddl | StatementClass::Load => writes(words, &[]),
        StatementClass::Other | StatementClass::Empty => about(words),
        _ => Vec::new(),
    }
}

/// Statements around the words of each alternative of a rule's patterns.
fn of_alternatives(row: &EngineRule) -> Vec<(Behaviour, String)> {
    let patterns = [&row.match_digest, &row.match_pattern].into_iter().flatten();
    let all = patterns.flat_map(|pattern| words(pattern));
    let mut texts = Vec::new();
    for words in all {
        texts.extend(statements(&words.text));
        if !words.is_anchored {
            texts.extend(holding(&words.text, row.re_modifiers.caseless));
        }
    }
    texts
}

fn writes(words: &str, ends: &[&str]) -> Vec<(Behaviour, String)> {
    let ended = ends.iter().map(|end| format!("{words}{end}"));
    ended
        .chain([words.to_owned()])
        .map(|text| (Behaviour::Write, text))
        .collect()
}

/// A read, and the same read as it takes locks.
fn reads(words: &str) -> Vec<(Behaviour, String)> {
    let upper = words.to_ascii_uppercase();
    if ["FOR UPDATE", "FOR SHARE", "LOCK IN SHARE"]
        .iter()
        .any(|lock| upper.contains(lock))
    {
        return Vec::new();
    }
    let read = match table_of(words.as_bytes()) {
        Some(_) => words.to_owned(),
        None if upper.ends_with("FROM") => format!("{words} t WHERE id=1"),
        None if upper.ends_with("SELECT") => format!("{words} a FROM t WHERE id=1"),
        None => format!("{words} FROM t WHERE id=1"),
    };
    let locking = [
        (Behaviour::Locking, " FOR UPDATE"),
        (Behaviour::LockingOddly, " FOR UPDATE SKIP LOCKED"),
        (Behaviour::LockingOddly, " LOCK IN SHARE MODE"),
        (Behaviour::LockingOddly, " FOR SHARE"),
    ]
    .map(|(behaviour, end)| (behaviour, format!("{read}{end}")));
    [(Behaviour::Read, read)].into_iter().chain(locking).collect()
}

/// Statements about words that are none: the name of a table, a condition, a comment.
fn about(words: &str) -> Vec<(Behaviour, String)> {
    if is_comment(words) {
        let mut all = reads(&format!("{words} SELECT"));
        all.push((Behaviour::Write, format!("{words} UPDATE t SET a=1 WHERE id=1")));
        return all;
    }
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '`' | '$');
    let without_from = words.get(..5).filter(|from| from.eq_ignore_ascii_case("FROM "));
    let table = without_from.map_or(words, |from| words[from.len()..].trim());
    if table.is_empty() || !table.chars().all(is_name) {
        return Vec::new();
    }
    let mut all = reads(&format!("SELECT a FROM {table} WHERE id=1"));
    all.extend(
        [
            format!("UPDATE {table} SET a=1 WHERE id=1"),
            format!("INSERT INTO {table} VALUES (1)"),
            format!("DELETE FROM {table} WHERE id=1"),
        ]
        .map(|text| (Behaviour::Write, text)),
    );
    all
}

/// Whether the text is one comment and nothing else. What an executable one holds is part of the statement.
fn is_comment(text: &str) -> bool {
    let is_executable = ["/*!", "/*M!"].iter().any(|open| text.starts_with(open));
    let body = text.strip_prefix("/*").and_then(|rest| rest.strip_suffix("*/"));
    !is_executable && body.is_some_and(|body| !body.contains("*/"))
}

/// The name behind the first FROM.
fn table_of(text: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(text);
    let mut words = text.split_ascii_whitespace();
    words.find(|word| word.eq_ignore_ascii_case("FROM"))?;
    let name = words.next()?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '`' | '$');
    name.chars().all(is_name).then(|| name.to_owned())
}
