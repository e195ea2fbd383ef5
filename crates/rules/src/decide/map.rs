//! A shard map: the shard that holds a statement's keys, and the statement as that shard takes it.

use std::borrow::Cow;
use std::sync::Arc;

use rustc_hash::FxHashSet;
use shardwright_sql::column_names::{self, Unnamed};
use shardwright_sql::columns::{KeyRole, RowChange, TableChange};
use shardwright_sql::rewrite::{self, Edit};
use shardwright_sql::{KeyUse, StatementClass, schema};

use crate::control;
use crate::decide::evaluation::{Evaluation, Next};
use crate::decide::keys::{self, ColumnUse, Keys, Search, Unread};
use crate::decide::refused::{Refused, refused, refused_because};
use crate::decide::{Index, ShardOfKey, keys::FoundKey, schemas};
use crate::refusal::{self, Refusal};
use crate::{
    AssumedKey, AssumedTable, ComparedValue, InShards, KeyKind, KeyRef, MapStep, MissingAction, MissingBegin,
    Outcome, RowWrites, Rule, Shard, UnknownKey, Unqualified,
};

pub(super) fn run<'a>(
    index: &'a impl Index,
    rule: &'a Rule,
    step: &'a MapStep,
    evaluation: &mut Evaluation<'a>,
) -> Next {
    let follows = evaluation.statement.follows_transaction();
    if follows && !is_xa_alone(evaluation) {
        return Next::Continue;
    }
    let next = if evaluation.statement.has_several() {
        let what = "several statements in one text, or one with a body, cannot be placed; send statements one by one, and create \
                    routines on the servers";
        Err(refused_because(&rule.address, Refusal::NotOneShard, what))
    } else {
        match keys::search(step, evaluation) {
            Search::Refused(Refusal::NotOneShard, what) => {
                Err(refused_because(&rule.address, Refusal::NotOneShard, &what))
            }
            Search::Refused(refusal, message) => Err(refused(&rule.address, refusal, message)),
            Search::Nothing if follows && !is_deferred_xa(step, evaluation) => return Next::Continue,
            Search::Nothing => missing(index, rule, step, evaluation),
            Search::Keys(keys) => on_shard_of(index, rule, step, evaluation, &keys),
        }
    };
    next.unwrap_or_else(|rejection| {
        let address = rejection.address.as_ref().unwrap_or(&rule.address);
        evaluation.matched(rule, address, None, |_| "refused".to_owned());
        Next::Decided(Box::new(Outcome::Reject(*rejection)))
    })
}

/// XA outside of every transaction: one begins, or another session's is committed.
fn is_xa_alone(evaluation: &Evaluation<'_>) -> bool {
    let session = evaluation.session;
    evaluation.statement.class() == StatementClass::Xa
        && session.transaction.is_none()
        && session.transaction_pending.is_none()
}

/// An XA transaction that opens where its first statement with a key goes.
fn is_deferred_xa(step: &MapStep, evaluation: &Evaluation<'_>) -> bool {
    let missing = step.missing_of(evaluation.session.user);
    missing.begin == MissingBegin::FirstStatement && evaluation.statement.begins_xa()
}

/// A statement that the map is not about: where an earlier map placed it, the maps behind this one are not for it either.
pub(super) fn pass<'a>(step: &'a MapStep, evaluation: &mut Evaluation<'a>) {
    if evaluation.settled == Some(&step.map) {
        evaluation.settled = step.otherwise.as_deref();
    }
}

