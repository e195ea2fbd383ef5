//! `SET GLOBAL x=…; SELECT @@global.x`: a session reads variables of a server where it has set one, and not on a reader beside it.

use shardwright_sql::SessionEffects;
use shardwright_sql::names::mentions;

use super::Session;
use super::routed::RoutedStatement;

impl Session {
    /// Brings a read of system variables to the server of the cluster where the session has set one.
    pub(super) fn follow_set_global(&self, routed: &mut RoutedStatement<'_>) {
        let Some(on) = self.settings.global_on else {
            return;
        };
        let to = routed.requirements.hostgroup;
        let configuration = &self.login.snapshot.configuration;
        let cluster_of = |hostgroup| {
            configuration
                .cluster_of(hostgroup)
                .map(|cluster| &cluster.address)
        };
        let is_beside = to != on && cluster_of(to).is_some_and(|cluster| cluster_of(on) == Some(cluster));
        if is_beside && reads_variables(routed) {
            routed.requirements.hostgroup = on;
        }
    }
}

/// `@@x`, SHOW VARIABLES, and the tables of either server that have them.
fn reads_variables(routed: &RoutedStatement<'_>) -> bool {
    let shape = routed.statement.shape();
    shape.effects.intersects(SessionEffects::READS_SYSTEM_VARIABLE)
        || mentions(routed.statement.text(), b"VARIABLES")
}
