//! The steps of the bundled engine, over sets of statements.

use std::sync::Arc;

use shardwright_rules::{
    Configuration, Finder, MapStep, MissingAction, MissingBegin, Names, NativeStep, Rule, Scope, Shard,
    StatementKind, Throttled, UnknownKey,
};

use super::starts::Certainty;
use super::state::{Action, Schema, Sender, State, Transition};

pub(super) fn step(
    configuration: &Configuration,
    rule: &Rule,
    scope: &Scope,
    step: &NativeStep,
    sender: Sender<'_>,
    state: State,
    next: &mut Vec<Transition>,
) {
    let certainty = in_scope(configuration, scope, sender, &state);
    if certainty != Certainty::Always {
        next.push(Transition::Continue(state.clone()));
    }
    if certainty == Certainty::Never {
        return;
    }
    match step {
        NativeStep::Map(map) => map_transitions(configuration, map, sender, state, next),
        NativeStep::Role(_) if sender.user.reads_only => next.push(Transition::Continue(state)),
        NativeStep::Role(role) => {
            let reader = state
                .cluster(configuration, sender)
                .and_then(|cluster| cluster.reader);
            // Only a SELECT is provably a read.
            if let Some(reader) = reader.filter(|_| sender.kind == StatementKind::Select) {
                let mut read = State {
                    hostgroup: Some(reader.0),
                    placed: true,
                    ..state.clone()
                };
                read.effects.causal |= role.causal;
                next.push(Transition::Continue(read));
            }
            next.push(Transition::Continue(state));
        }
        NativeStep::Delay(delay) => {
            let mut state = state;
            let earlier = state.effects.delay_ms.unwrap_or(0);
            state.effects.delay_ms = Some(earlier.max(delay.delay_ms));
            next.push(Transition::Continue(state));
        }
        NativeStep::Throttle(throttle) => {
            let mut state = state;
            state.effects.throttles.push(Throttled {
                address: rule.address.clone(),
                throttle: throttle.clone(),
            });
            next.push(Transition::Continue(state));
        }
        NativeStep::NoMultiplex => {
            let mut state = state;
            state.effects.multiplex = Some(0);
            next.push(Transition::Continue(state));
        }
        NativeStep::StopIfPlaced if state.placed || sender.user.reads_only => {
            next.push(Transition::Stop(state))
        }
        NativeStep::StopIfPlaced => next.push(Transition::Continue(state)),
    }
}

fn in_scope(configuration: &Configuration, scope: &Scope, sender: Sender<'_>, state: &State) -> Certainty {
    let schemas = match &state.schema {
        _ if scope.schemas.is_any() => Certainty::Always,
        Schema::Known(schema) => Certainty::of(scope.schemas.contains(schema)),
        Schema::Any => Certainty::Maybe,
    };
    let clusters = if scope.clusters.is_any() {
        Certainty::Always
    } else {
        let cluster = state.cluster(configuration, sender);
        Certainty::of(cluster.is_some_and(|cluster| scope.clusters.contains(&cluster.name)))
    };
    let kind = Certainty::of(scope.statements.is_empty() || scope.statements.contains(&sender.kind));
    let user = Certainty::of(scope.users.contains(&sender.user.name));
    let rest = if asks_for_more(scope) {
        Certainty::Maybe
    } else {
        Certainty::Always
    };
    user.and(schemas).and(clusters).and(kind).and(rest)
}

/// Whether the scope looks at more than users, schemas, clusters and kinds.
fn asks_for_more(scope: &Scope) -> bool {
    let decided = Scope {
        users: scope.users.clone(),
        schemas: scope.schemas.clone(),
        clusters: scope.clusters.clone(),
        statements: scope.statements.clone(),
        tables: Names::default(),
        ..Scope::default()
    };
    *scope != decided
}