/// What `missing_key` says about a statement without a key.
fn missing<'a>(
    index: &'a impl Index,
    rule: &Rule,
    step: &'a MapStep,
    evaluation: &mut Evaluation<'a>,
) -> Result<Next, Refused> {
    if evaluation.settled == Some(&step.map) {
        pass(step, evaluation);
        return Ok(Next::Continue);
    }
    if step.otherwise.is_some() {
        return Ok(Next::Continue);
    }
    let no_key = || refusal::missing_key(&step.map, &step.key, &step.finders);
    let begins = evaluation.statement.begins() || evaluation.statement.begins_xa();
    let missing = step.missing_of(evaluation.session.user);
    let action = if begins {
        match missing.begin {
            MissingBegin::Allow => return Ok(Next::Continue),
            MissingBegin::FirstStatement if evaluation.session.transaction.is_some() => {
                // BEGIN commits what is open, so it goes there.
                evaluation.hostgroup = evaluation.session.transaction.map(|open| open.hostgroup.0);
                return Ok(Next::Continue);
            }
            MissingBegin::FirstStatement if evaluation.statement.resumes_xa() => {
                return Err(Box::new(refusal::no_xa_to_resume()));
            }
            MissingBegin::FirstStatement if !control::is_whole(evaluation.statement) => {
                return Err(Box::new(refusal::no_control()));
            }
            MissingBegin::FirstStatement => {
                let why = "the transaction opens where its first statement with a key goes";
                evaluation.matched(rule, &rule.address, None, |_| why.to_owned());
                return Ok(Next::Decided(Box::new(Outcome::DeferBegin)));
            }
            MissingBegin::Reject => {
                let message = refusal::begin_without_key(&step.map, &step.key, &step.finders);
                return Err(refused(&rule.address, Refusal::BeginWithoutKey, message));
            }
        }
    } else if (evaluation.statement.is_session_setup() || keys::reads_no_rows(step, evaluation))
        && !schemas::names_a_shard(index, step, evaluation)
    {
        &missing.session_setup
    } else {
        &missing.statements
    };
    match action {
        MissingAction::Allow => Ok(Next::Continue),
        MissingAction::Reject => Err(refused(&rule.address, Refusal::MissingKey, no_key())),
        MissingAction::Cluster(name) => {
            to_cluster(index, evaluation, name);
            evaluation.matched(rule, &rule.address, None, |_| {
                format!("no {}, to cluster {name}", step.key)
            });
            Ok(Next::Continue)
        }
    }
}

/// Places the statement on a cluster's writer, where no policy takes it away.
fn to_cluster(index: &impl Index, evaluation: &mut Evaluation<'_>, name: &str) {
    if let Some(cluster) = index.cluster(name) {
        evaluation.hostgroup = Some(cluster.writer.0);
        evaluation.kept_on = evaluation.hostgroup;
    }
    evaluation.placed = true;
}

/// Places the statement on the one shard that holds its keys.
fn on_shard_of<'a>(
    index: &'a impl Index,
    rule: &Rule,
    step: &'a MapStep,
    evaluation: &mut Evaluation<'a>,
    keys: &Keys<'_>,
) -> Result<Next, Refused> {
    let place = one_shard(index, rule, step, evaluation, &keys.found)?;
    if let Ok(ShardOfKey { shard, .. }) = &place
        && let Some(why) = &shard.refuse
    {
        let message = refusal::refused_shard(&shard.address.short(), why);
        return Err(refused(&shard.address, Refusal::RefusedShard, message));
    }
    let writer = || match &place {
        Ok(place) => place.writer,
        Err(cluster) => index.cluster(cluster).map(|cluster| cluster.writer),
    };
    if evaluation.settled == Some(&step.map) && writer().map(|writer| writer.0) != evaluation.hostgroup {
        let message = refusal::conflicting_keys(&step.map, &step.key, &[]);
        return Err(refused(&rule.address, Refusal::ConflictingKeys, message));
    }
    evaluation.settled = step.otherwise.as_deref();
    let ShardOfKey {
        shard,
        writer,
        is_sole_owner,
    } = match place {
        Ok(place) => place,
        Err(cluster) => {
            schemas::check_of_no_shard(index, rule, step, evaluation)?;
            if let Some(column) = &keys.column {
                let assumed = assumed(step, None, column, evaluation);
                evaluation.assumed.extend(assumed);
            }
            to_cluster(index, evaluation, cluster);
            evaluation.matched(rule, &rule.address, None, |_| {
                format!("{} is of no shard, to cluster {cluster}", keys.origin())
            });
            return Ok(Next::Continue);
        }
    };
    schemas::check(index, rule, step, evaluation, shard)?;
    let edits = edits(rule, step, evaluation, shard, keys)?;
    if let Some(column) = &keys.column {
        let assumed = assumed(step, shard.schema.as_ref(), column, evaluation);
        evaluation.assumed.extend(assumed);
    }
    if !edits.is_empty() {
        evaluation.text = rewrite::apply(evaluation.statement.text(), &edits).into();
    }
    if step.logical_schema.is_some() && evaluation.schema == step.logical_schema.as_deref() {
        evaluation.backend_schema = shard.schema.clone();
    }
    if let Some(writer) = writer {
        evaluation.hostgroup = Some(writer.0);
        evaluation.owner = shard
            .cluster
            .as_ref()
            .filter(|_| is_sole_owner)
            .map(|cluster| (writer, cluster));
    }
    evaluation.placed = true;
    evaluation.shard = Some(&shard.address);
    evaluation.matched(rule, &shard.address, None, |_| keys.origin());
    Ok(Next::Continue)
}

