//! From a statement to its answer.

use super::calls::check_tokens;
use super::pins::{DistinctLiterals, Pin};
use super::scope::{Finding, survey};
use super::{
    ColumnAnswer, ColumnQuestion, Doubt, InShards, KeyRole, KeyUse, KeyValue, Mentions, Parameters, insert,
    mentions, structure,
};
use crate::class::{Shape, StatementClass};
use crate::dynamic;
use crate::lex::{LexMode, Lexer, Span, Token, TokenKind, identifier};
use crate::names::folded;
use crate::parse::{Reading, same_but_for_case};
use crate::rewrite::Edit;
use crate::schema;
use crate::work;

/// Reads the shard key of `text`.
pub fn decide(text: &[u8], question: &ColumnQuestion<'_>) -> ColumnAnswer {
    if !may_concern(text, question) {
        return ColumnAnswer::NotConcerned;
    }
    let reading =
        Reading::of(text, question.mode).map(|reading| reading.with_parameters(question.parameters));
    let answer = match &reading {
        Ok(reading) => decide_reading(reading, question),
        // `/*!40101 SET NAMES utf8 */`, as dumps have it.
        Err(_) if is_setting(text, question.mode) => Ok(ColumnAnswer::NotConcerned),
        Err(reason) => Err(reason.clone()),
    };
    answer.unwrap_or_else(|mut reason| {
        if matches!(question.parameters, Parameters::Bound(values) if values.contains(&None)) {
            reason.push_str("; a parameter is a key only as an integer or a text");
        }
        let mentions = match &reading {
            Ok(reading) => mentions::of(reading, question),
            Err(_) => Mentions::Unknown("a part of it is not looked into"),
        };
        ColumnAnswer::Undecidable(Doubt { reason, mentions })
    })
}

fn is_setting(text: &[u8], mode: LexMode) -> bool {
    let shape = Shape::of(text, mode);
    shape.class == StatementClass::Set && shape.is_session_setup()
}

/// False if no name, and no text that the server is given to run, can mean the logical schema.
fn may_concern(text: &[u8], question: &ColumnQuestion<'_>) -> bool {
    if session_is_logical(question) {
        return true;
    }
    let is_dynamic = dynamic::runs_text(text, question.mode);
    if is_dynamic && dynamic::texts(text, question.mode).is_err() {
        return true;
    }
    let can_mean = |token: Token| match token.kind {
        TokenKind::Word | TokenKind::QuotedName => {
            !token.terminated
                || identifier(&token, text)
                    .is_some_and(|name| same_but_for_case(&name, question.logical_schema))
        }
        TokenKind::ReadOtherwise => true,
        TokenKind::ExecutableComment => contains(token.span.of(text), question.logical_schema),
        TokenKind::String => is_dynamic && contains(token.span.of(text), question.logical_schema),
        _ => false,
    };
    Lexer::new(text, question.mode).any(can_mean)
}

fn session_is_logical(question: &ColumnQuestion<'_>) -> bool {
    question
        .session_schema
        .is_some_and(|schema| same_but_for_case(schema.as_bytes(), question.logical_schema))
}

fn contains(bytes: &[u8], name: &str) -> bool {
    folded(bytes).contains(&folded(name.as_bytes()))
}

fn decide_reading(reading: &Reading<'_>, question: &ColumnQuestion<'_>) -> Result<ColumnAnswer, String> {
    use StatementClass as C;
    let says = |word: &str| (0..reading.tokens.len()).any(|index| reading.is_word(index, word));
    let names_schema = reading
        .tokens
        .iter()
        .any(|token| reading.is_name(token, question.logical_schema));
    match reading.class {
        C::Insert | C::Replace => insert::decide(reading, question),
        C::Select | C::Update | C::Delete => by_tree(reading, question),
        C::Begin | C::Commit | C::Rollback | C::Savepoint | C::Xa | C::Use | C::Kill | C::Empty => {
            Ok(ColumnAnswer::NotConcerned)
        }
        C::Show if !says("SELECT") => Ok(ColumnAnswer::NotConcerned),
        C::Set | C::Do if !names_schema && !says("SELECT") => Ok(ColumnAnswer::NotConcerned),
        C::Explain => match reading.explained() {
            Some(explained) => decide_reading(&explained, question),
            None if structure::is_description(reading) => Ok(ColumnAnswer::NotConcerned),
            None => Err("an EXPLAIN of this form is not followed".to_owned()),
        },
        C::Lock if reading.is_word(0, "UNLOCK") => Ok(ColumnAnswer::NotConcerned),
        C::Ddl => Err(format!(
            "a change of tables of `{}` concerns every shard; name the shard's schema",
            question.logical_schema
        )),
        _ => Err(format!(
            "only SELECT, INSERT, REPLACE, UPDATE and DELETE on `{}` are read for a key",
            question.logical_schema
        )),
    }
}

