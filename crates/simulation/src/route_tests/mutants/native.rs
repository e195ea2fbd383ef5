//! Changes of the bundled engine's steps.

use std::sync::Arc;

use shardwright_rules::{
    Body, Configuration, Conflict, KeyValue, MapStep, MissingAction, MissingBegin, NativeStep, ReadSelection,
    Scope, UnknownKey,
};

/// What a step does otherwise.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum StepChange {
    /// The step is for every user and schema.
    ForEverybody,
    /// The key of a shard, by position, belongs to the next one.
    KeyMoves(usize, usize),
    /// A range begins one later.
    RangeShrinks(usize, usize),
    /// A shard is on another cluster.
    ShardMoves(usize, Arc<str>),
    /// A shard that is refused takes statements.
    ShardOpens(usize),
    /// Statements of a user without a key are treated as everybody's.
    MissingOfAll(String),
    /// Statements without a key pass, or are refused.
    Missing(MissingAction),
    /// SET, SHOW and their kin without a key pass, or are refused.
    Setup(MissingAction),
    /// BEGIN without a key passes, or is refused.
    Begin(MissingBegin),
    /// Keys that no shard holds go to a cluster, or are refused.
    Unknown(UnknownKey),
    /// Keys that contradict each other are settled the other way.
    Conflict(Conflict),
    /// Reads that call functions of the session go to readers, or do not.
    SessionFunctions,
    /// The hint counts for nothing.
    NoHint,
    /// Writes are forgotten at once.
    NoAfterWrite,
    /// Every read is selected.
    EveryRead,
    /// The delay is another.
    Delay,
}

/// The changes of a step, which people call `name`.
pub(super) fn of_step(
    configuration: &Configuration,
    name: &str,
    scope: &Scope,
    step: &NativeStep,
    change: &mut impl FnMut(StepChange, String),
) {
    if !scope.users.is_any() || !scope.schemas.is_any() {
        change(
            StepChange::ForEverybody,
            format!("{name} is for every user and schema"),
        );
    }
    match step {
        NativeStep::Map(map) => of_map(configuration, map, change),
        NativeStep::Role(role) => {
            change(
                StepChange::SessionFunctions,
                format!("{name} takes functions of the session the other way"),
            );
            if role.writer_hint.is_some() {
                change(StepChange::NoHint, format!("{name} does not know its hint"));
            }
            if role.after_write_ms > 0 {
                change(StepChange::NoAfterWrite, format!("{name} forgets writes at once"));
            }
            if role.reads != ReadSelection::All {
                change(
                    StepChange::EveryRead,
                    format!("{name} sends every read to readers"),
                );
            }
        }
        NativeStep::Delay(_) => change(StepChange::Delay, format!("{name} delays for longer")),
        // A route test sees no delay that depends on a signal.
        NativeStep::Throttle(throttle) if throttle.signal.is_none() => {
            change(StepChange::Delay, format!("{name} delays for longer"));
        }
        NativeStep::Throttle(_) | NativeStep::NoMultiplex | NativeStep::StopIfPlaced => {}
    }
}

fn longer(delay_ms: u32) -> u32 {
    delay_ms.saturating_mul(2).saturating_add(1)
}