/// The shard that holds all of the keys; the cluster of `unknown_key` when none of them has a shard.
fn one_shard<'i>(
    index: &'i impl Index,
    rule: &Rule,
    step: &'i MapStep,
    evaluation: &Evaluation<'_>,
    keys: &[FoundKey<'_>],
) -> Result<Result<ShardOfKey<'i>, &'i str>, Refused> {
    if keys.is_empty() {
        let any = any_shard(index, step, evaluation).map(Ok);
        return any.ok_or_else(|| refused_because(&rule.address, Refusal::NotOneShard, "no shard has a key"));
    }
    let shard_of = |key: &FoundKey<'_>| {
        key.value
            .as_ref()
            .and_then(|value| index.shard(evaluation.position, value))
    };
    if let [key] = keys
        && let Some(place) = shard_of(key)
    {
        return Ok(Ok(place));
    }
    let mut shards: Vec<ShardOfKey<'i>> = Vec::new();
    let mut known = FxHashSet::default();
    let mut unknown: Option<&FoundKey<'_>> = None;
    for key in keys {
        match shard_of(key) {
            None => unknown = unknown.or(Some(key)),
            Some(place) if known.insert(std::ptr::from_ref(place.shard)) => shards.push(place),
            Some(_) => {}
        }
    }
    if let (1, None) = (shards.len(), unknown) {
        return Ok(Ok(shards.remove(0)));
    }
    match (shards.as_slice(), unknown) {
        (_, Some(_)) if let Some(why) = unread(step, keys) => {
            Err(refused_because(&rule.address, Refusal::KeyColumn, &why))
        }
        ([], Some(_)) if matches!(step.unknown, UnknownKey::Cluster(_)) => match &step.unknown {
            UnknownKey::Cluster(name) => Ok(Err(name)),
            UnknownKey::Reject => unreachable!("matched as a cluster in the guard"),
        },
        (_, Some(key)) => Err(refused(
            &rule.address,
            Refusal::UnknownKey,
            unknown_key(step, &key.text),
        )),
        (several, None) => {
            let mut names: Vec<String> = several.iter().map(|place| place.shard.address.short()).collect();
            names.truncate(4);
            let what = format!(
                "the statement's keys are on {} shards: {}; ask each shard for its own keys",
                several.len(),
                names.join(", ")
            );
            Err(refused_because(&rule.address, Refusal::NotOneShard, &what))
        }
    }
}

