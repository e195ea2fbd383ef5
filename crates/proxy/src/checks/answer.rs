//! What is answered, from what throttles and monitors know.

use serde::Serialize;
use shardwright_rules::roles::WatchedCluster;
use shardwright_rules::throttle::{Reading, Signal, SignalSource};
use shardwright_rules::{Body, Cluster, ClusterKind, NativeStep, OnUnknown, Scope, StatementKind};

use super::question::{Check, Question};
use super::readiness::readiness;
use crate::shared::Shared;
use crate::snapshot::Snapshot;
use crate::throttles::Gate;

/// The only kind of store.
const MYSQL: &str = "mysql";

/// What is answered: the fields of Freno.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Answer {
    pub(super) status_code: u16,
    message: String,
    #[serde(flatten)]
    outcome: Option<Outcome>,
}

/// What was compared: lag in seconds, other signals as they are.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Outcome {
    /// `null` where it is not known.
    value: Option<f64>,
    threshold: f64,
}

impl Answer {
    fn plain(status_code: u16, message: impl Into<String>) -> Self {
        Self {
            status_code,
            message: message.into(),
            outcome: None,
        }
    }

    pub(super) fn unknown_path() -> Self {
        Self::plain(404, "ask GET or HEAD /check/APP/mysql/CLUSTER")
    }

    /// How much it keeps an app from writing: a reason that is known before one that is not.
    fn rank(&self) -> u8 {
        match self.status_code {
            200 => 0,
            500 => 1,
            _ => 2,
        }
    }

    /// How near the value is to the threshold.
    fn nearness(&self) -> f64 {
        match self.outcome {
            Some(Outcome {
                value: Some(value),
                threshold,
            }) if threshold != 0.0 => value / threshold,
            _ => 0.0,
        }
    }
}

/// The answer to a question.
pub(super) fn answer(shared: &Shared, question: &Question) -> Answer {
    match question {
        Question::Ready(cluster) => ready(shared, cluster.as_deref()),
        Question::RefusedApps => {
            let said = |(app, left): (String, std::time::Duration)| format!("{app}: {} s", left.as_secs());
            let refused: Vec<String> = shared.refused_apps.all().into_iter().map(said).collect();
            Answer::plain(200, refused.join(", "))
        }
        Question::Change => Answer::plain(
            403,
            "nothing can be changed here: use SHARDWRIGHT REFUSE APP and ALLOW APP on the admin port",
        ),
        Question::Unknown => Answer::unknown_path(),
        Question::Check(check) => {
            let answer = checked(shared, check);
            match answer.status_code {
                404 if check.is_lenient => Answer {
                    status_code: 200,
                    ..answer
                },
                _ => answer,
            }
        }
    }
}

fn checked(shared: &Shared, check: &Check) -> Answer {
    if check.app.is_empty() {
        return Answer::plain(417, "the path names no app");
    }
    if let Some(left) = shared.refused_apps.left(&check.app) {
        let message = format!("an administrator refuses {} for {} s", check.app, left.as_secs());
        return Answer::plain(417, message);
    }
    let snapshot = shared.control.snapshot().load_full();
    let mut clusters = snapshot.configuration.clusters.iter();
    let cluster = clusters.find(|cluster| check.store_type == MYSQL && *cluster.name == *check.store);
    let Some(cluster) = cluster else {
        let message = format!("there is no cluster {}/{}", check.store_type, check.store);
        return Answer::plain(404, message);
    };
    match check.read_within_s {
        Some(within_s) => may_read(shared, &snapshot, cluster, within_s),
        None => may_write(&snapshot, cluster, &check.app),
    }
}

/// Whether clients are served here, in all clusters or in one.
fn ready(shared: &Shared, name: Option<&str>) -> Answer {
    let snapshot = shared.control.snapshot().load_full();
    let mut clusters = snapshot.configuration.clusters.iter();
    let cluster = name.map(|name| clusters.find(|cluster| *cluster.name == *name));
    if let (Some(None), Some(name)) = (cluster, name) {
        return Answer::plain(404, format!("there is no cluster {name}"));
    }
    match readiness(shared, &snapshot, cluster.flatten()) {
        Ok(()) => Answer::plain(200, "OK"),
        Err(why) => Answer::plain(503, why),
    }
}