fn by_tree(reading: &Reading<'_>, question: &ColumnQuestion<'_>) -> Result<ColumnAnswer, String> {
    let finding = reading.with_tree(|statement| survey(statement, reading, question))??;
    if let Some(problem) = finding.problems.first().filter(|_| finding.overlooks)
        && session_is_logical(question)
    {
        return Err(problem.clone());
    }
    if finding.logical_tables.is_empty() {
        let qualifies = schema::references(reading.text, question.mode)
            .iter()
            .any(|reference| same_but_for_case(&reference.name, question.logical_schema));
        if qualifies {
            return Err(format!(
                "`{}` qualifies a name that is no table here",
                question.logical_schema
            ));
        }
        return Ok(ColumnAnswer::NotConcerned);
    }
    if let Some(problem) = finding.problems.first() {
        return Err(problem.clone());
    }
    check_tokens(reading)?;
    concluded(reading, question, finding)
}

fn concluded(
    reading: &Reading<'_>,
    question: &ColumnQuestion<'_>,
    finding: Finding,
) -> Result<ColumnAnswer, String> {
    let column = question.key_column;
    let absent = question.in_shards == InShards::Absent;
    let predicates = Cover::of(&finding.pins);
    let mut tokens = reading.tokens.iter();
    let mention = tokens.find(|token| reading.is_name(token, column) && !predicates.holds(token.span));
    if finding.pins.is_empty() && (mention.is_none() || !(absent || finding.condition_mentions_key)) {
        if !absent && mentions::may_limit_by_another_name(reading, mention.is_some()) {
            return Err(format!("{column} may be limited under another name"));
        }
        return Ok(ColumnAnswer::Missing);
    }
    if let Some(table) = finding.logical_tables.iter().find(|table| !table.pinned) {
        return Err(format!(
            "nothing limits table `{}` to one value of {column}: a top-level `{column} = literal` must stand for \
             every table",
            table.name
        ));
    }
    // A shard whose tables lack the column cannot tell the rows of its keys apart.
    let sets = || finding.pins.iter().map(Pin::value_set).collect::<Vec<_>>();
    if absent && !alike(&sets()) {
        return Err(format!("predicates on {column} name different keys"));
    }
    if absent && let Some(mention) = mention {
        return Err(format!(
            "{column} stands at byte {} beside its predicate, and the tables on the shards lack it",
            mention.span.start
        ));
    }
    if absent && finding.wildcard {
        return Err(format!(
            "`*` would lack the column {column}, which the tables on the shards do not have"
        ));
    }
    let neutralised = match absent {
        true => finding
            .pins
            .iter()
            .map(|pin| Edit {
                span: pin.span,
                text: always(reading, pin),
            })
            .collect(),
        false => Vec::new(),
    };
    let mut values = DistinctLiterals::default();
    let in_rows = finding.pins.iter().any(|pin| pin.in_rows);
    values.extend(finding.pins.into_iter().flat_map(|pin| pin.literals));
    let mut tables: Vec<String> = finding
        .logical_tables
        .into_iter()
        .map(|table| table.table)
        .collect();
    tables.sort_unstable();
    tables.dedup();
    Ok(ColumnAnswer::Keys(KeyUse {
        values: values.into_vec(),
        role: KeyRole::Filter,
        neutralised,
        tables,
        needs_visible_key: finding.natural,
        in_rows,
        changes: finding.changes,
    }))
}

/// The parts of a text in which predicates stand: where each begins, sorted, and where the last one ends that begins there or before.
struct Cover(Vec<(usize, usize)>);

impl Cover {
    fn of(pins: &[Pin]) -> Self {
        let mut spans: Vec<(usize, usize)> = pins.iter().map(|pin| (pin.span.start, pin.span.end)).collect();
        spans.sort_unstable();
        let mut last = 0;
        for (_, end) in &mut spans {
            last = last.max(*end);
            *end = last;
        }
        Self(spans)
    }

    /// Whether a predicate holds all of `span`.
    fn holds(&self, span: Span) -> bool {
        work::count(1);
        let behind = self.0.partition_point(|(start, _)| *start <= span.start);
        behind > 0 && span.end <= self.0[behind - 1].1
    }
}

/// Whether the values of all predicates are the same, as far as they are known.
fn alike(sets: &[Vec<KeyValue>]) -> bool {
    let mut known = sets.iter().filter(|set| !set.contains(&KeyValue::Open));
    let first = known.next();
    known.all(|set| Some(set) == first)
}

/// What takes the place of a predicate that every row of the shard satisfies: with the `?` that were in it, which cannot be
/// NULL, so that the statement keeps its parameters.
fn always(reading: &Reading<'_>, pin: &Pin) -> Vec<u8> {
    let is_before = |token: &Token| token.span.start < pin.span.start;
    let first = reading.tokens.partition_point(is_before);
    let inside = reading.tokens[first..]
        .iter()
        .take_while(|token| token.span.end <= pin.span.end);
    match inside
        .filter(|token| token.kind == TokenKind::Placeholder)
        .count()
    {
        0 => b"1=1".to_vec(),
        parameters => vec!["? IS NOT NULL"; parameters].join(" AND ").into_bytes(),
    }
}