/// Where a statement is prepared whose key is bound when it is executed: nothing runs, and the tables are the same on all
/// shards. It is the shard of the session's transaction or of an earlier map, if there is one.
fn any_shard<'i>(
    index: &'i impl Index,
    step: &'i MapStep,
    evaluation: &Evaluation<'_>,
) -> Option<ShardOfKey<'i>> {
    let listed = step
        .shards
        .iter()
        .filter(|shard| shard.refuse.is_none())
        .flat_map(|shard| {
            let keys = shard.keys.iter().map(KeyRef::of);
            keys.chain(shard.ranges.iter().map(|range| KeyRef::Integer(range.0)))
        });
    // Where keys are placed by remainder, a few of them show all shards.
    let counted = (0..1_000).filter_map(|n: u32| KeyRef::parse(step.kind, Cow::Owned(n.to_string())));
    let places = || {
        let keys = listed.clone().chain(counted.clone());
        keys.filter_map(|key| index.shard(evaluation.position, &key))
            .filter(|place| place.shard.refuse.is_none())
    };
    let on = |hostgroup: u32| {
        move |place: &ShardOfKey<'_>| place.writer.is_some_and(|writer| writer.0 == hostgroup)
    };
    if let Some(hostgroup) = evaluation
        .hostgroup
        .filter(|_| evaluation.settled == Some(&step.map))
    {
        return places().find(on(hostgroup));
    }
    let open = evaluation.session.transaction.map(|open| open.hostgroup.0);
    let of_transaction = open.and_then(|hostgroup| places().find(on(hostgroup)));
    of_transaction.or_else(|| places().next())
}

fn unknown_key(step: &MapStep, text: &str) -> String {
    let names: Vec<&str> = step.shards.iter().map(shard_name).collect();
    refusal::unknown_key(&step.map, &step.key, Some(text), &names)
}

fn shard_name(shard: &Shard) -> &str {
    let address = shard.address.as_str();
    address.rsplit_once('.').map_or(address, |(_, name)| name)
}

/// Why it is not known which key a value is. A text that can be equal to another key of integers is an unknown key where those are
/// refused; a number is no key of a map of texts, also where the map has the text.
fn unread(step: &MapStep, keys: &[FoundKey<'_>]) -> Option<String> {
    let is_open = matches!(step.unknown, UnknownKey::Cluster(_));
    let why = |key: &FoundKey<'_>| match (key.unread?, step.kind) {
        (Unread::Encoding, _) => Some(refusal::key_of_other_encoding(&step.map, &step.key, &key.text)),
        (Unread::Ambiguous, KeyKind::Integer) if !is_open => None,
        (Unread::Ambiguous, KeyKind::Integer) => {
            let form = "an integer without quotes";
            Some(refusal::ambiguous_key(&step.map, &step.key, &key.text, form))
        }
        (Unread::Ambiguous, KeyKind::Text) => {
            let form = "a text in quotes";
            Some(refusal::ambiguous_key(&step.map, &step.key, &key.text, form))
        }
    };
    keys.iter().find_map(why)
}

/// What the key column was believed of: tables in the schema that they have on the shard.
fn assumed(
    step: &MapStep,
    schema: Option<&Arc<str>>,
    column: &ColumnUse<'_>,
    evaluation: &Evaluation<'_>,
) -> Vec<AssumedTable> {
    let logical = || step.logical_schema.as_deref().map(Arc::from);
    let Some(schema) = schema.cloned().or_else(logical) else {
        return Vec::new();
    };
    let using = &column.using;
    let is_judged = column.decides && column.in_shards == InShards::Present;
    let key = is_judged.then(|| AssumedKey {
        column: column.column.clone(),
        values: using
            .values
            .iter()
            .filter_map(|literal| ComparedValue::of(&literal.value))
            .collect(),
        writes: match (using.role, evaluation.statement.class()) {
            (KeyRole::NewRows, _) => RowWrites::New,
            (KeyRole::Filter, StatementClass::Update | StatementClass::Explain) => RowWrites::Changes,
            (KeyRole::Filter, _) => RowWrites::None,
        },
        changes: Arc::default(),
        needs_visible: using.needs_visible_key,
        in_rows: using.in_rows,
    });
    let map: Arc<str> = step.map.as_str().into();
    let tables = using.tables.iter().flat_map(|named| {
        let below = step.tables.read_by(named);
        below.map(move |(table, is_stated)| (&**named, table, is_stated))
    });
    tables
        // Of a table that is stated, nothing but its column is to be known.
        .filter(|(_, _, is_stated)| !is_stated || key.is_some())
        .map(|(named, table, is_stated)| AssumedTable {
            schema: schema.clone(),
            table: table.to_owned(),
            map: map.clone(),
            is_stated,
            key: key.clone().map(|key| AssumedKey {
                changes: changes(&using.changes, named, table),
                ..key
            }),
        })
        .collect()
}