/// Every transition of a map: refusals, what is done without a key or with an unknown one, and each of its shards.
fn map_transitions(
    configuration: &Configuration,
    map: &MapStep,
    sender: Sender<'_>,
    state: State,
    next: &mut Vec<Transition>,
) {
    let kind = sender.kind;
    // COMMIT, ROLLBACK, SAVEPOINT and XA pass; what is of another kind never does.
    if matches!(kind, StatementKind::Commit | StatementKind::Other) {
        next.push(Transition::Continue(state.clone()));
    }
    next.push(Transition::Finished(state.clone(), Action::Reject));
    missing(configuration, map, sender, &state, next);
    if let UnknownKey::Cluster(name) = &map.unknown {
        next.push(Transition::Continue(to_cluster(configuration, name, &state)));
    }
    // Of a shard that is refused, nothing is placed.
    for shard in map.shards.iter().filter(|shard| shard.refuse.is_none()) {
        for schema in schemas(map, shard, &state.schema) {
            let placed = State {
                schema,
                shard: Some(shard.address.clone()),
                placed: true,
                ..state.clone()
            };
            let placed = match &shard.cluster {
                Some(cluster) => to_cluster(configuration, cluster, &placed),
                None => placed,
            };
            renamed(map, shard, placed, next);
        }
    }
}

fn missing(
    configuration: &Configuration,
    map: &MapStep,
    sender: Sender<'_>,
    state: &State,
    next: &mut Vec<Transition>,
) {
    // Behind a map that this one is the `otherwise` of, a statement without a key passes.
    let is_otherwise = configuration
        .graph
        .maps()
        .any(|other| other.otherwise.as_deref() == Some(map.map.as_str()));
    if is_otherwise || map.otherwise.is_some() {
        next.push(Transition::Continue(state.clone()));
    }
    if map.otherwise.is_some() {
        return;
    }
    let (kind, missing) = (sender.kind, map.missing_of(&sender.user.name));
    if kind == StatementKind::Begin {
        match missing.begin {
            MissingBegin::Allow => next.push(Transition::Continue(state.clone())),
            MissingBegin::FirstStatement => next.push(Transition::Finished(state.clone(), Action::Answer)),
            MissingBegin::Reject => {}
        }
        return;
    }
    let writes = [
        StatementKind::Insert,
        StatementKind::Update,
        StatementKind::Delete,
        StatementKind::Replace,
    ];
    let setup = (!writes.contains(&kind)).then_some(&missing.session_setup);
    for action in setup.into_iter().chain([&missing.statements]) {
        match action {
            MissingAction::Allow => next.push(Transition::Continue(state.clone())),
            MissingAction::Reject => {}
            MissingAction::Cluster(name) => {
                next.push(Transition::Continue(to_cluster(configuration, name, state)))
            }
        }
    }
}

fn to_cluster(configuration: &Configuration, name: &str, state: &State) -> State {
    let writer = configuration.cluster(name).map(|cluster| cluster.writer.0);
    State {
        hostgroup: writer.or(state.hostgroup),
        placed: true,
        ..state.clone()
    }
}

/// The schemas that sessions of a shard's statements can be in: where nothing but the schema gives the key, those of
/// the shard's keys.
fn schemas(map: &MapStep, shard: &Shard, known: &Schema) -> Vec<Schema> {
    let templates: Option<Vec<_>> = map
        .finders
        .iter()
        .map(|finder| match finder {
            Finder::Schema { template } => Some(template),
            _ => None,
        })
        .collect();
    let enumerable = shard.ranges.is_empty() && shard.remainders.is_empty();
    match (templates, known) {
        (Some(templates), Schema::Any) if enumerable => templates
            .iter()
            .flat_map(|template| shard.keys.iter().filter_map(|key| template.render(key)))
            .map(|name| Schema::Known(name.into()))
            .collect(),
        _ => vec![known.clone()],
    }
}

/// The schema names of a placed statement: the shard's own stand in the place of the logical one.
fn renamed(map: &MapStep, shard: &Shard, mut placed: State, next: &mut Vec<Transition>) {
    let (Some(logical), Some(own)) = (&map.logical_schema, &shard.schema) else {
        next.push(Transition::Continue(placed));
        return;
    };
    placed.own_schema = Some(Arc::clone(own));
    placed.rewritten = true;
    let inside = match &placed.schema {
        Schema::Any => Some(Schema::Known(logical.as_str().into())),
        Schema::Known(schema) if **schema == **logical => Some(placed.schema.clone()),
        Schema::Known(_) => None,
    };
    if let Some(schema) = inside {
        next.push(Transition::Continue(State {
            schema,
            backend_schema: Some(Arc::clone(own)),
            ..placed.clone()
        }));
    }
    if !matches!(&placed.schema, Schema::Known(schema) if **schema == **logical) {
        next.push(Transition::Continue(placed));
    }
}
