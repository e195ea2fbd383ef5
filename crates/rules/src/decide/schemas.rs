//! The schemas that a statement names, held against the shard that its key belongs to.

use std::borrow::Cow;

use shardwright_sql::names::folded;
use shardwright_sql::{SessionEffects, StatementClass, schema};

use crate::decide::Index;
use crate::decide::evaluation::Evaluation;
use crate::decide::refused::{Refused, refused_because};
use crate::refusal::Refusal;
use crate::{Conflict, Finder, KeyRef, KeyTemplate, MapStep, Rule, Shard};

/// Refuses a statement that names the schema of another shard, or may.
pub(super) fn check(
    index: &impl Index,
    rule: &Rule,
    step: &MapStep,
    evaluation: &Evaluation<'_>,
    shard: &Shard,
) -> Result<(), Refused> {
    if shard.schema.is_none() && templates(step).next().is_none() {
        return Ok(());
    }
    let own = shard.schema.as_deref().or(evaluation.schema);
    let own = own.unwrap_or("the session's schema");
    let refuse = |what: &str| {
        let what = format!(
            "the statement belongs to shard {} ({own}) and {what}",
            shard.address.short()
        );
        refused_because(&rule.address, Refusal::OtherShardsSchema, &what)
    };
    let named = schema::named_schemas(evaluation.statement.text(), evaluation.statement.mode());
    for name in &named.names {
        let name = String::from_utf8_lossy(name);
        // A shard may keep the logical schema as its own; names of it mean the schema of the shard all the same.
        let is_rewritten = shard.schema.is_some() && step.logical_schema.as_deref() == Some(&*name);
        let is_own = shard.schema.as_deref() == Some(&*name) || is_rewritten;
        if !is_own && is_of_another(index, step, evaluation, &name, shard) {
            return Err(refuse(&format!("names {name}, which is another shard's schema")));
        }
    }
    // The map may say that the session's schema is no key where another finder has one.
    let may_differ = shard.schema.is_none() && step.conflict == Conflict::First;
    if let Some(session) = evaluation.schema
        && !may_differ
        && shard.schema.as_deref() != Some(session)
        && step.logical_schema.as_deref() != Some(session)
        && is_of_another(index, step, evaluation, session, shard)
        && is_within_schema(step, evaluation)
    {
        return Err(refuse(&format!(
            "its names without a schema mean {session}, which is another shard's schema"
        )));
    }
    match named.unseen {
        Some(why) => Err(refuse(&format!(
            "may name another shard's schema, as {why}; send what it runs as a statement of its own"
        ))),
        None => Ok(()),
    }
}

/// Refuses a statement with a key of no shard that means a shard's tables all the same.
pub(super) fn check_of_no_shard(
    index: &impl Index,
    rule: &Rule,
    step: &MapStep,
    evaluation: &Evaluation<'_>,
) -> Result<(), Refused> {
    let has_schemas = || step.shards.iter().any(|shard| shard.schema.is_some());
    if templates(step).next().is_none() && !has_schemas() {
        return Ok(());
    }
    let refuse = |what: &str| {
        let what = format!("the statement's key is of no shard and {what}");
        Err(refused_because(&rule.address, Refusal::OtherShardsSchema, &what))
    };
    if names_a_shard(index, step, evaluation) {
        return refuse("it names a shard's schema");
    }
    match evaluation.schema {
        Some(session)
            if step.logical_schema.as_deref() != Some(session)
                && shard_of(index, step, evaluation, session).is_some()
                && is_within_schema(step, evaluation) =>
        {
            refuse(&format!(
                "its names without a schema mean {session}, which is a shard's schema"
            ))
        }
        _ => Ok(()),
    }
}

/// Whether what the statement does depends on the session's schema: it may name a table, or run code, without one.
fn is_within_schema(step: &MapStep, evaluation: &Evaluation<'_>) -> bool {
    let statement = evaluation.statement;
    let logical = step.logical_schema.as_deref().unwrap_or_default();
    let is_placed = schema::place(
        statement.text(),
        statement.mode(),
        logical,
        Some(logical),
        logical,
        schema::Unqualified::Reject,
    );
    is_placed.is_err() || statement.shape().effects.intersects(SessionEffects::UNKNOWN)
}

fn templates(step: &MapStep) -> impl Iterator<Item = &KeyTemplate> {
    step.finders.iter().filter_map(|finder| match finder {
        Finder::Schema { template } => Some(template),
        Finder::Comment { .. } | Finder::Column { .. } | Finder::Table { .. } | Finder::User { .. } => None,
    })
}

/// The shard whose schema `name` is.
fn shard_of<'i>(
    index: &'i impl Index,
    step: &MapStep,
    evaluation: &Evaluation<'_>,
    name: &str,
) -> Option<&'i Shard> {
    index.shard_of_schema(evaluation.position, name).or_else(|| {
        templates(step).find_map(|template| {
            let key = template.extract(step.kind, name)?;
            let key = KeyRef::parse(step.kind, Cow::Borrowed(key))?;
            index.shard(evaluation.position, &key).map(|place| place.shard)
        })
    })
}

/// Whether `name` is the schema of a shard other than `shard`; in other letter case it is, where the server's
/// `lower_case_table_names` has it so.
fn is_of_another(
    index: &impl Index,
    step: &MapStep,
    evaluation: &Evaluation<'_>,
    name: &str,
    shard: &Shard,
) -> bool {
    let is_other = |owner: &Shard| !std::ptr::eq(owner, shard);
    if let Some(owner) = shard_of(index, step, evaluation, name) {
        return is_other(owner);
    }
    let lower = folded(name.as_bytes());
    lower != name && shard_of(index, step, evaluation, &lower).is_some_and(is_other)
}

/// Whether a statement without a key names the schema of a shard.
pub(super) fn names_a_shard(index: &impl Index, step: &MapStep, evaluation: &Evaluation<'_>) -> bool {
    if evaluation.statement.class() == StatementClass::Use {
        return false;
    }
    let named = schema::named_schemas(evaluation.statement.text(), evaluation.statement.mode());
    let is_shards = |name: &Cow<'_, [u8]>| {
        let name = String::from_utf8_lossy(name);
        step.logical_schema.as_deref() != Some(&*name) && shard_of(index, step, evaluation, &name).is_some()
    };
    named.names.iter().any(is_shards)
}