fn of_map(configuration: &Configuration, map: &MapStep, change: &mut impl FnMut(StepChange, String)) {
    for (at, shard) in map.shards.iter().enumerate() {
        let name = shard.address.short();
        for (position, key) in shard.keys.iter().enumerate().take(1) {
            if map.shards.len() > 1 {
                let what = format!("key {key} of {name} belongs to another shard");
                change(StepChange::KeyMoves(at, position), what);
            }
        }
        for (position, (first, _)) in shard.ranges.iter().enumerate() {
            let what = format!("the range of {name} that begins at {first} begins one later");
            change(StepChange::RangeShrinks(at, position), what);
        }
        let elsewhere = configuration
            .clusters
            .iter()
            .find(|cluster| shard.cluster.as_ref().is_some_and(|own| **own != *cluster.name));
        if shard.refuse.is_some() {
            change(StepChange::ShardOpens(at), format!("{name} is not refused"));
        } else if let Some(other) = elsewhere {
            let what = format!("{name} is on cluster {}", other.name);
            change(StepChange::ShardMoves(at, other.name.to_string().into()), what);
        }
    }
    let name = format!("shard map {}", map.map);
    let other = |action: &MissingAction| match action {
        MissingAction::Reject => MissingAction::Allow,
        MissingAction::Allow | MissingAction::Cluster(_) => MissingAction::Reject,
    };
    if map.otherwise.is_none() {
        for user in map.missing_by_user.keys() {
            change(
                StepChange::MissingOfAll(user.clone()),
                format!("{name} treats statements of {user} without a key as everybody's"),
            );
        }
        change(
            StepChange::Missing(other(&map.missing.statements)),
            format!("{name} treats statements without a key differently"),
        );
        change(
            StepChange::Setup(other(&map.missing.session_setup)),
            format!("{name} treats session setup without a key differently"),
        );
        let begin = match map.missing.begin {
            MissingBegin::Reject => MissingBegin::Allow,
            MissingBegin::FirstStatement | MissingBegin::Allow => MissingBegin::Reject,
        };
        change(
            StepChange::Begin(begin),
            format!("{name} treats BEGIN without a key differently"),
        );
    }
    let unknown = match (&map.unknown, configuration.clusters.first()) {
        (UnknownKey::Cluster(_), _) => Some(UnknownKey::Reject),
        (UnknownKey::Reject, Some(cluster)) => Some(UnknownKey::Cluster(cluster.name.to_string())),
        (UnknownKey::Reject, None) => None,
    };
    if let Some(unknown) = unknown {
        change(
            StepChange::Unknown(unknown),
            format!("{name} treats keys without a shard differently"),
        );
    }
    if map.finders.len() > 1 {
        let conflict = match map.conflict {
            Conflict::Reject => Conflict::First,
            Conflict::First => Conflict::Reject,
        };
        change(
            StepChange::Conflict(conflict),
            format!("{name} treats keys that contradict each other differently"),
        );
    }
}

impl StepChange {
    pub(super) fn apply(&self, body: &mut Body) {
        let Body::Native { scope, step } = body else {
            return;
        };
        if *self == Self::ForEverybody {
            scope.users = Default::default();
            scope.schemas = Default::default();
            return;
        }
        match step {
            NativeStep::Map(map) => self.change_map(map),
            NativeStep::Role(role) => match self {
                Self::SessionFunctions => {
                    role.session_functions_on_readers = !role.session_functions_on_readers
                }
                Self::NoHint => role.writer_hint = None,
                Self::NoAfterWrite => role.after_write_ms = 0,
                Self::EveryRead => role.reads = ReadSelection::All,
                _ => {}
            },
            NativeStep::Delay(delay) => delay.delay_ms = longer(delay.delay_ms),
            NativeStep::Throttle(throttle) => {
                let throttle = Arc::make_mut(throttle);
                throttle.from_ms = longer(throttle.from_ms);
                throttle.to_ms = longer(throttle.to_ms);
            }
            NativeStep::NoMultiplex | NativeStep::StopIfPlaced => {}
        }
    }

    fn change_map(&self, map: &mut MapStep) {
        match self {
            Self::KeyMoves(shard, key) => {
                let key = map.shards[*shard].keys.remove(*key);
                let next = (shard + 1) % map.shards.len();
                insert_sorted(&mut map.shards[next].keys, key);
            }
            Self::RangeShrinks(shard, range) => {
                let (first, last) = &mut map.shards[*shard].ranges[*range];
                if first < last {
                    *first += 1;
                } else {
                    map.shards[*shard].ranges.remove(*range);
                }
            }
            Self::ShardMoves(shard, cluster) => map.shards[*shard].cluster = Some(Arc::clone(cluster)),
            Self::ShardOpens(shard) => map.shards[*shard].refuse = None,
            Self::MissingOfAll(user) => {
                map.missing_by_user.remove(user);
            }
            Self::Missing(action) => map.missing.statements = action.clone(),
            Self::Setup(action) => map.missing.session_setup = action.clone(),
            Self::Begin(action) => map.missing.begin = *action,
            Self::Unknown(action) => map.unknown = action.clone(),
            Self::Conflict(conflict) => map.conflict = *conflict,
            _ => {}
        }
    }
}

fn insert_sorted(keys: &mut Vec<KeyValue>, key: KeyValue) {
    let at = keys.partition_point(|other| *other < key);
    keys.insert(at, key);
}
