//! Routes: statements that go to a cluster, or are refused, in front of maps and policies.

use shardwright_rules::{Names, Role, Scope, User};
use shardwright_topology::model::{OnUnsupported, RouteEnd, Topology};

use super::{Section, scope};
use crate::diagnostics::Diagnostics;

/// What becomes of the statements of a route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StatementEnd {
    /// They go to a hostgroup of a cluster.
    Cluster { name: String, role: Role },
    /// The client gets this text.
    Refuse(String),
}

/// Every route, in written order.
pub(super) fn routes(topology: &Topology, report: &mut Diagnostics<'_>) -> Vec<Section<StatementEnd>> {
    let section = |route: &shardwright_topology::model::StatementRoute| Section {
        origin: route.origin,
        address: report.address(route.origin),
        scope: scope::scope(&route.matches, route.origin, "match", report),
        on_unsupported: OnUnsupported::Error,
        step: match &route.end {
            RouteEnd::Cluster { cluster, role } => StatementEnd::Cluster {
                name: topology.cluster(*cluster).name.to_string(),
                role: *role,
            },
            RouteEnd::Refuse(text) => StatementEnd::Refuse(text.to_string()),
        },
    };
    topology.routes.iter().map(section).collect()
}

/// The scope with users in the place of clusters: nothing has placed a statement yet, so its cluster is its user's. None
/// where no user is meant.
pub(crate) fn of_users(scope: &Scope, users: &[User], cluster_of: impl Fn(&User) -> String) -> Option<Scope> {
    if scope.users.is_any() && scope.clusters.is_any() {
        return Some(scope.clone());
    }
    let is_meant =
        |user: &&User| scope.users.contains(&user.name) && scope.clusters.contains(&cluster_of(user));
    let meant: Vec<_> = users.iter().filter(is_meant).collect();
    let names = meant.iter().map(|user| user.name.as_str().into());
    (!meant.is_empty()).then(|| Scope {
        users: Names {
            any_of: names.collect(),
            ..Names::default()
        },
        clusters: Names::default(),
        ..scope.clone()
    })
}
