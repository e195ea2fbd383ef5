//! One outcome: what becomes of the statements of a set.

use shardwright_rules::{Address, Configuration, Role, Route, StatementKind};

use super::state::{Action, Schema, State};

/// What becomes of statements of one kind that one user sends.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PossibleOutcome {
    pub(super) user: String,
    pub(super) kind: StatementKind,
    pub(super) state: State,
    pub(super) action: Action,
}

impl PossibleOutcome {
    /// The route, where the statements are sent.
    pub(super) fn route(&self, configuration: &Configuration) -> Option<Route> {
        let Action::Route(hostgroup) = self.action else {
            return None;
        };
        let cluster = configuration.cluster_of(hostgroup);
        Some(Route {
            hostgroup,
            cluster: cluster.map(|cluster| cluster.name.clone()),
            role: cluster.map(|cluster| {
                if cluster.writer == hostgroup {
                    Role::Writer
                } else {
                    Role::Reader
                }
            }),
            shard: self.state.shard.clone(),
            rewritten: None,
            backend_schema: self.state.backend_schema.clone(),
            effects: self.state.effects.clone(),
            locks: false,
            assumed: Vec::new(),
        })
    }

    /// `a select of user app`
    pub(super) fn statement(&self) -> String {
        let schema = match &self.state.schema {
            Schema::Any => String::new(),
            Schema::Known(schema) => format!(" in schema {schema}"),
        };
        format!("{} of user {}{schema}", self.kind, self.user)
    }

    /// `sent to shop, reader`
    pub(super) fn became(&self, configuration: &Configuration) -> String {
        match (self.action, self.route(configuration)) {
            (Action::Reject, _) => "refused".to_owned(),
            (_, Some(route)) => match (&route.cluster, route.role) {
                (Some(cluster), Some(role)) => format!("sent to {cluster}, {role}"),
                _ => format!("sent to hostgroup {}", route.hostgroup),
            },
            (_, None) => "answered by the proxy".to_owned(),
        }
    }

    /// The shard as people write it.
    pub(super) fn shard_name(&self) -> String {
        self.state
            .shard
            .as_ref()
            .map_or_else(|| "no shard".to_owned(), Address::short)
    }
}