/// The changes of a table that the statement calls `named`: itself, or a view.
fn changes(changes: &[TableChange], named: &str, table: &str) -> Arc<[RowChange]> {
    let of_table = changes
        .iter()
        .filter(|change| change.table.as_deref().is_none_or(|changed| changed == named));
    let change = |change: &TableChange| match &change.change {
        RowChange::Assigns(_) if named != table => RowChange::AssignsAny,
        change => change.clone(),
    };
    of_table.map(change).collect()
}

/// The changes that make the statement the shard's own.
fn edits(
    rule: &Rule,
    step: &MapStep,
    evaluation: &Evaluation<'_>,
    shard: &Shard,
    keys: &Keys<'_>,
) -> Result<Vec<Edit>, Refused> {
    let not_one = |reason: &str| {
        let what = format!("cannot be placed on one shard: shard map {}: {reason}", step.map);
        refused_because(&rule.address, Refusal::NotOneShard, &what)
    };
    let mut edits = Vec::new();
    if let Some(ColumnUse { using, .. }) = keys.column.as_deref() {
        if !answers_whole(step, shard, using, &keys.found) {
            return Err(not_one(
                "the shard holds several keys and its tables cannot tell their rows apart",
            ));
        }
        edits.extend(using.neutralised.iter().cloned());
    }
    if let (Some(logical), Some(own)) = (&step.logical_schema, &shard.schema) {
        edits.extend(in_own_schema(rule, step, evaluation, logical, own)?);
    }
    if !edits.is_empty() && *evaluation.text != *evaluation.statement.text() {
        return Err(not_one("an earlier rule has rewritten the statement"));
    }
    let statement = evaluation.statement;
    column_names::keep(statement.text(), statement.mode(), edits).map_err(|Unnamed(item)| {
        let item = String::from_utf8_lossy(item.of(statement.text()));
        not_one(&format!("its text is changed within `{item}`, which would change the name of that column: give it an alias with AS"))
    })
}

/// Where the key column is absent, a shard of several keys must be asked for all of them.
fn answers_whole(step: &MapStep, shard: &Shard, using: &KeyUse, found: &[FoundKey<'_>]) -> bool {
    let filters = using.role == KeyRole::Filter && !using.neutralised.is_empty();
    // A prepared statement is asked about again when its keys are bound.
    if !filters || found.is_empty() {
        return true;
    }
    let enumerable = shard.ranges.is_empty() && step.remainder.is_none();
    let found = keys::values_of(found);
    enumerable && shard.keys.iter().all(|key| found.contains(&KeyRef::of(key)))
}

fn in_own_schema(
    rule: &Rule,
    step: &MapStep,
    evaluation: &Evaluation<'_>,
    logical: &str,
    own: &Arc<str>,
) -> Result<Vec<Edit>, Refused> {
    let unqualified = match step.unqualified {
        Unqualified::Reject => schema::Unqualified::Reject,
        Unqualified::Qualify => schema::Unqualified::Qualify,
        Unqualified::SessionSchema => schema::Unqualified::Keep,
    };
    let statement = evaluation.statement;
    schema::place(
        statement.text(),
        statement.mode(),
        logical,
        evaluation.schema,
        own,
        unqualified,
    )
    .map_err(|reason| {
        let what = format!("shard map {}: {reason}", step.map);
        refused_because(&rule.address, Refusal::Unqualified, &what)
    })
}