/// Whether the throttles of a cluster that are about an app let it write.
fn may_write(snapshot: &Snapshot, cluster: &Cluster, app: &str) -> Answer {
    let rules = snapshot.configuration.graph.rules.iter();
    let gates = rules.filter_map(|rule| match &rule.body {
        Body::Native {
            scope,
            step: NativeStep::Throttle(_),
        } if scope.users.contains(app) && may_be_writes(scope) => {
            snapshot.gates.get(cluster.writer, &rule.address)
        }
        _ => None,
    });
    let answers = gates.filter_map(|gate| of_gate(gate));
    let decides = answers.max_by(|a, b| {
        a.rank()
            .cmp(&b.rank())
            .then(a.nearness().total_cmp(&b.nearness()))
    });
    decides.unwrap_or_else(|| {
        let message = format!("no throttle with a signal is for {app} on {}", cluster.address);
        Answer::plain(404, message)
    })
}

/// Whether statements that write are among those of a scope.
fn may_be_writes(scope: &Scope) -> bool {
    let writes = |kind: &StatementKind| !matches!(kind, StatementKind::Select | StatementKind::Show);
    scope.statements.is_empty() || scope.statements.iter().any(writes)
}

/// What a throttle says; `None`: it has no signal, or has ended.
fn of_gate(gate: &Gate) -> Option<Answer> {
    let Signal {
        source, start_above, ..
    } = gate.throttle.signal.as_ref()?;
    if gate.has_ended() {
        return None;
    }
    let figures = gate.figures();
    let unit = unit(source);
    let outcome = Outcome {
        value: figures.reading.value().map(|value| value / unit),
        threshold: start_above.get() / unit,
    };
    let (throttle, signal) = (&gate.address, source.name());
    let is_high = figures
        .reading
        .value()
        .is_some_and(|value| value > start_above.get());
    let is_known = matches!(figures.reading, Reading::Known { .. });
    let (status_code, message) = match (figures.is_started || is_high, is_known) {
        (true, _) => {
            let said = gate.said(figures.reading);
            let value = said.unwrap_or_else(|| "not known".to_owned());
            (429, format!("{throttle} slows statements: {signal} is {value}"))
        }
        (false, true) => (200, String::new()),
        (false, false) if gate.throttle.on_unknown == OnUnknown::Release => {
            (200, format!("{signal} is not known; {throttle} lets pass then"))
        }
        (false, false) => (500, format!("{signal} is not known, which {throttle} depends on")),
    };
    Some(Answer {
        status_code,
        message,
        outcome: Some(outcome),
    })
}

/// Whether no replica is further behind than a read allows.
fn may_read(shared: &Shared, snapshot: &Snapshot, cluster: &Cluster, within_s: f64) -> Answer {
    let watched = WatchedCluster::of(&snapshot.configuration, cluster);
    let watched = watched
        .filter(|watched| watched.servers.len() > 1)
        .filter(|_| matches!(cluster.kind, ClusterKind::Replication { .. }));
    let Some(watched) = watched else {
        let message = format!(
            "nobody measures how far replicas of {} are behind",
            cluster.address
        );
        return Answer::plain(404, message);
    };
    let control = &shared.control;
    let roles = control.knowledge.roles(&cluster.address);
    let reading = control
        .measured
        .lag(&watched, roles.as_ref(), std::time::Instant::now());
    let value = reading
        .value()
        .map(|value| value / unit(&SignalSource::ReplicationLag));
    let is_known = matches!(reading, Reading::Known { .. });
    let (status_code, message) = match value {
        Some(value) if value > within_s => (429, "a replica is further behind".to_owned()),
        Some(_) if is_known => (200, String::new()),
        _ => (500, "a replica does not say how far it is behind".to_owned()),
    };
    Answer {
        status_code,
        message,
        outcome: Some(Outcome {
            value,
            threshold: within_s,
        }),
    }
}

/// What a signal is divided by: Freno counts lag in seconds.
fn unit(source: &SignalSource) -> f64 {
    match source {
        SignalSource::ReplicationLag => 1000.0,
        SignalSource::Status(_) | SignalSource::FlowControl => 1.0,
    }
}
